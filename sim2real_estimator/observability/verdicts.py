"""What may be said of every parameter, in one word and in names."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

# Shares of the prior's standard deviation that are left.
_IDENTIFIED, _ASSISTED = 0.3, 0.9
_NOTABLE_WEIGHT = 0.01
_APART = 3.0
_OUT_OF_PRIOR, _AT_A_LIMIT = 3.0, 2.0
# Part of a direction's length below which a parameter is not named in it.
_NAMED_SHARE = 0.15
_ALIASED = 0.8
# What no data tell counts from this part of the prior's standard deviation on.
_BLIND = 1e-3
# It is most of what is left where it is half of the variance.
_MOSTLY = 0.5**0.5


class Verdict(Enum):
    """How a parameter stands."""

    IDENTIFIED = 'identified'
    PRIOR_ASSISTED = 'prior-assisted'
    PRIOR_ONLY = 'prior-only'
    ALIASED = 'aliased'
    AMBIGUOUS = 'ambiguous'
    OUT_OF_PRIOR = 'out of prior'
    CHANGED = 'changed'
    MISFIT = 'misfit'


@dataclass(frozen=True)
class Judgement:
    """
    The verdict on one parameter.

    share: standard deviation left, of the prior's; aliases: the parameters it cannot be told
    apart from.
    """

    verdict: Verdict
    share: float
    aliases: tuple = ()


@dataclass(frozen=True)
class Beliefs:
    """
    What was believed of p parameters before any data.

    names; mean, sd [p]; limits: (least, most) that somebody has set, or None, of each.
    """

    names: tuple
    mean: np.ndarray
    sd: np.ndarray
    limits: tuple


def judge(beliefs, draws, modes=None, directions=(), blind=0.0, impossible=()):
    """
    Return a `Judgement` for every parameter.

    beliefs: `Beliefs`; draws [p, N] of the posterior, in the same coordinates; modes: (weights
    [K], means [p, K], sds [p, K]) of a mixture in them, where it has several; directions: rows
    [p] of `null_directions`, whose parameters are aliases of one another; blind [p]: the part
    of its standard deviation that no data can tell: where that is most of what is left, a
    parameter is not identified, however little is left; impossible: places of parameters of which
    data ask for what no robot has, which draws of robots that can be built do not show.
    """
    share, unseen = draws.std(1) / beliefs.sd, blind / beliefs.sd
    is_told = (share < _IDENTIFIED) & (unseen < np.maximum(_MOSTLY * share, _BLIND))
    aliases = _aliases(beliefs.names, draws / beliefs.sd[:, None], share, ~is_told, directions)
    # A centre is a moment over a mass: where this may be next to nothing its mean says little.
    result, middles = [], np.median(draws, 1)
    if modes is not None and len(modes[0]) == 1:
        modes = None
    for k in range(len(share)):
        if modes is not None and _has_several_modes(modes, k):
            verdict = Verdict.AMBIGUOUS
        elif k in impossible or _is_out_of_prior(beliefs, k, middles[k], share[k]):
            verdict = Verdict.OUT_OF_PRIOR
        elif share[k] >= _ASSISTED:
            verdict = Verdict.PRIOR_ONLY
        elif aliases[k]:
            verdict = Verdict.ALIASED
        else:
            verdict = Verdict.IDENTIFIED if is_told[k] else Verdict.PRIOR_ASSISTED
        result.append(Judgement(verdict, float(share[k]), aliases[k]))
    return result


def _is_out_of_prior(beliefs, k, middle, share):
    """
    Tell whether the middle of draws is where the prior hardly reaches, or at a limit that is set.

    A parameter that no data has told stands as far from its limits as they are wide.
    """
    if abs(middle - beliefs.mean[k]) > _OUT_OF_PRIOR * beliefs.sd[k]:
        return True
    if beliefs.limits[k] is None or share >= _ASSISTED:
        return False
    least, most = beliefs.limits[k]
    return min(middle - least, most - middle) < _AT_A_LIMIT * share * beliefs.sd[k]


def _has_several_modes(modes, k):
    """Tell whether two notable components lie apart in parameter k."""
    weights, means, sds = modes
    notable = weights > _NOTABLE_WEIGHT
    mean, sd = means[k, notable], sds[k, notable]
    return bool((np.abs(mean[:, None] - mean) > _APART * (sd[:, None] + sd)).any())


def _aliases(names, whitened, share, is_unsure, directions):
    """
    Return for every parameter the names of those that it cannot be told apart from.

    They vary together in the draws, or along a direction that data do not tell: then one that is
    known well is so by the priors of the others. Of a parameter that is as uncertain as before
    nothing is known that could be another's.
    """
    count = len(names)
    together = np.abs(np.corrcoef(whitened)) > _ALIASED if count > 1 else np.eye(1, dtype=bool)
    together &= is_unsure & is_unsure[:, None]
    if len(directions):
        sizes = np.abs(directions)
        are_involved = sizes > _NAMED_SHARE * sizes.max(1, keepdims=True)
        together |= are_involved.T @ are_involved
    return [
        tuple(names[j] for j in together[k].nonzero()[0].tolist() if j != k)
        if share[k] < _ASSISTED
        else ()
        for k in range(count)
    ]


@dataclass(frozen=True)
class Spectrum:
    """
    What data say along the principal directions of a posterior.

    information [p]: over that of the prior, so many times; directions [p, p]: the columns, in
    standard deviations of the prior.
    """

    information: np.ndarray
    directions: np.ndarray


def spectrum(prior_root, covariance):
    """Return the `Spectrum` of a covariance [p, p] over the prior's."""
    inverse = np.linalg.inv(prior_root)
    left, directions = np.linalg.eigh(inverse @ covariance @ inverse.T)
    return Spectrum(1 / np.maximum(left, 1e-300) - 1, directions)


def null_directions(found, below):
    """
    Return rows [r, p] that span where the data say less than `below` times the prior.

    In standard deviations of the prior, the largest share being one. Rows are combined so that
    few parameters are in each: one of which nothing at all is known stands alone.
    """
    blind = found.directions[:, found.information < below].T
    left, leaders = blind.copy(), []
    for _ in range(len(blind)):
        leaders.append(int(np.argmax((left**2).sum(0))))
        column = left[:, leaders[-1]] / np.linalg.norm(left[:, leaders[-1]])
        left = left - np.outer(column, column @ left)
    return _sparser(np.linalg.solve(blind[:, leaders], blind)) if leaders else blind


def _sparser(rows):
    """Return rows [r, p] that span the same, after all replacements that leave out more."""
    rows = _scaled(rows)
    is_named, is_better = np.abs(rows) > _NAMED_SHARE, True
    while is_better:
        is_better = False
        for i in range(len(rows)):
            number = np.count_nonzero(is_named[i])
            if number == 1:
                continue
            # Each of the shared parameters is taken out by a multiple of each other row.
            is_shared = is_named & is_named[i]
            is_shared[i] = False
            which, entry = is_shared.nonzero()
            if not len(which):
                continue
            multiples = rows[i, entry] / rows[which, entry]
            trials = rows[i] - multiples[:, None] * rows[which]
            sizes = np.abs(trials)
            largest = sizes.max(1)
            counts = np.count_nonzero(sizes > _NAMED_SHARE * largest[:, None], axis=1)
            # What is next to nothing would only be noise, made large.
            counts[largest <= _NAMED_SHARE] = number
            best = counts.argmin()
            if counts[best] < number:
                rows[i], is_better = trials[best] / largest[best], True
                is_named[i] = np.abs(rows[i]) > _NAMED_SHARE
    return rows


def _scaled(rows):
    """Return rows with the largest entry one."""
    return rows / np.abs(rows).max(1, keepdims=True, initial=1e-300)


def involved_in(direction):
    """Return the indices of the parameters that have a notable share of a direction [p]."""
    size = np.abs(direction)
    return np.flatnonzero(size > _NAMED_SHARE * size.max())


def in_words(names, direction):
    """Return a direction [p] as text: 'lower.mass - lower.com.z' grow against one another."""
    involved = involved_in(direction)
    # The largest first, and upwards.
    involved = involved[np.argsort(-np.abs(direction[involved]), kind='stable')]
    signs = np.sign(direction[involved] * direction[involved[0]])
    parts = [f'{"-" if sign < 0 else "+"} {names[k]}' for sign, k in zip(signs, involved)]
    return ' '.join(parts).removeprefix('+ ')


def information_gain(prior_root, mixture):
    """
    Return the expected information so far [nats]: by how much the posterior is narrower.

    That of one normal distribution of the mixture's moments, or of its parts with what it takes
    to tell which, whichever says more: the mixture is no wider than either.
    """
    prior = 2 * _log_volume(prior_root)
    whole = np.linalg.slogdet(mixture.moments()[1])[1]
    weights = mixture.weights
    parts = weights @ np.linalg.slogdet(mixture.parameter_covariances())[1]
    choice = -(weights * np.log(np.maximum(weights, 1e-300))).sum()
    return float(0.5 * (prior - min(whole, parts + 2 * choice)))


def _log_volume(root):
    return np.log(np.abs(np.diag(np.linalg.qr(root.T, mode='r')))).sum()


def modes_of(mixture):
    """
    Return the separate answers of a mixture: [(weight, mean [p])], the heaviest first.

    Components of one answer lie together in all coordinates.
    """
    weights, means = mixture.weights, mixture.means
    sds = np.sqrt(np.einsum('kii->ik', mixture.parameter_covariances()))
    groups = []
    for k in np.argsort(-weights, kind='stable'):
        if weights[k] <= _NOTABLE_WEIGHT and groups:
            continue
        for group in groups:
            away = np.abs(means[:, k] - means[:, group[0]])
            if (away <= _APART * (sds[:, k] + sds[:, group[0]])).all():
                group.append(k)
                break
        else:
            groups.append([k])
    total = sum(weights[group].sum() for group in groups)
    found = []
    for group in groups:
        weight = weights[group].sum()
        found.append((float(weight / total), means[:, group] @ weights[group] / weight))
    return sorted(found, key=lambda mode: -mode[0])
