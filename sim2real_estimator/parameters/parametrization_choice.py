"""Which coordinates a problem is estimated in."""

import numpy as np

from ..errors import ConfigError
from ..model.parameters import is_dissipation
from ..model.state_coordinates import StateCoordinates
from .delays import is_delay
from .linear_parametrization import linear_chart
from .parametrization import (
    DirectParametrization,
    Prior,
    SliceParametrization,
    TimedParametrization,
)
from .responses import Responses

# Singular values below this part of the largest count as zero. Angles of a URDF that are
# rounded to eleven digits make directions of 5e-6 that no data will ever see.
_RANK_TOLERANCE = 1e-5
# Values above this part of the largest are no rounding, nor a direction that bends.
_CLEARLY_TOLD = 1e-4
# Slopes by standard deviations of the prior that are rounding, all of them.
_NOTHING = 1e-12
_SMALL_SHARE = 0.005
# With more unknowns the numbers of bodies are estimated in which torques are linear: of so many
# combinations of logarithms some bend long before they are known. Few are soon known well.
_FEW = 16
# Leaders that tell the same but for this part of it are alike, as of fingers that are: which of
# them has more is rounding, that of another machine would name another.
_ALIKE = 1e-6
# What moves alike at the prior's mean moves alike elsewhere, where slopes along it are less.
_STRAIGHT, _DRAWS = 10 * _RANK_TOLERANCE, 2


def windows_parametrization(parameters, sensors, priors, fixed=None, wrenches=()):
    """
    Return the parametrization for estimation by windows, in which dissipation is positive.

    Every fit goes through all windows again, so that coordinates may bend. Arguments as of
    `choose_parametrization`.
    """
    delays = {name: prior for name, prior in priors.items() if is_delay(name)}
    physical = {name: prior for name, prior in priors.items() if not is_delay(name)}
    soft = frozenset(name for name in physical if is_dissipation(name) and physical[name].mean > 0)
    direct, inputs = DirectParametrization(physical, fixed, soft=soft), (None, wrenches)
    parametrization = _physical_parametrization(parameters, sensors, direct, inputs)
    return TimedParametrization(parametrization, delays) if delays else parametrization


def choose_parametrization(
    parameters, sensors, priors, fixed=None, driven=None, few=_FEW, wrenches=()
):
    """
    Return the parametrization of the unknown parameters.

    priors: name to `Prior`, delays included; fixed: name to float of others; driven: for every
    command whether it acts and is known (None: all); wrenches: `LinkWrench`es, which are known.
    Where data can tell all parameters apart they are estimated as they are, else those
    combinations of them that it can; where these are more than a few, those in which torques are
    linear. Delays stay as they are.
    """
    delays = {name: prior for name, prior in priors.items() if is_delay(name)}
    physical = {name: prior for name, prior in priors.items() if not is_delay(name)}
    straight = straight_losses(priors)
    inputs = driven, wrenches
    parametrization = _physical_parametrization(
        parameters, sensors, DirectParametrization(physical, fixed, straight), inputs
    )
    linear = (
        linear_chart(parametrization.inner, parameters)
        if len(parametrization.labels) > few
        else None
    )
    if linear:
        parametrization = _physical_parametrization(parameters, sensors, linear, inputs)
    return TimedParametrization(parametrization, delays) if delays else parametrization


def torque_parametrization(parameters, priors, fixed, bodies, are_seen=False):
    """
    Return the parametrization of a robot with measured torques, linear in all parameters.

    Nothing is left out that torques cannot tell: the prior keeps it where it is. bodies: link ->
    prior of its ten numbers as one; are_seen: whether poses of links are measured, in whose
    places lengths are linear.
    """
    delays = {name: prior for name, prior in priors.items() if is_delay(name)}
    physical = {name: prior for name, prior in priors.items() if not is_delay(name)}
    if are_seen:
        physical = {name: _in_place(name, prior) for name, prior in physical.items()}
    direct = DirectParametrization(physical, fixed, frozenset(filter(is_dissipation, physical)))
    usual = {
        link: body
        for link, body in bodies.items()
        if all(not priors[n].is_log for n in parameters.inertial_names(link) if n in priors)
    }
    parametrization = linear_chart(direct, parameters, usual) or direct
    return TimedParametrization(parametrization, delays) if delays else parametrization


def poses_parametrization(priors, fixed=None):
    """
    Return the parametrization of a robot of which poses tell the kinematics: of all parameters.

    Nothing is left out that poses cannot tell: the prior keeps it where it is.
    """
    delays = {name: prior for name, prior in priors.items() if is_delay(name)}
    physical = {n: _in_place(n, prior) for n, prior in priors.items() if not is_delay(n)}
    direct = DirectParametrization(physical, fixed)
    return TimedParametrization(direct, delays) if delays else direct


def _in_place(name, prior):
    """Return the `Prior` of a parameter where poses are seen, to which lengths are linear."""
    return _straight(prior) if name.endswith('.length') else prior


def _straight(prior):
    """Return a `Prior` that is none of logarithms: about the same value, and as wide there."""
    if not prior.is_log:
        return prior
    return Prior(prior.mean, prior.sd * abs(prior.mean), False, prior.limits)


def straight_losses(names):
    """
    Return which of the unknown parameters are losses that are not estimated as logarithms.

    Torques are linear in them. Beside friction neither is known when the filter takes over, and
    about the logarithm of what is not known yet a filter is soon sure of a wrong value.
    """
    if not any(name.endswith('.friction') for name in names):
        return frozenset()
    return frozenset(filter(is_dissipation, names))


def _physical_parametrization(parameters, sensors, inner, inputs):
    """Return the parametrization of the parameters of the model; inputs: (driven, wrenches)."""
    driven, wrenches = inputs
    if driven is None:
        driven = [True] * len(parameters.model.commands)
    state_coordinates = StateCoordinates(parameters.model)
    responses = Responses(parameters, sensors, inner, state_coordinates, driven, wrenches)
    root = inner.prior.root
    slopes = responses.slopes(inner.prior.mean[:, None])[1][0] @ root
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    if sizes[0] < _NOTHING:
        raise ConfigError(
            'estimate: no motion of the robot tells anything of these parameters; where all '
            'joints are driven, say in joints.JOINT.effort which efforts are measured, commanded '
            'or none'
        )
    rank = int((sizes > _RANK_TOLERANCE * sizes[0]).sum())
    if rank == len(inner.names) or _more_is_told_elsewhere(rank, inner, responses):
        return inner
    seen = directions[:rank].T
    combinations = _readable(seen, inner)
    basis = root @ seen @ np.linalg.inv(combinations @ root @ seen)
    labels = [_label(row, inner.labels) for row in combinations]
    unseen = root @ directions[rank:].T / sizes[0]
    is_straight = inner.apart is not inner and _leads_nowhere(unseen, inner, responses)
    return SliceParametrization(inner, basis, labels, combinations, responses, is_straight)


def _more_is_told_elsewhere(rank, inner, responses):
    """
    Tell whether it is by chance that data cannot tell more than `rank` directions at the mean.

    As of a marker that by its prior sits where the axes of the wrist meet: turning these would
    move it nowhere, but it sits somewhere else. There no combinations can be chosen at the mean.
    """
    draw = inner.offsets(1, np.random.default_rng(0)) + inner.prior.mean[:, None]
    sizes = np.linalg.svd(responses.slopes(draw)[1][0] @ inner.prior.root, compute_uv=False)
    return int((sizes > _CLEARLY_TOLD * sizes[0]).sum()) > rank


def _leads_nowhere(unseen, inner, responses):
    """
    Tell whether directions that data cannot tell at the prior's mean are so at draws of it.

    unseen [p, r]: as long as what is told best there changes responses by one.
    """
    draws = inner.offsets(_DRAWS, np.random.default_rng(0)) + inner.prior.mean[:, None]
    return bool(np.abs(responses.slopes(draws)[1] @ unseen).max(initial=0.0) < _STRAIGHT)


def _readable(seen, inner):
    """
    Return what is identifiable as combinations [rank, p] of the coordinates.

    Each has one leading coordinate that no other combination has; the leaders are chosen by
    pivoting, so that they are as independent as can be.
    """
    root = inner.prior.root
    left, leaders = seen.T.copy(), []
    if inner.apart is not inner:
        # Of coordinates that hang together beforehand, by their standard deviations.
        left = left @ np.linalg.inv(root) * inner.deviations
    for _ in range(left.shape[0]):
        told = (left**2).sum(0)
        leaders.append(int(np.flatnonzero(told >= (1 - _ALIKE) * told.max())[0]))
        column = left[:, leaders[-1]] / np.linalg.norm(left[:, leaders[-1]])
        left = left - np.outer(column, column @ left)
    functionals = seen.T @ np.linalg.inv(root)
    return np.linalg.solve(functionals[:, leaders], functionals)


def _label(row, labels):
    """Return a combination as text: the leader first, small shares left out."""
    shares = sorted(zip(row, labels), key=lambda pair: abs(pair[0] - 1.0) > 1e-9)
    parts = []
    for share, label in shares:
        if abs(share) < _SMALL_SHARE:
            continue
        factor = '' if abs(abs(share) - 1) < _SMALL_SHARE else f'{abs(share):.2g} '
        sign = ('' if share > 0 else '-') if not parts else (' + ' if share > 0 else ' - ')
        parts.append(f'{sign}{factor}{label}')
    return ''.join(parts)
