"""Things with the attributes of ROS messages."""

from types import SimpleNamespace as Message


def header(stamp_ns):
    """Return a header."""
    return Message(stamp=Message(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9), frame_id='map')


def joint_state(stamp_ns, name, position=(), velocity=(), effort=()):
    """Return a sensor_msgs/msg/JointState."""
    return Message(
        header=header(stamp_ns),
        name=list(name),
        position=list(position),
        velocity=list(velocity),
        effort=list(effort),
    )


def multi_dof_joint_state(stamp_ns, names, poses, twists=()):
    """Return a sensor_msgs/msg/MultiDOFJointState; poses: (position, wxyz); twists: (v, w)."""
    parts = [_parts(*pose) for pose in poses]
    return Message(
        header=header(stamp_ns),
        joint_names=list(names),
        transforms=[Message(translation=place, rotation=turn) for place, turn in parts],
        twist=[
            Message(
                linear=Message(**dict(zip('xyz', linear))),
                angular=Message(**dict(zip('xyz', angular))),
            )
            for linear, angular in twists
        ],
        wrench=[],
    )


def numbers(data, offset=0):
    """Return a std_msgs/msg/Float64MultiArray."""
    return Message(layout=Message(dim=[], data_offset=offset), data=list(data))


def _parts(position, wxyz):
    w, x, y, z = wxyz
    return Message(**dict(zip('xyz', position))), Message(w=w, x=x, y=y, z=z)


def pose_stamped(stamp_ns, position, wxyz):
    """Return a geometry_msgs/msg/PoseStamped."""
    place, turn = _parts(position, wxyz)
    return Message(header=header(stamp_ns), pose=Message(position=place, orientation=turn))


def transform_stamped(stamp_ns, position, wxyz):
    """Return a geometry_msgs/msg/TransformStamped."""
    place, turn = _parts(position, wxyz)
    return Message(header=header(stamp_ns), transform=Message(translation=place, rotation=turn))


def point_stamped(stamp_ns, point):
    """Return a geometry_msgs/msg/PointStamped."""
    return Message(header=header(stamp_ns), point=Message(**dict(zip('xyz', point))))
