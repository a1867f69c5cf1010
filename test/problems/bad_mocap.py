"""
A double pendulum with encoders, and motion capture that fails for a while, again and again.

The robot, the motion and the priors are those of `late_mocap`. Bodies are hidden, take the place
of one another, are seen turned by half a turn, or stay where they were; samples are lost, and the
clock of motion capture runs fast.
"""

from dataclasses import replace

import numpy as np

from sim2real_estimator.config import with_values

from . import late_mocap

SECONDS = 30.0
# What happens, how often to each body (or, swapped, to both) in a second, and for how long [s].
FAULTS = {
    'flipped': (1 / 6, (0.1, 0.5)),
    'swapped': (1 / 8, (0.1, 0.5)),
    'frozen': (1 / 8, (0.1, 0.5)),
    'hidden': (1 / 8, (0.2, 3.0)),
}
LOST = 0.05
# By how much the clock of motion capture is too fast.
RATE = 50e-6
# A body whose pattern of markers is taken for the same one turned round is off by so much [m].
_SHIFT = 0.01
_NANO = 1e-9
SENSORS = tuple(f'{body} body' for body in late_mocap.BODIES)


# Of the robot nothing changes.
_STILL = {
    f'estimator.settings.{name}': 0.0
    for name in ('drift', 'drift_of_dissipation', 'drift_of_efforts')
}


def config():
    """Return the `Config`, in which nothing but clocks drifts."""
    return with_values(late_mocap.config(), _STILL)


def draw(seed, delay_ms, seconds=SECONDS, kinds=tuple(FAULTS)):
    """
    Return (values, samples, faults): of `late_mocap`, with these kinds of faults.

    values: delays are those at a stamp of zero, see `delay_at`; faults: (kind, sensors, begin [s],
    end [s]) in the order of their beginnings.
    """
    values, samples = late_mocap.draw(seed, delay_ms, seconds)
    rng = np.random.default_rng([*np.atleast_1d(seed), 7])
    faults = _schedule(rng, seconds, kinds)
    return values, spoiled(rng, samples, faults), faults


def delay_at(values, sensor, stamp_ns):
    """Return the delay [s] of a sensor at a stamp of its clock."""
    return values[f'{sensor}.delay'] + RATE * _NANO * stamp_ns


def _schedule(rng, seconds, kinds):
    """Return faults: (kind, sensors, begin, end)."""
    found = []
    for kind in kinds:
        often, lengths = FAULTS[kind]
        for sensors in [SENSORS] if kind == 'swapped' else [(sensor,) for sensor in SENSORS]:
            for begin in rng.uniform(0, seconds, rng.poisson(often * seconds)):
                found.append((kind, sensors, begin, begin + rng.uniform(*lengths)))
    return sorted(found, key=lambda fault: fault[2])


def spoiled(rng, samples, faults):
    """Return the samples with faults, losses and the fast clock, in the order of their stamps."""
    poses = {(s.sensor, s.stamp_ns): s.values for s in samples if s.sensor in SENSORS}
    turns = {fault: rng.integers(3) for fault in faults}
    shifts = {fault: rng.uniform(-_SHIFT, _SHIFT, 3) for fault in faults}
    exact = {fault: rng.random() < 0.5 for fault in faults}
    found, held = [], {}
    for sample in samples:
        if sample.sensor not in SENSORS:
            found.append(sample)
            continue
        stamp, values = sample.stamp_ns, sample.values
        now = [f for f in faults if sample.sensor in f[1] and f[2] <= _NANO * stamp < f[3]]
        kinds = {fault[0]: fault for fault in now}
        if 'swapped' in kinds:
            other = SENSORS[1 - SENSORS.index(sample.sensor)]
            values = poses[other, stamp]
        if 'flipped' in kinds:
            fault = kinds['flipped']
            values = _flipped(values, turns[fault], shifts[fault])
        if 'frozen' in kinds:
            fault = kinds['frozen']
            values = held.setdefault((sample.sensor, fault), values)
            if not exact[fault]:
                # A filter that goes on without markers is not quite still.
                values = values + 1e-5 * rng.standard_normal(len(values))
        if 'hidden' in kinds or rng.random() < LOST:
            continue
        late_ns = round(RATE * stamp)
        found.append(replace(sample, stamp_ns=stamp + late_ns, values=values))
    return sorted(found, key=lambda sample: (sample.stamp_ns, sample.sensor))


def _flipped(pose, axis, shift):
    """Return a pose [7] turned by half a turn about an axis of the body, and shifted."""
    w, *vector = pose[3:]
    unit, vector = np.eye(3)[axis], np.array(vector)
    turned = np.concatenate([[-(vector @ unit)], w * unit + np.cross(vector, unit)])
    return np.concatenate([pose[:3] + shift, turned])
