"""Measured torques beside motion capture: kinematics in the same posterior, and what disturbs."""

import numpy as np
from posteriors import feed, posterior_bytes
import pytest
import seen_arms
from seen_arms import BODIES, damaged, drawn_truth, record, scores, torque_error

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample
from sim2real_estimator.reported_events import Happened, NoiseQuestioned, PosesOff

SECONDS = 8.0
pytestmark = pytest.mark.usefixtures('one_thread')


def followed(samples):
    """Return (pipeline, events) after some samples."""
    pipeline = Pipeline.from_config(seen_arms.config())
    estimates = feed(pipeline, samples)
    return pipeline, [event for each in estimates for event in each.report.events]


@pytest.fixture(scope='module')
def recording():
    return record(SECONDS, 1)


@pytest.fixture(scope='module')
def expected(recording):
    return followed(recording.samples())


def spread_of(pipeline, name):
    """Return (mean, sd) of a parameter that is a coordinate."""
    mean, covariance = pipeline.mixture.moments()
    place = pipeline.problem.labels.index(name)
    return mean[place], np.sqrt(covariance[place, place])


def test_kinematics_are_found_and_intervals_hold(expected, recording):
    pipeline, events = expected
    assert events == [Happened.FITTED]
    of_kinematics, of_others = scores(pipeline, recording.truth)
    assert of_kinematics < 1.5 and of_others < 1.5
    assert torque_error(pipeline, recording.truth) < 0.01
    for body in BODIES:
        mean, sd = spread_of(pipeline, f'{body}.delay')
        assert sd < 5e-4 and abs(mean - recording.truth[f'{body}.delay']) < 4 * sd
    # Lengths that every pose depends on are known to fractions of a millimetre.
    assert spread_of(pipeline, 'elbow_body.mount.x')[1] < 5e-4
    assert spread_of(pipeline, 'shoulder_pitch.offset')[1] < 2e-3


def test_noise_is_learned(recording):
    noisy = record(SECONDS, 1, recording.truth, pose_sd=4.0)
    pipeline, events = followed(noisy.samples())
    assert np.sqrt(pipeline.state.poses.fit.variance) == pytest.approx(4.0, rel=0.2)
    assert max(scores(pipeline, recording.truth)) < 1.5
    assert sum(isinstance(event, NoiseQuestioned) for event in events) in (0, 4)


def test_bursts_of_wrong_poses_and_a_fast_clock_move_nothing(recording):
    """Bodies are swapped and frozen for a while, one is hidden, and their clock runs fast."""
    truth, rate, rng, held = recording.truth, 5e-5, np.random.default_rng(3), {}
    first, second = BODIES
    swapped = {first: second, second: first}
    poses = {body: dict(enumerate(entries)) for body, entries in recording.poses.items()}
    found = {body: [] for body in BODIES}
    for body, entries in poses.items():
        for k, (t, y) in entries.items():
            if 200 <= k < 245 and k in poses[swapped[body]]:
                y = poses[swapped[body]][k][1]
            if body == first and 350 <= k < 390:
                y = held.setdefault(body, y) + 1e-5 * rng.standard_normal(7)
            if not (body == second and 450 <= k < 650):
                found[body].append((t * (1 + rate), y))
    bad = type(recording)(truth, recording.times, recording.q, recording.tau, found)
    pipeline, events = followed(bad.samples())
    assert events == [Happened.FITTED]
    later = {f'{body}.delay': truth[f'{body}.delay'] + rate * SECONDS for body in BODIES}
    assert max(scores(pipeline, {**truth, **later})) < 1.5
    for body in BODIES:
        assert abs(spread_of(pipeline, f'{body}.delay')[0] - later[f'{body}.delay']) < 3e-4


def test_lengths_that_are_off_do_not_spoil_torques(expected, recording):
    """Torques alone, with these lengths, are predicted worse and are surer than they should be."""
    unseen = record(SECONDS, 1, recording.truth, bodies=())
    pipeline, _ = followed(unseen.samples())
    assert scores(pipeline, recording.truth)[1] > 4 * scores(expected[0], recording.truth)[1]


def test_flips_and_lost_frames_move_nothing(expected, recording):
    clean, _ = expected
    truth, times = recording.truth, recording.times
    damage = type(recording)(truth, times, recording.q, recording.tau, damaged(recording))
    pipeline, events = followed(damage.samples())
    assert events == [Happened.FITTED]
    assert max(scores(pipeline, truth)) < 1.5
    assert (pipeline.state.poses.fit.share < 0.98).all()
    # As sure and as right as without, but for what was lost.
    places = pipeline.problem.poses.places
    means, sds = zip(
        *(
            (p.mixture.moments()[0], np.sqrt(np.diag(p.mixture.moments()[1])))
            for p in (clean, pipeline)
        )
    )
    assert (np.abs(means[1] - means[0])[places] < 2 * sds[0][places]).all()
    assert np.median(sds[1][places] / sds[0][places]) < 1.2


def test_motion_capture_that_comes_late_is_used_all_the_same():
    late = record(16.0, 1)
    samples = [s for s in late.samples() if s.sensor not in BODIES or after(s, 8.0)]
    pipeline, events = followed(samples)
    assert events == [Happened.FITTED]
    assert max(scores(pipeline, late.truth)) < 1.5


def after(sample, seconds):
    return sample.stamp_ns - seen_arms.BEGIN_NS > seconds * 1e9


def test_a_body_that_is_moved_on_its_link_is_said_to_be_off(recording):
    def moved(sample):
        if sample.sensor != 'hand_body' or not after(sample, 3.0):
            return sample
        return Sample(sample.sensor, sample.stamp_ns, sample.values + [0.05, 0, 0, 0, 0, 0, 0])

    _, events = followed([moved(sample) for sample in recording.samples()])
    assert events.count(PosesOff('hand_body')) == 1


@pytest.mark.parametrize('part', [0.1, 0.6])
def test_neither_a_stop_nor_pushing_all_at_once_changes_a_bit(expected, recording, tmp_path, part):
    samples = recording.samples()
    first = Pipeline.from_config(seen_arms.config())
    number = round(part * len(samples))
    feed(first, samples[:number], to_the_end=False)
    first.save(tmp_path / 'posterior.zip')
    second = Pipeline.from_config(seen_arms.config())
    second.load(tmp_path / 'posterior.zip')
    for sample in samples[number:]:
        second.push(sample)
    second.finish()
    assert posterior_bytes(second) == posterior_bytes(expected[0])


def test_kinematics_stays_when_a_payload_is_picked_up():
    truth = drawn_truth(2)
    loaded = dict(truth)
    loaded['hand.mass'] = truth['hand.mass'] + 2.0
    before, held = record(24.0, 2, truth), record(24.0, 2, loaded)
    samples = [
        b if after(b, 18.0) else a for a, b in zip(before.samples(), held.samples(), strict=True)
    ]
    pipeline = Pipeline.from_config(seen_arms.config())
    first = [s for s in samples if not after(s, 17.5)]
    feed(pipeline, first, to_the_end=False)
    known = np.sqrt(np.diag(pipeline.mixture.moments()[1]))
    estimates = feed(pipeline, samples[len(first) :])
    events = [event for each in estimates for event in each.report.events]
    assert Happened.CHANGED in events
    places = pipeline.problem.poses.places
    sds = np.sqrt(np.diag(pipeline.mixture.moments()[1]))
    assert (sds[places] < 1.05 * known[places]).all()
    assert scores(pipeline, truth)[0] < 1.5
