"""Inverse dynamics: the recursive Newton-Euler algorithm."""

from ..spatial.motion import Motion
from ..spatial.scalar import add, mul
from ..spatial.vector import Vec3
from .kinematics import from_columns, joint_velocities, kinematics, to_columns


def inverse_dynamics(robot, q, v, acceleration, wrenches=None):
    """
    Return the joint efforts that give the robot an acceleration, one scalar per velocity.

    q, v, acceleration: lists of scalars as in `kinematics`. wrenches: body index to a Force
    about the body's origin in world axes, acting on the body from outside. Armatures are
    included, those of motors that joints share too; what `joint_forces` computes is not.
    """
    states = kinematics(robot, q, v)
    accelerations = body_accelerations(robot, states, acceleration)
    forces = [
        body.inertia.rotated(s.rotation).force(a, s.omega)
        for body, s, a in zip(robot.bodies, states, accelerations)
    ]
    for index, wrench in (wrenches or {}).items():
        forces[index] = forces[index] - wrench
    efforts = project_forces(robot, states, forces)
    for body in robot.bodies:
        square = body.moving.multiplier * body.moving.multiplier
        rotor = mul(square, body.physics['armature'])
        for k in _indices(body):
            efforts[k] = add(efforts[k], mul(rotor, acceleration[k]))
    for coupling in robot.couplings:
        rotor = mul(coupling.physics['coupled_armature'], coupled_sum(coupling, acceleration))
        for k in coupling.velocities:
            efforts[k] = add(efforts[k], rotor)
    return efforts


def gravity_efforts(robot, q, size):
    """Return the efforts that hold the bodies of a robot at rest, one scalar per velocity."""
    return inverse_dynamics(robot, q, [0.0] * size, [0.0] * size)


def coupled_sum(coupling, values):
    """Return the sum of what the two joints of a coupling have in v, or in accelerations."""
    return add(*(values[k] for k in coupling.velocities))


def body_accelerations(robot, states, acceleration, upward=None):
    """
    Return every body's classical acceleration less gravity, a Motion in world axes.

    upward: `Vec3` of gravity's acceleration turned round; None: along z, as strong as the robot's.
    """
    base = Motion(Vec3.zero(), upward or Vec3(0.0, 0.0, robot.gravity))
    result = []
    for body, state in zip(robot.bodies, states):
        parent = result[body.parent] if body.parent >= 0 else base
        total = parent.moved(state.offset) + state.bias
        own = to_columns(body, state, joint_velocities(body, acceleration))
        for column, value in zip(state.columns, own):
            total = total + column * value
        result.append(total)
    return result


def project_forces(robot, states, forces):
    """
    Return the joint efforts that hold the forces on all bodies, one scalar per velocity.

    forces: a Force about each body's origin in world axes; a mimic's effort is added to that of
    the joint it follows.
    """
    carried = list(forces)
    velocity_size = max((b.moving.velocities.stop for b in robot.bodies), default=0)
    efforts = [0.0] * velocity_size
    for body, state in reversed(list(zip(robot.bodies, states))):
        force = carried[body.moving.index]
        own = from_columns(body, state, [column.dot(force) for column in state.columns])
        for k, effort in zip(_indices(body), own):
            efforts[k] = add(efforts[k], mul(body.moving.multiplier, effort))
        if body.parent >= 0:
            carried[body.parent] = carried[body.parent] + force.carried(state.offset)
    return efforts


def _indices(body):
    return range(body.moving.velocities.start, body.moving.velocities.stop)
