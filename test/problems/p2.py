"""
P2: a planar double pendulum with two motors and two encoders.

Ten unknown physical parameters, of which the data can tell seven combinations, the base
parameters; the velocities are unknown as well.
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

# The moments of inertia that no motion in the plane can show are large: a body stays possible
# whatever is drawn for the third.
_URDF = """
<robot name="p2">
  <link name="stand"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 %(upper.com.z)r"/>
      <mass value="%(upper.mass)r"/>
      <inertia ixx="0.5" iyy="%(upper.inertia.yy)r" izz="0.5" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 %(lower.com.z)r"/>
      <mass value="%(lower.mass)r"/>
      <inertia ixx="0.5" iyy="%(lower.inertia.yy)r" izz="0.5" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tip"/>
  <joint name="shoulder" type="continuous">
    <parent link="stand"/>
    <child link="upper"/>
    <axis xyz="0 1 0"/>
    <dynamics damping="%(shoulder.damping)r"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="0 0 %(elbow.origin.z)r"/>
    <axis xyz="0 1 0"/>
    <dynamics damping="%(elbow.damping)r"/>
  </joint>
  <joint name="to_tip" type="fixed">
    <parent link="lower"/>
    <child link="tip"/>
    <origin xyz="0 0 %(to_tip.origin.z)r"/>
  </joint>
</robot>
"""
JOINTS = ('shoulder', 'elbow')
# Nominal value, which the URDF has, and standard deviation of the logarithm of each unknown.
_UNKNOWNS = {
    'upper.mass': (1.0, 0.3),
    'lower.mass': (0.8, 0.3),
    'elbow.origin.z': (-0.5, 0.2),
    'to_tip.origin.z': (-0.4, 0.2),
    'upper.com.z': (-0.25, 0.3),
    'lower.com.z': (-0.2, 0.3),
    'upper.inertia.yy': (0.0208, 0.4),
    'lower.inertia.yy': (0.0107, 0.4),
    'shoulder.damping': (0.08, 0.7),
    'elbow.damping': (0.04, 0.7),
}
NAMES = tuple(_UNKNOWNS)
BASE_NAMES = ('a1', 'a2', 'a3', 'g1', 'g2', 'b1', 'b2')
RATE = 100.0
NOISE = np.deg2rad(0.1)
_TORQUES = (1.5, 0.6)
_TONES, _BAND = 4, (0.2, 2.5)


def urdf(values):
    """Return the robot with other values than the nominal ones; name to float."""
    return _URDF % values


@cache
def model():
    """Return the `Model`."""
    return load_urdf(urdf({name: nominal for name, (nominal, _) in _UNKNOWNS.items()}))


@cache
def parameters():
    """Return the `Parameters`."""
    return Parameters(model())


def priors():
    """Return name -> `Prior`."""
    return {name: Prior(nominal, sd, True) for name, (nominal, sd) in _UNKNOWNS.items()}


def make_problem(options=None, more_priors=None, noise=NOISE, noises=None, stamp_sd=0.0):
    """
    Return the problem.

    more_priors: of further unknown parameters; noise: what is said of the encoders' [rad];
    noises: sensor -> `Prior` of a factor on it; stamp_sd [s]: of the encoders.
    """
    sensor = SENSORS['joint_positions']('encoders', model(), JOINTS, noise, stamp_sd=stamp_sd)
    parametrization = choose_parametrization(
        parameters(), [sensor], priors() | (more_priors or {})
    )
    options = options or ProblemOptions(max_step=STEP)
    return RobotProblem(parameters(), [sensor], parametrization, options, noises)


def base_parameters(values):
    """Return the base parameters [7, ...] of values [10, ...] in the order of `NAMES`."""
    m1, m2, l1, _, c1, c2, i1, i2, b1, b2 = np.abs(values[: len(NAMES)])
    a1, a2 = m1 * c1**2 + i1 + m2 * l1**2, m2 * c2**2 + i2
    return np.array([a1, a2, m2 * l1 * c2, m1 * c1 + m2 * l1, m2 * c2, b1, b2])


def draw_motion(rng, seconds, rate=RATE):
    """Return a first state [4] and torques [H, 2] of several tones each."""
    state = np.concatenate([rng.uniform(-1, 1, 2), rng.standard_normal(2)])
    times = np.arange(round(seconds * rate))[:, None] / rate
    torques = []
    for size in _TORQUES:
        phases = 2 * np.pi * (times * rng.uniform(*_BAND, _TONES) + rng.uniform(0, 1, _TONES))
        torques.append(size * 2 * np.sin(phases).mean(1))
    return state, np.array(torques).T


def draw(seed, seconds=10.0, rate=RATE):
    """Return (`Truth`, frames): parameters from the prior, a random motion, noisy angles."""
    rng = np.random.default_rng(seed)
    values = log_normal_draw(priors(), rng)
    state, torques = draw_motion(rng, seconds, rate)
    states = states_of(
        roll(simulator(), state, rate, len(torques), values, torch.from_numpy(torques))
    )
    return Truth(values, states), observed(rng, states, torques, rate)


def observed(rng, states, torques, rate=RATE):
    """Return the frames of a trajectory [H + 1, 4]: angles with noise, torques as they are."""
    angles = states[:, :2] + NOISE * rng.standard_normal((len(states), 2))
    return make_frames(rate, [{'encoders': row} for row in angles], torques)


@cache
def simulator():
    return Simulator(model(), NAMES, max_step=TRUTH_STEP)
