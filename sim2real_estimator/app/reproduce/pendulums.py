"""Compound pendulums of uniform rods on ball joints, as in the papers."""

import math

from ...model.joints import JOINTS
from ...model.tree import Inertial, Joint, JointPhysics, Link, Model

# Rods are cylinders of this radius [m]: a rod without thickness could spin about itself freely.
ROD_RADIUS = 0.05
ROD_MASS = 1.0


def rod_chain(lengths, damping=0.0):
    """
    Return a chain of rods that hang from the world on ball joints, each along its -z.

    lengths [m]: from the top down; damping [N m s/rad]: of every joint. The parameters
    `rod0.length`, `rod1.length`... stretch a rod and move what hangs below it.
    """
    links, joints = [Link('ceiling')], []
    for number, length in enumerate(lengths):
        across = ROD_MASS * (length**2 / 12 + ROD_RADIUS**2 / 4)
        along = ROD_MASS * ROD_RADIUS**2 / 2
        inertia = (across, across, along, 0.0, 0.0, 0.0)
        links.append(Link(f'rod{number}', Inertial(ROD_MASS, (0.0, 0.0, -length / 2), inertia)))
        joints.append(
            Joint(
                f'ball{number}',
                JOINTS['spherical']((0.0, 0.0, 1.0)),
                links[number].name,
                f'rod{number}',
                (0.0, 0.0, -lengths[number - 1] if number else 0.0),
                physics=JointPhysics(damping=damping),
            )
        )
    return Model(f'{len(lengths)} rods', tuple(links), tuple(joints), source='rod_chain')


def rod_names(model, quantity):
    """Return the names of one quantity of all rods, from the top down."""
    return [f'{link.name}.{quantity}' for link in model.links if link.name.startswith('rod')]


def tilted_quaternion(angle, azimuth):
    """Return the turn by `angle` [rad] about the horizontal axis at `azimuth` [rad]."""
    half = math.sin(angle / 2)
    return [math.cos(angle / 2), half * math.cos(azimuth), half * math.sin(azimuth), 0.0]
