"""P2 with dry friction that the model knows nothing of: efforts of unknown origin absorb it."""

from functools import cache

import numpy as np
from problems import p2
from problems.common import log_normal_draw, roll, states_of, STEP, TRUTH_STEP
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.observability.findings import find
from sim2real_estimator.prediction.robot_problem import ProblemOptions

from .course import follow
from .metrics import judge, Quantities
from .p2 import base_quantities, frame_at
from .targets import covered, Line, median_width, share

TITLE = 'P2 with dry friction of 0.02 N m, unknown to the model'
SECONDS = 10
FRICTION = 0.02
# Correlation time of efforts of unknown origin [s].
_MEMORY = 0.2


def measure(seed):
    """Return the record of one problem."""
    problem, rng = _problem(), np.random.default_rng(seed)
    values = log_normal_draw(p2.priors(), rng)
    state, torques = p2.draw_motion(rng, SECONDS)
    states = states_of(
        roll(_simulator(), state, p2.RATE, len(torques), values, torch.from_numpy(torques))
    )
    frames, mark = p2.observed(rng, states, torques), frame_at(SECONDS)
    course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, [mark])
    whole = base_quantities(problem, values)
    inertial = Quantities(lambda x: whole.function(x)[:5], whole.truth[:5])
    mixture = course.mixtures[mark]
    found = find(problem, mixture, frames[mark].end_ns, exact=False)
    flagged = [p.verdict == 'aliased' for p in found.parameters if p.name in problem.dissipation]
    return {'end': judge(mixture, inertial), 'flagged': float(all(flagged))}


@cache
def _problem():
    return p2.make_problem(ProblemOptions(max_step=STEP, disturbance_time=_MEMORY))


@cache
def _simulator():
    values = {f'{joint}.friction': FRICTION for joint in p2.JOINTS}
    return Simulator(p2.model(), p2.NAMES, max_step=TRUTH_STEP, values=values)


def lines():
    """Return the lines of the table."""
    width = 'width [%]', median_width('end')
    name = '90 % intervals of inertial ones, 10 s'
    return [
        Line(name, covered('end', 0.9), (0.85, None), 'share', width),
        Line('damping is called aliased', share('flagged'), (0.95, None), 'share'),
    ]
