"""
P1: three point masses on rods without mass that hang from each other on ball joints.

The lengths are unknown, and so is the first state; motion capture sees where the rods point.
"""

from functools import cache

import numpy as np

from sim2real_estimator.app.reproduce.pendulums import tilted_quaternion
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.sensors import SENSORS
from sim2real_estimator.spatial.quaternion import Quaternion
from sim2real_estimator.spatial.vector import Vec3

from .common import make_frames, roll, states_of, STEP, Truth, TRUTH_STEP

LENGTH, SPREAD, MASS = 0.4, 0.3, 1.0
# A ball joint lets a rod spin about itself, which a point on its axis would not resist. A ball
# of 3 mm in place of the point does; it turns with the rod, adds 2e-5 to the inertia about the
# joint, and truth and model have it alike. The spin neither moves a mass nor is moved by one.
_BALL = 4e-6
RODS = ('rod0', 'rod1', 'rod2')
NAMES = tuple(f'{rod}.length' for rod in RODS)
RATE = 25.0
NOISE = np.deg2rad(0.1)
# 0.2 mm at both ends of a rod of 0.4 m.
MOCAP_NOISE = np.deg2rad(0.038)
_TILTS = (0.3, 1.2)
_TURN = 2.0


def _urdf():
    """Return the chain as URDF; URDF knows no ball joints, so they are typed when it is read."""
    parts, parent, hang = ['<link name="ceiling"/>'], 'ceiling', 0.0
    for rod in RODS:
        parts.append(
            f'<link name="{rod}"><inertial><origin xyz="0 0 {-LENGTH}"/><mass value="{MASS}"/>'
            f'<inertia ixx="{_BALL}" iyy="{_BALL}" izz="{_BALL}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="ball_{rod}" type="continuous">'
            f'<parent link="{parent}"/><child link="{rod}"/><origin xyz="0 0 {hang}"/></joint>'
        )
        parent, hang = rod, -LENGTH
    # Without an end the last rod would be taken for twice as long as its centre of mass is far.
    parts.append(
        '<link name="end"/><joint name="to_end" type="fixed"><parent link="rod2"/>'
        f'<child link="end"/><origin xyz="0 0 {-LENGTH}"/></joint>'
    )
    return f'<robot name="p1">{"".join(parts)}</robot>'


@cache
def model():
    """Return the `Model`."""
    return load_urdf(_urdf(), joint_types={f'ball_{rod}': 'spherical' for rod in RODS})


@cache
def parameters():
    """Return the `Parameters`."""
    return Parameters(model())


def priors():
    """Return name -> `Prior`."""
    return {name: Prior(LENGTH, SPREAD, True) for name in NAMES}


def make_problem(options=None, noise=NOISE):
    """Return the problem; noise: of an orientation, about each axis [rad]."""
    sensors = [SENSORS['link_pose'](rod, model(), rod, orientation_sd=noise) for rod in RODS]
    parametrization = choose_parametrization(parameters(), sensors, priors())
    return RobotProblem(
        parameters(), sensors, parametrization, options or ProblemOptions(max_step=STEP)
    )


def draw(seed, count=125, rate=RATE, noise=NOISE):
    """Return (`Truth`, frames) of `count` frames after the first instant."""
    rng = np.random.default_rng(seed)
    values = {n: LENGTH * np.exp(SPREAD * rng.standard_normal()) for n in NAMES}
    states = states_of(roll(simulator(), _first_state(rng), rate, count, values))
    measured = [dict(zip(RODS, _orientations(rng, state, noise))) for state in states]
    return Truth(values, states), make_frames(rate, measured)


def _first_state(rng):
    """Return a state in which every rod leans on the one above and turns, but does not spin."""
    turns, rates = [], []
    for _ in RODS:
        turns += tilted_quaternion(rng.uniform(*_TILTS), rng.uniform(0, 2 * np.pi))
        rates += [*(_TURN * rng.standard_normal(2)), 0.0]
    return np.array(turns + rates)


def _orientations(rng, state, noise):
    """Yield a link pose for every rod: no position, and the orientation with noise."""
    whole = Quaternion.identity()
    for k in range(len(RODS)):
        whole = whole * Quaternion(*state[4 * k : 4 * k + 4])
        error = Quaternion.exp(Vec3(*(noise * rng.standard_normal(3))))
        yield np.array([np.nan, np.nan, np.nan, *(whole * error)])


@cache
def simulator():
    return Simulator(model(), NAMES, max_step=TRUTH_STEP)
