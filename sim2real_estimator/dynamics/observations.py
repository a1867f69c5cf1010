"""
What can be seen of a robot: ready-made functions (robot, q, v) -> list of scalars.

Poses do not depend on velocities: zeros are passed for them, which then cost nothing.
"""

from ..spatial.vector import Vec3
from .kinematics import link_poses


def headings(links, axis=(0.0, 0.0, -1.0)):
    """Observe where an axis of each link points: three components each, world axes."""
    direction = Vec3(*(float(a) for a in axis))

    def observe(robot, q, v):
        poses = link_poses(robot, q, [0.0] * len(v))
        return [x for link in links for x in poses[link].rotation * direction]

    return observe


def positions(points):
    """Observe points given as (link, (x, y, z) [m] in the link frame): world positions [m]."""

    def observe(robot, q, v):
        poses = link_poses(robot, q, [0.0] * len(v))
        return [
            x
            for link, point in points
            for x in poses[link].position + poses[link].rotation * Vec3(*map(float, point))
        ]

    return observe


def poses(links):
    """Observe each link's frame: position [m], then the rotation matrix by rows."""

    def observe(robot, q, v):
        found = link_poses(robot, q, [0.0] * len(v))
        return [
            x
            for link in links
            for x in (*found[link].position, *(e for r in found[link].rotation.rows for e in r))
        ]

    return observe
