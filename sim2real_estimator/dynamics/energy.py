"""Energy and momentum."""

from ..spatial.scalar import add, mul, square, sum_of
from ..spatial.vector import Vec3
from .kinematics import (
    body_positions,
    body_velocities,
    joint_positions,
    joint_velocities,
    kinematics,
)
from .rnea import coupled_sum


def kinetic_energy(robot, q, v):
    """Return the kinetic energy of bodies and rotors [J]."""
    states = kinematics(robot, q, v)
    total = 0.0
    for body, state, velocity in zip(robot.bodies, states, body_velocities(robot, states)):
        inertia = body.inertia.rotated(state.rotation)
        momentum = inertia.force(velocity, Vec3.zero())
        total = add(total, mul(0.5, velocity.dot(momentum)))
        rotor = sum_of(mul(s, s) for s in joint_velocities(body, v))
        total = add(total, mul(mul(0.5, body.physics['armature']), rotor))
    for coupling in robot.couplings:
        rotor = square(coupled_sum(coupling, v))
        total = add(total, mul(mul(0.5, coupling.physics['coupled_armature']), rotor))
    return total


def potential_energy(robot, q):
    """Return the energy of gravity and springs [J]; zero height is the world's origin."""
    states = kinematics(robot, q, [0.0] * max(b.moving.velocities.stop for b in robot.bodies))
    total = 0.0
    for body, state, position in zip(robot.bodies, states, body_positions(robot, states)):
        height = (state.rotation * body.inertia.first_moment).z
        weight = add(height, mul(body.inertia.mass, position.z))
        total = add(total, mul(robot.gravity, weight))
        rest = body.physics.get('rest', 0.0)
        shape = body.kind.spring_shape(joint_positions(body, q), rest)
        total = add(total, mul(body.physics['stiffness'], shape))
    return total


def momentum(robot, q, v):
    """Return (linear [kg m/s], angular about the world's origin [kg m^2/s]) as two Vec3."""
    states = kinematics(robot, q, v)
    linear, angular = Vec3.zero(), Vec3.zero()
    bodies = zip(
        robot.bodies, states, body_positions(robot, states), body_velocities(robot, states)
    )
    for body, state, position, velocity in bodies:
        inertia = body.inertia.rotated(state.rotation)
        own = inertia.force(velocity, Vec3.zero())
        linear = linear + own.force
        angular = angular + own.carried(position).moment
    return linear, angular
