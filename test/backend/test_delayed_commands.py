"""Commands that act late: exact cuts, and derivatives by the delays."""

from comparisons import Differences, error, errors
from models import draw, Inputs, pair, simulators
import pytest
import torch

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError

DELAYS = ('elbow.delay', 'other.delay')
VALUES = {'elbow.friction_velocity': 0.3, 'other.friction_velocity': 0.3}
CLOSE = {'rtol': 1e-11, 'atol': 1e-13}
# Shorter and longer than an interval, several intervals, early, equal, and none.
CASES = {
    'short': (0.012, 0.021),
    'long': (0.05, 0.013),
    'very long': (1.0, 0.1),
    'early': (-0.008, -0.06),
    'equal': (0.017, 0.017),
    'one at once': (0.0, 0.02),
    'on the grid': (0.03, -0.03),
}


@pytest.fixture(scope='module')
def both():
    """Return simulators in which the delays of a motor and of a planar joint are estimated."""
    return simulators(pair('planar'), (*DELAYS, 'arm.mass'), values=VALUES)


@pytest.fixture(scope='module')
def prompt():
    """Return a simulator of the same robot without delays."""
    return simulators(pair('planar'), ('arm.mass',), values=VALUES)['eager']


@pytest.fixture(scope='module')
def fine():
    """Return one of fine steps: to cut a step in two costs the error of the integrator."""
    model, names = pair('planar'), (*DELAYS, 'arm.mass')
    return Simulator(model, names, backend='native', values=VALUES, max_step=0.002)


def with_delays(inputs, *delays):
    """Return inputs with the same delays in every sample, and commands that matter."""
    parameters = inputs.parameters.clone()
    parameters[:2] = torch.tensor(delays, dtype=torch.float64)[:, None]
    return Inputs(inputs.state, parameters, inputs.durations, 5 * inputs.controls)


def by_hand(prompt, inputs, delays, previous=()):
    """Return the states at the instants, cut wherever a command begins to act; one sample."""
    durations = inputs.durations[:, 0].tolist()
    instants = [sum(durations[:k]) for k in range(len(durations) + 1)]
    given = [-durations[0] * k for k in range(len(previous), 0, -1)] + instants[:-1]
    commands = [*previous, *inputs.controls]
    per_command = [delays[0]] + 3 * [delays[1]]
    acting = [[t + delay for t in given] for delay in per_command]
    edges = sorted({*instants, *(t for times in acting for t in times if 0 < t < instants[-1])})

    rows = []
    for start, end in zip(edges[:-1], edges[1:]):
        middle = 0.5 * (start + end)
        latest = [max(0, sum(t <= middle for t in times) - 1) for times in acting]
        rows.append(torch.stack([commands[k][j] for j, k in enumerate(latest)]))
    steps = torch.tensor(edges, dtype=torch.float64).diff()
    states = prompt.rollout(inputs.state, steps, inputs.parameters[2:], torch.stack(rows)).states
    return states[[edges.index(t) for t in instants]]


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('delays', CASES.values(), ids=CASES)
@pytest.mark.parametrize('count', [0, 2])
def test_the_rollout_is_cut_where_commands_begin_to_act(both, prompt, backend, delays, count):
    inputs = with_delays(draw(both['eager'], 1, steps=4), *delays)
    previous = draw(both['eager'], 1, steps=2, seed=7).controls[:count]
    states = both[backend].rollout(*inputs.arguments(), previous=previous).states
    expected = by_hand(prompt, inputs, delays, previous)
    assert states.shape == (5, 8, 1)
    torch.testing.assert_close(states, expected, **CLOSE)


def test_no_delay_changes_nothing(both, prompt):
    inputs = with_delays(draw(both['eager'], 3), 0.0, 0.0)
    found = both['eager'].rollout(*inputs.arguments()).states
    state, durations, parameters, controls = inputs.arguments()
    expected = prompt.rollout(state, durations, parameters[2:], controls).states
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize('backend', BACKENDS)
def test_every_sample_has_its_own_delays(both, backend):
    inputs = with_delays(draw(both['eager'], 5, steps=4), 0.0, 0.0)
    delays = torch.tensor([[0.012, 0.05, -0.02, 0.0, 0.2], [0.021, 0.012, 0.0, 0.0, -0.3]])
    inputs.parameters[:2] = delays
    together = both[backend].rollout(*inputs.arguments()).states
    for lane in range(5):
        one = inputs.map(lambda t, k=lane: t[..., k : k + 1])
        alone = both[backend].rollout(*one.arguments()).states
        torch.testing.assert_close(together[..., lane : lane + 1], alone, **CLOSE)


@pytest.mark.parametrize('backend', BACKENDS)
def test_fixed_delays_act_like_estimated_ones(both, backend):
    inputs = with_delays(draw(both['eager'], 3), 0.012, 0.05)
    values = {**VALUES, 'elbow.delay': 0.012, 'other.delay': 0.05}
    fixed = simulators(pair('planar'), ('arm.mass',), values=values)[backend]
    state, durations, parameters, controls = inputs.arguments()
    found = fixed.rollout(state, durations, parameters[2:], controls).states
    expected = both[backend].rollout(*inputs.arguments()).states
    torch.testing.assert_close(found, expected, **CLOSE)


def total(simulator, inputs, mode='reverse'):
    """Return a sum over samples of all states."""
    states = simulator.rollout(*inputs.arguments(), mode=mode).states
    weights = torch.linspace(-1, 1, states[..., 0].numel(), dtype=torch.float64)
    return (states * weights.reshape(*states.shape[:2], 1)).sum()


@pytest.mark.parametrize('delays', [(0.012, 0.021), (0.05, -0.013)])
def test_derivatives_by_the_delays(both, delays):
    inputs = with_delays(draw(both['eager'], 2), *delays)
    differences = Differences(both['eager'], inputs)
    weights = torch.linspace(-1, 1, 4 * 8, dtype=torch.float64).reshape(4, 8, 1)
    expected = differences.of(lambda states, *_: (states * weights).sum((0, 1)))
    found = {}
    for backend, simulator in both.items():
        for mode in ('reverse', 'forward'):
            leaves = inputs.leaves()
            parts = torch.autograd.grad(total(simulator, leaves, mode), leaves.arguments())
            state, durations, parameters, controls = parts
            gradient = Inputs(state, parameters, durations, controls).flat().T
            apart = errors(simulator, inputs, gradient, expected)
            assert max(apart.values()) < 1e-6, apart
            found[backend] = gradient
    apart = errors(both['eager'], inputs, found['native'], found['eager'])
    assert max(apart.values()) < 1e-10, apart

    expected = differences.of(lambda states, *_: states[-1])
    for simulator in both.values():
        by_parameters = simulator.jacobian(*inputs.arguments()).by_parameters.transpose(1, 2)
        assert error(by_parameters, expected[:, 8:11]) < 1e-6


@pytest.mark.parametrize('delays', [(0.0, 0.0), (0.0, 0.013), (0.01, 0.01), (0.03, -0.03)])
def test_derivatives_where_commands_act_on_the_grid_or_together(fine, delays):
    inputs = with_delays(draw(fine, 1), *delays)
    grid = torch.full((3, 1), 0.03, dtype=torch.float64)
    inputs = Inputs(inputs.state, inputs.parameters, grid, inputs.controls)
    step, slopes = 1e-5, []
    for row in range(2):
        # The derivative towards a longer delay, to second order.
        values = []
        for count in range(3):
            parameters = inputs.parameters.clone()
            parameters[row] += count * step
            moved = Inputs(inputs.state, parameters, inputs.durations, inputs.controls)
            values.append(float(total(fine, moved)))
        slopes.append((-3 * values[0] + 4 * values[1] - values[2]) / (2 * step))
    assert min(abs(s) for s in slopes) > 1e-2
    for mode in ('reverse', 'forward'):
        leaves = inputs.leaves()
        (found,) = torch.autograd.grad(total(fine, leaves, mode), leaves.parameters)
        assert error(found[:2, 0], torch.tensor(slopes, dtype=torch.float64)) < 1e-6


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_loss_of_delayed_commands_counts_instants_only(backend):
    names = ('elbow.delay', 'other.delay')
    simulator = simulators(
        pair('planar'), names, values=VALUES, observe=lambda robot, q, v: [*q, v[0]]
    )[backend]
    inputs = draw(simulator, 3)
    inputs.parameters[:] = torch.tensor([[0.012], [0.05]], dtype=torch.float64)
    seen = simulator.rollout(*inputs.arguments()).outputs
    state, durations, parameters, controls = inputs.arguments()
    targets, weights = torch.zeros_like(seen[1:]), torch.tensor([0.5, 2.0, 1.0])
    loss = simulator.loss(
        state, durations, targets, parameters, controls, weights=weights, kind='squared'
    )
    expected = ((seen[1:] ** 2).sum(1) * weights[:, None]).sum(0)
    torch.testing.assert_close(loss, expected, **CLOSE)


def test_the_jacobian_of_one_sample_without_a_batch(both):
    inputs = with_delays(draw(both['eager'], 1), 0.012, 0.05)
    expected = both['eager'].jacobian(*inputs.arguments()).by_parameters
    for simulator in both.values():
        bare = simulator.jacobian(*inputs.map(lambda t: t[..., 0]).arguments())
        torch.testing.assert_close(bare.by_parameters, expected, **CLOSE)


def test_a_bad_delay_shows(both):
    inputs = with_delays(draw(both['eager'], 3), 0.012, 0.05)
    inputs.parameters[0, 1] = torch.nan
    for simulator in both.values():
        last = simulator.rollout(*inputs.arguments()).states[-1]
        assert last[:, 1].isnan().any()
        assert last[:, [0, 2]].isfinite().all()


def test_no_interval_with_delays(both):
    inputs = draw(both['eager'], 3)
    for simulator in both.values():
        states = simulator.rollout(inputs.state, [], inputs.parameters).states
        assert torch.equal(states, inputs.state[None])


def test_previous_commands_that_do_not_fit_are_refused(both):
    inputs = with_delays(draw(both['eager'], 3), 0.012, 0.05)
    with pytest.raises(ConfigError, match=r'previous has shape \[2, 3, 1\].*\[2, 4, 3\]'):
        both['eager'].rollout(*inputs.arguments(), previous=torch.zeros(2, 3))


def test_sensitivities_refuse_estimated_delays(both):
    inputs = draw(both['eager'], 1)
    with pytest.raises(ConfigError, match='jacobian'):
        both['eager'].sensitivities(*inputs.arguments())
