"""Online estimation of a robot's physical parameters, with an uncertainty one can believe."""

import importlib

from .version import __version__ as __version__

# The public names and where they live. They are imported when first used, so that commands
# which need no torch start at once.
_PUBLIC = {
    'ConfigError': 'errors',
    'Coordinates': 'model.coordinates',
    'DataError': 'errors',
    'EstimatorError': 'errors',
    'Model': 'model.tree',
    'ModelError': 'errors',
    'Parameters': 'model.parameters',
    'Pipeline': 'pipeline',
    'Sample': 'records',
    'Simulator': 'backend.simulator',
    'identify': 'offline.identification.run',
    'identify_arrays': 'offline.arrays',
    'load_config': 'config',
    'load_urdf': 'model.urdf.load',
}

__all__ = sorted([*_PUBLIC, '__version__'])


def __getattr__(name):
    """Import a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f'.{_PUBLIC[name]}', __name__), name)


def __dir__():
    """List the public names."""
    return __all__
