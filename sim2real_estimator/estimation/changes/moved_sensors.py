"""
Sensors that may have been moved on their link, or whose clock is another: where they are now.

A sensor that has been rejected for long is asked about: one smoother over the last frames, in
which nothing but its pose and delay is unknown, tells whether noise then explains its samples.
"""

from dataclasses import replace

import numpy as np
from scipy.special import chdtri

from ..factors import lower_root
from ..filter.gating import FaultySensor, with_samples
from ..filter.smoother import Smoother, Trajectories
from ..filter.update import measurement_update

# A clock known to no better than this part of the spacing of initial guesses is unknown.
_UNKNOWN = 0.5
# Initial guesses of an unknown delay, in even steps over the middle 95 % of its prior.
_STARTS, _CENTRAL = 8, 1.96
_PASSES = 15
# Probability with which noise exceeds the misfit of samples that are explained.
_IMPROBABLE = 1e-6


def unknown_sensors(problem, mixture):
    """Return the `FaultySensor`s whose clocks a mixture knows too little of for a filter."""
    found = []
    for name, late in problem.late_sensors.items():
        spacing = problem.spacing[int(np.argmax(late))]
        if mixture.along(late)[1] > (_UNKNOWN * spacing) ** 2:
            found.append(FaultySensor(name, is_new=True))
    return tuple(found)


def relocate_sensor(problem, recent, faulty, noise, drift):
    """
    Return the `Mixture` after the last frames with a `FaultySensor` at another pose or delay.

    None where noise does not explain its samples even so. recent: `RecentFrame`s of the frames,
    the first with the mixture before it. The sensor's own parameters get their prior back, all
    else stays known; fits begin at several delays.
    """
    own = [k for k, label in enumerate(problem.labels) if label.startswith(f'{faulty.sensor}.')]
    known, frames = recent[0].mixture, tuple(each.frame for each in recent)
    if not own or known is None:
        return None
    points = _filtered(problem, known, frames, noise, drift)
    if points is None:
        return None
    frames = with_samples(frames, (faulty,))
    best, delays = known.heaviest(), _delays(problem, own)
    parameters = np.repeat(known.means[:, [best]], delays.shape[1], 1)
    parameters[own] = delays
    begins = Trajectories(points[..., [best] * delays.shape[1]], parameters)
    prior = _with_prior_of(problem, known.pick([best] * delays.shape[1]), own)
    found = Smoother(problem, frames, noise, prior, drift).run(begins, _PASSES)
    evidence = np.where(np.isfinite(found.log_evidence), found.log_evidence, -np.inf)
    top = int(np.argmax(evidence))
    if not found.misfits[top] < chdtri(found.rows[top], _IMPROBABLE):
        return None
    parameters = known.means.copy()
    parameters[own] = found.trajectories.parameters[own][:, [top]]
    prior = _with_prior_of(problem, known, own)
    found = Smoother(problem, frames, noise, prior, drift).run(
        Trajectories(points, parameters), _PASSES
    )
    finite = np.flatnonzero(np.isfinite(found.log_evidence) & np.isfinite(found.misfits))
    if not len(finite):
        return None
    mixture = found.mixture.pick(finite)
    top = finite[mixture.heaviest()]
    is_small = found.misfits[top] < chdtri(found.rows[top], _IMPROBABLE)
    return mixture if is_small and mixture.is_finite else None


def _filtered(problem, mixture, frames, noise, drift):
    """Return filtered states [H + 1, nx, K] at frame bounds, None if they are not finite."""
    points = [mixture.points]
    for frame in frames:
        step = measurement_update(problem, mixture, frame, noise, drift)
        if step is None:
            return None
        mixture = step.mixture
        points.append(mixture.points)
    return np.array(points)


def _with_prior_of(problem, mixture, own):
    """Return a mixture in which some coordinates have their prior, independent of all else."""
    size, n = problem.tangent_size, mixture.roots.shape[-1]
    wide = np.zeros((mixture.size, n, n + len(problem.prior.mean)))
    rows = size + np.array(own)
    wide[..., :n] = mixture.roots
    wide[:, rows] = 0.0
    wide[:, rows, n:] = problem.prior.root[own]
    means = mixture.means.copy()
    means[own] = problem.prior.mean[own][:, None]
    weights = np.full(mixture.size, -np.log(mixture.size))
    return replace(mixture, log_weights=weights, means=means, roots=lower_root(wide))


def _delays(problem, own):
    """Return initial guesses [len(own), S], delays in even steps over their prior."""
    mean, sd = problem.prior.mean[own], np.linalg.norm(problem.prior.root[own], axis=1)
    is_wide = 2 * _CENTRAL * sd > problem.spacing[own]
    if not is_wide.any():
        return mean[:, None]
    steps = (2 * np.arange(_STARTS) + 1) / _STARTS - 1
    return mean[:, None] + np.where(is_wide, _CENTRAL * sd, 0.0)[:, None] * steps
