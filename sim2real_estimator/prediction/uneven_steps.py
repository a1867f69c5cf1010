"""Derivatives of rollouts whose columns have different numbers of steps."""

import numpy as np

from ..backend.base import RolloutInputs, StepDerivatives

# Fewer columns are not worth a call of their own.
_FEW = 16


def uneven_jacobian(backend, inputs, slopes):
    """
    Return the `StepDerivatives` of `RolloutInputs` as NumPy arrays.

    slopes: (row of a delay, derivative of the durations by it). One column with many steps is not
    to make many of all: derivatives by those after its last, of no length, are left at zero.
    """
    if inputs.batch <= _FEW or inputs.durations.shape[1] < inputs.batch:
        return backend.jacobian_arrays(inputs)
    return _by_lengths(backend, inputs, _counts(inputs.durations, slopes))


def _by_lengths(backend, inputs, counts):
    """Return the same; counts [B]: how many steps each column has."""
    limit = max(1, int(np.median(counts)))
    if 2 * limit > inputs.steps or inputs.batch <= _FEW:
        return backend.jacobian_arrays(inputs)
    groups = [np.flatnonzero(counts <= limit), np.flatnonzero(counts > limit)]
    parts = []
    for which in (group for group in groups if len(group)):
        picked = _picked(inputs, which, counts[which].max(initial=limit))
        parts.append((which, _by_lengths(backend, picked, counts[which])))
    return _joined(parts, inputs)


def _counts(durations, slopes):
    """Return after how many steps [B] all are of no length, and would be by other delays."""
    is_step = durations != 0
    for _, slope in slopes:
        is_step = is_step | (slope != 0)
    numbers = np.arange(1, 1 + len(durations))[:, None]
    return (is_step * numbers).max(0, initial=0)


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
