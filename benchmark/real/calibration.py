"""
Whether disjoint recordings of one robot agree as well as their posteriors claim.

The truth is not known. But where two posteriors are right, their means differ by no more than
both covariances together allow, in every direction in which both have learned something.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, chi2, norm

from .ours import ours
from .recordings import panda, tiago, tx40, ur10e, UR_FREE

# A direction is learned whose variance is below this part of the prior's: of whole recordings
# against all others, and of halves of one, which learn few directions well.
LEARNED, LEARNED_OF_HALVES = 0.1, 0.3
# Intervals of what was counted hold the truth with this probability.
SURE = 0.99
_ROUNDING = 1e-10
_FRICTION = ('damping', 'friction', 'torque_offset', 'load_friction', 'stribeck')


@dataclass(frozen=True)
class Part:
    """
    A posterior over the parameters in which torques are linear, and what was known before.

    names [p]; mean [p]; covariance, prior [p, p]: singular where no motion tells anything.
    """

    names: tuple
    mean: np.ndarray
    covariance: np.ndarray
    prior: np.ndarray

    def only(self, rows):
        """Return it of some of the parameters."""
        square = np.ix_(rows, rows)
        names = tuple(np.array(self.names)[rows])
        return Part(names, self.mean[rows], self.covariance[square], self.prior[square])


def part_of(recording, adjust=None):
    """Return the `Part` that our package makes of a recording, and the names of its events."""
    run = ours(recording, adjust=adjust)
    parametrization, (mean, covariance) = run.problem.parametrization, run.moments
    basis = parametrization.basis
    part = Part(
        tuple(parametrization.inner.names),
        parametrization.embed(mean[:, None])[:, 0],
        basis @ covariance @ basis.T,
        basis @ run.problem.prior.covariance @ basis.T,
    )
    return part, [(event.time, event.name) for event in run.events], run.used


def compare(one, other, learned):
    """
    Return group -> what two `Part`s differ by in learned directions, standard deviations.

    learned: part of the prior's variance below which a direction is.
    """
    words = [name.rpartition('.')[2] for name in one.names]
    of_friction = np.array([word.startswith((*_FRICTION, 'coupled')) for word in words])
    two, can_vary = (one, other), np.diag(one.prior) > 0
    groups = {'bodies and rotors': ~of_friction, 'friction': of_friction}
    return {
        name: _scores(*(part.only(np.flatnonzero(rows & can_vary)) for part in two), learned)
        for name, rows in groups.items()
    }


def _scores(one, other, learned):
    """Return the differences [m] along generalised eigenvectors that were learned."""
    scale = np.sqrt(np.diag(one.prior))
    sizes, vectors = np.linalg.eigh(one.prior / np.outer(scale, scale))
    kept = sizes > _ROUNDING * sizes[-1]
    # Functionals of unit variance beforehand, which do not correlate.
    white = (vectors[:, kept] / np.sqrt(sizes[kept])).T / scale
    both = white @ (one.covariance + other.covariance) @ white.T
    left, directions = np.linalg.eigh(both)
    along = directions.T @ white @ (one.mean - other.mean)
    return (along / np.sqrt(left))[left < learned].tolist()


def judged(scores):
    """
    Return (value, low, high) of the share within 90 %, within 50 %, and of the mean square.

    scores: standard deviations. The intervals are those of as many independent normal numbers.
    """
    away = np.abs(scores)
    if not away.size:
        return [(np.nan, np.nan, np.nan)] * 3
    found = []
    for level in (0.9, 0.5):
        inside = away < norm.ppf((1 + level) / 2)
        low, high = binomtest(int(inside.sum()), inside.size).proportion_ci(SURE)
        found.append((float(inside.mean()), float(low), float(high)))
    total = float((away**2).sum())
    low, high = total / chi2.ppf([(1 + SURE) / 2, (1 - SURE) / 2], away.size)
    return [*found, (total / away.size, float(low), float(high))]


def comparisons(data, shared):
    """
    Return (robot -> pairs of `Recording`s to compare, robot -> why it is left out).

    Each recording of the UR10e with all others in a row; of the others two halves.
    """
    found, missing = {}, {}
    for title, make in _COMPARISONS.items():
        try:
            found[title] = make(data, shared)
        except OSError as error:
            missing[title] = str(error)
    return found, missing


def _of_ur10e(data, _):
    recordings = list(ur10e(data, UR_FREE).values())
    pairs = []
    for one in recordings:
        rest = None
        for other in recordings:
            if other is not one:
                rest = other if rest is None else rest.then(other)[0]
        pairs.append((one, rest))
    return pairs


def _halves(recording):
    middle = (recording.t[0] + recording.t[-1]) / 2
    first, second = recording.between(-np.inf, middle), recording.between(middle, np.inf)
    return [(first, second)]


_COMPARISONS = {
    'UR10e': _of_ur10e,
    'Panda': lambda data, shared: _halves(panda(data)),
    'TX40': lambda data, shared: _halves(tx40(shared)),
    'TIAGo': lambda data, shared: _halves(tiago(data, shared)),
}
