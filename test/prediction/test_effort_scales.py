"""What a disturbance of one is: a part of a joint's friction, where it has any."""

import pytest

from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.prediction.process_noise import disturbance_units, effort_scales


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


def test_without_friction_a_disturbance_is_as_large_as_usual_efforts(parameters):
    first, second = (m.joint.name for m in parameters.model.moving_joints)
    nothing = {f'{first}.friction': 0.0, f'{second}.friction': 0.0}
    units = disturbance_units(parameters, nothing)
    assert units.tolist() == effort_scales(parameters).tolist()


def test_with_friction_a_tenth_of_the_unit_is_a_third_of_it(parameters):
    first, second = (m.joint.name for m in parameters.model.moving_joints)
    units = disturbance_units(parameters, {f'{first}.friction': 0.6, f'{second}.friction': 0.0})
    assert units[0] == pytest.approx(2.0)
    assert units[1] == effort_scales(parameters)[1]
