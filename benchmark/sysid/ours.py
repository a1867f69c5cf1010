"""What our estimator makes of a recording: a config, and samples through the pipeline."""

from functools import cache
import time

from estimation.metrics import judge, Quantities
import numpy as np
from scipy.special import chdtri

from sim2real_estimator.config import read_config
from sim2real_estimator.inference.doubting import DOUBTS
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Frame, Sample

from . import pendulum
from .cases import Outcome

# Of logarithms: what is begun with may be half or twice the truth; of delays [s].
_LENGTH_SD, _DAMPING_SD, _DELAY_SD = 0.7, 0.7, 0.01
_CONFIG = """
model: {urdf: '%s', joint_types: {ball0: spherical, ball1: spherical, ball2: spherical}}
joints: {ball0: {effort: none}, ball1: {effort: none}, ball2: {effort: none}}
simulation: {max_step: %g}
sensors:
%s
estimate:
%s
"""
# Squared innovations that noise exceeds so seldom are a sign of something else.
_IMPROBABLE = 1e-3
_NORMAL_95 = 1.96


def estimate(case, recording, starts):
    """
    Return the `Outcome` of a `Case`; starts [3]: means of the prior of the lengths [m].

    Compiling the robot is no part of the time: it is done once.
    """
    pipeline = _pipeline(case, starts)
    pipeline.reset()
    begin, reports = time.process_time(), []
    stamps = np.round(1e9 * recording.times).astype(int).tolist()
    seen = recording.quaternions.reshape(-1, 3, 4)
    for k, stamp in enumerate(stamps):
        for camera, joints in zip(case.cameras, case.clocks):
            pipeline.push(Sample(camera, stamp, seen[k, list(joints)].ravel()))
        reports += [each.report for each in pipeline.step()]
    reports += [each.report for each in pipeline.finish()]
    used = time.process_time() - begin
    said = judge(pipeline.mixture, _quantities(pipeline.problem, case))
    error, half = np.array(said['error']), _NORMAL_95 * np.array(said['sd'])
    away = np.abs(np.array(said['rank']) - 0.5)
    return Outcome(error, half, away < 0.45, away < 0.475, used, _flags(pipeline, reports))


def _quantities(problem, case):
    """Return what is free, in its units and in the order of the truth."""
    rods = [f'{rod}.length' for rod in pendulum.RODS]
    dampings = [f'{joint}.damping' for joint in pendulum.JOINTS] * case.frees_damping
    delays = [f'{case.cameras[camera]}.delay' for camera in case.late] * case.frees_delay
    rows = [problem.chart.names.index(name) for name in (*rods, *dampings, *delays)]
    return Quantities(lambda x: problem.chart.to_named(x)[rows], case.truth)


def _flags(pipeline, reports):
    """Return how the estimator said that something does not fit."""
    events = {event for report in reports for event in report.events}
    filtered = [report for report in reports if report.stage == 'filter']
    nis, degrees = (sum(getattr(each, key) for each in filtered) for key in ('nis', 'degrees'))
    mixture = pipeline.mixture
    signs = {
        'change': 'changed' in events,
        'NIS': degrees > 0 and nis > chdtri(degrees, _IMPROBABLE),
        'doubts': any(event.startswith(DOUBTS) for event in events),
        'unknown efforts': mixture.weights[mixture.scales > 0].sum() > 0.5,
    }
    return tuple(name for name, is_seen in signs.items() if is_seen)


@cache
def _pipeline(case, starts):
    sensors = [
        f'  {camera}: {{kind: joint_poses, topic: {camera}, '
        f'joints: [{", ".join(pendulum.JOINTS[k] for k in joints)}], '
        f'orientation_sd: {2 * pendulum.NOISE}}}'
        for camera, joints in zip(case.cameras, case.clocks)
    ]
    priors = [
        f'  {rod}.length: {{mean: {start}, sd: {_LENGTH_SD}, log: true}}'
        for rod, start in zip(pendulum.RODS, starts)
    ]
    if case.frees_damping:
        priors.append(f"  '*.damping': {{sd: {_DAMPING_SD}, log: true}}")
    if case.frees_delay:
        priors += [f'  {case.cameras[k]}.delay: {{sd: {_DELAY_SD}}}' for k in case.late]
    urdf = pendulum.urdf(case.damping)
    given = urdf, pendulum.STEP, '\n'.join(sensors), '\n'.join(priors)
    pipeline = Pipeline.from_config(read_config(_CONFIG % given))
    _compile(pipeline.problem)
    return pipeline


def _compile(problem):
    """Have the robot compiled, which happens when it is simulated for the first time."""
    nowhere = problem.neutral[:, None], problem.prior.mean[:, None]
    problem.linearize(*nowhere, (Frame(0, round(1e9 * pendulum.STEP), ()),))
