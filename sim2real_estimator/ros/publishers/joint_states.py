"""
The topics `~/estimate`, `~/bands` and `~/predicted_joint_states`, as JointState.

Every tool plots a JointState by name: mean and standard deviation of each parameter, and the
motion of the model beside the measured one.
"""

from dataclasses import dataclass
import math

from ...messages import maker
from .stamps import header, stamp_ns_of

JointState = maker('sensor_msgs/msg/JointState')


@dataclass(frozen=True)
class EstimateReading:
    """Name -> mean, standard deviation, value in the heaviest mode (empty: there is one mode)."""

    stamp_ns: int
    mean: dict
    sd: dict
    heaviest: dict


def estimate_message(estimate, findings=None):
    """
    Return an `Estimate` as JointState, by name: position is the mean, velocity the sd.

    Its stamp is that of the newest datum. With `Findings` the combinations of parameters that
    data can tell follow the parameters, and where there are several modes the heaviest is in the
    effort; it is NaN for combinations. A JointState because every tool plots it by name.
    """
    names, mean, sd = list(estimate.names), estimate.mean.tolist(), estimate.sd.tolist()
    heaviest = []
    if findings is not None:
        combined = _combinations(names, findings)
        names += [each.label for each in combined]
        mean += [each.mean for each in combined]
        sd += [each.sd for each in combined]
        if len(findings.modes) > 1:
            _, values = findings.modes[0]
            heaviest = [*values, *[math.nan] * len(combined)]
    return JointState(
        header=header(estimate.stamp_ns),
        name=names,
        position=mean,
        velocity=sd,
        effort=heaviest,
    )


def read_estimate(message):
    """Return the `EstimateReading` of a message."""
    return EstimateReading(
        stamp_ns_of(message),
        *(
            dict(zip(message.name, values))
            for values in (message.position, message.velocity, message.effort)
        ),
    )


def bands_message(findings):
    """
    Return the 90 % intervals of `Findings` as JointState, by the names of parameters.

    position is the mean, velocity the 5 % quantile, effort the 95 % quantile: three curves of one
    name in every tool that plots a JointState.
    """
    each = findings.parameters
    return JointState(
        header=header(findings.stamp_ns),
        name=[found.name for found in each],
        position=[found.mean for found in each],
        velocity=[found.quantiles[0] for found in each],
        effort=[found.quantiles[-1] for found in each],
    )


def read_bands(message):
    """Return (stamp_ns, name -> (low, mean, high)) of a message of `~/bands`."""
    numbers = zip(message.velocity, message.position, message.effort)
    return stamp_ns_of(message), dict(zip(message.name, numbers))


def _combinations(names, findings):
    """Return the findings on coordinates that are neither one parameter nor its logarithm."""
    single = {form.format(name) for name in names for form in ('{}', 'log({})', 'log(-{})')}
    return [each for each in findings.combinations if each.label not in single]


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
