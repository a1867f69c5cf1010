"""The arguments of a compiled driver, made from tensors; and its results, turned back."""

import numpy as np
import torch


class Call:
    """The table entries of a rollout's inputs; a batch below one SIMD block is padded."""

    def __init__(self, backend, inputs):
        width = backend.any_program().width
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
        array = tensor.detach().contiguous().numpy()
        lane = 0 if array.shape[-1] == 1 and self.samples > 1 else 1
        if lane and self.samples < self.batch:
            array = np.concatenate(
                [array, np.repeat(array[..., -1:], self.batch - self.samples, -1)], -1
            )
        self.table[name] = array
        self.table[f'{name}_row'], self.table[f'{name}_lane'] = array.shape[-1], lane

    def seed(self, tensor):
        """Return an adjoint [..., samples] as an array [..., batch]; padding has none."""
        array = tensor.detach().contiguous().numpy()
        if self.samples == self.batch:
            return array
        pad = np.zeros((*array.shape[:-1], self.batch - self.samples))
        return np.concatenate([array, pad], -1)

    def gradients(self, program, needed):
        """Return empty arrays for the adjoints of (x0, par, u, h); None where not needed."""
        s, steps = program.sizes, self.table['steps']
        shapes = {
            'lx0': (s.state,),
            'lpar': (s.parameters,),
            'lu': (steps, s.controls),
            'lh': (steps,),
        }
        always = {'lx0', 'lpar'}
        return {
            name: np.empty((*shape, self.batch)) if is_needed or name in always else None
            for (name, shape), is_needed in zip(shapes.items(), needed)
        }

    def collect(self, arrays, inputs):
        """Return the gradients in the shapes of the inputs, shared inputs summed over samples."""
        result = []
        for array, tensor in zip(arrays.values(), inputs):
            if array is None:
                result.append(None)
                continue
            gradient = torch.from_numpy(array)[..., : self.samples]
            if tensor.shape[-1] == 1 and self.samples > 1:
                gradient = gradient.sum(-1, keepdim=True)
            result.append(gradient)
        return result
