import logging
from pathlib import Path

import numpy as np
import pytest

from sim2real_estimator.errors import ConfigError, ModelError
from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.tree import Limits, Mimic
from sim2real_estimator.model.urdf.load import load_urdf


def test_reads_a_file_and_names_it(tmp_path, pendulum_urdf):
    path = tmp_path / 'pendulum.urdf'
    path.write_text(pendulum_urdf)
    for source in (path, str(path)):
        model = load_urdf(source)
        assert model.source == str(path)
        assert model.name == 'pendulum'


def test_reads_text_with_declaration_and_byte_order_mark(pendulum_urdf):
    text = '\ufeff \n<?xml version="1.0" encoding="utf-8"?>' + pendulum_urdf
    assert load_urdf(text).source == 'URDF string'


def test_reads_a_default_namespace(pendulum_urdf):
    text = pendulum_urdf.replace('<robot ', '<robot xmlns="http://www.ros.org" ')
    assert [link.name for link in load_urdf(text).links] == ['base', 'rod']


def test_reads_physics_and_limits(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    elbow, shoulder = model.joint('elbow'), model.joint('shoulder')
    assert (elbow.physics.damping, elbow.physics.friction) == (0.1, 0.02)
    assert shoulder.physics.friction == 0.0
    assert shoulder.limits == Limits(-1.5, 1.5, 3.0, 20.0)
    assert load_urdf(double_pendulum_urdf.replace('upper="2"', '')).joint(
        'elbow'
    ).limits == Limits(-2.0, None, 3.0, 20.0)
    assert elbow.origin == (0.0, 0.0, -0.8)


def test_reads_armature_as_an_extension(pendulum_urdf):
    text = pendulum_urdf.replace('damping="0.1"', 'damping="0.1" armature="0.02"')
    assert load_urdf(text).joint('pivot').physics.armature == 0.02


def test_axis_is_normalized_and_x_by_default(branching_arm_urdf, pendulum_urdf):
    shoulder = load_urdf(branching_arm_urdf).joint('left_shoulder')
    assert tuple(shoulder.kind.axis) == pytest.approx((1 / 3, 2 / 3, -2 / 3), abs=1e-15)
    without = pendulum_urdf.replace('<axis xyz="0 1 0"/>', '')
    assert tuple(load_urdf(without).joint('pivot').kind.axis) == (1.0, 0.0, 0.0)


def test_right_angles_become_exact(pendulum_urdf):
    text = pendulum_urdf.replace('<axis', '<origin rpy="1.5707963267948966 0 0"/><axis')
    rows = [tuple(row) for row in load_urdf(text).joint('pivot').rotation.rows]
    assert rows == [(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)]


def test_origin_may_be_a_quaternion(pendulum_urdf):
    half = '<origin quat_xyzw="0 0 2 2"/><axis'
    rotation = load_urdf(pendulum_urdf.replace('<axis', half)).joint('pivot').rotation
    np.testing.assert_allclose(
        [list(row) for row in rotation.rows], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15
    )


def test_inertia_is_turned_into_the_link_frame(pendulum_urdf):
    text = pendulum_urdf.replace(
        '<origin xyz="0 0 -0.5"/>', '<origin xyz="0 0 -0.5" rpy="0 1.57079632679489662 0"/>'
    )
    inertia = load_urdf(text).link('rod').inertial.inertia
    assert inertia == pytest.approx((0.002, 0.084, 0.084, 0.0, 0.0, 0.0), abs=1e-16)


def test_mimic_joint_is_passive_and_follows(gripper_urdf):
    model = load_urdf(gripper_urdf)
    assert model.joint('right').mimic == Mimic('left', -1.0, 0.001)
    assert model.velocity_size == 1
    assert model.commands == ('left',)
    assert model.joint('right').actuator is ACTUATORS['passive']


def test_welding_a_follower_drops_its_mimic(gripper_urdf):
    model = load_urdf(gripper_urdf, joint_types={'right': 'fixed'})
    assert not model.has_mimics
    assert model.attachments['right_finger'].body == -1


@pytest.mark.parametrize('base, size', [('fixed', 3), ('floating', 9)])
def test_fixed_joints_are_merged_and_their_links_found(branching_arm_urdf, base, size):
    model = load_urdf(branching_arm_urdf, base=base)
    assert model.velocity_size == size
    tip = model.attachments['left_tip']
    assert tip.body == model.attachments['left_arm'].body
    assert [joint.name for joint in tip.joints] == ['left_flange', 'left_tool_tip']


def test_floating_base_hangs_in_the_world(pendulum_urdf):
    model = load_urdf(
        pendulum_urdf.replace(
            '<link name="base"/>',
            '<link name="base"><inertial><mass value="2"/>'
            '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
        ),
        base='floating',
    )
    assert model.base == 'world'
    assert model.joint('floating_base').kind.type_name == 'free'
    assert model.commands == ('pivot',)


def test_inertia_of_a_fixed_base_does_not_matter(pendulum_urdf):
    text = pendulum_urdf.replace(
        '<link name="base"/>',
        '<link name="base"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="5"/></inertial></link>',
    )
    load_urdf(text)
    with pytest.raises(ModelError, match="link 'base'.*triangle inequality"):
        load_urdf(text, base='floating')


@pytest.mark.parametrize(
    'written, chosen, expected, size',
    [
        ('planar', None, 'planar', 3),
        ('floating', None, 'free', 6),
        ('continuous', 'spherical', 'spherical', 3),
        ('fixed', 'revolute', 'revolute', 1),
        ('unheard_of', 'planar', 'planar', 3),
    ],
)
def test_joint_types_urdf_has_and_lacks(pendulum_urdf, written, chosen, expected, size):
    text = pendulum_urdf.replace('continuous', written)
    model = load_urdf(text, joint_types={'pivot': chosen} if chosen else None)
    assert model.joint('pivot').kind.type_name == expected
    assert model.velocity_size == size
    assert model.joint('pivot').actuator.type_name == ('effort' if size == 1 else 'passive')


_SIMPLE = '<transmission name="t"><joint name="pivot">{}</joint><actuator name="m">{}</actuator>'
_REDUCTION = '<mechanicalReduction>50</mechanicalReduction>'


@pytest.mark.parametrize(
    'transmission',
    [
        _SIMPLE.format('', _REDUCTION) + '</transmission>',
        _SIMPLE.format(_REDUCTION, '') + '</transmission>',
        _SIMPLE.format('', '') + _REDUCTION + '</transmission>',
        '<ros2_control name="c" type="system"><transmission name="t"><joint name="pivot" role="j">'
        '<mechanical_reduction>50</mechanical_reduction></joint></transmission></ros2_control>',
    ],
    ids=['actuator', 'joint', 'pr2', 'ros2_control'],
)
def test_reduction_reaches_the_motor(pendulum_urdf, transmission):
    text = pendulum_urdf.replace('</robot>', transmission + '</robot>')
    model = load_urdf(text, actuators={'pivot': ('dc_motor', {'resistance': 2.0})})
    assert model.joint('pivot').reduction == 50
    assert dict(model.joint('pivot').actuator_values) == {'reduction': 50, 'resistance': 2.0}
    chosen = load_urdf(text, actuators={'pivot': ('dc_motor', {'reduction': 7.0})})
    assert dict(chosen.joint('pivot').actuator_values) == {'reduction': 7.0}
    assert load_urdf(text).joint('pivot').actuator_values == ()


def test_coupled_transmission_is_reported_and_not_used(double_pendulum_urdf, caplog):
    text = double_pendulum_urdf.replace(
        '</robot>',
        (
            '<transmission name="differential"><joint name="shoulder"/><joint name="elbow"/>'
            f'<actuator name="m1">{_REDUCTION}</actuator><actuator name="m2"/></transmission>'
            f'<transmission name="lost"><joint name="elbo">{_REDUCTION}</joint></transmission>'
            '</robot>'
        ),
    )
    with caplog.at_level(logging.WARNING):
        model = load_urdf(text)
    assert {joint.reduction for joint in model.joints} == {1.0}
    assert "transmission 'differential': it couples several" in caplog.text
    assert "names joint 'elbo', which does not exist" in caplog.text


def test_negative_reduction_is_kept_but_no_motor_takes_it(gripper_urdf):
    text = gripper_urdf.replace('>50<', '>-50<')
    assert load_urdf(text).joint('left').reduction == -50
    with pytest.raises(ModelError, match=r"joint 'left'.*reduction -50 is not positive.*50}\)"):
        load_urdf(text, actuators={'left': 'dc_motor'})


def test_infeasible_inertia_can_be_accepted(pendulum_urdf, caplog):
    text = pendulum_urdf.replace('iyy="0.084"', 'iyy="0.2"')
    with caplog.at_level(logging.WARNING):
        model = load_urdf(text, inertia_check='warn')
    assert "link 'rod': its inertia breaks the triangle inequality" in caplog.text
    assert model.with_actuators({'pivot': 'passive'}).commands == ()


@pytest.mark.parametrize('option', [{'base': 'free'}, {'inertia_check': 'ignore'}])
def test_unknown_options_are_refused(pendulum_urdf, option):
    with pytest.raises(ConfigError, match='is not known; use one of'):
        load_urdf(pendulum_urdf, **option)


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / 'missing.urdf', tmp_path):
        with pytest.raises(ModelError, match='cannot be read.*give the path of a URDF file'):
            load_urdf(path)


def _assert_same_bodies(model, reference):
    """Compare placements and inertias of all bodies with a Pinocchio model without mimics."""
    robot = realize(Parameters(model), {})
    assert len(robot.bodies) == reference.njoints - 1
    for body in robot.bodies:
        index = reference.getJointId(body.moving.joint.name)
        placement, inertia = reference.jointPlacements[index], reference.inertias[index]
        np.testing.assert_allclose(
            [list(row) for row in body.rotation.rows], placement.rotation, atol=1e-9
        )
        np.testing.assert_allclose(list(body.origin), placement.translation, atol=1e-9)
        xx, yy, zz, xy, xz, yz = body.inertia.rotational
        expected = inertia.matrix()
        assert body.inertia.mass == pytest.approx(inertia.mass, abs=1e-12)
        np.testing.assert_allclose(
            list(body.inertia.first_moment), inertia.mass * inertia.lever, atol=1e-8
        )
        np.testing.assert_allclose(
            [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], expected[3:, 3:], atol=1e-8
        )


@pytest.mark.parametrize(
    'fixture', ['pendulum_urdf', 'double_pendulum_urdf', 'branching_arm_urdf', 'gripper_urdf']
)
def test_bodies_agree_with_pinocchio(fixture, request):
    pinocchio = pytest.importorskip('pinocchio')
    text = request.getfixturevalue(fixture)
    _assert_same_bodies(load_urdf(text), pinocchio.buildModelFromXML(text))


def _real_robots():
    """Return the folder of example-robot-data beside Pinocchio, or skip."""
    pinocchio = pytest.importorskip('pinocchio')
    folder = Path(pinocchio.__file__).parents[4] / 'share/example-robot-data/robots'
    if not folder.is_dir():
        pytest.skip('example-robot-data is not installed')
    return pinocchio, folder


def test_real_robots_load_like_pinocchio_or_say_why():
    pinocchio, folder = _real_robots()
    loaded = 0
    for path in sorted(folder.glob('**/*.urdf')):
        try:
            model = load_urdf(path, inertia_check='warn')
        except ModelError as error:
            assert str(path) in str(error)
            continue
        _assert_same_bodies(model, pinocchio.buildModelFromUrdf(str(path)))
        loaded += 1
    assert loaded >= 50


@pytest.mark.parametrize(
    ('inertia', 'expected'),
    [
        # Second moments 1.05, 1.05 and -0.05 kg m^2: the last becomes that of a slender body.
        ('ixx="1" iyy="1" izz="2.1"', (1.1025, 1.1025, 2.1)),
        # Nothing but rounding is left of what was meant.
        ('ixx="-1" iyy="-1" izz="-1"', (0.0, 0.0, 0.0)),
    ],
)
def test_an_inertia_of_no_body_may_be_mended(pendulum_urdf, caplog, inertia, expected):
    text = pendulum_urdf.replace('ixx="0.084" iyy="0.084" izz="0.002"', inertia)
    with caplog.at_level(logging.WARNING):
        inertial = load_urdf(text, inertia_check='mend').link('rod').inertial
    assert inertial.mass == 1.0
    assert inertial.inertia == pytest.approx((*expected, 0.0, 0.0, 0.0), abs=1e-12)
    assert 'inertias of rod are those of no body' in caplog.text


def test_a_negative_mass_cannot_be_mended(pendulum_urdf):
    text = pendulum_urdf.replace('mass value="1.0"', 'mass value="-1.0"')
    with pytest.raises(ModelError, match='negative'):
        load_urdf(text, inertia_check='mend')
