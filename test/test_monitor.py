"""The table of a running estimator, from what was heard of it."""

import io

from boards import HEAVIER, PRIORS, report_change, say, stamp, told, TRUTH
import pytest
from rich.console import Console

from sim2real_estimator.app.monitor import Board, Display, Happening, Task
from sim2real_estimator.app.monitor.board_table import (
    bar,
    FINE,
    picture,
    plain_lines,
    STYLES,
    written,
)
from sim2real_estimator.observability.verdicts import Verdict

CLOSE = {'lower.mass': 1.01, 'elbow.damping': 0.049, 'upper.inertia.yy': 0.02}
ALIASES = {'upper.inertia.yy': ('shoulder.armature',)}


def shown(board, width=120, is_fine=True):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(picture(board, width, is_fine))
    return console.file.getvalue()


@pytest.fixture
def board():
    result = told()
    say(result, 12.5, CLOSE, verdicts={'upper.inertia.yy': 'aliased'}, aliases=ALIASES)
    return result


def test_the_table_has_what_was_heard(board):
    report_change(board, 12.0)
    text = shown(board)
    (line,) = [line for line in text.splitlines() if 'lower.mass' in line]
    assert line.split()[:6] == ['lower.mass', 'kg', '1.0000', '1.0100', '0.0010', 'identified']
    for part in (
        '12.50 s of data',
        'no data tell apart: shoulder.armature, upper.inertia.yy',
        '/joint_states 200.0/s',
        'update 1.27 ms',
        '12.00 s  changed: it is estimated anew',
    ):
        assert part in text


@pytest.mark.parametrize('width', [80, 100, 200])
def test_it_fits_into_the_terminal(board, width):
    for line in shown(board, width).splitlines():
        assert len(line) <= width
    assert 'identified' in shown(board, width)


@pytest.mark.parametrize('name', ['elbow.damping', 'shoulder.armature', 'a' * 31 + '.mass'])
def test_at_80_columns_names_and_numbers_are_whole_and_the_bar_has_what_is_left(monkeypatch, name):
    monkeypatch.setitem(PRIORS, name, (-0.2, 0.05))
    board = told()
    say(board, 12.5, {name: -0.247061}, {name: 4.6e-5})
    text = shown(board, 80)
    assert name in text and '-0.247061' in text and '…' not in text
    assert (FINE.track in text) == (FINE.legend in text) == (len(name) < 30)


def test_ascii_is_enough_for_terminals_that_know_no_more(board):
    assert shown(board, is_fine=False).isascii()


def test_without_a_synthetic_robot_there_is_no_truth():
    board = told(has_truth=False)
    say(board, 1.0, CLOSE)
    assert 'truth' not in shown(board).splitlines()[1]
    assert all('true' not in line for line in plain_lines(board))


def test_before_anything_is_heard_it_says_what_to_look_at():
    assert 'see whether there is such a node' in shown(Board())


def test_the_truth_is_that_of_the_estimates_stamp(board):
    assert board.rows()[0].truth == TRUTH['lower.mass']
    say(board, 31.0, CLOSE)
    assert board.rows()[0].truth == HEAVIER['lower.mass']


def test_numbers_are_those_of_the_estimate_and_verdicts_those_that_came_last(board):
    older = say(board, 12.5, CLOSE)
    say(board, 13.0, {**CLOSE, 'lower.mass': 1.002})
    board.take_parameters(older)
    row = board.rows()[0]
    assert (row.mean, row.verdict) == (1.002, 'identified')


def test_silent_and_lossy_inputs_are_seen(board):
    board.take_task('input /joint_states', Task(False, 'no messages', {'rate [1/s]': '0.0'}))
    board.take_task('samples of encoders', Task(True, '', {'used': '90', 'late': '7', 'x': '0'}))
    assert '/joint_states: no messages' in shown(board)
    assert 'encoders 90 used, 7 late\n' in shown(board)


def test_the_bar_shows_where_the_estimate_is_in_the_prior(board):
    row = board.rows()[0]
    text = bar(row, 60, FINE, 'green').plain
    # 6 prior deviations of 0.24 in 60 cells, from 0.08 on.
    assert len(text) == 60
    assert text.index('◆' if '◆' in text else '●') == int((1.01 - 0.08) / 0.024)


def test_what_lies_outside_is_at_the_end_of_the_bar():
    board = told()
    say(board, 1.0, {'lower.mass': 9.0})
    text = bar(board.rows()[0], 30, FINE, '').plain
    assert text.endswith('●')
    assert '┃' in text


def test_every_verdict_has_a_colour():
    assert set(STYLES) == {verdict.value for verdict in Verdict}


@pytest.mark.parametrize(
    ('value', 'sd', 'text'),
    [
        (1.23456, 0.012, '1.235'),
        (-0.21663, 0.00002, '-0.216630'),
        (12.3, 5.0, '12.3'),
        (3.7e-7, 1e-8, '3.7e-07'),
        (0.0, 0.0, '0.000000'),
    ],
)
def test_numbers_have_as_many_decimals_as_are_known(value, sd, text):
    assert written(value, sd) == text


def test_lines_where_there_is_no_terminal(board):
    now = [0.0]
    console = Console(file=io.StringIO(), width=200)
    with Display(console, clock=lambda: now[0]) as display:
        for now[0] in (0.0, 1.0, 4.9):
            display.show(board)
        assert console.file.getvalue().count('lower.mass') == 1
        report_change(board, 30.05)
        display.show(board)
        assert '30.05 s  changed' in console.file.getvalue()
        now[0] = 5.1
        display.show(board)
    text = console.file.getvalue()
    assert text.count('lower.mass: 1.0100 +- 0.0010 kg  true 1.0000  identified') == 2
    assert text.count('changed') == 1
    assert '\x1b' not in text


def test_a_terminal_is_drawn_anew():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    board, now = told(), [0.0]
    with Display(console, clock=lambda: now[0]) as display:
        display.show(board)
        say(board, 2.0, CLOSE)
        now[0] = 0.1
        display.show(board)
        assert 'lower.mass' not in console.file.getvalue()
        now[0] = 0.3
        display.show(board)
        assert 'lower.mass' in console.file.getvalue()


def test_what_happened_before_any_data_has_no_time(board):
    board.take_happening(Happening(0, 'input lost', 'nothing comes', True))
    assert ' no data   input lost: nothing comes' in shown(board)


def test_seconds_count_from_the_robots_start(board):
    assert board.seconds(stamp(3.25)) == 3.25
