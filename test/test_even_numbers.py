"""Stamps of frames come back to the last digit, from a few bytes each."""

import io
import zipfile

import numpy as np
import pytest

from sim2real_estimator.posterior.encoding import Decoder, Encoder
from sim2real_estimator.posterior.even_numbers import packed, unpacked
from sim2real_estimator.stream.plans import RecordedPlan

START_NS, PERIOD_NS = 1_700_000_000 * 10**9, 4_000_000


def stamps(count, jitter_ns, grain_ns=1, seed=0):
    """Return stamps at 250 Hz, each off by itself, in whole grains; now and then one is lost."""
    generator = np.random.default_rng(seed)
    times = np.arange(count)[generator.random(count) > 1e-4] * PERIOD_NS
    jitter = np.rint(jitter_ns / grain_ns * generator.standard_normal(len(times)))
    return START_NS + times + (jitter * grain_ns).astype(np.int64)


@pytest.mark.parametrize(
    'numbers',
    [
        [7],
        [-5, 3],
        [0, 1, 2**62],
        [-(2**61), 2**61, 2**61 + 1],
        stamps(1000, 50_000).tolist(),
    ],
)
def test_every_digit_comes_back(numbers):
    assert unpacked(*packed(np.array(numbers))).tolist() == numbers


@pytest.mark.parametrize('bounds', [(), (5,), tuple(stamps(500, 1e5).tolist())])
def test_a_plan_comes_back(bounds):
    plan = RecordedPlan(frozenset(bounds), frozenset(bounds[:1]))
    encoder = Encoder()
    content = encoder.encode(plan)
    assert Decoder(*encoder.tables()).decode(content) == plan


def test_plans_of_earlier_files_are_read():
    fields = {'bounds': {'set': [3, 9]}, 'openings': {'set': [3]}}
    nodes = [{'kind': 'recorded plan', 'fields': fields}]
    assert Decoder(nodes, {}).decode({'node': 0}) == RecordedPlan({3, 9}, {3})


def compressed(numbers):
    """Return how many bytes they take in a file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('uint8.npy', packed(numbers)[-1].tobytes())
    return len(file.getvalue())


@pytest.mark.parametrize(
    ('jitter_ns', 'grain_ns', 'most'),
    [(0, 1, 0.02), (500, 1, 1.7), (50_000, 1, 2.6), (50_000, 1000, 1.3)],
)
def test_a_stamp_takes_little_more_than_its_jitter(jitter_ns, grain_ns, most):
    count = 50_000
    assert compressed(stamps(count, jitter_ns, grain_ns)) < most * count
