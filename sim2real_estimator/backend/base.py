"""The interface of backends: rollouts of a `System`, their derivatives and losses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import torch

# How the loss of one instant is made from y - target: summed squares, or Huber's function.
LOSSES = ('squared', 'huber')


@dataclass(frozen=True)
class RolloutInputs:
    """
    What a rollout starts from; float64 tensors, or arrays where that is said, the batch B last.

    state [nx, B]; parameters [P, B or 1]; controls [H, nu, B or 1]; durations [H, B or 1] [s].
    A last dimension of 1 means: the same for every sample.
    """

    state: torch.Tensor
    parameters: torch.Tensor
    controls: torch.Tensor
    durations: torch.Tensor

    @property
    def batch(self):
        """Number of samples B."""
        return self.state.shape[-1]

    @property
    def steps(self):
        """Number of steps H."""
        return self.durations.shape[0]

    def tensors(self):
        """Return (state, parameters, controls, durations)."""
        return self.state, self.parameters, self.controls, self.durations


@dataclass(frozen=True)
class StepDerivatives:
    """
    The last state of a rollout and its derivatives; the batch comes first, for torch.linalg.

    state [nx, B]; by_state [B, nx, nx]; by_parameters [B, nx, P]; by_durations [B, nx, H];
    by_controls [B, nx, H, nu].
    """

    state: torch.Tensor
    by_state: torch.Tensor
    by_parameters: torch.Tensor
    by_durations: torch.Tensor
    by_controls: torch.Tensor


@dataclass(frozen=True)
class Sensitivities:
    """
    A rollout with the derivatives of every instant.

    By initial state and parameters, or along n directions.

    states [H + 1, nx, B]; outputs [H + 1, ny, B]; d_states [B, H + 1, nx, nx + P or n];
    d_outputs [B, H + 1, ny, nx + P or n].
    """

    states: torch.Tensor
    outputs: torch.Tensor
    d_states: torch.Tensor
    d_outputs: torch.Tensor


class AbstractBackend(ABC):
    """
    Runs a `System`; every member gives the same numbers, at different speeds.

    expects_forwards: whether derivatives will be carried forwards in time as well, those of
    outputs or along directions; to be set before anything is asked for.
    """

    name = ''
    expects_forwards = False

    @staticmethod
    def missing():
        """Return why this machine cannot run the backend, or None."""
        return None

    @abstractmethod
    def __init__(self, system, values):
        """Take a `System` and the values of all its parameters, name to float."""

    def with_values(self, values):
        """Return the same backend for other values of the parameters."""
        return type(self)(self.system, values)

    @abstractmethod
    def rollout(self, inputs, mode):
        """
        Return (states [H + 1, nx, B], outputs [H + 1, ny, B]), differentiable by autograd.

        mode: 'reverse' or 'forward', how a native gradient is computed.
        """

    @abstractmethod
    def loss(self, inputs, targets, weights, kind, delta):
        """
        Return the summed loss of every sample [B], differentiable by autograd.

        targets [H, ny, B or 1] and weights [H, B or 1] for the ends of the steps.
        """

    def loss_function(self, inputs, targets, weights, kind, delta):
        """
        Return a function of parameters [P, B or 1] that gives `loss`, all else staying.

        A backend may lay out once what stays.
        """
        return lambda parameters: self.loss(
            replace(inputs, parameters=parameters), targets, weights, kind, delta
        )

    @abstractmethod
    def jacobian(self, inputs):
        """Return the `StepDerivatives` of the last state."""

    @abstractmethod
    def sensitivities(self, inputs):
        """Return the `Sensitivities` of every instant."""

    def rollout_arrays(self, inputs):
        """Return what `rollout` does, without gradients, all as NumPy arrays."""
        with torch.no_grad():
            return tuple(part.numpy() for part in self.rollout(as_tensors(inputs), 'reverse'))

    def jacobian_arrays(self, inputs):
        """Return what `jacobian` does, all as NumPy arrays."""
        with torch.no_grad():
            found = self.jacobian(as_tensors(inputs))
        parts = found.state, found.by_state, found.by_parameters
        parts = *parts, found.by_durations, found.by_controls
        return StepDerivatives(*(part.numpy() for part in parts))

    def observed_arrays(self, state, parameters, derivatives):
        """
        Return what is observed in states [nx, B] with parameters [P, B or 1], as NumPy arrays.

        (outputs [ny, B], their derivatives [B, ny, nx + P] by both, None if they are not asked).
        """
        inputs = self._still(state, parameters)
        if not derivatives:
            return self.rollout_arrays(inputs)[1][0], None
        with torch.no_grad():
            found = self.sensitivities(as_tensors(inputs))
        return found.outputs[0].numpy(), found.d_outputs[:, 0].numpy()

    @abstractmethod
    def directions_arrays(self, inputs, seeds):
        """
        Return the `Sensitivities` along n directions, as NumPy arrays, all of it.

        inputs: `RolloutInputs` of arrays; seeds: (by initial state [B, nx, n], by parameters
        [B, P, n], by durations [H, n], by controls [H, nu, n]), the last two for all samples.
        """

    def _still(self, state, parameters):
        """Return the `RolloutInputs` of no step."""
        controls = np.zeros((0, self.system.control_size, 1))
        return RolloutInputs(state, parameters, controls, np.zeros((0, 1)))


def as_tensors(inputs):
    """Return `RolloutInputs` of tensors from those of NumPy arrays."""
    return RolloutInputs(*(torch.from_numpy(np.ascontiguousarray(a)) for a in inputs.tensors()))
