"""Wrenches that act on links from outside the robot, from the six numbers that say them."""

from dataclasses import dataclass

from ..spatial.motion import Force
from ..spatial.vector import Vec3
from .kinematics import kinematics
from .rnea import project_forces

WORLD, LINK = 'world', 'link'
# Numbers of a wrench.
WRENCH_SIZE = 6


@dataclass(frozen=True)
class LinkWrench:
    """
    What acts on a link, about the origin of its frame; its numbers are moment, then force.

    axes: those of the world, or of the link.
    """

    link: str
    axes: str = WORLD


def body_wrenches(robot, states, wrenches, values):
    """
    Return body index -> Force about its origin, in world axes.

    states: of `kinematics`; wrenches: `LinkWrench`es; values: six scalars each, moments [N m] and
    forces [N]. What acts on links that are fixed to the world does nothing.
    """
    found = {}
    for number, wrench in enumerate(wrenches):
        place = robot.links[wrench.link]
        if place.body < 0:
            continue
        first = WRENCH_SIZE * number
        moment, force = (Vec3(*values[k : k + 3]) for k in (first, first + 3))
        turn = states[place.body].rotation
        if wrench.axes == LINK:
            turn_of_link = turn * place.rotation
            moment, force = turn_of_link * moment, turn_of_link * force
        total = Force(moment, force).carried(turn * place.origin)
        found[place.body] = found.get(place.body, Force.zero()) + total
    return found


def wrench_efforts(robot, q, size, wrenches, values):
    """Return the efforts by which wrenches act on joints, J'w, one scalar of `size` velocities."""
    states = kinematics(robot, q, [0.0] * size)
    forces = [Force.zero() for _ in robot.bodies]
    for index, force in body_wrenches(robot, states, wrenches, values).items():
        forces[index] = force
    return project_forces(robot, states, forces)
