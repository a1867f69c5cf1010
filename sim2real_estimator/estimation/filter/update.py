"""
One frame in the filter of a Gaussian mixture, from prediction to pruning.

`filter_frame` is the whole of it, stage by stage. Every component of the mixture is an extended
Kalman filter in square-root form over z = (state, parameters). `measurement_update` advances it by
one frame; where unknown forces act on the robot, `fixed_lag_update` does, which smooths the last
frames again with each new one. The order of the stages is:

1. leave out samples of sensors that are known to be faulty,
2. linearize about the frame's beginning, update the state there, weigh the components by evidence,
   predict to the end of the frame, and let the parameters drift,
3. gate: leave out sensors that no notable component can explain, or a single outlier,
4. compare the last frames with what noise explains, to detect a change of the robot,
5. attribute a change to a faulty sensor if the others see none,
6. prune components of no weight and merge those that have become the same.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ...records import Status, UpdateReport
from ...reported_events import Happened, SensorRight, SensorWrong
from ..changes.detection import (
    bias_score,
    BiasScore,
    DetectorState,
    FrameFit,
    since,
    with_frame,
)
from ..drift import STILL, walk
from ..gaussian import log_normalized, predict
from ..mixture import distances, distinct, Mixture
from ..noise import (
    is_measured,
    measure_with_scales,
    padding_evidence,
    standardised,
)
from .gating import implausible_sensors, reject, still_faulty, without
from .smoother import linearize_window, Smoother, Trajectories, with_input_noise

# Standard deviations of its innovation beyond which a row is counted as a surprise.
SURPRISE = 4.0
# Frames that are smoothed again where disturbances act but no joint is driven: an impulse leaves
# velocities less known than those at which friction reverses, and only so many frames later is it
# known how that went.
_LAG_OF_DISTURBED = 2
# A sensor of which no more samples than this were rejected may be off because the robot has
# changed: change isolation gets them back.
_NEWLY_REJECTED = 2


@dataclass(frozen=True)
class FixedLagWindow:
    """
    The last frames of a fixed-lag smoother, which the next frame smooths again.

    known: the `Mixture` before them; trajectories: about which they were linearized last; steps:
    of the filter over them, kept where the weights of rows are constant, else empty.
    """

    known: Mixture
    frames: tuple
    trajectories: Trajectories
    steps: tuple = ()

    @staticmethod
    def begun(mixture):
        """Return the window of a smoother that begins with a mixture."""
        return FixedLagWindow(mixture, (), Trajectories(mixture.points[None], mixture.means))

    def pick(self, which, log_weights):
        """Return some of the components, with log weights [K] of all."""
        known = replace(self.known, log_weights=log_weights).pick(which)
        steps = tuple(step.pick(which) for step in self.steps)
        return FixedLagWindow(known, self.frames, self.trajectories.pick(which), steps)


@dataclass(frozen=True)
class Step:
    """
    The result of one measurement update.

    mixture: the posterior at the frame's end; misfit: twice the cost of the frame's rows under the
    heaviest component, chi-squared where the noise is normal; rows: their number; surprising [m]:
    which rows are off by more than `SURPRISE` standard deviations of their innovation; score: of a
    bias in position, None where the noise expects outliers; log_evidence: of the rows; lag: the
    window of a fixed-lag smoother, None of a filter.
    """

    mixture: Mixture
    misfit: float
    rows: int
    surprising: np.ndarray
    score: BiasScore | None
    log_evidence: float
    lag: FixedLagWindow | None = None

    @property
    def surprises(self):
        """The number of surprising rows."""
        return int(self.surprising.sum())

    def fit(self, frame):
        """Return the `FrameFit` of the frame for the change detector."""
        return FrameFit(frame.seconds, self.misfit, self.rows, self.surprises, self.score)

    def pruned(self, prune, merge):
        """Return the step with its components pruned and merged."""
        kept, log_weights = prune_and_merge(self.mixture, prune, merge)
        if len(kept) == self.mixture.size:
            return self
        lag = self.lag
        if lag is not None:
            # Before the window, too, the survivor of two equal components gets both weights.
            gains = log_weights - self.mixture.log_weights
            lag = lag.pick(kept, lag.known.log_weights + gains)
        mixture = replace(self.mixture, log_weights=log_weights).pick(kept)
        return replace(self, mixture=mixture, lag=lag)


@dataclass(frozen=True)
class FrameOutcome:
    """
    The result of one frame.

    step: `Step`, None where nothing finite can be computed; recent: `RecentFrame`s of the last
    frames; detection: of the change detector; events: to be reported; faulty: `FaultySensor`s;
    left_out: of samples, as in an `UpdateReport`; is_changed: whether noise does not explain the
    last frames; is_blind: whether faulty sensors have hidden the motion for too long.
    """

    step: Step | None
    recent: tuple
    detection: DetectorState
    events: tuple
    faulty: tuple
    left_out: tuple
    is_changed: bool = False
    is_blind: bool = False

    @property
    def report(self):
        """The `UpdateReport`, of a batch that begins anew where there is no step."""
        if self.step is None:
            return UpdateReport('batch', events=self.events, left_out=self.left_out)
        fit = self.step.misfit, self.step.rows
        return UpdateReport('filter', *fit, self.events, left_out=self.left_out)

    @property
    def newly_rejected(self):
        """The faulty sensors whose rejected samples may be the beginning of a change."""
        few = [each for each in self.faulty if each.number <= _NEWLY_REJECTED or each.is_blind]
        return [each for each in few if not each.is_new]


def filter_frame(problem, state, frame, settings):
    """
    Return the `FrameOutcome` of a frame.

    state: `FilterState`; settings: of the estimator (noise, detector, drifts, lag, prune, merge).
    """
    whole, detection, detector = frame, state.detection, settings.detector

    # 1. Sensors that are known to be faulty.
    frame, faulty = still_faulty(problem, state.mixture, state.wrong, frame)
    names = {each.sensor for each in faulty}
    events = tuple(
        SensorRight(each.sensor)
        for each in state.wrong
        if each.number > 1 and each.sensor not in names
    )

    # 2. Linearization, measurement update, evidence, prediction to the end of the frame and drift
    # of every component.
    step = update_components(problem, state, frame, settings)

    # 3. Gates. First sensors that contradict the prediction however hard the robot was pushed.
    status, rejected = Status.OUTLIER, Happened.OUTLIER
    if step is None:
        status, rejected = Status.UPDATE_REFUSED, Happened.UPDATE_REFUSED
    if step is None or detector.is_far_off(step.fit(frame)):
        implausible = implausible_sensors(problem, state.mixture, (frame,))
        if implausible:
            faulty = (*faulty, *reject(frame, implausible))
            frame, events = without(frame, implausible), (*events, rejected)
            step = update_components(problem, state, frame, settings)
    before = {each.sensor: each.number for each in state.wrong}
    events += tuple(
        SensorWrong(each.sensor)
        for each in faulty
        if each.number >= 2 > before.get(each.sensor, 0) and not each.is_new
    )
    # The first rejected sample of a sensor may be an outlier as well as the beginning of a fault.
    first = {each.sensor: status for each in faulty if each.number == 1}
    left_out = _left_out(whole, frame, first)
    # Then a single outlier: the motion goes on without the frame's samples. Should it be the
    # beginning of a change, `recent` has them.
    measured, bare = step, replace(frame, samples=())
    is_outlier = step is not None and _is_outlier(problem, detection, step, frame, settings)
    if step is None:
        frame, events, left_out = bare, (*events, Happened.UPDATE_REFUSED), ()
        step = measured = update_components(problem, state, bare, settings)
    elif is_outlier:
        events, left_out = (*events, Happened.OUTLIER), ()
        step = update_components(problem, state, bare, settings)
    if step is None:
        return FrameOutcome(None, (), detection, events, faulty, left_out)

    # 4. Change detection.
    if is_outlier:
        detection = detector.pass_over(detection, frame.seconds)
    else:
        detection = detector.remember(detection, step.fit(frame))
    recent = with_frame(state.recent, frame, state.mixture, measured.log_evidence)
    outcome = FrameOutcome(step, recent, detection, events, faulty, left_out)

    # 5. If it is a faulty sensor that has changed, the last frames are filtered without it.
    is_changed = detector.has_changed(detection, settings.noise.expects_outliers)
    refiltered = _refiltered(problem, state, outcome, settings) if is_changed else None
    if refiltered is not None:
        outcome, is_changed = refiltered, False
    is_blind = any(each.is_blind for each in outcome.faulty)
    if is_blind or is_changed:
        return replace(outcome, is_changed=True, is_blind=is_blind)

    # 6. Pruning and merging.
    return replace(outcome, step=outcome.step.pruned(settings.prune, settings.merge))


def update_components(problem, state, frame, settings):
    """Return the `Step` of all components of a filter by a frame, None if it is not finite."""
    drift = settings.drifts.since(state.begun_ns)
    if state.lag is None:
        return measurement_update(problem, state.mixture, frame, settings.noise, drift)
    depth = settings.lag if problem.has_unknown_inputs else min(settings.lag, _LAG_OF_DISTURBED)
    return fixed_lag_update(problem, state.lag, frame, settings.noise, depth, drift)


def measurement_update(problem, mixture, frame, noise, drift=STILL):
    """
    Return the `Step` of an extended Kalman filter by a frame, None if it is not finite.

    The samples of the frame are compared with the prediction from its beginning, and the update is
    of the state there; the state is then advanced to the frame's end.
    """
    # Input noise: unknown efforts that act within the frame widen the prior of its beginning.
    roots = with_input_noise(problem, mixture.roots, frame)
    # Linearize motion and samples about every component's mean.
    begin, noises = (mixture.points, mixture.means), mixture.noises
    found = problem.linearize(*begin, (frame,), mixture.disturbances)
    # Update mean, square root of the covariance, and scales of the noise.
    sensors = None if noises is None else problem.row_noises((frame,))
    with np.errstate(all='ignore'):
        found, update, cost, noises, log_scale = measure_with_scales(
            roots, found, noise, noises, sensors
        )
    # Weigh the components by the evidence of the rows.
    log_weights = mixture.log_weights + update.log_evidence - log_scale
    # Advance to the frame's end, with process noise and the drift of the parameters.
    size = problem.tangent_size
    moves = (found.transition @ update.step[..., None])[..., 0]
    ends = problem.retract(found.ends, moves.T)
    after = Mixture(
        log_normalized(log_weights),
        ends,
        mixture.means + update.step[:, size:].T,
        predict(
            update.root,
            found.transition,
            problem.process_noise(
                (frame,), mixture.disturbances, mixture.means, (mixture.points, ends)
            )[0],
            walk(problem, drift, frame.start_ns, frame.end_ns),
        ),
        mixture.disturbances,
        noises,
    )
    if not after.is_finite:
        return None
    # The heaviest component says how well the frame fits.
    best = after.heaviest()
    residual, slope = found.residual[best], found.slope[best]
    rows = is_measured(residual, slope)
    surprising, score = _innovations(problem, residual, update.seen[best], slope, noise)
    log_evidence = np.logaddexp.reduce(log_weights) + padding_evidence(rows, noise)
    misfit, count = float(cost[best]), int(rows.sum())
    return Step(after, misfit, count, surprising, score, float(log_evidence))


def fixed_lag_update(problem, lag, frame, noise, depth, drift=STILL):
    """
    Return the `Step` of a fixed-lag smoother by a frame, None if it is not finite.

    lag: `FixedLagWindow`. One Gauss-Newton iteration moves the trajectories through the last
    `depth` frames, about which all of them are linearized again; a frame older than that becomes
    part of what is known before the window.
    """
    frames, known = (*lag.frames, frame), lag.known
    smoother = Smoother(problem, frames, noise, known, drift)
    # Linearize about trajectories that one iteration has moved, and filter the window again.
    trajectories = _iterated(problem, lag, frame, smoother)
    steps = smoother.forward(trajectories, known.noises, is_final=True)
    # Weigh the components by the evidence of all frames in the window.
    weights = known.log_weights + np.cumsum([step.log_evidence for step in steps], 0)
    mixture = smoother.mixture(trajectories, steps, -1, weights[-1])
    if not mixture.is_finite:
        return None
    # The heaviest component says how well the newest frame fits.
    heaviest = mixture.heaviest()
    last, before = steps[-1], steps[-2].root_on if len(steps) > 1 else known.roots
    residual, slope = last.found.residual[heaviest], last.found.slope[heaviest]
    fit = _innovations(problem, residual, slope @ before[heaviest], slope, noise)
    after, earlier = weights[-1], weights[-2] if len(weights) > 1 else known.log_weights
    # Frames side by side are padded to as many rows as the longest.
    padding = padding_evidence(last.is_row, noise)[heaviest]
    log_evidence = np.logaddexp.reduce(after) - np.logaddexp.reduce(earlier) + padding
    # The oldest frame leaves the window.
    if len(frames) > depth:
        known = smoother.mixture(trajectories, steps, 0, weights[0])
        frames, steps = frames[1:], steps[1:]
        trajectories = Trajectories(trajectories.points[1:], trajectories.parameters)
    return Step(
        mixture,
        float(last.cost[heaviest]),
        int(last.rows[heaviest]),
        *fit,
        float(log_evidence),
        FixedLagWindow(known, frames, trajectories, tuple(steps) if smoother.is_plain else ()),
    )


def _iterated(problem, lag, frame, smoother):
    """Return the `Trajectories` of a window on to a new frame's end, after one iteration."""
    trajectories, known = lag.trajectories, lag.known
    at = trajectories.points[-1:], trajectories.parameters, (frame,), known.disturbances
    new = linearize_window(problem, *at)
    trajectories = Trajectories(
        np.concatenate([trajectories.points, new.ends[None]]), trajectories.parameters
    )
    is_known = smoother.is_plain and len(lag.steps) == len(lag.frames)
    before, found = (lag.steps, [new]) if is_known else ((), None)
    steps = smoother.forward(trajectories, known.noises, before=before, found=found)
    return smoother.moved(trajectories, smoother.backward(steps))


def _innovations(problem, residual, seen, slope, noise):
    """
    Return (which rows [m] are surprising, the `BiasScore` or None where outliers are expected).

    residual [m]: of one component; seen [m, n]: slope times root; slope [m, n].
    """
    surprising = np.abs(standardised(residual, seen)) > SURPRISE
    if noise.expects_outliers:
        return surprising, None
    return surprising, bias_score(residual, seen, slope[:, : problem.position_count])


def _is_outlier(problem, detection, step, frame, settings):
    """Tell whether a frame fits as badly as only one bad sample does, where none is expected."""
    if settings.noise.expects_outliers or not step.surprises:
        return False
    samples = problem.row_samples(frame)
    bad = len(np.unique(samples[step.surprising[: len(samples)]]))
    return settings.detector.is_outlier(detection, step.fit(frame), bad)


def _left_out(whole, frame, first):
    """
    Return the samples of a whole frame that are missing in a frame, as in an `UpdateReport`.

    first: sensor -> `Status` of its samples where they are the first to be rejected.
    """
    missing = Counter(sample.sensor for sample in whole.samples)
    missing.subtract(sample.sensor for sample in frame.samples)
    return tuple(
        (name, first.get(name, Status.SENSOR_WRONG).value, number)
        for name, number in missing.items()
        if number
    )


def _refiltered(problem, state, outcome, settings):
    """
    Return the `FrameOutcome` of the last frames without a sensor that turns out to be faulty.

    None where no sensor is, or the others show a change as well.
    """
    # Those that were tested: no earlier one showed it.
    fits = outcome.detection.fits
    begin = since(outcome.recent, sum(fit.seconds for fit in fits), len(fits))
    before, last = outcome.recent[:begin], outcome.recent[begin:]
    known = last[0].mixture
    lag = None if state.lag is None else FixedLagWindow.begun(known)
    begun = replace(state, mixture=known, lag=lag, recent=before, wrong=outcome.faulty)
    frames = tuple(each.frame for each in last)
    found = filter_without_faulty(problem, begun, frames, settings)
    if found is None:
        return None
    left_out = (*outcome.left_out, *found.left_out)
    return replace(found, events=(*outcome.events, *found.events), left_out=left_out)


def filter_without_faulty(problem, state, frames, settings):
    """
    Return the `FrameOutcome` of frames from a state on, without the sensors found to be faulty.

    None where no sensor is, no other is left, or the others show a change as well.
    """
    faulty_names = implausible_sensors(problem, state.mixture, frames)
    if not faulty_names or not any(without(frame, faulty_names).samples for frame in frames):
        return None
    detection, recent, faulty = replace(state.detection, fits=()), state.recent, state.wrong
    detector, step = settings.detector, None
    for whole in frames:
        faulty, frame = reject(whole, faulty_names, faulty), without(whole, faulty_names)
        step = update_components(problem, state, frame, settings)
        if step is None:
            return None
        detection = detector.remember(detection, step.fit(frame))
        if detector.has_changed(detection, settings.noise.expects_outliers):
            return None
        recent = with_frame(recent, frame, state.mixture, step.log_evidence)
        state = replace(state, mixture=step.mixture, lag=step.lag)
    numbers = Counter(
        sample.sensor
        for frame in frames
        for sample in frame.samples
        if sample.sensor in faulty_names
    )
    left_out = tuple((name, Status.SENSOR_WRONG.value, number) for name, number in numbers.items())
    events = tuple(SensorWrong(name) for name in faulty_names)
    return FrameOutcome(step, recent, detection, events, faulty, left_out)


def prune_and_merge(mixture, prune, merge):
    """
    Return (indices of the components that stay [n], log weights [K] of all).

    Components of a weight below `prune` go. Of components within a squared Mahalanobis distance of
    `merge` the heaviest stays, with the weights of all.
    """
    log_weights = mixture.log_weights.copy()
    if mixture.size == 1:
        return np.zeros(1, dtype=int), log_weights
    order = np.argsort(-log_weights, kind='stable')
    order = [k for k in order if log_weights[k] > np.log(prune)]
    informations = np.linalg.inv(mixture.parameter_covariances())
    squared = distances(mixture.means, informations)
    same_hypothesis = mixture.disturbances.same
    kept = distinct(order, squared, merge, same_hypothesis)
    for index in order:
        if index not in kept:
            same = [k for k in kept if same_hypothesis[k, index]]
            nearest = same[int(np.argmin(squared[same, index]))]
            log_weights[nearest] = np.logaddexp(log_weights[nearest], log_weights[index])
    return np.array(kept), log_weights
