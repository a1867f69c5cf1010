"""Where a result comes from."""

from datetime import datetime, timezone
from importlib import metadata

from ...backend.choice import choose_backend
from ...posterior.identity import describe
from .result import Provenance

# Numbers hang on these.
_LIBRARIES = ('casadi', 'llvmlite', 'numpy', 'rosbags', 'scipy', 'torch')


def versions():
    """Return name -> version of this package and of the libraries that numbers hang on."""
    return {name: _version(name) for name in ('sim2real_estimator', *_LIBRARIES)}


def provenance_of(pipeline, config):
    """Return the `Provenance` of what a pipeline of a `Config` has found."""
    known = versions()
    return Provenance(
        pipeline.config,
        describe(pipeline.problem, pipeline.estimator)['model_hash'],
        config.estimator.seed,
        known.pop('sim2real_estimator'),
        choose_backend(config.simulation.backend).name,
        known,
        datetime.now(timezone.utc).isoformat(timespec='seconds'),
    )


def _version(name):
    """Return the version of a distribution, an empty text where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ''
