"""The choice of a parametrization for each estimator, and of its observable directions."""

import numpy as np

from ..errors import ConfigError
from ..model.parameters import is_dissipation
from ..model.state_coordinates import StateCoordinates
from .delays import is_delay
from .linear_parametrization import linear_parametrization
from .parametrization import (
    DirectParametrization,
    Prior,
    SliceParametrization,
    TimedParametrization,
)
from .responses import Responses

# Singular values below this part of the largest count as zero. Angles of a URDF that are rounded
# to eleven digits cause values of 5e-6, of directions that are unobservable.
_RANK_TOLERANCE = 1e-5
# Singular values above this part of the largest are neither rounding nor curvature.
_CLEARLY_OBSERVABLE = 1e-4
# If all slopes by prior standard deviations are below this, nothing is observable.
_NOTHING = 1e-12
_SMALL_SHARE = 0.005
# With more unknowns than this, bodies are estimated by parameters that torques are linear in: some
# combinations of so many logarithms are curved within their uncertainty. Few are soon known well.
_FEW = 16
# Leading coordinates that are as observable but for this relative difference count as equal, as of
# identical fingers: the difference is rounding, which depends on the machine.
_EQUAL = 1e-6
# The null space at the prior mean is the same elsewhere if responses change less than this along
# it, at so many draws.
_STRAIGHT, _DRAWS = 10 * _RANK_TOLERANCE, 2


def windows_parametrization(parameters, sensors, priors, fixed=None, wrenches=()):
    """
    Return the parametrization for estimation by windows, in which dissipation is positive.

    Every fit linearizes all windows anew, so coordinates may be nonlinear. Arguments as of
    `choose_parametrization`.
    """
    physical, delays = _apart(priors)
    soft = frozenset(name for name in physical if is_dissipation(name) and physical[name].mean > 0)
    direct, inputs = DirectParametrization(physical, fixed, soft=soft), (None, wrenches)
    parametrization = _physical_parametrization(parameters, sensors, direct, inputs)
    return _with_delays(parametrization, delays)


def choose_parametrization(
    parameters, sensors, priors, fixed=None, known_commands=None, few=_FEW, wrenches=()
):
    """
    Return the parametrization of the unknown parameters.

    priors: name -> `Prior`, delays included; fixed: name -> value of others; known_commands: for
    every command whether it acts and is known (None: all); wrenches: measured `LinkWrench`es. If
    all parameters are observable they are the coordinates, else their observable combinations; if
    there are more than `few`, of parameters that torques are linear in. Delays are coordinates.
    """
    physical, delays = _apart(priors)
    straight = linear_dissipation(priors)
    inputs = known_commands, wrenches
    parametrization = _physical_parametrization(
        parameters, sensors, DirectParametrization(physical, fixed, straight), inputs
    )
    linear = (
        linear_parametrization(parametrization.inner, parameters)
        if len(parametrization.labels) > few
        else None
    )
    if linear:
        parametrization = _physical_parametrization(parameters, sensors, linear, inputs)
    return _with_delays(parametrization, delays)


def torque_parametrization(parameters, priors, fixed, bodies, are_seen=False):
    """
    Return the parametrization of a robot with measured torques, linear in all parameters.

    Unobservable directions are kept, with the prior. bodies: link -> joint prior of its ten
    inertial parameters; are_seen: whether poses of links are measured, linear in lengths.
    """
    physical, delays = _apart(priors)
    if are_seen:
        physical = {name: _in_place(name, prior) for name, prior in physical.items()}
    direct = DirectParametrization(physical, fixed, frozenset(filter(is_dissipation, physical)))
    usual = {
        link: body
        for link, body in bodies.items()
        if all(not priors[n].is_log for n in parameters.inertial_names(link) if n in priors)
    }
    parametrization = linear_parametrization(direct, parameters, usual) or direct
    return _with_delays(parametrization, delays)


def pose_parametrization(priors, fixed=None):
    """
    Return the parametrization of all parameters, for kinematic calibration from poses.

    Unobservable directions are kept, with the prior.
    """
    physical, delays = _apart(priors)
    physical = {name: _in_place(name, prior) for name, prior in physical.items()}
    return _with_delays(DirectParametrization(physical, fixed), delays)


def _apart(priors):
    """Return (priors of the parameters of the model, priors of delays), by name."""
    delays = {name: prior for name, prior in priors.items() if is_delay(name)}
    return {name: prior for name, prior in priors.items() if name not in delays}, delays


def _with_delays(parametrization, delays):
    """Return a parametrization with the delays, if any, as coordinates of their own."""
    return TimedParametrization(parametrization, delays) if delays else parametrization


def _in_place(name, prior):
    """Return the `Prior` of a parameter if poses are measured, which are linear in lengths."""
    return _straight(prior) if name.endswith('.length') else prior


def _straight(prior):
    """Return the normal `Prior` about the same value, with the same relative deviation."""
    if not prior.is_log:
        return prior
    return Prior(prior.mean, prior.sd * abs(prior.mean), False, prior.limits)


def linear_dissipation(names):
    """
    Return the names of damping and friction whose coordinates are values, not logarithms.

    Torques are linear in them. If both are estimated neither is well known at the switch from
    batch to filter, and a filter becomes overconfident in a logarithm that is not known well.
    """
    if not any(name.endswith('.friction') for name in names):
        return frozenset()
    return frozenset(filter(is_dissipation, names))


def _physical_parametrization(parameters, sensors, inner, inputs):
    """Return the parametrization of the model's parameters; inputs: (known_commands, wrenches)."""
    known_commands, wrenches = inputs
    if parameters.model.contacts:
        # What contact tells depends on what touches what, which random states do not say: half of
        # them are deep in the ground. Data decide, and what they do not tell stays at the prior.
        return inner
    if known_commands is None:
        known_commands = [True] * len(parameters.model.commands)
    state_coordinates = StateCoordinates(parameters.model)
    responses = Responses(parameters, sensors, inner, state_coordinates, known_commands, wrenches)
    root = inner.prior.root
    slopes = responses.slopes(inner.prior.mean[:, None])[1][0] @ root
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    if sizes[0] < _NOTHING:
        raise ConfigError(
            'estimate: no motion of the robot tells anything of these parameters; where all '
            'joints are actuated, say in joints.JOINT.effort which efforts are measured, '
            'commanded or none'
        )
    rank = int((sizes > _RANK_TOLERANCE * sizes[0]).sum())
    if rank == len(inner.names) or _is_more_observable_elsewhere(rank, inner, responses):
        return inner
    observable = directions[:rank].T
    combinations = _readable(observable, inner)
    basis = root @ observable @ np.linalg.inv(combinations @ root @ observable)
    labels = [_label(row, inner.labels) for row in combinations]
    null_space = root @ directions[rank:].T / sizes[0]
    is_straight = inner.apart is not inner and _is_constant(null_space, inner, responses)
    return SliceParametrization(inner, basis, labels, combinations, responses, is_straight)


def _is_more_observable_elsewhere(rank, inner, responses):
    """
    Tell whether more than `rank` directions are observable away from the prior mean.

    So it is for a marker whose prior mean is where the axes of a wrist intersect: rotations about
    them do not move it there. Then no combinations can be chosen at the mean.
    """
    draw = inner.offsets(1, np.random.default_rng(0)) + inner.prior.mean[:, None]
    sizes = np.linalg.svd(responses.slopes(draw)[1][0] @ inner.prior.root, compute_uv=False)
    return int((sizes > _CLEARLY_OBSERVABLE * sizes[0]).sum()) > rank


def _is_constant(null_space, inner, responses):
    """
    Tell whether the null space at the prior mean is also that at draws of the prior.

    null_space [p, r]: in units in which the best observable direction changes responses by one.
    """
    draws = inner.offsets(_DRAWS, np.random.default_rng(0)) + inner.prior.mean[:, None]
    return bool(np.abs(responses.slopes(draws)[1] @ null_space).max(initial=0.0) < _STRAIGHT)


def _readable(observable, inner):
    """
    Return the observable directions as combinations [rank, p] of the coordinates.

    Each has one leading coordinate that no other combination has; the leaders are chosen by
    pivoting (as in QR), so that they are as independent as possible.
    """
    root = inner.prior.root
    left, leaders = observable.T.copy(), []
    if inner.apart is not inner:
        # Coordinates that are correlated a priori are scaled by their standard deviations.
        left = left @ np.linalg.inv(root) * inner.deviations
    for _ in range(left.shape[0]):
        squares = (left**2).sum(0)
        leaders.append(int(np.flatnonzero(squares >= (1 - _EQUAL) * squares.max())[0]))
        column = left[:, leaders[-1]] / np.linalg.norm(left[:, leaders[-1]])
        left = left - np.outer(column, column @ left)
    functionals = observable.T @ np.linalg.inv(root)
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
