"""Values of parameters that are not estimated: changed without a new program where possible."""

from models import draw, pair, pendulum, simulators
import pytest
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError

ESTIMATED = ('rod.mass',)


@pytest.fixture
def pendulums():
    return simulators(pendulum(), ESTIMATED, integrator='semi_implicit_euler')


def last_states(both, inputs):
    """Return the last states of the native and the eager backend."""
    return [both[b].rollout(*inputs.arguments()).states[-1] for b in ('native', 'eager')]


def test_new_values_take_effect_in_the_same_program(pendulums):
    inputs = draw(pendulums['eager'], 5)
    program = pendulums['native']._backend.any_program()
    before, _ = last_states(pendulums, inputs)
    for simulator in pendulums.values():
        simulator.set_values({'pivot.damping': 3.0, 'rod.com.z': -0.3, 'world.gravity': 1.6})
    native, eager = last_states(pendulums, inputs)
    assert pendulums['native']._backend.any_program() is program
    torch.testing.assert_close(native, eager, rtol=1e-12, atol=1e-13)
    assert (native - before).abs().min() > 1e-4


@pytest.mark.parametrize('value', [{'pivot.friction': 0.7}, {'rod.length': 1.4}])
def test_a_new_structure_gets_a_new_program_and_the_old_one_is_kept(pendulums, value):
    native = pendulums['native']
    inputs = draw(pendulums['eager'], 5)
    first = native._backend.any_program()
    before, _ = last_states(pendulums, inputs)
    nominal = {name: native.values[name] for name in value}
    for simulator in pendulums.values():
        simulator.set_values(value)
    changed, eager = last_states(pendulums, inputs)
    second = native._backend.any_program()
    assert second is not first
    torch.testing.assert_close(changed, eager, rtol=1e-12, atol=1e-13)
    assert (changed - before).abs().max() > 1e-4
    native.set_values(nominal)
    assert native._backend.any_program() is first
    assert torch.equal(native.rollout(*inputs.arguments()).states[-1], before)
    native.set_values(value)
    assert native._backend.any_program() is second


def test_a_delay_is_no_part_of_the_structure(pendulums):
    native = pendulums['native']
    program = native._backend.any_program()
    native.set_values({'pivot.delay': 0.02})
    assert native._backend.any_program() is program


def test_values_at_construction_are_those_set_later():
    model, values = pair('planar'), {'other.friction': 0.0, 'hand.mass': 2.0, 'elbow.rest': 0.0}
    given = Simulator(model, backend='eager', values=values)
    later = Simulator(model, backend='eager')
    later.set_values(values)
    assert given.values == later.values
    assert given.values['hand.mass'] == 2.0
    inputs = draw(given, 3)
    expected = given.rollout(*inputs.arguments()).states
    assert torch.equal(later.rollout(*inputs.arguments()).states, expected)


def test_a_graph_keeps_the_values_it_was_made_with(pendulums):
    simulator = pendulums['native']
    leaves = draw(simulator, 3).leaves()
    last = simulator.rollout(*leaves.arguments()).states[-1].sum()
    (expected,) = torch.autograd.grad(last, leaves.state, retain_graph=True)
    simulator.set_values({'pivot.damping': 5.0, 'pivot.friction': 1.0})
    (found,) = torch.autograd.grad(last, leaves.state)
    assert torch.equal(found, expected)


def test_values_leave_out_what_is_estimated(pendulums):
    assert 'rod.mass' not in pendulums['eager'].values
    assert pendulums['eager'].values['pivot.damping'] == 0.1


@pytest.mark.parametrize('backend', ['native', 'eager'])
def test_the_value_of_an_estimated_parameter_is_refused(pendulums, backend):
    simulator = pendulums[backend]
    before = simulator.values
    with pytest.raises(ConfigError, match="'rod.mass' is estimated.*`parameters`"):
        simulator.set_values({'pivot.damping': 0.5, 'rod.mass': 2.0})
    assert simulator.values == before


def test_an_unknown_name_is_refused_with_near_ones(pendulums):
    with pytest.raises(ConfigError, match="'pivot.damp'; nearest: .*pivot.damping"):
        pendulums['eager'].set_values({'pivot.damp': 0.5})


def test_what_carries_derivatives_forwards_is_compiled_where_it_is_asked_for_or_expected(
    pendulums,
):
    inputs = draw(pendulums['eager'], 5)
    native, eager = (pendulums[name] for name in ('native', 'eager'))
    native.rollout(*inputs.arguments())
    first = native._backend.any_program()
    assert not first.has_forwards
    found, wanted = (s.sensitivities(*inputs.arguments()) for s in (native, eager))
    torch.testing.assert_close(found.d_states, wanted.d_states, rtol=1e-9, atol=1e-10)
    assert native._backend.any_program() is first
    assert not native._backend.any_program('tangent').has_backwards
    other = Simulator(pendulum(), ESTIMATED, backend='native')._backend
    other.expects_forwards = True
    assert other.any_program() is other.any_program('tangent')
