"""Which combinations of parameters are estimated, and under which names."""

import numpy as np
import pytest
from robots import priors

from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Model
from sim2real_estimator.parameters import parametrization_choice as chart_choice
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.sensors import JointPositions, Marker


@pytest.fixture
def pendulum():
    """Return the `Parameters` of a joint that nothing drives, and next to nothing but a rotor."""
    body = Inertial(0.1, (0.0, 0.0, -0.05), (2e-4, 2e-4, 5e-5, 0.0, 0.0, 0.0))
    joint = Joint(
        'hinge',
        JOINTS['continuous']((0.0, 1.0, 0.0)),
        'stand',
        'bob',
        physics=JointPhysics(armature=1e4),
    )
    return Parameters(Model('pendulum', (Link('stand'), Link('bob', body)), (joint,)))


def test_rounding_does_not_choose_between_parameters_that_tell_the_same(pendulum, monkeypatch):
    known = priors(pendulum, {'world.gravity': 0.3, 'hinge.armature': 0.3})
    sensors = (JointPositions('encoder', pendulum.model, ['hinge'], 1e-3),)
    exact, generator, found = np.linalg.svd, np.random.default_rng(0), set()

    def rounded(matrix, **options):
        noise = generator.standard_normal(matrix.shape)
        return exact(matrix * (1 + 1e-7 * noise), **options)

    monkeypatch.setattr(chart_choice.np.linalg, 'svd', rounded)
    for _ in range(8):
        found.update(chart_choice.choose_parametrization(pendulum, sensors, known).labels)
    assert found == {'log(world.gravity) - log(hinge.armature)'}


def test_a_marker_that_by_its_prior_sits_where_axes_meet_tells_of_joints_all_the_same():
    """Where the mean has it no joint moves it, but nobody has put it just there."""
    joints = (
        Joint('bend', JOINTS['continuous']((0.0, 1.0, 0.0)), 'stand', 'hand'),
        Joint('roll', JOINTS['continuous']((0.0, 0.0, 1.0)), 'hand', 'tip'),
    )
    body = Inertial(0.1, (0.0, 0.0, -0.05), (2e-4, 2e-4, 5e-5, 0.0, 0.0, 0.0))
    links = Link('stand'), Link('hand', body), Link('tip', body)
    model = Model('wrist', links, joints)
    model = model.with_actuators(dict.fromkeys(('bend', 'roll'), ('driven', {})))
    marker = Marker('marker', model, 'tip', (0.0, 0.0, 0.0), 1e-3)
    sensors = (JointPositions('encoders', model, ['bend', 'roll'], 1e-3), marker)
    names = ('bend.offset', *(f'marker.mount.{axis}' for axis in 'xyz'))
    known = {name: Prior(0.0, 0.05, False) for name in names}
    parameters = Parameters(model, marker.parameters)
    parametrization = chart_choice.choose_parametrization(
        parameters, sensors, known, known_commands=[False] * 2
    )
    assert set(parametrization.labels) == set(names)
