"""The Huber loss of a whole trajectory and its gradient, in one reverse pass (adjoint method)."""

from dataclasses import dataclass

import numpy as np
import torch

from ..backend.base import RolloutInputs


@dataclass(frozen=True)
class _Timeline:
    """
    Consecutive frames: durations [S, 1] and controls [S, nu, 1] of all their steps.

    measured: (number of steps before it, sensor index, values [1, k]) of every sample.
    """

    frames: tuple
    durations: np.ndarray
    controls: np.ndarray
    measured: tuple


class TrajectoryLoss:
    """
    Compares simulated trajectories with samples.

    Sensors differentiate residuals by states and outputs; the backend propagates these derivatives
    back to the parameters, at a cost that does not grow with their number. Parameters that the
    dynamics do not have, such as delays, have a gradient of zero.
    """

    def __init__(self, system, backend, parametrization, sensors, outputs, timelines):
        """Take the parts of a `RobotProblem`; outputs: slices of the outputs of each sensor."""
        self._backend, self._parametrization, self._timelines = backend, parametrization, timelines
        self._system = system
        self._named = [parametrization.names.index(name) for name in system.estimated]
        self._sensors, self._outputs = sensors, outputs
        self._latest = _Timeline((), np.zeros((0, 1)), np.zeros((0, 0, 1)), ())

    def huber(self, points, parameters, frames, delta):
        """
        Return (losses [B], gradients [p, B]) of trajectories from points [nx, B].

        parameters [p, B]; the loss is Huber's function of every whitened residual, linear beyond
        `delta` standard deviations, summed over all samples of consecutive frames.
        """
        timeline = self._timeline(frames)
        values, by_coordinates = self._parametrization.expanded(parameters)
        values = _tensor(values[self._named]).requires_grad_()
        states, outputs = self._backend.rollout(self._inputs(points, values, timeline), 'reverse')
        losses = np.zeros(points.shape[1])
        by_states, by_outputs = torch.zeros_like(states), torch.zeros_like(outputs)
        for step, index, measured in timeline.measured:
            part = self._outputs[index]
            rows = self._rows(index, states[step], outputs[step, part], measured)
            losses += _huber(rows.values, delta).sum(-1)
            slope = np.clip(rows.values, -delta, delta)
            if rows.by_state is not None:
                by_states[step] += torch.from_numpy(_weighted(slope, rows.by_state))
            if rows.by_outputs is not None:
                by_outputs[step, part] += torch.from_numpy(_weighted(slope, rows.by_outputs))
        torch.autograd.backward([states, outputs], [by_states, by_outputs])
        return losses, np.einsum('bnp,nb->pb', by_coordinates[:, self._named], values.grad.numpy())

    def _rows(self, index, states, outputs, measured):
        """Return the `Rows` of one sensor at one instant."""
        sensor = self._sensors[index]
        states, outputs = states.detach().numpy(), outputs.detach().numpy()
        measured = np.broadcast_to(measured, (states.shape[-1], sensor.value_size))
        return sensor.rows(states, outputs, measured)

    def _inputs(self, points, values, timeline):
        # Disturbance states are not estimated here.
        points = points[: self._system.model.state_size]
        parts = (timeline.controls, timeline.durations)
        return RolloutInputs(_tensor(points), values, *(_tensor(part) for part in parts))

    def _timeline(self, frames):
        """Return the `_Timeline` of frames; the last is kept, as fits ask for it repeatedly."""
        before = self._latest.frames
        if len(before) == len(frames) and all(a is b for a, b in zip(before, frames)):
            return self._latest
        durations, controls, measured, step = [], [], [], 0
        for frame in frames:
            for segment in self._timelines.line((frame,)).segments:
                durations.append(segment.durations)
                controls.append(segment.controls)
                step += len(segment.durations)
                measured += [(step, index, values) for index, values in segment.measured]
        # The controls of disturbance states are zero.
        known = np.concatenate(controls)
        controls = np.zeros((len(known), self._system.control_size, 1))
        controls[:, : known.shape[1]] = known
        self._latest = _Timeline(
            tuple(frames), np.concatenate(durations), controls, tuple(measured)
        )
        return self._latest


def _tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def _huber(residuals, delta):
    """Return Huber's function: half the square, and a straight line beyond delta."""
    size = np.abs(residuals)
    inner = np.minimum(size, delta)
    return inner * (size - 0.5 * inner)


def _weighted(weights, slope):
    """Return the weighted sums [n, B] of rows, weights [B, m] and slope [B, m, n]."""
    return np.einsum('bm,bmn->nb', weights, slope)
