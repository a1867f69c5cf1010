"""The topic `~/predicted_joint_states`: the model against the data."""

from ...messages import maker
from .stamps import header

JointState = maker('sensor_msgs/msg/JointState')


def predicted_message(model, state, stamp_ns):
    """
    Return a state as JointState, to be laid over the measured one.

    state [nx]: positions and velocities, as encoders would see them, of the `Model`; numbers that
    follow them are not read. Joints that follow another are in it; those of several degrees of
    freedom have no place in a JointState and are not.
    """
    moving = [m for m in model.moving_joints if m.joint.kind.velocity_size == 1]
    speeds = state[model.position_size :]
    return JointState(
        header=header(stamp_ns),
        name=[m.joint.name for m in moving],
        position=[m.multiplier * float(state[m.positions][0]) + m.shift for m in moving],
        velocity=[m.multiplier * float(speeds[m.velocities][0]) for m in moving],
    )
