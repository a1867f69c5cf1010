"""What filters ask for, frame by frame: the same numbers as of tensors, in arrays of their own."""

from concurrent.futures import ThreadPoolExecutor

from models import draw, pair, see, simulators
import numpy as np
import pytest
import torch

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.base import RolloutInputs
from sim2real_estimator.backend.native import calls

ESTIMATED = ('arm.mass', 'other.friction', 'hand.inertia.xy')
PARTS = ('state', 'by_state', 'by_parameters', 'by_durations', 'by_controls')


@pytest.fixture(scope='module')
def both():
    return simulators(pair('spherical'), ESTIMATED, observe=see)


def drawn(simulator, batch, seed=0, steps=2):
    """Return `RolloutInputs` of arrays, all with as many columns."""
    found = draw(simulator, batch, steps=steps, seed=seed)
    parts = (found.state, found.parameters, found.controls, found.durations)
    return RolloutInputs(*(part.numpy() for part in parts))


def shared(inputs):
    """Return the same with the first column of all but the state for every sample."""
    return RolloutInputs(inputs.state, *(part[..., :1] for part in inputs.tensors()[1:]))


def asked(backend, inputs):
    """Return all that a backend tells as arrays."""
    slopes = backend.jacobian_arrays(inputs)
    state, parameters = inputs.state, inputs.parameters
    return [
        *backend.rollout_arrays(inputs),
        *(getattr(slopes, name) for name in PARTS),
        *backend.observed_arrays(state, parameters, True),
        backend.observed_arrays(state, parameters, False)[0],
    ]


def expected(backend, inputs):
    """Return the same by the calls with tensors."""
    wide = RolloutInputs(*(torch.from_numpy(part) for part in inputs.tensors()))
    slopes = backend.jacobian(wide)
    still = RolloutInputs(*wide.tensors()[:2], wide.controls[:0], wide.durations[:0])
    seen = backend.sensitivities(still)
    found = [*backend.rollout(wide, 'reverse'), *(getattr(slopes, name) for name in PARTS)]
    found += [seen.outputs[0], seen.d_outputs[:, 0], seen.outputs[0]]
    return [part.numpy() for part in found]


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('batch', [1, 3, 8, 11])
def test_arrays_are_told_what_tensors_are(both, backend, batch):
    own, backend = drawn(both[backend], batch), both[backend]._backend
    for inputs in (own, shared(own)):
        for found, wanted in zip(asked(backend, inputs), expected(backend, inputs)):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('batch', [1, 3, 9])
def test_directions_are_what_the_jacobian_makes_of_them(both, backend, batch):
    backend, inputs = both[backend]._backend, drawn(both[backend], batch, steps=3)
    sizes = [part.shape[:-1] for part in inputs.tensors()]
    generator = np.random.default_rng(5)
    own = [generator.standard_normal((batch, *size, 11)) for size in sizes[:2]]
    by_controls, by_durations = (generator.standard_normal((*size, 11)) for size in sizes[2:])
    found = backend.directions_arrays(inputs, (*own, by_durations, by_controls))
    states, outputs = backend.rollout_arrays(inputs)
    np.testing.assert_allclose(found.states, states, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.outputs, outputs, rtol=1e-12, atol=1e-12)
    slopes = backend.jacobian_arrays(inputs)
    expected = slopes.by_state @ own[0] + slopes.by_parameters @ own[1]
    expected += slopes.by_durations @ by_durations
    expected += np.einsum('bisu,sun->bin', slopes.by_controls, by_controls)
    np.testing.assert_allclose(found.d_states[:, -1], expected, rtol=1e-9, atol=1e-10)
    _, by_both = backend.observed_arrays(states[-1], inputs.parameters, True)
    both_seeds = np.concatenate([found.d_states[:, -1], own[1]], 1)
    np.testing.assert_allclose(found.d_outputs[:, -1], by_both @ both_seeds, rtol=1e-9, atol=1e-10)


def test_what_was_returned_stays_when_more_is_asked_for(both):
    backend = both['native']._backend
    first, second = (drawn(both['native'], 3, seed) for seed in (1, 2))
    found = asked(backend, first)
    kept = [part.copy() for part in found]
    asked(backend, second)
    for part, wanted in zip(found, kept):
        np.testing.assert_array_equal(part, wanted)


def test_calls_that_are_large_are_not_kept(both, monkeypatch):
    backend, inputs = both['native']._backend, drawn(both['native'], 10, 3)
    monkeypatch.setattr(calls, '_LARGEST', 0)
    kept = list(backend._compiled_calls._calls)
    for found, wanted in zip(asked(backend, inputs), expected(backend, inputs)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert list(backend._compiled_calls._calls) == kept


def test_calls_of_many_lengths_are_not_all_kept(both):
    backend = both['native']._backend
    inputs = [drawn(both['native'], 1, 4, steps) for steps in range(1, 2 * calls._KEPT)]
    wanted = [backend.rollout_arrays(each)[0] for each in inputs]
    assert len(backend._compiled_calls._calls) <= calls._KEPT
    for each, states in zip(inputs, wanted):
        np.testing.assert_array_equal(backend.rollout_arrays(each)[0], states)


def test_threads_have_calls_of_their_own(both):
    backend = both['native']._backend
    inputs = [drawn(both['native'], 2, seed) for seed in range(4)]
    wanted = [backend.jacobian_arrays(each).by_state for each in inputs]

    def run(number):
        return [backend.jacobian_arrays(inputs[number]).by_state for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        for results, each in zip(pool.map(run, range(4)), wanted):
            assert all((found == each).all() for found in results)
