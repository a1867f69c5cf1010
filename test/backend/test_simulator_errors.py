"""What the simulator says to arguments it cannot use: always what would fit."""

from dataclasses import replace

from models import draw, Inputs, pair, see
import numpy as np
import pytest
import torch

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.base import RolloutInputs
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError, EstimatorError, ModelError

BATCH = 3


@pytest.fixture(scope='module', params=BACKENDS)
def simulator(request):
    return Simulator(
        pair('planar'), ('arm.mass', 'elbow.offset'), backend=request.param, observe=see
    )


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'estimate': ('arm.mas',)}, ConfigError, "no parameter 'arm.mas'; nearest: arm.mass"),
        ({'estimate': ('arm.mass', 'arm.mass')}, ConfigError, "'arm.mass' is named twice"),
        ({'integrator': 'rk5'}, ConfigError, "'rk5'; choose one of semi_implicit_euler, rk4"),
        ({'backend': 'fast'}, ConfigError, "'fast'; choose 'auto' or one of native, eager"),
        ({'wrench_links': ('foot',)}, ModelError, "no link 'foot'; it has: arm, base, hand"),
        ({'values': {'arm.mas': 1.0}}, ConfigError, "no parameter 'arm.mas'; nearest: arm.mass"),
    ],
)
def test_construction(options, error, message):
    with pytest.raises(error) as caught:
        Simulator(pair('planar'), **{'backend': 'eager', **options})
    assert isinstance(caught.value, EstimatorError)
    assert message in str(caught.value)


CALLS = ('rollout', 'jacobian', 'sensitivities', 'loss')


def call(simulator, name, inputs, **options):
    """Call a simulator by the name of its method."""
    state, *rest = inputs.arguments()
    if name == 'loss':
        targets = options.pop('targets', torch.zeros(len(rest[0]), 15, 1))
        return simulator.loss(state, rest[0], targets, *rest[1:], **options)
    return getattr(simulator, name)(state, *rest, **options)


@pytest.mark.parametrize('name', CALLS)
@pytest.mark.parametrize(
    ('what', 'shape', 'fitting'),
    [
        ('state', (7, BATCH), f'[8, {BATCH}]'),
        ('parameters', (3, BATCH), f'[2, {BATCH}]'),
        ('parameters', (2, 2), f'[2, {BATCH}]'),
        ('durations', (3, 2), f'[3, {BATCH}]'),
        ('controls', (3, 5, BATCH), f'[3, 4, {BATCH}]'),
        ('controls', (2, 4, BATCH), f'[3, 4, {BATCH}]'),
        ('controls', (3, 4, 2), f'[3, 4, {BATCH}]'),
    ],
)
def test_shapes_of_inputs(simulator, name, what, shape, fitting):
    inputs = Inputs(**{**vars(draw(simulator, BATCH)), what: torch.zeros(shape)})
    with pytest.raises(ConfigError) as caught:
        call(simulator, name, inputs)
    assert f'{what} has shape {list(shape)}, but should be {fitting}' in str(caught.value)
    assert 'or 1 in the last place' in str(caught.value)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'targets': torch.zeros(3, 14, BATCH)}, f'targets has shape [3, 14, {BATCH}], but'),
        ({'targets': torch.zeros(2, 15, BATCH)}, f'should be [3, 15, {BATCH}]'),
        ({'targets': torch.zeros(3, 15, 2)}, f'should be [3, 15, {BATCH}]'),
        ({'weights': torch.zeros(4)}, f'weights has shape [4, 1], but should be [3, {BATCH}]'),
        ({'kind': 'cauchy'}, "loss 'cauchy' is unknown; choose one of squared, huber"),
    ],
)
def test_arguments_of_the_loss(simulator, options, message):
    with pytest.raises(ConfigError) as caught:
        call(simulator, 'loss', draw(simulator, BATCH), **options)
    assert message in str(caught.value)


def test_a_batch_of_nothing(simulator):
    with pytest.raises(ConfigError, match=r'state has shape \[8, 0\], but should be \[8, 1\]'):
        call(simulator, 'rollout', draw(simulator, 0))


def test_a_loss_without_outputs():
    simulator = Simulator(pair('planar'), backend='eager')
    with pytest.raises(ConfigError, match='this simulator has none; give it observe='):
        call(simulator, 'loss', draw(simulator, BATCH))


def test_an_unknown_mode(simulator):
    with pytest.raises(ConfigError, match="'backward' is unknown; choose 'reverse' or 'forward'"):
        call(simulator, 'rollout', draw(simulator, BATCH), mode='backward')


def test_inputs_without_a_batch_stand_for_one_sample(simulator):
    inputs = draw(simulator, 1)
    expected = simulator.rollout(*inputs.arguments()).states
    bare = inputs.map(lambda t: t[..., 0])
    found = simulator.rollout(bare.state, bare.durations.tolist(), bare.parameters, bare.controls)
    assert torch.equal(found.states, expected)


def test_single_precision_is_widened(simulator):
    inputs = draw(simulator, BATCH).map(lambda t: t.to(torch.float32))
    found = simulator.rollout(*inputs.arguments()).states
    assert found.dtype == torch.float64
    expected = simulator.rollout(*inputs.map(lambda t: t.to(torch.float64)).arguments()).states
    assert torch.equal(found, expected)


@pytest.mark.parametrize('what', ['targets', 'weights'])
def test_a_loss_by_its_targets_is_refused(simulator, what):
    given = {'targets': torch.zeros(3, 15, 1), 'weights': torch.ones(3)}
    given[what].requires_grad_()
    with pytest.raises(ConfigError, match='no derivative by its targets and weights'):
        call(simulator, 'loss', draw(simulator, BATCH), **given)


@pytest.mark.parametrize('mode', ['reverse', 'forward'])
def test_second_derivatives_of_the_native_backend_are_refused_not_wrong(mode):
    simulator = Simulator(pair('fixed'), ('arm.mass',), backend='native', observe=see)
    leaves = draw(simulator, BATCH).leaves()
    states = simulator.rollout(*leaves.arguments(), mode=mode).states
    loss = call(simulator, 'loss', leaves, targets=torch.zeros(3, 15, 1))
    for value in ((states**2).sum(), loss.sum()):
        (slope,) = torch.autograd.grad(value, leaves.parameters, create_graph=True)
        with pytest.raises(RuntimeError, match='differentia|does not require grad'):
            torch.autograd.grad((slope**2).sum(), leaves.parameters)


@pytest.mark.parametrize('part', ['state', 'parameters', 'controls'])
def test_a_driver_refuses_inputs_that_it_would_read_beyond(part):
    simulator = Simulator(pair('planar'), ('arm.mass',), backend='native')
    backend, sizes = simulator._backend, {'state': 8, 'parameters': 1, 'controls': 4}
    shapes = {'state': (8, 3), 'parameters': (1, 3), 'controls': (5, 4, 1), 'durations': (5, 1)}
    good = RolloutInputs(**{name: np.zeros(shape) for name, shape in shapes.items()})
    backend.rollout_arrays(good)
    array = getattr(good, part)
    wide = np.concatenate([array, array], 1 if part == 'controls' else 0)
    bad = replace(good, **{part: wide})
    for call, inputs in (
        (backend.rollout_arrays, bad),
        (backend.rollout, RolloutInputs(*map(torch.from_numpy, bad.tensors()))),
    ):
        with pytest.raises(ValueError, match=f'{2 * sizes[part]}.*those of the system'):
            call(inputs)
