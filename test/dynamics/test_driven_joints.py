"""Joints whose motion is prescribed: the others move as if somebody pushed just that hard."""

from comparison import relative_error, TOLERANCE
import numpy as np
import pytest
from trees import build_model, draw_kinds, draw_state, draw_tree, let_follow, wrenches_of

from sim2real_estimator.dynamics.aba import forward_dynamics, solved_dynamics
from sim2real_estimator.dynamics.mass_matrix import mass_matrix
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize

SEEDS = range(8)
RESISTING = ('damping', 'friction', 'stiffness', 'rest', 'offset')


def drawn(seed, has_followers):
    """Return (model, the same with every second joint driven, state) of a random tree."""
    rng = np.random.default_rng(seed)
    spec = draw_tree(rng, 'tree', draw_kinds(rng, JOINTS, 4 + seed % 4), physics=RESISTING)
    model = build_model(let_follow(rng, spec) if has_followers else spec)
    leading = [m.joint.name for m in model.moving_joints if m.is_independent]
    driven = dict.fromkeys(leading[seed % 2 :: 2], 'driven')
    return model, model.with_actuators(driven), draw_state(rng, model)


@pytest.fixture(params=SEEDS)
def seed(request):
    return request.param


@pytest.fixture(params=[False, True], ids=['tree', 'followers'])
def has_followers(request):
    return request.param


def test_a_driven_joint_moves_as_prescribed_and_the_others_as_if_it_were_pushed(
    seed, has_followers
):
    model, driven, state = drawn(seed, has_followers)
    q, v, wrenches, commands = state['q'], state['v'], wrenches_of(state), state['effort']
    robot = realize(Parameters(driven), {})
    chosen = robot.prescribed_velocities
    assert chosen

    found = forward_dynamics(robot, q, v, commands, wrenches)

    plain = realize(Parameters(model), {})
    # The efforts, beyond those of the plain robot, that would lead to the same acceleration.
    without = forward_dynamics(plain, q, v, commands, wrenches)
    matrix = np.array(mass_matrix(plain, q), dtype=float)
    extra = matrix @ (np.array(found) - np.array(without))
    for k, command in enumerate(commands):
        if k in chosen:
            assert found[k] == command
        else:
            assert abs(extra[k]) < TOLERANCE * np.abs(matrix @ np.array(without)).max()


def test_the_residual_vanishes_at_the_acceleration(seed, has_followers):
    _, model, state = drawn(seed, has_followers)
    system = System(Parameters(model), (), is_disturbed=True)
    controls = [*state['effort'], *state['acceleration']]
    robot = system.robot({})

    found, _ = system.acceleration(robot, state['q'], state['v'], controls)

    left = system.residual(robot, state['q'], state['v'], found, controls)
    assert np.abs(left).max() < TOLERANCE * max(1.0, np.abs(controls).max())


def test_the_solved_system_inverts_the_slope_of_the_residual(seed, has_followers):
    _, model, state = drawn(seed, has_followers)
    system = System(Parameters(model), ())
    robot, efforts, size = system.robot({}), state['effort'], model.velocity_size
    arguments = robot, state['q'], state['v']
    _, solver = solved_dynamics(*arguments, efforts)

    # The residual is linear in the acceleration.
    origin = np.array(system.residual(*arguments, [0.0] * size, efforts))
    columns = [
        np.array(system.residual(*arguments, row.tolist(), efforts)) - origin
        for row in np.eye(size)
    ]
    slope = np.stack(columns, 1)
    assert np.array_equal(slope, slope.T) or relative_error(slope, slope.T) < TOLERANCE
    solved = np.array(solver.solve(state['acceleration']))
    assert relative_error(slope @ solved, state['acceleration']) < TOLERANCE


def test_what_resists_inside_a_driven_joint_does_not_matter(seed):
    _, model, state = drawn(seed, True)
    resisting = {
        name: 7.0
        for body in realize(Parameters(model), {}).bodies
        if body.moving.is_prescribed
        for name in (f'{body.moving.joint.name}.{q}' for q in ('damping', 'friction', 'armature'))
    }
    assert resisting
    found = [
        forward_dynamics(
            realize(Parameters(model), values), state['q'], state['v'], state['effort']
        )
        for values in ({}, resisting)
    ]
    assert relative_error(found[0], found[1]) < TOLERANCE
