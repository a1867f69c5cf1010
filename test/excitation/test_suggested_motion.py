"""The next motion: what it tells, what it keeps, and what is written of it."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import measured_arms
import numpy as np
from posteriors import feed, pipeline_of
import pytest
import yaml

from sim2real_estimator.cli import main
from sim2real_estimator.config import to_yaml
from sim2real_estimator.config.settings_tree import JointConfig, PriorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.torque.regression import BLOCK_NS, TorqueNoise
from sim2real_estimator.excitation.advice import advise
from sim2real_estimator.excitation.clearance import Clearance
from sim2real_estimator.excitation.information import Interest, MotionInformation
from sim2real_estimator.excitation.limits import (
    JointLimitsConfig,
    MotionLimits,
    safety_of,
    SafetyConfig,
    Shares,
)
from sim2real_estimator.excitation.motion_files import trajectory, trajectory_csv
from sim2real_estimator.excitation.planning import HELD_FOR, PlanOptions
from sim2real_estimator.excitation.splines import Motion, SplineBasis
from sim2real_estimator.pipeline import Pipeline

SECONDS = 4.0
QUICK = PlanOptions(seconds=SECONDS, tones=6, iterations=20)


@cache
def known():
    """Return a pipeline of a double pendulum that has moved a little."""
    pipeline = measured_arms.new_pipeline()
    feed(pipeline, measured_arms.record(1.5).samples())
    return pipeline


@cache
def suggested(**options):
    """Return the `Advice` of that pendulum."""
    return advise(known().problem, known().posterior(), options=replace(QUICK, **options))


@cache
def information():
    problem = known().problem
    limits = MotionLimits.of(problem, SafetyConfig(), Shares())
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (3, 60, len(limits.joints)))
    noise = TorqueNoise.prior(problem.torque.limits)
    prior = problem.prior
    return MotionInformation(problem.torque, prior.mean, prior.root, noise, states)


def some_motion(seed=0):
    basis = SplineBasis(SECONDS, 0.4)
    points = np.random.default_rng(seed).normal(size=(basis.size, 2))
    return Motion(basis, measured_arms.JOINTS, points)


def test_splines_begin_and_end_at_rest_where_they_began():
    motion = some_motion()
    q, v, a = motion(np.array([0.0, SECONDS]))
    assert q[0] == pytest.approx(q[1])
    assert np.abs([v, a]).max() < 1e-9


def test_velocities_and_accelerations_are_derivatives():
    motion, step = some_motion(), 1e-5
    times = np.random.default_rng(1).uniform(0.1, SECONDS - 0.1, 50)
    ahead, behind, now = motion(times + step), motion(times - step), motion(times)
    assert (ahead[:2] - behind[:2]) / (2 * step) == pytest.approx(now[1:], abs=2e-3)


@pytest.mark.parametrize('seed', range(4))
def test_linear_constraints_hold_rates_at_all_times_and_hardly_more(seed):
    motion = some_motion(seed)
    _, v, a = motion(np.linspace(0, SECONDS, 20_001))
    for values, matrix in zip((v, a), motion.basis.rates()):
        held = np.abs(matrix @ motion.points).max(0)
        assert (np.abs(values).max(0) <= held + 1e-9).all()
        assert (held <= 1.2 * np.abs(values).max(0)).all()


def test_the_gradient_of_the_gain_is_exact():
    rng, motion = np.random.default_rng(2), some_motion()(np.arange(0.2, 3.8, 0.1))
    size = information().root_told.shape[1]
    interest = Interest.of(rng.normal(size=(3, size)), 0.0)
    gain, slope = information().gain_and_slope(motion, SECONDS, interest)
    assert gain == pytest.approx(information().gain(motion, SECONDS, interest))
    along, step = rng.normal(size=motion.shape), 1e-6
    ahead, behind = (
        information().gain(motion + sign * step * along, SECONDS, interest) for sign in (1, -1)
    )
    assert (slope * along).sum() == pytest.approx((ahead - behind) / (2 * step), rel=1e-4)


def test_the_expected_covariance_is_that_of_least_squares():
    # An oracle of the estimator's own columns; fast motion, so that friction has its sign.
    problem, model = known().problem, known().problem.torque
    motion = some_motion()(np.linspace(0.5, 3.5, 61))
    motion = motion[:, (np.abs(motion[1]) > 0.4).all(1)]
    assert motion.shape[1] > 10
    standard, slope = model.standard(problem.prior.mean)
    scales, by_scales = model.scales(problem.prior.mean)
    noise = TorqueNoise.prior(model.limits)
    inverse = np.linalg.inv(problem.prior.covariance)
    count = SECONDS / (1e-9 * BLOCK_NS) / motion.shape[1]
    columns = model.columns(*motion, standard)
    for j, weight in enumerate(noise.weights):
        rows = scales[j] * columns[:, j] @ slope
        rows += np.outer(columns[:, j] @ standard, by_scales[j])
        inverse = inverse + count * weight * rows.T @ rows
    found = information().covariance_after(information().rows(motion, SECONDS))
    sizes = np.sqrt(np.diag(problem.prior.covariance))
    expected = np.linalg.inv(inverse) / np.outer(sizes, sizes)
    assert found / np.outer(sizes, sizes) == pytest.approx(expected, abs=0.03)


def test_a_suggestion_tells_more_than_motions_at_random_and_keeps_all_limits():
    plan, limits = suggested().plan, suggested().limits
    assert plan.gain > 1.1 * plan.tones[0][1]
    assert plan.held >= HELD_FOR
    q, v, a = plan.motion(plan.motion.times(2000))
    assert (q >= limits.lower - 1e-6).all() and (q <= limits.upper + 1e-6).all()
    assert (np.abs(v) <= limits.velocity).all()
    assert (np.abs(a) <= limits.acceleration).all()


def test_what_was_advised_is_learned():
    # The robot makes the motion, and the posterior is about as narrow as was said.
    advice, pipeline = suggested(), measured_arms.new_pipeline()
    first = measured_arms.record(1.5)
    feed(pipeline, first.samples(), to_the_end=False)
    rng, model = np.random.default_rng(3), pipeline.problem.torque
    times = advice.plan.motion.times(measured_arms.RATE)
    motion = advice.plan.motion(times)
    tau = measured_arms.true_torques(first.truth, motion)
    tau = tau + measured_arms.EFFORT_SD * model.limits * rng.standard_normal(tau.shape)
    q = motion[0] + measured_arms.SD * rng.standard_normal(tau.shape)
    feed(pipeline, measured_arms.Recording(first.truth, times, motion, q, tau).samples(3.0))
    before, after = (np.log(np.diag(p.mixture.moments()[1])) for p in (known(), pipeline))
    expected = np.log(np.diag(advice.covariance))
    # Half of the logarithm of the variance, on average.
    assert 0.5 * (after - before).mean() < -0.2
    assert 0.5 * np.abs((after - expected).mean()) < 0.5


def test_it_is_for_what_was_asked():
    problem, posterior = known().problem, known().posterior()
    wishes = ('elbow.friction', 'elbow.damping')
    advice = advise(problem, posterior, wishes=wishes, options=QUICK)
    assert set(advice.wishes) == set(wishes)
    # Of what was asked for it leaves less unknown than a motion that is for everything.
    rows = [problem.parametrization.names.index(name) for name in wishes]
    left = [np.log(np.diag(each.covariance))[rows].sum() for each in (advice, suggested())]
    assert left[0] < left[1]


def test_the_advice_is_in_words():
    text = '\n'.join(suggested().lines())
    assert 'sd ' in text and '->' in text and 'CAUTION: distances' in text
    assert 'Motions at random tell as much after' in text
    assert 'It begins and ends at rest' in text
    short = list(suggested().lines(1))
    assert any(line.startswith('and ') and '--verbose' in line for line in short)


def test_motions_begin_where_they_are_told_to():
    found = advise(
        known().problem,
        known().posterior(),
        options=replace(QUICK, start={'elbow': 0.3}),
        around={'shoulder': 0.2},
        swing=0.5,
    )
    q = found.plan.motion(np.array([0.0]))[0][0]
    assert q[found.plan.motion.joints.index('elbow')] == pytest.approx(0.3, abs=1e-6)
    assert (np.abs(found.plan.motion(np.linspace(0, 4, 99))[0][:, 0] - 0.2) < 0.51).all()


@pytest.mark.parametrize(
    ('wishes', 'where', 'words'),
    (
        (('hand.mass',), {}, 'no estimated parameter'),
        (('upper.mass',), {}, 'no motion within the limits'),
        ((), {'around': {'wrist': 0.0}}, 'no joint that moves'),
        ((), {'around': {'elbow': 9.0}}, 'outside the range'),
        ((), {'options': replace(QUICK, start={'wrist': 0.0})}, 'no joint that moves'),
        ((), {'options': replace(QUICK, start={'elbow': 9.0})}, 'is outside of'),
    ),
)
def test_wishes_that_cannot_be_met_are_refused(wishes, where, words):
    with pytest.raises(ConfigError, match=words):
        advise(known().problem, known().posterior(), wishes=wishes, **{'options': QUICK, **where})


@pytest.mark.parametrize('seconds', (0.0, 1.0, 100.0, float('nan')))
def test_durations_that_are_none_are_refused(seconds):
    with pytest.raises(ConfigError, match='seconds'):
        PlanOptions(seconds=seconds)


def test_joints_without_a_measured_torque_stay_where_they_are():
    config = measured_arms.config()
    joints = {**config.joints, 'elbow': JointConfig('driven')}
    estimate = {name: PriorConfig() for name in ('upper.mass', 'upper.com.*', 'shoulder.damping')}
    pipeline = Pipeline.from_config(replace(config, joints=joints, estimate=estimate))
    strong = SafetyConfig(joints={'shoulder': JointLimitsConfig(effort=100.0)})
    known = pipeline.problem, pipeline.posterior(), strong
    advice = advise(*known, options=QUICK, around={'elbow': 0.3})
    q, v, _ = advice.plan.motion(advice.plan.motion.times(20))
    k = advice.plan.motion.joints.index('elbow')
    assert q[:, k] == pytest.approx(0.3) and np.abs(v[:, k]).max() < 1e-9
    assert np.abs(v).max() > 0.1
    assert trajectory(advice.plan.motion)['joint_names'] == ['shoulder']


def test_of_a_robot_of_which_nothing_is_known_no_motion_is_safe():
    pipeline = measured_arms.new_pipeline()
    with pytest.raises(ConfigError, match='so uncertain that no motion is safe'):
        advise(pipeline.problem, pipeline.posterior(), options=QUICK)


def test_without_measured_torques_none_is_offered():
    pipeline = pipeline_of()
    with pytest.raises(ConfigError, match="the estimator is 'gaussian_sum'"):
        advise(pipeline.problem, pipeline.posterior(), options=QUICK)


def test_distances_of_spheres_and_of_the_floor():
    # The frame of the lower link is half a metre below the shoulder while the arm hangs.
    spheres = {'stand': ((0.0, 0.5, -0.5, 0.1),), 'lower': ((0.0, 0.0, 0.0, 0.05),)}
    config = SafetyConfig(spheres=spheres, floor=-1.0)
    clearance = Clearance(known().problem, config)
    gaps = clearance(np.zeros((1, 2)))[0]
    found = dict(zip(clearance.names, gaps))
    assert found['stand and lower'] == pytest.approx(0.5 - 0.15, abs=1e-6)
    assert found['lower and the floor'] == pytest.approx(0.5 - 0.05, abs=1e-6)


def test_a_suggestion_keeps_its_distance(tmp_path):
    # The tip must not come near the floor that it would reach with an arm that hangs.
    path = tmp_path / 'limits.yaml'
    path.write_text('spheres: {lower: [[0, 0, -0.3, 0.05]]}\nfloor: -0.8\nclearance: 0.02\n')
    advice = advise(known().problem, known().posterior(), safety_of(path), options=QUICK)
    assert advice.plan.clearance >= 0.02
    assert not any('CAUTION: distances' in line for line in advice.lines())


@pytest.mark.parametrize(
    ('text', 'words'),
    (
        ('spheres: {lower: [[0, 0, 0]]}', 'is no sphere'),
        ('spheres: {hand: [[0, 0, 0, 1]]}', "no link 'hand'"),
        ('spheres: {lower: [[0, 0, 0, 2]]}\nfloor: -0.5', 'lower and the floor: never'),
        ('ignored: [[lower]]', 'is no pair'),
        ('joints: {wrist: {velocity: 1}}', 'no joint that moves'),
        ('roof: 2', 'there is no such setting'),
    ),
)
def test_wrong_limits_are_refused(tmp_path, text, words):
    path = tmp_path / 'limits.yaml'
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        advise(known().problem, known().posterior(), safety_of(path), options=QUICK)


def test_given_limits_replace_those_of_the_description(tmp_path):
    path = tmp_path / 'limits.yaml'
    path.write_text('joints: {elbow: {lower: -0.2, upper: 0.4, velocity: 0.7, acceleration: 3}}')
    limits = MotionLimits.of(known().problem, safety_of(path), Shares())
    k = limits.joints.index('elbow')
    assert [limits.lower[k], limits.upper[k], limits.velocity[k]] == [-0.2, 0.4, 0.7]
    assert limits.acceleration[k] == 3


def test_the_trajectory_is_a_joint_trajectory():
    content = trajectory(suggested().plan.motion)
    assert content['joint_names'] == list(measured_arms.JOINTS)
    last = content['points'][-1]['time_from_start']
    assert last['sec'] + 1e-9 * last['nanosec'] == pytest.approx(SECONDS)
    messages = pytest.importorskip('trajectory_msgs.msg')
    assert set(content) < set(messages.JointTrajectory.get_fields_and_field_types())
    fields = set(messages.JointTrajectoryPoint.get_fields_and_field_types())
    assert all(set(point) < fields for point in content['points'])


def test_the_table_has_the_torques_that_are_expected():
    head, *lines = trajectory_csv(suggested()).splitlines()
    rows = np.array([[float(x) for x in line.split(',')] for line in lines])
    place = {name: k for k, name in enumerate(head.split(','))}
    low, mean, high = (
        rows[:, place[f'{kind}.elbow']] for kind in ('effort_low', 'effort', 'effort_high')
    )
    assert (low <= high).all() and ((low <= mean) & (mean <= high)).mean() > 0.9


def test_the_command_writes_all_files_and_moves_nothing(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    saved, out = tmp_path / 'posterior.npz', tmp_path / 'out'
    known().save(saved)
    config, settings = measured_arms.config(), tmp_path / 'settings.yaml'
    urdf = str(Path(config.source).with_name(config.model.urdf))
    settings.write_text(to_yaml(replace(config, model=replace(config.model, urdf=urdf))))
    command = ['suggest', str(saved), '--seconds', '4', '-o', str(out), '--config', str(settings)]
    assert main(command) == 0
    assert 'nothing has been moved' in capsys.readouterr().out
    assert yaml.safe_load((out / 'trajectory.yaml').read_text())['points']
    assert (out / 'motion.png').read_bytes().startswith(b'\x89PNG')
    assert (out / 'advice.txt').read_text().startswith('A motion of 4 s')
    assert main(command) == 2
    assert 'exists' in capsys.readouterr().err
