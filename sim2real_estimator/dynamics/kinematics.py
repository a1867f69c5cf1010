"""Where the bodies are and how they turn: the part every algorithm of this folder begins with."""

from dataclasses import dataclass

from ..spatial.motion import Motion
from ..spatial.rotation import Rotation
from ..spatial.scalar import add, mul
from ..spatial.vector import Vec3


@dataclass(frozen=True)
class BodyKinematics:
    """
    One body at one instant, in axes parallel to the world's.

    rotation: body axes to world; joint_rotation: axes of the joint frame on the parent's side;
    offset: from the parent's origin to this one's [m]; omega: angular velocity [rad/s];
    bias: the part of the classical acceleration relative to the parent that does not depend on
    any acceleration; columns: motion of the origin for unit speed of each degree of freedom, in
    the basis of `FreedomGroup.columns`; columns_speed: the joint's velocities in that basis.
    """

    rotation: Rotation
    joint_rotation: Rotation
    offset: Vec3
    omega: Vec3
    bias: Motion
    columns: tuple
    columns_speed: tuple

    def frame_of(self, group):
        """Return the world rotation of the frame in which the axes of a group are fixed."""
        return self.rotation if group.is_rotation else self.joint_rotation


def joint_positions(body, q):
    """Return the coordinates of a body's joint from the state's q, a mimic's by its rule."""
    own = list(q[body.moving.positions])
    if not body.moving.is_independent:
        return [add(mul(own[0], body.moving.multiplier), body.moving.shift)]
    return body.kind.with_offset(own, body.physics.get('offset', 0.0))


def joint_velocities(body, v):
    """Return the velocities (or accelerations) of a body's joint from the state's v."""
    own = list(v[body.moving.velocities])
    return own if body.moving.is_independent else [mul(own[0], body.moving.multiplier)]


def kinematics(robot, q, v):
    """
    Return a `BodyKinematics` for every body, parents first.

    q, v: lists of scalars, the coordinates and velocities of all independent joints.
    """
    result = []
    for body in robot.bodies:
        parent = result[body.parent] if body.parent >= 0 else None
        turn, shift = body.kind.placement(joint_positions(body, q))
        joint_rotation, offset = body.rotation, body.origin + body.rotation * shift
        omega_parent = Vec3.zero()
        if parent is not None:
            joint_rotation, offset = parent.rotation * joint_rotation, parent.rotation * offset
            omega_parent = parent.omega
        rotation = joint_rotation * turn
        result.append(
            _with_velocities(
                body, joint_velocities(body, v), rotation, joint_rotation, offset, omega_parent
            )
        )
    return result


def _with_velocities(body, speeds, rotation, joint_rotation, offset, omega_parent):
    """Add the columns, the angular velocity and the bias acceleration of one body."""
    columns, columns_speed, at = [], [], 0
    for group in body.kind.groups:
        frame = rotation if group.is_rotation else joint_rotation
        columns += group.columns(frame)
        columns_speed += group.to_columns(frame, speeds[at : at + len(group.axes)])
        at += len(group.axes)
    relative = Motion.zero()
    for column, speed in zip(columns, columns_speed):
        relative = relative + column * speed
    # The axes of rotations are fixed in the child, those of translations in the parent: hence
    # one omega x omega and two omega x v (Coriolis).
    bias = Motion(
        omega_parent.cross(relative.angular),
        omega_parent.cross(omega_parent.cross(offset)) + omega_parent.cross(relative.linear) * 2.0,
    )
    return BodyKinematics(
        rotation,
        joint_rotation,
        offset,
        omega_parent + relative.angular,
        bias,
        tuple(columns),
        tuple(columns_speed),
    )


def to_columns(body, state, values):
    """Express one scalar per degree of freedom of a body's joint in the basis of its columns."""
    result, at = [], 0
    for group in body.kind.groups:
        size = len(group.axes)
        result += group.to_columns(state.frame_of(group), values[at : at + size])
        at += size
    return result


def from_columns(body, state, values):
    """Undo `to_columns`."""
    result, at = [], 0
    for group in body.kind.groups:
        size = len(group.axes)
        result += group.from_columns(state.frame_of(group), values[at : at + size])
        at += size
    return result


def body_positions(robot, states):
    """Return the world position [m] of every body's origin."""
    positions = []
    for body, state in zip(robot.bodies, states):
        base = positions[body.parent] if body.parent >= 0 else Vec3.zero()
        positions.append(base + state.offset)
    return positions


def body_velocities(robot, states):
    """Return the velocity of every body's origin as a Motion [rad/s, m/s] in world axes."""
    velocities = []
    for body, state in zip(robot.bodies, states):
        base = velocities[body.parent] if body.parent >= 0 else Motion.zero()
        velocity = base.moved(state.offset)
        for column, speed in zip(state.columns, state.columns_speed):
            velocity = velocity + column * speed
        velocities.append(velocity)
    return velocities


@dataclass(frozen=True)
class LinkPose:
    """Pose and velocity of a link's frame in the world: Rotation, Vec3 [m], Motion."""

    rotation: Rotation
    position: Vec3
    velocity: Motion


def link_poses(robot, q, v):
    """Return link name to `LinkPose`; links welded to the base link included."""
    states = kinematics(robot, q, v)
    positions, velocities = body_positions(robot, states), body_velocities(robot, states)
    poses = {}
    for name, place in robot.links.items():
        if place.body < 0:
            poses[name] = LinkPose(place.rotation, place.origin, Motion.zero())
            continue
        rotation = states[place.body].rotation
        lever = rotation * place.origin
        poses[name] = LinkPose(
            rotation * place.rotation,
            positions[place.body] + lever,
            velocities[place.body].moved(lever),
        )
    return poses
