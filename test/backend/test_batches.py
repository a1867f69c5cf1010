"""Batches of every size and layout: native against eager, and every sample by itself."""

from comparisons import assert_close, CLOSE, everything
from models import draw, Inputs, joint, pair, see, simulators
import pytest
import torch

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.tree import Inertial, Link, Model

ESTIMATED = ('arm.mass', 'other.friction', 'elbow.offset', 'hand.inertia.xy')
# Friction that takes hold slowly, which a coarse step can follow.
SLOW_FRICTION = {'elbow.friction_velocity': 0.3, 'other.friction_velocity': 0.3}
# One sample, one less and one more than the vectors of every CPU, and several blocks of them.
SIZES = (1, 2, 3, 7, 8, 9, 17)


@pytest.fixture(scope='module')
def both():
    options = {'wrench_links': ('hand',), 'observe': see, 'values': SLOW_FRICTION}
    return simulators(pair('planar'), ESTIMATED, integrator='semi_implicit_euler', **options)


def draw_two(simulator, batch, seed=0):
    """Return inputs of two steps."""
    return draw(simulator, batch, steps=2, seed=seed)


def score(simulator, inputs, mode='reverse'):
    """Return a sum over everything a rollout returns that counts every entry differently."""
    trajectory = simulator.rollout(*inputs.arguments(), mode=mode)
    states, outputs = trajectory.states, trajectory.outputs
    weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
    return (states * weights).sum() + (outputs**2).sum()


def gradients(simulator, inputs, mode='reverse'):
    """Return the gradient of the score by each input."""
    leaves = inputs.leaves()
    return torch.autograd.grad(score(simulator, leaves, mode), leaves.arguments())


@pytest.mark.parametrize('size', SIZES)
def test_backends_agree_in_every_batch(both, size):
    inputs = draw_two(both['eager'], size)
    native, eager = (everything(both[b], inputs) for b in ('native', 'eager'))
    assert all(value.shape[-1] == size for value in native.values())
    assert_close(native, eager)
    for mode in ('reverse', 'forward'):
        for found, expected in zip(
            gradients(both['native'], inputs, mode), gradients(both['eager'], inputs)
        ):
            torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_batch_is_its_samples_one_by_one(both, backend):
    inputs = draw_two(both[backend], 9)
    together = everything(both[backend], inputs)
    for lane in (0, 8):
        alone = everything(both[backend], inputs.map(lambda t, k=lane: t[..., k : k + 1]))
        assert_close(alone, {n: value[..., lane : lane + 1] for n, value in together.items()})


@pytest.mark.parametrize('size', [1, 9])
@pytest.mark.parametrize(
    'shared',
    [('parameters',), ('controls',), ('durations',), ('parameters', 'durations', 'controls')],
)
def test_shared_inputs_act_as_if_spread_out(both, size, shared):
    one = draw_two(both['eager'], size)
    one = Inputs(**{n: t[..., :1] if n in shared else t for n, t in vars(one).items()})
    spread = one.map(lambda t: t.expand(*t.shape[:-1], size).contiguous())
    for simulator in both.values():
        assert_close(everything(simulator, one), everything(simulator, spread))
        for mode in ('reverse', 'forward'):
            wide = gradients(simulator, spread, mode)
            for found, expected in zip(gradients(simulator, one, mode), wide):
                if found.shape != expected.shape:
                    expected = expected.sum(-1, keepdim=True)
                torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize('backend', BACKENDS)
def test_the_loss_weighs_gradients_of_samples_by_what_comes_after_it(both, backend):
    inputs = draw_two(both[backend], 9)
    shared = inputs.parameters[:, :1].clone().requires_grad_()
    spread = shared.detach().repeat(1, 9).requires_grad_()
    after = torch.linspace(-1, 2, 9, dtype=torch.float64)
    targets = torch.zeros(2, both[backend].rollout(*inputs.arguments()).outputs.shape[1], 1)

    def gradient(parameters, factor):
        arguments = (inputs.state, inputs.durations, targets, parameters, inputs.controls)
        return torch.autograd.grad((both[backend].loss(*arguments) * factor).sum(), parameters)[0]

    expected = gradient(spread, 1.0) * after
    torch.testing.assert_close(gradient(spread, after), expected, **CLOSE)
    expected = expected.sum(-1, keepdim=True)
    torch.testing.assert_close(gradient(shared, after), expected, **CLOSE)


def test_tensors_need_not_be_contiguous(both):
    inputs = draw_two(both['eager'], 9)
    strided = inputs.map(lambda t: t.movedim(-1, 0).contiguous().movedim(0, -1))
    every_other = inputs.map(lambda t: t.repeat_interleave(2, -1)[..., ::2])
    for simulator in both.values():
        expected = everything(simulator, inputs)
        assert_close(everything(simulator, strided), expected)
        assert_close(everything(simulator, every_other), expected)
        for found, wanted in zip(gradients(simulator, strided), gradients(simulator, inputs)):
            torch.testing.assert_close(found, wanted, **CLOSE)


def test_inputs_are_not_written_to(both):
    for simulator in both.values():
        inputs = draw_two(simulator, 8)
        copies = inputs.map(torch.clone)
        everything(simulator, inputs)
        gradients(simulator, inputs)
        assert all(torch.equal(t, c) for t, c in zip(inputs.arguments(), copies.arguments()))


def test_controls_left_out_are_zero(both):
    inputs = draw_two(both['eager'], 3)
    zeros = torch.zeros_like(inputs.controls)
    for simulator in both.values():
        found = simulator.rollout(inputs.state, inputs.durations, inputs.parameters)
        expected = simulator.rollout(inputs.state, inputs.durations, inputs.parameters, zeros)
        assert torch.equal(found.states, expected.states)


def test_no_interval_leaves_the_initial_state(both):
    inputs = draw_two(both['eager'], 3)
    for simulator in both.values():
        leaf = inputs.state.clone().requires_grad_()
        trajectory = simulator.rollout(leaf, [], inputs.parameters)
        assert torch.equal(trajectory.states, inputs.state[None])
        expected = both['eager'].rollout(*inputs.arguments()).outputs[:1]
        torch.testing.assert_close(trajectory.outputs, expected, **CLOSE)
        (gradient,) = torch.autograd.grad(trajectory.states.sum(), leaf)
        assert torch.equal(gradient, torch.ones_like(leaf))
        jacobian = simulator.jacobian(inputs.state, [], inputs.parameters)
        assert torch.equal(jacobian.by_state, torch.eye(8, dtype=torch.float64).expand(3, 8, 8))


@pytest.mark.parametrize('size', [1, 9])
def test_nothing_estimated_and_nothing_observed(size):
    both = simulators(pair('planar'), (), integrator='semi_implicit_euler', values=SLOW_FRICTION)
    inputs = draw_two(both['eager'], size)
    found = [both[b].rollout(*inputs.arguments()) for b in ('native', 'eager')]
    assert found[0].outputs.shape == (3, 0, size)
    torch.testing.assert_close(found[0].states, found[1].states, **CLOSE)
    native, eager = (both[b].jacobian(*inputs.arguments()) for b in ('native', 'eager'))
    assert native.by_parameters.shape == eager.by_parameters.shape == (size, 8, 0)
    torch.testing.assert_close(native.by_controls, eager.by_controls, **CLOSE)


@pytest.mark.parametrize('mode', ['reverse', 'forward'])
def test_gradients_of_some_inputs_only(both, mode):
    inputs = draw_two(both['native'], 9)
    expected = gradients(both['native'], inputs, mode)
    for index in range(4):
        parts = list(inputs.arguments())
        parts[index] = parts[index].clone().requires_grad_()
        state, durations, parameters, controls = parts
        alone = Inputs(state, parameters, durations, controls)
        (found,) = torch.autograd.grad(score(both['native'], alone, mode), parts[index])
        torch.testing.assert_close(found, expected[index], **CLOSE)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('what', ['state', 'parameters', 'durations', 'controls'])
@pytest.mark.parametrize('mode', ['reverse', 'forward'])
def test_a_bad_number_stays_in_its_sample(both, backend, what, mode):
    simulator, lane = both[backend], 4
    inputs = draw_two(simulator, 9)
    bad = inputs.map(torch.clone)
    getattr(bad, what)[1, ..., lane] = torch.nan
    others = [k for k in range(9) if k != lane]
    clean, found = everything(simulator, inputs), everything(simulator, bad)
    for name, value in found.items():
        assert torch.equal(value[..., others], clean[name][..., others]), name
    assert found['states'][-1, :, lane].isnan().any()
    assert found['loss'][lane].isnan()
    for broken, good in zip(gradients(simulator, bad, mode), gradients(simulator, inputs, mode)):
        assert torch.equal(broken[..., others], good[..., others])


@pytest.mark.parametrize('backend', BACKENDS)
def test_results_stay_when_the_simulator_runs_again(backend):
    simulator = Simulator(pair('planar'), ESTIMATED, backend=backend, values=SLOW_FRICTION)
    first = simulator.rollout(*draw_two(simulator, 3).arguments()).states
    copy = first.clone()
    simulator.rollout(*draw_two(simulator, 3, seed=5).arguments())
    assert torch.equal(first, copy)


def test_a_robot_that_cannot_move_can_be_seen():
    links = (
        Link('base'),
        Link('hand', Inertial(0.7, (0.0, 0.0, 0.1), (0.03, 0.03, 0.03, 0, 0, 0))),
    )
    model = Model('statue', links, (joint('weld', 'fixed', 'base', 'hand'),))
    both = simulators(model, ('weld.origin.x',), observe=see, wrench_links=('hand',))
    inputs = draw_two(both['eager'], 3)
    native, eager = (everything(both[b], inputs) for b in ('native', 'eager'))
    assert native['states'].shape == (3, 0, 3)
    assert_close(native, eager)
    torch.testing.assert_close(native['outputs'][:, 0], inputs.parameters.expand(3, 3), **CLOSE)
