"""Which backend runs: asked for by name, or the fastest that can."""

import logging

from ..errors import ConfigError
from . import BACKENDS

_log = logging.getLogger(__name__)
_said = set()


def choose_backend(name):
    """
    Return the class of a backend.

    name: an entry of BACKENDS, or 'auto' for the first that runs here; why a preferred one does
    not is logged once.
    """
    if name != 'auto' and name not in BACKENDS:
        raise ConfigError(
            f"there is no backend '{name}'; choose 'auto' or one of {', '.join(BACKENDS)}"
        )
    if name != 'auto':
        missing = BACKENDS[name].missing()
        if missing:
            raise ConfigError(f"the backend '{name}' cannot run here: {missing}")
        return BACKENDS[name]
    for candidate in BACKENDS.values():
        missing = candidate.missing()
        if missing is None:
            return candidate
        if candidate.name not in _said:
            _said.add(candidate.name)
            _log.warning(
                "the backend '%s' cannot run here: %s. Going on with a slower one.",
                candidate.name,
                missing,
            )
    raise ConfigError('no backend can run here')
