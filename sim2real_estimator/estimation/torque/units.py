"""
Whether a unit, a sign or the mount of the robot explains torques better than its description.

Least squares finds a robot for nearly any torques: one that weighs twice as much where torques are
in other units, one with strange centres of mass where the base is mounted in another way. Such a
robot is far from the description. So a few hypotheses are held against the rows at hand, each a
factor on torques, another direction of gravity, or positions in degrees: how far from the
description the robot would have to be under it, and what it leaves of the torques. It is believed
of the first one whose posterior density is that much higher at its mode.

Volumes of posteriors are not compared: with priors as wide as those of masses, evidence (the
marginal likelihood) is for the robot that weighs twice as much.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..misfits import FITS, MISFIT
from ..protocol import Gaussian
from .regression import not_negative, Rows

# By how many nats a hypothesis has to exceed none: to be said; that all torques are too large;
# that those of one joint are; that any are too small; and for as long as it holds. Arms in MuJoCo
# that are as described reach 2, 2, 8 and 4, a UR10e, whose friction and rotors are not as guessed,
# 4, 4, 6 and 8; of a fresh arm that is heavier than described the second is 9: not solved.
_SAID, _SAID_OF_ALL, _SAID_OF_ONE, _SAID_OF_LESS, _HOLDS = 6.0, 8.0, 10.0, 15.0, 3.0
# A factor is no unit's error if it is between one over this and this, of all torques if it is so
# of the second: a robot may weigh so many times what is described; nor is a gravity that is turned
# by less than that [rad] another mount; and a factor has to be better than this one.
_FACTOR, _FACTOR_OF_ALL, _TURNED, _USUAL = 1.5, 1.8, 0.5, 1.25
# Robots stand, hang or are on walls: any other direction has to be so much better.
_OBLIQUE = 6.0
# Factors that are tried of all torques, and of those of a joint; where one of them is better than
# none by so many nats those about it are, too.
_OF_ALL = np.geomspace(0.01, 100.0, 11)
_OF_ONE = np.array([0.1, 0.4, 2.0, 5.0, -1.0])
_WORTH_A_LOOK, _FINER = 2.0, np.array([0.63, 0.8, 1.0, 1.25, 1.6])
# So many rows that hang together count as one. Noise is so large a part of the limit for so many.
_INFLATION, _NOISE, _PRIOR_ROWS = 12.0, 1e-3, 1.0
# Friction, offsets and rotors may be so many times as far from what is guessed: the wrist of a
# UR10e has four times as much of all, which looks like a unit. A load that nobody has described is
# no misfit, where it explains as much, on one of so many links at the end: an arm that holds 3 kg
# looks as if all torques were ten times too large.
_GUESSED, _LINKS = 4.0, 2
# Rows that are looked at, at most; steps in which noise and parameters are found in turn.
_ROWS, _STEPS = 150, 3
# Directions of which rows say less than this, over the prior, stay as described.
_LEAST_INFORMATION, _STIFF = 0.03, 1e-3
# No joint turns so far, unless positions are in degrees [rad].
_FARTHEST = 4 * np.pi
# A joint is asked only if it has rows of so many independent ones.
_LEAST_ROWS = 2.0
# It is looked when rows are of so many seconds, and so many times as many; not after so many,
# unless something is wrong.
_FIRST, _AGAIN, _LAST = 0.4, 1.35, 30.0


@dataclass(frozen=True)
class Misfit:
    """
    What is wrong with a description or a unit.

    kind: 'unit', 'sign', 'gravity' or 'degrees'; joint: number of the one that it is about, None:
    all; factor: torques as measured over what the description predicts; upward [3]: direction
    against gravity in axes of the description's base; evidence: by how many nats it is better.
    """

    kind: str
    joint: int | None = None
    factor: float = 1.0
    upward: tuple = ()
    evidence: float = 0.0

    @property
    def threshold(self):
        """From which evidence on it is said."""
        if self.kind != 'unit':
            return _SAID
        more = _SAID_OF_ALL if self.joint is None else _SAID_OF_ONE
        return more if self.factor > 1 else _SAID_OF_LESS

    def is_of(self, other):
        """Tell whether another `Misfit` is about the same."""
        return other is not None and (self.kind, self.joint) == (other.kind, other.joint)


@dataclass(frozen=True)
class Watch:
    """What has been found so far: misfit, None where none holds; looked: seconds of rows then."""

    misfit: Misfit | None = None
    looked: float = 0.0

    def is_due(self, seconds):
        """Tell whether it is time to look, after so many seconds of rows."""
        is_late = seconds >= max(_FIRST, _AGAIN * self.looked)
        return is_late and (seconds <= _LAST or self.misfit is not None)

    def after(self, found, seconds):
        """
        Return (what is known after a look that found a `Misfit` or None, whether it is news).

        found: `look` at so many seconds of rows.
        """
        before, known = self.misfit, found
        if found is not None and found.evidence < found.threshold:
            known = found if found.is_of(before) and found.evidence >= _HOLDS else None
        is_new = not known.is_of(before) if known is not None else before is not None
        return replace(self, misfit=known, looked=seconds), is_new


def with_misfit(problem, state, report):
    """Return the `TorqueState` with a wrong unit or mount, reported when it begins and ends."""
    if not (state.is_undisturbed and state.recent and state.misfits.is_due(state.used)):
        return state
    rows = Rows.joined([rows for _, rows in state.recent])
    found = look(problem.torque, problem.prior, rows, np.concatenate(state.visited, 1))
    misfits, is_news = state.misfits.after(found, state.used)
    if is_news:
        known = misfits.misfit
        report.events += (FITS if known is None else words_of(known, problem.torque.joints),)
    return replace(state, misfits=misfits)


def words_of(misfit, joints):
    """Return a `Misfit` as a word of reports: kind, numbers, and the joint or 'all'."""
    if misfit.kind == 'gravity':
        return MISFIT + ' '.join(['gravity', *(f'{each:.2f}' for each in misfit.upward)])
    if misfit.kind == 'degrees':
        return MISFIT + 'degrees'
    joint = 'all' if misfit.joint is None else joints[misfit.joint]
    return f'{MISFIT}{misfit.kind} {misfit.factor:.2g} {joint}'


def look(model, prior, rows, visited):
    """
    Return the likeliest `Misfit`, None where none is better than none.

    model: as in `torque_regression.fit`, with `weights` and `columns` as `TorqueModel` has them;
    prior: `Gaussian` of the coordinates before any data; rows: the newest `Rows`; visited
    [3, K, n]: motion at them.
    """
    found, none = candidates(model, prior, rows, visited)
    best = max(found, key=lambda each: each.evidence)
    if best.evidence < _HOLDS:
        return None
    best = replace(best, evidence=best.evidence - _of_loads(model, prior, rows, visited, none))
    return best if best.evidence >= _HOLDS else None


def candidates(model, prior, rows, visited):
    """
    Return (a `Misfit` for each hypothesis that is tried, score of no misfit).

    Arguments as of `look`.
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
    """The rows of a look, and the robot as described."""

    def __init__(self, model, prior, rows, visited):
        """Take what `look` takes."""
        which = slice(None, None, max(-(-rows.count // _ROWS), 1))
        root = prior.root.copy()
        root[model.guessed] *= _GUESSED
        prior = Gaussian(prior.mean, root)
        self.model, self.prior = model, prior
        self.standard, slope = model.standard(prior.mean)
        self.slope = slope @ prior.root
        self.scales = model.scales(prior.mean)[0]
        self.number = rows.shares.sum(0) / _INFLATION
        rows = rows.part(which)
        self.visited, self.roots = visited[:, which], np.sqrt(rows.shares)
        self.columns, self.torques = self.scales[:, None] * rows.columns, rows.torques
        # What is looked at stands for all, and rows that hang together for one.
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
        # What is predicted is so many times larger; what may be otherwise is so only where that is
        # less. Else a factor would be better for being free to follow whatever the model lacks.
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
            away = inverse @ (weights @ side)
            mean = self.prior.mean + to_coordinates @ away
            if (mean[self.model.positive] < 0).any():
                # What rows tell nothing of can hardly move, but it can.
                root = to_coordinates @ np.linalg.cholesky(inverse)
                root = np.hstack([root, _STIFF * self.prior.root])
                mean = not_negative(mean, root, self.model.positive)
                away = np.linalg.solve(self.prior.root, mean - self.prior.mean)
                away = away if basis is None else basis.T @ away
            left = square + (gram @ away - 2 * side) @ away
            unsure = np.einsum('jpq,pq->j', gram, inverse)
            left = np.maximum(left, 0.0) + unsure
            variance = (_PRIOR_ROWS * self.least + self.share * left) / freedom
        score = -0.5 * float(freedom @ np.log(variance) + away @ away)
        return _Explained(score, variance, inverse)


def _of_loads(model, prior, rows, visited, none):
    """
    Return by how much a load at the end explains torques better than none does, at least 0.

    none: score of no load.
    """
    jumps, best = [jump for jump in model.jumps() if jump.body is not None][:_LINKS], none
    for jump in jumps:
        root = np.linalg.qr(np.hstack([prior.root, jump.root]).T, 'r').T
        case = _Case(model, Gaussian(prior.mean, root), rows, visited)
        best = max(best, case.explained(case.summed(case.columns)).score)
    return best - none


def _of_factors(case, sums, none):
    """Yield `Misfit`s of torques that are so many times what they should be."""
    joints = len(case.number)
    # The same, in the directions of which these rows tell anything: of many joints these are few.
    left, axes = np.linalg.eigh(none.inverse)
    basis = axes[:, left < 1 / (1 + _LEAST_INFORMATION)]
    gram, measured, predicted, *squares = sums
    sums = basis.T @ gram @ basis, measured @ basis, predicted @ basis, *squares
    every = np.ones(joints, dtype=bool)
    factor, score = _best_factor(case, (sums, basis), none, every, _OF_ALL)
    yield Misfit('unit', None, factor, evidence=score)
    for joint in np.flatnonzero(case.number >= _LEAST_ROWS):
        which = np.arange(joints) == joint
        for kind, tried in (('unit', _OF_ONE[_OF_ONE > 0]), ('sign', _OF_ONE[_OF_ONE < 0])):
            factor, score = _best_factor(case, (sums, basis), none, which, tried)
            yield Misfit(kind, int(joint), factor, evidence=score)


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
    if scores[best] < none.score + _WORTH_A_LOOK:
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
    """Yield `Misfit`s of a base that is mounted otherwise than described."""
    weights = case.model.weights(case.visited[0])
    weights = weights * (case.scales[:, None] * case.roots[..., None])
    rest = case.columns - weights[2]
    # Where gravity points if all bodies are as described; then, what else it may be.
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
            yield Misfit('gravity', upward=tuple(upward.tolist()), evidence=score - less)


def _of_degrees(case):
    """Yield the `Misfit` of positions in degrees, where they are too large for radians."""
    if np.abs(case.visited[0]).max(initial=0.0) < _FARTHEST:
        return
    motion = np.radians(case.visited)
    columns = case.model.columns(*motion, case.standard) * case.roots[..., None]
    score = case.explained(case.summed(case.scales[:, None] * columns)).score
    yield Misfit('degrees', evidence=score)
