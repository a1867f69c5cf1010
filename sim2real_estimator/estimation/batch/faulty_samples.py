"""
Faulty samples in the first fits, while nothing is known yet of the robot.

They are told apart by a robust fit, in which samples that are far off lose their weight; the
window is then fitted without them.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from ..filter.gating import with_only
from ..noise import StudentNoise
from .fit import fit, Objective

# Rounds of telling samples apart, and the probability with which noise puts one farther off.
_ROUNDS, _IMPROBABLE = 4, 1e-6
# A sensor of which more than this share is left out was not faulty for a while: a model that does
# not fit is the likelier reason.
_WHILE = 0.5


@dataclass(frozen=True)
class CleanedFit:
    """
    A fit of a window without faulty samples.

    objective: of the others; fits: that noise explains; wrong: `sample_key`s of faulty samples;
    is_while: whether most samples of every sensor are used.
    """

    objective: Objective
    fits: object
    wrong: frozenset
    is_while: bool


def sample_key(sample):
    """Return the identity of a sample: sensor and original stamp, however it is restamped."""
    return sample.sensor, sample.stamp_ns + sample.moved_ns


def without_samples(frames, wrong):
    """Return frames without the samples of these `sample_key`s."""
    if not wrong:
        return frames
    wrong = frozenset(wrong)
    return tuple(with_only(f, lambda sample: sample_key(sample) not in wrong) for f in frames)


def fit_without_faulty(problem, window, noise, guesses, merge):
    """
    Return the `CleanedFit` of a window, None where no fit explains the other samples.

    guesses: sets of initial guesses (offsets [t, K], parameters [p, K]), each tried if those
    before have failed.
    """
    robust = Objective(problem, window, StudentNoise())
    for offsets, parameters in guesses:
        found = fit(robust, offsets, parameters, merge=merge)
        if not np.isfinite(found.costs).any():
            continue
        found, before = found.pick([int(np.argmin(found.costs))]), None
        for _ in range(_ROUNDS):
            wrong = faulty_samples(problem, window, found)
            if wrong is None or wrong == before:
                break
            rest = replace(window, frames=without_samples(window.frames, wrong))
            if not any(frame.samples for frame in rest.frames):
                break
            objective, before = Objective(problem, rest, noise), wrong
            found = fit(objective, found.offsets, found.parameters)
            if objective.is_explained_by(found):
                return CleanedFit(objective, found, wrong, _is_while(window.frames, wrong))
    return None


def faulty_samples(problem, window, fits):
    """Return the `sample_key`s far off the best fit of a window, None if that is not finite."""
    best, wrong = fits.pick([int(np.argmin(fits.costs))]), set()
    if not np.isfinite(best.costs).all():
        return None
    points = problem.retract(window.point[:, None], best.offsets)
    with np.errstate(all='ignore'):
        states = problem.trajectory(points, best.parameters, window.frames)
    if not np.isfinite(states).all():
        return None
    for k, frame in enumerate(window.frames):
        if not frame.samples:
            continue
        rows = problem.residuals(states[k : k + 2], best.parameters, (frame,))[0]
        numbers = problem.row_samples(frame)
        for number, (_, sample) in enumerate(problem.in_rows(frame)):
            own = rows[numbers == number]
            if not (own**2).sum() < chdtri(len(own), _IMPROBABLE):
                wrong.add(sample_key(sample))
    return frozenset(wrong)


def _is_while(frames, wrong):
    """Tell whether most samples of every sensor are used."""
    samples = [sample for frame in frames for sample in frame.samples]
    for name in {sample.sensor for sample in samples}:
        own = [sample_key(sample) in wrong for sample in samples if sample.sensor == name]
        if sum(own) > _WHILE * len(own):
            return False
    return True
