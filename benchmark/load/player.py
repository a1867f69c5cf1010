"""
A robot recorded beforehand, published over DDS in real time by a process of its own.

Messages are serialised before it begins; only their stamps are new. So it takes next to nothing
of the computer that the node is measured on.
"""

import json
import os
import struct
import sys
import time

import rclpy
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
import torch

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.messages import ros_class
from sim2real_estimator.ros.publishers.stamps import set_stamp

_NANO = 10**9
# After the four bytes that say how a message is encoded comes the stamp of its header.
_STAMP_PLACE, _STAMP = 4, '<iI'
# It must not take the processor from the node, and may send a little late instead.
_NICENESS = 1
_TICK = 1e-3
# Between the word to go and the first message, and before each of those that end the record [s].
_AHEAD, _AFTER = 0.5, 1.0
# The first is after a hole, which ends the last frame; the second lets the first come through.
_ENDINGS = 2


def record(path, seconds):
    """Return (topic -> type, [(due [ns], stamp [ns], topic, bytes)]) of a synthetic robot."""
    robot = SyntheticRobot(load_synthetic(path))
    kinds = {topic: feed.message_type for topic, feed in robot.feeds.items()}
    found = []
    for reading in robot.run(seconds):
        message = message_of(reading, lambda kind, **fields: ros_class(kind)(**fields), 'map')
        data = bytearray(serialize_message(message))
        found.append((reading.due_ns, reading.stamp_ns, reading.topic, data))
    return kinds, found


def play(node, kinds, recorded):
    """Publish it in real time, and return what was sent, and how late the sending was."""
    qos = QoSProfile(depth=1000)
    outputs = {
        topic: node.create_publisher(ros_class(kinds[topic]), topic, qos) for topic in kinds
    }
    sys.stdin.readline()
    start, steady = time.time_ns() + int(_AHEAD * _NANO), time.monotonic() + _AHEAD
    sent, lateness, before = dict.fromkeys(kinds, 0), [], time.process_time()
    for due, stamp, topic, data in recorded:
        late = time.monotonic() - steady - due / _NANO
        while late < 0:
            time.sleep(min(-late, _TICK))
            late = time.monotonic() - steady - due / _NANO
        struct.pack_into(_STAMP, data, _STAMP_PLACE, *divmod(start + stamp, _NANO))
        outputs[topic].publish(bytes(data))
        sent[topic] += 1
        lateness.append(late)
    used = time.process_time() - before
    elapsed = time.monotonic() - steady
    # What came before these need wait no longer.
    last = {topic: data for _, _, topic, data in recorded}
    for _ in range(_ENDINGS):
        time.sleep(_AFTER)
        for topic, data in last.items():
            struct.pack_into(_STAMP, data, _STAMP_PLACE, *divmod(time.time_ns(), _NANO))
            outputs[topic].publish(bytes(data))
            sent[topic] += 1
    lateness.sort()
    return {
        'sent': sent,
        'cpu': used / elapsed,
        'late': lateness[int(0.99 * len(lateness))],
        'latest': lateness[-1],
    }


def check_stamp():
    """Raise an error where messages do not begin with their stamp."""
    message = ros_class('sensor_msgs/msg/JointState')()
    set_stamp(message.header.stamp, 3 * _NANO + 7)
    if struct.unpack_from(_STAMP, serialize_message(message), _STAMP_PLACE) != (3, 7):
        raise RuntimeError('serialised messages do not begin with their stamp')


def main():
    """Record, say so, publish at the word, and say what was sent; arguments: file, seconds."""
    torch.set_num_threads(1)
    check_stamp()
    kinds, recorded = record(sys.argv[1], float(sys.argv[2]))
    os.nice(_NICENESS)
    rclpy.init()
    node = rclpy.create_node('recorded_robot')
    print('ready', flush=True)
    print(json.dumps(play(node, kinds, recorded)), flush=True)
    # What was sent reliably may have to be sent again.
    time.sleep(1.0)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
