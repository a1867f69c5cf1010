"""Kinematic calibration: lengths, zeros, mounts and clocks by encoders and poses alone."""

from dataclasses import replace
from functools import cache

import numpy as np
from posteriors import feed, posterior_bytes
import pytest
import seen_arms
from seen_arms import BODIES, ENCODERS, JOINTS, KINEMATICS, pose, record
from transforms3d import axangles, quaternions

from sim2real_estimator.config.settings_tree import EffortsConfig, JointConfig, PriorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample
from sim2real_estimator.reported_events import FarFromPrior, Happened, Misfit, SensorTooNoisy

SECONDS, POSTURES, SECOND = 8.0, 18, 10**9
pytestmark = pytest.mark.usefixtures('one_thread')


def config(**priors):
    """Return a `Config` of the arm whose efforts are unknown."""
    known = seen_arms.config(KINEMATICS)
    estimate = {name: known.estimate[name] for name in KINEMATICS}
    joints = {joint: JointConfig('unknown') for joint in JOINTS}
    return replace(
        known,
        joints=joints,
        efforts=EffortsConfig(),
        estimate={**estimate, **{name: PriorConfig(sd=sd) for name, sd in priors.items()}},
    )


def followed(samples, known=None):
    """Return (pipeline, events) after some samples."""
    pipeline = Pipeline.from_config(known or config())
    estimates = feed(pipeline, samples)
    return pipeline, [event for each in estimates for event in each.report.events]


def without_efforts(recording):
    return [sample for sample in recording.samples() if sample.sensor in (ENCODERS, *BODIES)]


def postures(truth, count=POSTURES, seed=0, spacing=2.0, off=1.0):
    """Return samples of an arm that stood in some postures, each at one stamp; off: noise."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        q, stamp = rng.uniform(-1.5, 1.5, 7), seen_arms.BEGIN_NS + round(number * spacing * SECOND)
        found.append(Sample(ENCODERS, stamp, q + seen_arms.SD * rng.standard_normal(7)))
        for body in BODIES:
            place, turn = pose(truth, body, q)
            place = place + off * seen_arms.POSITION_SD * rng.standard_normal(3)
            vector = off * seen_arms.TURN_SD * rng.standard_normal(3)
            noise = axangles.axangle2mat(vector, np.linalg.norm(vector))
            y = np.array([*place, *quaternions.mat2quat(turn @ noise)])
            found.append(Sample(body, stamp, y))
    return found


def score(pipeline, truth, names=None):
    """Return the squared distance of the truth per coordinate."""
    labels = pipeline.problem.labels
    names = names or [name for name in labels if name in truth]
    own = [labels.index(name) for name in names]
    mean, covariance = pipeline.mixture.moments()
    off = mean[own] - [truth[name] for name in names]
    return off @ np.linalg.solve(covariance[np.ix_(own, own)], off) / len(own)


@cache
def labels():
    return Pipeline.from_config(config()).problem.labels


def drawn(seed):
    return {name: v for name, v in seen_arms.drawn_truth(seed).items() if name in labels()}


@pytest.fixture(scope='module')
def moving():
    recording = record(SECONDS, 1)
    return recording.truth, *followed(without_efforts(recording))


def test_kinematics_and_clocks_follow_from_a_moving_arm(moving):
    truth, pipeline, events = moving
    assert pipeline.estimator.name == 'kinematic_calibration'
    assert events == [Happened.FITTED]
    assert score(pipeline, truth) < 1.5
    mean, covariance = pipeline.mixture.moments()
    for body in BODIES:
        place = pipeline.problem.labels.index(f'{body}.delay')
        sd = np.sqrt(covariance[place, place])
        assert sd < 5e-4 and abs(mean[place] - truth[f'{body}.delay']) < 4 * sd
    assert 'identified' in pipeline.findings().verdicts


@pytest.mark.parametrize('seed', range(3))
def test_kinematics_follows_from_postures_and_clocks_do_not(seed):
    truth = drawn(seed)
    pipeline, events = followed(postures(truth, seed=seed))
    assert events == [Happened.FITTED]
    clocks = [f'{body}.delay' for body in BODIES]
    assert score(pipeline, truth, [n for n in truth if n not in clocks]) < 1.5
    found = {each.name: each for each in pipeline.findings().parameters}
    for clock in clocks:
        assert found[clock].verdict == 'prior-only' and found[clock].share > 0.9
    # Turning the first joint is turning the base: only the sum of both is known.
    assert found['base_yaw.offset'].verdict in ('aliased', 'prior-only')
    assert found['elbow_pitch.offset'].verdict == 'identified'
    counts = pipeline.counts.table()
    # By its clock the first pose may have come before the encoders.
    assert all(counts[body]['used'] >= POSTURES - 1 for body in BODIES)


def test_what_is_far_from_its_prior_is_never_silent():
    truth = {**drawn(1), 'mocap.x': 0.4}
    pipeline, events = followed(postures(truth))
    (misfit,) = [event for event in events if isinstance(event, FarFromPrior)]
    assert misfit.coordinate == 'mocap.x'
    verdicts = set(pipeline.findings().verdicts)
    assert 'identified' not in verdicts and {'misfit', 'out of prior'} <= verdicts
    wide, events = followed(postures(truth), config(**{'mocap.x': 1.0}))
    assert not [event for event in events if isinstance(event, Misfit)]
    assert 'identified' in wide.findings().verdicts


def test_poses_noisier_than_configured_are_said_and_believed_less():
    truth = drawn(1)
    pipeline, events = followed(postures(truth, off=10.0))
    assert [type(event) for event in events if isinstance(event, Misfit)] == [SensorTooNoisy]
    assert score(pipeline, truth) < 1.5
    assert 'identified' not in pipeline.findings().verdicts


def test_poses_without_a_known_motion_are_counted():
    samples = postures(drawn(1))
    # The hand is seen a quarter of a second after the encoders were read.
    late = [
        replace(s, stamp_ns=s.stamp_ns + SECOND // 4) if s.sensor == 'hand_body' else s
        for s in samples
    ]
    pipeline, _ = followed(late)
    assert pipeline.counts.table()['hand_body'] == {'outside frames': POSTURES}
    assert pipeline.counts.table()['elbow_body']['used'] >= POSTURES - 1


def test_a_run_goes_on_from_a_file_bit_for_bit(tmp_path):
    samples = without_efforts(record(2.0, 1))
    whole, _ = followed(samples)
    first = Pipeline.from_config(config())
    feed(first, samples[:400], to_the_end=False)
    first.save(tmp_path / 'posterior.zip')
    second = Pipeline.from_config(config())
    second.load(tmp_path / 'posterior.zip')
    feed(second, samples[400:])
    assert posterior_bytes(second) == posterior_bytes(whole)


def test_it_is_chosen_where_no_effort_is_known_and_all_joints_have_encoders():
    def chosen(wish):
        return Pipeline.from_config(wish).estimator.name

    known = config()
    assert chosen(known) == 'kinematic_calibration'
    some = {**known.joints, 'wrist_roll': JointConfig('none')}
    assert chosen(replace(known, joints=some)) == 'gaussian_sum'
    noisy = {**known.estimate, f'{ENCODERS}.noise': PriorConfig()}
    assert chosen(replace(known, estimate=noisy)) == 'gaussian_sum'
    few = replace(known.sensors[ENCODERS], joints=JOINTS[:-1])
    blind = replace(known, sensors={**known.sensors, ENCODERS: few})
    assert chosen(blind) == 'gaussian_sum'
    asked = replace(blind, estimator=replace(known.estimator, name='kinematic_calibration'))
    with pytest.raises(ConfigError, match='needs an encoder of wrist_roll'):
        Pipeline.from_config(asked)
    with pytest.raises(ConfigError, match='poses of links tell nothing'):
        Pipeline.from_config(replace(known, estimate={'*.mass': PriorConfig()}))
