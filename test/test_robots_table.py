"""The table of robots: what is not handed over, or too sure of itself, is seen to miss."""

from pathlib import Path
import sys

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from any_robot.table import Row  # noqa: E402, needs the path above

COUNT = 60
RIGHT = {
    'rank': ((np.arange(COUNT) + 0.5) / COUNT).tolist(),
    'nees': 1.0,
    'unknowns': 80,
    'combinations': COUNT,
    'left': 0.02,
    'possible': True,
    'alarms': 0,
    'began': 4.0,
    'identify': 60.0,
    'memory': 900.0,
    'frame': 1.2,
}


def row(**changes):
    """Return the row of two robots, of which one is different."""
    return Row('arm', (RIGHT, RIGHT | changes), 0)


def test_what_is_right_holds_and_says_when_its_filter_took_over():
    assert row().holds and row().cells()[-1] == 'holds'
    assert '2 of 2' in row().cells() and '4.0' in row().cells()


@pytest.mark.parametrize(
    ('changes', 'missing'),
    [
        ({'began': None, 'frame': None}, 'no hand-over'),
        ({'nees': 5.0}, 'NEES'),
        ({'rank': [0.999] * COUNT}, 'intervals'),
        ({'possible': False}, 'draws'),
        ({'alarms': 1}, 'false changes'),
    ],
)
def test_what_is_wanting_is_named(changes, missing):
    found = row(**changes)
    assert not found.holds and found.cells()[-1] == f'MISSES: {missing}'


def test_few_combinations_miss_by_more_than_chance_only():
    few = RIGHT | {'combinations': 11, 'nees': 3.0}
    assert Row('leg', (few,), 0).holds
    assert not Row('leg', (few,) * 4, 0).holds
