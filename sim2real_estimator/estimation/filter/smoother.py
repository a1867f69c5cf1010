"""
An iterated smoother: Gauss-Newton on all states of a window and the parameters.

The motion of a robot on which unknown forces act does not follow from its first state and its
parameters, and a force is known only some time after it has acted. So the state at every frame's
bound is an unknown. One iteration linearizes all frames about a trajectory, runs a square-root
filter forward over them and a smoother backward (Bryson and Frazier), and moves the trajectory to
the result; `converge` repeats this until it stays. Trajectories begin at the samples and not at a
simulation, so that nothing can diverge. K columns, of other components or hypotheses, are
computed side by side.
"""

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..drift import STILL, walk
from ..gaussian import log_normalized, measure, predict
from ..mixture import Mixture
from ..noise import (
    is_measured,
    measure_with_scales,
    NoiseScales,
    NormalNoise,
    padding_evidence,
    whitened,
)
from ..protocol import Linearization

# Rounds of fits where the noise of sensors is unknown: each begins with the scales of the last.
_ROUNDS = 2
# A step longer than this many prior standard deviations of a parameter is shortened.
_LONGEST_STEP = 3.0
# A trajectory has converged when its last move is below this part of the posterior's deviations.
_CONVERGED = 0.03
# A step was too long if the misfit grew by more than this factor, and by one for every row.
_WORSE = 2.0
# So was a step if the next one returns by more than this part of it.
_BACK = 0.5


@dataclass(frozen=True)
class Trajectories:
    """K motions through a window: states [H + 1, nx, K] at frame bounds, parameters [p, K]."""

    points: np.ndarray
    parameters: np.ndarray

    def pick(self, which):
        """Return some of them."""
        return Trajectories(self.points[..., which], self.parameters[:, which])

    def where(self, which, others):
        """Return these trajectories where `which` [K] is true, else the others."""
        return Trajectories(
            np.where(which, self.points, others.points),
            np.where(which, self.parameters, others.parameters),
        )


@dataclass(frozen=True)
class Smoothed:
    """
    The result of a smoother.

    trajectories: K `Trajectories`; mixture: of K components at the window's end, weighted by
    evidence; log_evidence [K]; misfits, rows [K]: sum of the squared normalized innovations, and
    their number; is_converged [K].
    """

    trajectories: Trajectories
    mixture: Mixture
    log_evidence: np.ndarray
    misfits: np.ndarray
    rows: np.ndarray
    is_converged: np.ndarray


@dataclass(frozen=True)
class FrameStep:
    """
    A filter's step over one frame, in deviations z = (state, parameters) from a trajectory.

    found: the frame's `Linearization`, its rows weighted; left [K, m]: residuals after the update;
    mean [K, n], root [K, n, n]: the posterior after the update; mean_on, root_on: the prediction
    at the frame's end; log_evidence, cost [K]: of the rows, the cost twice; noises: `NoiseScales`
    after the update, if any.
    """

    found: Linearization
    left: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    mean_on: np.ndarray
    root_on: np.ndarray
    log_evidence: np.ndarray
    cost: np.ndarray
    noises: NoiseScales | None

    def pick(self, which):
        """Return that of some of the columns."""
        noises = None if self.noises is None else self.noises.pick(which)
        parts = self.left, self.mean, self.root, self.mean_on, self.root_on
        parts = *parts, self.log_evidence, self.cost
        return FrameStep(self.found.pick(which), *(part[which] for part in parts), noises)

    @cached_property
    def is_row(self):
        """Which rows are measurements and no padding, [K, m]."""
        return is_measured(self.found.residual, self.found.slope)

    @property
    def rows(self):
        """The number of measured rows, [K]."""
        return self.is_row.sum(-1)


@dataclass(frozen=True)
class FilterSummary:
    """
    The result of a filter about K trajectories.

    log_evidence [K]; misfits, rows [K]: sum of the squared normalized innovations, and their
    number; roots [K, n, n]: of the covariance at the window's end.
    """

    log_evidence: np.ndarray
    misfits: np.ndarray
    rows: np.ndarray
    roots: np.ndarray

    def pick(self, which):
        """Return that of some of the columns."""
        return FilterSummary(*(part[which] for part in vars(self).values()))


class Smoother:
    """Gauss-Newton on the states of a window and the parameters, for K columns side by side."""

    def __init__(self, problem, frames, noise, known, drift=STILL):
        """
        Take the frames of a window, the noise density and the prior `Mixture` at the beginning.

        drift: the `Drift` of the parameters.
        """
        self.problem, self.frames, self.noise, self.known = problem, frames, noise, known
        self.size = problem.tangent_size
        self._deviations = np.linalg.norm(known.parameter_roots(), axis=-1).T
        self._walks = [walk(problem, drift, f.start_ns, f.end_ns) for f in frames]
        self._sensors = None if known.noises is None else problem.row_noises(frames)

    def run(self, trajectories, passes=15, hopeless=np.inf):
        """
        Return the `Smoothed` result of iterations that begin at K trajectories.

        hopeless: columns whose log evidence is lower than the best by more than this stop early.
        """
        noises = self.known.noises
        if self.is_plain:
            return self._result(*converge(self, trajectories, None, passes, hopeless))
        for _ in range(1 if noises is None else _ROUNDS):
            trajectories, _, is_converged = converge(
                self, trajectories, noises, passes, is_summary_needed=False
            )
            steps = self.forward(trajectories, noises, is_final=True)
            if noises is not None:
                shapes = noises.shapes
                noises = NoiseScales(shapes, shapes * steps[-1].noises.variances)
        return self._result(trajectories, self.summary(steps), is_converged, steps[-1].noises)

    def pick(self, which):
        """Return the smoother of some of the columns, with the weights that they had among all."""
        known = replace(self.known.pick(which), log_weights=self.known.log_weights[which])
        other = copy(self)
        other.known, other._deviations = known, self._deviations[:, which]
        return other

    @property
    def is_plain(self):
        """Whether the weights of rows are constant: the noise is normal and of known scale."""
        return self.known.noises is None and isinstance(self.noise, NormalNoise)

    @np.errstate(all='ignore')
    def forward(self, trajectories, noises, is_final=False, before=(), found=None):
        """
        Return the `FrameStep`s of a filter over all frames, linearized about trajectories.

        is_final: whether the evidence is asked for and not the next step of Gauss-Newton: rows
        whose noise is not normal are then weighted by their innovations; before: the steps over
        the first frames, and found: the `Linearization`s of the others, where these are known.
        """
        mean, root, result = self._beginning(trajectories), self.known.roots, [*before]
        if before:
            mean, root = before[-1].mean_on, before[-1].root_on
        frames, walks = self.frames[len(before) :], self._walks[len(before) :]
        at = self.known.disturbances, trajectories.parameters, trajectories.points[len(before) :]
        process_noise = self.problem.process_noise(frames, *at)
        found_of_all = self._linearized(trajectories) if found is None else found
        for k, found in enumerate(found_of_all):
            root = with_input_noise(self.problem, root, frames[k])
            update_by = self._update_by_innovation if is_final else self._update_by_residual
            found, missed, update, cost, noises = update_by(found, mean, root, noises)
            left = missed + (found.slope @ update.step[..., None])[..., 0]
            after = mean + update.step
            mean = self._on(trajectories, len(result), found, after)
            root = predict(update.root, found.transition, process_noise[k], walks[k])
            rest = update.log_evidence, cost, noises
            result.append(FrameStep(found, left, after, update.root, mean, root, *rest))
        return result

    def _update_by_residual(self, found, mean, root, noises):
        """
        Return (frame, innovation, `Update`, cost, noises), rows weighted at the trajectory.

        These are the weights of a Gauss-Newton step.
        """
        if noises is not None:
            found, _ = whitened(noises, self._sensors, found)
        scale = np.sqrt(self.noise.weight(found.residual))
        slope = scale[..., None] * found.slope
        missed = scale * found.residual + (slope @ mean[..., None])[..., 0]
        update = measure(root, missed, slope, self.size)
        return replace(found, slope=slope), missed, update, update.nis, noises

    def _update_by_innovation(self, found, mean, root, noises):
        """Return the same with rows weighted by their innovation, and the noises updated."""
        found, update, cost, noises, log_scale = measure_with_scales(
            root, found, self.noise, noises, self._sensors, mean
        )
        update = replace(update, log_evidence=update.log_evidence - log_scale)
        return found, found.residual, update, cost, noises

    def _linearized(self, trajectories):
        """Return the `Linearization` of every frame about the trajectories at its start."""
        given = trajectories.points, trajectories.parameters, self.frames, self.known.disturbances
        return split_by_frame(
            linearize_window(self.problem, *given), trajectories.points.shape[-1]
        )

    def _beginning(self, trajectories):
        """Return the prior mean as deviations [K, n] from the trajectories' first states."""
        state = self.problem.local(trajectories.points[0], self.known.points)
        return np.concatenate([state, self.known.means - trajectories.parameters]).T

    def _on(self, trajectories, k, found, mean):
        """Return the predicted deviations [K, n] at the end of frame k from those at its start."""
        gap = self.problem.local(trajectories.points[k + 1], found.ends).T
        state = (found.transition @ mean[..., None])[..., 0] + gap
        return np.concatenate([state, mean[:, self.size :]], 1)

    @np.errstate(all='ignore')
    def backward(self, steps):
        """
        Return the most probable deviations [H + 1, K, n] given all samples.

        The form of Bryson and Frazier (1963): unlike in that of Rauch, Tung and Striebel only
        vectors go back, the scores of later frames, and no covariance is inverted.
        """
        score, result = np.zeros_like(steps[-1].mean_on), [steps[-1].mean_on]
        for step in reversed(steps):
            transition, slope = step.found.transition, step.found.slope
            by_state = np.swapaxes(transition, 1, 2) @ score[:, : self.size, None]
            score = np.concatenate(
                [by_state[:, : self.size, 0], by_state[:, self.size :, 0] + score[:, self.size :]],
                1,
            )
            back = _covariance_times(step.root, score)
            result.append(step.mean - back)
            seen = (slope @ back[..., None])[..., 0]
            score = score + (np.swapaxes(slope, 1, 2) @ (step.left - seen)[..., None])[..., 0]
        return np.array(result[::-1])

    def in_deviations(self, moves, steps):
        """Return moves of the parameters [K, p] in standard deviations of the posterior."""
        deviations = np.linalg.norm(steps[-1].root, axis=-1)[:, self.size :]
        return moves[-1][:, self.size :] / deviations

    def moved(self, trajectories, moves, part=1.0):
        """Return trajectories moved by a part of deviations, at most by the longest step."""
        wished = moves[-1][:, self.size :].T / self._deviations
        part = part * np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(wished).max(0), 1e-300))
        parameters = trajectories.parameters + part * moves[-1][:, self.size :].T
        states = part * np.moveaxis(moves[..., : self.size], 2, 1)
        points = [self.problem.retract(p, m) for p, m in zip(trajectories.points, states)]
        return Trajectories(np.array(points), parameters)

    def mixture(self, trajectories, steps, k, log_weights):
        """Return the `Mixture` after the k-th of the steps."""
        step, points = steps[k], trajectories.points[1:][k]
        return Mixture(
            log_normalized(log_weights),
            self.problem.retract(points, step.mean_on[:, : self.size].T),
            trajectories.parameters + step.mean_on[:, self.size :].T,
            step.root_on,
            self.known.disturbances,
            step.noises,
        )

    def log_evidence(self, steps):
        """
        Return the log evidence of the frames and the prior weights, [K].

        In its innovations form: the sum of log densities of each frame's rows given the frames
        before, by the same update as in a filter. Of a linear problem it is exact, and the same as
        that of a batch by Laplace's approximation (`Fits.log_evidence`), but for a constant.
        """
        return self.known.log_weights + sum(
            step.log_evidence + padding_evidence(step.is_row, self.noise) for step in steps
        )

    def summary(self, steps):
        """Return the `FilterSummary` of the filter's steps."""
        return FilterSummary(
            self.log_evidence(steps),
            sum(step.cost for step in steps),
            sum(step.rows for step in steps),
            steps[-1].root_on,
        )

    def _result(self, trajectories, summary, is_converged, noises=None):
        """Return the `Smoothed` result of trajectories and the filter about them."""
        log_weights = np.where(np.isfinite(summary.log_evidence), summary.log_evidence, -np.inf)
        mixture = Mixture(
            log_normalized(log_weights),
            trajectories.points[-1],
            trajectories.parameters,
            summary.roots,
            self.known.disturbances,
            noises,
        )
        return Smoothed(
            trajectories, mixture, log_weights, summary.misfits, summary.rows, is_converged
        )


def _covariance_times(root, vectors):
    """Return S S' v for roots S [K, n, n] and vectors v [K, n]."""
    return (root @ (np.swapaxes(root, 1, 2) @ vectors[..., None]))[..., 0]


def converge(smoother, trajectories, noises, passes, hopeless=np.inf, is_summary_needed=True):
    """
    Return (`Trajectories` after at most `passes` iterations, `FilterSummary`, converged [K]).

    A column that has converged stops, with the summary of the point before its last, small move.
    A column also stops, once it has been moved, if its log evidence is lower than the best by more
    than `hopeless`. is_summary_needed: whether columns that have not converged after the last
    iteration are filtered once more, or get the summary of the point before it.
    """
    active, stopped = _ActiveColumns.begun(smoother, trajectories, noises), _StoppedColumns()
    best = -np.inf
    for number in range(passes):
        summary, is_accepted, is_converged = active.iterate()
        evidence = np.where(is_accepted, summary.log_evidence, -np.inf)
        best = max(best, evidence.max())
        stops = is_converged | (number > 0) & is_accepted & (evidence < best - hopeless)
        if stops.any():
            parts = active.places[stops], active.trajectories.pick(stops), summary.pick(stops)
            stopped.add(*parts, is_converged[stops])
            if stops.all():
                return stopped.all()
            active = active.pick(~stops)
    if is_summary_needed:
        steps = active.smoother.forward(active.trajectories, active.noises)
        summary = active.smoother.summary(steps)
    else:
        summary = summary.pick(~stops)
    is_converged = np.zeros(len(active.places), dtype=bool)
    stopped.add(active.places, active.trajectories, summary, is_converged)
    return stopped.all()


@dataclass
class _ActiveColumns:
    """
    Columns that have not converged.

    smoother: of these columns; places: their indices among all; origin: the trajectories at the
    last accepted step; limit: misfit beyond which a step was too long; moves: the Gauss-Newton
    step from the origin; part: the fraction of it to be taken next.
    """

    smoother: object
    noises: NoiseScales | None
    places: np.ndarray
    trajectories: Trajectories
    origin: Trajectories
    limit: np.ndarray
    moves: np.ndarray
    part: np.ndarray

    @staticmethod
    def begun(smoother, trajectories, noises):
        """Return all columns before the first iteration."""
        count, size = trajectories.parameters.shape[1], smoother.known.roots.shape[-1]
        moves = np.zeros((len(smoother.frames) + 1, count, size))
        still = np.full(count, np.inf), moves, np.ones(count)
        return _ActiveColumns(
            smoother, noises, np.arange(count), trajectories, trajectories, *still
        )

    def iterate(self):
        """
        Move the trajectories; return (`FilterSummary` before, accepted [K], converged [K]).

        A step that makes the frames fit much worse, or not at all, was too long (it may lead to
        bodies without mass, for one): half of it is tried, and at most twice that part in the next
        iteration. Where the next step returns, as it does across the edge of dry friction, it is
        cut by the secant rule to where the two steps add up to zero.
        """
        smoother = self.smoother
        steps = smoother.forward(self.trajectories, self.noises)
        summary = smoother.summary(steps)
        is_accepted = summary.misfits < self.limit
        self.limit = np.where(is_accepted, _WORSE * summary.misfits + summary.rows, self.limit)
        self.origin = self.trajectories.where(is_accepted, self.origin)
        before = self.moves
        self.moves = np.where(is_accepted[:, None], smoother.backward(steps), before)
        last, now = (smoother.in_deviations(each, steps) for each in (before, self.moves))
        back = -(last * now).sum(-1) / np.maximum((last**2).sum(-1), 1e-300)
        shorter = self.part / (1 + np.maximum(back, _BACK))
        on = np.where(back > _BACK, shorter, np.minimum(2 * self.part, 1.0))
        self.part = np.where(is_accepted, on, self.part / 2)
        self.trajectories = smoother.moved(self.origin, self.moves, self.part)
        return summary, is_accepted, is_accepted & (np.abs(now).max(-1) < _CONVERGED)

    def pick(self, which):
        """Return some of the columns."""
        return _ActiveColumns(
            self.smoother.pick(which),
            None if self.noises is None else self.noises.pick(which),
            self.places[which],
            self.trajectories.pick(which),
            self.origin.pick(which),
            self.limit[which],
            self.moves[:, which],
            self.part[which],
        )


@dataclass
class _StoppedColumns:
    """Columns that have stopped, in the order in which they did."""

    places: list = field(default_factory=list)
    trajectories: list = field(default_factory=list)
    summaries: list = field(default_factory=list)
    is_converged: list = field(default_factory=list)

    def add(self, places, trajectories, summary, is_converged):
        """Add some columns."""
        self.places.append(places)
        self.trajectories.append(trajectories)
        self.summaries.append(summary)
        self.is_converged.append(is_converged)

    def all(self):
        """Return (`Trajectories`, `FilterSummary`, is converged [K]) of all columns in order."""
        order = np.argsort(np.concatenate(self.places))
        points = np.concatenate([each.points for each in self.trajectories], 2)
        parameters = np.concatenate([each.parameters for each in self.trajectories], 1)
        trajectories = Trajectories(points, parameters).pick(order)
        summary = FilterSummary(
            *map(np.concatenate, zip(*(vars(each).values() for each in self.summaries)))
        )
        return trajectories, summary.pick(order), np.concatenate(self.is_converged)[order]


def with_input_noise(problem, roots, frame):
    """
    Return the roots [K, n, n] at a frame's beginning with the noise of unknown efforts in it.

    The efforts are taken to act at the frame's beginning, so that positions within it are
    uncertain as well. The process noise adds as much at its end, independently.
    """
    input_noise = problem.input_noise(frame)
    if not input_noise.any():
        return roots
    size = problem.tangent_size
    still = np.broadcast_to(np.eye(size, roots.shape[-1]), (len(roots), size, roots.shape[-1]))
    return predict(roots, still, input_noise)


def linearize_along(problem, states, parameters, frames, disturbances=None):
    """
    Return the `Linearization` of H frames along K trajectories, of H * K columns, frame by frame.

    states [H (+ 1), nx, K]: at the beginnings of frames; parameters [p, K]; disturbances:
    `Disturbances` of K columns, None where there are none.
    """
    count = parameters.shape[1]
    lanes = np.moveaxis(states[: len(frames)], 0, 1).reshape(states.shape[1], -1)
    repeated = [frame for frame in frames for _ in range(count)]
    each = None if disturbances is None else disturbances.tiled(len(frames))
    return problem.linearize(lanes, parameters, repeated, each)


def linearize_window(problem, states, parameters, frames, disturbances):
    """
    Return the same, with derivatives by parameters taken where no disturbance acts.

    An estimated disturbance must carry no more information about the parameters than noise does.
    With the derivatives at the disturbance, a lighter robot would need a smaller disturbance for
    the same motion, and fits would lead to a robot without inertia: the prior density of motions,
    which is lower for a lighter robot, is no part of a least squares cost.
    """
    if not (disturbances.sizes > 0).any():
        return linearize_along(problem, states, parameters, frames, disturbances)
    calm, count = states.copy(), len(frames) * len(disturbances)
    calm[:, -problem.disturbance_size :] = 0.0
    # In one call: for few columns most of the time is the overhead of a call.
    both = np.concatenate([states[: len(frames)], calm[: len(frames)]])
    found = linearize_along(problem, both, parameters, (*frames, *frames), disturbances)
    found, instead = found.pick(slice(count)), found.pick(slice(count, None))
    for moved, other in ((found.slope, instead.slope), (found.transition, instead.transition)):
        moved[..., problem.tangent_size :] = other[..., problem.tangent_size :]
    return found


def split_by_frame(found, count):
    """Return the `Linearization` of each frame from that of all, of `count` trajectories."""
    parts = [slice(k, k + count) for k in range(0, found.ends.shape[1], count)]
    return [
        Linearization(found.ends[:, s], found.transition[s], found.residual[s], found.slope[s])
        for s in parts
    ]
