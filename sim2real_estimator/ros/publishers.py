"""What the node says of the robot, as messages."""

from sensor_msgs.msg import JointState

_NANO = 10**9


def estimate_message(estimate):
    """
    Return an `Estimate` as JointState, by name: position is the mean, velocity the sd.

    Its stamp is that of the newest datum. A JointState because every tool plots it by name.
    """
    message = JointState(
        name=list(estimate.names),
        position=estimate.mean.tolist(),
        velocity=estimate.sd.tolist(),
    )
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(estimate.stamp_ns, _NANO)
    return message
