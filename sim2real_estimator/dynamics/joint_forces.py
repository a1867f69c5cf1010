"""What acts inside a joint: drive, damping, friction, spring."""

from ..model.friction import COUPLED_FRICTIONS, FRICTIONS, JointMotion
from ..spatial.scalar import add, is_zero, mul, sub
from .kinematics import joint_positions, joint_velocities
from .rnea import coupled_sum, gravity_efforts


def joint_efforts(body, q, v, command, load=0.0):
    """
    Return the effort [N m or N] on each degree of freedom of a joint.

    q, v: state of the robot; command: one scalar per degree of freedom, or None for a passive
    joint; load: as in `JointMotion`. Axes as in v; a joint that follows another has its own
    speed, and its own effort.
    """
    positions, speeds = joint_positions(body, q), joint_velocities(body, v)
    physics, actuator = body.physics, body.moving.joint.actuator
    efforts = [0.0] * len(speeds)
    if command is not None:
        efforts = [actuator.effort(c, s, body.actuator) for c, s in zip(command, speeds)]
    if body.moving.is_prescribed:
        return efforts
    resisting = [0.0] * len(speeds)
    for name, column in friction_columns(body, v, load).items():
        resisting = [add(r, mul(physics[name], c)) for r, c in zip(resisting, column)]
    if not is_zero(physics['stiffness']):
        spring = body.kind.displacement(positions, physics.get('rest', 0.0))
        resisting = [add(r, mul(physics['stiffness'], d)) for r, d in zip(resisting, spring)]
    return [sub(e, r) for e, r in zip(efforts, resisting)]


def friction_columns(body, v, load=0.0, is_complete=False):
    """
    Return name in FRICTIONS -> column: the effort per unit of that parameter of a joint.

    A column is one scalar per degree of freedom. Parameters that are structurally zero have
    none, unless `is_complete`.
    """
    physics = body.physics
    motion = JointMotion(
        body.kind.groups, joint_velocities(body, v), physics['friction_velocity'], load
    )
    return {
        name: term.column(motion)
        for name, term in FRICTIONS.items()
        if name in physics and (is_complete or not is_zero(physics[name]))
    }


def coupled_columns(coupling, v, is_complete=False):
    """Return name in COUPLED_FRICTIONS -> effort on both joints per unit; else as above."""
    physics = coupling.physics
    speed = coupled_sum(coupling, v)
    motion = JointMotion(coupling.groups, [speed], physics['friction_velocity'])
    return {
        name: term.column(motion)[0]
        for name, term in COUPLED_FRICTIONS.items()
        if is_complete or not is_zero(physics[name])
    }


def _loads(robot, q, size):
    """Return the load on every velocity, structural zeros where no friction depends on it."""
    needing = [name for name, term in FRICTIONS.items() if term.needs_load]
    is_needed = any(
        not body.moving.is_prescribed and not is_zero(body.physics.get(name, 0.0))
        for body in robot.bodies
        for name in needing
    )
    return gravity_efforts(robot, q, size) if is_needed else [0.0] * size


def all_efforts(robot, q, v, commands):
    """
    Return the efforts of all independent joints, one scalar per velocity.

    commands: one scalar per entry of `Model.commands`. The effort of a joint that follows
    another acts on the one it follows. For a prescribed joint its acceleration stands in place of
    the effort: nothing inside the joint, or in those that follow it, changes that.
    """
    efforts, at = [0.0] * len(v), 0
    loads = _loads(robot, q, len(v))
    for body in robot.bodies:
        moving, command = body.moving, None
        if moving.is_prescribed and not moving.is_independent:
            continue
        if moving.is_independent and moving.joint.actuator.takes_command:
            command = commands[at : at + body.kind.velocity_size]
            at += body.kind.velocity_size
        own = joint_efforts(body, q, v, command, loads[moving.velocities.start])
        for k, effort in zip(range(moving.velocities.start, moving.velocities.stop), own):
            efforts[k] = add(efforts[k], mul(moving.multiplier, effort))
    for coupling in robot.couplings:
        for name, column in coupled_columns(coupling, v).items():
            for k in set(coupling.velocities) - robot.prescribed_velocities:
                efforts[k] = sub(efforts[k], mul(coupling.physics[name], column))
    return efforts
