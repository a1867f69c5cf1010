"""What may be said of every parameter, in one word and in names."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

# Shares of the prior's standard deviation that are left.
_IDENTIFIED, _ASSISTED = 0.3, 0.9
_NOTABLE_WEIGHT = 0.01
_APART = 3.0
_OUT_OF_PRIOR = 3.0
# Part of a direction's length below which a parameter is not named in it.
_NAMED_SHARE = 0.15
_ALIASED = 0.8


class Verdict(Enum):
    """How a parameter stands."""

    IDENTIFIED = 'identified'
    PRIOR_ASSISTED = 'prior-assisted'
    PRIOR_ONLY = 'prior-only'
    ALIASED = 'aliased'
    AMBIGUOUS = 'ambiguous'
    OUT_OF_PRIOR = 'out of prior'
    CHANGED = 'changed'


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


def judge(names, prior_mean, prior_sd, draws, modes=None):
    """
    Return a `Judgement` for every parameter.

    prior_mean, prior_sd [p]; draws [p, N] of the posterior, in the same coordinates; modes:
    (weights [K], means [p, K], sds [p, K]) of a mixture in them, where it has several.
    """
    sd = draws.std(1)
    share = sd / prior_sd
    aliases = _aliases(names, draws / prior_sd[:, None], share)
    result = []
    for k in range(len(names)):
        away = abs(draws[k].mean() - prior_mean[k]) / prior_sd[k]
        if modes is not None and _has_several_modes(modes, k):
            verdict = Verdict.AMBIGUOUS
        elif away > _OUT_OF_PRIOR:
            verdict = Verdict.OUT_OF_PRIOR
        elif share[k] < _IDENTIFIED:
            verdict = Verdict.IDENTIFIED
        elif aliases[k]:
            verdict = Verdict.ALIASED
        else:
            verdict = Verdict.PRIOR_ASSISTED if share[k] < _ASSISTED else Verdict.PRIOR_ONLY
        result.append(Judgement(verdict, float(share[k]), aliases[k]))
    return result


def _has_several_modes(modes, k):
    """Tell whether two notable components lie apart in parameter k."""
    weights, means, sds = modes
    notable = np.flatnonzero(weights > _NOTABLE_WEIGHT)
    return any(
        abs(means[k, a] - means[k, b]) > _APART * (sds[k, a] + sds[k, b])
        for a in notable
        for b in notable
        if a < b
    )


def _aliases(names, whitened, share):
    """Return for every parameter the names of those that vary with it and only with it."""
    correlation = np.corrcoef(whitened) if len(names) > 1 else np.ones((1, 1))
    return [
        tuple(
            names[j]
            for j in range(len(names))
            if j != k and share[j] > _IDENTIFIED and abs(correlation[k, j]) > _ALIASED
        )
        if share[k] > _IDENTIFIED
        else ()
        for k in range(len(names))
    ]


def unseen_directions(names, prior_root, combinations):
    """
    Return what no data can tell, as texts such as 'lower.mass - lower.com.z'.

    combinations [r, p]: what is seen, as functions of the coordinates; prior_root [p, p]. The
    directions are those of the prior that no combination notices, in units of its standard
    deviations.
    """
    seen = combinations @ prior_root
    _, _, right = np.linalg.svd(seen)
    texts = []
    for direction in right[len(combinations) :]:
        largest = np.abs(direction).max()
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
        parts = [
            f'{"-" if share < 0 else "+"} {names[k]}'
            for k, share in enumerate(direction)
            if abs(share) > _NAMED_SHARE * largest
        ]
        texts.append(' '.join(parts).removeprefix('+ '))
    return texts


def information_gain(prior_root, covariance):
    """Return the expected information so far [nats]: by how much the posterior is narrower."""
    prior = 2 * np.log(np.abs(np.diag(np.linalg.qr(prior_root.T, mode='r')))).sum()
    return 0.5 * (prior - np.linalg.slogdet(covariance)[1])
