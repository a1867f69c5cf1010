"""What the demo promises is judged by the truth: each wrong value breaks a promise."""

from boards import HEAVIER, report_change, say, told, TRUTH
import pytest

from sim2real_estimator.app.demo.estimate_history import History
from sim2real_estimator.app.demo.goals import Goals, judge

GOALS = Goals(('lower.mass', 'elbow.damping'))
ALIASED = {'upper.inertia.yy': 'aliased'}


def demo(early=TRUTH, late=HEAVIER, early_at=10.0, noticed=(30.05,), held=0.2003, **said):
    """Return the `History` of a demo; said: of the estimate early, as `say` takes it."""
    board = told()
    history = History(board)
    said = {'verdicts': ALIASED, **said}
    for seconds, mean, more in (
        (early_at, early, said),
        (29.9, early, said),
        (60.0, late, {'verdicts': ALIASED, 'held': held}),
    ):
        say(board, seconds, mean, **more)
        history.look()
    for at in noticed:
        report_change(board, at)
    return history


def broken(history, goals=GOALS):
    return [check.text for check in judge(goals, history) if not check.is_kept]


def test_a_demo_that_finds_everything_keeps_its_promises():
    checks = judge(GOALS, demo())
    assert all(check.is_kept for check in checks)
    # Two identified, the truth covered, noticed, no false alarm, one new value, what is held.
    assert len(checks) == 7


@pytest.mark.parametrize(
    ('what', 'text'),
    [
        ({'verdicts': {'lower.mass': 'prior-assisted'}}, 'lower.mass is prior-assisted by 25 s'),
        ({'sd': {'lower.mass': 0.06}}, 'lower.mass is identified by 25 s, sd 6 % of the value'),
        ({'early': {**TRUTH, 'lower.mass': 1.005}}, '5.0 standard deviations (lower.mass at'),
        ({'early': {**TRUTH, 'elbow.damping': 0.045}}, '5.0 standard deviations (elbow.damping'),
        ({'late': {**HEAVIER, 'elbow.damping': 0.06}}, '(elbow.damping at 60 s)'),
        ({'late': {**HEAVIER, 'lower.mass': 1.13}}, 'the new lower.mass is found to 5.8 %'),
        ({'held': 0.2012}, 'hold 0.2012 +- 0.0002 kg, and holds 0.2 kg'),
        ({'held': None}, 'no payload was reported'),
        ({'late': TRUTH}, 'the new lower.mass is found to 17 %'),
        ({'noticed': ()}, 'the change at 30.00 s was not noticed'),
        ({'noticed': (31.2,)}, 'noticed 1.20 s later'),
        ({'noticed': (12.5,)}, 'the change at 30.00 s was not noticed'),
        ({'noticed': (12.5, 30.05)}, 'false alarms before: at 12.50 s'),
        ({'early_at': 26.0}, 'lower.mass: nothing was said of it by 25 s'),
    ],
)
def test_each_thing_that_goes_wrong_breaks_a_promise(what, text):
    assert any(text in found for found in broken(demo(**what)))


def test_a_wide_estimate_of_what_is_not_named_breaks_nothing():
    said = {'sd': {'upper.inertia.yy': 0.01}, 'early': {**TRUTH, 'upper.inertia.yy': 0.02}}
    assert broken(demo(**said)) == []


def test_a_demo_in_which_nothing_is_said_keeps_no_promise():
    board = told()
    assert not any(check.is_kept for check in judge(GOALS, History(board))[:3])
    assert broken(History(told(has_truth=False)))


def test_a_robot_that_does_not_change_is_no_demo():
    board = told()
    del board.truths[1]
    history = History(board)
    say(board, 10.0, TRUTH)
    history.look()
    assert broken(history) == ['the robot has not changed: nothing was to be found']


def test_the_same_moment_is_noted_once():
    board = told()
    history = History(board)
    for _ in range(3):
        history.look()
        say(board, 5.0, TRUTH)
        history.look()
    assert [moment.seconds for moment in history.moments] == [5.0]
