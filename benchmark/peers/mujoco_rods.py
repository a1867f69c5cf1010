"""MuJoCo on the workload: rollouts of all parameter sets, and forward differences."""

import copy

import mujoco
from mujoco import rollout
import numpy as np

from . import chain as chains
from .workload import huber, RADIUS, ROD_MASS, STEP, STEPS

# The error is pure truncation, linear in this down to 1e-8.
_WIDTH = 1e-7


def build_mujoco(work):
    """Return a function () -> (loss [B], gradient [D, B]) by D + 1 rollouts."""
    count = len(work.theta) + 1
    base = mujoco.MjModel.from_xml_string(_xml(work))
    models = [copy.copy(base) for _ in range(work.sets * count)]
    of_each = [model for model in models for _ in range(work.windows)]
    data = [mujoco.MjData(base) for _ in range(work.threads)]
    pool = rollout.Rollout(nthread=work.threads)
    # MuJoCo's full state begins with the time.
    starts = np.concatenate([np.zeros((1, work.windows)), work.x0]).T
    starts = np.tile(starts, (work.sets * count, 1))
    observed = work.observed.transpose(2, 0, 1)[None, None]

    def run():
        for number, model in enumerate(models):
            chosen, column = divmod(number, count)
            theta = work.theta[:, chosen].copy()
            if column:
                theta[column - 1] += _WIDTH
            _set_parameters(work, model, theta)
        states, _ = pool.rollout(of_each, data, starts, nstep=STEPS)
        q = list(np.moveaxis(states[..., 1 : 1 + work.chain.nq], -1, 0))
        seen = np.stack(chains.headings(work.chain, q, np), -1)
        seen = seen.reshape(work.sets, count, work.windows, STEPS, -1)
        loss = huber(seen - observed, (-1, -2))
        gradient = (loss[:, 1:] - loss[:, :1]) / _WIDTH
        return loss[:, 0].reshape(-1), gradient.transpose(1, 0, 2).reshape(count - 1, -1)

    return run


def _xml(work):
    """
    Return the model; its numbers are overwritten before every rollout.

    Lengths must not be zero: MuJoCo takes shortcuts where a centre of mass is at the joint.
    """
    joint = 'type="ball"' if work.chain.balls else 'type="hinge" axis="0 1 0"'
    inside = f'<inertial pos="0 0 -0.5" mass="1" diaginertia="1 1 1"/><joint {joint} damping="0"/>'
    later = f'<body pos="0 0 -1">{inside}'
    count = work.chain.count
    return (
        f'<mujoco><option timestep="{STEP}" integrator="Euler" gravity="0 0 -9.81">'
        '<flag constraint="disable" contact="disable" eulerdamp="disable"/></option>'
        f'<worldbody><body>{inside}{later * (count - 1)}{"</body>" * count}</worldbody>'
        '</mujoco>'
    )


def _set_parameters(work, model, theta):
    """Write one parameter set into a model."""
    lengths = theta[: work.chain.count]
    model.body_pos[2:, 2] = -lengths[:-1]
    model.body_ipos[1:, 2] = -lengths / 2
    if work.kind == 'W2':
        model.body_mass[1:] = theta[2:4]
        model.body_inertia[1:] = theta[4:6, None]
        model.dof_damping[:] = theta[6:8]
    else:
        across = ROD_MASS * (lengths**2 / 12 + RADIUS**2 / 4)
        model.body_inertia[1:, :2] = across[:, None]
        model.body_inertia[1:, 2] = ROD_MASS * RADIUS**2 / 2
