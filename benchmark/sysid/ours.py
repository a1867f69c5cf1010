"""What our estimator makes of a recording: a config, and samples through the pipeline."""

from functools import cache
import json
import time

from estimation.metrics import judge, Quantities
import numpy as np
from scipy.special import chdtri

from sim2real_estimator.config import read_config
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.reported_events import FixedValuesWrong, Happened, kinds_of
from sim2real_estimator.setup.sources import COMMANDED_EFFORTS

from .cases import Outcome

# Of delays [s].
_DELAY_SD = 0.01
# Squared innovations that noise exceeds so seldom are a sign of something else.
_IMPROBABLE = 1e-3
_NORMAL_95 = 1.96


def estimate(case, recording, starts):
    """
    Return the `Outcome` of a `Case`; starts: means of the priors of its first unknowns, or None.

    Compiling the robot is no part of the time: it is done once.
    """
    pipeline = _pipeline(case, starts)
    pipeline.reset()
    begin, reports = time.process_time(), []
    for samples in _samples(case, recording):
        for sample in samples:
            pipeline.push(sample)
        reports += [each.report for each in pipeline.step()]
    reports += [each.report for each in pipeline.finish()]
    used = time.process_time() - begin
    said = judge(pipeline.mixture, _quantities(pipeline.problem, case))
    error, half = np.array(said['error']), _NORMAL_95 * np.array(said['sd'])
    away = np.abs(np.array(said['rank']) - 0.5)
    return Outcome(error, half, away < 0.45, away < 0.475, used, _flags(pipeline, reports))


def _samples(case, recording):
    """Yield the samples of every instant, efforts included where there are any."""
    names = case.robot.JOINTS
    seen = recording.seen.reshape(len(recording.times), len(names), -1)
    places = {name: [names.index(j) for j in joints] for name, joints in case.joints.items()}
    for k, stamp in enumerate(np.round(1e9 * recording.times).astype(int).tolist()):
        samples = [Sample(name, stamp, seen[k, where].ravel()) for name, where in places.items()]
        if recording.efforts.size:
            samples.append(Sample(COMMANDED_EFFORTS, stamp, recording.efforts[k]))
        yield samples


def _quantities(problem, case):
    """Return what is free, in its units and in the order of the truth."""
    names = [unknown.name for unknown in case.unknowns()]
    names += [_delay(sensor) for sensor in case.late_sensors if case.frees_delay]
    rows = [problem.parametrization.names.index(name) for name in names]
    return Quantities(lambda x: problem.parametrization.to_named(x)[rows], case.truth)


def _delay(sensor):
    """Return the name of the delay that makes the stamps of a sensor late."""
    return f'{sensor}.delay'


def _flags(pipeline, reports):
    """Return how the estimator said that something does not fit."""
    kinds = kinds_of([event for report in reports for event in report.events])
    filtered = [report for report in reports if report.stage == 'filter']
    nis, degrees = (sum(getattr(each, key) for each in filtered) for key in ('nis', 'degrees'))
    mixture = pipeline.mixture
    signs = {
        'change': Happened.CHANGED in kinds,
        'NIS': degrees > 0 and nis > chdtri(degrees, _IMPROBABLE),
        'misspecified': FixedValuesWrong in kinds,
        'unknown efforts': mixture.weights[mixture.disturbances.sizes > 0].sum() > 0.5,
    }
    return tuple(name for name, is_seen in signs.items() if is_seen)


@cache
def _pipeline(case, starts):
    priors = {
        unknown.name: {'mean': unknown.begin, 'sd': unknown.sd, 'log': unknown.is_log}
        for unknown in case.unknowns(starts)
    }
    if case.frees_delay:
        priors |= {_delay(sensor): {'sd': _DELAY_SD} for sensor in case.late_sensors}
    settings = case.robot.config(case.damping)
    settings['estimate'] = settings.get('estimate', {}) | priors
    settings['sensors'] = {
        name: {**case.robot.sensor(joints), 'topic': name} for name, joints in case.joints.items()
    }
    pipeline = Pipeline.from_config(read_config(json.dumps(settings)))
    _compile(pipeline.problem, case.robot.STEP)
    return pipeline


def _compile(problem, step):
    """Have the robot compiled, which happens when it is simulated for the first time."""
    nowhere = problem.neutral[:, None], problem.prior.mean[:, None]
    problem.linearize(*nowhere, (Frame(0, round(1e9 * step), ()),))
