"""Markers are where the estimate is, as large as it is unsure, and are deleted when they go."""

import numpy as np
import pytest

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.findings import find
from sim2real_estimator.inference.mixture import Mixture
from sim2real_estimator.inference.protocol import Gaussian
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf import load_urdf
from sim2real_estimator.problem.parameter_chart import DirectChart, Prior
from sim2real_estimator.problem.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.records import ParameterFinding

pytest.importorskip('rclpy')

from rclpy import serialization
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker

from sim2real_estimator.inference.verdicts import Verdict
from sim2real_estimator.ros.looks import LOOKS, NOT_ESTIMATED
from sim2real_estimator.ros.markers import Board, Kernels, scene, View, view_of

STAMP_NS = 5_000_000_007


def known(name, mean, sd=0.01, verdict='identified', aliases=()):
    quantiles = (mean - 1.6 * sd, mean, mean + 1.6 * sd)
    return ParameterFinding(name, mean, sd, quantiles, mean, 1.0, sd, verdict, aliases)


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


def of(markers, space):
    """Return id -> marker of a namespace."""
    found = [marker for marker in markers if marker.ns == space]
    assert len({marker.id for marker in found}) == len(found)
    return {marker.id: marker for marker in found}


def in_frame(markers, space, frame):
    """Return the only marker of a namespace in a frame."""
    (marker,) = (m for m in of(markers, space).values() if m.header.frame_id == frame)
    return marker


def place(marker):
    at = marker.pose.position
    return np.array([at.x, at.y, at.z])


def sizes(marker):
    return np.array([marker.scale.x, marker.scale.y, marker.scale.z])


def turn(marker):
    q = marker.pose.orientation
    return quat2mat([q.w, q.x, q.y, q.z])


def shape(marker):
    """Return the matrix R diag(radius^2) R' of an ellipsoid."""
    return turn(marker) @ np.diag((sizes(marker) / 2) ** 2) @ turn(marker).T


def rgb(marker):
    return pytest.approx((marker.color.r, marker.color.g, marker.color.b), abs=1e-6)


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
    view = View(parameters, (), fixed={'upper.com.z': -0.1})
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
        'damping 0.1234 \u00b1 0.02 N m s/rad',
        'friction 0.5 \u00b1 0.1 N m',
    ]
    # Aside, along the axis of the joint.
    np.testing.assert_allclose(place(label) / np.linalg.norm(place(label)), [0, 1, 0])


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


@pytest.fixture
def kernels():
    """Return three of four coordinates: those of prior mean 1, 0, -1 and sd 0.1, 1, 2."""
    prior = Gaussian(np.array([1.0, 9.0, 0.0, -1.0]), np.diag([0.1, 9.0, 1.0, 2.0]))
    roots = np.array([np.diag([0.05, 1.0, 0.5, 1.0]), np.zeros((4, 4))])
    means = np.array([[1.0, 1.3], [0, 0], [0.0, 0.0], [-1.0, -1.0]])
    mixture = Mixture(np.log([0.75, 0.25]), np.zeros((0, 2)), means, roots)
    trail = np.array([[1.1, 0, 0, 0], [1.0, 0, 0, -1]])
    return Kernels.of(mixture, ('a', 'b', 'c', 'd'), prior, ('a', 'c', 'd'), trail)


def test_kernels_are_in_units_of_the_prior(parameters, kernels):
    markers = scene(View(parameters, (), kernels=kernels))
    first, second = of(markers, 'kernels').values()
    # Half the prior's standard deviation each, so a ball; two of them, in a box of three.
    box = np.array([[p.x, p.y, p.z] for p in of(markers, 'parameter space')[0].points])
    half = np.ptp(box, axis=0) / 2
    np.testing.assert_allclose(sizes(first) / 2, half / 3)
    np.testing.assert_allclose(place(first), box.mean(0), atol=1e-12)
    # Three standard deviations away, and infinitely narrow.
    np.testing.assert_allclose(place(second) - place(first), [half[0], 0, 0], atol=1e-12)
    assert sizes(second).max() < 1e-3
    assert first.color.a > second.color.a
    names = [marker.text for marker in of(markers, 'parameter names').values()]
    assert names == ['a', 'c', 'd']


def test_the_trail_leads_through_earlier_means(parameters, kernels):
    markers = scene(View(parameters, (), kernels=kernels))
    (trail,) = of(markers, 'trail of the mean').values()
    end = np.array([trail.points[-1].x, trail.points[-1].y, trail.points[-1].z])
    np.testing.assert_allclose(end, place(of(markers, 'kernels')[0]))
    assert len(trail.points) == 2


@pytest.mark.parametrize(
    ('chosen', 'message'),
    [
        (('a', 'b', 'x'), "there is no coordinate 'x' to show; choose three of a, b, c, d"),
        (('a', 'b'), '2 different coordinates cannot be axes; choose three'),
        (('a', 'b', 'b'), '2 different coordinates cannot be axes'),
    ],
)
def test_a_choice_that_cannot_be_shown_is_refused(chosen, message):
    size = 4
    prior = Gaussian(np.zeros(size), np.eye(size))
    mixture = Mixture(np.zeros(1), np.zeros((0, 1)), np.zeros((size, 1)), np.eye(size)[None])
    with pytest.raises(ConfigError, match=message):
        Kernels.of(mixture, ('a', 'b', 'c', 'd'), prior, chosen)


def full_view(parameters, kernels, draws=6):
    """Return a view with everything in it."""
    rows = (known('upper.com.z', -0.4), known('elbow.damping', 0.1, verdict='prior-only'))
    paths = {'lower': np.zeros((draws, 3, 3))}
    return View(parameters, rows, {}, {'upper.com.z': np.linspace(-0.5, -0.3, 9)}, paths, kernels)


def test_a_scene_is_the_same_each_time(parameters, kernels):
    first, second = (scene(full_view(parameters, kernels)) for _ in range(2))
    assert first == second
    assert len({(marker.ns, marker.id) for marker in first}) == len(first)


def test_frames_have_the_prefix_of_the_robot(parameters):
    markers = scene(View(parameters, (known('upper.mass', 1.0),), frame_prefix='left/'))
    assert {marker.header.frame_id for marker in markers} == {
        'left/base',
        'left/upper',
        'left/lower',
    }


def test_a_scene_is_sent_as_it_is(parameters, kernels):
    message = Board().update(scene(full_view(parameters, kernels)), STAMP_NS)
    once = received(message)
    # Colours have fewer bits on the way than here.
    assert received(once) == once
    assert [m.points for m in once.markers] == [m.points for m in message.markers]
    assert [(m.ns, m.id, m.text) for m in once.markers] == [
        (m.ns, m.id, m.text) for m in message.markers
    ]


def test_markers_stay_until_they_are_replaced(parameters, kernels):
    for marker in scene(full_view(parameters, kernels)):
        assert (marker.lifetime.sec, marker.lifetime.nanosec) == (0, 0)
        assert marker.frame_locked
        assert marker.color.a > 0
        assert (
            np.linalg.norm([getattr(marker.pose.orientation, x) for x in 'wxyz'])
            == pytest.approx(1)
            or marker.points
        )


def test_the_board_clears_what_an_earlier_run_has_left(parameters):
    first, *rest = Board().update(scene(View(parameters, ())), STAMP_NS).markers
    assert first.action == Marker.DELETEALL
    assert {marker.action for marker in rest} == {Marker.ADD}
    assert {marker.header.stamp.nanosec for marker in rest} == {7}


def test_the_board_deletes_what_has_gone_and_nothing_else(parameters, kernels):
    board = Board()
    board.update(scene(full_view(parameters, kernels, draws=6)), STAMP_NS)
    again = board.update(scene(full_view(parameters, kernels, draws=6)), STAMP_NS).markers
    assert {marker.action for marker in again} == {Marker.ADD}
    fewer = board.update(scene(full_view(parameters, kernels, draws=4)), STAMP_NS).markers
    gone = [(m.ns, m.id) for m in fewer if m.action == Marker.DELETE]
    assert gone == [('future of lower', 4), ('future of lower', 5)]
    assert Marker.DELETEALL not in {marker.action for marker in fewer}
    last = board.update(scene(full_view(parameters, kernels, draws=4)), STAMP_NS).markers
    assert {marker.action for marker in last} == {Marker.ADD}


def test_a_cleared_board_begins_again(parameters):
    board = Board()
    board.update(scene(View(parameters, ())), STAMP_NS)
    (order,) = board.clear().markers
    assert order.action == Marker.DELETEALL
    first, *_ = board.update(scene(View(parameters, ())), STAMP_NS).markers
    assert first.action == Marker.DELETEALL


@pytest.fixture
def posterior(double_pendulum_urdf):
    """Return a problem, a mixture, and findings on it, of a robot some seconds after the start."""
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    names = ('lower.com.z', 'lower.mass', 'elbow.damping')
    priors = {name: Prior(parameters[name].nominal, 0.3, True) for name in names}
    chart = DirectChart(priors, {'upper.com.z': -0.1})
    problem = RobotProblem(parameters, (), chart, ProblemOptions(backend='eager'))
    root = np.diag([0.01] * 4 + [0.1] * 3)
    point, mean = np.array([[0.3], [0.2], [0.0], [0.0]]), problem.prior.mean[:, None]
    mixture = Mixture(np.zeros(1), point, mean, root[None])
    return problem, mixture, find(problem, mixture, STAMP_NS, exact=False)


def test_a_view_shows_a_posterior(posterior):
    problem, mixture, findings = posterior
    markers = scene(view_of(problem, mixture, findings, (0.1, 0.1), trail=[mixture.means[:, 0]]))
    assert len(of(markers, 'future of lower')) == 16
    assert len(of(markers, 'kernels')) == 1
    names = [marker.text for marker in of(markers, 'parameter names').values()]
    assert names == ['log(-lower.com.z)', 'log(lower.mass)', 'log(elbow.damping)']
    np.testing.assert_allclose(place(in_frame(markers, 'centres of mass', 'upper')), [0, 0, -0.1])
    ball = in_frame(markers, '2 sigma', 'lower')
    assert sizes(ball).max() == pytest.approx(4 * 0.1 * 0.3, rel=0.2)


def test_the_same_posterior_gives_the_same_view(posterior):
    first, second = (scene(view_of(*posterior, (0.1, 0.1))) for _ in range(2))
    assert first == second


def test_without_efforts_no_future_is_shown(posterior):
    assert not [m for m in scene(view_of(*posterior)) if m.ns.startswith('future')]


def test_the_axes_can_be_chosen(posterior):
    chosen = ('log(elbow.damping)', 'log(lower.mass)', 'log(-lower.com.z)')
    markers = scene(view_of(*posterior, chosen=chosen))
    assert [marker.text for marker in of(markers, 'parameter names').values()] == [*chosen]
