"""Derivatives of rollouts whose columns have different numbers of steps."""

import numpy as np

from ..backend.base import RolloutInputs, StepDerivatives

# Fewer columns are not worth a call of their own.
_FEW = 16


def uneven_jacobian(backend, inputs, counts):
    """
    Return the `StepDerivatives` of `RolloutInputs` as NumPy arrays.

    counts [B]: how many steps each column has, after which all are of no length; derivatives by
    these are left at zero. One column with many steps is not to make many of all.
    """
    limit = max(1, int(np.median(counts)))
    if 2 * limit > inputs.steps or inputs.batch <= _FEW or len(counts) < inputs.batch:
        return backend.jacobian_arrays(inputs)
    groups = [np.flatnonzero(counts <= limit), np.flatnonzero(counts > limit)]
    parts = []
    for which in (group for group in groups if len(group)):
        picked = _picked(inputs, which, counts[which].max(initial=limit))
        parts.append((which, uneven_jacobian(backend, picked, counts[which])))
    return _joined(parts, inputs)


def _picked(inputs, which, steps):
    """Return the inputs of some columns for so many steps."""
    arrays = inputs.state, inputs.parameters, inputs.controls[:steps], inputs.durations[:steps]
    return RolloutInputs(*(a if a.shape[-1] == 1 else a[..., which] for a in arrays))


def _joined(parts, inputs):
    """Return the `StepDerivatives` of all columns from [(which, those of some)]."""
    size, steps, controls = inputs.state.shape[0], inputs.steps, inputs.controls.shape[1]
    rows = inputs.batch, size
    state, by_state = np.empty((size, inputs.batch)), np.empty((*rows, size))
    by_parameters = np.empty((*rows, inputs.parameters.shape[0]))
    by_durations, by_controls = np.zeros((*rows, steps)), np.zeros((*rows, steps, controls))
    for which, found in parts:
        taken = found.by_durations.shape[-1]
        state[:, which] = found.state
        by_state[which], by_parameters[which] = found.by_state, found.by_parameters
        by_durations[which, :, :taken] = found.by_durations
        by_controls[which, :, :taken] = found.by_controls
    return StepDerivatives(state, by_state, by_parameters, by_durations, by_controls)
