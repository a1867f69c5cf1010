"""A problem with what is held fixed, and may be wrong all the same, among its unknowns."""

import copy
from dataclasses import replace

import numpy as np

from ..estimation.factors import lower_root
from ..estimation.protocol import Gaussian
from ..parameters.delays import is_delay
from ..parameters.parametrization import DirectParametrization, TimedParametrization
from ..parameters.parametrization_choice import straight_losses


def augmented_parametrization(parametrization, doubts):
    """
    Return a direct parametrization with more unknowns, None where it is of another kind.

    doubts: name -> `Prior` of the others.
    """
    is_timed = isinstance(parametrization, TimedParametrization)
    physical = parametrization.physical if is_timed else parametrization
    if not doubts or not isinstance(physical, DirectParametrization):
        return None
    own = parametrization.priors if is_timed else {}
    delays = {n: p for n, p in (*own.items(), *doubts.items()) if is_delay(n)}
    more = {name: prior for name, prior in doubts.items() if not is_delay(name)}
    straight = physical.straight | straight_losses(more)
    inner = DirectParametrization({**physical.priors, **more}, physical.fixed, straight)
    return TimedParametrization(inner, delays) if delays else inner


def known_as(problem, augmented):
    """Return an augmented problem that knows of the parameters of a problem what that does."""
    found, rows = copy.copy(augmented), _rows(problem, augmented)
    mean, root = augmented.prior.mean.copy(), augmented.prior.root.copy()
    mean[rows], root[np.ix_(rows, rows)] = problem.prior.mean, problem.prior.root
    found.prior, found.noise_prior = Gaussian(mean, root), problem.noise_prior
    return found


def marginal(problem, augmented, mixture):
    """Return the marginal of an augmented problem's mixture over the unknowns of a problem."""
    rows, size = _rows(problem, augmented), problem.tangent_size
    roots = lower_root(mixture.roots[:, [*range(size), *(size + row for row in rows)]])
    lasting = None if mixture.lasting is None else mixture.lasting[rows]
    return replace(mixture, means=mixture.means[rows], roots=roots, lasting=lasting)


def _rows(problem, augmented):
    return [augmented.labels.index(label) for label in problem.labels]
