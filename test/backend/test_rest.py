"""Robots at rest, where friction changes its sign: everything stays finite."""

from models import all_names, case_model, draw, gripper, Inputs, see, simulators
import pytest
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.joints import JOINTS

CLOSE = {'rtol': 1e-9, 'atol': 1e-11}


def at_rest(simulator, batch=3):
    """Return inputs without motion: neutral positions, zero velocities, zero controls."""
    drawn = draw(simulator, batch)
    state, controls = simulator.neutral_state(batch), torch.zeros_like(drawn.controls)
    return Inputs(state, drawn.parameters, drawn.durations, controls)


@pytest.mark.parametrize('kind', [*JOINTS, 'mimic'])
def test_gradients_at_rest_are_finite(kind):
    integrator = 'semi_implicit_euler'
    model = case_model(kind, integrator)
    found = {}
    for backend, simulator in simulators(
        model, all_names(model), integrator=integrator, observe=see
    ).items():
        for mode in ('reverse', 'forward'):
            leaves = at_rest(simulator).leaves()
            trajectory = simulator.rollout(*leaves.arguments(), mode=mode)
            total = trajectory.states.sum() + (trajectory.outputs**2).sum()
            found[backend, mode] = torch.autograd.grad(total, leaves.arguments())
    for gradients in found.values():
        for gradient, expected in zip(gradients, found['eager', 'reverse']):
            assert gradient.isfinite().all()
            torch.testing.assert_close(gradient, expected, **CLOSE)


@pytest.mark.parametrize('kind', ['revolute', 'spherical', 'planar', 'free'])
def test_friction_at_rest_resists_like_a_damper(kind):
    model = case_model(kind, 'rk4')
    names = ('other.friction', 'other.friction_velocity', 'other.damping')
    for simulator in simulators(model, names, integrator='semi_implicit_euler').values():
        inputs = at_rest(simulator, 1)
        friction, width, damping = inputs.parameters[:, 0]
        # With friction f over a velocity w, d(effort)/d(v) is -f / w at v = 0.
        smooth = inputs.parameters.clone()
        smooth[:, 0] = torch.stack([0 * friction, width, damping + friction / width])
        jacobians = [
            simulator.jacobian(inputs.state, inputs.durations[:1], p).by_state
            for p in (inputs.parameters, smooth)
        ]
        torch.testing.assert_close(*jacobians, **CLOSE)


def test_no_friction_velocity_is_no_crash():
    name = 'slide.friction_velocity'
    for simulator in simulators(gripper(), (name,), integrator='semi_implicit_euler').values():
        inputs = draw(simulator, 5)
        inputs.parameters[0, 1] = 0.0
        states = simulator.rollout(*inputs.arguments()).states
        # The limit of the smoothed sign: friction at full strength against the motion.
        assert states.isfinite().all()
        inputs.parameters[0, 1] = 1e-12
        torch.testing.assert_close(simulator.rollout(*inputs.arguments()).states, states, **CLOSE)
        inputs = at_rest(simulator, 5)
        inputs.parameters[0, 1] = 0.0
        states = simulator.rollout(*inputs.arguments()).states
        assert states[:, :, [0, 2, 3, 4]].isfinite().all()


def test_no_friction_velocity_as_a_fixed_value_is_no_crash():
    values = {'slide.friction_velocity': 0.0, 'wrist.friction_velocity': 0.0}
    for backend in ('native', 'eager'):
        simulator = Simulator(gripper(), backend=backend, values=values)
        assert simulator.rollout(*draw(simulator, 3).arguments()).states.shape[-1] == 3
