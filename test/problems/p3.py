"""
P3: one swinging link whose centre of mass is known up to a mirror.

As in the reversible pendulum of Kater, a swing cannot tell the distance c of the centre of mass
from the distance I / (m c), the damping scaled along: the posterior has two modes, until a known
torque acts.
"""

from functools import cache

import numpy as np
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.sensors import SENSORS

from .common import log_normal_draw, make_frames, roll, states_of, STEP, Truth, TRUTH_STEP

MASS, INERTIA = 1.0, 1 / 12
_URDF = f"""
<robot name="p3">
  <link name="stand"/>
  <link name="bar">
    <inertial>
      <origin xyz="0 0 -0.29"/>
      <mass value="{MASS}"/>
      <inertia ixx="0.2" iyy="{INERTIA}" izz="0.2" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="pivot" type="continuous">
    <parent link="stand"/>
    <child link="bar"/>
    <axis xyz="0 1 0"/>
    <dynamics damping="0.05"/>
  </joint>
</robot>
"""
NAMES = ('bar.com.z', 'pivot.damping')
RATE = 25.0
NOISE = np.deg2rad(0.1)
# How well a known first state is known [rad, rad/s]: far better than the encoder sees.
_KNOWN = 1e-5


@cache
def model():
    """Return the `Model`; its motor gives no torque where none is asked for."""
    return load_urdf(_URDF)


@cache
def parameters():
    """Return the `Parameters`."""
    return Parameters(model())


def priors():
    """Return name -> `Prior`."""
    return {'bar.com.z': Prior(-0.29, 0.5, True), 'pivot.damping': Prior(0.05, 0.7, True)}


def make_problem(options=None):
    """Return the problem; a second sensor tells the first state where it is known."""
    kind = SENSORS['joint_positions']
    sensors = [
        kind('encoder', model(), ['pivot'], NOISE),
        kind('start', model(), ['pivot'], _KNOWN, _KNOWN),
    ]
    parametrization = choose_parametrization(parameters(), sensors, priors())
    return RobotProblem(
        parameters(), sensors, parametrization, options or ProblemOptions(max_step=STEP)
    )


def mirrored(logs):
    """Return (log c, log b) [2, ...] of the pendulum that swings in the same way."""
    other = np.log(INERTIA / MASS) - logs[0]
    return np.array([other, logs[1] + other - logs[0]])


def logs_of(values):
    """Return (log c, log b) [2] of named values."""
    return np.log([-values['bar.com.z'], values['pivot.damping']])


def draw(seed, seconds=4.0, rate=RATE, is_start_known=False, torque=None):
    """
    Return (`Truth`, frames).

    torque: function of the time [s] -> torque [N m] on the pivot (None: a free swing).
    """
    rng = np.random.default_rng(seed)
    values = log_normal_draw(priors(), rng)
    state = np.array([rng.uniform(-1.5, 1.5), rng.standard_normal()])
    times = np.arange(round(seconds * rate)) / rate
    controls = np.zeros((len(times), 1)) if torque is None else torque(times)[:, None]
    states = states_of(
        roll(simulator(), state, rate, len(times), values, torch.from_numpy(controls))
    )
    measured = [
        {'encoder': row} for row in states[:, :1] + NOISE * rng.standard_normal((len(states), 1))
    ]
    if is_start_known:
        measured[0]['start'] = states[0] + _KNOWN * rng.standard_normal(2)
    return Truth(values, states), make_frames(rate, measured, controls)


@cache
def simulator():
    return Simulator(model(), NAMES, max_step=TRUTH_STEP)
