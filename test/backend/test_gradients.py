"""
Derivatives by everything a rollout takes, against central differences of eager rollouts.

Every kind of named parameter, every joint type, joints that follow, are driven or share a motor,
every integrator, both backends and both modes. Commands that act late are in
test_delayed_commands.py.
"""

from dataclasses import dataclass

from comparisons import Differences, errors, kind_of
from models import all_names, case_model, draw, Inputs, see, simulators
import pytest
import torch

from sim2real_estimator.backend import LOSSES
from sim2real_estimator.dynamics.integrators import INTEGRATORS
from sim2real_estimator.model.friction import COUPLED, FRICTIONS
from sim2real_estimator.model.joints import JOINTS

AGAINST_DIFFERENCES = 1e-6
AGAINST_EAGER = 1e-10
BATCH = 2
DELTA = 0.5
KINDS_OF_MODELS = (*JOINTS, 'mimic', 'driven', 'driven mimic', 'coupled', 'half driven')
CASES = [(kind, integrator) for kind in KINDS_OF_MODELS for integrator in INTEGRATORS]
MODES = ('reverse', 'forward')
KINDS = {
    *('mass', 'com', 'inertia', 'inertia off the diagonal', 'length', 'origin', 'damping'),
    *('friction', 'friction_velocity', 'armature', 'stiffness', 'rest', 'offset', 'gain'),
    *('torque_constant', 'back_emf', 'resistance', 'reduction', 'world.gravity'),
    *FRICTIONS,
    *COUPLED,
}


@dataclass(frozen=True)
class Case:
    """A robot on both backends with inputs, the rollouts next to them, and a loss."""

    simulators: dict
    inputs: Inputs
    differences: Differences
    targets: torch.Tensor
    weights: torch.Tensor
    loss_kind: str

    def check(self, native, eager, expected):
        """Compare derivatives [B, columns, ...] of both backends and differences."""
        simulator = self.simulators['eager']
        for found in (native, eager):
            apart = errors(simulator, self.inputs, found, expected)
            assert max(apart.values()) < AGAINST_DIFFERENCES, apart
        apart = errors(simulator, self.inputs, native, eager)
        assert max(apart.values()) < AGAINST_EAGER, apart

    def loss(self, backend, inputs):
        """Return the loss of every sample."""
        extra = {'weights': self.weights, 'kind': self.loss_kind, 'delta': DELTA}
        state, *rest = inputs.arguments()
        return self.simulators[backend].loss(state, rest[0], self.targets, *rest[1:], **extra)


@pytest.fixture(scope='module', params=CASES, ids='-'.join)
def case(request):
    kind, integrator = request.param
    model = case_model(kind, integrator)
    options = {'integrator': integrator, 'wrench_links': ('hand',), 'observe': see}
    both = simulators(model, all_names(model), **options)
    inputs = draw(both['eager'], BATCH, steps=2)
    targets, weights = draw_targets(both['eager'].rollout(*inputs.arguments()).outputs[1:])
    loss_kind = LOSSES[list(INTEGRATORS).index(integrator) % len(LOSSES)]
    made = Case(both, inputs, Differences(both['eager'], inputs), targets, weights, loss_kind)
    # A program with a loss serves rollouts too: built first, it saves a second one.
    made.loss('native', inputs)
    return made


def draw_targets(outputs):
    """Return targets and weights; no error is near DELTA, where the loss has a kink."""
    generator = torch.Generator().manual_seed(1)
    size = torch.rand(outputs.shape, generator=generator, dtype=torch.float64)
    outside, negative = torch.rand(2, *outputs.shape, generator=generator).round()
    errors = torch.where(outside > 0, DELTA + 0.2 + size, 0.05 + 0.5 * DELTA * size)
    weights = torch.rand(len(outputs), BATCH, generator=generator, dtype=torch.float64)
    return outputs + torch.where(negative > 0, -errors, errors), weights


def score(states, outputs):
    """Return one number per sample in which every instant and entry counts differently."""
    weights = torch.linspace(-1, 1, states[..., 0].numel(), dtype=torch.float64)
    linear = (states * weights.reshape(states.shape[:2])[..., None]).sum((0, 1))
    return linear + (outputs**2).sum((0, 1)) + outputs[0].sum(0)


def gradient(function, inputs):
    """Return the gradient [B, columns] of a sum over samples."""
    leaves = inputs.leaves()
    parts = leaves.arguments()
    found = torch.autograd.grad(function(leaves).sum(), parts)
    state, durations, parameters, controls = found
    return Inputs(state, parameters, durations, controls).flat().T


@pytest.mark.parametrize('mode', MODES)
def test_gradient_of_a_rollout(case, mode):
    def found(backend):
        def function(leaves):
            trajectory = case.simulators[backend].rollout(*leaves.arguments(), mode=mode)
            return score(trajectory.states, trajectory.outputs)

        return gradient(function, case.inputs)

    expected = case.differences.of(lambda states, outputs, _: score(states, outputs))
    case.check(found('native'), found('eager'), expected)


def test_gradient_of_the_loss(case):
    def expected(states, outputs, _):
        wide = outputs.shape[-1] // BATCH
        targets, weights = (t.repeat_interleave(wide, -1) for t in (case.targets, case.weights))
        seen = outputs[1:]
        if case.loss_kind == 'huber':
            each = torch.nn.functional.huber_loss(seen, targets, reduction='none', delta=DELTA)
        else:
            each = (seen - targets) ** 2
        return (each.sum(1) * weights).sum(0)

    native, eager = (
        gradient(lambda leaves, backend=backend: case.loss(backend, leaves), case.inputs)
        for backend in ('native', 'eager')
    )
    case.check(native, eager, case.differences.of(expected))


def test_jacobian_of_the_last_state(case):
    def found(backend):
        result = case.simulators[backend].jacobian(*case.inputs.arguments())
        parts = [result.by_state, result.by_parameters, result.by_durations]
        return torch.cat([*parts, result.by_controls.flatten(2)], -1).transpose(1, 2)

    expected = case.differences.of(lambda states, *_: states[-1])
    case.check(found('native'), found('eager'), expected)


@pytest.mark.parametrize('part', ['states', 'outputs'])
def test_sensitivities_of_every_instant(case, part):
    columns = len(case.inputs.state) + len(case.inputs.parameters)

    def found(backend):
        result = case.simulators[backend].sensitivities(*case.inputs.arguments())
        return getattr(result, f'd_{part}').movedim(-1, 1)

    expected = case.differences.of(
        lambda states, outputs, _: states if part == 'states' else outputs
    )
    case.check(found('native'), found('eager'), expected[:, :columns])


def test_no_kind_of_parameter_is_left_out():
    models = [case_model(*case) for case in CASES]
    assert {kind_of(name) for model in models for name in all_names(model)} == KINDS
