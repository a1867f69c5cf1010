"""What must hold between the algorithms, whatever the robot, friction and springs included."""

from comparison import relative_error, TOLERANCE
import numpy as np
import pytest
from trees import build_model, draw_kinds, draw_state, draw_tree, let_follow, wrenches_of

from sim2real_estimator.dynamics.aba import forward_dynamics, solved_dynamics
from sim2real_estimator.dynamics.energy import kinetic_energy, potential_energy
from sim2real_estimator.dynamics.joint_forces import all_efforts
from sim2real_estimator.dynamics.mass_matrix import dense_dynamics, mass_matrix
from sim2real_estimator.dynamics.regressor import (
    regressor,
    regressor_names,
    regressor_parameters,
)
from sim2real_estimator.dynamics.rnea import gravity_efforts, inverse_dynamics
from sim2real_estimator.model.friction import COUPLED, FRICTIONS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize

SEEDS = range(8)
RESISTING = ('damping', 'friction', 'stiffness', 'rest', 'offset')


def drawn(seed, physics=RESISTING, has_followers=False):
    """Return (model, robot, state) of a random tree."""
    rng = np.random.default_rng(seed)
    spec = draw_tree(rng, 'tree', draw_kinds(rng, JOINTS, 3 + seed % 5), physics=physics)
    model = build_model(let_follow(rng, spec) if has_followers else spec)
    return model, realize(Parameters(model), {}), draw_state(rng, model)


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_inverse_dynamics_undoes_forward_dynamics(seed, has_followers):
    _, robot, state = drawn(seed, has_followers=has_followers)
    q, v, wrenches, commands = state['q'], state['v'], wrenches_of(state), state['effort']

    acceleration = forward_dynamics(robot, q, v, commands, wrenches)

    efforts = all_efforts(robot, q, v, commands)
    needed = inverse_dynamics(robot, q, v, acceleration, wrenches)
    assert relative_error(needed, efforts) < TOLERANCE


@pytest.mark.parametrize('seed', SEEDS)
def test_the_mass_matrix_leads_to_the_same_accelerations(seed):
    _, robot, state = drawn(seed, physics=())
    q, v, wrenches = state['q'], state['v'], wrenches_of(state)

    dense, _ = dense_dynamics(robot, q, v, state['effort'], wrenches)

    found = forward_dynamics(robot, q, v, state['effort'], wrenches)
    assert relative_error(found, dense) < TOLERANCE


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_the_solved_system_inverts_the_mass_matrix(seed, has_followers):
    _, robot, state = drawn(seed, has_followers=has_followers)
    q, effort = state['q'], state['effort']

    _, system = solved_dynamics(robot, q, state['v'], effort, wrenches_of(state))

    product = np.array(mass_matrix(robot, q)) @ system.solve(effort)
    assert relative_error(product, effort) < TOLERANCE


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_columns_of_the_mass_matrix_are_efforts_of_unit_accelerations(seed, has_followers):
    model, robot, state = drawn(seed, has_followers=has_followers)
    still = [0.0] * model.velocity_size
    at_rest = inverse_dynamics(robot, state['q'], still, still)

    matrix = np.array(mass_matrix(robot, state['q']))

    for k, column in enumerate(matrix.T):
        unit = [1.0 if i == k else 0.0 for i in range(len(still))]
        effort = np.array(inverse_dynamics(robot, state['q'], still, unit)) - at_rest
        assert relative_error(column, effort) < 1e-12
    assert relative_error(matrix, matrix.T) < 1e-14
    assert np.linalg.eigvalsh(matrix).min() > 0


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_kinetic_energy_is_half_the_mass_matrix_times_speed_squared(seed, has_followers):
    _, robot, state = drawn(seed, has_followers=has_followers)
    v = np.array(state['v'])

    expected = 0.5 * v @ np.array(mass_matrix(robot, state['q'])) @ v

    assert kinetic_energy(robot, state['q'], state['v']) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_the_regressor_times_its_parameters_is_the_effort_of_the_drives(seed, has_followers):
    physics = ('damping', 'friction', 'offset')
    model, robot, state = drawn(seed, physics, has_followers)
    q, v, acceleration = state['q'], state['v'], state['acceleration']

    columns = np.array(regressor(robot, q, v, acceleration))
    product = columns.T @ np.array(regressor_parameters(robot))

    # What the drives must deliver also overcomes what resists, that is minus the passive effort.
    passive = all_efforts(robot, q, v, [0.0] * len(model.commands))
    needed = np.array(inverse_dynamics(robot, q, v, acceleration)) - passive
    assert relative_error(product, needed) < TOLERANCE
    assert len(regressor_names(robot)) == len(set(regressor_names(robot))) == len(columns)


def drawn_with_all_columns(seed, has_followers):
    """Return (model, robot, state) of a random tree with all friction, some joints coupled."""
    rng = np.random.default_rng(100 + seed)
    kinds = ['revolute', *draw_kinds(rng, JOINTS, 2 + seed % 4), 'continuous', 'revolute']
    spec = draw_tree(rng, 'tree', kinds, physics=('damping', 'friction', 'offset'))
    model = build_model(let_follow(rng, spec) if has_followers else spec)
    turning = [
        joint.name
        for joint in model.joints
        if joint.kind.type_name in ('revolute', 'continuous') and joint.mimic is None
    ]
    # The last one shares a motor with the first, and so does the second where there is one.
    others = {*turning[1:2], *turning[-1:]} - {turning[0]}
    model = model.with_couplings(dict.fromkeys(sorted(others), turning[0]))
    parameters = Parameters(model)
    values = {
        name: float(rng.uniform(0.1, 1.0) * (1 if entry.is_positive else rng.choice([-1, 1])))
        for name, entry in parameters.items()
        if not entry.is_described or name.endswith(('.damping', '.friction', '_velocity'))
    }
    return model, realize(parameters, values), draw_state(rng, model)


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_the_regressor_has_every_column_of_friction(seed, has_followers):
    model, robot, state = drawn_with_all_columns(seed, has_followers)
    q, v, acceleration = state['q'], state['v'], state['acceleration']
    names, values = regressor_names(robot), regressor_parameters(robot)
    assert 0.0 not in [x for n, x in zip(names, values) if n.rpartition('.')[2] in FRICTIONS]

    columns = np.array(regressor(robot, q, v, acceleration))

    passive = all_efforts(robot, q, v, [0.0] * len(model.commands))
    needed = np.array(inverse_dynamics(robot, q, v, acceleration)) - passive
    assert relative_error(columns.T @ np.array(values), needed) < TOLERANCE
    assert len(names) == len(set(names)) == len(values) == len(columns)
    assert names[10 * len(robot.bodies) :] == [
        f'{moving.joint.name}.{name}'
        for moving in model.moving_joints
        for name in (*FRICTIONS, 'armature')
        if f'{moving.joint.name}.{name}' in Parameters(model)
    ] + [f'{joint}.{name}' for joint, _ in model.couplings for name in COUPLED]


@pytest.mark.parametrize('seed', SEEDS)
def test_the_load_of_the_regressor_may_be_given(seed):
    _, robot, state = drawn_with_all_columns(seed, False)
    q, v, acceleration = state['q'], state['v'], state['acceleration']
    load = gravity_efforts(robot, q, len(v))
    names = regressor_names(robot)

    own = np.array(regressor(robot, q, v, acceleration))
    given = np.array(regressor(robot, q, v, acceleration, load))
    doubled = np.array(regressor(robot, q, v, acceleration, [2 * x for x in load]))

    assert (own == given).all()
    for name, before, after in zip(names, own, doubled):
        factor = 2 if name.endswith('.load_friction') else 1
        assert (after == factor * before).all(), name


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_inverse_dynamics_undoes_forward_dynamics_with_every_column(seed, has_followers):
    _, robot, state = drawn_with_all_columns(seed, has_followers)
    q, v, wrenches, commands = state['q'], state['v'], wrenches_of(state), state['effort']

    acceleration, solver = solved_dynamics(robot, q, v, commands, wrenches)

    needed = inverse_dynamics(robot, q, v, acceleration, wrenches)
    assert relative_error(needed, all_efforts(robot, q, v, commands)) < TOLERANCE
    product = np.array(mass_matrix(robot, q)) @ solver.solve(commands)
    assert relative_error(product, commands) < TOLERANCE
    speeds = np.array(v)
    energy = 0.5 * speeds @ np.array(mass_matrix(robot, q)) @ speeds
    assert kinetic_energy(robot, q, v) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', SEEDS)
def test_power_of_passive_forces_is_the_loss_of_potential_energy(seed, has_followers):
    physics = ('stiffness', 'rest', 'offset')
    model, robot, state = drawn(seed, physics, has_followers)
    q, v, h = state['q'], state['v'], 1e-5
    still = [0.0] * len(v)

    def energy_at(duration):
        moved = []
        for moving in model.moving_joints:
            if moving.is_independent:
                kind = moving.joint.kind
                moved += kind.advance(q[moving.positions], v[moving.velocities], duration)
        return potential_energy(robot, moved)

    gravity = np.array(inverse_dynamics(robot, q, still, still))
    springs = np.array(all_efforts(robot, q, still, [0.0] * len(model.commands)))

    growth = (energy_at(h) - energy_at(-h)) / (2 * h)
    assert growth == pytest.approx((gravity - springs) @ v, rel=1e-7, abs=1e-7)
