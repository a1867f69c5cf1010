"""Frames of which something is wrong, at random: what a robot's drivers may send, and worse."""

from dataclasses import replace

import numpy as np

_NAN = float('nan')
# Units that are mistaken for one another: degrees, millimetres, encoder ticks.
_UNITS = (57.3, 1 / 57.3, 1e3, 1e-3, 65536.0)
_HUGE = (1e6, 1e12, 1e30, 1e150, 1e300, 1.7e308)


def spoiled(rng, frames, count, after_ns):
    """
    Return so many frames on end, most of which have something wrong with them.

    frames: good ones, which repeat themselves; rng: decides what is wrong; after_ns: where they
    begin.
    """
    found, first, held = [], rng.integers(len(frames)), {}
    for k in range(count):
        frame = frames[(first + k) % len(frames)]
        frame, after_ns = _at(frame, after_ns - frame.start_ns), after_ns + _length(frame)
        for _ in range(rng.integers(0, 4)):
            frame = _FAULTS[rng.integers(len(_FAULTS))](rng, frame, frames, held)
        held |= {sample.sensor: sample.values for sample in frame.samples}
        found.append(frame)
    return found


def _length(frame):
    return frame.end_ns - frame.start_ns


def _at(frame, by_ns):
    """Return a frame so much later."""
    return replace(
        frame,
        start_ns=frame.start_ns + by_ns,
        end_ns=frame.end_ns + by_ns,
        samples=tuple(replace(s, stamp_ns=s.stamp_ns + by_ns) for s in frame.samples),
        inputs=tuple((at + by_ns, values) for at, values in frame.inputs),
    )


def _of_samples(change):
    """Return the fault that changes the values of some samples of a frame."""

    def fault(rng, frame, frames, held):
        samples = tuple(
            replace(s, values=change(rng, s.values.copy(), held.get(s.sensor, s.values)))
            if rng.random() < 0.6
            else s
            for s in frame.samples
        )
        return replace(frame, samples=samples)

    return fault


def _of_some(number):
    """Return the change that sets some values to what a function of (rng, values) returns."""

    def change(rng, values, before):
        some = rng.random(len(values)) < rng.uniform(0.1, 1.0)
        values[some] = np.broadcast_to(number(rng, values), values.shape)[some]
        return values

    return change


def _flipped(rng, values, before):
    last = values[-4:]
    return np.concatenate([values[:-4], rng.permutation(last) * rng.choice([-1, 1], last.shape)])


def _other_sensor(rng, frame, frames, held):
    """Sensors that are taken for one another, as far as their numbers go."""
    values = [sample.values for sample in frame.samples]
    samples = tuple(
        replace(s, values=np.resize(values[rng.integers(len(values))], s.values.shape))
        for s in frame.samples
    )
    return replace(frame, samples=samples)


def _lost(rng, frame, frames, held):
    return replace(frame, samples=tuple(s for s in frame.samples if rng.random() < 0.5))


def _repeated(rng, frame, frames, held):
    twice = sorted((*frame.samples, *frame.samples), key=lambda s: (s.stamp_ns, s.sensor))
    return replace(frame, samples=tuple(twice))


def _of_another_time(rng, frame, frames, held):
    other = frames[rng.integers(len(frames))]
    samples = tuple(replace(s, stamp_ns=frame.end_ns) for s in other.samples)
    return replace(frame, samples=samples)


def _moved(rng, frame, frames, held):
    """Move the frame in time, or make it longer, shorter, or as long as nothing."""
    kind, by_ns = rng.integers(5), int(rng.choice([-1, 1]) * 10 ** rng.integers(3, 14))
    if kind == 0:
        return _at(frame, by_ns)
    if kind == 1:
        samples = tuple(replace(s, stamp_ns=frame.end_ns) for s in frame.samples)
        return replace(frame, start_ns=frame.end_ns, samples=samples, after_gap=True)
    if kind == 2:
        return replace(frame, start_ns=frame.end_ns)
    if kind == 3:
        return replace(frame, start_ns=frame.start_ns - min(abs(by_ns), 2 * 10**9))
    return replace(frame, is_last=True)


def _inputs(rng, frame, frames, held):
    kind = rng.integers(4)
    if kind == 0:
        return replace(frame, inputs=frame.inputs[:1])
    factor = (_NAN, float(rng.choice(_HUGE)), float(rng.choice(_UNITS)))[kind - 1]
    inputs = tuple((at, factor * values) for at, values in frame.inputs)
    return replace(frame, inputs=inputs)


_FAULTS = (
    _of_samples(_of_some(lambda rng, values: _NAN)),
    _of_samples(_of_some(lambda rng, values: rng.choice([-1, 1]) * np.inf)),
    _of_samples(_of_some(lambda rng, values: values * rng.choice(_HUGE))),
    _of_samples(_of_some(lambda rng, values: rng.choice(_HUGE) * rng.choice([-1, 1]))),
    _of_samples(_of_some(lambda rng, values: values + rng.normal(0, 10 ** rng.uniform(-3, 2)))),
    _of_samples(_of_some(lambda rng, values: 0.0)),
    _of_samples(lambda rng, values, before: values * rng.choice(_UNITS)),
    _of_samples(lambda rng, values, before: before),
    _of_samples(_flipped),
    _other_sensor,
    _lost,
    _repeated,
    _of_another_time,
    _moved,
    _inputs,
)
