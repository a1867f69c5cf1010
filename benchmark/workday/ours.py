"""What our estimator says of a recording, by the way a user takes: `init`, messages, estimates."""

from dataclasses import dataclass, field, replace
from pathlib import Path
import tempfile
import time
from types import SimpleNamespace

import numpy as np
import torch

from sim2real_estimator.config import read_config
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import (
    ElasticJoint,
    FixedValuesWrong,
    Happened,
    Misfit,
    TorqueNotExplained,
)
from sim2real_estimator.setup.starter import starter_yaml

_NANO = 10**9
# Parameters of bodies and rotors, by the last part of their names, or the part before it.
_OF_BODIES, _OF_LOSSES = ('mass', 'com', 'inertia', 'armature'), ('damping', 'friction')
_OF_LOSSES += ('load_friction', 'stribeck')
# Events by which an estimator says that the robot is not as modelled.
_SIGNS_OF_MISFIT = FixedValuesWrong, TorqueNotExplained, Misfit, ElasticJoint
# So large a squared innovation per degree of freedom, for so large a share of findings, is one.
_MISFIT, _SHARE = 2.0, 0.5


@dataclass(frozen=True)
class Belief:
    """
    What is known at an instant.

    named: name -> mean, in the words of our package; mean [p], covariance [p, p]: of coordinates
    in which torques are linear; prior: the same two before any data; truth [p]: what they are;
    kinds [p]: 'body', 'loss' or '' of each coordinate; identified: name -> by how many standard
    deviations a parameter is off that is called so.
    """

    named: dict
    mean: np.ndarray
    covariance: np.ndarray
    prior: tuple
    truth: np.ndarray
    kinds: tuple
    identified: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """
    What came of a recording.

    beliefs: mark -> `Belief`; changes: times [s] at which a change was reported, each once;
    loads: time -> (link, mass, sd) of what was reported as picked up then, None where nothing;
    is_flagged: whether it was said that the model does not fit; processor: time per second of
    data [s/s]; events: (time, event) of all that was reported.
    """

    beliefs: dict
    changes: tuple
    loads: dict
    is_flagged: bool
    processor: float
    events: tuple


def run(recording, marks, asked=(), estimator='', seconds=None):
    """
    Return what is `Told` of a `Recording`.

    marks: seconds of motion at which beliefs are taken; asked: times of the recording [s] at which
    loads are; estimator: its name in the config, '' for the one that `init` chooses; seconds:
    after which nothing more is read, None: all.
    """
    torch.set_num_threads(1)
    pipeline = Pipeline.from_config(config_of(recording.urdf, estimator))
    names, beliefs, loads, events, misfits = list(recording.joints), {}, {}, [], []
    waiting = [(recording.moved_for(mark), mark) for mark in sorted(marks)]
    asked, begin = sorted(asked), time.process_time()
    last = recording.t[-1] if seconds is None else recording.moved_for(seconds)
    prior, spent = pipeline.problem.prior, 0.0
    for t, q, tau in zip(recording.t, recording.q, recording.tau):
        if t > last:
            break
        message = joint_state(t, names, q, tau)
        for source in pipeline.sources:
            pipeline.receive(source, message)
        for estimate in pipeline.step():
            at = 1e-9 * estimate.stamp_ns
            events += [(at, event) for event in estimate.report.events]
        pause = time.process_time()
        if waiting and t >= waiting[0][0]:
            beliefs[waiting.pop(0)[1]] = _belief(pipeline, prior, recording.truth_at(t))
            misfits.append(pipeline.latest_findings().misfit)
        if asked and t >= asked[0]:
            load = pipeline.latest_findings().payload
            named = load.link, load.mass, load.mass_sd
            loads[asked.pop(0)] = named if load.is_held else None
        spent += time.process_time() - pause
    used = time.process_time() - begin - spent
    changes = [t for t, event in events if event is Happened.CHANGED]
    is_off = [m is not None and m > _MISFIT for m in misfits]
    is_flagged = any(isinstance(event, _SIGNS_OF_MISFIT) for _, event in events)
    is_flagged |= bool(is_off) and float(np.mean(is_off)) > _SHARE
    read = min(last, recording.t[-1]) - recording.t[0]
    return Told(beliefs, tuple(changes), loads, is_flagged, used / read, tuple(events))


def config_of(urdf, estimator=''):
    """Return the config that `init` writes of a robot description; estimator: as of `run`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'robot.urdf')
        path.write_text(urdf, encoding='utf-8')
        # Other estimators than the one of measured torques take them as what acts.
        is_exact = estimator not in ('', 'auto', 'measured_torque')
        text = starter_yaml(path, folder, effort='commanded' if is_exact else None)
        if estimator:
            text = text.replace('name: auto', f'name: {estimator}')
        # The text of the robot stands in for its file, which is gone when the config is built.
        config = read_config(text)
    return replace(config, model=replace(config.model, urdf=urdf))


def joint_state(t, names, q, tau):
    """Return a JointState, for whom no ROS is needed."""
    seconds, rest = divmod(int(round(t * _NANO)), _NANO)
    stamp = SimpleNamespace(sec=seconds, nanosec=rest)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp, frame_id=''),
        name=names,
        position=q.tolist(),
        velocity=[],
        effort=tau.tolist(),
    )


def _belief(pipeline, prior, truth):
    """Return the `Belief` of this moment."""
    parametrization = pipeline.problem.parametrization
    mean, covariance = pipeline.mixture.moments()
    named = dict(
        zip(parametrization.names, parametrization.to_named(mean[:, None])[:, 0].tolist())
    )
    inner = parametrization.inner
    # What the plant has no name for is where it is believed to be.
    values = np.array([[truth.get(name, named[name])] for name in parametrization.names])
    at = inner.from_named(values)[:, 0]
    if inner is not parametrization:
        at = parametrization.combinations @ (at - inner.prior.mean)
    rows = np.abs(np.atleast_2d(parametrization.combinations)) > 1e-9
    kinds = tuple(
        _kind([n for n, is_in in zip(parametrization.names, row) if is_in]) for row in rows
    )
    identified = {
        each.name: (each.mean - truth[each.name]) / each.sd
        for each in pipeline.findings().parameters
        if each.verdict == 'identified' and each.name in truth
    }
    return Belief(named, mean, covariance, (prior.mean, prior.covariance), at, kinds, identified)


def _kind(names):
    """Return what a coordinate is of: the parameters that it is a combination of."""
    words = {word for name in names for word in name.split('.')}
    if words.intersection(_OF_BODIES):
        return 'body'
    return 'loss' if words.intersection(_OF_LOSSES) else ''
