"""What is expected of a robot whose torques are measured, before any data."""

import json
from pathlib import Path
import sysconfig

import numpy as np
import pytest

from sim2real_estimator.config import load_config, read_config, with_values
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.model.friction import COUPLED, FRICTIONS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.torque_priors import FRICTION_VELOCITY, torque_priors

ROOT = Path(__file__).resolve().parent.parent
ARM = ROOT / 'config' / 'seven_joint_arm.yaml'
ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')


def priors_of(urdf, couplings=None):
    model = load_urdf(urdf)
    if couplings:
        model = model.with_couplings(couplings)
    return torque_priors(Parameters(model), model.commands)


def problem_of(urdf, **changes):
    """Return the problem of a robot all of whose torques and joints are measured."""
    model = load_urdf(urdf)
    joints = [m.joint.name for m in model.moving_joints if m.is_independent]
    encoders = {'kind': 'joint_positions', 'topic': 'joint_states', 'joints': joints, 'sd': 1e-4}
    values = {
        'model.urdf': urdf,
        'joints': {joint: {'effort': 'measured'} for joint in joints},
        'sensors': {'encoders': encoders},
        'estimate': {'*.mass': {}, '*.com.*': {}, '*.inertia.*': {}, '*.armature': {}},
    } | changes
    urdf = values.pop('model.urdf')
    config = read_config(json.dumps({'model': {'urdf': 'x'}, **values}))
    return build_parts(with_values(config, {'model.urdf': urdf}))[0]


def test_sizes_go_with_the_limits_of_joints(double_pendulum_urdf):
    strong = double_pendulum_urdf.replace('effort="20"', 'effort="200"')
    weak, strong = priors_of(double_pendulum_urdf).priors, priors_of(strong).priors
    for joint in ('shoulder', 'elbow'):
        for name in ('damping', 'friction', 'torque_offset', 'stribeck'):
            name = f'{joint}.{name}'
            assert strong[name].sd == pytest.approx(10 * weak[name].sd)
        assert strong[f'{joint}.load_friction'] == weak[f'{joint}.load_friction']
        assert weak[f'{joint}.friction'].mean == pytest.approx(0.02 * 20)
        assert weak[f'{joint}.gain'].mean == 1.0
    assert not any(prior.is_log for prior in weak.values())


def test_every_term_of_friction_is_a_column_even_if_nobody_asks(double_pendulum_urdf):
    found = priors_of(double_pendulum_urdf)
    expected = {f'{joint}.{name}' for joint in ('shoulder', 'elbow') for name in FRICTIONS}
    expected |= {'shoulder.gain', 'elbow.gain'}
    assert set(found.columns) == expected <= set(found.priors)
    problem = problem_of(double_pendulum_urdf)
    assert expected <= set(problem.parametrization.names)
    assert problem.parametrization.fixed['elbow.friction_velocity'] == FRICTION_VELOCITY[True]


def test_who_asks_gets_what_he_asks_for(double_pendulum_urdf):
    asked = {
        '*.mass': {},
        'elbow.gain': {'mean': 1.0, 'fixed': True},
        'elbow.torque_offset': {'sd': 0.01},
        'elbow.friction_velocity': {'mean': 0.1, 'fixed': True},
    }
    parametrization = problem_of(double_pendulum_urdf, estimate=asked).parametrization
    assert 'elbow.gain' not in parametrization.names and 'shoulder.gain' in parametrization.names
    assert parametrization.priors['elbow.torque_offset'].sd == 0.01
    assert parametrization.priors['shoulder.torque_offset'].sd == pytest.approx(0.4)
    assert parametrization.fixed['elbow.friction_velocity'] == 0.1
    assert parametrization.fixed['shoulder.friction_velocity'] == FRICTION_VELOCITY[True]


def test_slides_have_sizes_of_their_own(branching_arm_urdf):
    found = priors_of(branching_arm_urdf)
    assert found.fixed['right_rail.friction_velocity'] == FRICTION_VELOCITY[False]
    assert found.fixed['waist.friction_velocity'] == FRICTION_VELOCITY[True]
    # Of a tenth of a metre in a second.
    assert found.priors['right_rail.damping'].sd == pytest.approx(
        10 * found.priors['waist.damping'].sd
    )


def test_joints_that_share_a_motor_have_its_columns(double_pendulum_urdf):
    plain = priors_of(double_pendulum_urdf)
    found = priors_of(double_pendulum_urdf, {'elbow': 'shoulder'})
    assert set(found.columns) - set(plain.columns) == {f'elbow.{name}' for name in COUPLED}


def test_only_joints_with_a_torque_have_columns(double_pendulum_urdf):
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    found = torque_priors(parameters, ('elbow',))
    assert {name.partition('.')[0] for name in found.columns} == {'elbow'}
    assert set(found.fixed) == {'elbow.friction_velocity'}
    assert set(found.bodies) == {'upper', 'lower'}


def test_bodies_are_a_third_off_and_can_be_built():
    problem = build_parts(load_config(ARM))[0]
    bodies = torque_priors(problem.parameters, problem.torque.joints).bodies
    rng = np.random.default_rng(0)
    for link, body in bodies.items():
        mass = problem.parameters[f'{link}.mass'].nominal
        assert body.mean[0] == mass
        draws = body.draw(2000, rng)
        assert are_possible(draws).all()
        assert 0.2 < draws[:, 0].std() / mass < 1.0
        # What is normal has about the covariance of the draws, but for the squares of changes.
        covariance = body.root @ body.root.T
        assert np.sqrt(covariance[0, 0]) == pytest.approx(draws[:, 0].std(), rel=0.5)


@pytest.mark.skipif(not ROBOTS.exists(), reason='needs the robots of example-robot-data')
@pytest.mark.parametrize(
    'file',
    [
        'ur_description/urdf/ur5_robot.urdf',
        'panda_description/urdf/panda.urdf',
        'kinova_description/robots/kinova.urdf',
        'allegro_hand_description/urdf/allegro_right_hand.urdf',
        'talos_data/robots/talos_left_arm.urdf',
    ],
)
def test_real_robots_have_priors_of_finite_size(file):
    if not (ROBOTS / file).exists():
        pytest.skip('not among the robots')
    model = load_urdf(ROBOTS / file, inertia_check='warn')
    found = torque_priors(Parameters(model), model.commands)
    assert all(np.isfinite([p.mean, p.sd]).all() and p.sd > 0 for p in found.priors.values())
    for body in found.bodies.values():
        assert np.isfinite(body.root).all()
        assert np.linalg.matrix_rank(body.root, tol=1e-14) == 10
