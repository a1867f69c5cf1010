"""The dynamics' source run on torch tensors: the reference, and the fallback."""

import torch
from torch.autograd import forward_ad

from .base import AbstractBackend, as_tensors, RolloutInputs, Sensitivities, StepDerivatives
from .dual_numbers import dual_level


class EagerBackend(AbstractBackend):
    """Needs nothing but torch; slow, since every scalar operation is a call into torch."""

    name = 'eager'

    def __init__(self, system, values):
        """Take a `System` and the values of all its parameters, name to float."""
        self.system = system
        self.values = dict(values)

    def rollout(self, inputs, mode='reverse'):
        """Return (states, outputs); autograd differentiates, whatever the mode."""
        system, size = self.system, self.system.model.position_size
        robot = self._robot(inputs.parameters)
        x = [row.expand(inputs.batch) for row in inputs.state]
        states, outputs = [x], [self._observe(robot, x)]
        for controls, duration in zip(inputs.controls, inputs.durations):
            q, v = system.step(robot, x[:size], x[size:], list(controls), duration)
            x = [*q, *v]
            states.append(x)
            outputs.append(self._observe(robot, x))
        return (
            _stack(states, inputs.batch, inputs.state),
            _stack(outputs, inputs.batch, inputs.state),
        )

    def loss(self, inputs, targets, weights, kind, delta):
        """Return the summed loss of every sample."""
        error = self.rollout(inputs)[1][1:] - targets
        if kind == 'huber':
            clipped = error.clamp(-delta, delta)
            each = clipped * (error - 0.5 * clipped)
        else:
            each = error * error
        return (each.sum(1) * weights).sum(0)

    def jacobian(self, inputs):
        """Return the `StepDerivatives`: one backward pass for every row."""
        # Shared inputs are spread out first, so that each sample has derivatives of its own.
        wide = _spread(inputs)
        leaves = [t.detach().clone().requires_grad_() for t in wide.tensors()]
        with torch.enable_grad():
            last = self.rollout(RolloutInputs(*leaves))[0][-1]
            entries = last.unbind()
        rows = []
        for row in entries:
            grads = torch.autograd.grad(
                row, leaves, torch.ones_like(row), retain_graph=True, allow_unused=True
            )
            rows.append(
                [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(grads, leaves)]
            )
        # A robot that cannot move has no rows.
        slopes = [torch.stack(parts) for parts in zip(*rows)]
        slopes = slopes or [leaf.new_zeros(0, *leaf.shape) for leaf in leaves]
        state, parameters, controls, durations = slopes
        return StepDerivatives(
            last.detach(),
            state.permute(2, 0, 1),
            parameters.permute(2, 0, 1),
            durations.permute(2, 0, 1),
            controls.permute(3, 0, 1, 2),
        )

    def sensitivities(self, inputs):
        """Return the `Sensitivities`: dual numbers, every direction as samples of its own."""
        wide = _spread(inputs)
        nx, count = wide.state.shape[0], wide.state.shape[0] + wide.parameters.shape[0]
        unit = torch.eye(count, dtype=wide.state.dtype).repeat(1, wide.batch)
        return self._along(wide, count, (unit[:nx], unit[nx:]))

    def directions_arrays(self, inputs, seeds):
        """Return the `Sensitivities` along directions, all of it as NumPy arrays."""
        wide, count = _spread(as_tensors(inputs)), seeds[0].shape[-1]
        by_state, by_parameters, by_durations, by_controls = map(torch.from_numpy, seeds)
        own = (part.transpose(0, 1).flatten(1) for part in (by_state, by_parameters))
        shared = (part.tile(wide.batch) for part in (by_controls, by_durations))
        found = self._along(wide, count, (*own, *shared))
        parts = found.states, found.outputs, found.d_states, found.d_outputs
        return Sensitivities(*(part.numpy() for part in parts))

    def _along(self, wide, count, seeds):
        """
        Return the `Sensitivities` along so many directions a sample, with seeds as tangents.

        wide: inputs with columns of their own; seeds: of the first of its tensors, or of all,
        with B * count columns.
        """
        lanes = [t.detach().repeat_interleave(count, -1) for t in wide.tensors()]
        with dual_level():
            for k, seed in enumerate(seeds):
                lanes[k] = forward_ad.make_dual(lanes[k], seed.clone())
            results = [forward_ad.unpack_dual(t) for t in self.rollout(RolloutInputs(*lanes))]
        values, tangents = [], []
        for result in results:
            shape = (*result.primal.shape[:2], wide.batch, count)
            values.append(result.primal.reshape(shape)[..., 0])
            tangent = result.tangent
            if tangent is None:
                tangent = torch.zeros_like(result.primal)
            tangents.append(tangent.reshape(shape).permute(2, 0, 1, 3))
        return Sensitivities(*values, *tangents)

    def _robot(self, parameters):
        """Return the robot with the estimated rows in place of the fixed values."""
        values = {
            name: value
            for name, value in self.values.items()
            if not name.endswith('.length') or value != self.system.parameters[name].nominal
        }
        values.update(zip(self.system.estimated, parameters))
        return self.system.robot(values)

    def _observe(self, robot, x):
        if self.system.observation is None:
            return []
        size = self.system.model.position_size
        return self.system.observation(robot, x[:size], x[size:])


def _spread(inputs):
    """Return inputs in which every tensor has its own column for every sample."""
    return RolloutInputs(*(t.expand(*t.shape[:-1], inputs.batch) for t in inputs.tensors()))


def _stack(instants, batch, like):
    """Return [instants, rows, batch] from nested lists of scalars."""
    if not instants[0]:
        return like.new_zeros(len(instants), 0, batch)
    return torch.stack(
        [
            torch.stack([torch.as_tensor(x, dtype=like.dtype).expand(batch) for x in rows])
            for rows in instants
        ]
    )
