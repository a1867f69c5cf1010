"""The joint-torque regressor: inverse dynamics as a linear map of the standard parameters."""

from ..spatial.inertia import BodyInertia, Symmetric3
from ..spatial.motion import Force
from ..spatial.scalar import mul
from ..spatial.vector import Vec3
from .joint_forces import friction_shape
from .kinematics import joint_velocities, kinematics
from .rnea import body_accelerations, project_forces

STANDARD_NAMES = (
    'mass',
    'mass*com.x',
    'mass*com.y',
    'mass*com.z',
    'xx',
    'yy',
    'zz',
    'xy',
    'xz',
    'yz',
)
JOINT_NAMES = ('damping', 'friction', 'armature')


def regressor_names(robot):
    """
    Return the names of the regressor's columns.

    Ten per body, named after the link behind its joint, with inertias about the body's origin
    (not the centre of mass); three per joint.
    """
    bodies = [f'{b.moving.joint.child}.{n}' for b in robot.bodies for n in STANDARD_NAMES]
    return bodies + [f'{b.moving.joint.name}.{n}' for b in robot.bodies for n in JOINT_NAMES]


def regressor_parameters(robot):
    """Return the values the regressor multiplies, in the order of its columns."""
    bodies = [x for b in robot.bodies for x in b.inertia]
    return bodies + [b.physics[n] for b in robot.bodies for n in JOINT_NAMES]


def regressor(robot, q, v, acceleration):
    """
    Return Y, a list of columns of scalars, with Y * regressor_parameters = effort.

    The effort is what the drives must deliver: inertia, gravity, damping, Coulomb friction and
    armature; no springs, no wrenches.
    """
    states = kinematics(robot, q, v)
    accelerations = body_accelerations(robot, states, acceleration)
    none = [Force.zero() for _ in robot.bodies]
    columns = []
    for index, (state, motion) in enumerate(zip(states, accelerations)):
        for k in range(len(STANDARD_NAMES)):
            body = unit_body(k).rotated(state.rotation)
            forces = list(none)
            forces[index] = body.force(motion, state.omega)
            columns.append(project_forces(robot, states, forces))
    for body in robot.bodies:
        speeds, rotor = joint_velocities(body, v), joint_velocities(body, acceleration)
        for values in (speeds, friction_shape(body, speeds), rotor):
            column = [0.0] * len(v)
            column[body.moving.velocities] = [mul(body.moving.multiplier, x) for x in values]
            columns.append(column)
    return columns


def unit_body(k):
    """Return the body whose k-th standard parameter is one and whose others are zero."""
    e = [1.0 if i == k else 0.0 for i in range(len(STANDARD_NAMES))]
    return BodyInertia(e[0], Vec3(*e[1:4]), Symmetric3(*e[4:]))
