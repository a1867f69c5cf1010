"""A saved posterior as an identification without recordings."""

from datetime import datetime, timezone

import numpy as np

from ...observability.findings import find
from ...posterior.file import package_version
from .result import Course, HeldOut, Identification, LearnedNoise, Provenance


def identification_of(problem, posterior):
    """Return the `Identification` of a `Posterior` alone: what its file holds, the rest empty."""
    findings = posterior.findings or find(problem, posterior.mixture, 0, exact=False)
    identity = posterior.identity
    names = tuple(each.name for each in findings.parameters)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, len(names)))
    units = tuple(problem.parameters.unit(name) for name in names)
    provenance = Provenance(
        posterior.config,
        identity['model_hash'],
        identity['estimator']['seed'],
        package_version(),
        '',
        {},
        f'{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S+00:00}',
    )
    return Identification(
        problem,
        posterior,
        findings,
        Course(names, units, none, nothing, nothing, (), (), nothing[:, 0], none, none),
        (),
        HeldOut((), 0.0, 0.0, 0.0, none, none, (), 'a saved posterior comes without recordings'),
        (),
        provenance,
        len(posterior.recordings) > 1 and posterior.run is None,
        {},
        LearnedNoise.of(problem, posterior.run and posterior.run['state']),
    )
