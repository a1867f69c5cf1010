"""
Draw what the node publishes for rviz, without rviz: one picture of the newest markers.

    tools/draw_markers.py ROBOT.urdf -o docs/images/rviz.png --seconds 45

It listens to ~/markers and ~/predicted_joint_states for some seconds of ROS, places the links as
robot_state_publisher would, and draws in perspective from the view of config/rviz/monitor.rviz:
ellipsoids by their outlines, letters as high as they are said to be.
"""

import argparse
from pathlib import Path
import time

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker, MarkerArray
import yaml

from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.urdf.load import load_urdf

_VIEW = Path(__file__).resolve().parent.parent / 'config/rviz/monitor.rviz'
_NODE, _GROUND = '/sim2real_estimator', '#303030'
# Of the window of rviz [px], the heights in it that are shown, and dots per inch.
_WIDTH, _HEIGHT, _SHOWN, _DPI = 1250, 800, (110, 660), 100


def main():
    """Listen, and draw the newest of what came."""
    asked = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    asked.add_argument('urdf', type=Path)
    asked.add_argument('-o', '--output', type=Path, required=True)
    asked.add_argument('--seconds', type=float, default=5.0, help='how long to listen')
    chosen = asked.parse_args()
    markers, state = listen(chosen.seconds)
    draw(markers, frames(load_urdf(chosen.urdf), state), chosen.output)


def listen(seconds):
    """Return the newest `MarkerArray` and `JointState` that come within so many seconds."""
    newest = {}
    rclpy.init()
    node = rclpy.create_node('draw_markers')
    for kind, topic in ((MarkerArray, 'markers'), (JointState, 'predicted_joint_states')):
        node.create_subscription(
            kind, f'{_NODE}/{topic}', lambda message, kind=kind: newest.update({kind: message}), 1
        )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    rclpy.shutdown()
    if len(newest) < 2:
        raise SystemExit(f'nothing came from {_NODE} within {seconds:g} s: is it active?')
    return newest[MarkerArray], newest[JointState]


def frames(model, state):
    """Return link -> (rotation [3, 3], origin [3]) at the positions of a `JointState`."""
    known = dict(zip(state.name, state.position))
    positions = list(model.neutral_positions())
    for moving in model.moving_joints:
        if moving.is_independent and moving.joint.name in known:
            positions[moving.positions.start] = known[moving.joint.name]
    robot = realize(Parameters(model), {})
    poses = link_poses(robot, positions, [0.0] * model.velocity_size)
    return {link: _numbers(pose) for link, pose in poses.items()}


def _numbers(pose):
    rows = [[float(x) for x in row] for row in pose.rotation.rows]
    return np.array(rows), np.array([float(x) for x in pose.position])


class Camera:
    """The view of the shipped configuration of rviz: places [m] -> picture [px], and a scale."""

    def __init__(self):
        """Read the view."""
        view = yaml.safe_load(_VIEW.read_text())['Visualization Manager']['Views']['Current']
        yaw, pitch = view['Yaw'], view['Pitch']
        focus = np.array([view['Focal Point'][axis] for axis in 'XYZ'])
        back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
        right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        self.axes = np.array([right, np.cross(back, right), back])
        self.place = focus + view['Distance'] * back
        self.focal = _HEIGHT / 2 / np.tan(view.get('Field of View', np.pi / 4) / 2)

    def seen(self, points):
        """Return (picture [N, 2] in px, px per metre [N]) of points [N, 3]."""
        right, up, back = self.axes @ (np.atleast_2d(points) - self.place).T
        scale = self.focal / np.maximum(-back, 1e-3)
        return np.stack([_WIDTH / 2 + scale * right, _HEIGHT / 2 + scale * up], 1), scale


def draw(message, placed, path):
    """Draw a `MarkerArray`; placed: link -> (rotation, origin)."""
    size = _WIDTH / _DPI, (_SHOWN[1] - _SHOWN[0]) / _DPI
    figure = Figure(figsize=size, dpi=_DPI, facecolor=_GROUND)
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, _WIDTH), ylim=_SHOWN)
    axis.set_axis_off()
    camera = Camera()
    shown = [marker for marker in message.markers if marker.action == Marker.ADD]
    # Far ones first; letters above all.
    order = {id(m): camera.seen(_centre(m, placed))[1][0] for m in shown}
    for marker in sorted(shown, key=lambda m: (bool(m.text), order[id(m)])):
        _draw(axis, camera, marker, *placed[marker.header.frame_id])
    figure.savefig(path, facecolor=_GROUND, metadata={'Software': None})


def _centre(marker, placed):
    rotation, origin = placed[marker.header.frame_id]
    if marker.points:
        return origin + rotation @ np.mean([(p.x, p.y, p.z) for p in marker.points], 0)
    at = marker.pose.position
    return origin + rotation @ (at.x, at.y, at.z)


def _draw(axis, camera, marker, rotation, origin):
    colour = marker.color.r, marker.color.g, marker.color.b, marker.color.a
    at, turn = marker.pose.position, marker.pose.orientation
    centre = origin + rotation @ (at.x, at.y, at.z)
    axes = rotation @ quat2mat([turn.w, turn.x, turn.y, turn.z])
    (flat,), (scale,) = camera.seen(centre)
    points = marker.scale.x, marker.scale.y, marker.scale.z
    if marker.type == Marker.TEXT_VIEW_FACING:
        size = marker.scale.z * scale * 72 / _DPI
        style = {'ha': 'center', 'va': 'center', 'ma': 'left', 'linespacing': 1.25}
        axis.text(*flat, _as_rviz(marker.text), color=colour, fontsize=size, **style)
    elif marker.type == Marker.SPHERE:
        outline = camera.axes[:2] @ axes @ np.diag(points) / 2
        spread, sides = np.linalg.eigh(outline @ outline.T)
        width, height = 2 * scale * np.sqrt(spread.clip(0))
        angle = np.degrees(np.arctan2(sides[1, 0], sides[0, 0]))
        axis.add_patch(Ellipse(flat, max(width, 1), max(height, 1), angle=angle, color=colour,
                               linewidth=0))  # fmt: skip
    elif marker.type == Marker.CYLINDER:
        half = axes[:, 2] * marker.scale.z / 2
        ends, _ = camera.seen([centre - half, centre + half])
        width = marker.scale.x * scale * 72 / _DPI
        axis.plot(*ends.T, color=colour, linewidth=width, solid_capstyle='butt')
    elif marker.type in (Marker.LINE_STRIP, Marker.LINE_LIST):
        corners = [origin + rotation @ (p.x, p.y, p.z) for p in marker.points]
        flat, scales = camera.seen(corners)
        pairs = zip(flat, flat[1:]) if marker.type == Marker.LINE_STRIP else zip(*[iter(flat)] * 2)
        width = max(marker.scale.x * scales.mean() * 72 / _DPI, 0.7)
        axis.add_collection(LineCollection(list(pairs), colors=[colour], linewidths=width))


def _as_rviz(words):
    """Return text with spaces that are wider than most letters, as they are in rviz."""
    lines = words.split('\n')
    return '\n'.join(each.replace(' ', '\u2002' if each.strip() else '\u2007') for each in lines)


if __name__ == '__main__':
    main()
