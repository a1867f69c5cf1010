"""The terms of joint friction against the documented formulas, and the names they get."""

import math

import pytest

from sim2real_estimator.dynamics.joint_forces import all_efforts
from sim2real_estimator.dynamics.rnea import gravity_efforts
from sim2real_estimator.model.friction import FRICTIONS
from sim2real_estimator.model.parameters import INSIDE_JOINT, is_of_mass, Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.tree import Mimic
from sim2real_estimator.model.urdf.load import load_urdf

WIDTH = 0.2
# Gravity torque of the pendulum at an angle of 0.4 rad: 1 kg at 0.5 m.
LOAD = 9.81 * 0.5 * math.sin(0.4)
EXPECTED = {
    'damping': lambda v: v,
    'friction': lambda v: math.tanh(v / WIDTH),
    'torque_offset': lambda v: 1.0,
    'load_friction': lambda v: LOAD * math.tanh(v / WIDTH),
    'stribeck': lambda v: math.tanh(v / WIDTH) * math.exp(-((v / (5 * WIDTH)) ** 2)),
}
UNITS = {
    'damping': 'N m s/rad',
    'friction': 'N m',
    'torque_offset': 'N m',
    'load_friction': '1',
    'stribeck': 'N m',
}


@pytest.fixture
def parameters(pendulum_urdf):
    return Parameters(load_urdf(pendulum_urdf))


@pytest.mark.parametrize('angle', [0.4, -0.4])
@pytest.mark.parametrize('v', [-0.9, 0.05, 3.0])
@pytest.mark.parametrize('name', FRICTIONS)
def test_a_term_resists_as_documented(parameters, name, v, angle):
    others = dict.fromkeys((f'pivot.{n}' for n in FRICTIONS), 0.0)
    values = {**others, f'pivot.{name}': 0.7, 'pivot.friction_velocity': WIDTH}

    (effort,) = all_efforts(realize(parameters, values), [angle], [v], [2.0])

    assert effort == pytest.approx(2.0 - 0.7 * EXPECTED[name](v), rel=1e-12)


@pytest.mark.parametrize('name', FRICTIONS)
def test_units_are_those_of_the_joint(parameters, pendulum_urdf, name):
    slide = Parameters(load_urdf(pendulum_urdf, joint_types={'pivot': 'prismatic'}))
    assert parameters[f'pivot.{name}'].unit == UNITS[name]
    expected = UNITS[name].replace('N m', 'N').replace('rad', 'm')
    assert slide[f'pivot.{name}'].unit == expected


def test_a_robot_description_gives_damping_and_friction_only(parameters):
    given = [name for name in FRICTIONS if parameters[f'pivot.{name}'].is_described]
    assert given == ['damping', 'friction']
    assert [parameters[f'pivot.{name}'].nominal for name in FRICTIONS] == [0.1, 0.05, 0, 0, 0]
    assert set(FRICTIONS) <= set(INSIDE_JOINT)
    assert not is_of_mass('pivot.load_friction') and is_of_mass('pivot.stribeck')


def test_joints_of_several_degrees_of_freedom_and_followers_have_two_terms(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf, joint_types={'shoulder': 'planar'})
    names = [name for name in FRICTIONS if f'shoulder.{name}' in Parameters(model)]
    assert names == ['damping', 'friction']
    assert all(f'elbow.{name}' in Parameters(model) for name in FRICTIONS)
    led = load_urdf(double_pendulum_urdf, actuators={'elbow': 'passive'})
    led = led.with_joint('elbow', mimic=Mimic('shoulder'))
    names = [name for name in FRICTIONS if f'elbow.{name}' in Parameters(led)]
    assert names == ['damping', 'friction']


def test_the_load_is_asked_for_only_where_friction_depends_on_it(parameters, monkeypatch):
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return gravity_efforts(*arguments)

    monkeypatch.setattr('sim2real_estimator.dynamics.joint_forces.gravity_efforts', counted)
    for value, count in ((0.0, 0), (0.1, 1)):
        all_efforts(realize(parameters, {'pivot.load_friction': value}), [0.4], [0.1], [0.0])
        assert len(asked) == count
