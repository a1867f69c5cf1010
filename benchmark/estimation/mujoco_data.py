"""P2 as MuJoCo simulates it: its integrator at 0.5 ms, its dry friction, all of it unknown."""

from functools import cache

import mujoco
import mujoco_model
import numpy as np
from problems import p2
from problems.common import log_normal_draw

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import Prior

from .course import follow
from .metrics import judge, Quantities
from .p2 import base_quantities, frame_at
from .targets import coverage_lines, Line, median_error, median_width

TITLE = 'P2 simulated by MuJoCo, with its dry friction'
# Seconds, and the wanted median error [%]: as with data of our own.
MARKS = {2: 0.1, 5: 0.04, 10: 0.025}
STEP = 0.0005
# The corners of dry friction keep the posterior of a batch from ever being quite normal; after
# two seconds the filter takes over all the same.
SETTINGS = {'longest': 200}
# MuJoCo's friction gives way like a spring-damper; this one is as stiff as the step allows.
_STIFFNESS = (2 * STEP, 1.0)
FRICTIONS = {f'{joint}.friction': Prior(0.02, 0.5, True) for joint in p2.JOINTS}


def measure(seed):
    """Return the record of one problem."""
    problem, rng = _problem(), np.random.default_rng(seed)
    values = log_normal_draw(p2.priors() | FRICTIONS, rng)
    state, torques = p2.draw_motion(rng, max(MARKS))
    frames = p2.observed(rng, simulate(values, state, torques), torques)
    quantities = _quantities(problem, values)
    estimator = ESTIMATORS['gaussian_sum'](**SETTINGS)
    marks = {t: frame_at(t) for t in MARKS}
    course = follow(problem, estimator, frames, marks.values())
    record = {str(t): judge(course.mixtures[k], quantities) for t, k in marks.items()}
    return record | course.innovation_record()


def simulate(values, state, torques):
    """Return the states [H + 1, 4] that MuJoCo finds for named values and torques [H, 2]."""
    there = mujoco_model.convert(load_urdf(p2.urdf(values)), STEP)
    # As accurate as it can be, and damping inside the integrator as ours has it.
    there.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    there.dof_frictionloss[:] = [values[name] for name in FRICTIONS]
    there.dof_solref[:] = _STIFFNESS
    data = mujoco.MjData(there)
    data.qpos[:], data.qvel[:] = state[:2], state[2:]
    states = [state]
    for torque in torques:
        data.qfrc_applied[:] = torque
        for _ in range(round(1 / (p2.RATE * STEP))):
            mujoco.mj_step(there, data)
        states.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(states)


def _quantities(problem, values):
    """Return the logarithms of the five base parameters of inertia."""
    whole = base_quantities(problem, values)
    return Quantities(lambda x: whole.function(x)[:5], whole.truth[:5])


@cache
def _problem():
    return p2.make_problem(more_priors=FRICTIONS)


def lines():
    """Return the lines of the table."""
    found = []
    for seconds, error in MARKS.items():
        mark, when = str(seconds), f'{seconds} s'
        found.append(Line(f'median error [%], {when}', median_error(mark), (None, error)))
        found += coverage_lines(when, mark, ('width [%]', median_width(mark)))
    return found
