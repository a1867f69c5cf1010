"""Least squares on torques: parameters, noise, gains and correlation, learned as rows come."""

from dataclasses import replace

from linear_robots import JOINTS, LIMITS, LinearRobot, rows_of, SIZE
import numpy as np
import pytest

from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.estimation.torque.regression import (
    begin,
    block_rows,
    Earlier,
    fit,
    inflations,
    not_negative,
    Rows,
    score_inflations,
    Sums,
    white_noise,
)

TRUTH = np.array([2.0, -1.5, 0.8, 1.2])
LAGS = 100


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def fitted(model, rows, times=3, lags=LAGS):
    """Return the `Fit` of rows, as it is after several renewals."""
    sums, found = Sums.none(JOINTS, SIZE).plus(rows), begin(model, model.prior)
    for _ in range(times):
        found = fit(model, model.prior, sums, rows, found, lags)
    return found


def followed(model, rows, step=25):
    """Return the `Fit`, renewed as rows come."""
    sums, found = Sums.none(JOINTS, SIZE), begin(model, model.prior)
    for begun in range(0, rows.count, step):
        parts = vars(rows).values()
        sums = sums.plus(Rows(*(part[begun : begun + step] for part in parts)))
        so_far = Rows(*(part[: begun + step] for part in parts))
        found = fit(model, model.prior, sums, so_far, found, LAGS)
    return found


def away(found, truth):
    """Return how many deviations the truth is off, for each coordinate."""
    return (found.mean - truth) / np.sqrt((found.root**2).sum(1))


def test_parameters_of_a_linear_robot_are_recovered(rng):
    found = fitted(LinearRobot(), rows_of(TRUTH, 2000, rng))
    assert found.mean == pytest.approx(TRUTH, abs=0.02)
    assert np.abs(away(found, TRUTH)).max() < 3
    assert found.standard == pytest.approx(found.mean)


def test_it_is_weighted_least_squares_and_the_covariance_is_its_own(rng):
    rows = rows_of(TRUTH, 300, rng, memory=0.8)
    model, found = LinearRobot(), fitted(LinearRobot(), rows)
    weights = found.noise.weights_of_mean
    bread = np.linalg.inv(model.prior.covariance)
    right, filling = bread @ model.prior.mean, bread
    for joint in range(JOINTS):
        columns = rows.columns[:, joint]
        gram = columns.T @ columns
        bread = bread + weights[joint] * gram
        filling = filling + weights[joint] ** 2 / found.noise.weights[joint] * gram
        right = right + weights[joint] * columns.T @ rows.torques[:, joint]
    again = fit(model, model.prior, Sums.none(JOINTS, SIZE).plus(rows), rows, found, LAGS, steps=1)
    assert again.mean == pytest.approx(np.linalg.solve(bread, right), rel=1e-9)
    inverse = np.linalg.inv(bread)
    assert again.root @ again.root.T == pytest.approx(inverse @ filling @ inverse, rel=1e-9)
    assert not np.allclose(weights, found.noise.weights, rtol=0.1)


def test_correlation_widens_the_posterior_more_than_it_holds_the_mean(rng):
    found = fitted(LinearRobot(), rows_of(TRUTH, 3000, rng, memory=0.99))
    excess = found.noise.inflation - 1
    assert (excess > 10).all()
    assert found.noise.tempering - 1 == pytest.approx(excess / 3, rel=0.2)


@pytest.mark.parametrize('count', [20, 100, 500, 3000])
def test_no_rows_make_anything_less_known_than_before(rng, count):
    model = LinearRobot()
    found = fitted(model, rows_of(TRUTH, count, rng, (30.0, 10.0), memory=0.99))
    assert (found.noise.tempering >= found.noise.inflation / 3 - 1e-9).all()
    part = np.linalg.solve(model.prior.root, found.root)
    # By an eighth of the variance at the most, where rows tell next to nothing.
    assert np.linalg.eigvalsh(part @ part.T).max() < 1.125 + 1e-9


def test_no_rows_leave_the_prior():
    model = LinearRobot()
    found = fitted(model, Rows.none(JOINTS, SIZE))
    assert found.mean == pytest.approx(model.prior.mean)
    assert found.root @ found.root.T == pytest.approx(model.prior.covariance)


@pytest.mark.parametrize('sd', [(0.3, 0.1), (0.05, 0.4)])
def test_the_noise_of_each_joint_is_learned(rng, sd):
    found = fitted(LinearRobot(), rows_of(TRUTH, 2000, rng, sd))
    assert np.sqrt(found.noise.variance) == pytest.approx(np.array(sd), rel=0.05)
    assert found.noise.explained.all()


def test_intervals_hold_as_often_as_they_say(rng):
    model, within = LinearRobot(), []
    for _ in range(150):
        truth = model.prior.mean + model.prior.root @ rng.standard_normal(SIZE)
        truth[2] = abs(truth[2])
        within.append(np.abs(away(fitted(model, rows_of(truth, 100, rng)), truth)) < 1.645)
    # Rows are taken for correlated until their number says otherwise, so rather too often.
    assert np.mean(within) > 0.9


def test_gains_are_estimated_beside_the_rest(rng):
    model, gains = LinearRobot(has_gains=True), np.array([1.03, 0.98])
    truth = np.append(TRUTH, gains)
    found = fitted(model, rows_of(TRUTH, 3000, rng, scales=1 / gains))
    # All of what one joint feels alone goes with its gain; the first number is felt by both.
    assert np.abs(away(found, truth)).max() < 3
    ratio = found.mean[SIZE] / found.mean[SIZE + 1]
    assert ratio == pytest.approx(gains[0] / gains[1], abs=0.02)
    assert found.scales == pytest.approx(1 / found.mean[SIZE:])
    without = fitted(LinearRobot(), rows_of(TRUTH, 3000, rng, scales=1 / gains))
    assert np.abs(away(without, TRUTH)).max() > 5


def test_what_cannot_be_negative_is_not(rng):
    truth = np.array([2.0, -1.5, 0.0, 1.2])
    for _ in range(10):
        found = fitted(LinearRobot(), rows_of(truth, 50, rng, sd=(3.0, 3.0)))
        assert found.mean[2] >= 0
    free = LinearRobot(positive=np.array([], dtype=int))
    means = [fitted(free, rows_of(truth, 50, rng, sd=(3.0, 3.0))).mean[2] for _ in range(20)]
    assert min(means) < 0


def test_the_likeliest_that_is_not_negative_is_found(rng):
    mean, root = (
        np.array([1.0, -0.5, 0.3, -0.2]),
        np.linalg.cholesky(np.eye(4) + 0.6 * np.ones((4, 4))),
    )
    positive = np.array([1, 2, 3])
    found = not_negative(mean, root, positive)
    assert (found[positive] >= 0).all()

    def length(point):
        return np.linalg.norm(np.linalg.solve(root, point - mean))

    # No point next to it that is allowed is likelier.
    for _ in range(2000):
        near = found + 0.05 * rng.standard_normal(4)
        near[positive] = np.maximum(near[positive], 0)
        assert length(near) > length(found) - 1e-9
    assert not_negative(np.abs(mean), root, positive) is not None
    assert (not_negative(np.abs(mean), root, positive) == np.abs(mean)).all()


@pytest.mark.parametrize('memory', [0.5, 0.8, 0.95])
def test_correlated_rows_tell_less(rng, memory):
    rows = rows_of(TRUTH, 20000, rng, memory=memory)
    residuals = rows.residuals(TRUTH, np.ones(JOINTS))
    found = inflations(residuals, rows.shares, LAGS)
    excess = (1 + memory) / (1 - memory) - 1
    # Correlated residuals recur with the motion, and count three times.
    assert found - 1 == pytest.approx([3 * excess] * JOINTS, rel=0.35)
    assert (inflations(residuals[:0], rows.shares[:0], LAGS) == 6).all()
    assert (inflations(residuals[:0], rows.shares[:0], LAGS, np.array([7.0, 9.0])) == [7, 9]).all()


def test_independent_rows_tell_most(rng):
    rows = rows_of(TRUTH, 20000, rng)
    found = inflations(rows.residuals(TRUTH, np.ones(JOINTS)), rows.shares, LAGS)
    assert found == pytest.approx([1.0, 1.0], abs=0.3)


def test_correlated_scores_have_less_information(rng):
    """Residuals are white here, but a number of the robot is another one every second or so."""
    rows = rows_of(TRUTH, 4000, rng)
    wanders = np.repeat(rng.choice([-0.2, 0.2], 80), 50)
    torques = rows.torques + wanders[:, None] * rows.columns[..., 0]
    roots, scales = (np.eye(SIZE), np.zeros((JOINTS, SIZE))), np.ones(JOINTS)
    steady, wandering = (
        score_inflations(each, each.residuals(TRUTH, scales), TRUTH, scales, *roots)
        for each in (rows, replace(rows, torques=torques))
    )
    assert steady == pytest.approx([1.0, 1.0], abs=0.3)
    assert (wandering > 3).all()
    residuals = torques - rows.columns @ TRUTH
    found = inflations(residuals, rows.shares, LAGS, scores=wandering)
    assert (found > 2 * inflations(residuals, rows.shares, LAGS)).all()


def test_what_gains_explain_makes_no_noise(rng):
    """A heavier robot, or torques measured too small, predict the same."""
    model = LinearRobot(has_gains=True)
    found = fitted(
        model, rows_of(TRUTH, 3000, rng, scales=np.array([0.97, 1.02]), sd=(0.01, 0.01))
    )
    assert np.sqrt(found.noise.variance) == pytest.approx([0.01, 0.01], rel=0.1)


def test_intervals_of_correlated_noise_hold(rng):
    model, within = LinearRobot(), []
    for _ in range(40):
        columns = rows_of(TRUTH, 1500, rng, memory=0.9)
        # A slow motion, so that correlation of the noise matters.
        slow = Rows(
            np.repeat(columns.columns[::50], 50, 0),
            columns.torques
            - columns.columns @ TRUTH
            + np.repeat(columns.columns[::50], 50, 0) @ TRUTH,
            columns.shares,
        )
        within.append(np.abs(away(fitted(model, slow), TRUTH)) < 1.645)
    assert np.mean(within) > 0.8


def test_sums_are_of_whatever_parts_rows_come_in(rng):
    rows, none = rows_of(TRUTH, 400, rng), Sums.none(JOINTS, SIZE)
    first, second = (Rows(*(part[cut] for part in vars(rows).values()))
                     for cut in (slice(0, 150), slice(150, None)))  # fmt: skip
    halves, whole = none.plus(first).plus(second), none.plus(rows)
    for name, value in vars(whole).items():
        assert getattr(halves, name) == pytest.approx(value, rel=1e-12)
        assert getattr(whole.less(none.plus(first)), name) == pytest.approx(
            getattr(none.plus(second), name), rel=1e-9, abs=1e-9
        )
    joined = Rows.joined([first, second])
    assert all((a == b).all() for a, b in zip(vars(joined).values(), vars(rows).values()))
    left = (rows.residuals(TRUTH, np.ones(JOINTS)) ** 2).sum(0)
    assert whole.squares_left(TRUTH, np.ones(JOINTS)) == pytest.approx(left, rel=1e-6)


def test_rows_are_means_over_samples_that_can_be_used(rng):
    columns, torques = rng.standard_normal((10, JOINTS, SIZE)), rng.standard_normal((10, JOINTS))
    usable = np.ones((10, JOINTS), dtype=bool)
    usable[5:, 0], usable[7, 1], torques[7, 1] = False, False, np.nan
    rows = block_rows(columns, torques, usable, np.array([0, 4, 10]))
    assert rows.shares == pytest.approx(np.array([[1, 1], [1 / 6, 5 / 6]]))
    assert rows.torques[0] == pytest.approx(torques[:4].mean(0))
    used = [4, 5, 6, 8, 9]
    assert rows.torques[1, 1] == pytest.approx(np.sqrt(5 / 6) * torques[used, 1].mean())
    assert rows.columns[1, 1] == pytest.approx(np.sqrt(5 / 6) * columns[used, 1].mean(0))
    none = block_rows(columns, torques, np.zeros_like(usable), np.array([0, 4, 10]))
    assert not none.shares.any() and not none.torques.any() and not none.columns.any()


def test_a_joint_that_the_model_does_not_explain_is_left_out(rng):
    rows = rows_of(TRUTH, 400, rng, sd=(0.1, 40.0))
    found = followed(LinearRobot(), rows)
    assert found.noise.explained.tolist() == [True, False]
    assert found.noise.weights[1] == 0
    assert found.mean[:3] == pytest.approx(TRUTH[:3], abs=0.02)


def test_a_joint_that_is_left_out_still_determines_its_own_coordinates(rng):
    """All else is as if its rows were not there, and what is its own goes with that."""
    model, rows = LinearRobot(), rows_of(TRUTH, 800, rng, sd=(0.05, 0.5))
    # The sign of what both feel is wrong in the second.
    rows.torques[:, 1] -= 2 * rows.columns[:, 1, 0] * TRUTH[0]
    found = followed(model, rows)
    assert found.noise.explained.tolist() == [True, False]
    alone = Rows(*(part.copy() for part in vars(rows).values()))
    alone.columns[:, 1], alone.torques[:, 1], alone.shares[:, 1] = 0.0, 0.0, 0.0
    without = followed(model, alone)
    assert found.mean[:3] == pytest.approx(without.mean[:3], rel=1e-3)
    covariance = found.root @ found.root.T
    assert covariance[:3, :3] == pytest.approx((without.root @ without.root.T)[:3, :3], rel=1e-2)
    assert found.mean[3] == pytest.approx(TRUTH[3], abs=0.5)
    assert 0.1 < covariance[3, 3] ** 0.5 < 3.0


def test_what_is_left_out_is_known_given_all_else(rng):
    """What is its own is that of least squares with all else held where it is."""
    rows, model = rows_of(TRUTH, 800, rng, sd=(0.3, 40.0), memory=0.9), LinearRobot()
    found = followed(model, rows)
    assert not found.noise.explained[1]
    columns = rows.columns[:, 1]
    weight = 1 / (found.noise.variance[1] * found.noise.inflation[1])
    information = weight * (columns[:, 3] @ columns[:, 3]) + 1 / 9
    left = rows.torques[:, 1] - columns[:, 0] * found.mean[0]
    assert found.mean[3] == pytest.approx(weight * columns[:, 3] @ left / information, rel=0.05)
    # Errors may be the same in all rows.
    weight = 1 / (found.noise.variance[1] * rows.count)
    information = weight * (columns[:, 3] @ columns[:, 3]) + 1 / 9
    slope = -weight * (columns[:, 3] @ columns[:, 0]) / information
    covariance = found.root @ found.root.T
    assert covariance[3, 0] == pytest.approx(slope * covariance[0, 0], rel=0.05)
    assert covariance[3, 3] == pytest.approx(1 / information, rel=0.05)


def test_noise_of_a_torque_is_no_misfit(rng):
    """What is so for more than a tenth of a second is."""
    noisy = rows_of(TRUTH, 1000, rng, sd=(0.1, 8.0))
    found = followed(LinearRobot(), noisy)
    assert found.noise.explained.all()
    assert np.sqrt(found.noise.variance[1]) == pytest.approx(8.0, rel=0.1)
    slow = rows_of(TRUTH, 1000, rng, sd=(0.1, 8.0), memory=0.99)
    assert followed(LinearRobot(), slow).noise.explained.tolist() == [True, False]


def test_correlated_residuals_are_no_noise_of_sensors(rng):
    """Of a torque of 5 N m noise of 8 hides an error of 2 that lasts for a second."""
    noisy = rows_of(TRUTH, 1000, rng, sd=(0.1, 8.0))
    slow = rows_of(0 * TRUTH, 1000, rng, sd=(1e-9, 2.0), memory=0.98)
    together = Rows(noisy.columns, noisy.torques + slow.torques, noisy.shares)
    assert followed(LinearRobot(), noisy).noise.explained.all()
    assert followed(LinearRobot(), together).noise.explained.tolist() == [True, False]


def test_white_noise_is_what_rows_vary_by_within_a_tenth_of_a_second(rng):
    noise = np.array([0.3, 2.0]) * rng.standard_normal((4000, 2))
    slow = np.sin(0.01 * np.arange(4000))[:, None]
    shares = rng.uniform(0.2, 1.0, (4000, 2)) * (rng.random((4000, 2)) < 0.8)
    residuals = (shares > 0) * (noise + np.sqrt(shares) * slow)
    assert np.sqrt(white_noise(residuals, shares)) == pytest.approx([0.3, 2.0], rel=0.05)
    # Too few rows tell nothing.
    assert not white_noise(residuals[:30], shares[:30]).any()
    # Rows that are far apart do not tell.
    shares[np.arange(4000) % 5 > 0] = 0.0
    assert not white_noise((shares > 0) * residuals, shares).any()


def test_rubbish_is_left_out_after_half_a_second_of_rows(rng):
    rows = rows_of(TRUTH, 40, rng, sd=(0.1, 60.0))
    found = followed(LinearRobot(), rows, 10)
    assert found.noise.explained.tolist() == [True, False]
    assert found.mean[:3] == pytest.approx(TRUTH[:3], abs=0.15)


def test_a_slow_minute_does_not_leave_a_joint_unexplained(rng):
    """Little but noise is in the torques of one that hardly moves."""
    model, rows = LinearRobot(), rows_of(TRUTH, 2000, rng)
    known, sums = fitted(model, rows), Sums.none(JOINTS, SIZE).plus(rows)
    calm = rows_of(TRUTH, 400, rng)
    slow = Rows(0.005 * calm.columns, calm.torques - 0.995 * (calm.columns @ TRUTH), calm.shares)
    earlier = Earlier.of(sums, known.noise, 2000.0)
    prior, sums = Gaussian(known.mean, known.root), Sums.none(JOINTS, SIZE).plus(slow)
    assert fit(model, prior, sums, slow, known, LAGS, earlier).noise.explained.all()
    assert not fit(model, prior, sums, slow, known, LAGS).noise.explained.any()


def test_few_rows_of_much_noise_are_no_rubbish(rng):
    """Half of the signal is noise: that is for more rows to tell."""
    rows = rows_of(TRUTH, 100, rng, sd=(0.1, 2.0))
    assert followed(LinearRobot(), rows, 10).noise.explained.all()


def test_little_but_noise_is_no_rubbish(rng):
    """Of noise that exceeds the signal, as of a slow wrist, that is for more rows to tell, too."""
    for _ in range(5):
        rows = rows_of(TRUTH, 150, rng, sd=(0.1, 8.0))
        assert followed(LinearRobot(), rows, 10).noise.explained.all()


def test_joints_that_give_way_like_springs_tell_less(rng):
    rows, model = rows_of(TRUTH, 400, rng), LinearRobot()
    sums, known = Sums.none(JOINTS, SIZE).plus(rows), fitted(model, rows)
    elastic = np.array([False, True])
    for _ in range(3):
        found = fit(model, model.prior, sums, rows, known, LAGS, elastic=elastic)
    ratio = found.noise.inflation / known.noise.inflation
    assert ratio[0] == pytest.approx(1.0, rel=0.05)
    # Scores are in standard deviations of parameters, which are larger now.
    assert 5.0 < ratio[1] < 6.0
    assert (found.root[3] ** 2).sum() > 4 * (known.root[3] ** 2).sum()


def test_a_joint_that_was_not_explained_for_a_while_comes_back(rng):
    """No other joint determines its friction, and while that is unknown nothing is explained."""
    bad = rows_of(TRUTH, 200, rng, sd=(0.1, 10.0), memory=0.9)
    good = rows_of(TRUTH, 6000, rng)
    model = LinearRobot()
    assert followed(model, bad, 100).noise.explained.tolist() == [True, False]
    found = followed(model, Rows.joined([bad, good]), 100)
    assert found.noise.explained.all()
    assert found.mean == pytest.approx(TRUTH, abs=0.05)


def test_a_joint_comes_back_while_another_one_stays_out(rng):
    """What is rubbish does not decide whether the other is explained."""
    model, rows = LinearRobot(), rows_of(TRUTH, 400, rng, sd=(0.1, 60.0))
    known = begin(model, model.prior)
    noise = replace(
        known.noise,
        variance=np.array([100.0, 3600.0]),
        inflation=np.array([200.0, 50.0]),
        explained=np.array([False, False]),
    )
    sums = Sums.none(JOINTS, SIZE).plus(rows)
    found = fit(model, model.prior, sums, rows, replace(known, noise=noise), LAGS, steps=4)
    assert found.noise.explained.tolist() == [True, False]
    assert np.sqrt(found.noise.variance[0]) == pytest.approx(0.1, rel=0.2)
    assert found.mean[:3] == pytest.approx(TRUTH[:3], abs=0.05)


def test_rows_of_before_tell_how_noisy_joints_are(rng):
    model, rows = LinearRobot(), rows_of(TRUTH, 1000, rng)
    known = fitted(model, rows)
    sums = Sums.none(JOINTS, SIZE).plus(rows)
    few = rows_of(TRUTH, 5, rng)
    earlier = Earlier.of(sums, known.noise, 1000.0)
    found = fit(model, model.prior, Sums.none(JOINTS, SIZE).plus(few), few, known, LAGS, earlier)
    assert np.sqrt(found.noise.variance) == pytest.approx(np.array([0.3, 0.1]), rel=0.1)
    alone = fit(
        model, model.prior, Sums.none(JOINTS, SIZE).plus(few), few, begin(model, model.prior), LAGS
    )
    assert alone.noise.variance != pytest.approx(found.noise.variance, rel=0.2)
    assert LIMITS.shape == alone.noise.variance.shape
