"""Markers of the kinds that are used here, and their geometry."""

import numpy as np
from transforms3d.quaternions import mat2quat

from ...messages import maker

Point, Pose, Quaternion, Vector3 = (
    maker(f'geometry_msgs/msg/{name}') for name in ('Point', 'Pose', 'Quaternion', 'Vector3')
)
ColorRGBA, Header = maker('std_msgs/msg/ColorRGBA'), maker('std_msgs/msg/Header')
Marker = maker('visualization_msgs/msg/Marker')

# Shapes of no thickness at all are drawn wrongly [m].
_THINNEST = 1e-4


def ball(space, number, frame, centre, axes, radii, color):
    """
    Return an ellipsoid.

    centre [3] and radii [3] in m; axes [3, 3]: unit vectors along which the radii are measured,
    as columns.
    """
    return _marker(
        Marker.SPHERE,
        space,
        number,
        frame,
        color,
        pose=_pose(centre, axes),
        scale=_vector(np.maximum(2 * np.asarray(radii), _THINNEST)),
    )


def rod(space, number, frame, begin, end, thickness, color):
    """Return a cylinder between two points [m]."""
    begin, end = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
    length = np.linalg.norm(end - begin)
    return _marker(
        Marker.CYLINDER,
        space,
        number,
        frame,
        color,
        pose=_pose((begin + end) / 2, _axes_along(end - begin)),
        scale=_vector((thickness, thickness, max(length, _THINNEST))),
    )


def line(space, number, frame, points, width, color):
    """Return a line through points [n, 3] in m."""
    return _lines(Marker.LINE_STRIP, space, number, frame, points, width, color)


def segments(space, number, frame, points, width, color):
    """Return lines from each even point to the next, points [2 n, 3] in m."""
    return _lines(Marker.LINE_LIST, space, number, frame, points, width, color)


def text(space, number, frame, position, height, words, color):
    """Return text that faces the viewer, centred at a position [m]; height [m] of a letter."""
    return _marker(
        Marker.TEXT_VIEW_FACING,
        space,
        number,
        frame,
        color,
        pose=_pose(position, np.eye(3)),
        scale=Vector3(z=float(height)),
        text=words,
    )


def principal(matrix):
    """Return (axes [3, 3] as columns of a rotation, values [3]) of a symmetric matrix."""
    values, axes = np.linalg.eigh(matrix)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    return axes, np.maximum(values, 0.0)


def plain(rgb, alpha=1.0):
    """Return the ColorRGBA of a colour that says nothing of a verdict."""
    red, green, blue = rgb
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)


def _lines(kind, space, number, frame, points, width, color):
    corners = [_point(row) for row in points]
    scale = Vector3(x=float(width))
    return _marker(kind, space, number, frame, color, points=corners, scale=scale)


def _marker(kind, space, number, frame, color, **more):
    """
    Return a marker that stays until it is replaced.

    Locked to its frame: it moves with a link between two updates, and rviz draws it in the
    newest place known of that frame, never waiting for one that fits its stamp.
    """
    return Marker(
        header=Header(frame_id=frame),
        ns=space,
        id=number,
        type=kind,
        action=Marker.ADD,
        color=color,
        frame_locked=True,
        **more,
    )


def _axes_along(direction):
    """Return a rotation whose third column points along a direction."""
    length = np.linalg.norm(direction)
    third = direction / length if length else np.array([0.0, 0.0, 1.0])
    other = np.eye(3)[np.argmin(np.abs(third))]
    first = np.cross(other, third)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(third, first), third], 1)


def _pose(position, axes):
    w, x, y, z = (float(each) for each in mat2quat(axes))
    return Pose(position=_point(position), orientation=Quaternion(w=w, x=x, y=y, z=z))


def _point(values):
    x, y, z = (float(each) for each in values)
    return Point(x=x, y=y, z=z)


def _vector(values):
    x, y, z = (float(each) for each in values)
    return Vector3(x=x, y=y, z=z)
