"""
A draw written into a live model of MuJoCo, without compiling it again.

The model is one that `export --mjcf` or `mjcf_of` has written, or any with the same names of
bodies and joints. MuJoCo keeps the inertia of a body about its centre of mass along its principal
axes: `body_ipos` is the centre, `body_inertia` the moments, `body_iquat` the turn of the axes.
"""

import numpy as np
from transforms3d.quaternions import mat2quat

from ...errors import DataError

# What MuJoCo has of a joint -> our parameter; the first three are of degrees of freedom.
_OF_FREEDOMS = {
    'dof_damping': 'damping',
    'dof_frictionloss': 'friction',
    'dof_armature': 'armature',
}
_STIFFNESS, _REST, _GAIN, _GRAVITY = 'stiffness', 'rest', 'gain', 'world.gravity'
# Numbers of bodies, and lengths; they are in `Draw.bodies` and `Draw.places`.
_IN_BODIES = ('mass', 'com', 'inertia', 'length', 'offset', 'origin')
# Of a turn, or of an offset in metres, that is rounding.
_ROUNDING = 1e-12


def apply_draw(model, draw, scratch=None):
    """
    Write a `Draw` into a `mujoco.MjModel`, and return the names of what it has no place for.

    Masses, centres of mass and inertias, places of joints, damping, friction loss, armature,
    stiffness and rest of joints, the gear of motors with the name of their joint (which is the
    gain: of a motor with a gear of its own, multiply the two) and gravity; then what MuJoCo
    derives of them. scratch: `mujoco.MjData` of the model, which is overwritten, to save the time
    of making one. A DataError where the model lacks a body or joint of the draw; it is unchanged.
    """
    mujoco = _mujoco()
    bodies = {link: _id(mujoco, model, 'BODY', link) for link in {**draw.bodies, **draw.places}}
    _require(bodies, 'body', 'bodies welded to others are kept by fusestatic="false"')
    inertial = {link: _principal(*body) for link, body in draw.bodies.items()}
    for link, (_, centre, _, axes) in inertial.items():
        _require_general(model, link, bodies[link], centre, axes)
    left = [n for n, value in draw.values.items() if not _set(mujoco, model, n, value)]
    for link, (mass, centre, moments, axes) in inertial.items():
        body = bodies[link]
        model.body_mass[body], model.body_ipos[body] = mass, centre
        model.body_inertia[body], model.body_iquat[body] = moments, axes
        # The inertial frame is none of those it was compared with when the model was compiled.
        model.body_sameframe[body] = 0
    for link, place in draw.places.items():
        model.body_pos[bodies[link]] = place
    mujoco.mj_setConst(model, mujoco.MjData(model) if scratch is None else scratch)
    return tuple(left)


def _principal(mass, centre, inertia):
    """Return (mass, centre [3], principal moments [3], quaternion w, x, y, z of their axes)."""
    xx, yy, zz, xy, xz, yz = inertia
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    return mass, np.asarray(centre), moments, mat2quat(axes)


def _set(mujoco, model, name, value):
    """Write a parameter that is of a joint or of the world; tell whether it has a place."""
    if name == _GRAVITY:
        model.opt.gravity[:] = 0.0, 0.0, -value
        return True
    owner, _, word = name.rpartition('.')
    first = name.split('.')[1] if '.' in name else ''
    if first in _IN_BODIES:
        return True
    if word == _GAIN:
        motor = _id(mujoco, model, 'ACTUATOR', owner)
        if motor >= 0:
            model.actuator_gear[motor, 0] = value
        return motor >= 0
    # A planar joint is two slides and a hinge here.
    parts = (owner, f'{owner}_x', f'{owner}_y')
    joints = [each for each in (_id(mujoco, model, 'JOINT', part) for part in parts) if each >= 0]
    for joint in joints:
        begin = model.jnt_dofadr[joint]
        others = np.flatnonzero(model.jnt_dofadr > begin)
        end = model.jnt_dofadr[others].min() if others.size else model.nv
        for theirs, ours in _OF_FREEDOMS.items():
            if word == ours:
                getattr(model, theirs)[begin:end] = value
        if word == _STIFFNESS:
            model.jnt_stiffness[joint] = value
        if word == _REST:
            model.qpos_spring[model.jnt_qposadr[joint]] = value
    return bool(joints) and word in (*_OF_FREEDOMS.values(), _STIFFNESS, _REST)


def _require(found, what, remedy):
    """Raise a DataError for names that the model has not."""
    missing = [name for name, place in found.items() if place < 0]
    if missing:
        raise DataError(
            f'the model of MuJoCo has no {what} {", ".join(missing)}: load the MJCF that '
            f'`sim2real-estimator export --mjcf` writes, or name them alike; {remedy}'
        )


def _require_general(model, link, body, centre, axes):
    """
    Raise a DataError where MuJoCo has left out what a draw needs.

    Where a body that moves by itself has its centre of mass in its origin and its principal axes
    along its frame, the compiled model has no room for the other elements of the mass matrix.
    """
    is_aligned = np.abs(centre).max() < _ROUNDING and np.abs(axes[1:]).max() < _ROUNDING
    if model.body_simple[body] and not is_aligned:
        raise DataError(
            f"body '{link}' is compiled as one whose mass matrix is diagonal, which that of this "
            'draw is not: compile the model with the centre of mass of a draw, by `mjcf_of`'
        )


def _id(mujoco, model, kind, name):
    """Return the index of what has a name, -1 where nothing has."""
    return mujoco.mj_name2id(model, getattr(mujoco.mjtObj, f'mjOBJ_{kind}'), name)


def _mujoco():
    """Return the module `mujoco`."""
    try:
        import mujoco
    except ModuleNotFoundError as error:
        raise DataError(
            "mujoco is missing: pip install 'sim2real_estimator[mujoco]', or pip install mujoco"
        ) from error
    return mujoco
