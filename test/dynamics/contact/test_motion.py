"""Motion through contacts: energy, rest, impacts, and their derivatives."""

import math

import pytest
import torch
from touching import body, BOX, EDGE, MASS, pair, RADIUS, SPHERE, state

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.parameters import STANDARD_GRAVITY

ELASTIC = {'friction': 0, 'dissipation': 0}


def test_an_elastic_ball_comes_back_to_where_it_fell_from():
    drop = 0.4
    simulator = Simulator(body(stiffness=2e4, **ELASTIC))
    fall = math.sqrt(2 * drop / STANDARD_GRAVITY)
    steps = round(2.4 * fall / 1e-3)
    heights = simulator.rollout(state(simulator.model, x2=RADIUS + drop), [1e-3] * steps).states[
        :, 2, 0
    ]
    assert heights[round(1.5 * fall / 1e-3) :].max() == pytest.approx(RADIUS + drop, abs=2e-5)


def test_dissipation_takes_the_energy_that_it_should():
    # For small c v the coefficient of restitution is 1 - 2/3 c v (Hunt and Crossley).
    speed, dissipation = 1.0, 0.06
    model = body(stiffness=2e5, friction=0, dissipation=dissipation)
    simulator = Simulator(model, values={'world.gravity': 1e-9})
    last = simulator.rollout(state(model, x2=RADIUS + 0.01, x9=-speed), [5e-4] * 100).states[-1]
    assert last[9].item() == pytest.approx(1 - 2 / 3 * dissipation * speed, abs=2e-3)


def test_a_box_at_rest_sinks_in_as_deep_as_its_weight_asks_and_stays():
    model = body(BOX, stiffness=1e5, dissipation=2.0, friction=0.5)
    simulator = Simulator(model)
    depth = (MASS * STANDARD_GRAVITY / 4 / 1e5) ** (2 / 3)
    beginning = state(model, x2=EDGE / 2 - depth)
    states = simulator.rollout(beginning, [2e-3] * 1500).states[:, :, 0]
    assert (states[-1, :7] - beginning[:7, 0]).abs().max() < 1e-6


def test_a_box_slides_to_rest_where_friction_says():
    friction, speed = 0.3, 1.0
    model = body(BOX, stiffness=1e6, dissipation=2.0, friction=friction, slip_velocity=1e-3)
    simulator = Simulator(model)
    depth = (MASS * STANDARD_GRAVITY / 4 / 1e6) ** (2 / 3)
    last = simulator.rollout(state(model, x2=EDGE / 2 - depth, x7=speed), [5e-4] * 1000).states[-1]
    assert last[0].item() == pytest.approx(speed**2 / (2 * friction * STANDARD_GRAVITY), rel=0.01)
    assert abs(last[7].item()) < 1e-3


def test_a_ball_that_slides_ends_rolling_at_five_sevenths_of_its_speed():
    model = body(stiffness=1e5, dissipation=2.0, friction=0.5, slip_velocity=1e-3)
    depth = (MASS * STANDARD_GRAVITY / 1e5) ** (2 / 3)
    inertia, speed = 0.004, 1.0
    last = (
        Simulator(model)
        .rollout(state(model, x2=RADIUS - depth, x7=speed), [1e-3] * 1500)
        .states[-1]
    )
    rolling = speed / (1 + inertia / (MASS * RADIUS**2))
    assert last[7].item() == pytest.approx(rolling, rel=0.02)


@pytest.mark.parametrize(('step', 'tolerance'), [(3e-3, 0.02), (1e-3, 0.01)])
def test_elastic_balls_exchange_velocities_and_so_do_their_derivatives(step, tolerance):
    # As long an impact as at 3 ms has ten steps.
    model = pair(joint='prismatic', stiffness=2.5e4, **ELASTIC)
    simulator = Simulator(model)
    found = simulator.jacobian(state(model, x0=0.0, x1=0.4, x2=1.0), [step] * round(0.6 / step))
    exchanged = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    assert found.state[2:, 0].tolist() == pytest.approx([0.0, 1.0], abs=1e-3)
    assert (found.by_state[0, 2:, 2:] - exchanged).abs().max() < tolerance
    assert (found.by_state[0, :2, :2] - exchanged).abs().max() < tolerance


def test_derivatives_of_the_rebound_are_those_of_the_motion():
    # Heights 0.8 s after balls are dropped, against steps 30 times as fine.
    drops = torch.linspace(0.3, 1.0, 20, dtype=torch.float64)
    model = body(stiffness=1e4 * MASS, **ELASTIC)
    simulator = Simulator(model)
    beginning = state(model).repeat(1, 20)
    beginning[2] = RADIUS + drops

    def slopes(step):
        found = simulator.jacobian(beginning, [step] * round(0.798 / step))
        return found.by_state[:, 2, 2]

    exact = slopes(1e-4)
    error = (slopes(3e-3) - exact).square().mean().sqrt() / exact.square().mean().sqrt()
    assert error < 0.02


@pytest.mark.parametrize('backend', ['native', 'eager'])
def test_derivatives_across_an_impact_are_those_of_what_is_computed(backend):
    # The reference is slow: there it is a ball, just above the ground.
    model = body(BOX if backend == 'native' else SPHERE, stiffness=5e4)
    names = ['floor.friction', 'floor.dissipation', 'floor.stiffness', 'body.mass']
    simulator = Simulator(model, names, backend=backend)
    height, count = (0.102, 4) if backend == 'eager' else (0.19, 120)
    beginning = state(model, x2=height, x7=0.6, x9=-1.0, x10=4.0, x11=2.0)
    steps, values = [2e-3] * count, simulator.nominal()
    found = simulator.jacobian(beginning, steps, values)
    # Something has pushed it: by its weight alone it would be faster.
    free_fall = -1.0 - 2e-3 * count * STANDARD_GRAVITY
    assert found.state[9, 0] > free_fall + 0.1

    def differences(function, at, rows, size):
        columns = []
        for row in rows:
            ends = []
            for sign in (1, -1):
                moved = at.clone()
                moved[row] += sign * size * max(1.0, abs(moved[row].item()))
                ends.append((function(moved), moved[row].item()))
            columns.append((ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1]))
        return torch.stack(columns, -1)

    def last(beginning, values):
        return simulator.rollout(beginning, steps, values).states[-1, :, 0]

    rows = [0, 1, 2, *range(7, 13)]
    by_state = differences(lambda x: last(x, values), beginning, rows, 1e-6)
    torch.testing.assert_close(found.by_state[0][:, rows], by_state, rtol=1e-4, atol=1e-4)
    by_values = differences(lambda p: last(beginning, p), values, range(4), 1e-6)
    torch.testing.assert_close(found.by_parameters[0], by_values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('kind', ['balls', 'on_ground'])
def test_backends_agree_through_impacts(kind):
    if kind == 'balls':
        model, pair_name, owner = pair(joint='prismatic', stiffness=2e4), 'hit', 'ours'
        beginning = state(model, x1=0.205, x2=2.0).repeat(1, 5)
        beginning[0] = torch.linspace(0.0, 0.003, 5)
    else:
        model, pair_name, owner = body(stiffness=2e4), 'floor', 'body'
        beginning = state(model, x2=0.104, x7=1.0, x9=-2.0, x11=3.0).repeat(1, 5)
        beginning[7] = torch.linspace(0.0, 1.0, 5)
    names = [f'{pair_name}.friction', f'{pair_name}.stiffness', f'{owner}.mass']
    runs = {}
    for backend in ('native', 'eager'):
        simulator = Simulator(model, names, backend=backend)
        found = simulator.jacobian(beginning, [3e-3] * 4)
        forwards = simulator.sensitivities(beginning, [3e-3] * 4)
        runs[backend] = (
            found.state,
            found.by_state,
            found.by_parameters,
            found.by_durations,
            forwards.d_states[:, -1],
        )
    assert runs['native'][2][..., 1].abs().max() > 0
    for ours, theirs in zip(runs['native'], runs['eager']):
        assert (ours - theirs).abs().max() <= 1e-9 * theirs.abs().max()


def test_a_sample_without_a_number_leaves_the_others_alone():
    model = body(stiffness=1e4)
    simulator = Simulator(model)
    beginning = state(model, x2=0.13, x9=-1.0).repeat(1, 3)
    alone = simulator.rollout(beginning[:, :1], [3e-3] * 30).states[-1, :, 0]
    beginning[9, 1] = math.nan
    last = simulator.rollout(beginning, [3e-3] * 30).states[-1]
    assert last[:, 1].isnan().any()
    torch.testing.assert_close(last[:, 2], alone, rtol=1e-12, atol=1e-12)
