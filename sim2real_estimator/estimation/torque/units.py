"""
Whether a wrong unit, sign or mount of the robot explains torques better than its description.

Least squares finds a robot for nearly any torques: one that weighs twice as much if torques are in
other units, one with strange centres of mass if the base is mounted in another way. Such a robot
is far from the description. So a few hypotheses are tested on the newest rows: a factor on
torques, another direction of gravity, or positions in degrees. Each one is judged by the posterior
density at its mode, that is by the distance of the robot from the description and by the
residuals.

Evidence, which has the volume of the posterior as a factor, is not used: with priors as wide as
those of masses it favours the robot that weighs twice as much.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...reported_events import (
    MisfitOver,
    MisfitTest,
    PositionsInDegrees,
    WrongMount,
    WrongSign,
    WrongUnit,
)
from ..protocol import Gaussian
from .regression import not_negative, Rows

# Nats by which a hypothesis has to exceed that of no misfit to be reported: in general; that all
# torques are too large; that those of one joint are; that any are too small; and to persist. Arms
# in MuJoCo that are as described reach 2, 2, 8 and 4, a UR10e, whose friction and rotors differ
# from the guesses, 4, 4, 6 and 8; a fresh arm that is heavier than described reaches 9 in the
# second: not solved.
_REPORTED, _OF_ALL_JOINTS, _OF_ONE_JOINT, _OF_TOO_SMALL, _HOLDS = 6.0, 8.0, 10.0, 15.0, 3.0
# A factor between one over this and this is no wrong unit, with the second number for all torques:
# a robot may be that much heavier than described. Gravity that is turned by less than the third
# number is no other mount [rad]. A factor has to be better than the last one.
_FACTOR, _FACTOR_OF_ALL, _TURNED, _USUAL = 1.5, 1.8, 0.5, 1.25
# Robots stand, hang or are mounted on walls: any other direction has to be better by so many nats.
_OBLIQUE = 6.0
# Factors that are tried on all torques, and on those of a joint. A factor that is better than none
# by so many nats is refined by these multiples.
_OF_ALL = np.geomspace(0.01, 100.0, 11)
_OF_ONE = np.array([0.1, 0.4, 2.0, 5.0, -1.0])
_WORTH_REFINING, _FINER = 2.0, np.array([0.63, 0.8, 1.0, 1.25, 1.6])
# So many correlated rows count as one. The prior of the noise is this part of the effort limit,
# and counts for so many rows.
_INFLATION, _NOISE, _PRIOR_ROWS = 12.0, 1e-3, 1.0
# Priors of friction, offsets and rotors, which are guesses, are so many times as wide: the wrist
# of a UR10e has four times as much of all, which looks like a wrong unit. A payload that is not
# described is no misfit, if it explains as much on one of so many last links: an arm that holds 3
# kg looks as if all torques were ten times too large.
_GUESS_FACTOR, _LINKS = 4.0, 2
# Rows that are used, at most; steps in which noise and parameters are found in turn.
_ROWS, _STEPS = 150, 3
# Directions about which rows have less information than this, relative to the prior, stay as
# described; and the part of the prior by which they may move to keep masses positive.
_LEAST_INFORMATION, _STIFF = 0.03, 1e-3
# No joint turns so far, unless positions are in degrees [rad].
_FARTHEST = 4 * np.pi
# A joint is tested only if its rows have the information of so many independent ones.
_LEAST_ROWS = 2.0
# The test is done after so many seconds of rows, again whenever there are so many times as many,
# and no more after so many unless there is a misfit.
_FIRST, _AGAIN, _LAST = 0.4, 1.35, 30.0


@dataclass(frozen=True)
class MisfitHypothesis:
    """
    A wrong unit, sign or mount, and the evidence for it.

    kind: 'unit', 'sign', 'gravity' or 'degrees'; joint: number of the joint concerned, None: all;
    factor: measured torques over those of the description; upward [3]: direction against gravity
    in axes of the description's base; evidence: by how many nats it is better than no misfit.
    """

    kind: str
    joint: int | None = None
    factor: float = 1.0
    upward: tuple = ()
    evidence: float = 0.0

    @property
    def threshold(self):
        """From which evidence on it is reported."""
        if self.kind != 'unit':
            return _REPORTED
        more = _OF_ALL_JOINTS if self.joint is None else _OF_ONE_JOINT
        return more if self.factor > 1 else _OF_TOO_SMALL

    def is_of(self, other):
        """Tell whether another `MisfitHypothesis` is about the same."""
        return other is not None and (self.kind, self.joint) == (other.kind, other.joint)


@dataclass(frozen=True)
class MisfitWatch:
    """The misfit that holds, or None; tested: seconds of rows at the last test."""

    misfit: MisfitHypothesis | None = None
    tested: float = 0.0

    def is_due(self, seconds):
        """Tell whether a test is due, after so many seconds of rows."""
        is_late = seconds >= max(_FIRST, _AGAIN * self.tested)
        return is_late and (seconds <= _LAST or self.misfit is not None)

    def after(self, found, seconds):
        """
        Return (`MisfitWatch` after a test, whether another misfit holds than before).

        found: `MisfitHypothesis` or None, by `find_misfit` at so many seconds of rows.
        """
        before, known = self.misfit, found
        if found is not None and found.evidence < found.threshold:
            known = found if found.is_of(before) and found.evidence >= _HOLDS else None
        is_new = not known.is_of(before) if known is not None else before is not None
        return replace(self, misfit=known, tested=seconds), is_new


def with_misfit(problem, state, report):
    """Return the `TorqueState` with a wrong unit or mount, reported when it begins and ends."""
    if not (state.is_undisturbed and state.recent and state.misfits.is_due(state.used)):
        return state
    rows = Rows.joined([rows for _, rows in state.recent])
    found = find_misfit(problem.torque, problem.prior, rows, np.concatenate(state.visited, 1))
    misfits, is_news = state.misfits.after(found, state.used)
    if is_news:
        known = misfits.misfit
        event = MisfitOver(MisfitTest.TORQUES)
        if known is not None:
            event = event_of(known, problem.torque.joints)
        report.events += (event,)
    return replace(state, misfits=misfits)


def event_of(misfit, joints):
    """Return the event of a `MisfitHypothesis`; joints: names of all."""
    if misfit.kind == 'gravity':
        return WrongMount(misfit.upward)
    if misfit.kind == 'degrees':
        return PositionsInDegrees()
    joint = None if misfit.joint is None else joints[misfit.joint]
    return {'unit': WrongUnit, 'sign': WrongSign}[misfit.kind](misfit.factor, joint)


def find_misfit(model, prior, rows, visited):
    """
    Return the likeliest `MisfitHypothesis`, None where none is better than no misfit.

    model: as of `regression.fit`, with `weights` and `columns` as `TorqueModel` has them;
    prior: `Gaussian` of the coordinates before any data; rows: the newest `Rows`; visited
    [3, K, n]: motion at them.
    """
    found, none = candidates(model, prior, rows, visited)
    best = max(found, key=lambda each: each.evidence)
    if best.evidence < _HOLDS:
        return None
    less = _gain_of_payloads(model, prior, rows, visited, none)
    best = replace(best, evidence=best.evidence - less)
    return best if best.evidence >= _HOLDS else None


def candidates(model, prior, rows, visited):
    """
    Return (every `MisfitHypothesis` that is tried, score of no misfit).

    Arguments: as of `find_misfit`.
    """
    case = _Case(model, prior, rows, visited)
    sums = case.summed(case.columns)
    none = case.explained(sums)
    found = [*_of_factors(case, sums, none), *_of_gravity(case), *_of_degrees(case)]
    return [replace(each, evidence=each.evidence - none.score) for each in found], none.score


@dataclass(frozen=True)
class _Explained:
    """
    score: logarithm of the density at the mode [nats]; variance [J]: of rows there.

    inverse [p, p]: covariance in deviations of the prior.
    """

    score: float
    variance: np.ndarray
    inverse: np.ndarray


class _Case:
    """The rows of a test, and the robot as described."""

    def __init__(self, model, prior, rows, visited):
        """Take the arguments of `find_misfit`."""
        which = slice(None, None, max(-(-rows.count // _ROWS), 1))
        root = prior.root.copy()
        root[model.guessed] *= _GUESS_FACTOR
        prior = Gaussian(prior.mean, root)
        self.model, self.prior = model, prior
        self.standard, slope = model.standard(prior.mean)
        self.slope = slope @ prior.root
        self.scales = model.scales(prior.mean)[0]
        self.number = rows.shares.sum(0) / _INFLATION
        rows = rows.part(which)
        self.visited, self.roots = visited[:, which], np.sqrt(rows.shares)
        self.columns, self.torques = self.scales[:, None] * rows.columns, rows.torques
        # The rows that are used stand for all, and several correlated ones for one.
        self.share = self.number / np.maximum(rows.shares.sum(0), 1e-9)
        self.least = (_NOISE * np.asarray(model.limits)) ** 2

    def summed(self, columns):
        """
        Return the sums of columns [K, J, P] in deviations of the prior from the description.

        (their squares [J, p, p]; with torques and with predictions [J, p]; squares of torques,
        those with predictions, and of predictions [J]).
        """
        by = (columns @ self.slope).transpose(1, 0, 2)
        measured, predicted = self.torques.T, (columns @ self.standard).T
        sides = (np.einsum('jkp,jk->jp', by, each) for each in (measured, predicted))
        products = (measured, measured), (measured, predicted), (predicted, predicted)
        squares = ((one * other).sum(1) for one, other in products)
        return (by.transpose(0, 2, 1) @ by, *sides, *squares)

    def explained(self, sums, factors=1.0, variance=None, steps=_STEPS, basis=None):
        """
        Return the `_Explained` of sums, torques being so many times too large.

        factors: [J] or one; variance [J]: of rows, to begin with; steps: see `_STEPS`; basis
        [p, r]: of the directions in which the robot may differ, None: all.
        """
        to_coordinates = self.prior.root if basis is None else self.prior.root @ basis
        factors = np.broadcast_to(factors, len(self.number))
        gram, measured, predicted, square, product, known = sums
        # Predictions are multiplied by the factor, deviations from the description by at most one.
        # Otherwise a large factor would win because it can follow any error of the model.
        widths = np.clip(factors, -1.0, 1.0)
        gram = gram * (widths**2)[:, None, None]
        side = widths[:, None] * (measured - factors[:, None] * predicted)
        square = square - 2 * factors * product + factors**2 * known
        freedom = _PRIOR_ROWS + self.number
        if variance is None:
            variance = (_PRIOR_ROWS * self.least + self.share * square) / freedom
        for _ in range(steps):
            weights = self.share / variance
            matrix = np.tensordot(weights, gram, 1)
            matrix[np.diag_indices_from(matrix)] += 1.0
            inverse = np.linalg.inv(matrix)
            shift = inverse @ (weights @ side)
            mean = self.prior.mean + to_coordinates @ shift
            if (mean[self.model.positive] < 0).any():
                # Unobservable directions can move, but hardly.
                root = to_coordinates @ np.linalg.cholesky(inverse)
                root = np.hstack([root, _STIFF * self.prior.root])
                mean = not_negative(mean, root, self.model.positive)
                shift = np.linalg.solve(self.prior.root, mean - self.prior.mean)
                shift = shift if basis is None else basis.T @ shift
            left = square + (gram @ shift - 2 * side) @ shift
            unsure = np.einsum('jpq,pq->j', gram, inverse)
            left = np.maximum(left, 0.0) + unsure
            variance = (_PRIOR_ROWS * self.least + self.share * left) / freedom
        score = -0.5 * float(freedom @ np.log(variance) + shift @ shift)
        return _Explained(score, variance, inverse)


def _gain_of_payloads(model, prior, rows, visited, none):
    """
    Return by how many nats a payload explains torques better than none does, at least 0.

    none: score of no payload.
    """
    jumps, best = [jump for jump in model.model_changes() if jump.body is not None][:_LINKS], none
    for jump in jumps:
        root = np.linalg.qr(np.hstack([prior.root, jump.root]).T, 'r').T
        case = _Case(model, Gaussian(prior.mean, root), rows, visited)
        best = max(best, case.explained(case.summed(case.columns)).score)
    return best - none


def _of_factors(case, sums, none):
    """Yield a `MisfitHypothesis` for a factor on all torques, and on those of each joint."""
    joints = len(case.number)
    # In the observable directions only: of many joints these are few.
    left, axes = np.linalg.eigh(none.inverse)
    basis = axes[:, left < 1 / (1 + _LEAST_INFORMATION)]
    gram, measured, predicted, *squares = sums
    sums = basis.T @ gram @ basis, measured @ basis, predicted @ basis, *squares
    every = np.ones(joints, dtype=bool)
    factor, score = _best_factor(case, (sums, basis), none, every, _OF_ALL)
    yield MisfitHypothesis('unit', None, factor, evidence=score)
    for joint in np.flatnonzero(case.number >= _LEAST_ROWS):
        which = np.arange(joints) == joint
        for kind, tried in (('unit', _OF_ONE[_OF_ONE > 0]), ('sign', _OF_ONE[_OF_ONE < 0])):
            factor, score = _best_factor(case, (sums, basis), none, which, tried)
            yield MisfitHypothesis(kind, int(joint), factor, evidence=score)


def _best_factor(case, sums, none, which, tried):
    """
    Return (factor, score) of some joints [J], the best of those that are tried and about it.

    sums: (as of `_Case.summed`, basis [p, r] that they are of).
    """
    sums, basis = sums

    def score(factor, **options):
        factors = np.where(which, factor, 1.0)
        return case.explained(sums, factors, basis=basis, **options).score

    scores = [score(factor, variance=none.variance, steps=1) for factor in tried]
    best = int(np.argmax(scores))
    if scores[best] < none.score + _WORTH_REFINING:
        return float(tried[best]), scores[best]
    least = _FACTOR_OF_ALL if which.all() else _FACTOR
    finer = [f for f in _FINER * tried[best] if f < 0 or not 1 / least <= f <= least]
    if not finer:
        return float(tried[best]), -np.inf
    scores = [score(factor) for factor in finer]
    best = int(np.argmax(scores))
    if finer[best] < 0:
        return float(finer[best]), scores[best]
    # A robot that is somewhat heavier than described is no misfit.
    usual = max(score(factor) for factor in (1 / _USUAL, _USUAL))
    return float(finer[best]), scores[best] - max(usual - none.score, 0.0)


def _of_gravity(case):
    """Yield a `MisfitHypothesis` for each way in which the base may be mounted instead."""
    weights = case.model.weights(case.visited[0])
    weights = weights * (case.scales[:, None] * case.roots[..., None])
    rest = case.columns - weights[2]
    # The direction of gravity by least squares if all bodies are as described, and the nearest of
    # the usual mounts.
    effects = (weights @ case.standard).transpose(1, 2, 0)
    noise = 1 / np.sqrt(case.least + (case.torques**2).mean(0))
    by = (noise[:, None] * effects).reshape(-1, 3)
    side = (noise * (case.torques - rest @ case.standard)).ravel()
    found = np.linalg.lstsq(by, side, rcond=None)[0]
    size = np.linalg.norm(found)
    axes = np.concatenate([np.eye(3)[:2], -np.eye(3)])
    tried = [axes[np.argmin([((side - by @ axis) ** 2).sum() for axis in axes])]]
    if size > 0:
        tried.append(found / size)
    for upward, less in zip(tried, (0.0, _OBLIQUE)):
        if np.arccos(np.clip(upward[2], -1, 1)) > _TURNED:
            sums = case.summed(rest + np.tensordot(upward, weights, 1))
            score = case.explained(sums).score
            upward = tuple(upward.tolist())
            yield MisfitHypothesis('gravity', upward=upward, evidence=score - less)


def _of_degrees(case):
    """Yield the `MisfitHypothesis` of positions in degrees if they are too large for radians."""
    if np.abs(case.visited[0]).max(initial=0.0) < _FARTHEST:
        return
    motion = np.radians(case.visited)
    columns = case.model.columns(*motion, case.standard) * case.roots[..., None]
    score = case.explained(case.summed(case.scales[:, None] * columns)).score
    yield MisfitHypothesis('degrees', evidence=score)
