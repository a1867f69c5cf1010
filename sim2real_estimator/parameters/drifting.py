"""Kinds of parameters that drift together, and their relative rates."""

import numpy as np

from ..model.parameters import is_dissipation, is_of_mass, is_strength
from .delays import COMMAND_DELAY, is_delay, joint_delays

# Relative step of a one-sided difference.
_LITTLE = 1e-4


def drifting(parametrization, model):
    """
    Return kind -> root [p, r] of the covariance of coordinates whose kind changes by its own size.

    dissipation: damping and friction; efforts: gains of actuators; clocks: delays of sensors, by
    one second; others. If no gain is estimated, 'efforts' is a common change of all masses and
    inertias, since a robot with larger gains moves like a lighter one.
    """
    clocks = [name for name in parametrization.names if is_delay(name)]
    if clocks:
        of_commands = (COMMAND_DELAY, *joint_delays(model).values())
        clocks = [name for name in clocks if name not in of_commands]
    kinds = np.array([_kind(name, clocks) for name in parametrization.names])
    root = parametrization.relative_root
    found = {kind: root[:, kinds == kind] for kind in ('dissipation', 'efforts', 'others')}
    if clocks:
        found['clocks'] = np.eye(len(parametrization.labels))[
            :, [parametrization.labels.index(n) for n in clocks]
        ]
    if model.commands and not found['efforts'].size:
        found['efforts'] = _lighter(parametrization, model)
    return found


def _kind(name, clocks):
    """Return the kind of a parameter; clocks: names of the delays of sensors."""
    if is_dissipation(name):
        return 'dissipation'
    if is_strength(name):
        return 'efforts'
    return 'clocks' if name in clocks else 'others'


def _lighter(parametrization, model):
    """Return the coordinates' change [p, 1] per relative change of all that is a mass."""
    inner = parametrization.inner
    mean = inner.prior.mean[:, None]
    # Coefficients of friction between links stay as they are, whatever the links weigh.
    coefficients = {f'{pair.name}.friction' for pair in model.contacts}
    weighs = np.array([is_of_mass(n) and n not in coefficients for n in inner.names])[:, None]
    values = inner.to_named(mean) * (1 + _LITTLE * weighs)
    return parametrization.combinations @ (inner.from_named(values) - mean) / _LITTLE
