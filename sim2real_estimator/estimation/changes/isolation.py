"""
What has changed, where something has: evidence decides among hypotheses.

A change happened at the beginning of one of the last frames. A smoother for which all may have
jumped finds the course of the motion, and about it a filter tells how probable the frames are
under each hypothesis. The best of these are then looked into with smoothers of their own.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import chdtri

from ..filter.settling import Trajectories
from ..filter.smoother import Smoother
from ..filter.update import is_finite, measurement_update
from ..gaussian import log_normalized
from ..mixture import Mixture
from .change_evidence import change_evidence
from .hypotheses import (
    all_at_once,
    disturbed,
    EVERYTHING,
    hypotheses,
    Hypothesis,
    Memory,
    NOTHING,
    released,
)

# A misfit that noise exceeds so seldom belongs to a hypothesis that does not explain it.
_IMPROBABLE = 1e-6
_FEW_PASSES, _PASSES = 8, 15
# Of the instants at which a change may have been, so many are looked into, unless they are less
# probable by so much of log evidence; the last are asked first.
_BEGINS, _MARGIN, _RECENT = 4, 20.0, 6
# So many pairs of a hypothesis and an instant have smoothers of their own, within that margin.
_EXAMINED = 6


@dataclass(frozen=True)
class Past:
    """
    A frame that was taken in a moment ago.

    mixture: known before it, None where that has been forgotten; log_evidence: how probable it
    was, by that.
    """

    frame: object
    mixture: Mixture | None
    log_evidence: float


@dataclass(frozen=True)
class IsolatedChange:
    """
    The most probable `Hypothesis`.

    probability: among all; fits: whether it explains the frames; begin: of which `Past` it
    happened; course: since then, nearly; None where there is none that the robot may have.
    """

    hypothesis: Hypothesis
    probability: float
    fits: bool
    begin: int
    course: Trajectories | None

    @property
    def is_everything(self):
        """Whether nothing of what was known is of use any more."""
        return self.hypothesis.name == EVERYTHING

    @property
    def is_nothing(self):
        """Whether the robot is what it was, and only what disturbs it is not."""
        return self.hypothesis.name == NOTHING


@dataclass(frozen=True)
class CarriedOn:
    """
    What is known now by an `IsolatedChange`.

    mixture: after the last frame; trajectories: since the change, of its components, None where
    some of them were lost.
    """

    isolated: IsolatedChange
    mixture: Mixture
    trajectories: Trajectories | None


@dataclass(frozen=True)
class Isolation:
    """
    Frames with a change somewhere among them.

    past: of the last frames before it was noticed, in order, the first with its mixture; frames:
    those since; noise, drift: as of the `Smoother`.
    """

    problem: object
    past: tuple
    frames: tuple
    noise: object
    drift: float

    def explain(self, memories, scales):
        """
        Return the `IsolatedChange`.

        memories: what was known before earlier changes; scales: of disturbances that the filter
        may reckon with.
        """
        jumps, others = hypotheses(self.problem, self.past[0].mixture, memories, scales)
        trajectories = self._likely(
            all_at_once(jumps, others[-1].scale), [m.mean for m in memories]
        )
        if not trajectories:
            # No motion at all fits the frames.
            return IsolatedChange(others[-1], 0.0, False, 0, None)
        each, begins = [*jumps, *others], list(trajectories)
        names = np.array([hypothesis.name for hypothesis in each])
        # No kind is more probable for coming in several scales.
        prior = -np.log([(names == name).sum() for name in names])
        screened = {
            k: self._screened(k, jumps, others, course) for k, course in trajectories.items()
        }
        evidence, fits, trajectories = self._examined(screened, each, prior)
        weights = np.exp(log_normalized(evidence.ravel())).reshape(evidence.shape)
        totals = {name: float(weights[:, names == name].sum()) for name in dict.fromkeys(names)}
        best = max(totals, key=totals.get)
        begin, which = _top(np.where(names == best, evidence, -np.inf), 1)[0]
        told = totals[best], bool(fits[begin, which]), begins[begin], trajectories[begin, which]
        return IsolatedChange(each[which], *told)

    def _likely(self, hypothesis, remembered):
        """
        Return begin -> `Trajectories`, by a hypothesis of all, where a change probably happened.

        remembered: coordinates [p] from which else the way there may be shorter.
        """
        begins = [k for k, each in enumerate(self.past) if each.mixture is not None]
        found = self._at_begins(begins[-_RECENT:], hypothesis, remembered)
        if self._most_probable(found)[:1] in ([], begins[-_RECENT:][:1]):
            # It was noticed late.
            found |= self._at_begins(begins[:-_RECENT], hypothesis, remembered)
        return {k: found[k][1] for k in sorted(self._most_probable(found))}

    def _at_begins(self, begins, hypothesis, remembered):
        """Return begin -> (log evidence, `Trajectories`) by a hypothesis."""
        found, last = {}, None
        each = [hypothesis] * (1 + len(remembered))
        for begin in begins:
            found[begin] = _best(self._smoothed(begin, each, starts=remembered))
            if last is not None and not np.isfinite(found[begin][0]):
                # The end of a course from a little before leads somewhere.
                course = found[last][1]
                course = replace(course, points=course.points[begin - last :])
                found[begin] = _best(self._smoothed(begin, [hypothesis], course))
            last = begin if np.isfinite(found[begin][0]) else last
        return found

    def _most_probable(self, found):
        """Return the begins, of begin -> (log evidence, ...), that are the most probable."""
        evidence = {k: self._before(k) + each[0] for k, each in found.items()}
        evidence = {k: value for k, value in evidence.items() if np.isfinite(value)}
        order = sorted(evidence, key=evidence.get, reverse=True)[:_BEGINS]
        return [k for k in order if evidence[k] >= evidence[order[0]] - _MARGIN]

    def _before(self, begin):
        """Return how probable the frames before a begin were."""
        return sum(each.log_evidence for each in self.past[:begin])

    def _window(self, begin):
        """Return the frames from a begin on."""
        return (*(each.frame for each in self.past[begin:]), *self.frames)

    def _smoother(self, begin, each, known):
        """Return the `Smoother` of `_window` with a column of a mixture for every hypothesis."""
        frames = self._window(begin)
        known = released(self.problem, known, each, self.problem.impulse(frames[0]))
        return Smoother(self.problem, frames, self.noise, known, self.drift)

    def _screened(self, begin, jumps, others, course):
        """Return (log evidence [hypotheses], `Trajectories`) of all, linearised about a course."""
        columns = [replace(others[-1], name=''), *others]
        smoother = self._smoother(begin, columns, self._heaviest(begin, len(columns)))
        steps = smoother.forward(course.pick([0] * len(columns)), smoother.known.noises)
        plain, *rest = self._before(begin) + smoother.log_evidence(steps)
        told = change_evidence(steps, len(self.problem.labels))
        told = [told.of(each.jump.root) for each in jumps]
        mean = smoother.known.means[:, 0]
        instead = [mean if each.memory is None else each.memory.mean for each in others[:-1]]
        parameters = [*(mean + jump for _, _, jump in told), *instead, course.parameters[:, 0]]
        return np.array([*(plain + gain for gain, _, _ in told), *rest]), Trajectories(
            np.repeat(course.points, len(parameters), 2), np.stack(parameters, 1)
        )

    def _examined(self, seen, each, prior):
        """
        Return (log evidence, whether it explains all frames, pair -> `Trajectories` of one).

        Both [begins, hypotheses], of which a pair is one. seen: begin -> what was `_screened`; the
        best are smoothed, the others taken to be as much better or worse as they seemed to be.
        """
        begins = list(seen)
        screened = np.array([evidence for evidence, _ in seen.values()]) + prior
        screened = np.where(np.isfinite(screened), screened, -np.inf)
        evidence, fits = np.full(screened.shape, -np.inf), np.zeros(screened.shape, dtype=bool)
        pairs = _top(screened, _EXAMINED)
        pairs = [pair for pair in pairs if screened[pair] >= screened[pairs[0]] - _MARGIN]
        # What is remembered is so narrow that about another course it seems worse than it is.
        remembered = [k for k, hypothesis in enumerate(each) if hypothesis.memory is not None]
        pairs = list(dict.fromkeys([*pairs, *product(range(len(begins)), remembered)]))
        trajectories = {
            (row, k): seen[begin][1].pick([k])
            for row, begin in enumerate(begins)
            for k in range(len(each))
        }
        for row in {row for row, _ in pairs}:
            columns = [column for other, column in pairs if other == row]
            begin, course = begins[row], seen[begins[row]][1].pick(columns)
            found = self._smoothed(begin, [each[column] for column in columns], course)
            trajectories |= {(row, c): found.trajectories.pick([k]) for k, c in enumerate(columns)}
            told = self._before(begin) + found.log_evidence + prior[columns]
            evidence[row, columns] = np.where(np.isfinite(told), told, -np.inf)
            is_small = found.misfits < chdtri(found.rows, _IMPROBABLE)
            fits[row, columns] = self.noise.expects_outliers | is_small
        best = _top(evidence, 1)[0]
        shift = evidence[best] - screened[best]
        is_open = np.isneginf(evidence)
        is_open[tuple(np.transpose(pairs))] = False
        return np.where(is_open, screened + shift, evidence), fits, trajectories

    def _heaviest(self, begin, count):
        """Return what was known at a begin as a mixture of its heaviest component, repeated."""
        known = self.past[begin].mixture
        known = known.pick([known.heaviest()] * count)
        return replace(known, log_weights=np.zeros(count))

    def _smoothed(self, begin, each, trajectories=None, starts=()):
        """
        Return what is `Smoothed` under every hypothesis.

        trajectories: to begin with, if known; starts: coordinates [p] from which the last of them
        begin where not.
        """
        smoother = self._smoother(begin, each, self._heaviest(begin, len(each)))
        if trajectories is None:
            trajectories = self._guessed(smoother)
            parameters = trajectories.parameters.copy()
            for column, start in enumerate(starts, len(each) - len(starts)):
                parameters[:, column] = start
            trajectories = replace(trajectories, parameters=parameters)
        return smoother.run(trajectories, _FEW_PASSES)

    def _guessed(self, smoother):
        """Return `Trajectories` to begin with, as the samples have them."""
        course = self.problem.first_trajectory(smoother.frames)
        guess = np.repeat(course[..., None], smoother.known.size, 2)
        return Trajectories(guess, smoother.known.means)

    def carried_on(self, isolated, scales, before=None):
        """
        Return what is known now by an isolated, as `CarriedOn`, None where it explains nothing.

        Every component of what was known before the change goes on by the isolated; the
        heaviest by every one of the scales of disturbances where these alone have changed.
        before: what was `CarriedOn` to a frame before the last.
        """
        known, chosen = self.past[isolated.begin].mixture, isolated.hypothesis
        each = [replace(chosen, scale=scale) for scale in known.scales]
        if isolated.is_nothing:
            each = disturbed(self.problem, known.scales[known.heaviest()], scales)
            known = known.pick([known.heaviest()] * len(each))
        smoother = self._smoother(isolated.begin, each, known)
        trajectories = self._led_on(before, smoother.frames) if before else None
        found = smoother.run(trajectories or self._followed(isolated.course, smoother), _PASSES)
        sound = np.flatnonzero(np.isfinite(found.log_evidence))
        if not len(sound):
            return None
        mixture = found.mixture.pick(sound)
        best = sound[mixture.heaviest()]
        is_small = found.misfits[best] < chdtri(found.rows[best], _IMPROBABLE)
        if not (is_finite(mixture) and (self.noise.expects_outliers or is_small)):
            return None
        return CarriedOn(
            isolated, mixture, found.trajectories if len(sound) == len(each) else None
        )

    def _followed(self, course, smoother):
        """Return a course for every column, where it ends on as the samples have it."""
        guess = self._guessed(smoother).points[len(course.points) :]
        course = course.pick([0] * smoother.known.size)
        return replace(course, points=np.concatenate([course.points, guess]))

    def _led_on(self, before, frames):
        """Return the `Trajectories` of what was `CarriedOn`, led on to the last frame."""
        if before.trajectories is None:
            return None
        mixture, points = before.mixture, [*before.trajectories.points]
        for frame in frames[len(points) - 1 :]:
            step = measurement_update(self.problem, mixture, frame, self.noise, self.drift)
            if step is None:
                return None
            mixture = step.mixture
            points.append(mixture.points)
        return Trajectories(np.array(points), mixture.means)


def known_before(past, isolated):
    """Return the `Memory` of what was known before a change, by the `Past`s it is among."""
    chosen = isolated.hypothesis
    known = past[isolated.begin].mixture.spread()
    return Memory(chosen.name, chosen.parameters, *known, chosen.jump)


def _best(found):
    """Return (log evidence, `Trajectories`) of the most probable of what is `Smoothed`."""
    evidence = np.where(np.isfinite(found.log_evidence), found.log_evidence, -np.inf)
    best = int(np.argmax(evidence))
    return float(evidence[best]), found.trajectories.pick([best])


def _top(values, count):
    """Return the places (row, column) of the largest values [rows, columns], best first."""
    order = np.argsort(-values, axis=None, kind='stable')[:count]
    return [tuple(int(k) for k in np.unravel_index(each, values.shape)) for each in order]
