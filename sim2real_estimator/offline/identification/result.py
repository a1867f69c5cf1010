"""The result of an identification, as scripts, the report and files read it."""

from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata

import numpy as np

from ...backend.choice import choose_backend
from ...observability.findings import are_disturbances_evident, find
from ...posterior.file import Posterior
from ...posterior.identity import describe
from ...prediction.robot_problem import RobotProblem
from ...records import Findings, Status
from ...version import __version__

# State at which a diverged prediction is clipped [rad, m, and per second].
FAR = 1e3
# A mechanism of at most this many joints may be so light that it follows its torques rather than
# a servo, as pendulums do: torques then act mostly against friction, and motion holds more
# information.
_LIGHT = 3
# Warnings about the estimate, the gravest first -> key of the event's value that names the part.
_GRAVE = {
    'forgotten': '',
    'changed': '',
    'fixed values wrong': '',
    'explained in part': 'joint',
    'coupled': 'joint',
    'more noise': 'joint',
    'left out': 'joint',
    'poses off': 'sensor',
}
# The root mean square residual of a fit, in standard deviations of the noise, above which it is
# more than noise configured a little too small.
_NOT_NOISE = 1.5
# Libraries on whose versions numbers depend.
_LIBRARIES = ('casadi', 'llvmlite', 'numpy', 'rosbags', 'scipy', 'torch')


@dataclass(frozen=True)
class Course:
    """
    Estimates over time: a row for each second of data and for each instant that changed much.

    names, units [P]: of the parameters; stamps_ns [T]; mean, sd [T, P]: in these units; stages,
    verdicts: a word for each row, P words for each row; nis, degrees [T]: squared innovations,
    normalised, and their degrees of freedom, summed over the frames since the row before (both 0
    where the filter had not taken over); bags [T]: index of the recording among those given.
    """

    names: tuple
    units: tuple
    stamps_ns: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    stages: tuple
    verdicts: tuple
    nis: np.ndarray
    degrees: np.ndarray
    bags: np.ndarray


@dataclass(frozen=True)
class Happening:
    """
    Something that happened, at the instant of data when it was known.

    name: of the table of ~/events in docs/messages.md; text: in a sentence; values: text -> number
    or text; bag: index of the recording.
    """

    stamp_ns: int
    name: str
    text: str
    is_warning: bool
    values: dict
    bag: int


@dataclass(frozen=True)
class Trace:
    """
    One residual row of one sensor, measured and predicted.

    sensor: its name; label: what is measured, such as 'elbow position' or 'x'; unit; sd: of the
    noise, as configured; is_error: whether measured is zero and predicted the deviation, as for
    orientations; stamps_ns [N]; windows [N]: of which window; elapsed [N] [s]: since the window's
    prediction began; measured [N]; predicted: a predictor of `HeldOut.predictors` -> [N], that of
    'draws' -> [N, D].
    """

    sensor: str
    label: str
    unit: str
    sd: float
    is_error: bool
    stamps_ns: np.ndarray
    windows: np.ndarray
    elapsed: np.ndarray
    measured: np.ndarray
    predicted: dict

    def rms(self, predictor):
        """Return the root mean square error of a predictor; of draws, the mean over draws."""
        found = self.predicted[predictor]
        errors = found - (self.measured if found.ndim == 1 else self.measured[:, None])
        return float(np.sqrt(np.mean(errors**2)))

    def coverage(self):
        """Return which share of what was measured lies within the draws' 90 %, noise included."""
        draws = self.predicted['draws']
        # Draws are of the motion: what is measured scatters about it.
        low, high = np.quantile(draws, (0.05, 0.95), axis=1)
        reach = np.hypot((high - low) / 2, 1.645 * self.sd)
        middle = (high + low) / 2
        return float(np.mean(np.abs(self.measured - middle) <= reach))


@dataclass(frozen=True)
class TorqueTrace:
    """
    The torque of a joint, measured and predicted from the motion of all joints.

    joint: its name; sd: of what is left of it, as learned [N m or N]; is_explained: whether the
    robot's model explains the joint's torque at all; stamps_ns, bags [N]: of short means over
    samples in which it moves, and index of the recording; measured [N]; predicted: a predictor of
    `HeldOut.predictors` -> [N], that of 'draws' -> [N, D].
    """

    joint: str
    sd: float
    is_explained: bool
    stamps_ns: np.ndarray
    bags: np.ndarray
    measured: np.ndarray
    predicted: dict

    def rms(self, predictor):
        """Return the root mean square error of a predictor; of draws, the mean over draws."""
        return float(np.sqrt(np.mean(self._errors(predictor) ** 2)))

    def share(self, predictor):
        """Return the error of a predictor as part of the root mean square torque."""
        return self.rms(predictor) / max(float(np.sqrt(np.mean(self.measured**2))), 1e-300)

    def band(self):
        """Return (middle [N], reach [N]) of the 90 % that draws and noise promise."""
        draws = self.predicted['draws']
        return draws.mean(1), 1.645 * np.hypot(draws.std(1), self.sd)

    def coverage(self):
        """Return which share of what was measured lies within the 90 % promised."""
        middle, reach = self.band()
        return float(np.mean(np.abs(self.measured - middle) <= reach))

    def _errors(self, predictor):
        found = self.predicted[predictor]
        return found - (self.measured if found.ndim == 1 else self.measured[:, None])


@dataclass(frozen=True)
class HeldOut:
    """
    What was kept from the estimation, predicted open loop.

    Each window begins with a state that is fitted to a short stretch of data, for each predictor
    with its own parameters; from there on nothing but efforts enter. predictors: 'nominal', the
    prior's mean; 'mean' of the posterior; 'draws' from it. share: of each bag; lead, horizon
    [s]: of the stretch fitted, and of the prediction; starts_ns [W]: where predictions begin;
    bags [W]: index of the recording; traces: a `Trace` for every residual row; reason: why there
    are none, empty where there are; torques: a `TorqueTrace` for every joint whose torque is
    measured and that moves, predicted from motion and not open loop.
    """

    predictors: tuple
    share: float
    lead: float
    horizon: float
    starts_ns: np.ndarray
    bags: np.ndarray
    traces: tuple
    reason: str = ''
    torques: tuple = ()

    def torque_error(self, predictor):
        """Return the error of all torques together, as part of the root mean square torque."""
        left = sum(each.rms(predictor) ** 2 * len(each.measured) for each in self.torques)
        total = sum(float((each.measured**2).sum()) for each in self.torques)
        return float(np.sqrt(left / total)) if total else float('nan')


@dataclass(frozen=True)
class Topic:
    """
    A topic that was read.

    name: in the bag; message_type; sources: names of the sensors and efforts that read it; wanted:
    its name in the config; how: 'config', 'namespace' or 'guessed'; messages: read for the
    estimation; rate [1/s]: mean, by the bag's time; first_ns, last_ns: header stamps of its first
    and last message, those held out included; latency, latency_sd [s]: of the bag's time less the
    header stamp, its median and robust deviation.
    """

    name: str
    message_type: str
    sources: tuple
    wanted: str
    how: str
    messages: int
    rate: float
    first_ns: int
    last_ns: int
    latency: float
    latency_sd: float


@dataclass(frozen=True)
class Bag:
    """
    A recording.

    name: of its folder or file; digest: BLAKE2b of its storage files; begin_ns, split_ns, end_ns:
    by the bag's time, what comes after the split was held out; topics: a `Topic` each; health:
    source -> {status in words: number of samples}; warnings: sentences about what was odd.
    """

    name: str
    digest: str
    begin_ns: int
    split_ns: int
    end_ns: int
    topics: tuple
    health: dict
    warnings: tuple

    @property
    def unused(self):
        """A sentence for every source of which nothing was used."""
        return tuple(
            f'nothing of {source} was used: {in_words(words)}'
            for source, words in self.health.items()
            if Status.USED.value not in words
        )


def in_words(counts):
    """Return {status in words: number} as text."""
    return ', '.join(f'{number} {word}' for word, number in counts.items())


@dataclass(frozen=True)
class Provenance:
    """
    What a result comes from.

    config: the settings as YAML; model_hash: SHA-256 of the robot as estimated; seed; package:
    version; backend: its name; libraries: name -> version of those that numbers hang on; created:
    time of day in ISO 8601, the only entry that differs between two runs of the same.
    """

    config: str
    model_hash: str
    seed: int
    package: str
    backend: str
    libraries: dict
    created: str


@dataclass(frozen=True)
class LearnedNoise:
    """
    How noisy encoders, torques and poses are, as learned beside what is estimated.

    encoders: (sensor, joint, sd as configured, sd as learned [rad or m]), ...; torques: (joint, sd
    of what is left of means over 20 ms [N m or N], how many times less they tell than independent
    ones, whether the model explains them, frequency of its spring [Hz], None where it is rigid),
    ...; poses: (sensor, 'position' or 'turn', sd as configured, sd as learned [m or rad], how many
    times less they tell, part of the samples that is used), ...; delay: of torques beside
    encoders: (mean, standard deviation, by what they were taken to be late) [s].
    """

    encoders: tuple
    torques: tuple
    poses: tuple = ()
    delay: tuple = ()

    @staticmethod
    def of(problem, state):
        """Return that of a `RobotProblem` with measured torques and a state, None elsewhere."""
        model = problem.torque
        if model is None or state is None or state.noise is None:
            return None
        joints = {m.velocities.start: m.joint.name for m in problem.model.moving_joints}
        encoders = tuple(
            (name, joints[place], float(model.encoder_sd[place]), float(state.noise.sd[place]))
            for name, places in model.encoders.items()
            for place in places
        )
        noise = state.fit.noise
        rows = np.sqrt(noise.variance).tolist(), noise.inflation.tolist(), noise.explained.tolist()
        poses = ()
        if state.poses and state.poses.renewals:
            fit = state.poses.fit
            learned = zip(
                np.sqrt(fit.variance).tolist(), fit.inflation.tolist(), fit.share.tolist()
            )
            poses = tuple(
                (*title, title[-1] * factor, *rest)
                for title, (factor, *rest) in zip(problem.poses.titles, learned)
            )
        springs = (None if np.isnan(f) else float(f) for f in state.elastic)
        delay = state.delay.mean, state.delay.sd, state.delay.applied
        return LearnedNoise(encoders, tuple(zip(model.joints, *rows, springs)), poses, delay)


@dataclass(frozen=True)
class Identification:
    """
    What recordings tell of a robot.

    problem: the `RobotProblem`: names, units, parametrization, model; posterior: as in the file,
    its `mixture` over the coordinates problem.labels, its `prior`; findings: verdicts, quantiles,
    combinations, null directions, modes; course, events, held_out: over time; bags: what was read;
    is_merged: whether recordings were joined as independent ones; timings: 'reading' and
    'estimating' [s of the processor], 'data' [s]; noise: `LearnedNoise`, None where none is;
    still_fitting: why a forward filter never took over from the first fits, '' where it did;
    disagreement: how many times more recordings that are joined differ, squared, than they claim;
    choice: the `EstimatorChoice`, None where the config or the kinds of efforts decide; fit: the
    `OptimizerFit` that was asked for, None where none was.
    """

    problem: RobotProblem
    posterior: Posterior
    findings: Findings
    course: Course
    events: tuple
    held_out: HeldOut
    bags: tuple
    provenance: Provenance
    is_merged: bool
    timings: dict
    noise: LearnedNoise | None = None
    still_fitting: str = ''
    disagreement: float = 1.0
    choice: object = None
    fit: object = None

    def __repr__(self):
        known = self.findings.parameters
        good = sum(each.verdict == 'identified' for each in known)
        text = f'{good} of {len(known)} parameters identified'
        if seconds := self.timings.get('data'):
            text += f' from {seconds:.1f} s'
        if self.held_out.torques:
            before, after = (100 * self.held_out.torque_error(n) for n in ('nominal', 'mean'))
            text += f'; held-out torques off by {after:.2g} %, by the description {before:.2g} %'
        if self.distrust:
            text += f'; CAUTION: {"; ".join(self.distrust)}'
        return f'<Identification of {self.problem.model.name}: {text}>'

    @property
    def units(self):
        """Name -> unit of every parameter that was estimated."""
        return dict(zip(self.course.names, self.course.units))

    @property
    def mean(self):
        """Name -> mean of the posterior."""
        return {each.name: each.mean for each in self.findings.parameters}

    @property
    def sd(self):
        """Name -> standard deviation of the posterior."""
        return {each.name: each.sd for each in self.findings.parameters}

    @property
    def distrust(self):
        """Why not to trust the result, in a few words each; empty where nothing is known."""
        return tuple(_reasons(self))

    @property
    def verdicts(self):
        """Name -> verdict in words."""
        return {each.name: each.verdict_text for each in self.findings.parameters}


def _reasons(found):
    """Yield reasons not to trust an `Identification`."""
    wrong, over = {}, {}
    for each in found.events:
        about = each.values.get('about', '')
        if each.name == 'misfit':
            wrong[about] = each.values['wrong']
        elif each.name == 'fits again' and about in wrong:
            over[about] = wrong.pop(about)
    yield from wrong.values()
    yield from (f'for a time it looked as if {each}' for k, each in over.items() if k not in wrong)
    if found.still_fitting:
        yield f'the run stays in its first fit: {found.still_fitting}'
    if found.disagreement > 1.0:
        times = np.sqrt(found.disagreement)
        yield f'recordings differ {times:.1f} times more than they claim, and count for less'
    torques = found.noise.torques if found.noise else ()
    unexplained = [joint for joint, _, _, is_explained, _ in torques if not is_explained]
    if unexplained:
        cure = '; check unit and sign, then try estimator.name: multiple_shooting'
        names = ', '.join(unexplained) + (cure if len(torques) <= _LIGHT else '')
        yield f'torques that the model does not explain: {names}'
    reported = (each.values['joint'] for each in found.events if each.name == 'not explained')
    for_a_time = [joint for joint in dict.fromkeys(reported) if joint not in unexplained]
    if for_a_time:
        yield f'torques that the model did not explain for a time: {", ".join(for_a_time)}'
    elastic = [f'{joint} ({spring:.0f} Hz)' for joint, *_, spring in torques if spring is not None]
    if elastic:
        yield f'elastic: {", ".join(elastic)}'
    if are_disturbances_evident(found.posterior.mixture):
        yield (
            'efforts of unknown origin act: friction is of another kind than modelled, or a value '
            'that is held fixed, such as a mass or a length, is wrong; estimate what is uncertain'
        )
    if found.fit is not None and not found.fit.reason and found.fit.misfits['fit'] > _NOT_NOISE:
        yield (
            f'the best fit by {found.fit.optimizer} leaves residuals of '
            f'{found.fit.misfits["fit"]:.3g} standard deviations: no values of these parameters '
            'explain the motion'
        )
    asked = {each.asked: each for each in found.findings.parameters if each.asked}
    if asked:
        values = ', '.join(
            f'{what or each.name} {mean:.3g} +- {sd:.2g}'
            for (what, mean, sd), each in asked.items()
        )
        yield f'data ask for what no robot has: {values}'
    for name, key in _GRAVE.items():
        events = [each for each in found.events if each.name == name]
        owners = dict.fromkeys(str(each.values[key]) for each in events if key)
        if owners:
            yield f'{name}: {", ".join(owners)}'
        elif events:
            yield f'{name}{f" {len(events)} times" if len(events) > 1 else ""}'
    before, after = (found.held_out.torque_error(name) for name in ('nominal', 'mean'))
    if found.held_out.torques and after >= before:
        yield 'held-out torques are predicted no better than by the robot description'


def versions():
    """Return name -> version of this package and of the libraries that numbers depend on."""
    return {'sim2real_estimator': __version__, **{name: _version(name) for name in _LIBRARIES}}


def provenance_of(pipeline, config):
    """Return the `Provenance` of an estimate by a pipeline of a `Config`."""
    known = versions()
    return Provenance(
        pipeline.config,
        describe(pipeline.problem, pipeline.estimator)['model_hash'],
        config.estimator.seed,
        known.pop('sim2real_estimator'),
        choose_backend(config.simulation.backend).name,
        known,
        datetime.now(timezone.utc).isoformat(timespec='seconds'),
    )


def _version(name):
    """Return the version of a distribution, '' where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ''


def identification_of(problem, posterior):
    """Return the `Identification` of a saved `Posterior`, without any recordings."""
    findings = posterior.findings or find(problem, posterior.mixture, 0, exact=False)
    identity = posterior.identity
    names = tuple(each.name for each in findings.parameters)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, len(names)))
    units = tuple(problem.parameters.unit(name) for name in names)
    provenance = Provenance(
        posterior.config,
        identity['model_hash'],
        identity['estimator']['seed'],
        __version__,
        '',
        {},
        f'{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S+00:00}',
    )
    return Identification(
        problem,
        posterior,
        findings,
        Course(names, units, none, nothing, nothing, (), (), nothing[:, 0], none, none),
        (),
        HeldOut((), 0.0, 0.0, 0.0, none, none, (), 'a saved posterior comes without recordings'),
        (),
        provenance,
        len(posterior.recordings) > 1 and posterior.run is None,
        {},
        LearnedNoise.of(problem, posterior.run and posterior.run['state']),
    )
