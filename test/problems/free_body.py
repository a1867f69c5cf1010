"""
A brick thrown through a motion capture volume: no joint, no effort, nothing but its pose.

Gravity and the spin tell where its centre of mass is and how its inertias compare. How heavy it
is, they do not: a body of twice the mass and inertia flies alike.
"""

from functools import cache

import numpy as np

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import read_config
from sim2real_estimator.model.parameters import AXES, INERTIA_NAMES
from sim2real_estimator.records import Sample
from sim2real_estimator.setup.sources import build_model
from sim2real_estimator.spatial.quaternion import Quaternion
from sim2real_estimator.spatial.vector import Vec3

from .common import roll, states_of, TRUTH_STEP

RATE, SECONDS = 120.0, 1.5
POSITION_NOISE, TURN_NOISE = 5e-4, 3e-3
# [m/s] and [rad/s]
_UPWARDS, _SPIN = 7.0, (6.0, 12.0)
NAMES = (
    'brick.mass',
    *(f'brick.com.{a}' for a in AXES),
    *(f'brick.inertia.{n}' for n in INERTIA_NAMES),
)
MOMENTS, PRODUCTS = NAMES[4:7], NAMES[7:]
_CONFIG = f"""
model:
  urdf: >-
    <robot name="brick"><link name="brick"><inertial>
    <origin xyz="0.02 -0.01 0.03"/><mass value="1.0"/>
    <inertia ixx="0.0108" iyy="0.0083" izz="0.0062" ixy="0" ixz="0" iyz="0"/>
    </inertial></link></robot>
  base: floating
sensors:
  mocap:
    kind: link_pose
    topic: mocap/brick
    link: brick
    position_sd: {POSITION_NOISE}
    orientation_sd: {TURN_NOISE}
estimate:
  brick.mass: {{}}
  brick.com.*: {{}}
  brick.inertia.??: {{}}
  brick.inertia.xx: {{sd: 0.2}}
  brick.inertia.yy: {{sd: 0.2}}
  brick.inertia.zz: {{sd: 0.2}}
"""


@cache
def config():
    """Return the `Config`."""
    return read_config(_CONFIG, 'brick.yaml')


@cache
def simulator():
    """Return a `Simulator` of the true body, unknown in all that the config estimates."""
    return Simulator(build_model(config()), NAMES, max_step=TRUTH_STEP)


def draw(seed, priors, seconds=SECONDS):
    """Return (name -> true value, `Sample`s) of a throw of a body drawn from priors by name."""
    rng = np.random.default_rng(seed)
    values = _possible_body(rng, priors)
    states = states_of(roll(simulator(), _throw(rng), RATE, round(RATE * seconds), values))
    stamps = [round(k * 1e9 / RATE) for k in range(len(states))]
    return values, [Sample('mocap', at, _seen(rng, state)) for at, state in zip(stamps, states)]


def centre(values):
    """Return the centre of mass [3, ...] [m] of values by name."""
    return np.array([values[f'brick.com.{axis}'] for axis in AXES])


def ratios(values):
    """Return how the inertias [...] of values by name compare, [5, ...]: what the spin tells."""
    xx, yy, zz, xy, xz, yz = (np.asarray(values[f'brick.inertia.{n}']) for n in INERTIA_NAMES)
    mean = (xx + yy + zz) / 3
    return np.array([np.log(xx / zz), np.log(yy / zz), xy / mean, xz / mean, yz / mean])


def _possible_body(rng, priors):
    """Return name -> value drawn from the priors, again until a body can have such an inertia."""
    while True:
        values = {}
        for name, prior in priors.items():
            step = prior.sd * rng.standard_normal()
            values[name] = float(prior.mean * np.exp(step) if prior.is_log else prior.mean + step)
        xx, yy, zz, xy, xz, yz = (values[f'brick.inertia.{n}'] for n in INERTIA_NAMES)
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if moments[2] < moments[0] + moments[1]:
            return values


def _throw(rng):
    """Return a first state [13] that tumbles upwards."""
    turn = rng.standard_normal(4)
    # About no axis that the body would keep to.
    spin = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.4, 1.0, 3)
    spin *= rng.uniform(*_SPIN) / np.linalg.norm(spin)
    position = [*rng.uniform(-0.5, 0.5, 2), 1.0]
    velocity = [*rng.uniform(-1, 1, 2), _UPWARDS]
    return np.array([*position, *turn / np.linalg.norm(turn), *velocity, *spin])


def _seen(rng, state):
    """Return a noisy pose, its quaternion of either sign."""
    error = Quaternion.exp(Vec3(*(TURN_NOISE * rng.standard_normal(3))))
    turn = rng.choice([-1.0, 1.0]) * np.array(list(Quaternion(*state[3:7]) * error))
    return np.array([*(state[:3] + POSITION_NOISE * rng.standard_normal(3)), *turn])
