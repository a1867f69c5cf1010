"""A `Board` that has heard of a robot with three parameters, for tests of what is shown of it."""

from dataclasses import dataclass

from sim2real_estimator.app.monitor import Board, Happening, Task
from sim2real_estimator.records import ParameterFinding

SECOND = 10**9
START = 1_700_000_000 * SECOND
PRIORS = {
    'lower.mass': (0.8, 0.24),
    'elbow.damping': (0.04, 0.03),
    'upper.inertia.yy': (0.02, 0.01),
}
TRUTH = {'lower.mass': 1.0, 'elbow.damping': 0.05, 'upper.inertia.yy': 0.03}
HEAVIER = {**TRUTH, 'lower.mass': 1.2}


@dataclass(frozen=True)
class Numbers:
    """As `EstimateReading`."""

    stamp_ns: int
    mean: dict
    sd: dict


@dataclass(frozen=True)
class Verdicts:
    """As `ParametersReading`."""

    stamp_ns: int
    parameters: dict
    units: dict
    posterior: dict


def stamp(seconds):
    return START + round(seconds * SECOND)


def told(truth_at=30.0, has_truth=True):
    """Return a board that has heard the truth, and of a change after some seconds."""
    board = Board()
    if has_truth:
        board.take_truth(START, TRUTH)
        board.take_truth(stamp(truth_at), HEAVIER)
    board.take_task('input /joint_states', Task(True, 'messages come in', {'rate [1/s]': '200.0'}))
    board.take_task('worker', Task(True, 'running', {'mean update time [ms]': '1.27'}))
    return board


def say(board, seconds, mean, sd=None, verdicts=None, aliases=None, held=None):
    """
    Let a node say something, all identified but where told otherwise; return the verdicts.

    held: mass on the lower link [kg], None: nothing.
    """
    sd = {name: 0.001 for name in mean} | (sd or {})
    board.take_estimate(Numbers(stamp(seconds), mean, sd))
    found = {
        name: ParameterFinding(
            name,
            mean[name],
            sd[name],
            (mean[name],) * 3,
            *PRIORS[name],
            0.01,
            (verdicts or {}).get(name, 'identified'),
            (aliases or {}).get(name, ()),
        )
        for name in mean
    }
    whole = {}
    if held is not None:
        whole = {'payload on': 'lower', 'payload mass': str(held), 'payload mass std': '0.0002'}
    reading = Verdicts(stamp(seconds), found, dict.fromkeys(mean, 'kg'), whole)
    board.take_parameters(reading)
    return reading


def report_change(board, seconds):
    board.take_happening(Happening(stamp(seconds), 'changed', 'it is estimated anew', True))
