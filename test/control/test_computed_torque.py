"""Commands by inverse dynamics of an estimated robot, and the law that uses them."""

import numpy as np
import pytest
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import load_config
from sim2real_estimator.control.computed_torque import ComputedTorque, Target
from sim2real_estimator.control.inverse_dynamics import InverseDynamics
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.setup.sources import build_model

CONFIG = 'config/double_pendulum.yaml'
NAMES = ['upper.mass', 'lower.mass', 'lower.com.z', 'elbow.damping', 'shoulder.friction']
VALUES = np.array([1.3, 0.9, -0.2, 0.11, 0.05])
STEP = 2e-3


@pytest.fixture(scope='module')
def model():
    return build_model(load_config(CONFIG))


@pytest.fixture(scope='module')
def simulator(model):
    return Simulator(model, NAMES, max_step=STEP)


def dynamics_of(model, names=NAMES):
    return InverseDynamics(model, list(names))


def moved(simulator, state, commands, values, seconds=STEP):
    """Return the state after some time with constant commands."""
    columns = (np.asarray(each)[:, None] for each in (state, values, commands))
    start, known, given = (torch.from_numpy(np.array(each)) for each in columns)
    with torch.no_grad():
        return simulator.rollout(start, [seconds], known, given[None]).states[-1, :, 0].numpy()


def test_the_simulator_moves_as_the_commands_were_made_for(model, simulator):
    generator = np.random.default_rng(1)
    dynamics = dynamics_of(model)
    for _ in range(10):
        q, v, a = (generator.standard_normal(2) for _ in range(3))
        commands = dynamics.commands(q, v, a, VALUES)[:, 0]
        short = 1e-5
        after = moved(simulator, np.concatenate([q, v]), commands, VALUES, short)
        np.testing.assert_allclose((after[2:] - v) / short, a, atol=2e-3)


def test_delays_and_noises_are_left_out_and_parameters_of_another_robot_are_refused(model):
    signals = ['encoders.delay', 'encoders.noise', 'elbow.delay', 'commands.delay']
    dynamics = dynamics_of(model, [*signals, *NAMES])
    assert dynamics.names == tuple(NAMES)
    assert dynamics.ignored == tuple(signals)
    assert dynamics.rows.tolist() == [4, 5, 6, 7, 8]
    with pytest.raises(ConfigError, match='hand.mass'):
        dynamics_of(model, ['hand.mass'])


def test_joints_whose_motion_is_given_have_no_effort_to_control(model):
    driven = model.with_actuators({'elbow': 'driven'})
    with pytest.raises(ConfigError, match='elbow.*measured or commanded'):
        dynamics_of(driven)


def held(law, simulator, values, target, seconds):
    """Return the state after a law has held a robot of these values for some time."""
    state = np.concatenate([target.positions, np.zeros(2)])
    for _ in range(round(seconds / STEP)):
        asked = law.commands(state[:2], state[2:], target, STEP, with_sd=False)
        state = moved(simulator, state, asked.values, values)
    return state


def test_a_robot_that_is_known_is_held_where_it_is_wanted(model, simulator):
    target = Target(np.array([0.3, -0.2]), np.zeros(2), np.zeros(2))
    law = ComputedTorque(dynamics_of(model), full_error=0.0)
    off = held(law, simulator, VALUES, target, 2.0)[:2] - target.positions
    assert np.abs(off).max() > 0.005  # by the description, which is wrong
    assert law.learn(VALUES)
    off = held(law, simulator, VALUES, target, 4.0)[:2] - target.positions
    assert np.abs(off).max() < 1e-4


def test_new_parameters_act_little_by_little(model):
    law = ComputedTorque(dynamics_of(model), blend=0.5)
    state = np.array([0.3, -0.2]), np.zeros(2)
    before = law.commands(*state).values
    law.learn(VALUES)
    soon, late = (law.commands(*state, elapsed=seconds).values for seconds in (0.01, 10.0))
    wanted = law.dynamics.commands(*state, np.zeros(2), VALUES)[:, 0]
    assert np.abs(soon - before).max() < 0.05 * np.abs(wanted - before).max()
    np.testing.assert_allclose(late, wanted, rtol=1e-6)


def test_numbers_that_are_not_finite_are_not_learned(model):
    law = ComputedTorque(dynamics_of(model))
    wrong = VALUES.copy()
    wrong[1] = np.nan
    assert not law.learn(wrong)
    assert not law.learn(VALUES, np.full((len(NAMES), 3), np.inf))
    assert np.isfinite(law.commands(np.zeros(2), np.zeros(2)).values).all()


def test_the_spread_of_commands_is_that_of_draws(model):
    draws = VALUES[:, None] * (1 + 0.05 * np.random.default_rng(3).standard_normal((5, 48)))
    law = ComputedTorque(dynamics_of(model))
    law.learn(VALUES, draws)
    q = np.array([0.3, -0.2])
    asked = law.commands(q, np.zeros(2))
    several = law.dynamics.commands(q, np.zeros(2), np.zeros(2), draws)
    np.testing.assert_allclose(asked.sd, several.std(1))
    assert (asked.sd > 0).all()


def test_commands_stay_within_the_limits_of_the_robot(model):
    law = ComputedTorque(dynamics_of(model), stiffness=1e6)
    asked = law.commands(np.zeros(2), np.zeros(2), Target(np.ones(2), np.zeros(2), np.zeros(2)))
    limits = [m.joint.limits.effort for m in model.moving_joints]
    assert asked.is_limited.any()
    assert (np.abs(asked.values) <= limits).all()


def test_a_joint_has_a_spring_of_its_own_beside_what_its_inertia_is_worth(model):
    target = Target(np.array([0.01, 0.0]), np.zeros(2), np.zeros(2))
    state = np.zeros(2), np.zeros(2)
    with_spring, without = (
        ComputedTorque(dynamics_of(model), full_error=each).commands(*state, target).values
        for each in (0.5, 0.0)
    )
    largest = next(
        m.joint.limits.effort for m in model.moving_joints if m.joint.name == 'shoulder'
    )
    assert (with_spring - without)[0] == pytest.approx(0.02 * largest)
    assert (with_spring - without)[1] == pytest.approx(0.0)
