"""P2 whose encoders are 5 ms late, which the estimator has to find out."""

from functools import cache

import numpy as np
from problems import p2
from problems.common import log_normal_draw, roll, states_of
import torch

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.parameters.parametrization import Prior

from .course import follow
from .metrics import judge
from .p2 import base_quantities, frame_at
from .targets import covered, Line, median_width

TITLE = 'P2 with encoders that are 5 ms late, the delay unknown'
SECONDS = 5
_NAME, _SPREAD = 'encoders.delay', 0.005
# The delay is half a frame: the truth is looked at twice a frame, the first time before it.
DELAY, _LOOKS = 0.005, 2


def measure(seed):
    """Return the record of one problem."""
    problem, rng = _problem(), np.random.default_rng(seed)
    values = log_normal_draw(p2.priors(), rng)
    state, torques = p2.draw_motion(rng, SECONDS)
    # What acts before the first frame is what acts in it.
    doubled = np.concatenate([torques[:1], np.repeat(torques, _LOOKS, 0)])
    states = states_of(
        roll(
            p2.simulator(),
            state,
            _LOOKS * p2.RATE,
            len(doubled),
            values,
            torch.from_numpy(doubled),
        )
    )
    seen = states[::_LOOKS][: len(torques) + 1]
    frames, mark = p2.observed(rng, seen, torques), frame_at(SECONDS)
    course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, [mark])
    mixture = course.mixtures[mark]
    delay = float(mixture.weights @ mixture.means[problem.labels.index(_NAME)])
    return {
        'end': judge(mixture, base_quantities(problem, values)),
        'delay_error': 1000 * abs(delay - DELAY),
    }


@cache
def _problem():
    return p2.make_problem(more_priors={_NAME: Prior(0.0, _SPREAD, False)})


def median_delay_error(records):
    """Return the median error of the delay [ms]."""
    return float(np.median([r['delay_error'] for r in records]))


def lines():
    """Return the lines of the table."""
    width = 'width [%]', median_width('end')
    return [
        Line('median error of the delay [ms]', median_delay_error, (None, 0.2)),
        Line('90 % intervals, 5 s', covered('end', 0.9), (0.83, None), 'share', width),
    ]
