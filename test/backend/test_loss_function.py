"""The loss of data that stay: the same numbers as `loss`, with less said each time."""

import pytest
import torch

from sim2real_estimator.app.reproduce.pendulums import rod_chain, rod_names
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.observations import headings
from sim2real_estimator.errors import ConfigError

BATCH, STEPS = 11, 4


@pytest.fixture(scope='module', params=['native', 'eager'])
def simulator(request):
    model = rod_chain((0.5, 0.4))
    return Simulator(
        model,
        rod_names(model, 'length'),
        backend=request.param,
        max_step=0.02,
        observe=headings(['rod0', 'rod1']),
    )


def data(simulator, batch=BATCH):
    """Return (state, durations, targets); the intervals are divided."""
    generator = torch.Generator().manual_seed(3)
    state = simulator.neutral_state(batch)
    state[8:] = torch.randn(6, batch, generator=generator, dtype=torch.float64)
    targets = torch.randn(STEPS, 6, batch, generator=generator, dtype=torch.float64)
    return state, [0.03] * STEPS, targets


@pytest.mark.parametrize('kind', ['huber', 'squared'])
@pytest.mark.parametrize('batch', [BATCH, 3])
@pytest.mark.parametrize('lanes', [1, None])
def test_value_and_gradient_are_those_of_loss(simulator, kind, batch, lanes):
    arguments = data(simulator, batch)
    function = simulator.loss_function(*arguments, kind=kind, weights=[1.0, 2.0, 0.0, 1.0])
    weights = torch.linspace(0.5, 2, batch, dtype=torch.float64)
    for factor in (1.0, 1.1):
        results = []
        for is_prepared in (True, False):
            parameters = (factor * simulator.nominal(lanes or batch)).requires_grad_()
            losses = (
                function(parameters)
                if is_prepared
                else simulator.loss(
                    *arguments, parameters, kind=kind, weights=[1.0, 2.0, 0.0, 1.0]
                )
            )
            (losses * weights).sum().backward()
            results.append((losses.detach(), parameters.grad))
        for one, other in zip(*results):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_estimated_delays_are_followed():
    model = rod_chain((0.5, 0.4)).with_actuators({'ball1': 'effort'})
    late = Simulator(model, ['ball1.delay'], observe=headings(['rod1']))
    state = late.neutral_state(8)
    targets = torch.tensor([0.3, 0.2, -0.5], dtype=torch.float64)[:, None].expand(3, 3, 1)
    controls = torch.tensor([[0.1, 0.0, 0.0], [0.3, 0.1, 0.0], [0.0, 0.2, 0.0]])
    delays = torch.linspace(0.0, 0.02, 8, dtype=torch.float64)[None]
    arguments = state, [0.01] * 3, targets
    function = late.loss_function(*arguments, controls, kind='squared')
    expected = late.loss(*arguments, delays, controls, kind='squared')
    torch.testing.assert_close(function(delays), expected, rtol=0, atol=0)
    assert len(set(expected.tolist())) > 4


def test_data_that_need_a_gradient_are_refused(simulator):
    state, durations, targets = data(simulator)
    with pytest.raises(ConfigError, match='differentiable by the parameters alone'):
        simulator.loss_function(state.requires_grad_(), durations, targets)


def test_parameters_of_another_shape_are_refused(simulator):
    function = simulator.loss_function(*data(simulator))
    with pytest.raises(ConfigError, match='parameters has shape'):
        function(simulator.nominal(BATCH + 1))
