"""Springs between motors and links, by how torque follows acceleration at each frequency."""

from dataclasses import replace

import numpy as np
import pytest

from sim2real_estimator.estimation.torque.elasticity import Response, Samples
from sim2real_estimator.estimation.torque.joint_motion import MotionNoise

RATE, SECONDS, LINK, ROTOR = 250.0, 12.0, 1.5, 1.0
NOISE, ENCODER = 0.3, 2e-5
# What the motor does [Hz]: less the higher it is.
TONES = np.arange(3.2, 22.0, 0.7)


def samples(resonance=None, sd=ENCODER, inertia=LINK + ROTOR, count=2, seed=0, lag=0.0):
    """Return `Samples` of joints of which the last one has a spring, if any, and 250 Hz."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(SECONDS * RATE)) / RATE
    stamps = np.round(1e9 * times).astype(np.int64) + 10**15
    phases = rng.uniform(0, 2 * np.pi, (count, len(TONES)))
    # So slowly do tones come and go that they are those of a steady state.
    waves = np.cos(2 * np.pi * TONES * times[:, None, None] + phases) * 2.0 / TONES
    accelerations = waves.sum(-1)
    late = np.cos(2 * np.pi * TONES * (times[:, None, None] - lag) + phases) * 2.0 / TONES
    torques = (LINK + ROTOR) * late.sum(-1)
    if resonance is not None:
        beside = 1 / (1 - (TONES / resonance) ** 2) - 1
        torques[:, -1] += LINK * (waves[:, -1] * beside).sum(-1)
    torques += NOISE * rng.standard_normal(torques.shape)
    away = sd * rng.standard_normal(torques.shape)
    usable = np.ones(torques.shape, dtype=bool)
    residuals = torques - inertia * accelerations
    return Samples(stamps, away, away * 0, stamps, residuals, usable, away * 0, accelerations)


def inertias(inertia=LINK + ROTOR):
    return lambda positions: np.repeat(
        inertia * np.eye(positions.shape[1])[None], len(positions), 0
    )


def heard(found, inertia=LINK + ROTOR, parts=30, sd=ENCODER, jitter=0.0):
    """Return the `Response` to samples that come in parts; sd, jitter: of encoders, as learned."""
    response, noise = Response(), MotionNoise(np.ones(2), np.full(2, sd), jitter)
    edges = np.linspace(found.stamps[0], found.stamps[-1] + 1, parts + 1).astype(np.int64)
    for begin, end in zip(edges[:-1], edges[1:]):
        response = response.plus(found.between(begin, end), noise, inertias(inertia))
    return response


@pytest.mark.parametrize('resonance', [8.0, 11.0, 14.0])
def test_a_spring_is_found_with_its_frequency_and_its_link(resonance):
    response = heard(samples(resonance))
    frequency, part, score, least = response.resonances(inertias())
    assert frequency[1] == pytest.approx(resonance, abs=1.5)
    assert part[1] == pytest.approx(LINK / (LINK + ROTOR), rel=0.4)
    assert score[1] > 8 and score[0] < 3 and least[1] < 0 < least[0]
    assert np.isnan(response.elastic(inertias())).tolist() == [True, False]


@pytest.mark.parametrize('sd', [1e-6, 2e-5, 2e-4])
def test_noise_of_encoders_is_no_spring(sd):
    for seed in range(3):
        for learned in (0.7 * sd, sd):
            response = heard(samples(sd=sd, seed=seed), sd=learned)
            assert np.isnan(response.elastic(inertias())).all()


def test_stamps_that_jitter_are_no_spring():
    """What is seen too early or too late is off in all joints, and swings with none."""
    for seed in range(3):
        whole, rng = samples(seed=seed), np.random.default_rng(seed)
        times = 1e-9 * (whole.stamps - whole.stamps[0])
        velocities = np.stack([np.sin(2 * times), 0.7 * np.cos(3 * times)], 1)
        shifts = 3e-4 * rng.standard_normal(len(times))
        away = whole.away + shifts[:, None] * velocities
        jittered = replace(whole, away=away, velocities=velocities)
        assert np.isnan(heard(jittered, jitter=3e-4).elastic(inertias())).all()


def test_an_inertia_that_is_wrong_is_no_spring():
    response = heard(samples())
    assert np.isnan(response.elastic(inertias(0.8 * (LINK + ROTOR)))).all()


def test_what_was_believed_of_inertias_before_does_not_matter():
    before = heard(samples(9.0, inertia=1.7), inertia=1.7)
    found = before.resonances(inertias())
    expected = heard(samples(9.0)).resonances(inertias())
    for mine, others in zip(found, expected):
        assert mine == pytest.approx(others, rel=1e-6, abs=1e-6)


def test_rests_and_gaps_tell_nothing():
    whole = samples(9.0)
    resting = replace(whole, usable=np.zeros_like(whole.usable))
    assert not heard(resting).windows
    # Half of the samples are lost, and what is left are bits of a quarter of a second.
    kept = (whole.stamps // 250_000_000) % 2 == 0
    assert not heard(Samples(*(each[kept] for each in vars(whole).values()))).windows
    # Samples too rare for the frequencies that matter.
    assert not heard(Samples(*(each[::20] for each in vars(whole).values()))).windows


@pytest.mark.parametrize('lag', [0.004, 0.01])
def test_torques_that_come_late_are_no_spring(lag):
    assert np.isnan(heard(samples(lag=lag)).elastic(inertias())).all()


def test_one_bad_window_is_no_spring():
    whole = samples()
    residuals = whole.residuals.copy()
    times = 1e-9 * (whole.stamps - whole.stamps[0])
    struck = (times > 5.0) & (times < 5.4)
    residuals[struck] += 40 * np.cos(2 * np.pi * 7 * times[struck])[:, None]
    assert np.isnan(heard(replace(whole, residuals=residuals)).elastic(inertias())).all()
