"""Measured torques, from samples to the posterior: what streams do to it, and how it is kept."""

from dataclasses import replace

import measured_arms
from measured_arms import (
    away,
    BEGIN_NS,
    EFFORTS,
    ENCODERS,
    events_of,
    new_pipeline,
    RATE,
    record,
    torque_error,
)
import numpy as np
from posteriors import feed, posterior_bytes
import pytest

from sim2real_estimator.background import Background
from sim2real_estimator.estimation.torque.rows import motion_at
from sim2real_estimator.estimation.torque.state import TorqueState
from sim2real_estimator.posterior.file import joined, load
from sim2real_estimator.records import Sample, Status
from sim2real_estimator.reported_events import (
    ElasticJoint,
    Explained,
    Happened,
    kinds_of,
    TorqueLate,
    TorqueLeftOut,
    TorqueNoisier,
    TorqueNotExplained,
)

SECOND = 10**9
# Rows are means over so long [s].
BLOCK = 0.02


@pytest.fixture(scope='module')
def recording():
    return record(6.0)


@pytest.fixture(scope='module')
def samples(recording):
    return recording.samples()


@pytest.fixture(scope='module')
def held_out():
    return record(4.0, seed=5, begin=30.0)


@pytest.fixture(scope='module')
def expected(samples):
    """Return (pipeline, estimates) of all samples, one after the other."""
    pipeline = new_pipeline()
    return pipeline, feed(pipeline, samples)


def seconds_of(sample):
    return 1e-9 * (sample.stamp_ns - BEGIN_NS)


def changed(samples, sensor, since, until, values_of):
    """Return samples; those of a sensor within a time have the values of a function of theirs."""
    return [
        Sample(s.sensor, s.stamp_ns, np.array(values_of(s.values)))
        if s.sensor == sensor and since < seconds_of(s) < until
        else s
        for s in samples
    ]


def followed(samples):
    """Return (pipeline, events) after some samples."""
    pipeline = new_pipeline()
    return pipeline, events_of(feed(pipeline, samples))


def causes_of(events):
    """Return the causes that changes were put down to."""
    return [event.cause for event in events if isinstance(event, Explained)]


def alarms_of(events):
    """Return what says that the robot is not what it was, or not as described."""
    alarms = {Happened.CHANGED, Happened.FORGOTTEN, Explained, TorqueNotExplained}
    return [event for event in events if kinds_of((event,)) & alarms]


def error_of(pipeline, recording):
    return torque_error(pipeline.mixture.moments()[0], recording)


def test_torques_are_predicted_and_intervals_hold(expected, recording, held_out):
    pipeline, estimates = expected
    prior = torque_error(pipeline.problem.prior.mean, held_out)
    assert prior > 0.15
    assert error_of(pipeline, held_out) < 0.005
    assert away(pipeline, recording.truth) < 1.4
    assert events_of(estimates) == [Happened.FITTED]
    mean, covariance = pipeline.mixture.moments()
    before = np.sqrt(np.diag(pipeline.problem.prior.covariance))
    assert (np.sqrt(np.diag(covariance)) < 1.001 * before).all()
    labels = pipeline.problem.labels
    known = [k for k, label in enumerate(labels) if label.endswith(('torque_offset', 'damping'))]
    assert (np.sqrt(np.diag(covariance))[known] < 0.6 * before[known]).all()


def test_intervals_of_many_robots_hold_the_truth():
    scores, within = [], []
    for seed in range(6):
        truth = measured_arms.drawn_truth(seed, size=1.0)
        arm = record(4.0, seed, truth=truth)
        pipeline, _ = followed(arm.samples())
        mean, covariance = pipeline.mixture.moments()
        off = (mean - truth) / np.sqrt(np.diag(covariance))
        within.append(np.abs(off) < 1.645)
        scores.append(away(pipeline, truth))
    assert np.mean(within) > 0.85
    assert np.median(scores) < 1.4


def test_the_first_estimate_comes_within_half_a_second_of_motion(expected):
    _, estimates = expected
    first = next(e for e in estimates if Happened.FITTED in e.report.events)
    assert 1e-9 * (first.stamp_ns - BEGIN_NS) <= 0.5
    stages = [estimate.report.stage for estimate in estimates]
    assert stages == sorted(stages) and set(stages) == {'batch', 'filter'}


def test_rest_has_no_information_and_half_a_second_of_motion_has():
    still = record(3.0)
    still.q[:] = still.q[0] + 1e-5 * np.random.default_rng(0).standard_normal(still.q.shape)
    pipeline, events = followed(still.samples())
    assert not events and not pipeline.state.sums.number.any()
    moved = record(1.0, begin=0.0).samples()
    later = [Sample(s.sensor, s.stamp_ns + 3 * SECOND, s.values) for s in moved]
    begun = [e for e in feed(pipeline, later) if Happened.FITTED in e.report.events]
    assert 1e-9 * (begun[0].stamp_ns - BEGIN_NS) - 3.0 < 0.6


def test_better_known_with_every_second(held_out):
    errors = []
    for seconds in (0.8, 3.0, 12.0):
        pipeline, _ = followed(record(seconds).samples())
        errors.append(error_of(pipeline, held_out))
    assert errors[0] > errors[1] > errors[2]


def test_the_noise_of_encoders_and_torques_is_learned():
    noisy = record(6.0, sd=2e-4, effort_sd=0.3)
    pipeline, _ = followed(noisy.samples())
    state = pipeline.state
    assert state.noise.sd == pytest.approx(2e-4, rel=0.2)
    row_sd = 0.3 * pipeline.problem.torque.limits / np.sqrt(BLOCK * RATE)
    assert np.sqrt(state.fit.noise.variance) == pytest.approx(row_sd, rel=0.2)


def test_a_gap_adds_up_what_is_before_and_after(expected, samples, recording, held_out):
    kept = [s for s in samples if not 2.0 < seconds_of(s) < 4.0]
    pipeline, events = followed(kept)
    assert events == [Happened.FITTED]
    assert pipeline.counts.of(ENCODERS, Status.GAP) == 1
    # Each stretch loses less than half a second at its beginning, where noise is not known yet.
    assert (pipeline.state.sums.number > (4.0 - 0.7) / BLOCK).all()
    before, _ = followed([s for s in samples if seconds_of(s) <= 2.0])
    after = pipeline.state.sums.number - before.state.sums.number
    assert (after > (2.0 - 0.2) / BLOCK).all()
    sds = [np.sqrt(np.diag(p.mixture.moments()[1])) for p in (before, pipeline, expected[0])]
    assert np.median(sds[1]) < np.median(sds[0]) and np.median(sds[2]) < 1.1 * np.median(sds[1])
    assert error_of(pipeline, held_out) < 0.01
    assert away(pipeline, recording.truth) < 1.4


def test_after_a_gap_motion_is_not_guessed_across_it(samples):
    """Rows of after the gap do not depend on what was before it, but for what was learned."""
    kept = [s for s in samples if not 2.0 < seconds_of(s) < 4.0]
    pipeline = new_pipeline()
    feed(pipeline, [s for s in kept if seconds_of(s) < 4.5], to_the_end=False)
    stamps, _ = pipeline.state.motion
    assert stamps.min() >= BEGIN_NS + 4 * SECOND


def test_efforts_that_are_missing_leave_out_their_joint_only(samples, expected, held_out):
    holed = changed(samples, EFFORTS, 3.0, 4.0, lambda tau: [np.nan, tau[1]])
    pipeline, events = followed(holed)
    number, whole = pipeline.state.sums.number, expected[0].state.sums.number
    assert number[1] == whole[1]
    assert number[0] == pytest.approx(whole[0] - 1.0 / BLOCK, abs=3)
    assert events == [Happened.FITTED]
    assert error_of(pipeline, held_out) < 0.005


def test_no_efforts_at_all_leave_the_prior(samples):
    pipeline, events = followed([s for s in samples if s.sensor == ENCODERS])
    assert not events
    assert pipeline.mixture.moments()[0] == pytest.approx(pipeline.problem.prior.mean)
    # Where the robot is, is known all the same.
    assert np.isfinite(pipeline.mixture.points).all()


@pytest.mark.parametrize('since', [3.0, 10.0])
@pytest.mark.parametrize('kind', ['stuck', 'of another joint', 'pushed'])
def test_an_effort_that_is_off_for_a_moment_is_taken_back(held_out, since, kind):
    long = record(20.0)
    held = long.tau[round(since * RATE), 0]
    off = {
        'stuck': (0.6, lambda tau: [held, tau[1]]),
        'of another joint': (1.0, lambda tau: [tau[1], tau[1]]),
        'pushed': (1.0, lambda tau: [tau[0] + 2.0, tau[1]]),
    }
    seconds, values_of = off[kind]
    pipeline, events = followed(
        changed(long.samples(), EFFORTS, since, since + seconds, values_of)
    )
    assert events.count(TorqueLeftOut('shoulder')) == 1 and Happened.CHANGED not in events
    assert TorqueNoisier not in kinds_of(events)
    state = pipeline.state
    assert state.fit.noise.explained.all() and state.disruption is None
    # Its rows of that time are gone, and no others.
    missing = BLOCK * (state.sums.number[1] - state.sums.number[0])
    assert seconds - 0.05 < missing < seconds + 0.5
    assert error_of(pipeline, held_out) < 0.005
    assert away(pipeline, long.truth) < 1.4


def test_an_effort_that_stays_off_is_not_taken_back(held_out):
    """It is no disruption, but a change of which rows tell."""
    long = record(20.0)
    _, events = followed(
        changed(long.samples(), EFFORTS, 8.0, 20.1, lambda tau: [tau[0] + 2.0, tau[1]])
    )
    assert TorqueLeftOut('shoulder') not in events


def test_more_noise_is_said_of_what_lasts():
    def said(seconds):
        rng, arm = np.random.default_rng(0), record(34.0)

        def noisy(values):
            return values + rng.normal(0, 2.0, 2) * [1, 0]

        pipeline, events = followed(changed(arm.samples(), EFFORTS, 18.0, 18.0 + seconds, noisy))
        return [event for event in events if isinstance(event, TorqueNoisier)]

    assert said(1.0) == []
    assert said(14.0) == [TorqueNoisier('shoulder')]


def test_a_torque_of_much_noise_is_explained(samples, recording, held_out):
    rng, size = np.random.default_rng(0), recording.tau.std(0)

    def noisy(values):
        return values + 1.5 * size * rng.standard_normal(2) * [0, 1]

    pipeline, events = followed(changed(samples, EFFORTS, 0.0, 6.1, noisy))
    assert not alarms_of(events) and pipeline.state.fit.noise.explained.all()
    assert error_of(pipeline, held_out) < 0.06
    assert away(pipeline, recording.truth) < 1.4


def test_what_is_not_explained_is_reported_once_and_harms_no_other_joint(samples, recording):
    rng, size = np.random.default_rng(0), recording.tau.std(0)
    drift = np.cumsum(rng.standard_normal((4 * len(samples), 2)), 0)
    drift *= size / drift.std(0)
    steps = iter(drift)

    def wandering(values):
        return [values[0], 3 * next(steps)[1]]

    pipeline, events = followed(changed(samples, EFFORTS, 0.0, 6.1, wandering))
    found = [event for event in events if isinstance(event, TorqueNotExplained)]
    assert found == [TorqueNotExplained('elbow')]
    assert away(pipeline, recording.truth) < 1.4


@pytest.mark.parametrize('joints', [[0, 1], [1]], ids=['all', 'one'])
def test_encoders_that_stick_do_no_lasting_harm(samples, recording, held_out, joints):
    held = recording.q[round(3.0 * RATE)]

    def stuck(q):
        return [held[k] if k in joints else q[k] for k in range(2)]

    pipeline, events = followed(changed(samples, ENCODERS, 3.0, 4.0, stuck))
    assert Happened.CHANGED not in events
    assert error_of(pipeline, held_out) < 0.06
    assert away(pipeline, recording.truth) < 1.4


@pytest.mark.parametrize(
    ('sensor', 'size', 'bound'), [(ENCODERS, 0.5, 0.005), (EFFORTS, 20.0, 0.005)]
)
def test_samples_that_are_far_off_are_left_out(samples, recording, held_out, sensor, size, bound):
    rng = np.random.default_rng(0)

    def off(values):
        return values + size * rng.uniform(-1, 1, 2) * (rng.random() < 0.02)

    pipeline, events = followed(changed(samples, sensor, 0.5, 6.0, off))
    assert Happened.FITTED in events and not alarms_of(events)
    assert error_of(pipeline, held_out) < bound
    assert away(pipeline, recording.truth) < 1.4


@pytest.mark.parametrize('jump', [100.0, -100.0, 0.3, -0.3, -0.02])
def test_stamps_that_jump_do_no_lasting_harm(samples, recording, held_out, jump):
    moved = [
        Sample(s.sensor, s.stamp_ns + round(jump * SECOND), s.values) if seconds_of(s) > 3.0 else s
        for s in samples
    ]
    pipeline, events = followed(moved)
    assert not alarms_of(events)
    assert error_of(pipeline, held_out) < 0.01
    assert away(pipeline, recording.truth) < 1.4


@pytest.mark.parametrize(('rate', 'seconds'), [(25.0, 20.0), (100.0, 6.0), (1000.0, 4.0)])
def test_any_rate_will_do(rate, seconds, held_out):
    arm = record(seconds, rate=rate)
    pipeline, events = followed(arm.samples())
    assert Happened.FITTED in events and not alarms_of(events)
    assert error_of(pipeline, held_out) < 0.01
    assert away(pipeline, arm.truth) < 1.4


def test_a_payload_is_found_and_what_was_known_before_returns_without_it():
    """It is named, its mass is right, and after it has been put down the robot is the old one."""
    problem = measured_arms.pipeline().problem
    truth = measured_arms.drawn_truth()
    rows = problem.parametrization.inner.rows[
        list(problem.parametrization.inner.links).index('lower')
    ]
    heavy = truth.copy()
    # A box as is expected of an arm of two kilograms: far heavier ones look like a gain at first.
    heavy[rows[:10]] += np.array([0.5, 0, 0, -0.075, 0.012, 0.012, 0, 0, 0, 0])
    parts = [
        record(18.0, 1, truth=truth),
        record(8.0, 2, truth=heavy, begin=18.0),
        record(8.0, 3, truth=truth, begin=26.0),
    ]
    pipeline = new_pipeline()
    estimates = feed(pipeline, [s for part in parts for s in part.samples()])
    reported = [
        (1e-9 * (e.stamp_ns - BEGIN_NS), e.report.events)
        for e in estimates
        if Explained in kinds_of(e.report.events)
    ]
    times = [time for time, _ in reported]
    assert len(times) == 2
    assert 18.0 < times[0] < 23.0 and 26.0 < times[1] < 31.0
    causes = causes_of([event for _, events in reported for event in events])
    assert (causes[0], causes[-1]) == ('mass on lower', 'as before: mass on lower')
    assert all(Happened.CHANGED in events for _, events in reported)
    assert torque_error(pipeline.mixture.moments()[0], parts[2]) < 0.01
    at_load = next(e for e in estimates if e.stamp_ns >= BEGIN_NS + 25 * SECOND)
    names = problem.parametrization.names
    mass = problem.parametrization.to_named(heavy[:, None])[names.index('lower.mass'), 0]
    place = names.index('lower.mass')
    assert abs(at_load.mean[place] - mass) < 3 * at_load.sd[place] < 1.0


@pytest.mark.parametrize('part', [0.7, 1.3])
def test_a_gain_that_changes_is_named_moves_no_mass_and_is_known_again(part):
    long = record(34.0)
    weaker = changed(long.samples(), EFFORTS, 18.0, 26.0, lambda tau: tau * [1.0, part])
    pipeline = new_pipeline()
    held = feed(pipeline, [each for each in weaker if seconds_of(each) < 26.0])
    events = events_of(held)
    assert causes_of(events) == ['gain of elbow'] and TorqueLeftOut not in kinds_of(events)
    names = pipeline.problem.parametrization.names
    mean, covariance = pipeline.mixture.moments()
    place = names.index('elbow.gain')
    assert mean[place] * part == pytest.approx(long.truth[place], rel=0.03)
    off = (mean - long.truth) / np.sqrt(np.diag(covariance))
    assert np.abs(np.delete(off, place)).max() < 3.0
    after = events_of(feed(pipeline, [each for each in weaker if seconds_of(each) >= 26.0]))
    assert causes_of(after)[-1] == 'as before: gain of elbow'
    assert away(pipeline, long.truth) < 1.4


def shaken(stiff=True, seconds=14.0):
    """Return a recording in which motors shake fast; links follow on springs of 9 Hz, or rigid."""
    arm, model, rng = record(seconds), measured_arms.pipeline().problem.torque, np.random
    rng, tau, q = rng.default_rng(0), np.zeros_like(arm.tau), arm.q.copy()
    inertia = model.inertias(arm.motion[0], model.standard(arm.truth)[0])
    for frequency in np.arange(3.3, 20.0, 0.8):
        speed = 2 * np.pi * frequency
        waves = 1.5 * np.cos(speed * arm.times[:, None] + rng.uniform(0, 2 * np.pi, 2))
        q -= waves / speed**2
        ratio = frequency / 9.0
        factor = 1.0 if stiff else 0.4 + 0.6 * (1 / (1 - ratio**2 + 0.1j * ratio)).real
        tau += factor * np.einsum('kij,kj->ki', inertia, waves)
    return replace(arm, q=q, tau=arm.tau + tau)


def test_springs_are_reported_once_with_their_frequency():
    pipeline, events = followed(shaken(stiff=False).samples())
    elastic = [event for event in events if isinstance(event, ElasticJoint)]
    assert sorted(event.joint for event in elastic) == ['elbow', 'shoulder']
    assert all(7 <= event.resonance_hz <= 11 for event in elastic)
    assert pipeline.state.is_elastic.all()


def test_rigid_joints_that_shake_are_not_elastic():
    pipeline, events = followed(shaken().samples())
    assert Happened.FITTED in events and ElasticJoint not in kinds_of(events)
    assert len(pipeline.state.response.windows) > 30


def late(samples, seconds):
    """Return samples whose efforts are stamped later than they were measured, in order."""
    shift_ns = round(1e9 * seconds)
    found = [
        replace(s, stamp_ns=s.stamp_ns + shift_ns) if s.sensor == EFFORTS else s for s in samples
    ]
    return sorted(found, key=lambda sample: sample.stamp_ns)


@pytest.mark.parametrize('delay', [-0.006, 0.008, 0.016, 0.026])
def test_late_torques_are_reported_and_used_as_they_were(delay, held_out):
    arm = record(12.0, rate=125.0)
    pipeline, events = followed(late(arm.samples(), delay))
    found = pipeline.state.delay
    assert found.mean == pytest.approx(delay, abs=min(0.002, 3 * found.sd))
    assert found.applied == pytest.approx(delay, abs=0.002)
    delays = [event for event in events if isinstance(event, TorqueLate)]
    assert delays and delays[-1].delay_s == found.applied
    assert not alarms_of(events)
    assert error_of(pipeline, held_out) < 0.01
    assert away(pipeline, arm.truth) < 1.4


def test_a_delay_that_does_no_harm_is_not_used(held_out):
    for delay in (0.0, 0.002):
        pipeline, events = followed(late(record(12.0, rate=125.0).samples(), delay))
        found = pipeline.state.delay
        assert abs(found.mean - delay) < min(0.002, 3 * found.sd)
        assert found.applied == 0.0 and events == [Happened.FITTED]


def test_no_delay_is_found_in_coarse_torques():
    pipeline, events = followed(late(record(12.0, rate=40.0).samples(), 0.016))
    assert pipeline.state.delay.applied == 0.0 and Happened.FITTED in events


def test_it_goes_on_from_a_file_with_late_torques_bit_for_bit(tmp_path):
    samples = late(record(8.0, rate=125.0).samples(), 0.016)
    events = goes_on_the_same(samples, lambda state: state.delay.applied, tmp_path / 'arm.npz')
    assert TorqueLate in kinds_of(events)


def test_live_is_as_replayed_bit_for_bit(expected, samples):
    whole, estimates = expected
    pipeline, updates = new_pipeline(), []
    with Background(pipeline) as background:
        for sample in samples:
            pipeline.push(sample)
            updates += background.step()
        updates += background.finish()
    assert posterior_bytes(pipeline) == posterior_bytes(whole)
    assert [u.estimate.mean.tobytes() for u in updates] == [e.mean.tobytes() for e in estimates]
    assert [u.estimate.report for u in updates] == [e.report for e in estimates]


@pytest.mark.parametrize('stop', [0, 1, 60, 260, 401, 1500, 2999])
def test_it_goes_on_from_a_file_bit_for_bit(expected, samples, stop, tmp_path):
    pipeline = new_pipeline()
    feed(pipeline, samples[:stop], to_the_end=False)
    pipeline.save(tmp_path / 'arm.npz')
    again = new_pipeline()
    again.load(tmp_path / 'arm.npz')
    assert isinstance(again.state, TorqueState)
    feed(again, samples[stop:])
    assert posterior_bytes(again) == posterior_bytes(expected[0])
    assert again.counts.table() == expected[0].counts.table()


def goes_on_the_same(samples, is_then, path):
    """Return the events of a run that is saved once a state is so, and goes on bit for bit."""
    whole, estimates = new_pipeline(), []
    for sample in samples:
        whole.push(sample)
        estimates += whole.step()
        if is_then(whole.state) and not path.exists():
            whole.save(path)
            rest = samples[samples.index(sample) + 1 :]
    whole.finish()
    again = new_pipeline()
    again.load(path)
    feed(again, rest)
    assert posterior_bytes(again) == posterior_bytes(whole)
    return events_of(estimates)


def test_it_goes_on_after_a_change_bit_for_bit(tmp_path):
    """Several answers, earlier models and snapshots are in the file as well."""
    truth = measured_arms.drawn_truth()
    problem = measured_arms.pipeline().problem
    heavy = truth.copy()
    rows = problem.parametrization.inner.rows[
        list(problem.parametrization.inner.links).index('lower')
    ]
    heavy[rows[:10]] += np.array([1.0, 0, 0, -0.3, 0.09, 0.09, 0, 0, 0, 0])
    before = record(16.0, 1, rate=100.0, truth=truth)
    after = record(6.0, 2, rate=100.0, truth=heavy, begin=16.0)
    samples = [*before.samples(), *after.samples()]
    events = goes_on_the_same(samples, lambda state: state.earlier_models, tmp_path / 'arm.npz')
    assert Happened.CHANGED in events


def test_it_goes_on_from_a_file_while_torques_are_far_off(tmp_path):
    arm = record(9.0, 1, rate=100.0)
    samples = changed(arm.samples(), EFFORTS, 5.0, 5.6, lambda tau: [tau[0] + 5.0, tau[1]])
    events = goes_on_the_same(
        samples, lambda state: state.disruption is not None, tmp_path / 'arm.npz'
    )
    assert TorqueLeftOut('shoulder') in events


def test_two_recordings_are_joined_to_one_posterior(tmp_path, held_out):
    truth, paths, sds = measured_arms.drawn_truth(), [], []
    for k in range(2):
        arm = record(4.0, seed=k, truth=truth, begin=10.0 * k)
        pipeline, _ = followed(arm.samples())
        paths.append(tmp_path / f'{k}.npz')
        pipeline.save(paths[-1])
        sds.append(np.sqrt(np.diag(pipeline.mixture.moments()[1])))
    both = joined([load(path) for path in paths])
    mean, covariance = both.mixture.moments()
    sd = np.sqrt(np.diag(covariance))
    assert (sd < 1.001 * np.minimum(*sds)).all() and np.min(sd / np.minimum(*sds)) < 0.8
    assert torque_error(mean, held_out) < 0.005
    off = mean - truth
    assert off @ np.linalg.solve(covariance, off) / len(off) < 1.4
    assert len(both.recordings) == 2


def test_it_begins_from_the_posterior_of_another_recording(tmp_path, held_out):
    first, _ = followed(record(6.0).samples())
    first.save(tmp_path / 'first.npz')
    pipeline = new_pipeline()
    pipeline.begin_from(tmp_path / 'first.npz')
    assert error_of(pipeline, held_out) < 0.005
    feed(pipeline, record(2.0, seed=3, begin=50.0).samples())
    assert error_of(pipeline, held_out) < 0.005


def test_estimates_are_possible_robots(expected):
    pipeline, _ = expected
    mean = pipeline.mixture.moments()[0]
    named = dict(
        zip(
            pipeline.problem.parametrization.names,
            pipeline.problem.parametrization.to_named(mean[:, None])[:, 0],
        )
    )
    assert all(named[f'{joint}.{loss}'] >= 0 for joint in measured_arms.JOINTS
               for loss in ('damping', 'friction'))  # fmt: skip
    assert named['upper.mass'] > 0 and named['lower.mass'] > 0


def test_motion_between_samples_is_a_cubic():
    times = np.linspace(0, 1, 11)
    q = np.stack([times**3, 1 + times])[..., None][:, :, 0].T
    v = np.stack([3 * times**2, np.ones(11)]).T
    a = np.stack([6 * times, np.zeros(11)]).T
    between = np.array([0.0, 0.05, 0.333, 0.95, 1.0])
    found = motion_at(between, times, np.stack([q, v, a]))
    assert found[0] == pytest.approx(np.stack([between**3, 1 + between]).T)
    assert found[1] == pytest.approx(np.stack([3 * between**2, np.ones(5)]).T)
    assert found[2] == pytest.approx(np.stack([6 * between, np.zeros(5)]).T)
