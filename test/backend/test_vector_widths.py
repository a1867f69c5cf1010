"""Programs for the vectors of other CPUs give the same numbers on this one."""

from comparisons import assert_close, everything
from models import draw, gripper, see, simulators
import pytest
import torch

from sim2real_estimator.backend.native import program as programs
from sim2real_estimator.backend.native.program import Program, vector_width

ESTIMATED = ('hand.mass', 'slide.friction', 'wrist.stiffness', 'world.gravity')
VALUES = {'wrist.friction_velocity': 0.3, 'slide.friction_velocity': 0.3}
LOSS = ('huber', 0.1)
WIDTHS = (2, 4, 8)


def make_both():
    options = {'integrator': 'semi_implicit_euler', 'observe': see, 'wrench_links': ('hand',)}
    return simulators(gripper(), ESTIMATED, values=VALUES, **options)


@pytest.fixture(scope='module')
def both():
    return make_both()


@pytest.fixture(scope='module', params=WIDTHS)
def native(request, both):
    """Return the native simulator with a program of another width."""
    backend = both['native']._backend
    program = Program(backend.system, backend.structure, LOSS, request.param)
    backend._programs.clear()
    backend._programs[LOSS] = program
    yield both['native']
    # Whatever ran, ran in this program.
    assert list(backend._programs.values()) == [program]


@pytest.mark.parametrize('size', [1, 2, 3, 5, 9])
def test_every_width_gives_the_same_values(both, native, size):
    inputs = draw(both['eager'], size, steps=2)
    assert_close(everything(native, inputs), everything(both['eager'], inputs))


@pytest.mark.parametrize('mode', ['reverse', 'forward'])
def test_every_width_gives_the_same_gradients(both, native, mode):
    inputs = draw(both['eager'], 5, steps=2)
    found, expected = (_gradients(s, inputs, mode) for s in (native, both['eager']))
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def _gradients(simulator, inputs, mode):
    leaves = inputs.leaves()
    trajectory = simulator.rollout(*leaves.arguments(), mode=mode)
    total = trajectory.states.sum() + (trajectory.outputs**2).sum()
    return torch.autograd.grad(total, leaves.arguments())


def test_the_width_of_this_cpu_is_among_those_tested():
    assert vector_width() in WIDTHS


def test_what_is_too_large_to_be_optimised_gives_the_same(monkeypatch):
    passes, run = [], programs.llvm.create_pass_builder
    monkeypatch.setattr(
        programs.llvm, 'create_pass_builder', lambda *given: passes.append(given) or run(*given)
    )
    optimised, plain = make_both(), make_both()
    inputs = draw(optimised['eager'], 5, steps=2)
    expected = everything(optimised['native'], inputs)
    assert passes
    passes.clear()
    monkeypatch.setattr(programs, '_LARGE', 0)
    assert_close(everything(plain['native'], inputs), expected)
    assert not passes
