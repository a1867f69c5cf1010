"""Poses and points as functions of kinematics: against a formula of its own, and slopes."""

from dataclasses import replace

import numpy as np
import pytest
import seen_arms
from seen_arms import BEGIN_NS, BODIES, ENCODERS
from transforms3d import quaternions

from sim2real_estimator.config.settings_tree import PriorConfig, SensorConfig
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.setup.build import build_parts


@pytest.fixture(scope='module')
def problem():
    return seen_arms.pipeline().problem


def measured(truth, body, positions):
    """Return what a perfect sensor measures [N, 7]."""
    poses = [seen_arms.pose(truth, body, q) for q in positions]
    return np.array([[*place, *quaternions.mat2quat(turn)] for place, turn in poses])


@pytest.mark.parametrize('body', BODIES)
@pytest.mark.parametrize('seed', range(3))
def test_what_is_seen_is_where_the_robot_is(problem, body, seed):
    truth = seen_arms.drawn_truth(seed)
    q = np.random.default_rng(seed).standard_normal((20, 7))
    model, at = problem.poses, seen_arms.coordinates(truth)[problem.poses.places]
    number = [sensor.name for sensor in model.sensors].index(body)
    found, _ = model.residuals(at, number, q, 0 * q, measured(truth, body, q))
    assert found.shape == (20, 6)
    assert np.abs(found).max() < 1e-6


def test_slopes_are_those_of_small_steps(problem):
    model, rng = problem.poses, np.random.default_rng(1)
    q, v = rng.standard_normal((2, 5, 7))
    values = measured(seen_arms.drawn_truth(1), 'hand_body', q)
    number = [sensor.name for sensor in model.sensors].index('hand_body')
    at = problem.prior.mean[model.places] + 0.01 * rng.standard_normal(len(model.places))
    delay = model.delays(at)[0][number]

    def residuals(x):
        late = model.delays(x)[0][number] - delay
        return model.residuals(x, number, q - late * v, v, values)[0]

    slope = model.residuals(at, number, q, v, values)[1]
    for k in range(len(at)):
        step = 1e-6 * np.eye(len(at))[k]
        numeric = (residuals(at + step) - residuals(at - step)) / 2e-6
        assert slope[..., k] == pytest.approx(numeric, rel=1e-4, abs=1e-3)


def test_kinematics_are_what_is_seen_and_nothing_else(problem):
    labels = [problem.labels[place] for place in problem.poses.places]
    endings = {label.rpartition('.')[2] for label in labels}
    assert endings == {'length', 'offset', 'delay', 'x', 'y', 'z', 'rx', 'ry', 'rz'}
    # Nothing hangs on the hand, and it has no length that poses would tell.
    assert 'hand.length' not in labels
    assert {n.rpartition('.')[2] for n in problem.poses.geometry} == {'length', 'offset'}


def test_what_is_missing_tells_nothing(problem):
    model = problem.poses
    at, q = problem.prior.mean[model.places], np.zeros((1, 7))
    values = measured(seen_arms.drawn_truth(1), 'hand_body', q)
    values[:, 3:] = np.nan
    found, slope = model.residuals(at, 1, q, q, values)
    assert found[0, :3].all() and not found[0, 3:].any() and not slope[0, 3:].any()


def test_stamps_are_read_as_they_came(problem):
    """The stream may have set those of a late clock earlier; its delay is told by what it sent."""
    samples = (
        Sample(ENCODERS, BEGIN_NS + 2, np.zeros(7)),
        Sample('hand_body', BEGIN_NS + 3, np.ones(7), moved_ns=5_000_000),
    )
    found, moved_ns = problem.poses.read(Frame(BEGIN_NS, BEGIN_NS + 4, samples, ()))
    ((number, stamp_ns, values),) = found
    assert problem.poses.sensors[number].name == 'hand_body'
    assert stamp_ns == BEGIN_NS + 5_000_003 and moved_ns == 0 and values.tolist() == [1.0] * 7


def test_poses_that_tell_of_nothing_unknown_are_none():
    assert build_parts(seen_arms.config(kinematics=()))[0].poses is None


def test_a_marker_is_seen_as_well():
    known = seen_arms.config(kinematics=('tip.mount.*', 'mocap.*', 'elbow.length'))
    marker = SensorConfig('marker', 'tip', link='hand', point=(0.0, 0.0, 0.05), sd=1e-3)
    config = replace(known, sensors={ENCODERS: known.sensors[ENCODERS], 'tip': marker})
    config = replace(config, estimate={**config.estimate, 'tip.delay': PriorConfig()})
    problem = build_parts(config)[0]
    model, q = problem.poses, np.random.default_rng(0).standard_normal((4, 7))
    assert model.titles == (('tip', 'position', 1e-3),)
    poses = [seen_arms.pose({}, 'hand_body', each) for each in q]
    values = np.array([place + turn @ [0.0, 0.0, 0.05] for place, turn in poses])
    found, slope = model.residuals(problem.prior.mean[model.places], 0, q, q, values)
    assert np.abs(found).max() < 1e-6 and slope.shape == (4, 3, len(model.places))
