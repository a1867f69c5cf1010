"""
Three masses that hang from each other on ball joints, described for both tools, and recorded.

The masses are flat discs across their rods: these resist a spin about the rod, and what they add
to the inertia does not change with the length of the rod.
"""

from functools import partial

import mujoco
import numpy as np

from .robot import Recording, Unknown

RODS = ('rod0', 'rod1', 'rod2')
JOINTS = ('ball0', 'ball1', 'ball2')
SENSOR = 'camera'
# True values [m], [kg], [N m s].
LENGTHS = (0.30, 0.25, 0.20)
MASSES = (0.5, 0.4, 0.3)
DAMPING = 0.002
# What the descriptions say of every length [m].
NOMINAL = 0.4
# Of a disc about its diameter; about the rod it is twice that [kg m^2].
_DISC = 5e-5
# Between samples, and of the integrators of both tools [s].
STEP = 0.005
# Of every number of a quaternion; an angle about an axis has twice that [rad].
NOISE = 0.005
# The truth is integrated in steps so much finer, and begins so long before the first sample [s].
_FINER, _BEFORE = 10, 0.05
_TILTS, _TURN = (0.3, 1.2), 2.0
# What is searched: lengths [m], dampings [N m s]; of logarithms: half or twice the truth.
_LENGTHS, _DAMPINGS, _SD = (0.08, 0.55), (5e-4, 8e-3), 0.7


def record(seed, seconds, late=(), latency=0.0):
    """
    Return the `Recording` of a motion from a random state.

    late: numbers of the joints whose samples have stamps that are late by `latency` [s].
    """
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(mjcf(LENGTHS, STEP / _FINER))
    data = mujoco.MjData(model)
    _begin(data, rng)
    zero, count = round(_BEFORE * _FINER / STEP), round(seconds / STEP)
    positions, velocities = [], []
    for _ in range(zero + count * _FINER + 1):
        positions.append(data.qpos.copy())
        velocities.append(data.qvel.copy())
        mujoco.mj_step(model, data)
    taken = zero + _FINER * np.arange(count + 1)
    behind = round(latency * _FINER / STEP)
    seen = [np.array(positions)[taken - behind * (k in late), 4 * k : 4 * k + 4] for k in range(3)]
    seen = np.concatenate(seen, 1)
    noisy = seen + NOISE * rng.standard_normal(seen.shape)
    times = STEP * np.arange(count + 1)
    return Recording(positions[zero], velocities[zero], times, noisy, np.zeros((count + 1, 0)))


def _begin(data, rng):
    """Set a state in which every rod leans on the one above and turns, but does not spin."""
    for k in range(3):
        half, azimuth = rng.uniform(*_TILTS) / 2, rng.uniform(0, 2 * np.pi)
        axis = np.sin(half) * np.array([np.cos(azimuth), np.sin(azimuth), 0])
        data.qpos[4 * k : 4 * k + 4] = [np.cos(half), *axis]
        data.qvel[3 * k : 3 * k + 3] = [*(_TURN * rng.standard_normal(2)), 0.0]


def starts(rng):
    """Return what is begun with, anywhere: lengths [m]."""
    return tuple(rng.uniform(*_LENGTHS, 3).tolist())


def unknowns(begin, damping, frees_damping):
    """
    Return the `Unknown`s, lengths first.

    begin: with which lengths [m], None: `NOMINAL`; damping: begun with where it is free, as a part
    of the true one.
    """
    found = [
        Unknown(
            f'{rod}.length', LENGTHS[k], start, _SD, True, *_LENGTHS, partial(_write_length, k)
        )
        for k, (rod, start) in enumerate(zip(RODS, begin or (NOMINAL,) * 3))
    ]
    found += [
        Unknown(
            f'{joint}.damping',
            DAMPING,
            damping * DAMPING,
            _SD,
            True,
            *_DAMPINGS,
            partial(_write_damping, joint),
        )
        for joint in JOINTS
        if frees_damping
    ]
    return found


def _write_length(k, spec, value):
    spec.body(RODS[k]).ipos = [0, 0, -value]
    if k + 1 < len(RODS):
        spec.body(RODS[k + 1]).pos = [0, 0, -value]


def _write_damping(joint, spec, value):
    # A polynomial in MuJoCo 4; its first coefficient is the viscous one.
    spec.joint(joint).damping[0] = value


def spec(damping):
    """Return MuJoCo's description as an MjSpec; damping: part of the true one."""
    return mujoco.MjSpec.from_string(mjcf((NOMINAL,) * 3, damping=damping * DAMPING))


def config(damping):
    """Return the settings of ours but for sensors and priors; damping: part of the true one."""
    return {
        'model': {
            'urdf': urdf(damping * DAMPING),
            'joint_types': dict.fromkeys(JOINTS, 'spherical'),
        },
        'joints': {joint: {'effort': 'none'} for joint in JOINTS},
        # Of a simulation the model is exact, and half a second of it is too short for windows.
        'estimator': {'name': 'gaussian_sum'},
        'simulation': {'max_step': STEP},
    }


def sensor(joints):
    """Return the settings of a camera that sees joints."""
    return {'kind': 'joint_poses', 'joints': joints, 'orientation_sd': 2 * NOISE}


def mjcf(lengths, step=STEP, damping=DAMPING):
    """Return MuJoCo's description; lengths [m]; step: of its integrator [s]."""
    bodies = ''
    for k in reversed(range(3)):
        above = lengths[k - 1] if k else 0.0
        bodies = (
            f'<body name="{RODS[k]}" pos="0 0 {-above}">'
            f'<joint name="{JOINTS[k]}" type="ball" damping="{damping}"/>'
            f'<inertial pos="0 0 {-lengths[k]}" mass="{MASSES[k]}" '
            f'diaginertia="{_DISC} {_DISC} {2 * _DISC}"/>{bodies}</body>'
        )
    sensors = ''.join(f'<ballquat name="{name}" joint="{name}"/>' for name in JOINTS)
    return (
        f'<mujoco><option timestep="{step}" integrator="RK4" gravity="0 0 -9.81"/>'
        f'<worldbody>{bodies}</worldbody><sensor>{sensors}</sensor></mujoco>'
    )


def urdf(damping=DAMPING):
    """Return the same as URDF; it knows no ball joints, so they are typed where it is read."""
    parts, parent, hang = ['<link name="ceiling"/>'], 'ceiling', 0.0
    for rod, joint, mass in zip(RODS, JOINTS, MASSES):
        parts.append(
            f'<link name="{rod}"><inertial><origin xyz="0 0 {-NOMINAL}"/><mass value="{mass}"/>'
            f'<inertia ixx="{_DISC}" iyy="{_DISC}" izz="{2 * _DISC}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="{joint}" type="continuous">'
            f'<parent link="{parent}"/><child link="{rod}"/><origin xyz="0 0 {hang}"/>'
            f'<dynamics damping="{damping}"/></joint>'
        )
        parent, hang = rod, -NOMINAL
    # Without an end the last rod would be taken for twice as long as its centre of mass is far.
    parts.append(
        '<link name="end"/><joint name="to_end" type="fixed"><parent link="rod2"/>'
        f'<child link="end"/><origin xyz="0 0 {-NOMINAL}"/></joint>'
    )
    return f'<robot name="pendulum">{"".join(parts)}</robot>'
