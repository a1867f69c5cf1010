"""The loss of windows of data that stay the same while parameters change."""

import torch
from torch.autograd.function import once_differentiable

from .call import empty
from .tables import TABLES

_PLACES = {name: TABLES['cost'].index(name) for name in ('par', 'par_row', 'par_lane', 'value')}
_GRADIENT_PLACE = TABLES['cost'].index('lpar')


class FixedWindows:
    """
    A table of arguments in which only parameters and results change.

    Small batches are evaluated faster than Python describes them: so it is done once.
    """

    def __init__(self, program, call, targets, weights):
        """Take a compiled program with its loss, and a `Call` with all other inputs."""
        call.add('target', targets)
        call.add('weight', weights)
        self.program, self.batch, self.steps = program, call.batch, call.table['steps']
        # The table holds addresses: what they point to has to stay.
        self._kept = call.table
        self._table = [_address(call.table.get(name)) for name in TABLES['cost']]

    def loss(self, parameters):
        """Return the losses [B] for parameters [P, B or 1], differentiable by these alone."""
        return _WindowLoss.apply(self, parameters)

    def evaluate(self, parameters, is_gradient_needed):
        """Return (losses [B], gradient [P, B] or None)."""
        parameters, value = parameters.contiguous(), empty(self.batch)
        gradient = empty(len(parameters), self.batch) if is_gradient_needed else None
        lanes = parameters.shape[1]
        table = self._table.copy()
        for name, entry in (
            ('par', parameters.data_ptr()),
            ('par_row', lanes),
            ('par_lane', int(lanes > 1)),
            ('value', value.data_ptr()),
        ):
            table[_PLACES[name]] = entry
        table[_GRADIENT_PLACE] = _address(gradient)
        self.program.run('cost', table, self.steps)
        return value, gradient


class _WindowLoss(torch.autograd.Function):
    """Value and gradient come from one pass."""

    @staticmethod
    def forward(ctx, windows, parameters):
        value, ctx.gradient = windows.evaluate(parameters, ctx.needs_input_grad[1])
        ctx.is_shared = parameters.shape[1] == 1 and windows.batch > 1
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx, d_value):
        gradient = ctx.gradient * d_value
        return None, gradient.sum(-1, keepdim=True) if ctx.is_shared else gradient


def _address(value):
    if value is None:
        return 0
    return value.data_ptr() if isinstance(value, torch.Tensor) else value
