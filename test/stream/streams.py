"""A stream of two sensors and efforts on two joints, for the tests of the stream."""

import numpy as np

from sim2real_estimator.records import Sample
from sim2real_estimator.stream.channels import Channel, InputChannel
from sim2real_estimator.stream.plans import ReferencePlan
from sim2real_estimator.stream.stream import Stream, StreamOptions

MS = 1_000_000
JOINTS = ('shoulder', 'elbow')


def make_stream(max_rate=100.0, gap=0.5, plan=None, least_interval_ns=0, **times):
    """Return a `Stream` of 'encoders', 'hand' (a marker) and 'efforts'."""
    channels = {
        'encoders': Channel(2, np.full(2, 1e-3), JOINTS, True),
        'hand': Channel(3, np.full(3, 1e-3), JOINTS, False, least_interval_ns),
    }
    inputs = {'efforts': InputChannel((0, 1), JOINTS, (10.0, np.nan))}
    plan = plan or ReferencePlan(max_rate, gap)
    return Stream(channels, inputs, 2, 'encoders', plan, StreamOptions(**times))


def encoders(at_ms, *values):
    """Return a sample of both encoders; they move with time unless values are given."""
    values = values or (0.01 * at_ms, -0.02 * at_ms)
    return Sample('encoders', round(at_ms * MS), np.array(values))


def hand(at_ms, *values):
    """Return a sample of the marker; it moves with time unless values are given."""
    values = values or (0.01 * at_ms, 0.0, -0.01 * at_ms)
    return Sample('hand', round(at_ms * MS), np.array(values))


def efforts(at_ms, *values):
    """Return a sample of both efforts."""
    values = values or (np.sin(0.1 * at_ms), np.cos(0.1 * at_ms))
    return Sample('efforts', round(at_ms * MS), np.array(values))


def run(stream, samples, stepwise=True):
    """Return all frames of samples, asked for after each of them or at the end only."""
    frames = []
    for sample in samples:
        stream.push(sample)
        if stepwise:
            frames += stream.frames()
    return [*frames, *stream.flush()]


def content(frames):
    """Return frames as plain values that compare."""
    return [
        (
            f.start_ns,
            f.end_ns,
            tuple((s.sensor, s.stamp_ns, s.values.tobytes()) for s in f.samples),
            tuple((at, values.tobytes()) for at, values in f.inputs),
            f.after_gap,
        )
        for f in frames
    ]
