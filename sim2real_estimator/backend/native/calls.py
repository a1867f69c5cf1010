"""
The arguments of a compiled driver: their order, made from tensors, or kept ready for NumPy arrays.

`TABLES` lists the arguments of every driver: what writes drivers and what calls them agree by it.
`Call` makes them from tensors for one call. `CompiledCalls` keeps them for calls of few samples
that repeat with the same shapes, without gradients and without torch.
"""

from collections import OrderedDict
from functools import lru_cache
import threading

import numpy as np
import torch

# name: address; name_row, name_lane: distance in doubles from row to row and from lane to lane.
_INPUTS = tuple(
    f'{name}{part}' for name in ('x0', 'par', 'u', 'h') for part in ('', '_row', '_lane')
)
_COMMON = ('batch', 'samples', 'steps', 'scratch', 'fix', *_INPUTS)
# Derivatives of initial state, parameters, durations and controls along the directions.
SEEDS = ('seed_x0', 'seed_par', 'seed_h', 'seed_u')
# Drivers that carry derivatives forwards in time; all others do so backwards, if at all.
FORWARDS = ('tangent', 'directions')
TABLES = {
    'rollout': (*_COMMON, 'states', 'outputs'),
    'reverse': (*_COMMON, 'lstates', 'loutputs', 'lx0', 'lpar', 'lu', 'lh'),
    'cost': (
        *_COMMON,
        'target',
        'target_row',
        'target_lane',
        'weight',
        'weight_row',
        'weight_lane',
        'value',
        'lx0',
        'lpar',
        'lu',
        'lh',
    ),
    'jacobian': (*_COMMON, 'states', 'jacobian'),
    'tangent': (*_COMMON, 'states', 'outputs', 'n_columns', 'columns', 'dstates', 'doutputs'),
    'directions': (*_COMMON, 'states', 'outputs', 'n_columns', *SEEDS, 'dstates', 'doutputs'),
}
# So many shapes are kept, each with that many numbers in its results at most: a filter's frames
# are few and small.
_KEPT, _LARGEST = 32, 1 << 17


def whole(count, width):
    """Return how many lanes so many fill, as whole vectors."""
    return -(-count // width) * width


@lru_cache
def numbered(columns, width):
    """Return the numbers of columns as a tensor that fills whole vectors, -1 where none is."""
    return torch.tensor([*columns, *[-1] * (-len(columns) % width)], dtype=torch.int64)


def empty(*shape):
    """Return an array for a driver to write to."""
    return torch.empty(shape, dtype=torch.float64)


def require_sizes(sizes, inputs):
    """Raise a ValueError where `RolloutInputs` are not of a system: a driver would read beyond."""
    given = inputs.state.shape[0], inputs.parameters.shape[0], inputs.controls.shape[1]
    wanted = sizes.state, sizes.parameters, sizes.controls
    if given != wanted:
        raise ValueError(
            f'sizes of state, parameters and controls are {given}, those of the system {wanted}'
        )


class Call:
    """The table entries of a rollout's inputs; a batch below one SIMD block is padded."""

    def __init__(self, backend, inputs, driver='rollout'):
        program = backend.any_program(driver)
        require_sizes(program.sizes, inputs)
        width = program.width
        self.samples, self.batch = inputs.batch, max(inputs.batch, width)
        self.table = {
            'batch': self.batch,
            'samples': self.samples,
            'steps': inputs.steps,
            'fix': backend.fixed_values,
        }
        for name, tensor in zip(('x0', 'par', 'u', 'h'), inputs.tensors()):
            self.add(name, tensor)

    def add(self, name, tensor):
        """Add an array [..., samples or 1] under its three names."""
        lane = 0 if tensor.shape[-1] == 1 else 1
        if lane and self.samples < self.batch:
            last = tensor[..., -1:].expand(*tensor.shape[:-1], self.batch - self.samples)
            tensor = torch.cat([tensor, last], -1)
        self.table[name] = tensor.contiguous()
        self.table[f'{name}_row'], self.table[f'{name}_lane'] = tensor.shape[-1], lane

    def seed(self, tensor):
        """Return an adjoint [..., samples] as an array [..., batch]; padding has none."""
        if self.samples < self.batch:
            tensor = torch.nn.functional.pad(tensor, (0, self.batch - self.samples))
        return tensor.contiguous()

    def without_padding(self, array):
        """Return an array [..., batch] as [..., samples]."""
        return array if self.samples == self.batch else array[..., : self.samples]

    def gradients(self, program, needed):
        """Return empty arrays for the adjoints of (x0, par, u, h); None where not needed."""
        s, steps = program.sizes, self.table['steps']
        shapes = {
            'lx0': (s.state,),
            'lpar': (s.parameters,),
            'lu': (steps, s.controls),
            'lh': (steps,),
        }
        return {
            name: empty(*shape, self.batch) if is_needed else None
            for (name, shape), is_needed in zip(shapes.items(), needed)
        }

    def collect(self, arrays, factor=None):
        """
        Return the gradients in the shapes of the inputs, shared inputs summed over samples.

        factor: what to multiply every sample's gradient with, [samples].
        """
        result = []
        for name, array in arrays.items():
            if array is not None:
                array = self.without_padding(array)
                array = array if factor is None else array * factor
                if not self.table[f'{name[1:]}_lane']:
                    array = array.sum(-1, keepdim=True)
            result.append(array)
        return result


class CompiledCalls(threading.local):
    """
    The latest calls of a backend, by driver and shapes; each thread has its own.

    For a small batch Python needs longer to lay out the arguments than the call takes to run, so
    that the layout is kept.
    """

    def __init__(self, backend):
        """Begin with none."""
        self._backend, self._calls = backend, OrderedDict()

    def run(self, name, inputs, seeds=()):
        """
        Return (name -> array) of what a driver has written, which its next call overwrites.

        inputs: `RolloutInputs` of NumPy arrays; seeds: of `directions`, as of `SEEDS`, None for
        none. Calls that are too large are not kept.
        """
        parts = inputs.tensors()
        columns = seeds[0].shape[-1] if seeds else 0
        key = name, *(part.shape for part in parts), columns
        call = self._calls.get(key)
        if call is None:
            call = CompiledCall(self._backend, name, inputs, seeds)
            if call.size <= _LARGEST:
                self._calls[key] = call
                if len(self._calls) > _KEPT:
                    self._calls.popitem(last=False)
        return call.run((*parts, *seeds))


class CompiledCall:
    """
    A driver with memory of its own for inputs and results, and a table of their addresses.

    size: how many numbers the results are.
    """

    def __init__(self, backend, name, inputs, seeds):
        """Lay it out for inputs and seeds of these shapes."""
        program = self._program = backend.any_program(name)
        require_sizes(program.sizes, inputs)
        self._name, self._steps = name, inputs.steps
        columns = seeds[0].shape[-1] if seeds else _columns(program)
        width = program.width
        batch = max(inputs.batch, width)
        self._results = {
            key: np.zeros(shape) for key, shape in _shapes(program, name, inputs, columns).items()
        }
        self.size = sum(result.size for result in self._results.values())
        entries = {'batch': batch, 'samples': inputs.batch, 'steps': inputs.steps}
        entries |= {'fix': backend.fixed_values, 'n_columns': whole(columns, width)}
        entries |= {'columns': numbered(range(columns), width), **self._results}
        self._targets = []
        for key, part in zip(('x0', 'par', 'u', 'h'), inputs.tensors()):
            lanes = part.shape[-1]
            memory = np.zeros((*part.shape[:-1], 1 if lanes == 1 else batch))
            # The lanes that fill a vector are never read; they hold the last sample once.
            memory[..., lanes:] = part[..., -1:]
            entries |= {key: memory, f'{key}_row': memory.shape[-1], f'{key}_lane': int(lanes > 1)}
            self._targets.append(memory[..., :lanes])
        for key, seed in zip(SEEDS, seeds):
            entries[key] = np.zeros((*seed.shape[:-1], whole(columns, width)))
            self._targets.append(entries[key][..., :columns])
        # The table holds addresses of these arrays, which must stay alive.
        self._kept, self._table = entries, program.table(name, entries)

    def run(self, parts):
        """Return (name -> array) of the results for inputs and seeds of these shapes."""
        for target, part in zip(self._targets, parts):
            target[...] = part
        self._program.run_table(self._name, self._table, self._steps)
        return self._results


def _shapes(program, name, inputs, columns):
    """Return the shapes of what a driver writes, by name."""
    s, width = program.sizes, program.width
    samples, instants, lanes = inputs.batch, inputs.steps + 1, max(inputs.batch, width)
    shapes = {'states': (instants, s.state, lanes)}
    if name == 'jacobian':
        columns = _columns(program) + inputs.steps * (1 + s.controls)
        return shapes | {'jacobian': (samples, columns, whole(s.state, width))}
    shapes['outputs'] = instants, s.outputs, lanes
    if name in ('tangent', 'directions'):
        shapes['dstates'] = samples, instants, s.state, whole(columns, width)
        shapes['doutputs'] = samples, instants, s.outputs, whole(columns, width)
    return shapes


def _columns(program):
    """Return how many columns the derivatives by state and parameters have."""
    return program.sizes.state + program.sizes.parameters
