"""
Filters that look back: for robots pushed by forces that nobody knows.

Such a motion does not follow from its beginning and the parameters, and what the forces were is
known only some time after. So the state at the end of every frame of a window is an unknown of its
own: frames are linearised about a course of the motion, a square-root filter runs forward over
them, a smoother back, and the course moves to what they find, until it stays (Gauss-Newton on all
states at once). Trajectories begin where the samples are, not where a simulation leads: there is
nothing to diverge.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..drift import STILL, walk
from ..gaussian import log_normalized, measure, predict
from ..linearized import by_frame, linearized_as_known
from ..mixture import Mixture
from ..noise_scales import learned, NoiseScales, whitened
from ..protocol import Linearization
from ..robust import NormalNoise
from .settling import FilterSummary, settle, Trajectories
from .update import is_row, pushed, take_rows, unmeasured

# Rounds of fits where the noise of sensors is unknown: each begins with what the last one found.
_ROUNDS = 2
# A step longer than this many deviations of what was known before is shortened.
_LONGEST_STEP = 3.0


@dataclass(frozen=True)
class Smoothed:
    """
    What smoothers found.

    trajectories: K `Trajectories`; mixture: of K components at the window's end, weighted by
    evidence; log_evidence [K]; misfits, rows [K]: sum of squares of what predictions missed by, in
    standard deviations, and of how many; is_converged [K]: whether the course stays.
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
    A filter's step over one frame, in deviations z = (state, parameters) from a course.

    found: the frame's `Linearization`, its rows weighed; left [K, m]: what is left of the rows;
    mean [K, n], root [K, n, n]: after them; mean_on, root_on: at the frame's end; log_evidence,
    cost [K]: of the rows, the cost twice; noises: `NoiseScales` after them, if any.
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
        """Which rows are of something measured, [K, m]."""
        return is_row(self.found.residual, self.found.slope)

    @property
    def rows(self):
        """How many rows there are, [K]."""
        return self.is_row.sum(-1)


class Smoother:
    """Gauss-Newton on the states of a window and the parameters, in K columns side by side."""

    def __init__(self, problem, frames, noise, known, drift=STILL):
        """
        Take the frames of a window, and the `Mixture` that was known at its beginning.

        drift: a `Drift`.
        """
        self.problem, self.frames, self.noise, self.known = problem, frames, noise, known
        self.size = problem.tangent_size
        self._deviations = np.linalg.norm(known.parameter_roots(), axis=-1).T
        self._walks = [walk(problem, drift, f.start_ns, f.end_ns) for f in frames]
        self._sensors = None if known.noises is None else problem.row_noises(frames)

    def run(self, trajectories, passes=15, hopeless=np.inf):
        """
        Return what is `Smoothed` from K trajectories to begin with.

        hopeless: columns whose evidence is less than the best by more than this are left alone.
        """
        noises = self.known.noises
        if self.is_plain:
            return self._described(*settle(self, trajectories, None, passes, hopeless))
        for _ in range(1 if noises is None else _ROUNDS):
            trajectories, _, is_converged = settle(self, trajectories, noises, passes, tells=False)
            steps = self.forward(trajectories, noises, is_final=True)
            if noises is not None:
                shapes = noises.shapes
                noises = NoiseScales(shapes, shapes * steps[-1].noises.variances)
        return self._described(trajectories, self.told(steps), is_converged, steps[-1].noises)

    def pick(self, which):
        """Return the smoother of some of the columns, whose weights stay what they are."""
        known = replace(self.known.pick(which), log_weights=self.known.log_weights[which])
        other = copy(self)
        other.known, other._deviations = known, self._deviations[:, which]
        return other

    @property
    def is_plain(self):
        """Whether a filter weighs rows the same wherever it goes: noise is normal, and known."""
        return self.known.noises is None and isinstance(self.noise, NormalNoise)

    @np.errstate(all='ignore')
    def forward(self, trajectories, noises, is_final=False, before=(), found=None):
        """
        Return the filter's steps over all frames, linearised about trajectories.

        is_final: whether they are to say how probable the samples are, not where to go: rows
        whose noise is not normal are then weighed by what the filter predicts; before: the steps
        over the first frames and found: the `Linearization`s of the others, where these are known.
        """
        mean, root, result = self._beginning(trajectories), self.known.roots, [*before]
        if before:
            mean, root = before[-1].mean_on, before[-1].root_on
        frames, walks = self.frames[len(before) :], self._walks[len(before) :]
        at = self.known.scales, trajectories.parameters, trajectories.points[len(before) :]
        floors = self.problem.floors(frames, *at)
        found_of_all = self._linearized(trajectories) if found is None else found
        for k, found in enumerate(found_of_all):
            root = pushed(self.problem, root, frames[k])
            take = self._judge if is_final else self._weigh
            found, missed, update, cost, noises = take(found, mean, root, noises)
            left = missed + (found.slope @ update.step[..., None])[..., 0]
            after = mean + update.step
            mean = self._on(trajectories, len(result), found, after)
            root = predict(update.root, found.transition, floors[k], walks[k])
            rest = update.log_evidence, cost, noises
            result.append(FrameStep(found, left, after, update.root, mean, root, *rest))
        return result

    def _weigh(self, found, mean, root, noises):
        """Return a frame, what it misses, the `Update` by it, its cost, and the noises."""
        if noises is not None:
            found, _ = whitened(noises, self._sensors, found)
        scale = np.sqrt(self.noise.weight(found.residual))
        slope = scale[..., None] * found.slope
        missed = scale * found.residual + (slope @ mean[..., None])[..., 0]
        update = measure(root, missed, slope, self.size)
        return replace(found, slope=slope), missed, update, update.nis, noises

    def _judge(self, found, mean, root, noises):
        """Return the same, rows weighed by what the filter predicts, and the noises learned."""
        log_scale = 0.0
        if noises is not None:
            found, log_scale = whitened(noises, self._sensors, found)
        missed = found.residual + (found.slope @ mean[..., None])[..., 0]
        found = replace(found, residual=missed)
        update, cost = take_rows(root, found, self.noise)
        if noises is not None:
            noises = learned(noises, self._sensors, found, update, self.noise)
            update = replace(update, log_evidence=update.log_evidence - log_scale)
        return found, missed, update, cost, noises

    def _linearized(self, trajectories):
        """Return the `Linearization` of every frame from the trajectories at its start."""
        given = trajectories.points, trajectories.parameters, self.frames, self.known.scales
        return by_frame(linearized_as_known(self.problem, *given), trajectories.points.shape[-1])

    def _beginning(self, trajectories):
        """Return the deviations [K, n] from trajectories of what was known before the window."""
        state = self.problem.local(trajectories.points[0], self.known.points)
        return np.concatenate([state, self.known.means - trajectories.parameters]).T

    def _on(self, trajectories, k, found, mean):
        """Return deviations at the end of frame k from those at its start."""
        gap = self.problem.local(trajectories.points[k + 1], found.ends).T
        state = (found.transition @ mean[..., None])[..., 0] + gap
        return np.concatenate([state, mean[:, self.size :]], 1)

    @np.errstate(all='ignore')
    def backward(self, steps):
        """
        Return the most probable deviations [H + 1, K, n], all samples considered.

        The form of Bryson and Frazier: only vectors go back, and no covariance is inverted.
        """
        pull, result = np.zeros_like(steps[-1].mean_on), [steps[-1].mean_on]
        for step in reversed(steps):
            transition, slope = step.found.transition, step.found.slope
            by_state = np.swapaxes(transition, 1, 2) @ pull[:, : self.size, None]
            pull = np.concatenate(
                [by_state[:, : self.size, 0], by_state[:, self.size :, 0] + pull[:, self.size :]],
                1,
            )
            back = _covariance_times(step.root, pull)
            result.append(step.mean - back)
            seen = (slope @ back[..., None])[..., 0]
            pull = pull + (np.swapaxes(slope, 1, 2) @ (step.left - seen)[..., None])[..., 0]
        return np.array(result[::-1])

    def in_deviations(self, moves, steps):
        """Return the moves [K, p] of the parameters in deviations of the posterior."""
        deviations = np.linalg.norm(steps[-1].root, axis=-1)[:, self.size :]
        return moves[-1][:, self.size :] / deviations

    def moved(self, trajectories, moves, part=1.0):
        """Return trajectories moved by a part of deviations, at most one longest step."""
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
            self.known.scales,
            step.noises,
        )

    def log_evidence(self, steps):
        """Return how probable columns and frames are, by the filter's steps, [K]."""
        return self.known.log_weights + sum(
            step.log_evidence + unmeasured(step.is_row, self.noise) for step in steps
        )

    def told(self, steps):
        """Return what is `FilterSummary` by the filter's steps."""
        return FilterSummary(
            self.log_evidence(steps),
            sum(step.cost for step in steps),
            sum(step.rows for step in steps),
            steps[-1].root_on,
        )

    def _described(self, trajectories, told, is_converged, noises=None):
        """Return trajectories as `Smoothed`, with all that a filter about them has told."""
        log_weights = np.where(np.isfinite(told.log_evidence), told.log_evidence, -np.inf)
        mixture = Mixture(
            log_normalized(log_weights),
            trajectories.points[-1],
            trajectories.parameters,
            told.roots,
            self.known.scales,
            noises,
        )
        return Smoothed(trajectories, mixture, log_weights, told.misfits, told.rows, is_converged)


def _covariance_times(root, vectors):
    """Return S S' v for roots S [K, n, n] and vectors v [K, n]."""
    return (root @ (np.swapaxes(root, 1, 2) @ vectors[..., None]))[..., 0]
