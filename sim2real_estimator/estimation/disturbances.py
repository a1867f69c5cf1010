"""
The bank of disturbances: hypotheses on of what kind and how strong unknown forces are.

Disturbances are Gauss-Markov states. Every component of a mixture assumes a kind of them and one
standard deviation, and evidence weighs the components.
"""

from dataclasses import dataclass, replace

import numpy as np

from .factors import lower_root
from .gaussian import log_normalized

# Fraction of the prior's covariance that is added to the parameters of a disturbed component: the
# batch assumed no disturbance, and its covariance is too small.
_FORGOTTEN = 0.05


class Kind:
    """
    Kinds of disturbances, as numbers, between which evidence decides.

    NONE: there are none; FRICTION: errors of the friction model, as large as the friction near a
    reversal of the joint, and of the hypothesis' size elsewhere; FORCE: forces of unknown origin
    that act everywhere.
    """

    NONE, FRICTION, FORCE = 0, 1, 2


@dataclass(frozen=True, order=True)
class Disturbance:
    """
    One hypothesis: a `Kind`, and a size, the standard deviation in units of the problem.

    Hypotheses are in the order of their kinds, and then of their sizes.
    """

    kind: int
    size: float


NO_DISTURBANCE = Disturbance(Kind.NONE, 0.0)


def bank(forces, frictions=()):
    """Return the hypotheses, in their order, of sizes of either kind; size 0: none."""
    each = [Disturbance(Kind.FORCE, float(size)) if size else NO_DISTURBANCE for size in forces]
    each += [Disturbance(Kind.FRICTION, float(size)) for size in frictions]
    return tuple(sorted(set(each)))


@dataclass(frozen=True)
class Disturbances:
    """The hypotheses of K components side by side: kinds, sizes [K]."""

    kinds: np.ndarray
    sizes: np.ndarray

    @staticmethod
    def of(each):
        """Return those of some `Disturbance`s."""
        kinds, sizes = ([d.kind for d in each], [d.size for d in each])
        return Disturbances(np.array(kinds, dtype=int), np.array(sizes, dtype=float))

    @staticmethod
    def none(count):
        """Return so many times that there are none."""
        return Disturbances(np.full(count, Kind.NONE), np.zeros(count))

    def __len__(self):
        """Return their number K."""
        return len(self.sizes)

    @property
    def each(self):
        """The `Disturbance` of every component, a tuple."""
        return tuple(map(Disturbance, self.kinds.tolist(), self.sizes.tolist()))

    @property
    def of_friction(self):
        """Which are errors of the friction model, [K]."""
        return self.kinds == Kind.FRICTION

    @property
    def same(self):
        """Which are the same hypothesis, [K, K]."""
        return (self.kinds[:, None] == self.kinds) & (self.sizes[:, None] == self.sizes)

    def pick(self, which):
        """Return those of some of the components."""
        return Disturbances(self.kinds[which], self.sizes[which])

    def tiled(self, count):
        """Return those of a mixture in which all components stand `count` times."""
        return Disturbances(np.tile(self.kinds, count), np.tile(self.sizes, count))


def neighbours(hypotheses, found):
    """
    Return the `Disturbance`s that were found, their neighbours, and the largest one of friction.

    The evidence may have a minimum between the two kinds, so that neighbours alone do not lead
    from one to the other.
    """
    ordered = sorted(hypotheses)
    places = {ordered.index(each) for each in found}
    near = {place + step for place in places for step in (-1, 0, 1)} & set(range(len(ordered)))
    of_friction = [each for each in ordered if each.kind == Kind.FRICTION]
    return tuple(sorted({*(ordered[place] for place in near), *of_friction[-1:]}))


def spread_over_bank(problem, mixture, hypotheses):
    """Return a mixture of every component with each of some `Disturbance`s."""
    if not problem.disturbance_size:
        return mixture
    count = len(hypotheses)
    spread = replace(
        mixture,
        log_weights=log_normalized(np.tile(mixture.log_weights, count)),
        points=np.tile(mixture.points, count),
        means=np.tile(mixture.means, count),
        roots=np.tile(mixture.roots, (count, 1, 1)),
        disturbances=Disturbances.of([each for each in hypotheses for _ in range(mixture.size)]),
        noises=None if mixture.noises is None else mixture.noises.tiled(count),
    )
    return with_disturbances(problem, spread, forgotten(problem.prior))


def forgotten(prior):
    """Return the root [p, p] of the covariance to add where disturbances were neglected."""
    return np.sqrt(_FORGOTTEN) * prior.root


def with_disturbances(problem, mixture, forgotten=None):
    """
    Return a mixture whose disturbance states have the covariance of their hypotheses.

    forgotten [p, p] or None: root of what is added to the parameters' covariance of components
    with disturbances.
    """
    size = problem.disturbance_size
    if not size:
        return mixture
    n, parameters = mixture.roots.shape[-1], len(mixture.means)
    rows = np.arange(n - parameters - size, n - parameters)
    wide = np.zeros((mixture.size, n, n + size + parameters))
    wide[..., :n] = mixture.roots
    wide[:, rows, :n] = 0.0
    at = mixture.disturbances, mixture.means, mixture.points
    wide[:, rows, n + np.arange(size)] = problem.disturbances(*at)
    if forgotten is not None:
        disturbed = (mixture.disturbances.sizes > 0)[:, None, None]
        wide[:, n - parameters :, n + size :] = np.where(disturbed, forgotten, 0.0)
    return replace(mixture, roots=lower_root(wide))
