"""Robots that are pushed by what nobody knows: filters take over sooner, and look back."""

from dataclasses import replace

import numpy as np
from problems import p2
from problems.common import make_frames, roll, states_of, TRUTH_STEP
import pytest
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.batch.fit import Window
from sim2real_estimator.estimation.batch.smoothed_fits import first_trajectories, fit_by_smoothing
from sim2real_estimator.estimation.disturbances import bank, Kind, neighbours, NO_DISTURBANCE
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.estimation.noise import NormalNoise
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions

pytestmark = pytest.mark.usefixtures('one_thread')

# With as few unknowns as a pendulum has, first fits leave all states free only if they are told.
ESTIMATOR = ESTIMATORS['gaussian_sum'](starts=1, horizons=(25, 50, 80), shooting=0)
SECONDS, PUSH, FRICTION = 3.0, 0.08, 0.15
# Noise of encoders [rad] that shows how a joint turns round.
FINE = 2e-4


@pytest.fixture(scope='module')
def problem():
    return p2.make_problem(ProblemOptions(max_step=0.005, disturbance_time=0.2))


@pytest.fixture(scope='module')
def frames():
    return p2.draw(5, SECONDS)[1]


def handed_over(problem, frames):
    """Return the state of an estimator when its filter has just taken over, and what is left."""
    state = ESTIMATOR.init(problem)
    for k, frame in enumerate(frames):
        state, _ = ESTIMATOR.update(problem, state, frame)
        if isinstance(state, FilterState):
            return state, frames[k + 1 :]
    raise AssertionError('no filter has taken over')


def pushed(frames):
    """Return frames that leave out a part of what the elbow's motor does."""
    left_out = [np.array([0.0, PUSH * np.sin(0.4 * k)]) for k in range(len(frames))]
    return tuple(
        replace(frame, inputs=tuple((at, values + more) for at, values in frame.inputs))
        for frame, more in zip(frames, left_out)
    )


def test_an_undisturbed_filter_knows_the_dynamics_well_and_does_not_look_back(problem, frames):
    state, _ = handed_over(problem, frames)
    is_undisturbed = state.mixture.disturbances.sizes == 0
    assert state.lag is None and state.mixture.weights[is_undisturbed].sum() > 0.05
    known = state.mixture.pick(np.flatnonzero(is_undisturbed))
    assert (problem.spread(known.means, known.parameter_roots()) <= ESTIMATOR.handover).all()


def test_a_disturbed_filter_takes_over_with_less_known_and_looks_back(problem, frames):
    state, left = handed_over(problem, pushed(frames))
    mixture = state.mixture.pick([state.mixture.heaviest()])
    spread = problem.spread(mixture.means, mixture.parameter_roots())[0]
    size = mixture.disturbances.sizes[0]
    assert size > 0
    assert ESTIMATOR.handover < spread <= np.sqrt(ESTIMATOR.handover**2 + size)
    for frame in left[:5]:
        state, report = ESTIMATOR.update(problem, state, frame)
        assert report.events == ()
    assert len(state.lag.frames) == 2


def test_a_shot_that_misses_is_followed_by_fits_that_reckon_with_disturbances(problem, frames):
    estimator, chosen = ESTIMATORS['gaussian_sum'](starts=2, horizons=(80,)), []
    for each in (frames, pushed(frames)):
        state = estimator.init(problem)
        for frame in each[:80]:
            state, _ = estimator.update(problem, state, frame)
        chosen.append(state)
    assert chosen[0].trajectories is None
    first, second = (each.mixture for each in chosen)
    assert (first.disturbances.sizes == 0).all()
    assert second.disturbances.sizes[second.heaviest()] > 0


def test_where_no_disturbance_of_the_bank_leads_anywhere_the_first_fit_stays(problem, frames):
    window = Window(frames[:40], *problem.first_state(frames[:40]))
    begins = first_trajectories(problem, window, problem.prior.mean[:, None], NormalNoise())
    mixture, _, fits = fit_by_smoothing(
        problem, window, begins, NormalNoise(), bank((1e200, 1e250)), NO_DISTURBANCE
    )
    assert fits and mixture.disturbances.each == (NO_DISTURBANCE,)


def test_disturbances_leave_something_uncertain_for_good(problem, frames):
    state, _ = handed_over(problem, frames)
    said = ESTIMATOR.mixture(problem, state)
    more = said.parameter_covariances() - state.mixture.parameter_covariances()
    # Relative to their size, all inertial combinations are wrong by about as much.
    sizes = said.disturbances.sizes
    for size, added in zip(sizes, more):
        leave = np.sqrt(np.diag(added))
        assert (leave >= 0.05 * size).all() and (leave <= size).all()
    assert 0.0 in sizes and sizes.max() > 0


def test_sizes_next_to_what_was_found_are_tried_and_one_of_friction():
    each = none, small, large, *forces = bank((0.0, 0.01, 0.03, 0.1), (0.001, 0.003))
    tried = [neighbours(each, found) for found in ([none], [large], [forces[2], none])]
    assert tried == [
        (none, small, large),
        (small, large, forces[0]),
        (none, small, large, *forces[1:]),
    ]


def test_a_small_force_is_no_error_of_friction():
    none, friction, force = bank((0.0, 0.003), (0.003,))
    assert none == NO_DISTURBANCE
    assert (friction.kind, force.kind) == (Kind.FRICTION, Kind.FORCE)
    assert friction.size == force.size == 0.003


def test_a_joint_that_sticks_more_than_its_model_is_put_down_to_friction():
    prior = {'elbow.friction': Prior(FRICTION, 0.4, True)}
    options = ProblemOptions(max_step=0.005, disturbance_time=0.2)
    problem, (values, frames) = p2.make_problem(options, prior, FINE), sticking()
    window = Window(frames, *problem.first_state(frames))
    begins = first_trajectories(problem, window, problem.prior.mean[:, None], NormalNoise())
    hypotheses = bank((0.0, 0.03), (0.003,))
    mixture, _, fits = fit_by_smoothing(problem, window, begins, NormalNoise(), hypotheses)
    assert fits and mixture.disturbances.of_friction[mixture.heaviest()]
    drawn = problem.parametrization.to_named(mixture.draw(500, np.random.default_rng(3)))
    rows = [problem.parametrization.names.index(name) for name in p2.NAMES]
    found = p2.base_parameters(drawn[rows])[:5]
    true = p2.base_parameters(np.array([values[name] for name in p2.NAMES]))[:5]
    assert (np.abs(found.mean(1) - true) < 4 * found.std(1)).all()


def sticking():
    """Return (true values, frames) of a pendulum whose elbow has sharper, larger friction."""
    rng = np.random.default_rng(5)
    values = {name: prior.mean for name, prior in p2.priors().items()}
    state, torques = p2.draw_motion(rng, SECONDS)
    more = {'elbow.friction': 1.3 * FRICTION, 'elbow.friction_velocity': 0.002}
    robot = Simulator(p2.model(), p2.NAMES, max_step=TRUTH_STEP / 4, values=more)
    states = states_of(
        roll(robot, state, p2.RATE, len(torques), values, torch.from_numpy(torques))
    )
    angles = states[:, :2] + FINE * rng.standard_normal((len(states), 2))
    return values, make_frames(p2.RATE, [{'encoders': row} for row in angles], torques)
