"""P3 with an unknown first state: four seconds of free swing, then a torque that tells."""

import numpy as np
from problems import p3

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.filter.phases import FilterState

from .course import follow
from .metrics import judge, Quantities
from .p3 import Modes, SETTINGS, shared_problem
from .targets import coverage_lines, Line, median_width, share

TITLE = 'P3, first state unknown: 4 s of free swing, then 0.3 N m'
# Seconds: an early look, the end of the free swing, and when the truth must be found.
EARLY, FREE, TOLD = 2.0, 4.0, 4.5
_TORQUE, _FREQUENCY = 0.3, 1.0
_CERTAIN = 0.99
# Less of a mixture's effective sample than this says that it does not stand for the posterior.
_DOUBTFUL = 0.9


def torque(times):
    """Return a sine [N m] that begins when the free swing ends."""
    waves = _TORQUE * np.sin(2 * np.pi * _FREQUENCY * (times - FREE))
    return np.where(times < FREE - 1e-9, 0.0, waves)


def measure(seed):
    """Return the record of one problem."""
    problem = shared_problem()
    truth, frames = p3.draw(seed, seconds=TOLD, torque=torque)
    early, free, told = (round(t * p3.RATE) for t in (EARLY, FREE, TOLD))
    modes = Modes(problem, truth, frames[: free + 1])
    estimator = ESTIMATORS['gaussian_sum'](**SETTINGS)
    course = follow(problem, estimator, frames, (early, free, told))
    at, state = course.mixtures, course.states[free]
    # A batch that has not handed over doubts its mixture as well.
    is_doubtful = not isinstance(state, FilterState) or state.share < _DOUBTFUL
    record = {'end': judge(at[free], Quantities(lambda x: x, modes.true))}
    found = dict.fromkeys(('kept', 'unnoticed', 'moved', 'told'))
    if modes.are_two:
        kept = modes.kept_by(at[free])
        found['kept'] = kept
        found['unnoticed'] = float(not kept and not is_doubtful)
        found['moved'] = abs(modes.side_weight(at[free]) - modes.side_weight(at[early]))
        found['told'] = float(modes.true_weight(at[told]) > _CERTAIN) if kept else None
    return record | found


def lines():
    """Return the lines of the table."""
    return [
        Line('both modes kept, 4 s', share('kept'), (0.93, None), 'share'),
        Line('a mode lost without a warning', share('unnoticed'), (None, 0.0), 'share'),
        Line('mean change of a weight, 2 to 4 s', share('moved'), (None, 0.02)),
        Line('truth weighs > 0.99 after 0.5 s of torque', share('told'), (0.97, None), 'share'),
        *coverage_lines('4 s', 'end', ('width [%]', median_width('end'))),
    ]
