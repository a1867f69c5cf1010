"""
Draws of a normal distribution that is conditioned on physically feasible robots, fast.

With tens of unknown bodies hardly any draw of the posterior of measured torques is feasible: each
of seven bodies is in one of four draws, all of them in one of ten thousand. So robots are drawn
body by body, from the tip to the base, by sequential Monte Carlo (Doucet, de Freitas and Gordon
2001): a population of robots, each given those of its bodies that are drawn already, gets as many
candidates for the next body each; the feasible ones are the next population. Robots whose earlier
bodies leave little room have few successors, which makes the last population one of the normal
distribution, conditioned on feasibility, and not of one that favours what was drawn first.
"""

import numpy as np

from ..estimation.factors import root_of
from .possible_robots import blocks_of

# Robots at a time: few enough for the processor's cache, and so many that the conditioned
# distribution is met; then how many are kept, since some have bodies in common.
_POPULATION, _KEPT = 4096, 2048
# Candidates for each robot and body until as many are feasible as there are robots. Where that
# leaves fewer than this part of a population, feasibility contradicts the distribution, and too
# many robots would have the same body.
_MOST_CANDIDATES, _FEWEST = 200, 0.25


def feasible_draws(possible, mean, covariance, count, generator):
    """
    Return draws [P, count] of a normal distribution conditioned on feasible robots.

    None where it is so far from them that next to nothing is left of it. possible: a
    `PossibleRobots`; mean [P], covariance [P, P]: in its coordinates. Populations are drawn one
    after the other and are independent of each other; within one, robots may share bodies.
    """
    blocks = _blocks(possible)
    order = np.concatenate(blocks)
    root = _triangular_root(covariance[np.ix_(order, order)])
    checks = [_Check(possible, block) for block in blocks]
    result, done = np.empty((len(mean), count)), 0
    while done < count:
        points = _population(checks, mean[order], root, generator)
        if points is None:
            return None
        part = points[:, : min(_KEPT, count - done)]
        result[order, done : done + part.shape[1]] = part
        done += part.shape[1]
    return result


def _triangular_root(covariance):
    """Return a lower triangular root of a covariance [P, P] that may be singular."""
    root = np.linalg.qr(root_of(covariance).T, mode='r').T
    # With a positive diagonal it is unique: alike distributions have alike draws of a seed.
    return root * np.where(np.diag(root) < 0, -1.0, 1.0)


def _population(checks, mean, root, generator):
    """Return feasible robots [P, _KEPT], coordinates in the order of the checks; or None."""
    noise, begin = np.empty((len(mean), _POPULATION)), 0
    for check in checks:
        end = begin + check.size
        centre = mean[begin:end, None] + root[begin:end, :begin] @ noise[:begin]
        found = _candidates(check, centre, root[begin:end, begin:end], generator)
        if found is None:
            return None
        parents, own = found
        noise[:begin] = noise[:begin, parents]
        noise[begin:end] = own
        begin = end
    chosen = generator.permutation(_POPULATION)[:_KEPT]
    return mean[:, None] + root @ noise[:, chosen]


def _candidates(check, centre, root, generator):
    """
    Return (which robots [N], noise [b, N]): the next coordinates of a population of N robots.

    centre [b, N], root [b, b]: of the conditional distributions of these coordinates.
    """
    parents, noises, found = [], [], 0
    for _ in range(_MOST_CANDIDATES):
        noise = generator.standard_normal(centre.shape)
        are_feasible = np.flatnonzero(check(centre + root @ noise))
        parents.append(are_feasible)
        noises.append(noise[:, are_feasible])
        found += are_feasible.size
        if found >= centre.shape[1]:
            break
    if found < _FEWEST * centre.shape[1]:
        return None
    is_scarce = found < centre.shape[1]
    chosen = generator.choice(found, centre.shape[1], replace=is_scarce)
    return np.concatenate(parents)[chosen], np.concatenate(noises, 1)[:, chosen]


class _Check:
    """Which values of some coordinates, of a body or of a joint, are feasible."""

    def __init__(self, possible, block):
        """Take the `PossibleRobots`, and the coordinates, which have to do with no others."""
        self.size, places = len(block), {each: k for k, each in enumerate(block.tolist())}
        involved = np.abs(possible.rows[:, block]).sum(1) > 0
        self._rows = possible.rows[np.ix_(involved, block)]
        self._least = possible.least[involved, None]
        self._bodies = [[places[k] for k in ten] for ten in possible.bodies if ten[0] in places]

    def __call__(self, values):
        """Tell which of values [b, N] are feasible, [N]."""
        result = np.ones(values.shape[1], dtype=bool)
        if len(self._rows):
            result &= (self._rows @ values >= self._least).all(0)
        for ten in self._bodies:
            result &= _are_bodies(values[ten])
        return result


def _are_bodies(numbers):
    """
    Tell which bodies [10, N], about the frames of their links, have positive pseudo-inertias, [N].

    By the signs of the pivots, of the mass first.
    """
    mass, hx, hy, hz, xx, yy, zz, xy, xz, yz = numbers
    half = (xx + yy + zz) / 2
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        x, y = hx / mass, hy / mass
        first = half - xx - x * hx
        below, beyond = (-xy - x * hy) / first, -xz - x * hz
        second = half - yy - y * hy - below * below * first
        across = -yz - y * hz - below * beyond
        third = half - zz - hz * hz / mass - beyond * beyond / first - across * across / second
        return (mass > 0) & (first > 0) & (second > 0) & (third > 0)


def _blocks(possible):
    """Return the coordinates [indices ...] in the order in which they are drawn."""
    couples = np.zeros((possible.rows.shape[1],) * 2, dtype=bool)
    for ten in possible.bodies:
        couples[np.ix_(ten, ten)] = True
    for row in possible.rows:
        couples[np.ix_(row != 0, row != 0)] = True
    limited = np.flatnonzero(couples.any(0))
    blocks = [limited[block] for block in blocks_of(couples[np.ix_(limited, limited)])]
    bodies = set(possible.bodies.ravel().tolist())
    with_body = [block for block in blocks if block[0] in bodies]
    others = [block for block in blocks if block[0] not in bodies]
    free = np.flatnonzero(~couples.any(0))
    # Torques of a joint depend on the bodies beyond it.
    return [*with_body[::-1], *others, *([free] if free.size else [])]
