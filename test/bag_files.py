"""Recordings for tests, good and bad."""

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Writer
from simulated import JOINTS, record

from sim2real_estimator.bags.writer import STORAGES
from sim2real_estimator.messages import serialized, typestore, TypestoreMaker
from sim2real_estimator.records import Sample

JOINT_STATE, POSE = 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/PoseStamped'
SECOND = 10**9
START = 1_700_000_000 * SECOND
# From the stamp to the arrival at the recorder.
LATENCY = 2_000_000


def stamped(kind, stamp_ns, **fields):
    """Return a message with a header."""
    seconds, rest = divmod(int(stamp_ns), SECOND)
    stamp = TypestoreMaker('builtin_interfaces/msg/Time')(sec=seconds, nanosec=rest)
    header = TypestoreMaker('std_msgs/msg/Header')(stamp=stamp, frame_id='map')
    return TypestoreMaker(kind)(header=header, **fields)


def joints(stamp_ns, positions, efforts, names=JOINTS, topic='/joint_states'):
    """Return the entry of a JointState: (topic, type, time in the bag, message)."""
    values = {'name': list(names), 'position': positions, 'effort': efforts}
    message = stamped(JOINT_STATE, stamp_ns, **values)
    return topic, JOINT_STATE, int(stamp_ns) + LATENCY, message


def pose(stamp_ns, place, topic='/mocap'):
    """Return the entry of a pose that is not turned."""
    x, y, z = (float(each) for each in place)
    where = TypestoreMaker('geometry_msgs/msg/Point')(x=x, y=y, z=z)
    content = TypestoreMaker('geometry_msgs/msg/Pose')(position=where)
    return topic, POSE, int(stamp_ns) + LATENCY, stamped(POSE, stamp_ns, pose=content)


def entries_of(recording, **changes):
    """Return the entries of a simulated `Recording`; changes: as for `joints`."""
    rows = zip(recording.stamps, recording.angles, recording.torques)
    return [joints(*row, **changes) for row in rows]


def samples_of(recording):
    """Return the samples of a simulated `Recording`, in the order of a bag."""
    samples = []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        samples.append(Sample('encoders', int(stamp), angles))
        samples.append(Sample('commanded_efforts', int(stamp), torques))
    return samples


def write(path, entries, storage='mcap', compression='none', version=9):
    """Write entries (topic, type, time in the bag, message) and return the path."""
    writer = Writer(path, version=version, storage_plugin=STORAGES[storage])
    writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic, kind, time_ns, message in entries:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=typestore())
            writer.write(connections[topic], time_ns, serialized(message))
    return path


def short_recording(count=50, **changes):
    """Return entries of a robot that has hardly begun to move; changes: as for `joints`."""
    angles = np.sin(np.arange(count)[:, None] * [0.05, 0.08])
    stamps = START + np.arange(count) * SECOND // 100
    return [joints(s, a, [0.1, 0.2], **changes) for s, a in zip(stamps, angles)]


def moving(seconds=1.2):
    """Return a simulated `Recording`."""
    return record(seconds)
