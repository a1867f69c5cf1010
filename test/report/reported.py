"""Identifications of a known robot, their data made up, for tests of the report."""

from dataclasses import replace

import numpy as np
from posteriors import feed, pipeline_of, samples_of

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.offline.identification.result import (
    Bag,
    Course,
    Happening,
    HeldOut,
    identification_of,
    Topic,
    Trace,
)

SECOND = 10**9
SD = 0.002
# The filter takes over early: what is found does not matter here.
_EARLY = {'estimator.settings.handover': 0.2, 'estimator.settings.share': 0.0}


def alone():
    """Return the `Identification` of a posterior after some motion of a double pendulum."""
    pipeline = pipeline_of(_EARLY)
    feed(pipeline, samples_of(0.7, 9.0))
    return identification_of(pipeline.problem, pipeline.posterior())


def whole(found):
    """Return it with a course, events, held-out data and a recording."""
    begin = found.posterior.recordings[0].begin_ns
    bag = Bag(
        'swing <1>',
        'abc0123',
        begin,
        begin + 16 * SECOND,
        begin + 20 * SECOND,
        (_topic('/joint_states', begin),),
        {'encoders': {'used': 950, 'occluded': 50}},
        ('The pose is in millimetres?',),
    )
    changed = {'before upper.mass': 1.0, 'after upper.mass': 1.25}
    happened = (
        Happening(begin + SECOND, 'converged', 'it is narrow', False, {}, 0),
        Happening(begin + 9 * SECOND, 'changed', 'it is another one', True, changed, 0),
    )
    return replace(
        found,
        course=_course(found, begin),
        events=happened,
        held_out=_held_out(begin),
        bags=(bag,),
    )


def with_two_answers(found):
    """Return it with a posterior of two components far apart."""
    mixture = found.posterior.mixture
    away = 40 * mixture.parameter_roots()[0].sum(1)
    means = np.stack([mixture.means[:, 0], mixture.means[:, 0] + away], 1)
    two = Mixture(
        np.log([0.7, 0.3]),
        np.repeat(mixture.points[:, :1], 2, 1),
        means,
        np.repeat(mixture.roots[:1], 2, 0),
    )
    modes = ((0.7, (1.0,) * 8), (0.3, (2.0,) * 8))
    findings = replace(found.findings, modes=modes)
    return replace(found, posterior=replace(found.posterior, mixture=two), findings=findings)


def _topic(name, begin):
    kind = 'sensor_msgs/msg/JointState'
    times = begin, begin + 20 * SECOND
    return Topic(name, kind, ('encoders',), name, 'config', 1000, 50.0, *times, 0.0035, 0.0002)


def _course(found, begin):
    names, count = found.course.names, 20
    generator = np.random.default_rng(0)
    mean = np.array([each.mean for each in found.findings.parameters])
    sd = np.array([each.sd for each in found.findings.parameters])
    width = sd / np.sqrt(np.arange(1, count + 1))[:, None]
    drawn = mean + width * generator.standard_normal((count, len(names)))
    degrees = np.full(count, 100)
    degrees[:2] = 0
    nis = np.where(degrees, generator.chisquare(100, count), 0.0)
    stamps = begin + SECOND * np.arange(count)
    stages = ('batch', 'batch', *('filter',) * (count - 2))
    verdicts = (found.findings.verdicts,) * count
    zeros = np.zeros(count, dtype=np.int64)
    return Course(
        names, found.course.units, stamps, drawn, width, stages, verdicts, nis, degrees, zeros
    )


def _held_out(begin):
    count, windows = 50, 3
    elapsed = np.tile(np.arange(count) / count, windows)
    which = np.repeat(np.arange(windows), count)
    starts = begin + SECOND * (16 + np.arange(windows))
    traces = tuple(
        _trace(label, k, elapsed, which, starts)
        for k, label in enumerate(('elbow position', 'turn about y'))
    )
    predictors = ('nominal', 'mean', 'draws')
    zeros = np.zeros(windows, dtype=np.int64)
    return HeldOut(predictors, 0.2, 0.3, 1.0, starts, zeros, traces)


def _trace(label, k, elapsed, which, starts):
    generator = np.random.default_rng(k)
    truth = np.sin(6 * elapsed + which) * (not k)
    noise = SD * generator.standard_normal((2, len(truth)))
    measured, error = (np.zeros(len(truth)), noise[0]) if k else (truth + noise[0], 0.0)
    spread = 0.1 * SD * generator.standard_normal((len(truth), 20))
    predicted = {
        'nominal': truth + error + 50 * SD * elapsed,
        'mean': truth + error,
        'draws': (truth + error)[:, None] + spread,
    }
    stamps = starts[which] + (elapsed * SECOND).astype(np.int64)
    return Trace('mocap', label, 'rad', SD, bool(k), stamps, which, elapsed, measured, predicted)
