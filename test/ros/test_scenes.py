"""A scene is of one posterior, the same each time, and what goes from it is deleted."""

import numpy as np
import pytest

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.observability.findings import find
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem

pytest.importorskip('rclpy')

from shown import in_frame, known, of, place, received, sizes
from visualization_msgs.msg import Marker

from sim2real_estimator.ros.markers import Board, Kernels, require_axes, scene, View, view_of

STAMP_NS = 5_000_000_007


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


@pytest.fixture
def kernels():
    """Return two components: of a tenth the weight of data, and known to the last digit."""
    return Kernels(
        ('a', 'b'),
        ('kg', 'm'),
        np.array([0.75, 0.25]),
        np.array([[1.0, 1.3], [-1.0, -1.0]]),
        np.array([np.diag([0.05, 1.0]) ** 2, np.zeros((2, 2))]),
        np.array([1.0, -1.0]),
        np.array([0.1, 2.0]),
        np.array([[1.1, 0.0], [1.0, -1.0]]),
    )


def corners(markers):
    """Return the corners [5, 3] of the plane that the mixture is drawn in."""
    return np.array([[p.x, p.y, p.z] for p in of(markers, 'parameter plane')[0].points])


def test_kernels_are_in_units_of_the_prior(parameters, kernels):
    markers = scene(View(parameters, (), kernels=kernels))
    first, second = of(markers, 'kernels').values()
    # Half the prior's standard deviation each, so a disc; two of them, in a plane of three.
    frame = corners(markers)
    half = np.ptp(frame, axis=0) / 2
    assert half[0] == 0
    np.testing.assert_allclose(np.sort(sizes(first) / 2)[1:], half[1:] / 3)
    np.testing.assert_allclose(place(first), frame[:4].mean(0), atol=1e-12)
    # Three standard deviations away, and infinitely narrow.
    np.testing.assert_allclose(place(second) - place(first), [0, half[1], 0], atol=1e-12)
    assert np.sort(sizes(second))[1] < 1e-3
    assert first.color.a > second.color.a


def test_the_plane_has_the_names_and_the_ends_of_its_axes(parameters, kernels):
    names = [
        m.text
        for m in of(scene(View(parameters, (), kernels=kernels)), 'parameter names').values()
    ]
    assert names == ['a [kg]', 'b [m]', '0.7', '1.3', '-7', '5']


def test_the_trail_leads_through_earlier_means(parameters, kernels):
    markers = scene(View(parameters, (), kernels=kernels))
    (trail,) = of(markers, 'trail of the mean').values()
    end = np.array([trail.points[-1].x, trail.points[-1].y, trail.points[-1].z])
    np.testing.assert_allclose(end, place(of(markers, 'kernels')[0]))
    assert len(trail.points) == 2


@pytest.mark.parametrize(
    ('chosen', 'message'),
    [
        (('a', 'x'), "there is no parameter 'x' to show; choose two of a, b, c"),
        (('a', 'b', 'c'), '3 different parameters cannot be the axes of a plane; choose two'),
        (('b', 'b'), '1 different parameters cannot be the axes of a plane'),
    ],
)
def test_a_choice_that_cannot_be_shown_is_refused(chosen, message):
    with pytest.raises(ConfigError, match=message):
        require_axes(('a', 'b', 'c'), chosen)


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
    assert names[:2] == ['lower.com.z [m]', 'lower.mass [kg]']
    np.testing.assert_allclose(place(in_frame(markers, 'centres of mass', 'upper')), [0, 0, -0.1])
    ball = in_frame(markers, '2 sigma', 'lower')
    assert sizes(ball).max() == pytest.approx(4 * 0.1 * 0.3, rel=0.2)


def test_the_same_posterior_gives_the_same_view(posterior):
    first, second = (scene(view_of(*posterior, (0.1, 0.1))) for _ in range(2))
    assert first == second


def test_without_efforts_no_future_is_shown(posterior):
    assert not [m for m in scene(view_of(*posterior)) if m.ns.startswith('future')]


def test_the_axes_can_be_chosen(posterior):
    markers = scene(view_of(*posterior, chosen=('elbow.damping', 'lower.mass')))
    names = [marker.text for marker in of(markers, 'parameter names').values()]
    assert names[:2] == ['elbow.damping [N m s/rad]', 'lower.mass [kg]']


def test_kernels_are_the_marginals_of_named_parameters(posterior):
    problem, mixture, _ = posterior
    chosen = ('lower.mass', 'lower.com.z')
    found = Kernels.of(problem, mixture, chosen, trail=[mixture.means[:, 0]])
    nominal = np.array([problem.parameters[name].nominal for name in chosen])
    np.testing.assert_allclose(found.means[:, 0], nominal)
    np.testing.assert_allclose(found.trail[0], nominal)
    # A tenth of the value, since coordinates are logarithms.
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariances[0])), 0.1 * np.abs(nominal))
    np.testing.assert_allclose(found.prior_sd, 0.3 * np.abs(nominal))
