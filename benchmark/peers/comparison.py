"""Gradients of the workload side by side: checked first, then timed."""

from functools import partial

import numpy as np

from .limit import build_limit, LARGEST_FORWARD
from .mujoco_rods import build_mujoco
from .pinocchio_rods import build_pinocchio, DIFFERENCES, SENSITIVITIES
from .timing import Row, set_torch_threads
from .workload import central_differences

LIMIT = 'C++ limit (reverse)'
MUJOCO = 'MuJoCo, finite differences'
PINOCCHIO = 'Pinocchio aba, finite differences'
_TOLERANCE = 1e-6
_LOOSE = {MUJOCO: 1e-4, PINOCCHIO: 1e-4}


def peers_of(work):
    """Return name -> function that builds the row's function, for all that know the workload."""
    builders = {LIMIT: partial(build_limit, work)}
    if work.chain.count * len(work.theta) <= LARGEST_FORWARD:
        builders['C++, forward sensitivities'] = partial(build_limit, work, 'forward')
    builders[MUJOCO] = partial(build_mujoco, work)
    if work.chain.balls:
        builders[PINOCCHIO] = partial(build_pinocchio, work, DIFFERENCES)
        builders['Pinocchio computeABADerivatives'] = partial(build_pinocchio, work, SENSITIVITIES)
    return builders


def checked_rows(work, builders):
    """
    Return (rows that may be timed, names of wrong ones, notes).

    A row is right if loss and gradient agree with those of the limit, and the limit's with
    NumPy's central differences; without a compiler, all with the latter.
    """
    rows, wrong, notes = [], [], []
    reference = central_differences(work)
    for name, build in builders.items():
        try:
            run = build()
        except (ImportError, RuntimeError) as error:
            notes.append(f'{name}: not run, {error}')
            continue
        set_torch_threads(work.threads)
        found = run()
        error = largest_error(found, reference)
        if not error < _LOOSE.get(name, _TOLERANCE):
            wrong.append(name)
            notes.append(f'{name}: WRONG by {error:.0e}, not timed')
            continue
        if name == LIMIT:
            reference = found
        rows.append(Row(name, run, error))
    return rows, wrong, notes


def largest_error(found, reference):
    """Return the error of a (loss, gradient), of the gradient relative to its largest entry."""
    (loss, gradient), (true_loss, true_gradient) = found, reference
    scale = max(1.0, np.abs(true_gradient).max())
    return max(np.abs(loss - true_loss).max(), np.abs(gradient - true_gradient).max() / scale)
