"""Markers are where the estimate is, and as large as it is unsure."""

import numpy as np
import pytest

from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf

pytest.importorskip('rclpy')

from shown import in_frame, known, of, place, rgb, shape, sizes, turn
from visualization_msgs.msg import Marker

from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.records import Payload, PayloadReason
from sim2real_estimator.ros.markers import scene, View
from sim2real_estimator.ros.verdict_looks import LOOKS, NOT_ESTIMATED


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


@pytest.fixture
def spherical_wrist(tmp_path):
    """Return the parameters of an arm whose last three joints meet in a point."""
    names, place = ('one', 'two', 'three', 'four'), {'one': 0.1, 'two': 0.5}
    links = ''.join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
        for k in range(5)
    )
    joints = ''.join(
        f'<joint name="{name}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0 0 {place.get(name, 0)}"/><axis xyz="0 1 0"/></joint>'
        for k, name in enumerate(names)
    )
    path = tmp_path / 'arm.urdf'
    path.write_text(f'<robot name="arm">{links}{joints}</robot>')
    return Parameters(load_urdf(path))


def test_links_are_drawn_in_their_own_frames(parameters):
    markers = scene(View(parameters, ()))
    for space in ('links', 'inertia', 'centres of mass'):
        assert {m.header.frame_id for m in of(markers, space).values()} == {'upper', 'lower'}


def test_a_rod_leads_to_the_joint_where_it_is_estimated_to_be(parameters):
    markers = scene(View(parameters, [known('upper.length', 1.0)]))
    rod = in_frame(markers, 'links', 'upper')
    assert rod.type == Marker.CYLINDER
    np.testing.assert_allclose(place(rod), [0, 0, -0.5])
    assert rod.scale.z == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(turn(rod)[:, 2]), [0, 0, 1], atol=1e-12)


def test_a_rod_of_a_last_link_leads_to_its_end(parameters):
    rod = in_frame(scene(View(parameters, ())), 'links', 'lower')
    np.testing.assert_allclose(place(rod), [0, 0.02, -0.3])
    assert rod.scale.z == pytest.approx(2 * np.hypot(0.02, 0.3))
    np.testing.assert_allclose(np.cross(turn(rod)[:, 2], [0, 0.02, -0.3]), np.zeros(3), atol=1e-12)


def test_the_centre_of_mass_is_where_it_is_estimated_to_be(parameters):
    view = View(parameters, (known('upper.com.z', -0.2), known('lower.mass', 2.0)))
    markers = scene(view)
    np.testing.assert_allclose(place(in_frame(markers, 'centres of mass', 'upper')), [0, 0, -0.2])
    np.testing.assert_allclose(
        place(in_frame(markers, 'centres of mass', 'lower')), [0, 0.02, -0.3]
    )


def test_the_solid_has_the_mass_and_the_inertia_of_the_link(parameters):
    solid = in_frame(scene(View(parameters, ())), 'inertia', 'upper')
    np.testing.assert_allclose(place(solid), [0, 0, -0.4], atol=1e-12)
    # Second moments of a solid ellipsoid: a fifth of mass times R diag(radius^2) R'.
    moments = 1.5 / 5 * shape(solid)
    inertia = np.trace(moments) * np.eye(3) - moments
    expected = [[0.05, 0.001, -0.002], [0.001, 0.06, 0.003], [-0.002, 0.003, 0.02]]
    np.testing.assert_allclose(inertia, expected, rtol=1e-9, atol=1e-9)


def test_the_ball_holds_two_standard_deviations(parameters):
    generator = np.random.default_rng(0)
    spread = np.array([[0.02, 0.0, 0.0], [0.01, 0.005, 0.0], [0.0, 0.0, 0.03]])
    draws = np.array([[0.0], [0.1], [-0.4]]) + spread @ generator.standard_normal((3, 20_000))
    named = {f'upper.com.{axis}': row for axis, row in zip('xyz', draws)}
    ball = in_frame(scene(View(parameters, (), draws=named)), '2 sigma', 'upper')
    np.testing.assert_allclose(place(ball), [0, 0.1, -0.4], atol=1e-3)
    np.testing.assert_allclose(shape(ball), 4 * np.cov(draws), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(turn(ball)), 1.0)


def test_an_unsure_length_makes_the_centre_of_mass_unsure(parameters):
    lengths = 0.8 * (1 + 0.1 * np.random.default_rng(0).standard_normal(5000))
    view = View(parameters, (), draws={'upper.length': lengths})
    ball = in_frame(scene(view), '2 sigma', 'upper')
    # The centre of mass, at half the length, moves by half of what the length does.
    assert sizes(ball).max() == pytest.approx(4 * lengths.std() / 2, rel=1e-3)


def test_where_nothing_is_drawn_there_is_no_ball(parameters):
    draws = {'upper.mass': np.ones(10), 'elbow.damping': np.ones(10)}
    assert of(scene(View(parameters, (), draws=draws)), '2 sigma') == {}


def test_what_is_fixed_elsewhere_is_drawn_there(parameters):
    # A delay that is known is no matter of where things are.
    view = View(parameters, (), fixed={'upper.com.z': -0.1, 'encoders.delay': 0.01})
    np.testing.assert_allclose(
        place(in_frame(scene(view), 'centres of mass', 'upper')), [0, 0, -0.1]
    )


@pytest.mark.parametrize('verdict', list(Verdict))
def test_colours_mean_verdicts(parameters, verdict):
    markers = scene(View(parameters, [known('upper.mass', 1.0, verdict=verdict.value)]))
    for space in ('links', 'inertia', 'centres of mass'):
        assert rgb(in_frame(markers, space, 'upper')) == LOOKS[verdict].rgb
        assert rgb(in_frame(markers, space, 'lower')) == NOT_ESTIMATED.rgb


def test_of_several_verdicts_that_counts_which_one_should_know(parameters):
    view = View(
        parameters,
        (
            known('upper.mass', 1.0, verdict='ambiguous'),
            known('upper.com.z', -0.4, verdict='prior-only'),
        ),
    )
    assert rgb(in_frame(scene(view), 'links', 'upper')) == LOOKS[Verdict.AMBIGUOUS].rgb


def test_joints_tell_their_friction_and_damping(parameters):
    view = View(
        parameters, (known('elbow.damping', 0.1234, 0.02), known('elbow.friction', 0.5, 0.1))
    )
    (label,) = of(scene(view), 'joints').values()
    assert label.header.frame_id == 'lower'
    assert label.text.split('\n') == [
        'elbow',
        'damping 0.123 N m s/rad',
        'friction 0.5 N m',
    ]
    # Aside, along the axis of the joint.
    np.testing.assert_allclose(place(label) / np.linalg.norm(place(label)), [0, 1, 0])


def held(mass=1.0, com=(0.0, 0.1, -0.3), reason=PayloadReason.NONE):
    numbers = np.array([mass, *com, *[0.0] * 6])
    return Payload('lower', 'lower', 0, numbers, 0.02**2 * np.eye(10), 1.0, reason)


def test_a_payload_is_a_ball_with_its_mass(parameters):
    markers = scene(View(parameters, (), payload=held()))
    ball = in_frame(markers, 'load', 'lower')
    np.testing.assert_allclose(place(ball), [0.0, 0.1, -0.3])
    # A litre of water.
    assert np.prod(sizes(ball)) * np.pi / 6 == pytest.approx(1e-3)
    words = in_frame(markers, 'mass of the load', 'lower')
    assert words.text == '1 \u00b1 0.02 kg'
    away = np.linalg.norm(place(words) - place(ball))
    assert away > (sizes(ball)[2] + words.scale.z) / 2


def test_one_that_is_not_valid_is_faint(parameters):
    markers = [
        scene(View(parameters, (), payload=held(0.5, (0.0, 0.0, 0.0), reason)))
        for reason in (PayloadReason.NONE, PayloadReason.MISFIT)
    ]
    there, doubtful = (in_frame(each, 'load', 'lower') for each in markers)
    assert doubtful.color.a < there.color.a


def test_without_a_load_there_is_no_ball(parameters):
    assert of(scene(View(parameters, ())), 'load') == {}
    assert of(scene(View(parameters, (), payload=held(0.0))), 'load') == {}


def test_letters_grow_with_the_robot(parameters):
    rows = (known('elbow.damping', 0.1), known('upper.mass', 1.5))
    heights = [
        marker.scale.z / view.size
        for view in (View(parameters, rows),)
        for marker in scene(view)
        if marker.type == Marker.TEXT_VIEW_FACING
    ]
    # Smaller letters could not be read with the whole robot in view.
    assert heights and min(heights) > 0.04


def test_of_many_joints_only_names_are_written_one_above_the_other(spherical_wrist):
    rows = [known(f'{joint.name}.damping', 0.1) for joint in spherical_wrist.model.joints]
    labels = [m.text for m in of(scene(View(spherical_wrist, rows)), 'joints').values()]
    assert [words.strip() for words in labels] == ['one', 'two', 'three', 'four']
    # The last three are at one place: each is a line above the one before.
    assert [words.count('\n') for words in labels] == [0, 0, 2, 4]


def test_the_panel_is_one_table_of_several_colours(parameters):
    rows = (
        known('upper.mass', 1.5, 0.125),
        known('lower.mass', 0.8, 0.3, 'aliased', ('lower.com.z',)),
        known('elbow.damping', 0.1, 0.01),
    )
    texts = of(scene(View(parameters, rows)), 'panel').values()
    assert len({(*place(marker), marker.scale.z) for marker in texts}) == 1
    lines = [marker.text.split('\n') for marker in texts]
    # As wide as each other, so that rviz begins all lines at one place.
    assert {max(map(len, rows)) for rows in lines} == {len(lines[0][-1])}
    joined = [' '.join(''.join(parts).split()) for parts in zip(*lines)]
    assert joined.pop() == joined.pop() == ''
    assert joined == [
        'upper.mass 1.5 \u00b1 0.12 kg identified',
        'lower.mass 0.8 \u00b1 0.3 kg aliased',
        'elbow.damping 0.1 \u00b1 0.01 N m s/rad identified',
    ]
    (orange,) = (m for m in texts if 'aliased' in m.text)
    assert rgb(orange) == LOOKS[Verdict.ALIASED].rgb


def test_a_long_panel_says_how_much_more_there_is(parameters):
    rows = [known(name, 1.0) for name in [*parameters][:40]]
    (marker,) = of(scene(View(parameters, rows)), 'panel').values()
    lines = marker.text.split('\n')
    assert len(lines) == 32
    assert lines[30] == 'and 10 more'


def test_the_future_is_a_line_per_draw(parameters):
    paths = np.random.default_rng(0).standard_normal((5, 11, 3))
    lines = of(scene(View(parameters, (), paths={'lower': paths})), 'future of lower')
    assert set(lines) == set(range(5))
    for number, marker in lines.items():
        assert (marker.type, marker.header.frame_id) == (Marker.LINE_STRIP, 'base')
        np.testing.assert_array_equal([(p.x, p.y, p.z) for p in marker.points], paths[number])
    assert lines[0].scale.x > lines[1].scale.x == lines[4].scale.x
