"""
The main flow, from messages to estimates: decode, buffer, cut frames, re-stamp, update, summarize.

Live operation, replay, offline identification and tests all use it. Only the stamps of the data
drive it: the same samples, settings and seed give the same posterior, bit for bit, whenever they
arrive.
"""

from collections import Counter, deque
from contextlib import suppress
import copy
from dataclasses import dataclass, field, replace
from functools import partial
import logging

import numpy as np
from threadpoolctl import ThreadpoolController

from .config import to_yaml
from .errors import DataError
from .estimation.merging import matched
from .estimation.mixture import Mixture
from .files import damage_as_error
from .observability.findings import Assessment, summarize
from .posterior.file import load, Posterior, require_same_prior, save
from .posterior.identity import describe, Recording, require_same
from .records import Estimate, Status, UpdateReport
from .reported_events import Happened
from .stream.restamping import Restamping

_HERE = 'this pipeline'
# Events by which estimators report that they have left out the samples of a frame -> outcome of
# these samples.
_LEFT_OUT = {
    Happened.UPDATE_REFUSED: Status.UPDATE_REFUSED,
    Happened.OUTLIER: Status.OUTLIER,
}
# What bad data may raise in an update: singular matrices, overflow. Anything else is a mistake in
# the program and is not caught.
_NUMERICAL_ERRORS = np.linalg.LinAlgError, ArithmeticError
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """
    All that changes with a frame, as an immutable snapshot.

    state: of the estimator; estimate: the posterior as an `Estimate`, with the report and the
    stamp of the last frame; mixture: the posterior of state and parameters, in the problem's
    coordinates; recording: identifies the data used, None before any; assessment: holds the
    latest `Findings` and what the next ones need; restamping: the delays of late clocks and the
    frames that wait for their samples; outcomes: (sensor, `Status`) -> number of samples whose
    outcome this frame has decided; efforts: of the commands at the end of the last frame, NaN
    where unknown, empty where no frame had any.
    """

    state: object
    estimate: Estimate
    mixture: Mixture
    recording: Recording | None
    assessment: Assessment
    restamping: Restamping = Restamping()
    outcomes: Counter = field(default_factory=Counter)
    efforts: tuple = ()


class Pipeline:
    """
    Samples -> stream -> frames -> estimator -> estimates.

    The methods stand in the order of the flow; saving and continuing come last.
    """

    def __init__(self, problem, estimator, stream, sources=(), restamping=None):
        """
        Connect the parts and begin from the prior.

        problem: a `RobotProblem`; estimator: an `AbstractEstimator`; stream: a `Stream`;
        sources: decoders of messages, each with a `name` that the stream knows; restamping: the
        initial `Restamping`, None: no clock may be late.
        """
        self.problem, self.estimator, self.stream = problem, estimator, stream
        self.sources = {source.name: source for source in sources}
        self.config, self._restamping = '', restamping or Restamping()
        self._libraries = ThreadpoolController()
        # Frames that are complete and await their update.
        self.waiting = deque()
        self._begin(problem.prior, (), problem.noise_prior)

    @classmethod
    def from_config(cls, config, plan=None):
        """Return the pipeline of a `Config`; plan: a `RecordedPlan` that replaces its frames."""
        from .setup.build import build_parts  # imports all of physics

        # One thread, as everywhere: the last bits of a matrix product depend on their number.
        with ThreadpoolController().limit(limits=1, user_api='blas'):
            pipeline = cls(*build_parts(config, plan))
        pipeline.config = to_yaml(config)
        return pipeline

    def receive(self, name, message, arrived_ns=None):
        """
        Decode a message of the source of that name, and buffer its samples.

        arrived_ns: time of arrival [ns], for messages without a stamp of their own.
        """
        if name not in self.sources:
            raise DataError(
                f"there is no source '{name}' to decode a message; "
                f'there are: {", ".join(sorted(self.sources)) or "none"}'
            )
        self.take(name, self.sources[name].decode(message, arrived_ns))

    def take(self, name, decoded):
        """Buffer the samples of a decoded message: the `Decoded` of the source of that name."""
        for status in decoded.statuses:
            self.counts.add(name, status)
        for sample in decoded.samples:
            self.push(sample)

    def push(self, sample):
        """Buffer a sample; return USED, or the `Status` that says why it is left out."""
        return self.stream.push(sample)

    def step(self):
        """Update with every frame that is complete; return an `Estimate` for each."""
        return self._update_with_all(is_end=False)

    def finish(self):
        """Update with all frames left, at the end of the data; return an `Estimate` for each."""
        return self._update_with_all(is_end=True)

    def _update_with_all(self, is_end):
        estimates = []
        while frame := self.next_frame(is_end):
            self.accept(self.after(self.progress, frame))
            estimates.append(self.estimate())
        return estimates

    def next_frame(self, is_end=False):
        """
        Return the next frame to update with, None where none is complete.

        It stays among those `waiting` until the progress after it is accepted, and only then is
        the next one cut. is_end: whether the data have come to their end.
        """
        if not self.waiting:
            self.waiting.extend(self.stream.next_frames(is_end))
        if is_end and not self.waiting and (end := self.progress.restamping.end()):
            self.waiting.append(end)
        return self.waiting[0] if self.waiting else None

    def cut(self):
        """
        Cut all frames that are complete, and return their number.

        For recordings, which are cut in blocks. Live, `next_frame` cuts them one by one, so that
        they can be made longer while too much data wait.
        """
        before = len(self.waiting)
        while frames := self.stream.next_frames():
            self.waiting.extend(frames)
        return len(self.waiting) - before

    def after(self, progress, frame):
        """
        Return the `Progress` after one more frame, and change nothing in this pipeline.

        So a thread may compute it while others push samples: re-stamp late clocks, update the
        estimator with every frame that this completes, and summarize.
        """
        # Matrices are small. Threads of BLAS would wait for one another, which takes four times
        # the processor, and hundreds of times where the robot's other programs need it as well.
        with self._libraries.limit(limits=1, user_api='blas'):
            progress, frames = self._restamped(progress, frame)
            if not frames:
                report = UpdateReport(progress.estimate.report.stage)
                return replace(progress, estimate=replace(progress.estimate, report=report))
            events = ()
            for each in frames:
                progress = self._updated_or_refused(progress, each, events)
                events = progress.estimate.report.events
            return progress

    def _restamped(self, progress, frame):
        """
        Return (`Progress`, frames to update with) after samples of late clocks found their frames.

        A clock whose delay the posterior knows well is set right by whole milliseconds: for the
        frames that the estimator can still fit anew, and for all that follow.
        """
        restamping, state, outcomes = progress.restamping, progress.state, Counter()
        for sensor in restamping.moved:
            late = self.problem.late_sensors.get(sensor)
            if late is None:
                continue
            delay, variance = progress.mixture.along(late)
            if by_ns := restamping.left_to_move(sensor, delay, variance**0.5):
                kept = self.estimator.kept_frames(state)
                restamping, moved, outside = restamping.move(sensor, by_ns, kept)
                state = self.estimator.with_frames(state, moved)
                outcomes[sensor, Status.OUTSIDE] += len(outside)
                outcomes[sensor, Status.USED] += _number(sensor, moved) - _number(sensor, kept)
        restamping, frames, outside = restamping.take(frame)
        for sample in outside:
            outcomes[sample.sensor, Status.OUTSIDE] += 1
        progress = replace(progress, state=state, restamping=restamping, outcomes=outcomes)
        return progress, frames

    def _updated_or_refused(self, progress, frame, events):
        """
        Return the `Progress` after a frame, without its samples where those cannot be used.

        events: of the frames before this one that the same new frame completed. Where an update
        fails numerically, the state is predicted without the samples; where that fails too, it
        is estimated anew from the samples to come, with what is known of the parameters.
        """
        try:
            return self._updated(progress, frame, events)
        except _NUMERICAL_ERRORS:
            _logger.exception(
                'the frame that ends at %.3f s is left out: it could not be computed',
                1e-9 * frame.end_ns,
            )
        outcomes = progress.outcomes.copy()
        outcomes.update((sample.sensor, Status.UPDATE_REFUSED) for sample in frame.samples)
        progress = replace(progress, outcomes=outcomes)
        events = (*events, Happened.UPDATE_REFUSED)
        with suppress(*_NUMERICAL_ERRORS):
            return self._updated(progress, replace(frame, samples=()), events)
        report = UpdateReport(progress.estimate.report.stage, events=events)
        findings, tangents = progress.assessment.latest, progress.assessment.tangents
        known = self.problem, progress.mixture, frame.end_ns, report, findings, tangents
        estimate, state = summarize(*known), self.estimator.interrupted(progress.state)
        return replace(progress, state=state, estimate=estimate)

    def _updated(self, progress, frame, events):
        """Return the `Progress` after a frame; raise where an update cannot be computed."""
        # Update: the filter step, or the fit, of the estimator.
        state, report = self.estimator.update(self._begun, progress.state, frame)
        # Where the estimator begins again from its prior, no data so far count.
        is_forgotten = Happened.FORGOTTEN in report.events
        recording = progress.recording or Recording.begun(frame)
        recording = None if is_forgotten else recording.until(frame)
        # Summarize: what the posterior says of each parameter, and whether it can be believed.
        mixture = self.estimator.mixture(self._begun, state)
        model_before_change = partial(self.estimator.model_before_change, state)
        assessment = progress.assessment.after(
            self.problem, mixture, frame, report, model_before_change
        )
        events = (*events, *assessment.events_since(progress.assessment))
        # Count what became of the samples.
        rejected = [status for event, status in _LEFT_OUT.items() if event in report.events]
        outcome = rejected[0] if rejected else Status.USED
        if report.left_out:
            outcome = Status.USED
        outcomes = progress.outcomes.copy()
        for sample in frame.samples:
            outcomes[sample.sensor, outcome] += 1
        for sensor, status, number in report.left_out:
            outcomes[sensor, Status.USED] -= number
            outcomes[sensor, Status(status)] += number
        report = replace(report, events=(*events, *report.events)) if events else report
        findings, tangents = assessment.latest, assessment.tangents
        estimate = summarize(self.problem, mixture, frame.end_ns, report, findings, tangents)
        known = (state, estimate, mixture, recording, assessment, progress.restamping)
        efforts = frame.efforts if frame.inputs else progress.efforts
        return Progress(*known, outcomes, efforts)

    def accept(self, progress):
        """Make the `Progress` after the first of the `waiting` frames that of this pipeline."""
        self.waiting.popleft()
        self.progress = progress
        for (sensor, status), number in progress.outcomes.items():
            self.counts.add(sensor, status, number)

    @property
    def counts(self):
        """The `Counts` of what became of the samples of each sensor."""
        return self.stream.counts

    @property
    def state(self):
        """The state of the estimator."""
        return self.progress.state

    @property
    def mixture(self):
        """The posterior `Mixture` of the robot's state and the parameters, in coordinates."""
        return self.progress.mixture

    def estimate(self):
        """Return the latest `Estimate`, that of the prior before any frame."""
        return self.progress.estimate

    def latest_findings(self):
        """Return the `Findings` with the verdicts of the estimate, at most a second old."""
        found = self.progress.assessment.latest
        with self._libraries.limit(limits=1, user_api='blas'):
            # Computed when first asked for.
            _ = found.parameters
        return found

    def findings(self, exact=True, is_misfit=False):
        """
        Return the `Findings` after the latest frame.

        exact: whether draws follow the curves along which parameters are observationally
        equivalent, which may take seconds, or their tangents, as for estimates; is_misfit:
        whether the model does not fit for a reason that was not reported.
        """
        now, assessment = self.estimate(), self.progress.assessment
        known = self.problem, self.mixture, now.stamp_ns, now.report, exact, is_misfit
        with self._libraries.limit(limits=1, user_api='blas'):
            return assessment.find(*known)

    def reset(self):
        """Begin again from the initial prior."""
        state = self.estimator.init(self._begun)
        assessment = Assessment.begun(self.problem, self.estimator.mixture(self._begun, state))
        self._go_on(state, 0, UpdateReport('prior'), None, assessment, self._restamping)

    def posterior(self):
        """Return the `Posterior`: the mixture, its findings, and the run to continue from."""
        recording = self.progress.recording
        known = (*self._known, recording) if recording else self._known
        return Posterior(
            describe(self.problem, self.estimator),
            self.mixture,
            self.problem.prior,
            known,
            self.config,
            self.findings(exact=False),
            self.run(),
            self.problem.noise_prior,
        )

    def run(self, has_plan=True):
        """Return all that is needed to continue, as plain values; has_plan: with all frames."""
        return {
            'state': self.state,
            'stream': self.stream.snapshot(has_plan),
            'waiting': tuple(self.waiting),
            'report': self.estimate().report,
            'stamp_ns': self.estimate().stamp_ns,
            'begun': (self._begun.prior, self._known, self._begun.noise_prior),
            'recording': self.progress.recording,
            'assessment': vars(self.progress.assessment),
            'restamping': self.progress.restamping,
        }

    def resume(self, run):
        """Continue from the `run` of another pipeline with the same settings."""
        self.stream.restore(run['stream'])
        self._begin(*run['begun'])
        assessment = Assessment(**run['assessment'])
        parts = run['state'], run['stamp_ns'], run['report'], run['recording']
        self._go_on(*parts, assessment, run['restamping'])
        self.waiting = deque(run['waiting'])

    def save(self, path):
        """Write the posterior to a file, from which another process can continue."""
        save(path, self.posterior())

    def load(self, path):
        """
        Continue from a file: with the same samples the posterior is the same, bit for bit.

        The plan of frames is the one followed when it was saved. Raise a DataError, and change
        nothing, where the file is of another robot, estimator or prior.
        """
        posterior = load(path)
        if posterior.run is None:
            why = posterior.obstacle or 'is of several recordings'
            raise DataError(
                f'{path}: {why}, so there is none to go on with; begin a new one from it: '
                'Pipeline.begin_from'
            )
        self._require_fits(path, posterior, goes_on=True)
        before = self.run()
        try:
            with damage_as_error(path, 'begin a new run from it: Pipeline.begin_from'):
                self.resume(posterior.run)
                self._require_resumed(posterior.mixture)
        except DataError:
            self.resume(before)
            raise

    def _require_resumed(self, mixture):
        """Raise a ValueError where the run in a file has another posterior than the file has."""
        resumed = self.mixture
        pairs = (
            (resumed.log_weights, mixture.log_weights),
            (resumed.means, mixture.means),
            (resumed.parameter_roots(), mixture.roots),
        )
        if not all(np.array_equal(a, b) for a, b in pairs) or not resumed.is_finite:
            raise ValueError('its run has another posterior than the file has')

    def begin_from(self, path):
        """
        Begin again, with the parameters' posterior in a file as the prior.

        It is approximated by a normal distribution of the same mean and covariance: several
        modes, and the robot's state, are lost.
        """
        posterior = load(path)
        self._require_fits(path, posterior, goes_on=False)
        if posterior.mixture.size > 1:
            _logger.warning('%s: its modes become one normal distribution', path)
        before, noises = self.run(), posterior.mixture.noises
        try:
            with damage_as_error(path, 'save it again'):
                noises = noises and noises.matched(posterior.mixture.weights)
                self._begin(matched(posterior.mixture), posterior.recordings, noises)
        except DataError:
            self.resume(before)
            raise

    def _begin(self, prior, known, noise_prior):
        """Begin from a prior; known: the `Recording`s that it is a posterior of."""
        self._begun = copy.copy(self.problem)
        self._begun.prior, self._known = prior, tuple(known)
        self._begun.noise_prior = noise_prior
        self.reset()

    def _require_fits(self, path, posterior, goes_on):
        """Raise a DataError where a posterior is not one of this problem."""
        try:
            identity = describe(self.problem, self.estimator)
            require_same(posterior.identity, identity, _HERE, goes_on)
            require_same_prior(posterior, self.problem.prior, self.problem.noise_prior)
        except DataError as error:
            raise DataError(f'{path}: {error}') from error

    def _go_on(self, state, stamp_ns, report, recording, assessment, restamping):
        """Set the progress to a state of the estimator."""
        mixture, findings = self.estimator.mixture(self._begun, state), assessment.latest
        tangents = assessment.tangents
        estimate = summarize(self.problem, mixture, stamp_ns, report, findings, tangents)
        self.progress = Progress(state, estimate, mixture, recording, assessment, restamping)


def _number(sensor, frames):
    """Return how many samples of a sensor there are in frames."""
    return sum(sample.sensor == sensor for frame in frames for sample in frame.samples)
