"""
An arm of seven joints with torques and encoders, described for both tools, and recorded.

It is the one of `config/`, without what the two describe in different ways: dry friction is a
constraint in MuJoCo, and limits of joints are nothing to ours.
"""

from functools import cache, partial
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

from .robot import Recording, Unknown

_URDF = Path(__file__).resolve().parents[2] / 'config' / 'seven_joint_arm.urdf'
JOINTS = (
    'base_yaw',
    'shoulder_pitch',
    'shoulder_roll',
    'elbow_pitch',
    'forearm_roll',
    'wrist_pitch',
    'wrist_roll',
)
SENSOR = 'encoders'
# [N m s]
DAMPING = (1.6, 1.6, 1.2, 1.2, 0.6, 0.6, 0.4)
# What the hand holds makes it so heavy, and moves its centre of mass: [kg], [m].
_MASS, _CENTRE = 1.7, (0.02, -0.03, 0.08)
# What the description says of the same.
NOMINAL = (0.9, (0.006, 0.004, 0.05))
# Rotors, behind their gears [kg m^2].
_ARMATURE = 0.1
# Between samples, and of the integrators of both tools [s].
STEP = 0.005
# Of the encoders [rad].
NOISE = 5e-4
# The truth is integrated in steps so much finer, and begins so long before the first sample [s].
_FINER, _BEFORE = 10, 0.05
# A servo, by stiffness and damping, follows tones: how many, rates [rad/s], reach of all [rad].
_TONES, _RATES, _REACH, _STIFF, _SLOW = 3, (1.0, 6.0), 0.9, 60.0, 6.0
# What is searched: [m] about the description, [kg], part of the true damping.
_CENTRES, _MASSES, _DAMPINGS = (-0.15, 0.15), (0.2, 6.0), (0.25, 4.0)
_CENTRE_SD, _SD = 0.1, 0.7


def record(seed, seconds, late=(), latency=0.0):
    """
    Return the `Recording` of a random motion.

    late: numbers of the joints whose samples have stamps that are late by `latency` [s].
    """
    rng = np.random.default_rng(seed)
    model = _true_spec(STEP / _FINER).compile()
    data, target = mujoco.MjData(model), _Tones(rng)
    data.qpos[:], data.qvel[:] = target.at(0.0)
    zero, count = round(_BEFORE / STEP), round(seconds / STEP)
    positions, velocities, efforts = [], [], []
    for k in range(zero + count + 1):
        mujoco.mj_forward(model, data)
        angles, rates = target.at(k * STEP)
        data.ctrl[:] = _STIFF * (angles - data.qpos) + _SLOW * (rates - data.qvel)
        data.ctrl[:] += data.qfrc_bias
        efforts.append(data.ctrl.copy())
        for _ in range(_FINER):
            positions.append(data.qpos.copy())
            velocities.append(data.qvel.copy())
            mujoco.mj_step(model, data)
    taken = _FINER * (zero + np.arange(count + 1))
    behind = round(latency * _FINER / STEP)
    shift = behind * np.isin(range(len(JOINTS)), late)
    seen = np.array(positions)[taken[:, None] - shift, range(len(JOINTS))]
    noisy = seen + NOISE * rng.standard_normal(seen.shape)
    first = positions[taken[0]], velocities[taken[0]]
    return Recording(*first, STEP * np.arange(count + 1), noisy, np.array(efforts)[zero:])


class _Tones:
    """A random sum of tones for every joint."""

    def __init__(self, rng):
        shape = len(JOINTS), _TONES
        self._rates = rng.uniform(*_RATES, shape)
        self._phases = rng.uniform(0, 2 * np.pi, shape)

    def at(self, time):
        """Return angles [7] and their rates at a time [s]."""
        angles, size = self._rates * time + self._phases, _REACH / _TONES
        return size * np.sin(angles).sum(1), size * (self._rates * np.cos(angles)).sum(1)


def starts(rng):
    """Return what is begun with, anywhere: the hand's centre of mass [m]."""
    return tuple(rng.uniform(*_CENTRES, 3).tolist())


def unknowns(begin, damping, frees_damping):
    """
    Return the `Unknown`s, the hand's centre of mass first.

    begin: with which centre [m], None: that of the description; damping: begun with where it is
    free, as a part of the true one.
    """
    mass, centre = NOMINAL
    found = [
        Unknown(
            f'hand.com.{axis}',
            _CENTRE[k],
            start,
            _CENTRE_SD,
            False,
            *_CENTRES,
            partial(_write_centre, k),
        )
        for k, (axis, start) in enumerate(zip('xyz', begin or centre))
    ]
    found.append(Unknown('hand.mass', _MASS, mass, _SD, True, *_MASSES, _write_mass))
    if frees_damping:
        found += [
            Unknown(
                f'{joint}.damping',
                true,
                damping * true,
                _SD,
                True,
                *(true * part for part in _DAMPINGS),
                partial(_write_damping, joint),
            )
            for joint, true in zip(JOINTS, DAMPING)
        ]
    return found


def _write_centre(k, spec, value):
    spec.body('hand').ipos[k] = value


def _write_mass(spec, value):
    spec.body('hand').mass = value


def _write_damping(joint, spec, value):
    # A polynomial in MuJoCo 4; its first coefficient is the viscous one.
    spec.joint(joint).damping[0] = value


def _true_spec(step):
    found = spec(1.0, step)
    _write_mass(found, _MASS)
    for k, value in enumerate(_CENTRE):
        _write_centre(k, found, value)
    return found


def spec(damping, step=STEP):
    """Return MuJoCo's description as an MjSpec; damping: part of the true one; step [s]."""
    found = mujoco.MjSpec.from_string(urdf(damping))
    found.option.timestep = step
    found.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    for name in JOINTS:
        joint = found.joint(name)
        joint.armature = _ARMATURE
        motor = found.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
        found.add_sensor(
            name=name,
            type=mujoco.mjtSensor.mjSENS_JOINTPOS,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=name,
        )
    return found


@cache
def urdf(damping):
    """Return the robot as URDF; damping: part of the true one."""
    root = ElementTree.parse(_URDF).getroot()
    for joint, true in zip(root.iter('joint'), DAMPING):
        joint.set('type', 'continuous')
        joint.remove(joint.find('limit'))
        joint.find('dynamics').attrib.update(damping=str(damping * true), friction='0')
    for link in root.iter('link'):
        for visual in link.findall('visual'):
            link.remove(visual)
    return ElementTree.tostring(root, encoding='unicode')


def config(damping):
    """Return the settings of ours but for sensors and priors; damping: part of the true one."""
    return {
        'model': {'urdf': urdf(damping)},
        'joints': {joint: {'effort': 'commanded'} for joint in JOINTS},
        'simulation': {'max_step': STEP},
        'estimate': {'*.armature': {'mean': _ARMATURE, 'fixed': True}},
    }


def sensor(joints):
    """Return the settings of encoders of joints."""
    return {'kind': 'joint_positions', 'joints': joints, 'sd': NOISE}
