"""The arms of the section `workday` against Pinocchio, and how what is said is scored."""

from pathlib import Path
import sys

import numpy as np
import pytest

pytest.importorskip('mujoco')
pytest.importorskip('pinocchio')
sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from peers.least_squares import smooth  # noqa: E402
from peers.named_torque import pinocchio_model, torque_of_named  # noqa: E402
from workday.ours import Belief, Told  # noqa: E402
from workday.plant import ROBOT_FILES, ROBOTS  # noqa: E402
from workday.recordings import Event, Recording, Scenario, simulate, SMOOTHING  # noqa: E402
from workday.scores import calibration, false_alarms, payload, torque_error  # noqa: E402
from workday.section import _are_off  # noqa: E402

needs_robots = pytest.mark.skipif(not ROBOT_FILES.exists(), reason='needs example-robot-data')


@needs_robots
@pytest.mark.parametrize('index', range(len(ROBOTS)))
def test_pinocchio_needs_the_torques_of_the_hidden_robot(index):
    recording = simulate(Scenario('', '', seconds=1.0, is_smooth=True, step=1e-4), 0, index)
    width = {f'{joint}.friction_velocity': SMOOTHING for joint in recording.joints}
    assert torque_error(recording, recording.truth | width) < 0.1


@needs_robots
@pytest.mark.parametrize('index', range(len(ROBOTS)))
def test_columns_say_most_of_friction_that_sticks(index):
    recording = simulate(Scenario('', '', seconds=1.0), 0, index)
    assert torque_error(recording, recording.truth) < 3.0
    assert torque_error(recording, {}) > 15.0


@needs_robots
def test_gains_and_offsets_are_between_true_and_measured_torques():
    recording = simulate(Scenario('', '', seconds=10.0, noise=0.0), 0, 0)
    gain = np.array([recording.truth[f'{joint}.gain'] for joint in recording.joints])
    _, q, v, a, tau = smooth(recording.t, recording.q, recording.tau, 8.0)
    model = pinocchio_model(recording.urdf)
    needed = torque_of_named(model, recording.truth, recording.joints, q, v, a)
    is_fast = np.abs(v) > 0.1
    size = np.sqrt((needed[is_fast] ** 2).mean())
    assert np.sqrt(((gain * tau - needed)[is_fast] ** 2).mean()) < 0.03 * size
    assert np.sqrt(((tau - needed)[is_fast] ** 2).mean()) > 0.01 * size


def test_a_normal_posterior_is_calibrated_in_what_it_has_learned():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    prior = root @ root.T
    told = np.diag([1e3, 1e3, 1e3, 0, 0, 0.0])
    covariance = np.linalg.inv(np.linalg.inv(prior) + told)
    found = []
    for _ in range(400):
        truth = rng.multivariate_normal(np.zeros(6), covariance)
        belief = Belief({}, np.zeros(6), covariance, (np.zeros(6), prior), truth, ('body',) * 6)
        found.append(calibration(belief, 'body'))
    ranks = np.concatenate([each['ranks'] for each in found])
    assert len(found[0]['ranks']) == 3
    assert 0.87 < np.mean(np.abs(ranks - 0.5) < 0.45) < 0.93
    assert 0.9 < np.mean([each['nees'] for each in found]) < 1.1
    assert calibration(belief, 'loss') == {'ranks': [], 'nees': None}


def test_a_box_that_is_found_and_put_down_is_scored():
    box = ('hand', 2.0, (0.0, 0.0, 0.05), (0.01, 0, 0, 0.01, 0, 0.01), True)
    events = Event(25.0, 'grasp', *box), Event(43.0, 'release', *box)
    recording = _still_recording(events, np.array([(24.0, 26.0), (42.0, 44.0)]))
    loads = {29.0: ('hand', 2.05, 0.05), 36.0: ('hand', 2.0, 0.02), 54.0: None}
    told = Told({}, (10.0, 27.5, 45.0), loads, False, 0.0, ())
    score = payload(recording, told)
    assert score['found'] and score['has_link'] and score['has_return']
    assert score['late'] == pytest.approx(1.5) and score['error'] == pytest.approx(0.05)
    assert score['rank'] == pytest.approx(0.159, abs=1e-3)
    assert false_alarms(recording, told) == (1, 25.0)
    missed = payload(recording, Told({}, (), {}, False, 0.0, ()))
    assert not missed['found'] and not missed['has_return'] and missed['late'] is None


def _still_recording(events, rests):
    """Return a `Recording` of which only what happens matters."""
    nothing = np.zeros((0, 1))
    t = np.array([0.0, 75.0])
    numbers = {'t': t, 'q': nothing, 'tau': nothing, 'limit': np.ones(1)}
    names = {'name': '', 'urdf': '', 'joints': ('j',), 'links': ('hand',)}
    rest = {'truth': {}, 'unseen': {}, 'begin': 0.5, 'warming': (0.0, 1.0)}
    return Recording(**names, **numbers, **rest, events=events, rests=rests)


def test_parameters_count_as_off_from_three_standard_deviations_on():
    result = {'identified': {'3': {}, '10': {'arm.mass': -3.1}, '30': {'arm.mass': 2.9}}}
    assert _are_off(result) == [True, False]
