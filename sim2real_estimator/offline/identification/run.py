"""
Identify a robot from recordings: from rosbag2 files to the result and its folder.

`identify` is the main function. `Work` passes the messages of one recording after the other
through one `Pipeline`, writes checkpoints, predicts what was held out, and returns the
`Identification`.
"""

from dataclasses import dataclass, replace
import hashlib
from itertools import islice
import math
from pathlib import Path
import time

from ...bags.reader import BagReader, digest_of
from ...config import Config, load_config, to_yaml
from ...errors import ConfigError, DataError
from ...estimation.filter.phases import BatchState
from ...estimation.merging import disagreement
from ...observability.findings import find
from ...pipeline import Pipeline
from ...posterior.file import joined, load
from ...records import Findings, Status
from ...reported_events import Happened
from ...setup.build import stream_maker
from ...setup.sources import COMMANDED_EFFORTS, MEASURED_EFFORTS
from ...stream.plans import RecordedPlan
from .checkpoint import Checkpoint, key_of
from .estimator_choice import choose_estimator
from .feeding import Feed, Timings
from .folder import require_free, write_folder
from .held_out import (
    nothing_held_out,
    predict_motion,
    predict_torques,
    torque_frames,
    windows_of,
)
from .history import History
from .journal import Journal
from .optimizer_fit import fit_recordings, FitOptions, windows_to_fit
from .result import Identification, in_words, LearnedNoise, provenance_of, versions

_NANO = 1e9
# Between two calls of the display of the progress [s].
_SHOW_PERIOD = 0.2
# Messages that are read, then cut into frames, then used in updates: message by message, each of
# these steps finds the caches of the processor full of the others and takes 1.5 times as long.
_MESSAGES = 50


def identify(
    bags,
    config,
    output=None,
    *,
    merge=False,
    held_out=0.2,
    follow=None,
    force=False,
    show=None,
    trust_units=False,
    fit=None,
):
    """
    Return the `Identification` of a robot from recordings.

    bags: path of a rosbag2 recording, or of several, which continue one another in time; config:
    path of the settings, or a `Config`; output: folder for the result, None: nothing is written;
    merge: estimate from each recording independently, and join the posteriors at the end;
    held_out: share of each recording, at its end, that is predicted instead of used; follow:
    posterior file of a run whose frames are used again; force: replace the folder; show: called
    with a `Step` now and then; trust_units: accept units that look wrong; fit: name of an
    optimizer that fits windows of the recordings too, with settings: 'cma_es:population=32'.
    Raises an EstimatorError, with nothing written, where something is wrong.
    """
    config = config if isinstance(config, Config) else load_config(config)
    paths = [Path(bag) for bag in ([bags] if isinstance(bags, (str, Path)) else bags)]
    plan = None if follow is None else _plan_of(follow, config)
    chosen = None if fit is None else FitOptions.read(fit)
    options = Options(merge, held_out, plan, trust_units, chosen)
    options.require_possible(len(paths))
    digests = [digest_of(path) for path in paths]
    _require_different(paths, digests)
    choice = None
    if plan is None:
        config, choice = choose_estimator(config, paths[0], digests[0], trust_units)
    if output is None:
        result = Work(paths, digests, config, options, show=show).result()
        return replace(result, choice=choice)
    require_free(output, force)
    parts = digests, to_yaml(config), merge, held_out, _digest_of_plan(options.plan), versions()
    with Checkpoint(output, key_of(*parts)).held() as checkpoint:
        result = Work(paths, digests, config, options, checkpoint, show).result()
        result = replace(result, choice=choice)
        write_folder(result, output, checkpoint)
    return result


def _require_different(paths, digests):
    """Raise a DataError where two paths hold the same recording."""
    for number, digest in enumerate(digests):
        first = digests.index(digest)
        if first < number:
            raise DataError(
                f'{paths[number]}: is the same recording as {paths[first]}, and would count '
                'twice; leave one of them out'
            )


def _plan_of(path, config):
    """Return the `RecordedPlan` of the frames that a saved posterior has used."""
    posterior = load(path)
    if posterior.run is None:
        why = posterior.obstacle or 'is of several recordings, whose frames are of no one run'
        raise DataError(f'{path}: {why}')
    pipeline = Pipeline.from_config(config)
    pipeline.load(path)
    plan = pipeline.stream.recorded_plan
    # These had been cut, but not used, when it was saved.
    waiting = frozenset(frame.end_ns for frame in pipeline.waiting)
    return RecordedPlan(plan.bounds - waiting, plan.openings - waiting)


def _digest_of_plan(plan):
    if plan is None:
        return None
    return hashlib.sha256(repr(sorted(plan.bounds)).encode()).hexdigest()


@dataclass(frozen=True)
class Step:
    """
    The progress of an identification.

    bag: index of the recording, among `bags`; name: its name; seconds, length: of its data,
    processed and in all [s]; speed: seconds of data per second of processing; findings: at most
    a second of data old; remarks: sentences about the recording; events: a `Happening` for each
    so far; recordings: an `Opened` for each so far.
    """

    bag: int
    bags: int
    name: str
    seconds: float
    length: float
    speed: float
    findings: Findings
    remarks: tuple
    events: tuple = ()
    recordings: tuple = ()


@dataclass(frozen=True)
class Opened:
    """The name of a recording that is being read, and its begin by its own clock [ns]."""

    name: str
    begin_ns: int


@dataclass(frozen=True)
class Options:
    """
    How recordings are used, see `identify`.

    is_merged: independently, joined at the end; held_out: share of each that is predicted; plan:
    a `RecordedPlan` to follow, None: that of the config; is_trusting: accept all units; fit:
    `FitOptions` of a fit by an optimizer, None: there is none.
    """

    is_merged: bool = False
    held_out: float = 0.2
    plan: object = None
    is_trusting: bool = False
    fit: FitOptions | None = None

    def require_possible(self, count):
        """Raise a ConfigError where the options do not suit this number of recordings."""
        if not 0 <= self.held_out < 1:
            raise ConfigError(
                f'held_out: is {self.held_out:g}; give a share of each bag, at least 0, below 1'
            )
        if not count:
            raise ConfigError('bags: there is none; give at least one recording')
        if self.plan is not None and self.is_merged:
            raise ConfigError(
                'follow: frames of one run cannot be those of several; leave merge out'
            )


class Work:
    """Estimates from recordings, one after the other, with one pipeline."""

    def __init__(self, paths, digests, config, options, checkpoint=None, show=None):
        """
        Build the pipeline.

        digests: of the recordings at these paths; checkpoint: a `Checkpoint`, None: nothing is
        written; show: called with a `Step` now and then.
        """
        self._paths, self._digests, self._config = paths, digests, config
        self._options, self._checkpoint, self._show = options, checkpoint, show or (lambda _: None)
        self._pipeline = Pipeline.from_config(config, options.plan)
        if options.fit is not None:
            options.fit.require_possible(self._pipeline.problem)
        self._blank = self._pipeline.run()
        self._history, self._timings, self._journal = History(), Timings(), None
        # Of finished recordings: state of the feed and outcomes of samples; posteriors to join.
        self._done, self._before, self._posteriors = [], {}, []
        self._bags, self._windows, self._data, self._opened = [], [], 0.0, []
        # The frames of each recording that are held out, where torques are measured.
        self._frames_held_out = []
        # Those that are fitted by an optimizer.
        self._windows_to_fit = []
        self._began, self._begun_at, self._shown = time.monotonic(), None, 0.0

    def result(self):
        """Return the `Identification`."""
        if len(self._paths) > 1:
            self._require_usable()
        feed_state, end_ns = self._resume(), None
        for number, path in enumerate(self._paths):
            with BagReader(path) as bag:
                self._opened.append(Opened(bag.name, bag.begin_ns))
                feed = self._feed(bag, number, end_ns)
                end_ns = feed.end_ns
                if number < len(self._done):
                    feed.restore(self._done[number][0])
                else:
                    if feed_state:
                        feed.restore(feed_state)
                    self._take(feed, number)
                    feed_state = None
                self._bags.append(feed.described(self._done[number][1]))
                self._windows += self._held_out(feed, number)
                self._windows_to_fit += self._to_fit(feed)
        if not self._options.is_merged:
            require_fit(self._paths[-1], self._history, self._pipeline)
        return self._found()

    def _require_usable(self):
        """Check all recordings before the first is used, which may take hours."""
        end_ns = None
        for number, path in enumerate(self._paths):
            with BagReader(path) as bag:
                end_ns = self._feed(bag, number, end_ns).end_ns

    def _resume(self):
        """Continue from the checkpoint, if there is one; return the state of its feed or None."""
        if self._checkpoint is None:
            return None
        saved = self._checkpoint.read()
        size = saved[1]['journal'][0] if saved else 0
        parts = self._pipeline.problem, self._config, size
        self._journal = Journal(self._checkpoint.journal, *parts)
        if saved is None:
            return None
        run, known = saved
        self._pipeline.resume(run)
        self._journal.restore(known['journal'])
        self._history.restore(known['history'])
        self._done, self._before = list(known['done']), known['before']
        self._posteriors = self._checkpoint.posteriors(len(self._done))
        return known['feed']

    def _feed(self, bag, number, end_ns):
        """Return the `Feed` of a recording; end_ns: end of the one before, None without one."""
        share = self._options.held_out
        is_trusting = self._options.is_trusting
        feed = Feed(bag, self._digests[number], self._config, self._pipeline, share, is_trusting)
        if end_ns is not None and not self._options.is_merged and bag.begin_ns <= end_ns:
            raise DataError(
                f'{bag.path}: begins before the recording given before it ends; give them in '
                'order of time, or --merge where they are independent'
            )
        return feed

    def _take(self, feed, number):
        """Estimate from the rest of a recording."""
        is_last = self._options.is_merged or number == len(self._paths) - 1
        if feed.passed == 0 and self._options.is_merged:
            self._pipeline.resume(self._blank)
            self._history.begin()
        messages = feed.messages()
        self._timings.skip()
        while batch := list(islice(messages, _MESSAGES)):
            self._timings.add('reading')
            for time_ns in self._cut(batch):
                self._advance(number, time_ns)
            self._timings.add('estimating')
            self._look_up(feed, number, time_ns=batch[-1][0])
            self._timings.skip()
        if is_last and self._options.plan is None:
            while self._pipeline.next_frame(is_end=True):
                self._advance(number, feed.split_ns)
        self._data += (feed.split_ns - feed.bag.begin_ns) / _NANO
        health = _difference(self._pipeline.counts.table(), self._before)
        self._before = {} if self._options.is_merged else self._pipeline.counts.table()
        self._done.append((feed.snapshot(), health))
        if self._options.is_merged:
            require_fit(feed.bag.path, self._history, self._pipeline)
            self._posteriors.append(self._pipeline.posterior())
            if self._checkpoint:
                self._checkpoint.keep(self._posteriors)
        self._keep(None)

    def _cut(self, messages):
        """Push messages; return the time in the bag [ns] of every frame that they complete."""
        times = []
        for time_ns, decoded in messages:
            for name, each in decoded:
                self._pipeline.take(name, each)
            times += [time_ns] * self._pipeline.cut()
        return times

    def _advance(self, number, time_ns):
        """Update with the first frame that waits; time_ns: when it was complete, in the bag."""
        pipeline = self._pipeline
        pipeline.accept(pipeline.after(pipeline.progress, pipeline.waiting[0]))
        events, is_assessed = self._history.note(pipeline.progress, number)
        if self._journal:
            self._journal.note(pipeline.progress, events, is_assessed, time_ns)

    def _look_up(self, feed, number, time_ns):
        """Show the progress and write a checkpoint, each when it is due."""
        now = time.monotonic()
        if now - self._shown > _SHOW_PERIOD:
            self._shown = now
            seconds = (time_ns - feed.bag.begin_ns) / _NANO
            if self._begun_at is None:
                self._began, self._begun_at = now, self._data + seconds
            speed = (self._data + seconds - self._begun_at) / max(now - self._began, 1 / _NANO)
            length = (feed.split_ns - feed.bag.begin_ns) / _NANO
            where = number, len(self._paths), feed.bag.name, seconds, length, speed
            found = self._pipeline.latest_findings()
            remarks = *feed.bag.warnings, *feed.names_of_guesses()
            happenings = self._history.happenings(), tuple(self._opened)
            self._show(Step(*where, found, remarks, *happenings))
        if self._checkpoint and self._checkpoint.is_due:
            self._keep(feed)

    def _keep(self, feed):
        """Write a checkpoint; feed: of the present recording, None between two."""
        if self._checkpoint is None:
            return
        known = {
            'journal': self._journal.snapshot(),
            'history': self._history.snapshot(),
            'done': tuple(self._done),
            'before': self._before,
            'feed': feed.snapshot() if feed else None,
        }
        self._checkpoint.write(self._pipeline, known)

    def _held_out(self, feed, number):
        """Return the `Window`s of the held-out part of a recording."""
        if not self._options.held_out:
            return []
        problem = self._pipeline.problem
        make_stream = stream_maker(self._config, problem)
        if problem.torque is not None:
            self._frames_held_out.append(torque_frames(feed, make_stream))
        return windows_of(feed, number, make_stream, problem.knows_inputs)

    def _to_fit(self, feed):
        """Return the windows of a recording that are fitted by an optimizer."""
        options, problem = self._options.fit, self._pipeline.problem
        if options is None:
            return []
        most = math.ceil(options.windows / len(self._paths))
        make_stream = stream_maker(self._config, problem)
        return windows_to_fit(feed, options, most, make_stream, problem.knows_inputs)

    def _found(self):
        """Return the `Identification` from all recordings."""
        pipeline, problem, share = self._pipeline, self._pipeline.problem, self._options.held_out
        posterior = self._posterior()
        held_out = nothing_held_out(share)
        if share:
            held_out = self._predicted(posterior.mixture)
        if self._journal:
            self._journal.draw(
                posterior.mixture, pipeline.estimate().stamp_ns, self._bags[-1].split_ns
            )
            self._journal.flush()
        seconds = {**self._timings.seconds, 'data': self._data}
        return Identification(
            problem,
            posterior,
            posterior.findings,
            self._history.course(problem),
            self._history.happenings(),
            held_out,
            tuple(self._bags),
            provenance_of(pipeline, self._config),
            self._options.is_merged,
            seconds,
            LearnedNoise.of(problem, pipeline.state),
            why_still_fitting(pipeline.state),
            self._disagreement(),
            fit=self._fitted(posterior.mixture),
        )

    def _fitted(self, mixture):
        """Return the `OptimizerFit` beside a posterior, None where none is asked for."""
        options, seed = self._options.fit, self._config.estimator.seed
        if options is None:
            return None
        windows = self._windows_to_fit
        return fit_recordings(self._pipeline.problem, options, windows, mixture, seed)

    def _predicted(self, mixture):
        """Return the `HeldOut` of a posterior."""
        pipeline, config, share = self._pipeline, self._config, self._options.held_out
        found = predict_motion(pipeline, config, mixture, self._windows, share)
        if pipeline.problem.torque is None:
            return found
        known = mixture, pipeline.state.fit.noise, self._frames_held_out, config.samples.seed
        delay = pipeline.state.delay.applied
        return replace(found, torques=predict_torques(pipeline.problem, *known, delay))

    def _disagreement(self):
        """Return the squared difference of merged recordings over what their covariances claim."""
        if not self._options.is_merged:
            return 1.0
        first, mixtures = self._posteriors[0], [each.mixture for each in self._posteriors]
        return disagreement(mixtures, first.prior)

    def _posterior(self):
        """Return the `Posterior` of all recordings, with exact findings."""
        pipeline = self._pipeline
        if not self._options.is_merged:
            state = pipeline.state
            is_misfit = isinstance(state, BatchState) and state.is_astray
            findings = pipeline.findings(is_misfit=is_misfit)
            return replace(pipeline.posterior(), findings=findings)
        posterior = joined(self._posteriors)
        end_ns = max(recording.end_ns for recording in posterior.recordings)
        return replace(posterior, findings=find(pipeline.problem, posterior.mixture, end_ns))


def why_still_fitting(state):
    """Return why there was no switch from batch to filter, '' where there was one."""
    if not isinstance(state, BatchState) or state.mixture is None:
        return ''
    if state.is_astray:
        return 'nothing explains the motion within the noise of the sensors'
    if state.knowledge is not None:
        return 'after a gap too little has come to go on'
    if state.share:
        return 'several answers, or a curved one, fit'
    return 'the dynamics are not known well enough to be filtered'


def require_fit(path, history, pipeline):
    """Raise a DataError that says why, where a recording did not lead to any fit."""
    if history.has_fitted:
        return
    obstacle = pipeline.latest_findings().obstacle
    if Happened.AT_REST in history.happened:
        reason = 'the robot does not move, so nothing can be learnt; record it in motion'
    elif Happened.EFFORTS_UNKNOWN in history.happened or (obstacle and _has_no_efforts(pipeline)):
        reason = obstacle or 'efforts are unknown that the first fits need; see docs/samples.md'
    else:
        table = pipeline.counts.table()
        counts = '; '.join(f'{source}: {in_words(words)}' for source, words in table.items())
        unused = [name for name, words in table.items() if Status.USED.value not in words]
        few = f'{history.frames} frames are too few for a first fit'
        if unused and not history.frames:
            few = f'nothing of {" and of ".join(unused)} can be used'
        reason = (
            f'{few}; samples by what became of them: {counts or "none"}; docs/samples.md says '
            'what these words mean, and what helps'
        )
    raise DataError(f'{path}: {reason}')


def _has_no_efforts(pipeline):
    """Tell whether some source of efforts or wrenches had missing values in every message."""
    table = pipeline.counts.table()
    names = MEASURED_EFFORTS, COMMANDED_EFFORTS, *pipeline.problem.wrenches
    words = [table.get(name, {}) for name in names]
    return any(
        0 < each.get(Status.USED.value, 0) <= each.get(Status.MISSING_EFFORT.value, 0)
        for each in words
    )


def _difference(after, before):
    """Return the increase of counts: source -> {status in words: number}."""
    return {
        source: {
            word: number - before.get(source, {}).get(word, 0)
            for word, number in words.items()
            if number > before.get(source, {}).get(word, 0)
        }
        for source, words in after.items()
    }
