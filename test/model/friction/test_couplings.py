"""Joints that share a motor: which parameters it has, and which pairs make sense."""

import pytest

from sim2real_estimator.config import read_config
from sim2real_estimator.errors import ModelError
from sim2real_estimator.model.friction import COUPLED
from sim2real_estimator.model.parameters import INSIDE_JOINT, is_of_mass, Parameters
from sim2real_estimator.model.tree import Mimic
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.posterior.identity import describe_model
from sim2real_estimator.setup.sources import described_model

UNITS = {'coupled_armature': 'kg m^2', 'coupled_damping': 'N m s/rad', 'coupled_friction': 'N m'}


@pytest.fixture
def model(double_pendulum_urdf):
    return load_urdf(double_pendulum_urdf)


def test_the_motor_is_named_after_the_first_joint(model):
    parameters = Parameters(model.with_couplings({'elbow': 'shoulder'}))
    found = [name for name in parameters if name.rpartition('.')[2] in COUPLED]
    assert found == [f'elbow.{name}' for name in COUPLED]
    for name in found:
        parameter = parameters[name]
        assert (parameter.nominal, parameter.is_positive) == (0.0, True)
        assert parameter.unit == UNITS[name.rpartition('.')[2]]
        assert not parameter.is_described and is_of_mass(name)
    assert set(COUPLED) <= set(INSIDE_JOINT)
    assert not any(name.rpartition('.')[2] in COUPLED for name in Parameters(model))


def test_another_coupling_is_another_robot(model):
    before, after = (
        describe_model(Parameters(each))
        for each in (model, model.with_couplings({'elbow': 'shoulder'}))
    )
    assert set(after) - set(before) == {"coupling of joint 'elbow'"}
    assert not [name for name in before if 'stribeck' in name]


def test_a_config_names_the_pairs(double_pendulum_urdf, tmp_path):
    (tmp_path / 'arm.urdf').write_text(double_pendulum_urdf)
    text = f"""
    model: {{urdf: {tmp_path / 'arm.urdf'}, couplings: {{elbow: shoulder}}}}
    sensors: {{e: {{kind: joint_positions, topic: t, joints: [elbow], sd: 1e-3}}}}
    estimate: {{elbow.coupled_armature: {{}}}}
    """
    assert described_model(read_config(text)).couplings == (('elbow', 'shoulder'),)


@pytest.mark.parametrize(
    ('pairs', 'problem'),
    [
        ({'elbow': 'sholder'}, "there is no joint 'sholder'.*shoulder"),
        ({'elbow': 'elbow'}, 'which is itself'),
        ({'elbow': 'shoulder', 'shoulder': 'elbow'}, 'each pair of different joints once'),
    ],
)
def test_pairs_that_make_no_sense_are_refused(model, pairs, problem):
    with pytest.raises(ModelError, match=problem):
        model.with_couplings(pairs)


def test_joints_that_have_no_common_velocity_are_refused(double_pendulum_urdf, model):
    for kind, problem in (('planar', 'one degree of freedom'), ('prismatic', 'have no sum')):
        other = load_urdf(double_pendulum_urdf, joint_types={'shoulder': kind})
        with pytest.raises(ModelError, match=problem):
            other.with_couplings({'elbow': 'shoulder'})
    led = model.with_actuators({'elbow': 'passive'}).with_joint('elbow', mimic=Mimic('shoulder'))
    with pytest.raises(ModelError, match='one degree of freedom of its own'):
        led.with_couplings({'elbow': 'shoulder'})
