"""Intervals divided into integration steps."""

import math

from comparisons import assert_close, everything
from models import draw, Inputs, pair, see, simulators
import pytest
import torch

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.plan import plan_steps
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.integrators import INTEGRATORS
from sim2real_estimator.errors import ConfigError

ESTIMATED = ('arm.mass', 'other.damping')
VALUES = {'elbow.friction_velocity': 0.3, 'other.friction_velocity': 0.3}
CLOSE = {'rtol': 1e-11, 'atol': 1e-13}
# Irregular, and shorter, equal to and longer than the steps; [H, 1].
DURATIONS = torch.tensor([0.01, 0.025, 0.004, 0.0, 0.02], dtype=torch.float64)[:, None]
MAX_STEP = 0.01
COUNTS = [1, 3, 1, 1, 2]


@pytest.fixture(scope='module', params=INTEGRATORS)
def both(request):
    """Return simulators with `max_step`; the program is the same without."""
    options = {'integrator': request.param, 'observe': see, 'values': VALUES}
    return simulators(pair('prismatic'), ESTIMATED, max_step=MAX_STEP, **options)


def irregular(simulator, batch=3):
    """Return inputs with durations that all samples share."""
    drawn = draw(simulator, batch, steps=len(DURATIONS))
    return Inputs(drawn.state, drawn.parameters, DURATIONS, drawn.controls)


def divided(inputs):
    """Return the same inputs with every interval divided by hand, and the last steps' numbers."""
    counts = torch.tensor(COUNTS)
    durations = (inputs.durations / counts[:, None]).repeat_interleave(counts, 0)
    controls = inputs.controls.repeat_interleave(counts, 0)
    ends = counts.cumsum(0)
    return Inputs(inputs.state, inputs.parameters, durations, controls), ends


@pytest.fixture
def undivided(both, monkeypatch):
    """Return a function that sets the simulators to one step per interval."""

    def use():
        for simulator in both.values():
            monkeypatch.setattr(simulator, 'max_step', None)

    return use


@pytest.mark.parametrize('backend', BACKENDS)
def test_steps_are_those_of_explicit_small_intervals(both, undivided, backend):
    simulator = both[backend]
    inputs = irregular(simulator)
    by_hand, ends = divided(inputs)
    found = everything(simulator, inputs)
    undivided()
    expected = everything(simulator, by_hand)
    instants = torch.cat([torch.zeros(1, dtype=torch.long), ends])
    for name in ('states', 'outputs'):
        expected[name] = expected[name][instants]
        assert len(found[name]) == len(DURATIONS) + 1
    for name in ('d_states', 'd_outputs'):
        expected[name] = expected[name][instants]
    # By an interval's duration: the mean over its steps; by its controls: the sum.
    parts = expected['by_durations'].split(COUNTS, 1), expected['by_controls'].split(COUNTS, 1)
    expected['by_durations'] = torch.stack([p.mean(1) for p in parts[0]], 1)
    expected['by_controls'] = torch.stack([p.sum(1) for p in parts[1]], 1)
    targets = torch.full((len(DURATIONS), expected['outputs'].shape[1], 1), 0.3)
    loss = torch.nn.functional.huber_loss(
        expected['outputs'][1:],
        targets.expand_as(expected['outputs'][1:]).to(torch.float64),
        reduction='none',
        delta=0.1,
    )
    expected['loss'] = loss.sum((0, 1))
    assert_close(found, expected)


def test_gradients_reach_through_the_steps(both):
    inputs = irregular(both['eager'])
    found = {}
    for backend, simulator in both.items():
        for mode in ('reverse', 'forward'):
            leaves = inputs.leaves()
            outputs = simulator.rollout(*leaves.arguments(), mode=mode).outputs
            found[backend, mode] = torch.autograd.grad((outputs**2).sum(), leaves.arguments())
    for gradients in found.values():
        for gradient, expected in zip(gradients, found['eager', 'reverse']):
            torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize('backend', BACKENDS)
def test_an_interval_of_no_length_is_the_identity(both, backend):
    inputs = irregular(both[backend])
    states = both[backend].rollout(*inputs.arguments()).states
    nothing = COUNTS.index(1, 3)
    torch.testing.assert_close(states[nothing + 1], states[nothing], rtol=0, atol=1e-15)


@pytest.mark.parametrize('backend', BACKENDS)
def test_samples_of_different_lengths_take_equally_many_steps(both, undivided, backend):
    inputs = draw(both[backend], 3, steps=1)
    durations = torch.tensor([[0.01, 0.028, 0.0]], dtype=torch.float64)
    inputs = Inputs(inputs.state, inputs.parameters, durations, inputs.controls)
    found = both[backend].rollout(*inputs.arguments()).states[-1]
    undivided()
    thirds, controls = (durations / 3).expand(3, 3), inputs.controls.expand(3, -1, 3)
    expected = both[backend].rollout(inputs.state, thirds, inputs.parameters, controls).states[-1]
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_finer_steps_converge_at_the_order_of_the_integrator(integrator):
    model = pair('free')
    simulator = Simulator(model, backend='native', integrator=integrator, values=VALUES)
    inputs = draw(simulator, 2, steps=2, duration=0.4)
    last = []
    for count in (40, 80, 160):
        simulator.max_step = float(inputs.durations.max()) / count
        last.append(simulator.rollout(*inputs.arguments()).states[-1])
    ratio = (last[0] - last[1]).norm() / (last[1] - last[2]).norm()
    assert math.log2(ratio) == pytest.approx(INTEGRATORS[integrator].order, abs=0.15)


def test_whole_multiples_of_the_longest_step_are_not_divided_further():
    durations = torch.tensor([0.01, 0.01 + 1e-7, 0.07, 1e-9], dtype=torch.float64)[:, None]
    assert 0.07 / 0.01 > 7
    plan = plan_steps(durations, torch.zeros(4, 0, 1), 0.01)
    assert plan.ends.tolist() == [0, 2, 9, 10]


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_a_bad_duration_does_not_decide_for_other_samples(both, bad):
    for simulator in both.values():
        inputs = draw(simulator, 3)
        expected = simulator.rollout(*inputs.arguments()).states[..., [0, 2]]
        inputs.durations[1, 1] = bad
        states = simulator.rollout(*inputs.arguments()).states
        assert torch.equal(states[..., [0, 2]], expected)
        assert states[-1, :, 1].isnan().any()


@pytest.mark.parametrize('max_step', [0.0, -0.01, math.nan])
def test_a_step_that_is_no_time_is_refused(max_step):
    with pytest.raises(ConfigError, match=f'max_step is {max_step}, but should be a positive'):
        Simulator(pair('fixed'), backend='eager', max_step=max_step)
