"""Readings as messages of the types that sensors decode, of whatever classes there are."""

from types import SimpleNamespace

_NANO = 10**9


def plain(message_type, **fields):
    """Return an object with the attributes of a message, for whom no ROS is needed."""
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
_WITHOUT_STAMP = frozenset(('std_msgs/msg/Float64MultiArray',))
