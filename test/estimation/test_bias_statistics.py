"""The score of a bias, by finite differences, and its chi-squared statistic."""

import numpy as np
from scipy.stats import chi2, multivariate_normal

from sim2real_estimator.estimation.changes.detection import bias_score, bias_statistics

ROWS, ROOT, POSITIONS = 6, 5, 3


def statistics_of(scores):
    """Return the statistics of the last two, three, ... frames."""
    return bias_statistics(scores, range(2, len(scores) + 1))


def frames(count, seed, shift=0.0):
    """Return (rows, roots as these see them, slopes) of frames as likely as these say."""
    generator = np.random.default_rng(seed)
    seen = generator.standard_normal((count, ROWS, ROOT))
    slopes = generator.standard_normal((count, ROWS, POSITIONS))
    noise = generator.standard_normal((count, ROWS)) + np.einsum(
        'fmn,fn->fm', seen, generator.standard_normal((count, ROOT))
    )
    return zip(noise + shift * slopes.sum(-1), seen, slopes)


def test_a_score_is_the_slope_of_the_log_likelihood_by_a_shift():
    residual, seen, slope = next(frames(1, 0))
    score = bias_score(residual, seen, slope)
    spread = np.eye(ROWS) + seen @ seen.T

    def log_density(shift):
        return multivariate_normal.logpdf(residual + slope @ shift, cov=spread)

    steps = 1e-4 * np.eye(POSITIONS)
    slopes = [(log_density(s) - log_density(-s)) / 2e-4 for s in steps]
    np.testing.assert_allclose(score.gradient, slopes, rtol=1e-6)
    best = np.linalg.solve(score.information, score.gradient)
    gained = 2 * (log_density(best) - log_density(np.zeros(POSITIONS)))
    np.testing.assert_allclose(statistics_of([no_score(), score])[0], gained, rtol=1e-6)


def no_score():
    """Return the score of a frame without rows."""
    return bias_score(np.zeros(0), np.zeros((0, ROOT)), np.zeros((0, POSITIONS)))


def test_noise_shifts_by_chi_squared():
    found = [statistics_of([bias_score(*f) for f in frames(5, seed)]) for seed in range(2000)]
    for quantile in (0.5, 0.9, 0.99):
        shares = (np.array(found) < chi2.ppf(quantile, POSITIONS)).mean(0)
        np.testing.assert_allclose(
            shares, quantile, atol=4 * np.sqrt(quantile * (1 - quantile) / 2000)
        )


def test_what_lasts_shifts_more_the_longer_it_lasts():
    found = [statistics_of([bias_score(*f) for f in frames(5, seed, 0.5)]) for seed in range(50)]
    means = np.mean(found, 0)
    assert (np.diff(means) > 0).all() and means[-1] > 2 * means[0]


def test_positions_of_which_nothing_is_told_count_for_nothing():
    scores = []
    for residual, seen, slope in frames(3, 1):
        slope[:, 0] = 0.0
        scores.append(
            (bias_score(residual, seen, slope), bias_score(residual, seen, slope[:, 1:]))
        )
    with_it, without = zip(*scores)
    np.testing.assert_allclose(statistics_of(with_it), statistics_of(without), rtol=1e-6)
