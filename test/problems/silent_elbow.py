"""P2 whose elbow has a motor that nobody reports about: its torque is unknown."""

from functools import cache

from sim2real_estimator.config import with_values
from sim2real_estimator.records import Sample

from . import driven_elbow, p2


@cache
def config():
    """Return the `Config`."""
    changes = {
        'joints.elbow.effort': 'unknown',
        'joints.elbow.acceleration': None,
        'sensors.encoders.sd': float(p2.NOISE),
    }
    return with_values(driven_elbow.config(), changes)


def draw(seed, seconds):
    """Return (name -> true value, `Sample`s) of a random robot and motion."""
    truth, frames = p2.draw(seed, seconds)
    samples = [sample for frame in frames for sample in frame.samples]
    samples += [
        Sample('commanded_efforts', at, values[:1])
        for frame in frames
        for at, values in frame.inputs
    ]
    return truth.values, sorted(samples, key=lambda s: (s.stamp_ns, s.sensor))
