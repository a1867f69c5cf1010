"""
Least squares on measured torques, with noise, gains and correlation learned as data come.

A joint's torque is linear in the standard parameters phi of the robot (ten numbers of every body,
what resists each joint), up to a gain: u_j = c_j Y_j phi. Means over short blocks of samples are
rows; their sums G = sum Y'Y, g = sum Y'u, sum u^2 and number are all that is kept of each joint,
so the posterior follows at any time from the prior and

    A = inverse of prior covariance + sum_j c_j^2 G_j / (s_j^2 h_j)
    B = inverse of prior covariance + sum_j c_j^2 G_j f_j / (s_j^2 h_j^2)
    covariance = inverse of A, times B, times inverse of A

with the variance s_j^2 of a row and the inflation f_j by which correlated rows tell less than
independent ones. The mean is weighted least squares, to which a row counts for 1 / (s_j^2 h_j);
its tempering h_j may be another than f_j, and the covariance of such a mean is the sandwich. All
are as they are known *now*: early rows need not be gone through again. Residuals are not whitened:
that weighs fast motion, where models of real robots are wrong.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..factors import solve_triangular

# Rows are means over blocks of this length.
BLOCK_NS = 20_000_000
# Rows that the prior of a joint's variance counts for, and its standard deviation as part of the
# joint's limit. Chosen on recordings of a UR10e and on arms in MuJoCo.
_PRIOR_ROWS, _PRIOR_SD = 1.0, 1e-3
# Prior of the inflation, and the number of rows that it counts for. As above.
_PRIOR_INFLATION, _INFLATION_ROWS = 6.0, 80.0
# Rows of less than this share of a block's samples do not count as rows.
_SHARE_OF_A_ROW = 0.3
# The same of the tempering. What a model lacks is alike in all of the first motion, so that its
# rows move the mean less than their correlation tells. By torques that arms in MuJoCo predict
# after ten seconds; on the UR10e it hardly matters.
_PRIOR_TEMPERING, _TEMPERING_ROWS = 20.0, 200.0
# Noise of sensors averages out. What hangs together is what the model lacks: parameters took up
# some of it, and it comes back with the motion, so that covariances count so many times what is
# seen of it; the mean is as good without that. By the agreement of eleven recordings of a UR10e,
# and by the truth of arms in MuJoCo of much noise and of little.
_COMES_BACK = 3.0
# What pulls at parameters is added up over so many rows; what it would be if rows were independent
# is worked out at every so many rows.
_PULLED, _LOOKED_AT = 25, 8
# Rows of a joint that gives way like a spring are wrong in the same way whenever it speeds up: so
# many times less they tell. By how often intervals hold the truth of elastic arms in MuJoCo.
ELASTIC_INFLATION = 5.0
# Friction is never quite as its columns have it. Between one kind of motion and another this part
# of it is wrong in the same way for so many rows: no reason to believe that the robot has changed.
# By arms in MuJoCo and a UR10e that did not.
_WRONG_FRICTION, _WRONG_ROWS = 0.008, 100.0
# Gauss-Newton steps; the problem is bilinear at worst, and starts at the last mean.
_STEPS = 3
# Rows of the last half minute that vary so many times as much as all before are of more noise.
_NOISIER = 2.0
# Residual over signal from which a joint's torque counts as not explained, with so many rows.
_UNEXPLAINED, ROWS_TO_JUDGE = 0.5, 160.0
# So few rows are judged where so much of the signal is left, and so many times what predictions
# are uncertain by (root mean squares).
_ROWS_OF_RUBBISH, _RUBBISH, _BEYOND_UNSURE = 25.0, 0.8, 2.0
# So much a joint that was left out has to have at the most to be of use again.
_EXPLAINED_AGAIN = 0.4
# What rows vary by within so many of them is noise, and no misfit: it counts for neither residual
# nor signal, if so much of the signal's power is left (five times what is uncertain of 30 s).
_GROUPED, _LEAST_SIGNAL = 5, 0.1


@dataclass(frozen=True)
class Rows:
    """
    Means over blocks of samples: K blocks, J joints, P standard parameters.

    columns [K, J, P]; torques [K, J]; both times the root of shares [K, J]: the part of a block's
    samples that could be used, zero where a joint has no row. late [K, J, lags]: as torques, those
    of `torque_delay.LAGS` later, NaN where unknown; no lags: where nobody asks for them.
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
        """Return several one after the other."""
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
    """What is kept of all rows of J joints: gram [J, P, P], cross [J, P], square, number [J]."""

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
        """Return the sums of several `Rows` of the same joints, and of nothing else."""
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
    What is left of torques. All [J].

    variance: of a row [(N m)^2 or N^2]; inflation: how many times less correlated rows tell than
    independent ones, at least one; tempering: how many times less they count for the mean, which
    a large inflation would hold at the prior; explained: whether the robot's model explains the
    joint's torque at all: if not, its rows are left out; misfit: how many times less still they
    tell of changes, None: not at all.
    """

    variance: np.ndarray
    inflation: np.ndarray
    tempering: np.ndarray
    explained: np.ndarray
    misfit: np.ndarray | None = None

    @staticmethod
    def prior(limits):
        """Return what is expected beforehand, by the largest efforts [J] of the joints."""
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
        """The noise by which changes are judged: friction is wrong in other ways elsewhere."""
        if self.misfit is None:
            return self
        return replace(self, inflation=self.inflation + self.misfit)

    @property
    def weights(self):
        """What a row tells [J], one over (N m)^2."""
        return np.where(self.explained, 1.0 / (self.variance * self.inflation), 0.0)

    @property
    def weights_of_mean(self):
        """What a row counts for in the mean [J], one over (N m)^2."""
        return np.where(self.explained, 1.0 / (self.variance * self.tempering), 0.0)

    def of_elastic(self, joints):
        """Return this of a robot of which some joints [J] give way like springs."""
        factor = np.where(joints, ELASTIC_INFLATION, 1.0)
        return replace(self, inflation=factor * self.inflation, tempering=factor * self.tempering)

    def of_rigid(self, joints):
        """Return this without what is due to joints [J] that give way: inverse of the above."""
        factor = np.where(joints, ELASTIC_INFLATION, 1.0)
        inflation, tempering = (
            np.maximum(value / factor, 1.0) for value in (self.inflation, self.tempering)
        )
        return replace(self, inflation=inflation, tempering=tempering)


@dataclass(frozen=True)
class Earlier:
    """
    What is kept of rows that are no longer in the sums, but had the same noise. All [J].

    left: sum of squared residuals; square: of torques; number: of rows; inflation, tempering: of
    theirs.
    """

    left: np.ndarray
    square: np.ndarray
    number: np.ndarray
    inflation: np.ndarray
    tempering: np.ndarray

    @staticmethod
    def of(sums, noise, most):
        """Return what counts for as many rows as `Sums` have, but for so many at the most."""
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
    None where there are none; steps: of Gauss and Newton; elastic [J]: joints that give way like
    springs, None: none.
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
        excused = _excused(white, noise.inflation)
        if elastic is not None:
            noise = noise.of_elastic(elastic)
        noise = _reconsidered(model, prior, sums, noise, mean, excused)
    if not used.explained.all():
        # What is not explained may be the same in all rows, and then they tell no more than one.
        inflation = np.maximum(noise.inflation, sums.number)
        alike = replace(used, variance=noise.variance, inflation=inflation)
        _, root = _with_own(model, sums, alike, mean, shared)
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
    # What the mean is off by has the covariance of the sandwich.
    spread = np.linalg.cholesky(information(weights * noise.inflation / noise.tempering))
    root = narrow @ solve_triangular(factor, spread, lower=True)
    return mean + narrow @ step, narrow, root, slope


def _with_own(model, sums, noise, mean, root):
    """
    Return (mean [p], root [p, p]) with what joints that are not explained tell of themselves.

    Their rows determine what only they depend on, given all else, and nothing of that: a cut
    posterior, in which bodies are as if these rows were not there.
    """
    for joint in np.flatnonzero(~noise.explained):
        own = list(model.own[joint])
        if not len(own):
            continue
        (standard, slope), (scales, _) = model.standard(mean), model.scales(mean)
        scale, gram = scales[joint], sums.gram[joint]
        weight = scale / (noise.variance[joint] * noise.inflation[joint])
        pulls = weight * slope[:, own].T
        away = pulls @ (sums.cross[joint] - scale * (gram @ standard))
        # Coordinates of standard normals: those along which all else stays move its own alone.
        rest = np.delete(root, own, axis=0)
        axes = np.linalg.qr(rest.T, 'complete')[0]
        others, alone = root @ axes[:, : len(rest)], (root @ axes[:, len(rest) :])[own]
        pulls = alone.T @ (scale * (pulls @ gram))
        information = pulls @ slope[:, own] @ alone
        information[np.diag_indices_from(information)] += 1.0
        factor = np.linalg.cholesky(information)
        by_own = solve_triangular(factor, alone.T, lower=True).T
        step = solve_triangular(factor, alone.T @ away, lower=True)
        others[own] -= by_own @ solve_triangular(factor, pulls @ (slope @ others), lower=True)
        mine = np.zeros((len(mean), len(own)))
        mine[own] = by_own
        mean = mean.copy()
        positive = np.flatnonzero(np.isin(own, model.positive))
        mean[own] = not_negative(mean[own] + by_own @ step, by_own, positive)
        root = np.hstack([others, mine])
    return mean, root


def not_negative(mean, root, positive):
    """
    Return the likeliest coordinates [p] of a normal distribution where some are not negative.

    root [p, p]: of its covariance; positive: numbers of the coordinates that cannot be.
    """
    bound, result = np.zeros(0, dtype=int), mean
    for _ in range(len(positive)):
        below = positive[result[positive] < 0]
        if not len(below):
            break
        bound = np.union1d(bound, below)
        rows = root[bound]
        # What is bound is at zero; all else goes where that makes it likeliest.
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
    pulls = pulled(recent, residuals, standard, scales, *spread)
    inflation = inflations(residuals, recent.shares, lags, earlier.inflation, pulls)
    tempering = temperings(residuals, recent.shares, lags, earlier.tempering, pulls)
    # Else the covariance of a mean that follows rows of little worth exceeded the prior's.
    tempering = np.maximum(tempering, inflation / _COMES_BACK)
    # Who has become noisier is so from now on.
    now = (residuals**2).sum(0) / np.maximum(recent.shares.sum(0), ROWS_TO_JUDGE)
    variance = np.where(now > _NOISIER * variance, now, variance)
    friction = np.where(model.is_friction, scales[:, None] * standard, 0.0)
    power = np.einsum('jp,jpq,jq->j', friction, sums.gram, friction, optimize=True)
    wrong = _WRONG_FRICTION**2 * power / np.maximum(sums.number, 1.0)
    misfit = _WRONG_ROWS * wrong / variance
    left, square = _without_noise(left, square, number * _excused(white, inflation))
    explained = _are_explained(left, square, number, unsure, noise.explained)
    return TorqueNoise(variance, inflation, tempering, explained, misfit)


def _unsure(sums, standard, scales, spread, scaled):
    """
    Return the sum of the variances of predicted torques [J].

    spread [P, p], scaled [J, p]: roots of the covariances of standard parameters and of scales,
    which hang together: that all is heavier by some part looks like a gain.
    """
    fitted = np.einsum('jpq,q->jp', sums.gram, standard)
    found = scales**2 * np.einsum('pr,jpr->j', spread, sums.gram @ spread)
    if scaled.any():
        found += 2 * scales * np.einsum('jr,jr->j', fitted @ spread, scaled)
        found += (fitted @ standard) * (scaled**2).sum(1)
    return np.maximum(found, 0.0)


def white_noise(residuals, shares):
    """
    Return the variance of rows [K, J] within a few of them [J], zero until there are rows enough.

    As of motions, what a model lacks hardly changes within a tenth of a second.
    """
    starts = np.arange(0, len(shares), _GROUPED)
    if not len(starts):
        return np.zeros(shares.shape[1])
    total = np.add.reduceat(shares, starts)
    sums = np.add.reduceat(np.sqrt(shares) * residuals, starts)
    between = (sums**2 / np.maximum(total, 1e-9)).sum(0)
    freedom = (shares > 0).sum(0) - (total > 0).sum(0)
    within = np.maximum((residuals**2).sum(0) - between, 0.0) / np.maximum(freedom, 1)
    return np.where(shares.sum(0) >= _ROWS_OF_RUBBISH, within, 0.0)


def _excused(white, inflation):
    """
    Return the variance of rows [J] that counts as noise of sensors, of `white_noise` [J].

    Next to noise a torque may hold so little else that what is left of that looks well explained.
    Noise does not hang together: where residuals do so more than is usual, it excuses the less.
    """
    return white * np.minimum(1.0, _PRIOR_INFLATION / inflation)


def _without_noise(left, square, noise):
    """Return squares left, and of torques, without those of noise where there is a signal."""
    noise = np.where(square - noise > _LEAST_SIGNAL * square, noise, 0.0)
    return np.maximum(left - noise, 0.0), square - noise


def _are_explained(left, square, number, unsure, were):
    """
    Tell which joints' torques [J] the model explains; until there are rows enough, all.

    left, square: sums of squared residuals and torques of so many rows, earlier ones included: of
    a slow minute little but noise may be left. unsure: that by which predictions are uncertain;
    were: which of them it did explain.
    """
    most = np.where(were, _UNEXPLAINED, _EXPLAINED_AGAIN)
    is_too_large = (left > most**2 * square) & (number >= ROWS_TO_JUDGE)
    # Fewer rows are enough where next to nothing is explained, and not for want of knowledge.
    is_rubbish = (left > _RUBBISH**2 * square) & (left > _BEYOND_UNSURE**2 * unsure)
    return ~is_too_large & ~(is_rubbish & (number >= _ROWS_OF_RUBBISH))


def _reconsidered(model, prior, sums, noise, mean, excused):
    """
    Return the `TorqueNoise` with joints that would be explained if they were not left out.

    excused [J]: variance of their rows that is noise of sensors.

    Those are not known by the rows of others alone, so without their own they would stay so. Each
    is tried without the others that are left out, and with the noise that is usual: what is left
    of a torque that nobody fits is no measure of it.
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
        beyond, signal = _without_noise(left, sums.square, sums.number * excused)
        if beyond[joint] < _EXPLAINED_AGAIN**2 * signal[joint]:
            # Carefully: what it is believed to be worth is learned as it is fitted.
            variance[joint] = max(variance[joint], left[joint] / sums.number[joint])
            inflation[joint] = max(inflation[joint], noise.inflation[joint])
            tempering[joint] = max(tempering[joint], noise.tempering[joint])
            noise = tried
    return noise


def _least_variance(limits):
    return (_PRIOR_SD * np.asarray(limits)) ** 2


def pulled(rows, residuals, standard, scales, spread, scaled):
    """
    Return how many times more residuals pull at parameters than independent ones would, [J].

    Residuals [K, J] of `Rows` that hardly hang together may still pull the same way for a while:
    those of a torque that is late do. The sum of squares of pulls, each added up over half a
    second, in deviations of the posterior (spread, scaled: see `_unsure`).
    """
    joints, size = len(scales), len(standard)
    windows = rows.count // _PULLED
    if windows < 2:
        return np.ones(joints)
    newest = slice(rows.count - windows * _PULLED, None)
    found = np.zeros(joints)
    for joint, gain in enumerate(scales):
        columns = rows.columns[newest, joint].reshape(windows, _PULLED, size)
        left = residuals[newest, joint].reshape(windows, 1, _PULLED)
        pulls = (left @ columns)[:, 0]
        found[joint] = (
            (gain * pulls @ spread + np.outer(pulls @ standard, scaled[joint])) ** 2
        ).sum()
    some = rows.part(slice(None, None, _LOOKED_AT))
    slope = (some.columns @ spread) * scales[:, None]
    slope += (some.columns @ standard)[..., None] * scaled
    power = (residuals**2).sum(0) / np.maximum(rows.shares.sum(0), 1.0)
    expected = power * (slope**2).sum((0, 2)) * windows * _PULLED / some.count
    # One of so many windows is taken up by parameters.
    return found / (expected + 1e-30) * windows / (windows - 1)


def inflations(residuals, shares, lags, usual=_PRIOR_INFLATION, pulls=1.0):
    """
    Return how many times less correlated rows tell than independent ones, [J].

    One, and what comes back: so many times twice the sum of the autocorrelation of residuals
    [K, J], with the window of Bartlett over so many lags, or what they pull more at parameters, if
    that is more (`pulled`). Drawn to the usual one where there are few rows.
    """
    found = 1 + _COMES_BACK * _excess(residuals, lags, pulls)
    return _drawn(found, shares, usual, _INFLATION_ROWS)


def temperings(residuals, shares, lags, usual=_PRIOR_TEMPERING, pulls=1.0):
    """Return how many times less rows count for the mean [J]: as above, with nothing come back."""
    return _drawn(1 + _excess(residuals, lags, pulls), shares, usual, _TEMPERING_ROWS)


def _excess(residuals, lags, pulls):
    """Return how many times less correlated rows tell as far as that is seen, less one, [J]."""
    power = (residuals**2).sum(0) + 1e-30
    excess = np.zeros(residuals.shape[1])
    for lag in range(1, lags):
        products = (residuals[lag:] * residuals[:-lag]).sum(0)
        excess += 2 * (1 - lag / lags) * products / power
    return np.maximum(np.maximum(excess, pulls - 1), 0.0)


def _drawn(found, shares, usual, rows):
    """Return what was found [J] of rows with shares [K, J], drawn to the usual by so many rows."""
    number = (shares > _SHARE_OF_A_ROW).sum(0)
    return (found * number + usual * rows) / (number + rows)
