"""The motion of joints from their encoders: noise is learned, and nothing is attenuated."""

import numpy as np
import pytest

from sim2real_estimator.estimation.torque.joint_motion import (
    learn_motion_noise,
    MotionNoise,
    smoothed_motion,
    without_spikes,
)

RATE, SD, JERK = 250.0, 2e-4, 30.0


def jerked(count, jerk, rng, times=None):
    """Return (times [N], positions, velocities, accelerations [3, N]) driven by white jerk."""
    times = np.arange(count) / RATE if times is None else times
    state, found = np.zeros(3), [np.zeros(3)]
    for step in np.diff(times):
        move = np.array([[1, step, step**2 / 2], [0, 1, step], [0, 0, 1]])
        added = jerk * np.array(
            [
                [step**5 / 20, step**4 / 8, step**3 / 6],
                [step**4 / 8, step**3 / 3, step**2 / 2],
                [step**3 / 6, step**2 / 2, step],
            ]
        )
        # A little memory keeps it where a joint can be.
        state = move @ (state * [1.0, 1.0, 0.995]) + np.linalg.cholesky(
            added + 1e-18 * np.eye(3)
        ) @ rng.standard_normal(3)
        state[1] *= 0.998
        found.append(state)
    return times, np.array(found).T


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def swung(times, phases=(0.0, 1.0, 2.0)):
    """Return (q, v, a) [3, N, n] of joints that swing as arms do: by some sines each."""
    terms = [(0.6, 0.4), (0.25, 1.1), (0.1, 2.3)]
    parts = np.zeros((3, len(times), len(phases)))
    for size, rate in terms:
        angle = 2 * np.pi * rate * times[:, None] + np.array(phases) * (1 + rate)
        speed = 2 * np.pi * rate
        parts += size * np.stack(
            [np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle)]
        )
    return parts


def measured(times, rng, sd=SD):
    truth = swung(times)
    return truth, truth[0] + sd * rng.standard_normal(truth[0].shape)


def test_known_noise_and_jerk_are_recovered(rng):
    times, truth = jerked(1500, JERK, rng)
    positions = truth[0][:, None] + SD * rng.standard_normal((1500, 1))
    noise = learn_motion_noise(times, positions)
    assert noise.sd[0] == pytest.approx(SD, rel=0.05)
    # Ratios are tried in steps of the root of ten.
    assert 10**-0.5 < noise.jerk[0] / JERK < 10**0.5


@pytest.mark.parametrize('sd', [5e-5, 2e-4, 1e-3])
def test_the_noise_of_the_encoder_is_found_whatever_its_size(rng, sd):
    times = np.arange(500) / RATE
    _, positions = measured(times, rng, sd)
    assert learn_motion_noise(times, positions).sd == pytest.approx(sd, rel=0.15)


def test_nothing_is_attenuated(rng):
    """Regressing on estimated accelerations is as good as on true ones: a Berkson error."""
    times = np.arange(5000) / RATE
    truth, positions = measured(times, rng)
    found = smoothed_motion(times, positions, learn_motion_noise(times[:500], positions[:500]))
    inner = slice(50, -50)
    for joint in range(3):
        estimated, true = found[2, inner, joint], truth[2, inner, joint]
        assert (estimated - true).std() > 0.02 * true.std()
        assert 0.995 < estimated @ true / (estimated @ estimated) < 1.005


def test_irregular_stamps_are_taken_as_they_are(rng):
    times = np.cumsum(rng.uniform(0.2, 1.8, 1000)) / RATE
    truth, positions = measured(times, rng)
    found = smoothed_motion(times, positions, learn_motion_noise(times, positions))
    inner = slice(30, -30)
    errors = np.sqrt(((found - truth)[:, inner] ** 2).mean((1, 2)))
    regular = np.arange(1000) / RATE
    truth, positions = measured(regular, rng)
    again = smoothed_motion(regular, positions, learn_motion_noise(regular, positions))
    usual = np.sqrt(((again - truth)[:, inner] ** 2).mean((1, 2)))
    assert (errors < 1.5 * usual).all()


@pytest.mark.parametrize('apart', [0.5, 0.1, 0.03, 0.0])
def test_samples_that_come_in_pairs_do_no_harm(rng, apart):
    times = np.arange(600) / RATE
    times = np.where(np.arange(600) % 5 == 1, times - (1 - apart) / RATE, times)
    truth, positions = measured(times, rng)
    found = smoothed_motion(times, positions, learn_motion_noise(times, positions))
    errors = np.sqrt(((found - truth)[:, 30:-30] ** 2).mean((1, 2)))
    assert (errors < [2 * SD, 0.05, 1.5]).all()


def jittered(times, rng, jitter, sd=5e-5):
    """Return (truth [3, N, n] at stamps, positions that were taken a little before or after)."""
    taken = swung(times + jitter * rng.standard_normal(len(times)))[0]
    return swung(times), taken + sd * rng.standard_normal(taken.shape)


@pytest.mark.parametrize('jitter', [3e-4, 1e-3, 3e-3])
def test_stamps_that_jitter_are_found_and_allowed_for(rng, jitter):
    times = np.arange(600) / RATE
    truth, positions = jittered(times, rng, jitter)
    noise = learn_motion_noise(times, positions)
    assert noise.jitter == pytest.approx(jitter, rel=0.4)
    assert (noise.sd < 4e-4).all()
    inner = slice(30, -30)
    found, blind = (
        (smoothed_motion(times, positions, each)[2] - truth[2])[inner]
        for each in (noise, MotionNoise(noise.jerk, noise.sd))
    )
    assert found.std() < 0.12 * truth[2].std() and found.std() < 0.5 * blind.std()


def test_stamps_that_are_right_do_not_jitter(rng):
    for sd in (2e-5, SD, 1e-3):
        times = np.arange(600) / RATE
        _, positions = measured(times, rng, sd)
        assert learn_motion_noise(times, positions).jitter == 0.0


def test_what_is_known_of_jitter_stays_while_joints_are_slow(rng):
    times = np.arange(600) / RATE
    _, positions = jittered(times, rng, 1e-3)
    slow = positions[:1] + 1e-3 * (positions - positions[:1])
    slow += SD * rng.standard_normal(slow.shape)
    assert learn_motion_noise(times, slow, jitter=1e-3).jitter == pytest.approx(1e-3)
    _, sharp = measured(times, rng, 2e-5)
    assert learn_motion_noise(times, sharp, jitter=1e-3).jitter == 0.0


def test_bunches_of_stamps_are_no_error(rng):
    """Ten messages at once, as after a pause of the network."""
    times = np.floor(np.arange(600) / 10) * 10 / RATE + 1e-7 * np.arange(600)
    positions = swung(np.arange(600) / RATE)[0] + 1e-6 * rng.standard_normal((600, 3))
    noise = learn_motion_noise(times, positions)
    for jerk in (noise.jerk, np.full(3, 1e-12)):
        found = smoothed_motion(times, positions, MotionNoise(jerk, noise.sd, noise.jitter))
        assert np.isfinite(found).all()


def test_what_is_missing_is_smoothed_over(rng):
    times = np.arange(600) / RATE
    truth, positions = measured(times, rng)
    holed = positions.copy()
    holed[200:210, 0] = np.nan
    holed[rng.random(holed.shape) < 0.1] = np.nan
    found = smoothed_motion(times, holed, learn_motion_noise(times, holed))
    assert np.isfinite(found).all()
    assert np.abs(found[0] - truth[0])[200:210, 0].max() < 10 * SD
    assert np.abs(found[1] - truth[1])[200:210, 0].max() < 0.05
    # The others do not know of it.
    whole = holed.copy()
    whole[:, 0] = positions[:, 0]
    again = smoothed_motion(times, whole, learn_motion_noise(times, whole))
    assert (again[:, :, 1:] == found[:, :, 1:]).all()


def test_a_joint_that_is_not_measured_rests(rng):
    times = np.arange(300) / RATE
    _, positions = measured(times, rng)
    positions[:, 1] = np.nan
    noise = learn_motion_noise(times, positions)
    assert np.isfinite(noise.sd).all() and np.isfinite(noise.jerk).all()
    found = smoothed_motion(times, positions, noise)
    assert (found[:, :, 1] == 0).all()
    positions[:3, 1] = [0.1, 0.2, 0.3]
    found = smoothed_motion(times, positions, noise)
    assert (found[0, :, 1] == 0.3).all() and (found[1:, :, 1] == 0).all()


def test_a_joint_that_stands_still_has_the_noise_of_the_others(rng):
    times = np.arange(300) / RATE
    _, positions = measured(times, rng)
    positions[:, 2] = 0.7
    noise = learn_motion_noise(times, positions)
    assert noise.sd[2] == np.median(noise.sd[:2])
    found = smoothed_motion(times, positions, noise)
    assert found[0, :, 2] == pytest.approx(0.7, abs=1e-9)
    assert np.abs(found[1:, :, 2]).max() < 1e-6


def test_samples_that_are_far_off_are_left_out_and_no_others(rng):
    times = np.arange(1500) / RATE
    truth, positions = measured(times, rng)
    is_off = rng.random(positions.shape) < 0.02
    is_off[:3] = is_off[-3:] = False
    spoilt = positions + is_off * rng.choice([-1, 1], positions.shape) * rng.uniform(0.05, 1)
    left = without_spikes(spoilt, np.full(3, SD))
    assert np.isnan(left[is_off]).mean() > 0.95
    assert not np.isnan(left[~is_off]).any()
    assert learn_motion_noise(times, left).sd == pytest.approx(SD, rel=0.2)
    assert np.array_equal(left[~is_off], positions[~is_off])


@pytest.mark.parametrize('rate', [25.0, 1000.0])
@pytest.mark.parametrize('sd', [0.0, 1e-4, 1e-3])
def test_motion_without_spikes_keeps_every_bit(rng, rate, sd):
    """Turning points, sudden stops and encoders that start to move are none."""
    times = np.arange(800) / rate
    truth, positions = measured(times, rng, sd)
    stopped = np.where((times % 1.0 < 0.4)[:, None], positions, positions[0])
    ramp = np.maximum(times - times.mean(), 0)[:, None] + sd * rng.standard_normal((800, 1))
    for each in (positions, ramp, np.round(positions, 4), np.zeros((5, 1))):
        assert without_spikes(each, np.full(each.shape[1], max(sd, 5e-5))) is each
    assert np.isnan(without_spikes(stopped, np.full(3, 1e-4))).mean() < 0.02
