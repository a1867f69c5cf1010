"""What sensors say in a state: residual rows and their slopes."""

import numpy as np
import torch

from ..backend.base import RolloutInputs
from .state_chart import StateChart


class SampleRows:
    """Compares samples with what sensors would have measured in states, for many pairs at once."""

    def __init__(self, sensors, model, state_chart, physical_size):
        """Take the sensors, the `Model`, the `StateChart` and how many parameters are physical."""
        self.sensors, self.slices = sensors, _output_slices(sensors)
        self._state_size, self._robot_chart = state_chart.size, StateChart(model)
        self._physical = physical_size

    def measure(self, backend, points, values, measured, derivatives):
        """Return the rows [B, m] of samples in a state and (by state, by named) or None."""
        outputs, d_outputs = self._observed(backend, points, values, measured, derivatives)
        residual, by_state, by_named = [], [], []
        for index, sample in measured:
            sensor, part = self.sensors[index], self.slices[index]
            rows = sensor.rows(
                points,
                None if outputs is None else outputs[part],
                np.broadcast_to(sample, (points.shape[1], sensor.value_size)),
            )
            residual.append(rows.values)
            if derivatives:
                ambient, named = self._row_slopes(rows, d_outputs, part, len(values))
                by_state.append(self._pushed(points, ambient))
                by_named.append(named)
        residual = np.concatenate(residual, 1)
        if not derivatives:
            return residual, None
        return residual, (np.concatenate(by_state, 1), np.concatenate(by_named, 1))

    def _pushed(self, points, ambient):
        """Return slopes by the state's tangent [B, m, t] from those by the robot's numbers."""
        robot = self._robot_chart.push(points[: self._robot_chart.point_size], ambient)
        if self._state_size == robot.shape[-1]:
            return robot
        result = np.zeros((*robot.shape[:2], self._state_size))
        result[..., : robot.shape[-1]] = robot
        return result

    def _observed(self, backend, points, values, measured, derivatives):
        """Return the outputs [k, B] in a state and their derivative, None where nobody asks."""
        if not any(self.sensors[index].output_size for index, _ in measured):
            return None, None
        state = points[: self._robot_chart.point_size]
        nothing = np.zeros((0, backend.system.control_size, 1)), np.zeros((0, 1))
        arrays = (state, values[: self._physical], *nothing)
        inputs = RolloutInputs(*(torch.from_numpy(np.ascontiguousarray(a)) for a in arrays))
        with torch.no_grad():
            if not derivatives:
                return backend.rollout(inputs)[1][0].numpy(), None
            found = backend.sensitivities(inputs)
        return found.outputs[0].numpy(), found.d_outputs[:, 0].numpy()

    def _row_slopes(self, rows, d_outputs, part, named_size):
        """Return the slopes of a sensor's rows by the state's numbers and by named parameters."""
        batch, count = rows.values.shape
        size = self._robot_chart.point_size
        ambient = np.zeros((batch, count, size))
        named = np.zeros((batch, count, named_size))
        if rows.by_state is not None:
            ambient = ambient + rows.by_state
        if rows.by_outputs is not None:
            slopes = rows.by_outputs @ d_outputs[:, part]
            ambient = ambient + slopes[..., :size]
            named[..., : self._physical] += slopes[..., size:]
        return ambient, named


def _output_slices(sensors):
    """Return for every sensor where its outputs stand among all."""
    slices, start = [], 0
    for sensor in sensors:
        slices.append(slice(start, start + sensor.output_size))
        start += sensor.output_size
    return slices
