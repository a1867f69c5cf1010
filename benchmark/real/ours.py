"""What our package makes of a recording: settings as a user writes them, and messages."""

from dataclasses import dataclass, replace
from functools import cached_property
import logging
from pathlib import Path
import tempfile
import time
from types import SimpleNamespace

import numpy as np
from peers.least_squares import BODY, column_names, PER_JOINT

from sim2real_estimator.config import load_config
from sim2real_estimator.config.settings_tree import JointConfig
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Explained, Happened, Misfit
from sim2real_estimator.setup.starter import starter_yaml

from .torque import arm_of, bodies_of_named, moved

# Stamps are seconds since an epoch; those of recordings begin near zero.
_EPOCH_NS, _NANO = 1_700_000_000 * 10**9, 10**9
# Events that say that the robot is not what it was.
_ALARMS = Happened.CHANGED, Happened.FORGOTTEN
_ALARM_CLASSES = Explained, Misfit
_COUPLED = ('coupled_armature', 'coupled_damping', 'coupled_friction')
# The places of Pinocchio's ten numbers in our order: mass, moments, xx, yy, zz, xy, xz, yz.
_OUR_ORDER = ('mass', 'mx', 'my', 'mz', 'xx', 'yy', 'zz', 'xy', 'xz', 'yz')


@dataclass(frozen=True)
class Event:
    """
    An event that was reported at a time of the recording [s].

    reported: the record; changed: names of parameters.
    """

    time: float
    reported: object
    changed: tuple = ()

    @property
    def name(self):
        """The event as a short line."""
        return str(self.reported)

    @property
    def is_alarm(self):
        """Whether it says that the robot is not what it was."""
        return self.reported in _ALARMS or isinstance(self.reported, _ALARM_CLASSES)


@dataclass(frozen=True)
class Look:
    """What was asked at a time of the recording [s]: load: a `Payload`, or None."""

    time: float
    load: object


@dataclass(frozen=True)
class Run:
    """
    A `Pipeline` that has read a recording.

    events: of all its frames; looks: at the times asked for; first_load: the `Look` at which a
    load was named first, None where it never was; used: time of the processor [s].
    """

    recording: object
    pipeline: Pipeline
    events: tuple
    looks: tuple
    first_load: Look | None
    used: float

    @property
    def problem(self):
        """What is estimated."""
        return self.pipeline.problem

    @property
    def moments(self):
        """The mean [p] and the covariance [p, p] of the parameters, in coordinates."""
        return self.pipeline.mixture.moments()

    @cached_property
    def named(self):
        """Every parameter of the robot by name: estimated, given, or that of the description."""
        return named_at(self.problem, self.moments[0])


def ours(recording, seconds=None, looks=(), adjust=None, since=-np.inf):
    """
    Return the `Run` of our package over a recording.

    seconds: only so much of its beginning; looks: times [s] at which to ask for the load;
    adjust: function Config -> Config; since: time [s] from which on a load counts as named,
    unless it is the one of before.
    """
    if seconds is not None:
        recording = recording.between(-np.inf, recording.t[0] + seconds)
    pipeline = pipeline_of(recording, adjust)
    waiting, seen, events, first, old = sorted(looks), [], [], None, None
    begin = time.process_time()
    for message in messages(recording):
        for name in pipeline.sources:
            pipeline.receive(name, message)
        for estimate in pipeline.step():
            events += _events(estimate)
        now = _seconds(pipeline.estimate().stamp_ns)
        load = pipeline.latest_findings().payload
        if now < since:
            old = load
        elif first is None and load.is_held:
            is_said = any(event.is_alarm and event.time >= since for event in events)
            first = Look(now, load) if old is None or not old.is_held or is_said else None
        while waiting and now >= waiting[0]:
            seen.append(Look(waiting.pop(0), _held(pipeline.findings(exact=False))))
    for estimate in pipeline.finish():
        events += _events(estimate)
    used = time.process_time() - begin
    return Run(recording, pipeline, tuple(events), tuple(seen), first, used)


def _held(findings):
    """Return the `Payload` of `Findings`, None where nothing is held."""
    return findings.payload if findings.payload.is_held else None


def pipeline_of(recording, adjust=None):
    """Return the `Pipeline` of a robot that `init` has described; adjust: as above."""
    logging.getLogger('sim2real_estimator').setLevel(logging.ERROR)
    config = config_for(recording)
    return Pipeline.from_config(adjust(config) if adjust else config)


def config_for(recording):
    """Return the `Config` that `init` writes of a recording's robot, which names no file."""
    with tempfile.TemporaryDirectory() as folder:
        urdf, settings = Path(folder, 'robot.urdf'), Path(folder, 'robot.yaml')
        urdf.write_text(recording.urdf, encoding='utf-8')
        settings.write_text(starter_yaml(urdf, folder), encoding='utf-8')
        config = _adjusted(load_config(settings), recording)
    return replace(config, model=replace(config.model, urdf=recording.urdf))


def _adjusted(config, recording):
    """Return the settings with what a user of this robot knows and `init` cannot."""
    known = {recording.joints[k] for k in recording.known}
    joints = {
        name: replace(joint, effort='measured' if name in known else 'unknown')
        for name, joint in config.joints.items()
    }
    joints = joints or {name: JointConfig('measured') for name in known}
    config = replace(config, joints=joints)
    if couple := recording.robot.couple:
        first, second = couple
        config = replace(config, model=replace(config.model, couplings={second: first}))
    return config


def messages(recording):
    """Yield a sensor_msgs/msg/JointState for every row, as plain objects."""
    names = list(recording.joints)
    stamps = _EPOCH_NS + np.round(recording.t * _NANO).astype(np.int64)
    for stamp_ns, q, tau in zip(stamps.tolist(), recording.q, recording.tau):
        seconds, rest = divmod(stamp_ns, _NANO)
        stamp = SimpleNamespace(sec=seconds, nanosec=rest)
        yield SimpleNamespace(
            header=SimpleNamespace(stamp=stamp, frame_id=''),
            name=names,
            position=q.tolist(),
            velocity=[],
            effort=tau.tolist(),
        )


def named_at(problem, coordinates):
    """Return name -> value of all parameters of a robot at coordinates [p]."""
    parametrization, parameters = problem.parametrization, problem.parameters
    found = {name: parameters[name].nominal for name in parameters}
    values = parametrization.to_named(np.asarray(coordinates)[:, None])[:, 0]
    return {**found, **parametrization.fixed, **dict(zip(parametrization.names, values.tolist()))}


def least_squares_of(run):
    """
    Return what least squares need to have the same columns and the same prior.

    As (terms, friction velocities [n], (mean, covariance) of the columns). A parameter that we do
    not estimate has no variance. What has a logarithm is taken as linear about its mean.
    """
    terms, widths, mean, slopes = columns_of(run)
    return (
        terms,
        widths,
        (mean, slopes @ run.problem.parametrization.inner.prior.covariance @ slopes.T),
    )


def columns_of(run):
    """
    Return (terms, friction velocities [n], columns [c] at the mean of the prior, slopes [c, P]).

    slopes: derivative of the columns of least squares by coordinates of the inner parametrization.
    """
    recording, inner = run.recording, run.problem.parametrization.inner
    joints, couple = recording.joints, recording.robot.couple
    rows = {name: row for row, name in enumerate(inner.names)}
    words = {name.rpartition('.')[2] for name in rows}
    terms = [word for word in PER_JOINT if word in words]
    terms += ['coupled'] if words & set(_COUPLED) else []
    columns = column_names(joints, terms, couple)
    place = {name: k for k, name in enumerate(columns)}
    at_mean = inner.to_named(inner.prior.mean[:, None])[:, 0]
    named = named_at(run.problem, run.problem.prior.mean) | dict(zip(inner.names, at_mean))
    model = arm_of(recording.urdf, joints)
    mean = np.array([named.get(name, 0.0) for name in columns])
    mean[: 10 * len(joints)] = bodies_of_named(model, recording.urdf, named).ravel()
    # From our coordinates to columns: bodies about their links' frames to those of their joints.
    slopes = np.zeros((len(columns), len(rows)))
    rates = inner.apart.values_and_rates(inner.separated(inner.prior.mean[:, None]))[1]
    rates = np.broadcast_to(rates, inner.prior.mean[:, None].shape)[:, 0]
    for name in set(place) & set(rows):
        slopes[place[name], rows[name]] = rates[rows[name]]
    ours = [_OUR_ORDER.index(word) for word in BODY]
    for link, ten in zip(inner.links, inner.rows):
        frame = model.frames[model.getBodyId(link)]
        if frame.parentJoint:
            at = 10 * (frame.parentJoint - 1)
            turned = [moved(unit, frame.placement) for unit in np.eye(10)]
            slopes[at : at + 10, ten[ours]] += np.array(turned).T
    widths = np.array([named[f'{joint}.friction_velocity'] for joint in joints])
    return tuple(terms), widths, mean, slopes


def _events(estimate):
    report, now = estimate.report, _seconds(estimate.stamp_ns)
    return [Event(now, each, tuple(report.changed)) for each in report.events]


def _seconds(stamp_ns):
    """Return the time [s] of the recording of a stamp."""
    return (stamp_ns - _EPOCH_NS) / _NANO
