"""However long a parameter is watched: it may have drifted, and is known no better than that."""

from pathlib import Path
import sys

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'prediction'))
from robots import MILLI, pendulum, PENDULUM_PRIORS, priors  # noqa: E402, needs the line above

from sim2real_estimator.estimation.drift import Drift, drifted, STILL, walk  # noqa: E402
from sim2real_estimator.estimation.estimators.gaussian_sum import FilterState, GaussianSum
from sim2real_estimator.estimation.gaussian import measure, predict  # noqa: E402
from sim2real_estimator.estimation.mixture import Mixture  # noqa: E402
from sim2real_estimator.parameters.parametrization import Prior  # noqa: E402
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization  # noqa: E402
from sim2real_estimator.prediction.robot_problem import RobotProblem  # noqa: E402
from sim2real_estimator.records import Frame, Sample  # noqa: E402
from sim2real_estimator.sensors import JointPositions  # noqa: E402

NOISE, DRIFT = 1e-3, 0.5
ALIKE = Drift(DRIFT, DRIFT)
STILL_ALL = {'drift': 0.0, 'drift_of_dissipation': 0.0, 'drift_of_efforts': 0.0}
ALIKE_ALL = {'drift': DRIFT, 'drift_of_dissipation': DRIFT, 'drift_of_efforts': 0.0}
SECOND = 1000 * MILLI
NAMES = ('lower.mass', 'elbow.damping')


def problem_of(deviations, delays=()):
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], NOISE),)
    chosen = priors(parameters, deviations) | dict(delays)
    return RobotProblem(parameters, sensors, choose_parametrization(parameters, sensors, chosen))


@pytest.fixture(scope='module')
def problem():
    return problem_of({name: PENDULUM_PRIORS[name] for name in NAMES})


def known_mixture(problem, sd):
    """Return one component at rest, all of it known as well as `sd`."""
    size, p = problem.tangent_size, len(problem.prior.mean)
    roots = sd * np.eye(size + p)[None]
    return Mixture(np.zeros(1), problem.neutral[:, None], problem.prior.mean[:, None], roots)


def frames_at_rest(count, period=SECOND // 2):
    noise = NOISE * np.random.default_rng(2).standard_normal((count, 2))

    def frame(k):
        end = (k + 1) * period
        return Frame(k * period, end, (Sample('encoder', end, noise[k]),), ((0, np.zeros(2)),))

    return [frame(k) for k in range(count)]


def deviations(problem, estimator, state):
    return np.sqrt(np.diag(estimator.mixture(problem, state).moments()[1]))


def test_a_walk_is_the_same_however_time_is_cut():
    problem = problem_of({'lower.mass': 0.3})
    stamps = np.array([0, 3, 260, 990, 1000, 1049, 7203, 60_000]) * MILLI
    pieces = [walk(problem, ALIKE, a, b) for a, b in zip(stamps[:-1], stamps[1:])]
    total = sum(float((piece**2).sum()) for piece in pieces if piece is not None)
    assert pieces[0] is None and walk(problem, STILL, 0, SECOND) is None
    assert total == pytest.approx(DRIFT**2 * 60 / 3600)


def test_what_is_watched_for_seconds_has_not_wandered_off():
    problem, now = problem_of({'lower.mass': 0.3}), 1_763_000_000 * SECOND

    def variance(begin, end, begun=now):
        root = walk(problem, ALIKE.since(begun), now + begin * SECOND, now + end * SECOND)
        return float((root**2).sum())

    whole = DRIFT**2 / 3600
    assert variance(0, 10) == pytest.approx(whole * 10**2 / 240, rel=1e-6)
    # After minutes it goes on as if it had been watched for ever.
    assert variance(300, 400) == pytest.approx(whole * 100, rel=1e-6)
    assert variance(300, 400) == pytest.approx(variance(300, 400, begun=None), rel=1e-6)
    # However the time is cut.
    pieces = [variance(a, b) for a, b in ((0, 7), (7, 119), (119, 130), (130, 500))]
    assert sum(pieces) == pytest.approx(variance(0, 500), rel=1e-6)
    before = walk(problem, ALIKE.since(now), now - 5 * SECOND, now)
    np.testing.assert_allclose(before, 0.0)


def test_clocks_go_apart_in_proportion_to_the_time():
    parameters, rate, ten = pendulum(), 5e-5, 10 * SECOND
    sensors = tuple(
        JointPositions(name, parameters.model, ['shoulder', 'elbow'], NOISE)
        for name in ('encoder', 'camera')
    )
    delays = {name: Prior(0.0, 0.01, False) for name in ('camera.delay', 'commands.delay')}
    chosen = priors(parameters, {'lower.mass': 0.3}) | delays
    problem = RobotProblem(
        parameters, sensors, choose_parametrization(parameters, sensors, chosen)
    )

    def covariance(begin_ns, end_ns):
        root = walk(problem, Drift(clocks=rate, begun_ns=0), begin_ns, end_ns)
        return root @ root.T

    place = problem.labels.index('camera.delay')
    for seconds in (2, 10):
        now = covariance(0, seconds * SECOND)
        assert now[place, place] == pytest.approx((rate * seconds) ** 2)
        assert now.sum() == now[place, place]
    # Then steps stay as they are, large enough to follow a clock whose rate does.
    later = [covariance(k * ten, (k + 1) * ten)[place, place] for k in (1, 2)]
    assert later == pytest.approx([2 * (rate * 10) ** 2] * 2)


def test_every_coordinate_drifts_by_what_its_parameters_do():
    delay = {'commands.delay': Prior(0.001, 0.004, False)}
    timed = problem_of({name: PENDULUM_PRIORS[name] for name in NAMES}, delay)
    hour = walk(timed, Drift(0.1, 0.3), 0, 3600 * SECOND)
    np.testing.assert_allclose(hour @ hour.T, np.diag([0.1, 0.3, 0.1 * 0.004]) ** 2)
    # Of ten parameters seven combinations are seen, each of several logarithms.
    sliced = problem_of(PENDULUM_PRIORS)
    hour = walk(sliced, Drift(0.1, 0.3), 0, 3600 * SECOND)
    weights = sliced.parametrization.combinations * [
        0.3 if name.endswith('.damping') else 0.1 for name in sliced.parametrization.names
    ]
    np.testing.assert_allclose(hour @ hour.T, weights @ weights.T, atol=1e-12)


def test_a_watched_parameter_settles_where_data_and_walk_balance():
    root, slope = np.array([[[1.0]]]), np.array([[[1 / 0.3]]])
    step, still = np.array([[0.02]]), np.zeros((1, 0, 1))
    for _ in range(2000):
        root = predict(root, still, np.zeros(0), step)
        root = measure(root, np.zeros((1, 1)), slope).root
    # The fixed point of P -> 1 / (1 / (P + q) + 1 / r).
    q, r = 0.02**2, 0.3**2
    assert root[0, 0, 0] ** 2 == pytest.approx(-q / 2 + np.sqrt(q**2 / 4 + q * r), rel=1e-9)


def test_no_posterior_stays_narrower_than_the_walk_implies(problem):
    frames = frames_at_rest(600)
    drifting = GaussianSum(**ALIKE_ALL)
    still = GaussianSum(**STILL_ALL)
    start = FilterState(known_mixture(problem, 1e-6), end_ns=0)
    after = {}
    for estimator in (drifting, still):
        state = start
        for frame in frames:
            state, report = estimator.update(problem, state, frame)
            assert not report.events
        after[estimator] = deviations(problem, estimator, state)
    damping = problem.labels.index('log(elbow.damping)')
    # At rest nothing is learned of the damping: what was known fades by the walk, and no more.
    expected = np.hypot(1e-6, DRIFT * np.sqrt(300 / 3600))
    assert after[drifting][damping] == pytest.approx(expected, rel=0.01)
    # The mass is seen again, by what gravity does; not better than one step of the walk allows.
    assert (after[drifting] >= DRIFT * np.sqrt(0.1 / 3600)).all()
    assert (after[still] <= 1e-6).all()


def test_without_drift_a_step_is_the_same_to_the_last_bit(problem):
    root = np.random.default_rng(0).standard_normal((2, 6, 6))
    transition = np.random.default_rng(1).standard_normal((2, 4, 6))
    mixture = known_mixture(problem, 0.1)
    with_none = predict(root, transition, np.ones(4), walk(problem, STILL, 0, SECOND))
    np.testing.assert_array_equal(with_none, predict(root, transition, np.ones(4)))
    assert drifted(problem, mixture, STILL, 0, 3600 * SECOND) is mixture


def test_parameters_drift_in_a_gap_as_well(problem):
    estimator, gap = GaussianSum(**ALIKE_ALL), 3600 * SECOND
    frame = Frame(gap, gap, (Sample('encoder', gap, np.zeros(2)),), (), after_gap=True)
    state = FilterState(known_mixture(problem, 0.05), end_ns=0)
    during, _ = estimator.update(problem, state, frame)
    np.testing.assert_allclose(deviations(problem, estimator, during), np.hypot(0.05, DRIFT))
    unknown, _ = estimator.update(problem, FilterState(state.mixture), frame)
    np.testing.assert_allclose(deviations(problem, estimator, unknown), 0.05)
