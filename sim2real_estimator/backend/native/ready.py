"""Drivers called again and again with few samples, without gradients and without torch."""

from collections import OrderedDict
import math
import threading

import numpy as np

from .call import numbered, whole

# So many shapes are kept, each with that many numbers in its results at most: a filter's frames
# are few and small.
_KEPT, _LARGEST = 32, 1 << 17


class ReadyCalls(threading.local):
    """
    The latest calls of a backend, by driver and shapes; each thread has its own.

    Python takes longer to describe a small batch than it takes to run it: so that is done once.
    """

    def __init__(self, backend):
        """Begin with none."""
        self._backend, self._calls = backend, OrderedDict()

    def run(self, name, inputs):
        """
        Return (name -> array) of what a driver has written, which its next call overwrites.

        inputs: `RolloutInputs` of NumPy arrays. None where they are too many for that.
        """
        parts = inputs.tensors()
        key = name, parts[0].shape, *(part.shape[-1] for part in parts[1:]), len(parts[3])
        call = self._calls.get(key)
        if call is None:
            program = self._backend.any_program()
            shapes = _shapes(program, name, inputs)
            if sum(map(math.prod, shapes.values())) > _LARGEST:
                return None
            fixed = self._backend.fixed_values
            call = self._calls[key] = ReadyCall(program, name, inputs, shapes, fixed)
            if len(self._calls) > _KEPT:
                self._calls.popitem(last=False)
        return call.run(parts)


class ReadyCall:
    """A driver with memory of its own for inputs and results, and a table of their addresses."""

    def __init__(self, program, name, inputs, shapes, fixed):
        """
        Lay it out.

        inputs: `RolloutInputs` of the shapes to come; shapes: of the results, by name; fixed:
        tensor of the fixed values.
        """
        self._program, self._name, self._steps = program, name, inputs.steps
        self._results = {key: np.zeros(shape) for key, shape in shapes.items()}
        batch = max(inputs.batch, program.width)
        entries = {'batch': batch, 'samples': inputs.batch, 'steps': inputs.steps, 'fix': fixed}
        entries |= self._results
        if name == 'tangent':
            columns = numbered(range(_columns(program)), program.width)
            entries |= {'columns': columns, 'n_columns': len(columns)}
        self._targets = []
        for key, part in zip(('x0', 'par', 'u', 'h'), inputs.tensors()):
            lanes = part.shape[-1]
            memory = np.zeros((*part.shape[:-1], 1 if lanes == 1 else batch))
            # Nobody reads the lanes that fill a vector; they repeat what once was the last.
            memory[..., lanes:] = part[..., -1:]
            entries |= {key: memory, f'{key}_row': memory.shape[-1], f'{key}_lane': int(lanes > 1)}
            self._targets.append(memory[..., :lanes])
        # The table holds addresses: what they point to has to stay.
        self._kept, self._table = entries, program.table(name, entries)

    def run(self, parts):
        """Return (name -> array) of the results for inputs of these shapes."""
        for target, part in zip(self._targets, parts):
            target[...] = part
        self._program.run_table(self._name, self._table, self._steps)
        return self._results


def _shapes(program, name, inputs):
    """Return the shapes of what a driver writes, by name."""
    s, width = program.sizes, program.width
    samples, instants, lanes = inputs.batch, inputs.steps + 1, max(inputs.batch, width)
    shapes = {'states': (instants, s.state, lanes)}
    if name == 'jacobian':
        columns = _columns(program) + inputs.steps * (1 + s.controls)
        return shapes | {'jacobian': (samples, columns, whole(s.state, width))}
    shapes['outputs'] = instants, s.outputs, lanes
    if name == 'tangent':
        columns = whole(_columns(program), width)
        shapes['dstates'] = samples, instants, s.state, columns
        shapes['doutputs'] = samples, instants, s.outputs, columns
    return shapes


def _columns(program):
    """Return how many columns the derivatives by state and parameters have."""
    return program.sizes.state + program.sizes.parameters
