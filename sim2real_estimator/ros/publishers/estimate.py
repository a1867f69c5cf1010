"""The topic `~/estimate`: mean and standard deviation by name, which every tool plots."""

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


def _combinations(names, findings):
    """Return the findings on coordinates that are neither one parameter nor its logarithm."""
    single = {form.format(name) for name in names for form in ('{}', 'log({})', 'log(-{})')}
    return [each for each in findings.combinations if each.label not in single]
