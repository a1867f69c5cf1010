"""A scene is of one posterior, the same each time, and what goes from it is deleted."""

import numpy as np
import pytest

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.observability.findings import find
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem

pytest.importorskip('rclpy')

from shown import in_frame, known, of, place, received, sizes
from visualization_msgs.msg import Marker

from sim2real_estimator.ros.markers import Board, Kernels, scene, View, view_of

STAMP_NS = 5_000_000_007


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


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
    parametrization = DirectParametrization(priors, {'upper.com.z': -0.1})
    problem = RobotProblem(parameters, (), parametrization, ProblemOptions(backend='eager'))
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
