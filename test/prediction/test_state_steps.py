"""Columns of few steps are taken apart from those of many, and nothing else comes of it."""

from dataclasses import fields

import numpy as np
import pytest
from robots import pendulum

from sim2real_estimator.backend.base import RolloutInputs
from sim2real_estimator.backend.choice import choose_backend
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.prediction.steps import uneven_jacobian

STEPS = 12


@pytest.fixture(scope='module')
def backend():
    parameters = pendulum()
    values = dict(zip(parameters, parameters.nominal()))
    return choose_backend('auto')(System(parameters, ('lower.mass',), 'rk4'), values)


@pytest.mark.parametrize(
    'counts',
    [
        [1] * 38 + [STEPS, STEPS - 1],
        [0] * 20 + [2] * 15 + [5, 7, 9, 11, STEPS],
        [0] * 40,
        [STEPS] * 40,
    ],
)
def test_derivatives_are_the_same(backend, counts):
    generator, counts = np.random.default_rng(3), np.array(counts)
    batch = len(counts)
    durations = generator.uniform(1e-3, 4e-3, (STEPS, batch))
    is_step = np.arange(STEPS)[:, None] < counts
    inputs = RolloutInputs(
        generator.standard_normal((4, batch)),
        generator.uniform(0.5, 1.0, (1, batch)),
        generator.standard_normal((STEPS, 2, 1)),
        durations * is_step,
    )
    calls = []

    class Counting:
        def jacobian_arrays(self, given):
            calls.append(given.steps * given.batch)
            return backend.jacobian_arrays(given)

    found, wanted = uneven_jacobian(Counting(), inputs, ()), backend.jacobian_arrays(inputs)
    for part in fields(found):
        own, other = (getattr(each, part.name) for each in (found, wanted))
        if part.name == 'by_durations':
            # What a step that nobody takes would do is not asked for.
            own, other = (x.swapaxes(1, 2)[is_step.T] for x in (own, other))
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12, err_msg=part.name)
    # Some are taken along by others.
    is_even = (counts == STEPS).all()
    assert (sum(calls) == STEPS * batch) if is_even else (sum(calls) < STEPS * batch / 2)


def test_steps_that_another_delay_would_make_longer_are_counted(backend):
    durations = np.zeros((STEPS, 40))
    durations[0] = 2e-3
    inputs = RolloutInputs(np.ones((4, 40)), np.ones((1, 40)), np.ones((STEPS, 2, 1)), durations)
    slope = np.zeros((STEPS, 40))
    slope[2, 7] = 1.0
    found = uneven_jacobian(backend, inputs, [(0, slope)]).by_durations
    wanted = backend.jacobian_arrays(inputs).by_durations
    np.testing.assert_allclose(found[7, :, :3], wanted[7, :, :3], rtol=1e-9, atol=1e-12)
    assert np.abs(wanted[7, :, 2]).max() > 0
    assert not found[8, :, 1:].any()
