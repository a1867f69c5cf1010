"""The arguments of a compiled driver, made from tensors; and its results, turned back."""

from functools import lru_cache

import torch


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
