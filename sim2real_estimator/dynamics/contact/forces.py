"""The forces by which links that touch push each other, as wrenches on bodies from outside."""

from dataclasses import dataclass

from ...model.contacts import Place, Touch
from ...model.robot import Contact
from ...spatial.motion import Force, Motion
from ...spatial.vector import Vec3
from ..kinematics import body_positions, body_velocities, kinematics


@dataclass(frozen=True)
class ContactState:
    """
    Two shapes that touch or may, at one instant.

    contact: the `Contact` with its parameters; touch: gap, normal from the second to the first
    body, point; bodies: indices of the first and the second body, -1 for the world; levers: from
    the origins of these to the point, Vec3 [m]; velocity: of the first body relative to the
    second at the point, Vec3 [m/s].
    """

    contact: Contact
    touch: Touch
    bodies: tuple
    levers: tuple
    velocity: Vec3

    @property
    def gap_rate(self):
        """The time derivative of the gap [m/s]."""
        return self.touch.normal.dot(self.velocity)

    @property
    def slip(self):
        """The tangential part of the velocity, Vec3 [m/s]."""
        return self.velocity - self.touch.normal * self.gap_rate

    def force(self):
        """Return the force on the first body, Vec3 [N]; on the second it is the opposite."""
        touch, contact = self.touch, self.contact
        return contact.pair.law.force(
            touch.gap, self.gap_rate, self.slip, touch.normal, contact.physics
        )


def contact_states(robot, states):
    """
    Return a `ContactState` for every touch that may occur, in a fixed order.

    robot: a `Robot`; states: of `kinematics`.
    """
    positions, velocities = body_positions(robot, states), body_velocities(robot, states)

    def place_of(link):
        """Return (body, its origin, its velocity, `Place` of the link)."""
        own = robot.links[link]
        if own.body < 0:
            return -1, Vec3.zero(), Motion.zero(), Place(own.rotation, own.origin)
        turn, origin = states[own.body].rotation, positions[own.body]
        place = Place(turn * own.rotation, origin + turn * own.origin)
        return own.body, origin, velocities[own.body], place

    found = []
    for contact in robot.contacts:
        ends = place_of(contact.pair.first), place_of(contact.pair.second)
        for geometry, first, second, is_swapped in contact.pair.meetings():
            one, other = reversed(ends) if is_swapped else ends
            for touch in geometry.touches(first, second, one[3], other[3]):
                levers = touch.point - one[1], touch.point - other[1]
                velocity = one[2].moved(levers[0]).linear - other[2].moved(levers[1]).linear
                found.append(ContactState(contact, touch, (one[0], other[0]), levers, velocity))
    return found


def contact_wrenches(robot, states):
    """
    Return body index -> Force about its origin in world axes, of all contacts.

    robot: a `Robot`; states: of `kinematics`. What acts on the world is left out.
    """
    found = {}
    for state in contact_states(robot, states):
        force = state.force()
        for body, lever, own in zip(state.bodies, state.levers, (force, -force)):
            if body >= 0:
                total = Force(lever.cross(own), own)
                found[body] = found.get(body, Force.zero()) + total
    return found


def gaps(robot, q, v):
    """Return (gap [m], its rate [m/s]) of every touch that may occur, in a fixed order."""
    states = contact_states(robot, kinematics(robot, q, v))
    return [(state.touch.gap, state.gap_rate) for state in states]
