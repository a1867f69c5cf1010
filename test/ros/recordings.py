"""Messages of a simulated recording."""

from sensor_msgs.msg import JointState
from simulated import JOINTS

SECOND = 10**9


def joint_state(stamp_ns, angles, torques):
    """Return a JointState, its joints in another order than the config's."""
    message = JointState(name=JOINTS[::-1], position=angles[::-1], effort=torques[::-1])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp_ns), SECOND)
    return message


def stamp_ns(message):
    stamp = message.header.stamp
    return stamp.sec * SECOND + stamp.nanosec


def send(client, recording):
    """Publish a recording; return the publisher."""
    publisher = client.publisher(JointState, 'joint_states')
    for row in zip(recording.stamps, recording.angles, recording.torques):
        publisher.publish(joint_state(*row))
    return publisher
