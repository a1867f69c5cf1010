"""
Verdicts on parameters, and directions of the parameter space by the information of data.

A verdict is assigned in two steps, and nowhere else: `verdicts_of` from prior and posterior alone,
then `in_run` by what happened during the run: disturbances, changes, misfits and gaps.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

# Largest ratios of posterior to prior standard deviation of these verdicts.
_IDENTIFIED, _ASSISTED = 0.3, 0.9
_NOTABLE_WEIGHT = 0.01
# Modes are separate whose means differ by so many times the sum of their standard deviations.
_APART = 3.0
_OUT_OF_PRIOR, _AT_A_LIMIT = 3.0, 2.0
# A parameter has a share in a direction from this part of the largest entry on.
_NAMED_SHARE = 0.15
# Correlation of draws from which on data do not tell two parameters apart.
_ALIASED = 0.8
# Unobservable deviations count from this part of the prior standard deviation on.
_UNOBSERVABLE = 1e-3
# They dominate from half of the posterior variance on.
_MOSTLY = 0.5**0.5
# The alias of damping and friction if there is evidence for disturbances.
_UNKNOWN_EFFORTS = 'efforts of unknown origin'


class Verdict(Enum):
    """The verdicts on a parameter."""

    IDENTIFIED = 'identified'
    PRIOR_ASSISTED = 'prior-assisted'
    PRIOR_ONLY = 'prior-only'
    ALIASED = 'aliased'
    AMBIGUOUS = 'ambiguous'
    OUT_OF_PRIOR = 'out of prior'
    CHANGED = 'changed'
    MISFIT = 'misfit'


@dataclass(frozen=True)
class PosteriorVerdict:
    """
    The verdict on one parameter by its prior and its posterior.

    share: ratio of posterior to prior standard deviation; aliases: names of the parameters that
    data do not distinguish it from.
    """

    verdict: Verdict
    share: float
    aliases: tuple = ()


@dataclass(frozen=True)
class PriorMoments:
    """
    The prior of p parameters.

    names; mean, sd [p]; limits: (least, most) of each, or None, as set by the user.
    """

    names: tuple
    mean: np.ndarray
    sd: np.ndarray
    limits: tuple


@dataclass(frozen=True)
class RunConditions:
    """
    What is known of a run, other than its posterior, that changes verdicts.

    disturbed: names of the parameters of friction and damping if disturbances are evident, else
    none; has_changed: whether the robot changed within the last seconds; changed: names of the
    parameters that did, None while they are not isolated, which may be any; is_misfit: whether a
    misfit is reported; is_unconfirmed: whether too little data have fitted since a gap.
    """

    disturbed: frozenset = frozenset()
    has_changed: bool = False
    changed: tuple | None = None
    is_misfit: bool = False
    is_unconfirmed: bool = False


def verdicts_of(priors, draws, modes=None, directions=(), blind=0.0, impossible=()):
    """
    Return a `PosteriorVerdict` for every parameter.

    priors: `PriorMoments`; draws [p, N] of the posterior, in the same coordinates; modes: (weights
    [K], means [p, K], sds [p, K]) of a mixture in them, if it has several; directions: rows [p] of
    `null_directions`, whose parameters are aliases of one another; blind [p]: standard deviations
    in the null space, where they dominate a parameter is not identified; impossible: places of
    parameters whose estimates are infeasible before the projection of draws.
    """
    share, unobservable = draws.std(1) / priors.sd, blind / priors.sd
    is_certain = share < _IDENTIFIED
    is_identified = is_certain & (unobservable < np.maximum(_MOSTLY * share, _UNOBSERVABLE))
    scaled = draws / priors.sd[:, None]
    aliases = _aliases(priors.names, scaled, share, ~is_identified, directions)
    # Medians: a centre of mass is a ratio, whose mean is poor if the mass may be near zero.
    result, middles = [], np.median(draws, 1)
    if modes is not None and len(modes[0]) == 1:
        modes = None
    for k in range(len(share)):
        if modes is not None and _has_several_modes(modes, k):
            verdict = Verdict.AMBIGUOUS
        elif k in impossible or _is_out_of_prior(priors, k, middles[k], share[k]):
            verdict = Verdict.OUT_OF_PRIOR
        elif share[k] >= _ASSISTED:
            verdict = Verdict.PRIOR_ONLY
        elif aliases[k]:
            verdict = Verdict.ALIASED
        else:
            verdict = Verdict.IDENTIFIED if is_identified[k] else Verdict.PRIOR_ASSISTED
        result.append(PosteriorVerdict(verdict, float(share[k]), aliases[k]))
    return result


def in_run(finding, run):
    """
    Return a `ParameterFinding` with the verdict that holds in a run, given `RunConditions`.

    Its verdict so far is that of `verdicts_of`. A change of the parameter counts more than all
    else. Efforts of unknown origin are most often unmodelled friction: estimates of damping and
    friction then absorb part of it, which their uncertainty does not include. After a misfit, or
    in the first data after a gap, nothing is identified.
    """
    verdict, aliases = Verdict(finding.verdict), finding.aliases
    estimated = (Verdict.IDENTIFIED, Verdict.PRIOR_ASSISTED, Verdict.ALIASED)
    if finding.name in run.disturbed and verdict in estimated:
        verdict, aliases = Verdict.ALIASED, (*aliases, _UNKNOWN_EFFORTS)
    if run.has_changed and (run.changed is None or finding.name in run.changed):
        verdict = Verdict.CHANGED
    if verdict is Verdict.IDENTIFIED and run.is_misfit:
        verdict = Verdict.MISFIT
    if verdict is Verdict.IDENTIFIED and run.is_unconfirmed:
        verdict = Verdict.PRIOR_ASSISTED
    return replace(finding, verdict=verdict.value, aliases=aliases)


def _is_out_of_prior(priors, k, middle, share):
    """
    Tell whether the median of draws is in the tail of the prior, or at a limit set by the user.

    Limits do not count for unobserved parameters, which are as far from them as they are wide.
    """
    if abs(middle - priors.mean[k]) > _OUT_OF_PRIOR * priors.sd[k]:
        return True
    if priors.limits[k] is None or share >= _ASSISTED:
        return False
    least, most = priors.limits[k]
    return min(middle - least, most - middle) < _AT_A_LIMIT * share * priors.sd[k]


def _has_several_modes(modes, k):
    """Tell whether two notable components lie apart in parameter k."""
    weights, means, sds = modes
    notable = weights > _NOTABLE_WEIGHT
    mean, sd = means[k, notable], sds[k, notable]
    return bool((np.abs(mean[:, None] - mean) > _APART * (sd[:, None] + sd)).any())


def _aliases(names, whitened, share, is_unsure, directions):
    """
    Return for every parameter the names of those that data do not distinguish it from.

    They are correlated in the draws while neither is identified, or have a share in one null
    direction. The latter holds for a parameter with a narrow posterior, too: it is narrow only
    because the priors of the others are. A parameter that is as uncertain as its prior has none.
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
    The principal directions of a posterior relative to the prior.

    information [p]: ratio of the information of data to that of the prior; directions [p, p]: the
    columns, in prior standard deviations.
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
    Return rows [r, p] that span the directions with less than `below` times the prior information.

    In prior standard deviations, the largest entry being one. Rows are combined so that each has
    few parameters: one that is unobservable by itself stands alone.
    """
    blind = found.directions[:, found.information < below].T
    left, leaders = blind.copy(), []
    for _ in range(len(blind)):
        leaders.append(int(np.argmax((left**2).sum(0))))
        column = left[:, leaders[-1]] / np.linalg.norm(left[:, leaders[-1]])
        left = left - np.outer(column, column @ left)
    return _sparser(np.linalg.solve(blind[:, leaders], blind)) if leaders else blind


def _sparser(rows):
    """Return rows [r, p] of the same span with fewer parameters each, by greedy elimination."""
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
            # A row that is almost zero would be amplified noise.
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


def direction_text(names, direction):
    """Return a direction [p] as text: 'lower.mass - lower.com.z' grow against one another."""
    involved = involved_in(direction)
    # The largest first, and upwards.
    involved = involved[np.argsort(-np.abs(direction[involved]), kind='stable')]
    signs = np.sign(direction[involved] * direction[involved[0]])
    parts = [f'{"-" if sign < 0 else "+"} {names[k]}' for sign, k in zip(signs, involved)]
    return ' '.join(parts).removeprefix('+ ')


def information_gain(prior_root, mixture):
    """
    Return the information gained so far [nats]: the decrease of entropy from prior to posterior.

    The entropy of a mixture is bounded from above by that of a normal distribution of its moments,
    and by the mean of its components' plus that of the weights; the lower bound counts.
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
    Return the separate modes of a mixture: [(weight, mean [p])], the heaviest first.

    Components of one mode overlap in all coordinates.
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
