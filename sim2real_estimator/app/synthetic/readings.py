"""
The measurements of the synthetic robot, noise included, and the ROS messages of them.

A `Reading` is one message before it has the class of any middleware; `MEASUREMENTS` has what
reads it off the robot, one member per message type, and `message_of` makes the message.
"""

from dataclasses import dataclass
import math
from types import SimpleNamespace

import numpy as np
from transforms3d.quaternions import axangle2quat, mat2quat, qmult

# Position, quaternion, velocity and angular velocity of a joint at rest.
_AT_REST = np.array([0.0] * 3 + [1.0] + [0.0] * 9)
_NANO = 10**9
_WITHOUT_STAMP = frozenset(('std_msgs/msg/Float64MultiArray',))


@dataclass(frozen=True)
class Reading:
    """
    One message.

    topic, message_type: as in the estimator's config; number: of the message among those of its
    topic, lost ones included, from 0; due_ns: when it arrives, since the start; stamp_ns: its
    header's; content: one of the classes below.
    """

    topic: str
    message_type: str
    number: int
    due_ns: int
    stamp_ns: int
    content: object


@dataclass(frozen=True)
class JointValues:
    """
    Of several joints by name: lists as long as `names`, or empty; NaN where there is none.

    position [rad or m]; velocity [per s]; effort [N m or N].
    """

    names: tuple
    position: tuple = ()
    velocity: tuple = ()
    effort: tuple = ()


@dataclass(frozen=True)
class JointPoseValues:
    """
    Of several joints by name, for each a tuple.

    position [m], orientation w, x, y, z, velocity [m/s], angular_velocity [rad/s].
    """

    names: tuple
    position: tuple
    orientation: tuple
    velocity: tuple
    angular_velocity: tuple


@dataclass(frozen=True)
class EffortValues:
    """Efforts [N m or N] in an order that is not in the messages, which have no stamp either."""

    effort: tuple


@dataclass(frozen=True)
class PoseValues:
    """A body's position x, y, z [m] and quaternion w, x, y, z, all zero where it is hidden."""

    position: tuple
    orientation: tuple


@dataclass(frozen=True)
class PointValues:
    """A marker's position x, y, z [m], or u, v [px] and 0; NaN where it is hidden."""

    position: tuple


@dataclass(frozen=True)
class WrenchValues:
    """Force x, y, z [N] and torque x, y, z [N m] on a link."""

    force: tuple
    torque: tuple


_HIDDEN_POSE = PoseValues((0.0,) * 3, (0.0,) * 4)
_HIDDEN_POINT = PointValues((math.nan,) * 3)


class JointMeasurement:
    """Measures positions and velocities by encoders, and the efforts that were commanded."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the encoders and `JointEfforts` of a topic, the model and a `StreamConfig`."""
        self._stream, moving = stream, {m.joint.name: m for m in model.moving_joints}
        deviations = {}
        for sensor in sensors:
            size = len(sensor.joints)
            speeds = sensor.scale[size:] if len(sensor.scale) > size else [None] * size
            for joint, sd, speed_sd in zip(sensor.joints, sensor.scale, speeds):
                deviations[joint] = (sd, stream.velocity_sd if speed_sd is None else speed_sd)
        places = {
            joint: place for each in efforts for joint, place in zip(each.joints, each.places)
        }
        self._names = tuple(dict.fromkeys((*deviations, *places)))
        self._encoders = [
            (
                self._names.index(joint),
                moving[joint].positions.start,
                model.position_size + moving[joint].velocities.start,
                *(stream.noise * sd for sd in sds),
            )
            for joint, sds in deviations.items()
        ]
        self._efforts = [(self._names.index(joint), place) for joint, place in places.items()]

    def __call__(self, plant, efforts, chance):
        """Return `JointValues`; efforts: of all commands; chance: a generator."""
        noise = chance.standard_normal((3, len(self._names))).tolist()
        none = [math.nan] * len(self._names)
        positions, velocities, given = none[:], none[:], none[:]
        state = plant.state
        for row, place, speed, sd, speed_sd in self._encoders:
            positions[row] = float(state[place]) + sd * noise[0][row]
            velocities[row] = float(state[speed]) + speed_sd * noise[1][row]
        for row, place in self._efforts:
            given[row] = efforts[place] + self._stream.effort_sd * noise[2][row]
        return JointValues(
            self._names,
            tuple(positions) if self._encoders else (),
            tuple(velocities) if self._encoders else (),
            tuple(given) if self._efforts else (),
        )


class JointPoseMeasurement:
    """Measures coordinates and velocities of spherical and free joints; others are zero."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the `JointPoses` of a topic and a `StreamConfig`."""
        self._parts, self._noise = [part for each in sensors for part in each.parts], stream.noise
        self._names = tuple(dict.fromkeys(joint for each in sensors for joint in each.joints))

    def __call__(self, plant, efforts, chance):
        """Return `JointPoseValues`."""
        numbers = np.tile(_AT_REST, (len(self._names), 1))
        for part in self._parts:
            noise = self._noise * part.sd * chance.standard_normal(3)
            value = plant.state[part.states]
            row = numbers[self._names.index(part.joint)]
            row[part.quantity.numbers] = (
                _turned(value, noise) if part.is_quaternion else value + noise
            )
        pieces = (numbers[:, :3], numbers[:, 3:7], numbers[:, 7:10], numbers[:, 10:])
        return JointPoseValues(
            self._names, *(tuple(map(tuple, piece.tolist())) for piece in pieces)
        )


class EffortMeasurement:
    """Measures efforts alone, in the order of their reader."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the only `JointEfforts` of a topic, the model and a `StreamConfig`."""
        (source,), self._stream = efforts, stream
        # Joints that are not driven have zero effort.
        self._places = [
            model.commands.index(joint) if joint in model.commands else None
            for joint in source.order
        ]

    def __call__(self, plant, efforts, chance):
        """Return `EffortValues`."""
        noise = self._stream.effort_sd * chance.standard_normal(len(self._places))
        given = [0.0 if place is None else efforts[place] for place in self._places]
        return EffortValues(tuple((noise + given).tolist()))


class WrenchMeasurement:
    """Measures a wrench on a link."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the only `WrenchInput` of a topic and a `StreamConfig`."""
        (source,) = efforts
        self._sds = np.repeat([stream.moment_sd, stream.effort_sd], 3)
        self._places = slice(source.places[0], source.places[-1] + 1)

    def __call__(self, plant, efforts, chance):
        """Return `WrenchValues`."""
        noise = self._sds * chance.standard_normal(6)
        numbers = (noise + efforts[self._places]).tolist()
        return WrenchValues(tuple(numbers[3:]), tuple(numbers[:3]))


class PoseMeasurement:
    """Measures a body's pose, which may be occluded, or have a quaternion of the other sign."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the only sensor of a topic and a `StreamConfig`."""
        (self._sensor,), self._stream = sensors, stream
        scale = np.where(np.isfinite(self._sensor.scale), self._sensor.scale, 0.0)
        # The scale is that of a quaternion's parts: half an angle's.
        self._shift_sd, self._turn_sd = stream.noise * scale[0], stream.noise * 2 * scale[3]
        self._occlusion = _Occlusion(stream)

    def __call__(self, plant, efforts, chance):
        """Return `PoseValues`."""
        seen = plant.seen(self._sensor)
        shift, turn = chance.standard_normal((2, 3))
        is_flipped = chance.random() < self._stream.sign_flips
        if self._occlusion.is_hidden(chance):
            return _HIDDEN_POSE
        orientation = _turned(mat2quat(seen[3:].reshape(3, 3)), self._turn_sd * turn)
        orientation = orientation * (-1 if is_flipped else 1)
        position = seen[:3] + self._shift_sd * shift
        return PoseValues(tuple(position.tolist()), tuple(orientation.tolist()))


class PointMeasurement:
    """Measures a single marker in space or in a picture, which may be occluded."""

    def __init__(self, sensors, efforts, model, stream):
        """Take the only sensor of a topic and a `StreamConfig`."""
        (self._sensor,), self._noise = sensors, stream.noise
        self._occlusion = _Occlusion(stream)

    def __call__(self, plant, efforts, chance):
        """Return `PointValues`."""
        sensor = self._sensor
        noise = self._noise * sensor.scale * chance.standard_normal(sensor.value_size)
        if self._occlusion.is_hidden(chance):
            return _HIDDEN_POINT
        seen = (plant.seen(sensor) + noise).tolist()
        return PointValues((*seen, *[0.0] * (3 - len(seen))))


def _turned(quaternion, turn):
    """Return a unit quaternion w, x, y, z turned by a rotation vector [rad] in its own frame."""
    angle = float(np.linalg.norm(turn))
    if angle > 0:
        quaternion = qmult(quaternion, axangle2quat(turn, angle))
    return quaternion / np.linalg.norm(quaternion)


class _Occlusion:
    """Occlusion of a body, which begins and ends after exponentially distributed times."""

    def __init__(self, stream):
        self._is_hidden, share = False, stream.occlusion
        change = 1 / (stream.rate * stream.occlusion_time)
        self._appears = min(change, 1.0)
        self._vanishes = min(self._appears * share / (1 - share), 1.0)

    def is_hidden(self, chance):
        """Return whether the body is hidden in the next sample."""
        limit = self._appears if self._is_hidden else self._vanishes
        if chance.random() < limit:
            self._is_hidden = not self._is_hidden
        return self._is_hidden


MEASUREMENTS = {
    'sensor_msgs/msg/JointState': JointMeasurement,
    'sensor_msgs/msg/MultiDOFJointState': JointPoseMeasurement,
    'std_msgs/msg/Float64MultiArray': EffortMeasurement,
    'geometry_msgs/msg/PoseStamped': PoseMeasurement,
    'geometry_msgs/msg/TransformStamped': PoseMeasurement,
    'geometry_msgs/msg/PointStamped': PointMeasurement,
    'geometry_msgs/msg/WrenchStamped': WrenchMeasurement,
}


def plain(message_type, **fields):
    """Return an object with the attributes of a message, without ROS."""
    return SimpleNamespace(**fields)


def message_of(reading, make=plain, frame=''):
    """
    Return the message of a `Reading`.

    make: function (name of a message type, fields by keyword) -> message; frame: its frame_id.
    """
    fields = _FIELDS[reading.message_type](make, reading.content)
    if reading.message_type not in _WITHOUT_STAMP:
        seconds, rest = divmod(reading.stamp_ns, _NANO)
        fields['header'] = make(
            'std_msgs/msg/Header',
            stamp=make('builtin_interfaces/msg/Time', sec=seconds, nanosec=rest),
            frame_id=frame,
        )
    return make(reading.message_type, **fields)


def _joint_state(make, content):
    return {
        'name': list(content.names),
        'position': list(content.position),
        'velocity': list(content.velocity),
        'effort': list(content.effort),
    }


def _joint_poses(make, content):
    twists = zip(content.velocity, content.angular_velocity)
    return {
        'joint_names': list(content.names),
        'transforms': [
            _pose_as_transform(make, *pose) for pose in zip(content.position, content.orientation)
        ],
        'twist': [
            make('geometry_msgs/msg/Twist', linear=_vector(make, v), angular=_vector(make, w))
            for v, w in twists
        ],
        'wrench': [],
    }


def _numbers(make, content):
    layout = make('std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0)
    return {'layout': layout, 'data': list(content.effort)}


def _pose(make, content):
    place, turn = _point(make, content)['point'], _quaternion(make, content.orientation)
    return {'pose': make('geometry_msgs/msg/Pose', position=place, orientation=turn)}


def _transform(make, content):
    return {'transform': _pose_as_transform(make, content.position, content.orientation)}


def _pose_as_transform(make, position, orientation):
    return make(
        'geometry_msgs/msg/Transform',
        translation=_vector(make, position),
        rotation=_quaternion(make, orientation),
    )


def _wrench(make, content):
    force, torque = _vector(make, content.force), _vector(make, content.torque)
    return {'wrench': make('geometry_msgs/msg/Wrench', force=force, torque=torque)}


def _vector(make, values):
    x, y, z = values
    return make('geometry_msgs/msg/Vector3', x=x, y=y, z=z)


def _point(make, content):
    x, y, z = content.position
    return {'point': make('geometry_msgs/msg/Point', x=x, y=y, z=z)}


def _quaternion(make, orientation):
    w, x, y, z = orientation
    return make('geometry_msgs/msg/Quaternion', w=w, x=x, y=y, z=z)


_FIELDS = {
    'sensor_msgs/msg/JointState': _joint_state,
    'sensor_msgs/msg/MultiDOFJointState': _joint_poses,
    'std_msgs/msg/Float64MultiArray': _numbers,
    'geometry_msgs/msg/PoseStamped': _pose,
    'geometry_msgs/msg/TransformStamped': _transform,
    'geometry_msgs/msg/PointStamped': _point,
    'geometry_msgs/msg/WrenchStamped': _wrench,
}
