"""Backends: one member each, and this table. A new one is a new file and a new line."""

from .base import AbstractBackend, LOSSES, Sensitivities, StepDerivatives
from .eager import EagerBackend
from .native.backend import NativeBackend

# In order of preference.
BACKENDS = {
    'native': NativeBackend,
    'eager': EagerBackend,
}

__all__ = ['BACKENDS', 'LOSSES', 'AbstractBackend', 'Sensitivities', 'StepDerivatives']
