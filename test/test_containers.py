"""Dockerfile and devcontainer, as far as it goes without Docker: syntax, files, the recipe."""

import json
from pathlib import Path
import re
import shutil
import subprocess

import pytest

ROOT = Path(__file__).resolve().parent.parent
INSTRUCTIONS = {
    *('ARG', 'CMD', 'COPY', 'ENTRYPOINT', 'ENV', 'FROM', 'RUN', 'SHELL', 'USER', 'WORKDIR'),
}


def instructions():
    """Return (word, rest) of every instruction, the lines of each joined as Docker does."""
    lines = [x for x in (ROOT / 'Dockerfile').read_text().splitlines() if not x.startswith('#')]
    joined = re.sub(r'\\\n', '', '\n'.join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def of(word):
    return [rest for each, rest in instructions() if each == word]


def devcontainer():
    return json.loads((ROOT / '.devcontainer/devcontainer.json').read_text())


def test_every_instruction_is_one_of_docker():
    assert {word for word, _ in instructions()} <= INSTRUCTIONS
    assert instructions()[0] == ('FROM', 'ros:jazzy AS libraries')
    for rest in [*of('SHELL'), *of('ENTRYPOINT'), *of('CMD')]:
        assert all(isinstance(each, str) for each in json.loads(rest))


def test_every_file_that_is_copied_exists_and_is_not_ignored():
    ignored = (ROOT / '.dockerignore').read_text().split()
    for rest in of('COPY'):
        *sources, _ = [word for word in rest.split() if not word.startswith('--')]
        for source in sources:
            assert (ROOT / source).exists(), source
            assert source not in ignored


@pytest.mark.skipif(shutil.which('bash') is None, reason='needs bash')
def test_every_command_is_bash():
    entry = json.loads(of('ENTRYPOINT')[0])[2]
    after = devcontainer()['postCreateCommand']
    assert after[:2] == ['bash', '-ec']
    for script in [*of('RUN'), entry, after[2]]:
        done = subprocess.run(['bash', '-n', '-c', script], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ''), script


def test_the_commands_are_those_of_the_readme():
    recipe = (ROOT / 'README.md').read_text()
    built = ' '.join(of('RUN'))
    for command in (
        'rosdep install --from-paths src --ignore-src -y',
        'python3 -m venv --system-site-packages venv',
        'touch venv/COLCON_IGNORE',
        '. venv/bin/activate',
        'src/sim2real_estimator/requirements-ros.txt',
        'python3 -m colcon build',
    ):
        assert command in recipe and command in built, command


def test_what_pip_and_rosdep_read_is_copied_before():
    (first, _) = of('COPY')
    names = {'package.xml', 'requirements-ros.txt'}
    text = (ROOT / 'requirements-ros.txt').read_text()
    names |= set(re.findall(r'^-[cr] (\S+)', text, re.MULTILINE))
    assert set(first.split()[:-1]) == names


def test_the_devcontainer_is_a_stage_of_the_dockerfile():
    build = devcontainer()['build']
    folder = ROOT / '.devcontainer'
    assert (folder / build['dockerfile']).resolve() == ROOT / 'Dockerfile'
    assert (folder / build['context']).resolve() == ROOT
    assert build['target'] in [rest.split(' AS ')[1] for rest in of('FROM')]
    assert devcontainer()['workspaceMount'].count('target=' + devcontainer()['workspaceFolder'])
    assert devcontainer()['remoteUser'] in of('USER')
