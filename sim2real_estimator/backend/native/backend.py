"""The native backend: compiled rollouts, their derivatives, and losses of fixed windows."""

from dataclasses import dataclass
import importlib
from itertools import accumulate, pairwise
import threading

import torch
from torch.autograd.function import once_differentiable

from ..base import AbstractBackend, RolloutInputs, Sensitivities, StepDerivatives
from .calls import Call, CompiledCalls, empty, FORWARDS, numbered, TABLES, whole

# CasADi's symbols count their references without a lock.
_building = threading.Lock()
_PLACES = {name: TABLES['cost'].index(name) for name in ('par', 'par_row', 'par_lane', 'value')}
_GRADIENT_PLACE = TABLES['cost'].index('lpar')


@dataclass(frozen=True)
class Structure:
    """Which of the values that are not estimated are inputs, and which are zero by structure."""

    fixed: tuple
    zeros: tuple


class NativeBackend(AbstractBackend):
    """
    The dynamics compiled for this CPU in memory, without a C compiler or files on disk.

    A program is built when it is first needed, and again only when the structure changes: when a
    fixed value is no longer zero, or a length leaves its nominal value. Derivatives carried
    forwards in time get a program of their own, unless `expects_forwards` announced them.
    """

    name = 'native'

    @staticmethod
    def missing():
        """Return which package is missing, or None."""
        for package in ('casadi', 'llvmlite'):
            try:
                importlib.import_module(package)
            except ImportError as error:
                return (
                    f"the package '{package}' cannot be imported ({error}); "
                    f'install it with: pip install {package}'
                )
        return None

    def __init__(self, system, values):
        """Take a `System` and the values of all its parameters, name to float."""
        self.system = system
        fixed = system.fixed_names(values)
        # Delays act before a step: they are no part of its structure.
        zeros = tuple(
            name
            for name, value in values.items()
            if value == 0 and name not in system.estimated and not name.endswith('.delay')
        )
        self.structure = Structure(fixed, zeros)
        self.fixed_values = torch.tensor([values[n] for n in fixed], dtype=torch.float64)
        self._by_structure = {self.structure: {}}
        self._programs = self._by_structure[self.structure]
        self._compiled_calls = CompiledCalls(self)

    def with_values(self, values):
        """Return the same for other values; programs of a structure met before are kept."""
        other = type(self)(self.system, values)
        other.expects_forwards = self.expects_forwards
        other._by_structure = self._by_structure
        other._programs = self._by_structure.setdefault(other.structure, {})
        return other

    def program(self, loss=None):
        """Return the compiled `Program`, with the loss (kind, delta) built in if one is given."""
        return self._built(loss, loss, (True, self.expects_forwards))

    def any_program(self, driver='rollout'):
        """Return a program that has a driver, whatever its loss; a new one where there is none."""
        is_forwards = driver in FORWARDS
        for program in tuple(self._programs.values()):
            if program.has_forwards if is_forwards else program.has_backwards:
                return program
        if not is_forwards or (self.expects_forwards and None not in self._programs):
            return self.program()
        return self._built(FORWARDS, None, (False, True))

    def _built(self, key, loss, directions):
        """Return the program of that key, built if it is not there."""
        from .program import Program  # imports CasADi and llvmlite, which may be missing

        with _building:
            if key not in self._programs:
                self._programs[key] = Program(self.system, self.structure, loss, None, directions)
        return self._programs[key]

    def rollout(self, inputs, mode='reverse'):
        """Return (states, outputs)."""
        if not torch.is_grad_enabled():
            return _rolled_out(self, inputs)  # which saves half of the time of a short one
        return _Rollout.apply(self, mode, *inputs.tensors())

    def loss(self, inputs, targets, weights, kind, delta):
        """Return the summed loss of every sample; its gradient comes from the same pass."""
        setting = (kind, float(delta) if kind == 'huber' else 0.0)
        return _Loss.apply(self, setting, targets, weights, *inputs.tensors())

    def loss_function(self, inputs, targets, weights, kind, delta):
        """Return a function of parameters that gives `loss`; all else is laid out once."""
        setting = (kind, float(delta) if kind == 'huber' else 0.0)
        if inputs.batch < self.program(setting).width:
            return super().loss_function(inputs, targets, weights, kind, delta)
        windows = FixedWindows(self.program(setting), Call(self, inputs), targets, weights)
        return windows.loss

    def jacobian(self, inputs):
        """Return the `StepDerivatives`, reverse mode with the rows as SIMD lanes."""
        program, call = self.any_program(), Call(self, inputs)
        s, steps = program.sizes, inputs.steps
        columns = s.state + s.parameters + steps * (1 + s.controls)
        padded = whole(s.state, program.width)
        states = empty(steps + 1, s.state, call.batch)
        matrix = empty(inputs.batch, columns, padded)
        program.call('jacobian', **call.table, states=states, jacobian=matrix)
        # Parts of arrays are taken faster than those of tensors.
        rows = matrix.numpy().transpose(0, 2, 1)[:, : s.state]
        bounds = accumulate((s.state, s.parameters, steps, steps * s.controls), initial=0)
        parts = [torch.from_numpy(rows[..., begin:end]) for begin, end in pairwise(bounds)]
        parts[3] = parts[3].view(inputs.batch, s.state, steps, s.controls)
        return StepDerivatives(call.without_padding(states[-1]), *parts)

    def rollout_arrays(self, inputs):
        """Return (states, outputs) as NumPy arrays."""
        found = self._compiled_calls.run('rollout', inputs)
        return tuple(found[key][..., : inputs.batch].copy() for key in ('states', 'outputs'))

    def jacobian_arrays(self, inputs):
        """Return the `StepDerivatives` as NumPy arrays."""
        found = self._compiled_calls.run('jacobian', inputs)
        s, steps = self.any_program().sizes, inputs.steps
        state = found['states'][-1, :, : inputs.batch].copy()
        rows = found['jacobian'].transpose(0, 2, 1)[:, : s.state].copy()
        bounds = accumulate((s.state, s.parameters, steps, steps * s.controls), initial=0)
        parts = [rows[..., begin:end] for begin, end in pairwise(bounds)]
        parts[3] = parts[3].reshape(*rows.shape[:2], steps, s.controls)
        return StepDerivatives(state, *parts)

    def observed_arrays(self, state, parameters, derivatives):
        """Return (outputs, d_outputs) as NumPy arrays."""
        if not derivatives:
            return super().observed_arrays(state, parameters, derivatives)
        found = self._compiled_calls.run('tangent', self._still(state, parameters))
        used = len(state) + len(parameters)
        outputs = found['outputs'][0, :, : state.shape[1]].copy()
        return outputs, found['doutputs'][:, 0, :, :used].copy()

    def directions_arrays(self, inputs, seeds):
        """Return the `Sensitivities` along directions as NumPy arrays."""
        found, used = self._compiled_calls.run('directions', inputs, seeds), seeds[0].shape[-1]
        values = (found[key][..., : inputs.batch].copy() for key in ('states', 'outputs'))
        slopes = (found[key][..., :used].copy() for key in ('dstates', 'doutputs'))
        return Sensitivities(*values, *slopes)

    def sensitivities(self, inputs):
        """Return the `Sensitivities`, forward mode with the columns as SIMD lanes."""
        sizes = self.any_program('tangent').sizes
        return Sensitivities(*self.tangents(inputs, range(sizes.state + sizes.parameters)))

    def tangents(self, inputs, columns):
        """
        Return states, outputs and their derivatives along the numbered columns.

        Columns: initial state, parameters, durations, controls (by step).
        """
        program, call = self.any_program('tangent'), Call(self, inputs, 'tangent')
        s, instants, samples = program.sizes, inputs.steps + 1, inputs.batch
        numbers = numbered(tuple(columns), program.width)
        padded, used = len(numbers), len(columns)
        states = empty(instants, s.state, call.batch)
        outputs = empty(instants, s.outputs, call.batch)
        d_states = empty(samples, instants, s.state, padded)
        d_outputs = empty(samples, instants, s.outputs, padded)
        program.call(
            'tangent',
            **call.table,
            states=states,
            outputs=outputs,
            n_columns=padded,
            columns=numbers,
            dstates=d_states,
            doutputs=d_outputs,
        )
        return (
            call.without_padding(states),
            call.without_padding(outputs),
            d_states[..., :used],
            d_outputs[..., :used],
        )


class _Rollout(torch.autograd.Function):
    """States and outputs of a rollout, with gradients by either mode."""

    @staticmethod
    def forward(ctx, backend, mode, *tensors):
        inputs = RolloutInputs(*tensors)
        ctx.backend, ctx.columns = backend, None
        if mode == 'forward' and any(ctx.needs_input_grad):
            ctx.columns = _needed_columns(backend, inputs, ctx.needs_input_grad[2:])
            states, outputs, d_states, d_outputs = backend.tangents(inputs, ctx.columns)
            ctx.save_for_backward(*tensors, d_states, d_outputs)
            return states.contiguous(), outputs.contiguous()
        ctx.save_for_backward(*tensors)
        return _rolled_out(backend, inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_states, d_outputs):
        inputs = RolloutInputs(*ctx.saved_tensors[:4])
        if ctx.columns is not None:
            by_states, by_outputs = ctx.saved_tensors[4:]
            flat = torch.einsum('btic,tib->cb', by_states, d_states) + torch.einsum(
                'btic,tib->cb', by_outputs, d_outputs
            )
            return None, None, *_scatter(flat, ctx.columns, inputs)
        backend = ctx.backend
        program, call = backend.any_program(), Call(backend, inputs)
        arrays = call.gradients(program, ctx.needs_input_grad[2:])
        program.call(
            'reverse',
            **call.table,
            lstates=call.seed(d_states),
            loutputs=call.seed(d_outputs),
            **arrays,
        )
        return None, None, *call.collect(arrays)


class _Loss(torch.autograd.Function):
    """The summed loss of every sample; value and gradient come from one pass."""

    @staticmethod
    def forward(ctx, backend, setting, targets, weights, *tensors):
        inputs = RolloutInputs(*tensors)
        program, call = backend.program(setting), Call(backend, inputs)
        call.add('target', targets)
        call.add('weight', weights)
        ctx.call, ctx.arrays = call, call.gradients(program, ctx.needs_input_grad[4:])
        value = empty(call.batch)
        program.call('cost', **call.table, value=value, **ctx.arrays)
        return call.without_padding(value)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_value):
        return None, None, None, None, *ctx.call.collect(ctx.arrays, d_value)


def _rolled_out(backend, inputs):
    """Return (states, outputs), without gradients."""
    program, call = backend.any_program(), Call(backend, inputs)
    states = empty(inputs.steps + 1, program.sizes.state, call.batch)
    outputs = empty(inputs.steps + 1, program.sizes.outputs, call.batch)
    program.call('rollout', **call.table, states=states, outputs=outputs)
    return call.without_padding(states), call.without_padding(outputs)


def _needed_columns(backend, inputs, needed):
    """Return the numbers of the columns of those inputs that need a gradient."""
    s = backend.any_program('tangent').sizes
    counts = (
        ('state', s.state),
        ('parameters', s.parameters),
        ('durations', inputs.steps),
        ('controls', inputs.steps * s.controls),
    )
    wanted = dict(zip(('state', 'parameters', 'controls', 'durations'), needed))
    columns, start = [], 0
    for name, count in counts:
        if wanted[name]:
            columns += range(start, start + count)
        start += count
    return columns


def _scatter(flat, columns, inputs):
    """Return gradients in the shapes of (state, parameters, controls, durations)."""
    nx, count, steps = inputs.state.shape[0], inputs.parameters.shape[0], inputs.steps
    total = nx + count + steps + inputs.controls.shape[0] * inputs.controls.shape[1]
    full = flat.new_zeros(total, flat.shape[-1])
    full[columns] = flat
    state, parameters, durations, controls = full.split(
        [nx, count, steps, total - nx - count - steps]
    )
    controls = controls.reshape(*inputs.controls.shape[:2], flat.shape[-1])
    return [
        g.sum(-1, keepdim=True) if t.shape[-1] == 1 and g.shape[-1] > 1 else g
        for g, t in zip((state, parameters, controls, durations), inputs.tensors())
    ]


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
