"""What acts inside a joint: drive, damping, friction, spring."""

from dataclasses import replace

from ..augmentation import is_of_joint, joint_of, site
from ..model.friction import COUPLED_FRICTIONS, FRICTIONS, JointMotion
from ..spatial.scalar import add, is_zero, mul, sub
from .kinematics import joint_positions, joint_velocities
from .rnea import coupled_sum, gravity_efforts


def joint_efforts(body, q, v, command, load=0.0, augment=None):
    """
    Return the effort [N m or N] on each degree of freedom of a joint.

    q, v: state of the robot; command: one scalar per degree of freedom, or None for a passive
    joint; load: as in `JointMotion`; augment: function of the name and the value of a quantity
    that networks may change, None where there are none. Axes as in v; a joint that follows
    another has its own speed, and its own effort.
    """
    positions, speeds = joint_positions(body, q), joint_velocities(body, v)
    actuator = body.moving.joint.actuator
    efforts = [0.0] * len(speeds)
    if command is not None:
        efforts = [actuator.effort(c, s, body.actuator) for c, s in zip(command, speeds)]
    if body.moving.is_prescribed:
        return efforts
    if augment:
        efforts = [augment('actuator_effort', effort) for effort in efforts]
        physics = {name: augment(name, value) for name, value in body.physics.items()}
        body = replace(body, physics=physics)
    physics = body.physics
    resisting = [0.0] * len(speeds)
    for name, column in friction_columns(body, v, load).items():
        resisting = [add(r, mul(physics[name], c)) for r, c in zip(resisting, column)]
    if not is_zero(physics['stiffness']):
        spring = body.kind.displacement(positions, physics.get('rest', 0.0))
        resisting = [add(r, mul(physics['stiffness'], d)) for r, d in zip(resisting, spring)]
    total = [sub(e, r) for e, r in zip(efforts, resisting)]
    return [augment('effort', effort) for effort in total] if augment else total


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
    ) or any(
        joint_of(name)[1] == 'load' or joint_of(placed.network.site)[1] in needing
        for placed in robot.networks
        for name in placed.network.inputs
    )
    return gravity_efforts(robot, q, size) if is_needed else [0.0] * size


def _augmenting(robot, body, state):
    """Return the `augment` of `joint_efforts` of a body's joint, None without networks there."""
    joint = body.moving.joint.name
    networks = [placed for placed in robot.networks if is_of_joint(placed, joint)]
    if not networks:
        return None
    quantity = input_of(robot, *state)
    return lambda name, value: site(networks, f'{joint}.{name}', value, quantity)


def input_of(robot, q, v, commands, loads):
    """
    Return the function from the name of a network's input to its scalar.

    q, v: state of the robot; commands: as of `all_efforts`; loads: one scalar per velocity.
    """
    bodies = {body.moving.joint.name: body for body in robot.bodies}
    places, at = {}, 0
    for body in robot.bodies:
        if body.moving.is_independent and body.moving.joint.actuator.takes_command:
            places[body.moving.joint.name] = at
            at += body.kind.velocity_size

    def quantity(name):
        joint, kind = joint_of(name)
        body = bodies[joint]
        if kind == 'position':
            return joint_positions(body, q)[0]
        if kind == 'velocity':
            return joint_velocities(body, v)[0]
        if kind == 'load':
            return loads[body.moving.velocities.start]
        return commands[places[joint]]

    return quantity


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
        augment = _augmenting(robot, body, (q, v, commands, loads))
        load = loads[moving.velocities.start]
        own = joint_efforts(body, q, v, command, load, augment)
        for k, effort in zip(range(moving.velocities.start, moving.velocities.stop), own):
            efforts[k] = add(efforts[k], mul(moving.multiplier, effort))
    for coupling in robot.couplings:
        for name, column in coupled_columns(coupling, v).items():
            for k in set(coupling.velocities) - robot.prescribed_velocities:
                efforts[k] = sub(efforts[k], mul(coupling.physics[name], column))
    return efforts
