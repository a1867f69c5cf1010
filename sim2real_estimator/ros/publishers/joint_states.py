"""
The topics `~/estimate`, `~/bands` and `~/predicted_joint_states`, as JointState.

Every tool plots a JointState by name: mean and standard deviation of each parameter, mean and
90 % band, and the motion of the model beside the measured one.
"""

from dataclasses import dataclass
import math

from ...errors import DataError
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


@dataclass(frozen=True)
class BandsReading:
    """Name -> mean, 5 % quantile, 95 % quantile."""

    stamp_ns: int
    mean: dict
    low: dict
    high: dict


def bands_message(findings):
    """
    Return the 90 % intervals of `Findings` as JointState, by name, to be plotted as bands.

    Position is the mean, velocity the 5 % and effort the 95 % quantile of each parameter.
    """
    found = findings.parameters
    return JointState(
        header=header(findings.stamp_ns),
        name=[each.name for each in found],
        position=[each.mean for each in found],
        velocity=[each.quantiles[0] for each in found],
        effort=[each.quantiles[-1] for each in found],
    )


def read_bands(message):
    """Return the `BandsReading` of a message; a DataError where it is another's."""
    columns = message.position, message.velocity, message.effort
    if any(len(values) != len(message.name) for values in columns):
        raise DataError('not every name has a mean, a low and a high; listen to ~/bands')
    return BandsReading(
        stamp_ns_of(message), *(dict(zip(message.name, map(float, values))) for values in columns)
    )


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
