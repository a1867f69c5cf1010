"""
Least squares on measured torques, with noise, gains and correlation learned as data come.

A joint's torque is linear in the standard parameters phi of the robot (ten numbers of every body,
damping and friction of each joint), up to a gain: u_j = c_j Y_j phi. Means over short blocks of
samples are rows; the sums G = sum Y'Y, g = sum Y'u, sum u^2 and their number are all that is kept
of each joint, so that the posterior follows at any time from the prior and

    A = inverse of prior covariance + sum_j c_j^2 G_j / (s_j^2 h_j)
    B = inverse of prior covariance + sum_j c_j^2 G_j f_j / (s_j^2 h_j^2)
    covariance = inverse of A, times B, times inverse of A

with the variance s_j^2 of a row and the inflation f_j, the factor by which correlated rows have
less information than independent ones (with the window of Bartlett; Newey and West 1987). The mean
is weighted least squares, in which a row counts for 1 / (s_j^2 h_j); its tempering h_j may differ
from f_j, and the covariance of such a mean is the sandwich (White 1982). All of these are as they
are known *now*: early rows need not be processed again. Residuals are not whitened by their
correlation, which would give more weight to fast motion, where models of real robots are wrong.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..factors import solve_triangular

# Rows are means over blocks of this length [ns].
BLOCK_NS = 20_000_000
# Rows that the prior of a joint's variance counts for, and its standard deviation as part of the
# joint's effort limit. Chosen on recordings of a UR10e and on arms in MuJoCo.
_PRIOR_ROWS, _PRIOR_SD = 1.0, 1e-3
# Prior of the inflation, and the number of rows that it counts for. Chosen as above.
_PRIOR_INFLATION, _INFLATION_ROWS = 6.0, 80.0
# Rows of less than this share of a block's samples do not count as rows.
_SHARE_OF_A_ROW = 0.3
# The same of the tempering. Errors of the model are the same in all of the first motion, so that
# its rows should move the mean less than their correlation says. By torques that arms in MuJoCo
# predict after ten seconds; on the UR10e it hardly matters.
_PRIOR_TEMPERING, _TEMPERING_ROWS = 20.0, 200.0
# Noise of sensors averages out. Correlated residuals are errors of the model: parameters have
# absorbed a part of them, and they recur with the motion, so that covariances count so many times
# the correlation observed; the mean is as good without that. By the agreement of eleven recordings
# of a UR10e, and by the truth of arms in MuJoCo of much noise and of little.
_RECURS = 3.0
# The scores of parameters are summed over so many rows; their expectation for independent rows is
# computed at every so many rows.
_ROWS_PER_SCORE, _COMPARED_AT = 25, 8
# Rows of an elastic joint are wrong in the same way whenever it accelerates: they have so many
# times less information. By the coverage of intervals of elastic arms in MuJoCo.
ELASTIC_INFLATION = 5.0
# Columns describe friction imperfectly: from one kind of motion to another this part of it is
# wrong in the same way for so many rows, which is no evidence of a change of the robot. By arms in
# MuJoCo and a UR10e that did not change.
_WRONG_FRICTION, _WRONG_ROWS = 0.008, 100.0
# Gauss-Newton steps; the problem is at most bilinear, and begins at the last mean.
_STEPS = 3
# Noise has become larger if rows of the last half minute have so many times the variance of all
# rows.
_NOISIER = 2.0
# Residual over signal (root mean squares) from which a joint counts as not explained, and the
# fewest rows for that.
_UNEXPLAINED, ROWS_TO_JUDGE = 0.5, 160.0
# Of so few rows a joint counts as not explained if residuals are this part of the signal, and so
# many times the uncertainty of predictions (root mean squares).
_FEW_ROWS, _HARDLY_EXPLAINED, _BEYOND_UNSURE = 25.0, 0.8, 2.0
# Residual over signal below which a joint that was left out is used again.
_EXPLAINED_AGAIN = 0.4
# The variance within groups of so many rows is noise of sensors, and no misfit: it is subtracted
# from residual and signal, if this part of the signal's power remains (five times the uncertainty
# after 30 s).
_GROUPED, _LEAST_SIGNAL = 5, 0.1


@dataclass(frozen=True)
class Rows:
    """
    Means over blocks of samples: K blocks, J joints, P standard parameters.

    columns [K, J, P]; torques [K, J]; both times the root of shares [K, J]: the part of a block's
    samples that was usable, zero where a joint has no row. late [K, J, lags]: as torques, those of
    `delay.LAGS` later, NaN where unknown; no lags where they are not needed.
    """

    columns: np.ndarray
    torques: np.ndarray
    shares: np.ndarray
    late: np.ndarray | None = None

    def __post_init__(self):
        if self.late is None:
            object.__setattr__(self, 'late', np.zeros((*self.torques.shape, 0)))

    @property
    def count(self):
        """Number of blocks."""
        return len(self.shares)

    @staticmethod
    def none(joints, size):
        """Return no blocks of so many joints and standard parameters."""
        none = np.zeros((0, joints))
        return Rows(np.zeros((0, joints, size)), none, none)

    @staticmethod
    def joined(parts):
        """Return the rows of several parts, one after the other."""
        return Rows(*(np.concatenate(part) for part in zip(*(vars(p).values() for p in parts))))

    def part(self, which):
        """Return some of the blocks, by a slice of their numbers."""
        return Rows(*(part[which] for part in vars(self).values()))

    def residuals(self, standard, scales):
        """Return measured less predicted [K, J]; standard [P]; scales [J]: of predictions."""
        return self.torques - scales * (self.columns @ standard)


def block_rows(columns, torques, usable, bounds, late=None):
    """
    Return the `Rows` of samples.

    columns [N, J, P]; torques [N, J]; usable [N, J]: which samples count for which joint; bounds
    [K + 1]: numbers of samples between which blocks lie; late [N, J, lags]: later torques.
    """
    late = np.zeros((*torques.shape, 0)) if late is None else late
    weights, starts = usable.astype(float), bounds[:-1]
    count = np.add.reduceat(weights, starts, axis=0)
    shares = count / np.diff(bounds)[:, None]
    factor = np.sqrt(shares) / np.maximum(count, 1.0)
    sums = np.add.reduceat(columns * weights[..., None], starts, axis=0)
    efforts = np.add.reduceat(np.where(usable, torques, 0.0), starts, axis=0)
    later = np.add.reduceat(np.where(usable[..., None], late, 0.0), starts, axis=0)
    return Rows(sums * factor[..., None], efforts * factor, shares, later * factor[..., None])


def with_columns(rows, columns):
    """Return `Rows` with other means of columns [K, J, P] over their samples."""
    return replace(rows, columns=columns * np.sqrt(rows.shares)[..., None])


@dataclass(frozen=True)
class Sums:
    """Sums over all rows of J joints: gram [J, P, P], cross [J, P], square, number [J]."""

    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray
    number: np.ndarray

    @staticmethod
    def none(joints, size):
        """Return the sums of no rows."""
        gram = np.zeros((joints, size, size))
        return Sums(gram, np.zeros((joints, size)), np.zeros(joints), np.zeros(joints))

    def of(self, parts):
        """Return the sums of several `Rows` of the same joints, without those of this."""
        sums = Sums.none(*self.cross.shape)
        for rows in parts:
            sums = sums.plus(rows)
        return sums

    def plus(self, rows):
        """Return the sums with more `Rows`."""
        columns = rows.columns.transpose(1, 0, 2)
        return Sums(
            self.gram + columns.transpose(0, 2, 1) @ columns,
            self.cross + np.einsum('jkp,kj->jp', columns, rows.torques),
            self.square + (rows.torques**2).sum(0),
            self.number + rows.shares.sum(0),
        )

    def less(self, before):
        """Return the sums of the rows that came after those of others."""
        return Sums(
            *(mine - others for mine, others in zip(vars(self).values(), vars(before).values()))
        )

    def squares_left(self, standard, scales):
        """Return the sum of squared residuals [J] at standard parameters [P]."""
        fitted = np.einsum('jpq,q->jp', self.gram, standard)
        left = self.square - 2 * scales * (self.cross @ standard)
        return np.maximum(left + scales**2 * (fitted @ standard), 0.0)


@dataclass(frozen=True)
class TorqueNoise:
    """
    The noise of rows. All [J].

    variance: of a row [(N m)^2 or N^2]; inflation: factor, at least one, by which correlated rows
    have less information than independent ones; tempering: factor by which rows count less for the
    mean, which a large inflation would hold at the prior; explained: whether the robot's model
    explains the joint's torque at all: if not, its rows are left out; misfit: what is added to the
    inflation when changes are judged, None: nothing.
    """

    variance: np.ndarray
    inflation: np.ndarray
    tempering: np.ndarray
    explained: np.ndarray
    misfit: np.ndarray | None = None

    @staticmethod
    def prior(limits):
        """Return the noise expected a priori, by the effort limits [J] of joints."""
        variance = 25.0 * _least_variance(limits)
        inflation, tempering = (
            np.full(len(limits), usual) for usual in (_PRIOR_INFLATION, _PRIOR_TEMPERING)
        )
        return TorqueNoise(variance, inflation, tempering, np.ones(len(limits), dtype=bool))

    def without(self, joints):
        """Return this with the rows of some joints [J] left out."""
        return replace(self, explained=self.explained & ~joints)

    @property
    def of_changes(self):
        """The noise by which changes are judged, which has the misfit of friction."""
        if self.misfit is None:
            return self
        return replace(self, inflation=self.inflation + self.misfit)

    @property
    def weights(self):
        """Information of a row [J], one over (N m)^2."""
        return np.where(self.explained, 1.0 / (self.variance * self.inflation), 0.0)

    @property
    def weights_of_mean(self):
        """Weight of a row in the mean [J], one over (N m)^2."""
        return np.where(self.explained, 1.0 / (self.variance * self.tempering), 0.0)

    def of_elastic(self, joints):
        """Return the noise of a robot of which some joints [J] are elastic."""
        factor = np.where(joints, ELASTIC_INFLATION, 1.0)
        return replace(self, inflation=factor * self.inflation, tempering=factor * self.tempering)

    def of_rigid(self, joints):
        """Return the noise without that of elastic joints [J]: the inverse of `of_elastic`."""
        factor = np.where(joints, ELASTIC_INFLATION, 1.0)
        inflation, tempering = (
            np.maximum(value / factor, 1.0) for value in (self.inflation, self.tempering)
        )
        return replace(self, inflation=inflation, tempering=tempering)


@dataclass(frozen=True)
class Earlier:
    """
    The noise of rows that are no longer in the sums. All [J].

    left: sum of squared residuals; square: of torques; number: of rows; inflation, tempering: of
    these rows.
    """

    left: np.ndarray
    square: np.ndarray
    number: np.ndarray
    inflation: np.ndarray
    tempering: np.ndarray

    @staticmethod
    def of(sums, noise, most):
        """Return the noise of the rows of `Sums`, which counts for so many rows at the most."""
        number = np.minimum(sums.number, most)
        square = number * sums.square / np.maximum(sums.number, 1.0)
        left = number * noise.variance
        return Earlier(left, square, number, noise.inflation, noise.tempering)


@dataclass(frozen=True)
class Fit:
    """
    The posterior of coordinates [p]: mean, root [p, p] of the covariance; noise: `TorqueNoise`.

    standard [P], scales [J]: of the mean.
    """

    mean: np.ndarray
    root: np.ndarray
    noise: TorqueNoise
    standard: np.ndarray
    scales: np.ndarray


def fit(model, prior, sums, recent, before, lags, earlier=None, steps=_STEPS, elastic=None):
    """
    Return the `Fit` of all rows so far.

    model: with `standard(x) -> (phi [P], its slope [P, p])`, `scales(x) -> (c [J], slope [J, p])`
    `limits` [J], `positive`: numbers of coordinates that cannot be negative, `own`: for each joint
    those that no other torque depends on, and `is_friction` [P]; prior: `Gaussian` of the
    coordinates; sums: `Sums`; recent: the newest `Rows`, in the order of time, by which
    correlation is judged over so many lags; before: `Fit` to begin from; earlier: `Earlier` rows,
    None where there are none; steps: of Gauss and Newton; elastic [J]: which joints are elastic,
    None: none.
    """
    mean, noise = before.mean, before.noise
    if earlier is None:
        earlier = Earlier(0.0, 0.0, 0.0, _PRIOR_INFLATION, _PRIOR_TEMPERING)
    for _ in range(steps):
        used = noise
        mean, narrow, shared, slope = _step(model, prior, sums, used, mean)
        mean = not_negative(mean, narrow, model.positive)
        mean, root = _with_own(model, sums, used, mean, shared)
        (standard, _), (scales, _) = model.standard(mean), model.scales(mean)
        spread = slope @ root, model.scales(mean)[1] @ root
        residuals = recent.residuals(standard, scales)
        white = white_noise(residuals, recent.shares)
        noise = _learned(
            model, sums, earlier, (recent, residuals, white), noise, standard, scales, spread, lags
        )
        sensor_noise = _sensor_noise(white, noise.inflation)
        if elastic is not None:
            noise = noise.of_elastic(elastic)
        noise = _reconsidered(model, prior, sums, noise, mean, sensor_noise)
    if not used.explained.all():
        # Unexplained residuals may be the same in all rows, which then have the information of
        # one.
        inflation = np.maximum(noise.inflation, sums.number)
        common = replace(used, variance=noise.variance, inflation=inflation)
        _, root = _with_own(model, sums, common, mean, shared)
    return Fit(mean, root, noise, standard, scales)


def begin(model, prior):
    """Return the `Fit` of no rows."""
    (standard, _), (scales, _) = model.standard(prior.mean), model.scales(prior.mean)
    return Fit(prior.mean, prior.root, TorqueNoise.prior(model.limits), standard, scales)


def _step(model, prior, sums, noise, mean):
    """
    Return (mean [p], root of the inverse of A, of the covariance, slope) after one step.

    A: see the module; roots [p, p]; slope [P, p]: of standard parameters.
    """
    (standard, slope), (scales, by_scales) = model.standard(mean), model.scales(mean)
    weights = noise.weights_of_mean
    by_prior = slope @ prior.root
    scaled = by_scales @ prior.root
    fitted = np.einsum('jpq,q->jp', sums.gram, standard)
    missing = weights[:, None] * (sums.cross - scales[:, None] * fitted)
    gradient = by_prior.T @ (scales @ missing)
    if scaled.any():
        gradient += scaled.T @ (missing @ standard)

    def information(weights):
        # In coordinates in which the prior is standard normal.
        gram = np.tensordot(weights * scales**2, sums.gram, 1)
        result = by_prior.T @ gram @ by_prior
        if scaled.any():
            cross = (by_prior.T @ ((weights * scales)[:, None] * fitted).T) @ scaled
            result += cross + cross.T
            result += scaled.T @ ((weights * (fitted @ standard))[:, None] * scaled)
        result[np.diag_indices_from(result)] += 1.0
        return result

    away = solve_triangular(prior.root, mean - prior.mean, lower=True)
    factor = np.linalg.cholesky(information(weights))
    step = solve_triangular(factor, gradient - away, lower=True)
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True).T
    narrow = prior.root @ inverse
    # The error of the mean has the covariance of the sandwich.
    spread = np.linalg.cholesky(information(weights * noise.inflation / noise.tempering))
    root = narrow @ solve_triangular(factor, spread, lower=True)
    return mean + narrow @ step, narrow, root, slope


def _with_own(model, sums, noise, mean, root):
    """
    Return (mean [p], root [p, p]) with the own coordinates of joints that are not explained.

    Their rows determine the coordinates that only they depend on, given all others, which they do
    not change: a cut posterior (Plummer 2015), in which bodies are as without these rows.
    """
    for joint in np.flatnonzero(~noise.explained):
        own = list(model.own[joint])
        if not len(own):
            continue
        (standard, slope), (scales, _) = model.standard(mean), model.scales(mean)
        scale, gram = scales[joint], sums.gram[joint]
        weight = scale / (noise.variance[joint] * noise.inflation[joint])
        scores = weight * slope[:, own].T
        away = scores @ (sums.cross[joint] - scale * (gram @ standard))
        # Directions of the whitened coordinates in which all others stay move those of the joint
        # only.
        rest = np.delete(root, own, axis=0)
        axes = np.linalg.qr(rest.T, 'complete')[0]
        others, alone = root @ axes[:, : len(rest)], (root @ axes[:, len(rest) :])[own]
        scores = alone.T @ (scale * (scores @ gram))
        information = scores @ slope[:, own] @ alone
        information[np.diag_indices_from(information)] += 1.0
        factor = np.linalg.cholesky(information)
        by_own = solve_triangular(factor, alone.T, lower=True).T
        step = solve_triangular(factor, alone.T @ away, lower=True)
        others[own] -= by_own @ solve_triangular(factor, scores @ (slope @ others), lower=True)
        mine = np.zeros((len(mean), len(own)))
        mine[own] = by_own
        mean = mean.copy()
        positive = np.flatnonzero(np.isin(own, model.positive))
        mean[own] = not_negative(mean[own] + by_own @ step, by_own, positive)
        root = np.hstack([others, mine])
    return mean, root


def not_negative(mean, root, positive):
    """
    Return the mode [p] of a normal distribution restricted to coordinates that are not negative.

    root [p, p]: of its covariance; positive: numbers of the coordinates that cannot be.
    """
    bound, result = np.zeros(0, dtype=int), mean
    for _ in range(len(positive)):
        below = positive[result[positive] < 0]
        if not len(below):
            break
        bound = np.union1d(bound, below)
        rows = root[bound]
        # Bound coordinates are zero; the others follow as the conditional mean.
        result = mean - root @ (rows.T @ np.linalg.solve(rows @ rows.T, mean[bound]))
        result[bound] = 0.0
    return result


def _learned(model, sums, earlier, newest, noise, standard, scales, spread, lags):
    """
    Return the `TorqueNoise` at a mean; spread: roots of its covariance, see `_unsure`.

    newest: (the newest `Rows`, what is left of them [K, J], their `white_noise` [J]).
    """
    recent, residuals, white = newest
    left = sums.squares_left(standard, scales) + earlier.left
    square, number = sums.square + earlier.square, sums.number + earlier.number
    unsure = _unsure(sums, standard, scales, *spread)
    variance = (_PRIOR_ROWS * _least_variance(model.limits) + left + unsure / noise.inflation) / (
        _PRIOR_ROWS + number
    )
    lags = min(lags, max(recent.count - 2, 0))
    scores = score_inflations(recent, residuals, standard, scales, *spread)
    inflation = inflations(residuals, recent.shares, lags, earlier.inflation, scores)
    tempering = temperings(residuals, recent.shares, lags, earlier.tempering, scores)
    # Otherwise the covariance of a mean that follows rows of little information exceeds the prior.
    tempering = np.maximum(tempering, inflation / _RECURS)
    # The noise of joints that have become noisier counts from now on.
    now = (residuals**2).sum(0) / np.maximum(recent.shares.sum(0), ROWS_TO_JUDGE)
    variance = np.where(now > _NOISIER * variance, now, variance)
    friction = np.where(model.is_friction, scales[:, None] * standard, 0.0)
    power = np.einsum('jp,jpq,jq->j', friction, sums.gram, friction, optimize=True)
    wrong = _WRONG_FRICTION**2 * power / np.maximum(sums.number, 1.0)
    misfit = _WRONG_ROWS * wrong / variance
    left, square = _without_noise(left, square, number * _sensor_noise(white, inflation))
    explained = _are_explained(left, square, number, unsure, noise.explained)
    return TorqueNoise(variance, inflation, tempering, explained, misfit)


def _unsure(sums, standard, scales, spread, scaled):
    """
    Return the sum of the variances of predicted torques [J].

    spread [P, p], scaled [J, p]: roots of the covariances of standard parameters and of scales,
    which are correlated: a robot that is heavier by some part looks like a gain.
    """
    fitted = np.einsum('jpq,q->jp', sums.gram, standard)
    found = scales**2 * np.einsum('pr,jpr->j', spread, sums.gram @ spread)
    if scaled.any():
        found += 2 * scales * np.einsum('jr,jr->j', fitted @ spread, scaled)
        found += (fitted @ standard) * (scaled**2).sum(1)
    return np.maximum(found, 0.0)


def white_noise(residuals, shares):
    """
    Return the variance of rows [K, J] within groups of a few [J], zero of too few rows.

    Errors of the model, as the motion, hardly change within a tenth of a second.
    """
    starts = np.arange(0, len(shares), _GROUPED)
    if not len(starts):
        return np.zeros(shares.shape[1])
    total = np.add.reduceat(shares, starts)
    sums = np.add.reduceat(np.sqrt(shares) * residuals, starts)
    between = (sums**2 / np.maximum(total, 1e-9)).sum(0)
    freedom = (shares > 0).sum(0) - (total > 0).sum(0)
    within = np.maximum((residuals**2).sum(0) - between, 0.0) / np.maximum(freedom, 1)
    return np.where(shares.sum(0) >= _FEW_ROWS, within, 0.0)


def _sensor_noise(white, inflation):
    """
    Return the part of `white_noise` [J] that counts as noise of sensors.

    Beside its noise a torque may have so little signal that any residual looks well explained.
    Noise of sensors is not correlated: where residuals are so more than usual, less of them is
    noise.
    """
    return white * np.minimum(1.0, _PRIOR_INFLATION / inflation)


def _without_noise(left, square, noise):
    """Return squares of residuals and of torques without noise [J], where there is a signal."""
    noise = np.where(square - noise > _LEAST_SIGNAL * square, noise, 0.0)
    return np.maximum(left - noise, 0.0), square - noise


def _are_explained(left, square, number, unsure, were):
    """
    Tell which joints' torques [J] the model explains; until there are rows enough, all.

    left, square: sums of squared residuals and torques of so many rows, earlier ones included,
    since a slow minute may have little but noise; unsure: sum of variances of predictions; were:
    which of the joints it explained before.
    """
    most = np.where(were, _UNEXPLAINED, _EXPLAINED_AGAIN)
    is_too_large = (left > most**2 * square) & (number >= ROWS_TO_JUDGE)
    # Fewer rows suffice where hardly anything is explained and predictions are certain.
    is_large = (left > _HARDLY_EXPLAINED**2 * square) & (left > _BEYOND_UNSURE**2 * unsure)
    return ~is_too_large & ~(is_large & (number >= _FEW_ROWS))


def _reconsidered(model, prior, sums, noise, mean, sensor_noise):
    """
    Return the `TorqueNoise` with joints that would be explained if they were not left out.

    sensor_noise [J]: variance of their rows that is noise of sensors.

    The rows of other joints do not determine them, so that they would stay unexplained without
    their own. Each is tried without the others that are left out, and with the usual noise:
    residuals of a torque that is not fitted are no measure of it.
    """
    usual = TorqueNoise.prior(model.limits)
    for joint in np.flatnonzero(~noise.explained):
        variance, inflation = noise.variance.copy(), noise.inflation.copy()
        tempering, explained = noise.tempering.copy(), noise.explained.copy()
        variance[joint], inflation[joint] = usual.variance[joint], usual.inflation[joint]
        tempering[joint], explained[joint] = inflation[joint], True
        tried = TorqueNoise(variance, inflation, tempering, explained, noise.misfit)
        found, root, _, _ = _step(model, prior, sums, tried, mean)
        found = not_negative(found, root, model.positive)
        left = sums.squares_left(model.standard(found)[0], model.scales(found)[0])
        beyond, signal = _without_noise(left, sums.square, sums.number * sensor_noise)
        if beyond[joint] < _EXPLAINED_AGAIN**2 * signal[joint]:
            # Carefully: its noise is learned as it is fitted.
            variance[joint] = max(variance[joint], left[joint] / sums.number[joint])
            inflation[joint] = max(inflation[joint], noise.inflation[joint])
            tempering[joint] = max(tempering[joint], noise.tempering[joint])
            noise = tried
    return noise


def _least_variance(limits):
    return (_PRIOR_SD * np.asarray(limits)) ** 2


def score_inflations(rows, residuals, standard, scales, spread, scaled):
    """
    Return the variance of scores over that of independent residuals, [J].

    Scores are gradients of the log likelihood. Residuals [K, J] of `Rows` that are hardly
    correlated may still have scores that are: those of a torque that is late do. Squares of
    scores, each summed over half a second, in standard deviations of the posterior (spread,
    scaled: see `_unsure`).
    """
    joints, size = len(scales), len(standard)
    windows = rows.count // _ROWS_PER_SCORE
    if windows < 2:
        return np.ones(joints)
    newest = slice(rows.count - windows * _ROWS_PER_SCORE, None)
    found = np.zeros(joints)
    for joint, gain in enumerate(scales):
        columns = rows.columns[newest, joint].reshape(windows, _ROWS_PER_SCORE, size)
        left = residuals[newest, joint].reshape(windows, 1, _ROWS_PER_SCORE)
        scores = (left @ columns)[:, 0]
        found[joint] = (
            (gain * scores @ spread + np.outer(scores @ standard, scaled[joint])) ** 2
        ).sum()
    some = rows.part(slice(None, None, _COMPARED_AT))
    slope = (some.columns @ spread) * scales[:, None]
    slope += (some.columns @ standard)[..., None] * scaled
    power = (residuals**2).sum(0) / np.maximum(rows.shares.sum(0), 1.0)
    expected = power * (slope**2).sum((0, 2)) * windows * _ROWS_PER_SCORE / some.count
    # Parameters absorb the residuals of one of so many windows.
    return found / (expected + 1e-30) * windows / (windows - 1)


def inflations(residuals, shares, lags, usual=_PRIOR_INFLATION, scores=1.0):
    """
    Return the factors [J] by which correlated rows have less information than independent ones.

    By residuals [K, J]: one plus three times their excess (`_excess`), since errors of the model
    recur; shrunk to the usual factor where there are few rows.
    """
    found = 1 + _RECURS * _excess(residuals, lags, scores)
    return _shrunk(found, shares, usual, _INFLATION_ROWS)


def temperings(residuals, shares, lags, usual=_PRIOR_TEMPERING, scores=1.0):
    """Return the factors [J] by which rows count less for the mean: as above, nothing recurs."""
    return _shrunk(1 + _excess(residuals, lags, scores), shares, usual, _TEMPERING_ROWS)


def _excess(residuals, lags, scores):
    """
    Return the factors [J] by which correlated rows have less information, less one, as observed.

    Twice the sum of the autocorrelations of residuals [K, J] over so many lags, with the window of
    Bartlett (Newey and West 1987), or those of scores (`score_inflations`) if they are larger.
    """
    power = (residuals**2).sum(0) + 1e-30
    excess = np.zeros(residuals.shape[1])
    for lag in range(1, lags):
        products = (residuals[lag:] * residuals[:-lag]).sum(0)
        excess += 2 * (1 - lag / lags) * products / power
    return np.maximum(np.maximum(excess, scores - 1), 0.0)


def _shrunk(found, shares, usual, rows):
    """Return values [J] of rows with shares [K, J], shrunk to the usual ones by so many rows."""
    number = (shares > _SHARE_OF_A_ROW).sum(0)
    return (found * number + usual * rows) / (number + rows)
