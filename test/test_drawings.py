"""Measurements leave the documents alone unless their pictures are asked for."""

import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

BENCHMARK = Path(__file__).resolve().parents[1] / 'benchmark'


@pytest.fixture
def drawings(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARK))
    import drawings

    monkeypatch.setenv(drawings._ASKED, '')
    return drawings


def test_pictures_go_beside_the_results_unless_asked_for(drawings, tmp_path, monkeypatch):
    monkeypatch.setattr(drawings, '_ROOT', tmp_path)
    assert drawings.shown(drawings.place('a.png')) == Path('results/images/a.png')
    drawings.choose(True)
    assert drawings.shown(drawings.place('a.png')) == Path('docs/images/a.png')
    assert (tmp_path / 'docs' / 'images').is_dir()


def test_who_draws_asks_where():
    for path in BENCHMARK.rglob('*.py'):
        text = path.read_text()
        assert path.name == 'drawings.py' or not re.search(r"'docs' */ *'images'", text), path


@pytest.mark.parametrize('script', ['evaluate', 'run'])
def test_make_takes_the_option(script):
    done = subprocess.run(
        [sys.executable, BENCHMARK / f'{script}.py', '--help'],
        env={**os.environ, 'PYTHONPATH': str(BENCHMARK.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and '--draw' in done.stdout
