"""Shapes of what callers give: completed where that is clear, refused where it is not."""

import torch

from ..errors import ConfigError


def batched(values, dimensions):
    """Return values as a float64 tensor with `dimensions`, one sample added where left out."""
    tensor = torch.as_tensor(values, dtype=torch.float64)
    return tensor.unsqueeze(-1) if tensor.dim() == dimensions - 1 else tensor


def check_shapes(batch, **wanted):
    """Refuse tensors that do not fit, saying what would; name to (tensor, sizes but the last)."""
    batch = max(batch, 1)
    for what, (tensor, *shape) in wanted.items():
        if list(tensor.shape[:-1]) != shape or tensor.shape[-1] not in (1, batch):
            raise ConfigError(
                f'{what} has shape {list(tensor.shape)}, but should be '
                f'{[*shape, batch]} (or 1 in the last place, for every sample alike)'
            )
