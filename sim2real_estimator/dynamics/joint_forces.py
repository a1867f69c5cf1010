"""What acts inside a joint: drive, damping, friction, spring."""

from ..spatial.scalar import add, div, is_zero, mul, sqrt, sub, sum_of, tanh
from .kinematics import joint_positions, joint_velocities

# Keeps the root of a vanishing speed differentiable; far below any friction velocity.
_TINY_SQUARED = 1e-24


def joint_efforts(body, q, v, command):
    """
    Return the effort [N m or N] on each degree of freedom of a joint.

    q, v: state of the robot; command: one scalar per degree of freedom, or None for a passive
    joint. Axes as in v; a joint that follows another has its own speed, and its own effort.
    """
    positions, speeds = joint_positions(body, q), joint_velocities(body, v)
    physics, actuator = body.physics, body.moving.joint.actuator
    efforts = [0.0] * len(speeds)
    if command is not None:
        efforts = [actuator.effort(c, s, body.actuator) for c, s in zip(command, speeds)]
    if body.moving.is_driven:
        return efforts
    resisting = [
        add(mul(physics['damping'], s), f) for s, f in zip(speeds, _friction(body, speeds))
    ]
    if not is_zero(physics['stiffness']):
        spring = body.kind.displacement(positions, physics.get('rest', 0.0))
        resisting = [add(r, mul(physics['stiffness'], d)) for r, d in zip(resisting, spring)]
    return [sub(e, r) for e, r in zip(efforts, resisting)]


def friction_shape(body, speeds):
    """
    Return the smoothed sign of the velocity, by which Coulomb friction multiplies.

    One degree of freedom: tanh(v / v_f) with v_f the friction velocity. Several of a kind: the
    direction of v times tanh(|v| / v_f), which no choice of axes changes. It has a finite
    derivative everywhere, at rest too.
    """
    shape, at = [], 0
    for group in body.kind.groups:
        part = speeds[at : at + len(group.axes)]
        at += len(group.axes)
        width = body.physics['friction_velocity']
        if len(part) == 1:
            shape.append(tanh(div(part[0], width)))
        else:
            size = sqrt(add(sum_of(mul(s, s) for s in part), _TINY_SQUARED))
            factor = tanh(size / width) / size
            shape += [mul(s, factor) for s in part]
    return shape


def _friction(body, speeds):
    """Return the effort of Coulomb friction against each velocity."""
    friction = body.physics['friction']
    if is_zero(friction):
        return [0.0] * len(speeds)
    return [mul(friction, s) for s in friction_shape(body, speeds)]


def all_efforts(robot, q, v, commands):
    """
    Return the efforts of all independent joints, one scalar per velocity.

    commands: one scalar per entry of `Model.commands`. The effort of a joint that follows
    another acts on the one it follows. For a driven joint its acceleration stands in place of
    the effort: nothing inside the joint, or in those that follow it, changes that.
    """
    efforts, at = [0.0] * len(v), 0
    for body in robot.bodies:
        moving, command = body.moving, None
        if moving.is_driven and not moving.is_independent:
            continue
        if moving.is_independent and moving.joint.actuator.takes_command:
            command = commands[at : at + body.kind.velocity_size]
            at += body.kind.velocity_size
        own = joint_efforts(body, q, v, command)
        for k, effort in zip(range(moving.velocities.start, moving.velocities.stop), own):
            efforts[k] = add(efforts[k], mul(moving.multiplier, effort))
    return efforts
