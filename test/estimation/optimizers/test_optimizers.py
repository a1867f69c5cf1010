"""Every member of the table keeps what the family promises."""

import numpy as np
from pendulum_windows import PendulumWindows
import pytest

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.optimizers import AbstractOptimizer, Moments, OPTIMIZERS, Result


class Valley:
    """Rosenbrock's curved valley as least squares; no number where x is below `edge`."""

    def __init__(self, edge=-np.inf):
        self.edge, self.asked = edge, 0

    def residuals(self, points):
        self.asked += points.shape[1]
        x, y = points
        rows = np.stack([1 - x, 3 * (y - x**2)], -1)
        return np.where(x[:, None] < self.edge, np.nan, rows)

    def value(self, points):
        return 0.5 * (self.residuals(points) ** 2).sum(-1)

    def jacobian(self, points):
        x = points[0]
        one, zero = np.ones_like(x), np.zeros_like(x)
        slope = np.stack([np.stack([-one, zero], -1), np.stack([-6 * x, 3 * one], -1)], -2)
        return self.residuals(points), np.where(x[:, None, None] < self.edge, np.nan, slope)

    def gradient(self, points):
        rows, slope = self.jacobian(points)
        return 0.5 * (rows**2).sum(-1), np.einsum('bmp,bm->pb', slope, rows)


STARTS = np.array([[-1.2, 0.0, 2.0], [1.0, -1.0, 2.0]])


@pytest.fixture(params=OPTIMIZERS)
def optimizer(request):
    return OPTIMIZERS[request.param]()


def test_members_are_of_the_family_and_named_as_in_the_table():
    for name, member in OPTIMIZERS.items():
        assert issubclass(member, AbstractOptimizer)
        assert member.name == name and member.__doc__


def test_the_end_of_a_curved_valley_is_found_from_every_start(optimizer):
    objective, starts = Valley(), STARTS.copy()
    result = optimizer.minimize(objective, starts)
    assert isinstance(result, Result)
    assert result.points.shape == (2, 3)
    for field in (result.values, result.evaluations, result.iterations, result.converged):
        assert field.shape == (3,)
    assert (result.values < 1e-2).all()
    np.testing.assert_allclose(objective.value(result.points), result.values)
    np.testing.assert_array_equal(starts, STARTS)
    assert np.abs(result.best - 1).max() < 0.01


def test_evaluations_are_the_points_that_were_asked_for(optimizer):
    objective = Valley()
    result = optimizer.minimize(objective, STARTS)
    assert result.evaluations.sum() == objective.asked


def test_one_start_is_enough(optimizer):
    result = optimizer.minimize(Valley(), STARTS[:, 1:2])
    assert result.values[0] < 1e-2


def test_starts_without_a_value_do_not_disturb_the_others(optimizer):
    objective = Valley(edge=-0.5)
    with np.errstate(all='raise'):
        result = optimizer.minimize(objective, STARTS)
    assert not np.isnan(result.values).any()
    assert (result.values[1:] < 1e-2).all()
    # Those that draw at random may find their way back; the others say that they did not.
    assert result.values[0] < 1e-2 or np.isinf(result.values[0]) and not result.converged[0]


def test_the_same_seed_gives_the_same_bits_and_no_global_state_is_touched(optimizer):
    before = np.random.get_state()[1].copy()
    first, again = (optimizer.minimize(Valley(), STARTS) for _ in range(2))
    for name in ('points', 'values', 'evaluations', 'iterations', 'converged'):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    np.testing.assert_array_equal(before, np.random.get_state()[1])


def test_whoever_watches_sees_values_fall(optimizer):
    seen = []
    result = optimizer.minimize(
        Valley(), STARTS, lambda points, values: seen.append(values.copy())
    )
    assert len(seen) >= result.iterations.max()
    best = np.minimum.accumulate(seen)
    np.testing.assert_array_equal(best[-1], seen[-1])
    np.testing.assert_array_equal(best[-1], result.values)


def test_new_starts_are_drawn_between_the_bounds():
    seen = []

    class Flat(Valley):
        def jacobian(self, points):
            seen.append(points.copy())
            rows = np.ones((points.shape[1], 1))
            return rows, np.zeros((points.shape[1], 1, 2))

    OPTIMIZERS['basin_hopping'](bounds=(-3.0, np.array([-2.0, 4.0]))).minimize(Flat(), STARTS)
    drawn = np.concatenate(seen[1:], 1)
    assert drawn.shape == (2, 12)
    assert (drawn >= -3).all() and (drawn[0] <= -2).all() and (drawn[1] <= 4).all()
    assert drawn[1].max() > 1


def test_hopping_leaves_a_basin_that_descents_stay_in():
    class Waves(Valley):
        """Local minima all along the first coordinate, the global one at zero."""

        def residuals(self, points):
            return np.stack([*points, 3 * np.sin(2 * points[0])], -1)

        def jacobian(self, points):
            slope = np.zeros((points.shape[1], 3, 2))
            slope[:, (0, 1), (0, 1)] = 1.0
            slope[:, 2, 0] = 6 * np.cos(2 * points[0])
            return self.residuals(points), slope

    starts = np.random.default_rng(0).uniform(-6, 6, (2, 8))
    stuck = OPTIMIZERS['levenberg_marquardt']().minimize(Waves(), starts)
    free = OPTIMIZERS['basin_hopping'](hops=40, bounds=(-6, 6)).minimize(Waves(), starts)
    assert (stuck.values > 1).sum() >= 5
    assert (free.values < 1e-6).sum() >= 7
    assert (free.values <= stuck.values).all()


def test_adam_takes_steps_of_the_length_of_its_rate():
    moments, direction = Moments.like(np.zeros((2, 1))).step(np.array([[1e-3], [-50.0]]))
    np.testing.assert_allclose(direction, [[1.0], [-1.0]], rtol=1e-4)
    _, direction = moments.step(np.zeros((2, 1)))
    np.testing.assert_allclose(np.abs(direction), 0.67, atol=0.01)


def test_one_parameter_is_too_few_for_cma_es():
    with pytest.raises(ConfigError, match='two parameters'):
        OPTIMIZERS['cma_es']().minimize(Valley(), np.zeros((1, 2)))


@pytest.fixture(scope='module')
def pendulum():
    return PendulumWindows(0)


def test_the_pendulums_derivatives_are_those_of_its_values(pendulum):
    points = pendulum.starts_within(1.5, 2, 0)
    rows, slope = pendulum.jacobian(points)
    values, gradient = pendulum.gradient(points)
    np.testing.assert_allclose(values, 0.5 * (rows**2).sum(-1))
    np.testing.assert_allclose(gradient, np.einsum('bmp,bm->pb', slope, rows), rtol=1e-6)
    move = 1e-6 * np.eye(7)[:, 2:3]
    change = (pendulum.residuals(points + move) - pendulum.residuals(points - move)) / 2e-6
    np.testing.assert_allclose(slope[..., 2], change, rtol=1e-4, atol=1e-4 * np.abs(change).max())


def test_levenberg_marquardt_needs_few_iterations_from_far_away():
    found, iterations = [], []
    for seed in range(3):
        problem = PendulumWindows(seed)
        near = OPTIMIZERS['levenberg_marquardt']().minimize(problem, problem.truth[:, None])
        result = OPTIMIZERS['levenberg_marquardt']().minimize(
            problem, problem.starts_within(4, 20, seed)
        )
        is_found = result.values < near.values + 0.5
        found += list(is_found)
        iterations += list(result.iterations[is_found])
    assert np.mean(found) >= 0.85
    assert np.median(iterations) <= 10
