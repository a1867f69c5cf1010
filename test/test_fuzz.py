"""What has broken a reader once, and some mutations of good input; `make fuzz` has more."""

from itertools import islice
import logging
from pathlib import Path
import sys

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / 'tools'))

import fuzz

GOOD = ('accepted', 'refused')


@pytest.mark.parametrize('name', fuzz.READERS)
def test_no_input_gets_more_than_an_error_in_a_line(name):
    known = len([*fuzz.CORPUS.glob(f'{name}*')])
    with fuzz.trying(name) as attempt:
        for path, content in islice(fuzz.inputs(name), known + 15):
            assert attempt(content) in GOOD, path


def test_every_file_of_the_corpus_has_a_reader_and_is_refused():
    files = sorted(fuzz.CORPUS.iterdir())
    assert files
    for path in files:
        with fuzz.trying(path.name.partition('-')[0]) as attempt:
            assert attempt(path.read_bytes()) == 'refused', path


def test_the_same_seed_gives_the_same_inputs():
    first, again, other = (
        [content for _, content in islice(fuzz.inputs('csv', seed), 8)] for seed in (0, 0, 1)
    )
    assert first == again != other


def test_what_a_reader_does_not_expect_is_a_finding(monkeypatch):
    def read(content, _):
        raise KeyError(content)

    monkeypatch.setitem(fuzz.READERS, 'csv', (list, None, read))
    with fuzz.trying('csv') as attempt:
        assert attempt(b'x') == 'KeyError at ?'


def test_a_trial_leaves_logging_as_it_was():
    with fuzz.trying('csv') as attempt:
        attempt(b'')
    assert logging.root.manager.disable == logging.NOTSET
