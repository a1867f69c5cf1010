"""The loop of SimOpt on a cart-pole."""

import numpy as np
import pytest
import torch

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce import cartpole, simopt_experiment, simopt_report
from sim2real_estimator.app.reproduce.cartpole import Cartpole, DELAY, FIRST_GAINS, NAMES
from sim2real_estimator.app.reproduce.simopt_experiment import Budget, Loop, Moment
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.urdf.load import load_urdf

# Of a policy that has been trained.
SWINGING = np.array([12.5, 4.7, 3.0, 3.6, 4.8, 0.82, 4.2, 5.9, 31.6, 3.8, 0.05])
TINY = Budget(policies=4, generations=2, robots=2, candidates=6, updates=2, few=1)


@pytest.fixture(scope='module')
def loop():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simopt_experiment, 'TRIALS', 1)
        patch.setattr(simopt_experiment, 'STARTS', 4)
        return simopt_experiment.run_loop(3, rounds=1, budget=TINY)


def test_a_rollout_is_that_of_the_simulator_with_the_same_late_commands():
    values = simopt_experiment.true_robot(1)
    values[-1] = 0.0437  # no multiple of a step
    steps, periods = 4, 150
    generator = np.random.default_rng(0)
    starts = cartpole.random_starts(2, generator)
    gains = FIRST_GAINS[:, None]
    run = Cartpole(steps).run(values[:, None], gains, starts, generator)
    fixed = {'slider.friction_velocity': cartpole.FRICTION_VELOCITY, 'slider.delay': values[-1]}
    step = cartpole.PERIOD / steps
    simulator = Simulator(load_urdf(cartpole.URDF), NAMES[:-1], max_step=step, values=fixed)
    controls = np.zeros((periods, 2, 2))
    controls[:, 0] = run.commands[:periods]
    with torch.no_grad():
        states = simulator.rollout(
            torch.from_numpy(np.concatenate([starts, np.zeros((2, 2))])),
            [cartpole.PERIOD] * periods,
            torch.from_numpy(values[:-1, None]),
            torch.from_numpy(controls),
            previous=torch.zeros(10, 2, dtype=torch.float64),
        ).states.numpy()
    # The loop takes the mean force over a step in which a command begins to act.
    assert np.ptp(run.positions[: periods + 1, 1]) > 0.5
    np.testing.assert_allclose(run.positions[: periods + 1], states[:, :2], atol=2e-3)


def test_coordinates_are_those_of_the_values_and_true_robots_are_at_the_edge():
    points = np.random.default_rng(0).uniform(-1.4, 2, (len(NAMES), 5))
    again = simopt_experiment.to_coordinates(simopt_experiment.to_values(points))
    np.testing.assert_allclose(again, points, atol=1e-12)
    truth = simopt_experiment.true_robot(5)[:, None]
    away = np.abs(simopt_experiment.to_coordinates(truth))
    assert (away >= 1).all() and (away <= 2).all()
    assert truth[NAMES.index(DELAY)] > simopt_experiment.MIDDLES[-1]


def test_all_ways_begin_alike_and_count_what_they_simulate(loop):
    ways = {kind: loop.courses[kind.title] for kind in simopt_experiment.WAYS}
    first = {course[0].success for course in ways.values()}
    assert len(first) == 1
    assert all(course[0].simulated == 0 for course in ways.values())
    assert all(course[1].trials == 1 for course in ways.values())
    assert ways[simopt_experiment.HandMade][1].simulated == 0
    assert ways[simopt_experiment.SimOpt][1].simulated == TINY.updates * TINY.candidates
    assert ways[simopt_experiment.SimOptFew][1].simulated == TINY.few * TINY.candidates
    # Every frame of the recording is simulated at least once, with its derivatives.
    online = ways[simopt_experiment.Online][1]
    assert online.simulated > 1
    assert online.by_differences > 2 * online.simulated


def test_draws_of_the_posterior_are_near_the_truth_after_one_rollout_that_swings():
    values = simopt_experiment.true_robot(3)
    robot = simopt_experiment.TrueRobot(values, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simopt_experiment, 'TRIALS', 1)
        trials = robot.trials(SWINGING, 1)
    way = simopt_experiment.Online(3, TINY)
    way.update(trials, SWINGING)
    draws = simopt_experiment.to_coordinates(way.draw(100, np.random.default_rng(0)))
    truth = simopt_experiment.to_coordinates(values[:, None])
    assert np.ptp(trials.positions[:, 1]) > 3
    # The true friction is steeper than that of the model, which damping makes up for.
    assert np.median(np.abs(draws - truth)) < 0.02 and np.abs(draws - truth).max() < 0.6


def test_the_verdict_wants_success_and_few_rollouts():
    def loop_with(ours, simulated):
        draws = np.zeros((len(NAMES), 3))
        ends = {'hand-made ranges': (0.5, 0), 'SimOpt': (0.9, 1000), 'ours': (ours, simulated)}
        courses = {
            title: (
                Moment(0.5, 0, 0, 0, 0, draws),
                Moment(success, 3, count, 2 * count, 1.0, draws),
            )
            for title, (success, count) in ends.items()
        }
        return [Loop(0, np.zeros(len(NAMES)), 1.0, courses)]

    assert simopt_report.verdict(loop_with(0.5, 100))[0]
    assert not simopt_report.verdict(loop_with(0.4, 100))[0]
    is_reached, sentence = simopt_report.verdict(loop_with(0.9, 101))
    assert not is_reached and sentence.startswith('misses') and '0.101' in sentence


def test_the_command_ends_with_a_table_a_verdict_and_a_picture(
    tmp_path, capsys, monkeypatch, loop
):
    monkeypatch.setattr(simopt_experiment, 'run_loop', lambda *arguments, **options: loop)
    arguments = ['reproduce', 'simopt', '--robots', '2', '--rounds', '1']
    status = cli.main([*arguments, '--output', str(tmp_path)])
    printed = capsys.readouterr().out
    assert 'SimOpt, a tenth' in printed
    assert ('holds: ' if status == 0 else 'misses: ') in printed
    assert (tmp_path / 'simopt.png').read_bytes().startswith(b'\x89PNG')
