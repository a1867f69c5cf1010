"""
The main flow: messages in, estimates out.

Live, replayed, offline and under test it is this one. Only stamps of data drive it: the same
samples, settings and seed give the same posterior, bit for bit, whenever they arrive.
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
from .observability.findings import Assessment, summarize
from .posterior.file import load, Posterior, require_same_prior, save
from .posterior.identity import describe, Recording, require_same
from .records import Estimate, Status, UpdateReport
from .stream.restamping import Restamping

_HERE = 'this pipeline'
# By these words estimators report that they have left out the samples of a frame.
_LEFT_OUT = Status.UPDATE_REFUSED, Status.OUTLIER
# What numbers of bad data may raise where nobody has looked for it: matrices that have no inverse,
# numbers that are too large. Anything else is a mistake in the program, and is not caught.
_NUMERICAL_ERRORS = np.linalg.LinAlgError, ArithmeticError
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """
    How far the estimator has come: all that changes with a frame.

    state: of the estimator; estimate: the same in the words of people, with the report and the
    stamp of the last frame; mixture: the posterior of state and parameters, in the problem's
    coordinates; recording: what the data are known by, None before any; assessment: what verdicts
    are made from; restamping: which clocks are how late; outcomes: (sensor, `Status`) -> for how
    many samples more that was the outcome; efforts: of the commands at the end of the last
    frame, NaN where unknown, none where no frame had any.
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
    """Samples -> stream -> frames -> estimator -> estimates."""

    def __init__(self, problem, estimator, stream, sources=(), restamping=None):
        """
        Set up the flow.

        problem: a `RobotProblem`; estimator: an `AbstractEstimator`; stream: a `Stream`;
        sources: what decodes messages, each with a `name` that the stream knows; restamping:
        the `Restamping` to begin with, None: no clock is late.
        """
        self.problem, self.estimator, self.stream = problem, estimator, stream
        self.sources = {source.name: source for source in sources}
        self.config, self._restamping = '', restamping or Restamping()
        self._libraries = ThreadpoolController()
        # Frames that are complete and not yet taken in.
        self.waiting = deque()
        self._begin(problem.prior, (), problem.noise_prior)

    @classmethod
    def from_config(cls, config, plan=None):
        """Return the pipeline of a `Config`; plan: a `RecordedPlan` to follow instead of its."""
        from .setup.build import build_parts  # a pipeline of ready parts needs no settings

        # As many threads as everywhere: with others the last digits are others.
        with ThreadpoolController().limit(limits=1, user_api='blas'):
            pipeline = cls(*build_parts(config, plan))
        pipeline.config = to_yaml(config)
        return pipeline

    @property
    def counts(self):
        """How often what happened to whose samples: `Counts`."""
        return self.stream.counts

    @property
    def state(self):
        """The state of the estimator."""
        return self.progress.state

    @property
    def mixture(self):
        """The posterior `Mixture` of the robot's state and the parameters, in coordinates."""
        return self.progress.mixture

    def reset(self):
        """Forget what was estimated, and begin again from what was known before."""
        state = self.estimator.init(self._begun)
        assessment = Assessment.begun(self.problem, self.estimator.mixture(self._begun, state))
        self._go_on(state, 0, UpdateReport('prior'), None, assessment, self._restamping)

    def posterior(self):
        """Return all that is known, and all that it takes to go on: a `Posterior`."""
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
        """Return what it takes to go on, plain values and records; has_plan: with all frames."""
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
        """Go on from what another pipeline of the same settings returned as its `run`."""
        self.stream.restore(run['stream'])
        self._begin(*run['begun'])
        assessment = Assessment(**run['assessment'])
        parts = run['state'], run['stamp_ns'], run['report'], run['recording']
        self._go_on(*parts, assessment, run['restamping'])
        self.waiting = deque(run['waiting'])

    def save(self, path):
        """Write all that is known to a file, from which another process can go on."""
        save(path, self.posterior())

    def load(self, path):
        """
        Go on from a file: with the same samples the posterior is the same, bit for bit.

        The frames are those of the plan that was followed when it was saved. A DataError where
        the file is of another robot, estimator or prior; then nothing has changed.
        """
        posterior = load(path)
        if posterior.run is None:
            raise DataError(
                f'{path}: is of several recordings, so there is none to go on with; begin '
                'a new one from it: Pipeline.begin_from'
            )
        self._require_fits(path, posterior, goes_on=True)
        self.resume(posterior.run)

    def begin_from(self, path):
        """
        Begin again, with the posterior of a file as what is known of the parameters.

        A normal distribution of the same mean and covariance stands for it: that it had several
        modes, and what it knew of the robot's state, is lost.
        """
        posterior = load(path)
        self._require_fits(path, posterior, goes_on=False)
        if posterior.mixture.size > 1:
            _logger.warning('%s: its modes become one normal distribution', path)
        noises = posterior.mixture.noises
        noises = noises and noises.matched(posterior.mixture.weights)
        self._begin(matched(posterior.mixture), posterior.recordings, noises)

    def receive(self, name, message, arrived_ns=None):
        """
        Decode a message for the source of that name, and push what it holds.

        arrived_ns: when it came, for messages that have no stamp of their own.
        """
        if name not in self.sources:
            raise DataError(
                f"there is no source '{name}' to decode a message; "
                f'there are: {", ".join(sorted(self.sources)) or "none"}'
            )
        self.take(name, self.sources[name].decode(message, arrived_ns))

    def take(self, name, decoded):
        """Count and push what a message held for the source of that name: its `Decoded`."""
        for status in decoded.statuses:
            self.counts.add(name, status)
        for sample in decoded.samples:
            self.push(sample)

    def push(self, sample):
        """Take a sample in and return USED, or the `Status` that says why it is left out."""
        return self.stream.push(sample)

    def step(self):
        """Update with every frame that has become complete; return an `Estimate` for each."""
        return self._work_off(is_end=False)

    def finish(self):
        """Update with all frames left: the data have come to their end."""
        return self._work_off(is_end=True)

    def cut(self):
        """
        Cut all frames that have become complete; return how many.

        They wait to be taken in. Whoever wants frames to get longer meanwhile leaves it to
        `next_frame` to cut them, one after the other.
        """
        before = len(self.waiting)
        while frames := self.stream.next_frames():
            self.waiting.extend(frames)
        return len(self.waiting) - before

    def next_frame(self, is_end=False):
        """
        Return the frame to be taken in next, None where none is complete.

        It waits until the progress after it is accepted. Only then the next one is cut.
        is_end: whether the data have come to their end.
        """
        if not self.waiting:
            self.waiting.extend(self.stream.next_frames(is_end))
        if is_end and not self.waiting and (end := self.progress.restamping.end()):
            self.waiting.append(end)
        return self.waiting[0] if self.waiting else None

    def after(self, progress, frame):
        """
        Return the `Progress` after one more frame, and change nothing.

        So another thread may compute it while samples are pushed.
        """
        # Matrices are small. Threads of BLAS would wait for one another, which takes four times
        # the processor, and hundreds of times where the robot's other programs need it as well.
        with self._libraries.limit(limits=1, user_api='blas'):
            return self._after(progress, frame)

    def _after(self, progress, frame):
        """Return the `Progress` after one more frame."""
        restamping, frames, outside = progress.restamping.take(frame)
        outcomes = Counter((sample.sensor, Status.OUTSIDE) for sample in outside)
        progress = replace(progress, restamping=restamping, outcomes=outcomes)
        if not frames:
            report = UpdateReport(progress.estimate.report.stage)
            return replace(progress, estimate=replace(progress.estimate, report=report))
        events = ()
        for frame in frames:
            progress = self._taken_in(progress, frame, events)
            events = progress.estimate.report.events
        return progress

    def accept(self, progress):
        """Go on from the `Progress` after the first of the frames that wait."""
        self.waiting.popleft()
        self.progress = progress
        for (sensor, status), number in progress.outcomes.items():
            self.counts.add(sensor, status, number)

    def estimate(self):
        """Return the latest `Estimate`; the prior's before any frame."""
        return self.progress.estimate

    def latest_findings(self):
        """Return the `Findings` that the verdicts of estimates are of: at most a second old."""
        found = self.progress.assessment.latest
        with self._libraries.limit(limits=1, user_api='blas'):
            # Whoever asks first waits for them.
            _ = found.parameters
        return found

    def findings(self, exact=True):
        """
        Return the `Findings` after the latest frame.

        exact: whether what data cannot tell is drawn along the curves on which the robot moves
        alike, which may take seconds, or along their tangents, as for estimates.
        """
        now, assessment = self.estimate(), self.progress.assessment
        change = self.estimator.last_change(self.state)
        known = self.problem, self.mixture, now.stamp_ns, now.report, exact, change
        with self._libraries.limit(limits=1, user_api='blas'):
            return assessment.find(*known)

    def _begin(self, prior, known, noise_prior):
        """Begin from a prior that knows some `Recording`s already."""
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
        """Go on from a state of the estimator."""
        mixture, findings = self.estimator.mixture(self._begun, state), assessment.latest
        tangents = assessment.tangents
        estimate = summarize(self.problem, mixture, stamp_ns, report, findings, tangents)
        self.progress = Progress(state, estimate, mixture, recording, assessment, restamping)

    def _taken_in(self, progress, frame, events):
        """
        Return the `Progress` with one more frame, all of whose samples are there.

        events: of the frames before that the same new one has let go. A frame of which something
        cannot be computed is refused: the motion goes on without its samples, or, where that
        cannot be computed either, is found anew with what is known of the parameters.
        """
        try:
            return self._updated(progress, frame, events)
        except _NUMERICAL_ERRORS:
            _logger.exception(
                'the frame that ends at %.3f s is left out: it could not be computed',
                1e-9 * frame.end_ns,
            )
        outcomes = progress.outcomes + Counter(
            (sample.sensor, Status.UPDATE_REFUSED) for sample in frame.samples
        )
        progress, events = (
            replace(progress, outcomes=outcomes),
            (*events, Status.UPDATE_REFUSED.value),
        )
        with suppress(*_NUMERICAL_ERRORS):
            return self._updated(progress, replace(frame, samples=()), events)
        report = UpdateReport(progress.estimate.report.stage, events=events)
        findings, tangents = progress.assessment.latest, progress.assessment.tangents
        known = self.problem, progress.mixture, frame.end_ns, report, findings, tangents
        estimate, state = summarize(*known), self.estimator.interrupted(progress.state)
        return replace(progress, state=state, estimate=estimate)

    def _updated(self, progress, frame, events):
        """Return the `Progress` with a frame, as of `_taken_in`, if all of it can be computed."""
        state, report = self.estimator.update(self._begun, progress.state, frame)
        # Where nothing known is of use the data before are forgotten, and so is this frame.
        is_forgotten = 'forgotten' in report.events
        recording = progress.recording or Recording.begun(frame)
        recording = None if is_forgotten else recording.until(frame)
        mixture = self.estimator.mixture(self._begun, state)
        last_change = partial(self.estimator.last_change, state)
        assessment = progress.assessment.after(self.problem, mixture, frame, report, last_change)
        events = (*events, *assessment.words_since(progress.assessment))
        outcome = next((s for s in _LEFT_OUT if s.value in report.events), Status.USED)
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
        return self._restamped(Progress(*known, outcomes, efforts), frame, mixture)

    def _restamped(self, progress, frame, mixture):
        """Return the `Progress` with samples set to when they were taken, as far as is known."""
        if not progress.restamping.moved:
            return progress
        for sensor in progress.restamping.moved:
            late = self.problem.late_sensors.get(sensor)
            if late is None:
                continue
            (delay, variance), period_ns = mixture.along(late), frame.end_ns - frame.start_ns
            by_ns = progress.restamping.left_to_move(sensor, delay, variance**0.5, period_ns)
            if by_ns:
                kept = self.estimator.kept_frames(progress.state)
                restamping, frames, outside = progress.restamping.move(sensor, by_ns, kept)
                outcomes = Counter(progress.outcomes)
                outcomes[sensor, Status.OUTSIDE] += len(outside)
                outcomes[sensor, Status.USED] += _number(sensor, frames) - _number(sensor, kept)
                state = self.estimator.with_frames(progress.state, frames)
                progress = replace(progress, state=state, restamping=restamping, outcomes=outcomes)
        return progress

    def _work_off(self, is_end):
        """Update with all frames that are complete."""
        estimates = []
        while frame := self.next_frame(is_end):
            self.accept(self.after(self.progress, frame))
            estimates.append(self.estimate())
        return estimates


def _number(sensor, frames):
    """Return how many samples of a sensor there are in frames."""
    return sum(sample.sensor == sensor for frame in frames for sample in frame.samples)
