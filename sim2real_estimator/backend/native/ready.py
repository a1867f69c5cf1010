"""Drivers called again and again with few samples, without gradients and without torch."""

from collections import OrderedDict
import threading

import numpy as np

from .call import numbered, require_sizes, whole
from .tables import SEEDS

# So many shapes are kept, each with that many numbers in its results at most: a filter's frames
# are few and small.
_KEPT, _LARGEST = 32, 1 << 17


class CompiledCalls(threading.local):
    """
    The latest calls of a backend, by driver and shapes; each thread has its own.

    Python takes longer to describe a small batch than it takes to run it: so that is done once.
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
            # Nobody reads the lanes that fill a vector; they repeat what once was the last.
            memory[..., lanes:] = part[..., -1:]
            entries |= {key: memory, f'{key}_row': memory.shape[-1], f'{key}_lane': int(lanes > 1)}
            self._targets.append(memory[..., :lanes])
        for key, seed in zip(SEEDS, seeds):
            entries[key] = np.zeros((*seed.shape[:-1], whole(columns, width)))
            self._targets.append(entries[key][..., :columns])
        # The table holds addresses: what they point to has to stay.
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
