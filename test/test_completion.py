"""A shell completes the command by the script that the command prints."""

import shutil
import subprocess

import pytest

from sim2real_estimator.cli import main

needs_bash = pytest.mark.skipif(shutil.which('bash') is None, reason='needs bash')


def completed(script, *words):
    """Return what bash offers for the last of the words."""
    line = ' '.join(f"'{word}'" for word in ('sim2real-estimator', *words))
    call = (
        f'COMP_WORDS=({line}); COMP_CWORD={len(words)}; _sim2real_estimator; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ['bash', '-c', f'{script}\n{call}'], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


@pytest.fixture
def script(capsys):
    assert main(['completion', 'bash']) == 0
    return capsys.readouterr().out


@needs_bash
@pytest.mark.parametrize(
    ('words', 'offered'),
    [
        (['ide'], ['identify']),
        (['--ver'], ['--version']),
        (['identify', '--mer'], ['--merge']),
        (['init', '--eff'], ['--effort']),
        (['init', '--effort', 'meas'], ['measured']),
        (['reproduce', 'len'], ['lengths']),
        (['reproduce', 'lengths', '--st'], ['--starts']),
        (['show', 'no-such'], []),
    ],
)
def test_words_are_completed(script, words, offered):
    assert completed(script, *words) == offered


@needs_bash
def test_it_registers_itself(script):
    done = subprocess.run(
        ['bash', '-c', f'{script}\ncomplete -p sim2real-estimator'],
        check=True,
        capture_output=True,
        text=True,
    )
    assert '_sim2real_estimator' in done.stdout


def test_zsh_is_told_to_take_it(capsys):
    assert main(['completion', 'zsh']) == 0
    assert 'bashcompinit' in capsys.readouterr().out
