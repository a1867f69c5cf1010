"""
Whether parameters agree with least squares that have no prior and their own standard errors.

Least squares on all data at once, with the columns of ours, tell some directions of the
parameters and others not at all: the armature of a first joint only together with inertias. So of
every parameter the part is compared that they tell: directions in which their standard error is
below the deviation of our prior (generalised eigenvectors of both), of which the parameter is a
sum. A parameter of which they tell less than half of the prior's variance is left out. The prior
chooses what is compared, and does not enter what least squares say of it. As no rotor has an
inertia below zero, and no joint such friction, an estimate that has is read as zero, with its
standard error; what least squares say themselves is told beside.

Both read the same data: their difference varies by less than the sum of both variances, by which
it is divided here. That is lenient: a large score is a fault, a small one no proof.
"""

from dataclasses import dataclass

import numpy as np
from peers.least_squares import design, fit
from scipy.signal import fftconvolve

from sim2real_estimator.observability.null_space import mending, physical_draws

from .ours import columns_of, ours
from .prediction import motion_of
from .recordings import panda, tiago, tx40, ur10e, UR_FREE
from .torque import arm_of

# Of these every parameter of the TX40 and the Panda has to agree.
WANTED = ('armature', 'damping', 'friction')
# So much of the prior's variance of a parameter has to be told by least squares.
_TOLD = 0.5
# Residuals are correlated for so long [s], with weights that fall (Newey and West, 1987).
_LAG = 2.0
_DRAWS, WIDTH_95 = 1000, 1.96


@dataclass(frozen=True)
class Compared:
    """
    What least squares tell of a parameter, and what we say of the same.

    verdict: ours on the parameter; ours, theirs, ours_sd, theirs_sd: in its unit, linear about
    our mean; told: the part of the prior's variance that least squares tell.
    """

    name: str
    verdict: str
    ours: float
    ours_sd: float
    theirs: float
    theirs_sd: float
    told: float

    @property
    def is_wanted(self):
        """Whether it is an armature or friction."""
        return self.name.rpartition('.')[2].removeprefix('coupled_') in WANTED

    @property
    def is_below(self):
        """Whether least squares say what no robot has, as sure as an interval of 95 %."""
        return self.is_wanted and self.theirs < -WIDTH_95 * self.theirs_sd

    @property
    def plain_score(self):
        """The difference over the root of the sum of both variances."""
        return (self.ours - self.theirs) / float(np.hypot(self.ours_sd, self.theirs_sd))

    @property
    def score(self):
        """The same, of least squares that say what a robot may have."""
        return self._difference / float(np.hypot(self.ours_sd, self.theirs_sd))

    @property
    def is_outside(self):
        """Whether both 95 % intervals have nothing in common."""
        return abs(self._difference) > WIDTH_95 * (self.ours_sd + self.theirs_sd)

    @property
    def _difference(self):
        return self.ours - (max(self.theirs, 0.0) if self.is_wanted else self.theirs)


def sets(data, shared):
    """Return (robot -> its `Recording`s, nothing in hand, robot -> why it is left out)."""
    found, missing = {}, {}
    for title, read in _SETS.items():
        try:
            found[title] = read(data, shared)
        except OSError as error:
            missing[title] = str(error)
    return found, missing


def agree(recording, adjust=None):
    """Return the `Compared` of all parameters of which least squares tell enough."""
    run = ours(recording, adjust=adjust)
    inner, prior = run.problem.parametrization.inner, run.problem.parametrization.inner.prior
    estimate, covariance, vectors = _least_squares(run)
    draws = _draws(run)
    mean = draws.mean(1)
    away = np.linalg.solve(prior.root, draws - prior.mean[:, None])
    # Values by coordinates in which the prior is a standard normal distribution.
    values, slopes = inner.expanded(mean[:, None])
    verdicts = {each.name: each.verdict for each in run.pipeline.findings().parameters}
    found = []
    for name, value, slope in zip(inner.names, values[:, 0], slopes[0] @ prior.root):
        along = vectors.T @ slope
        told = along @ along / (slope @ slope)
        mine = (vectors @ along) @ away
        theirs = value + along @ estimate - mine.mean()
        numbers = value, mine.std(), theirs, np.sqrt(along @ covariance @ along), told
        if told > _TOLD:
            found.append(Compared(name, verdicts[name], *map(float, numbers)))
    return found


def _draws(run):
    """Return draws [P, N] of what we report: of bodies and losses that can be."""
    problem, mixture = run.problem, run.pipeline.mixture
    generator = np.random.default_rng(0)
    coordinates = mixture.draw(_DRAWS, generator)
    mend = mending(problem, mixture)
    return physical_draws(problem.parametrization, coordinates, generator, mend=mend)


def _least_squares(run):
    """
    Return what least squares tell, in standard deviations of the prior from its mean.

    As (estimate [d], covariance [d, d]) along d orthonormal vectors [P, d], the directions that
    they tell. Friction that goes with load takes the bodies from a first pass.
    """
    recording, prior = run.recording, run.problem.parametrization.inner.prior
    robot, known, motion = recording.robot, recording.known, motion_of(recording)
    terms, widths, at_mean, slopes = columns_of(run)
    model, slopes, columns = arm_of(robot.urdf, robot.joints), slopes @ prior.root, at_mean
    for _ in range(2):
        bodies = columns[: 10 * len(robot.joints)]
        full = design(model, motion.kinematics, terms, widths, robot.couple, bodies)[:, known]
        matrix, tau = full @ slopes, motion.tau[:, known] - full @ at_mean
        found = fit(matrix, tau)
        columns = at_mean + slopes @ found
    lags = int(_LAG / np.median(np.diff(motion.t)))
    information, squares = information_of(matrix, tau - matrix @ found, lags)
    # A generalised inverse of directions about which there is anything; then those told.
    values, vectors = np.linalg.eigh(information)
    vectors, values = vectors[:, values > 1], values[values > 1]
    covariance = (vectors / values).T @ squares @ (vectors / values)
    sizes, turned = np.linalg.eigh(covariance)
    vectors = vectors @ turned[:, sizes < 1]
    return vectors.T @ found, np.diag(sizes[sizes < 1]), vectors


def information_of(matrix, residuals, lags):
    """
    Return (information [p, p] of white residuals, covariance [p, p] of the gradient).

    Of least squares weighted by residuals [N, n], whose inverse and the second between two of it
    are its covariance. The second is of residuals of every joint that are stationary, independent
    of the motion, and correlated over so many lags.
    """
    count, n, size = matrix.shape
    information, squares = np.zeros((2, size, size))
    weights = np.concatenate([np.arange(1, lags + 1), np.arange(lags + 1, 0, -1)]) / (lags + 1)
    for rows, left in zip(matrix.transpose(1, 0, 2), residuals.T):
        rows, left = rows / left.std(), left / left.std()
        both_ways = fftconvolve(left, left[::-1])
        correlation = both_ways[count - 1 - lags : count + lags] * weights / count
        information += rows.T @ rows
        squares += rows.T @ fftconvolve(rows, correlation[:, None], mode='same', axes=0)
    return information, (squares + squares.T) / 2


_SETS = {
    'UR10e': lambda data, _: list(ur10e(data, UR_FREE).values()),
    'Panda': lambda data, _: [panda(data)],
    'TX40': lambda _, shared: [tx40(shared)],
    'TIAGo': lambda data, shared: [tiago(data, shared)],
}
