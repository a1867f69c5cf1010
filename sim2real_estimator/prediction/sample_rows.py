"""What sensors say in a state: residual rows and their slopes."""

import numpy as np

from .steps import by_groups


class SampleRows:
    """Compares samples with what sensors would have measured in states, for many pairs at once."""

    def __init__(self, sensors, robot_parametrization, state_coordinates, physical_size):
        """
        Take the sensors, two parametrizations and how many parameters are physical.

        robot_parametrization, state_coordinates: `StateCoordinates` without and with what hidden
        forces add.
        """
        self.sensors, self.slices = sensors, _output_slices(sensors)
        self._state_size, self._robot_parametrization = (
            state_coordinates.size,
            robot_parametrization,
        )
        self._physical = physical_size

    def measure(self, backend, points, values, measured, by_coordinates=None):
        """
        Return the rows [B, m] of samples in a state and (by state, by coordinates).

        None without `by_coordinates`, the derivative [B', P, p] of the values by coordinates, for
        B' columns that repeat.
        """
        asking = [index for index, _ in measured if self.sensors[index].output_size]
        outputs = d_outputs = None
        if asking:
            outputs, d_outputs = self._observed(
                backend, points, values, by_coordinates is not None
            )
        if by_coordinates is None:
            found = [
                self.sensors[index].errors(*self._given(points, index, sample, outputs))
                for index, sample in measured
            ]
            return np.concatenate(found, 1), None
        found = [
            self._compared(points, index, sample, outputs, d_outputs, by_coordinates)
            for index, sample in measured
        ]
        return joined(found, by_coordinates.shape[-1])

    def measure_one(self, backend, points, values, index, samples, by_coordinates):
        """
        Return (rows [B, m], by state, by coordinates or None) of samples [B, k] of one sensor.

        By state: [1, m, t] where it is the same for all. None: nothing but the state matters.
        by_coordinates: as of `measure`.
        """
        outputs = d_outputs = None
        if self.sensors[index].output_size:
            outputs, d_outputs = self._observed(backend, points, values, True)
        return self._compared(points, index, samples, outputs, d_outputs, by_coordinates)

    def of_sensor(self, points, outputs, index, samples):
        """Return the `Rows` of samples [B or 1, k] of one sensor; outputs [ny, B]: of all."""
        return self.sensors[index].rows(*self._given(points, index, samples, outputs))

    def _compared(self, points, index, sample, outputs, d_outputs, by_coordinates):
        """Return (rows, by state, by coordinates or None) of one sensor."""
        rows = self.of_sensor(points, outputs, index, sample)
        ambient, by_x = self._row_slopes(rows, d_outputs, self.slices[index], by_coordinates)
        return rows.values, self._pushed(points, ambient), by_x

    def _given(self, points, index, sample, outputs):
        """Return what a sensor is asked with: states, its outputs, a sample for every state."""
        batch = points.shape[1]
        return (
            points,
            None if outputs is None else outputs[self.slices[index]],
            sample if len(sample) == batch else sample.repeat(batch, 0),
        )

    def _pushed(self, points, ambient):
        """Return slopes by the state's tangent [B, m, t] from those by the robot's numbers."""
        robot = self._robot_parametrization.push(
            points[: self._robot_parametrization.point_size], ambient
        )
        if self._state_size == robot.shape[-1]:
            return robot
        result = np.zeros((*robot.shape[:2], self._state_size))
        result[..., : robot.shape[-1]] = robot
        return result

    def _observed(self, backend, points, values, derivatives):
        """Return the outputs [k, B] in a state and their derivative."""
        state = points[: self._robot_parametrization.point_size]
        return backend.observed_arrays(state, values[: self._physical], derivatives)

    def _row_slopes(self, rows, d_outputs, part, by_coordinates):
        """Return slopes of a sensor's rows by the state's numbers and by coordinates, or None."""
        if rows.by_outputs is None:
            return rows.by_state, None
        size = self._robot_parametrization.point_size
        slopes = rows.by_outputs @ d_outputs[:, part]
        by_x = by_groups(slopes[..., size:], by_coordinates[:, : self._physical])
        ambient = slopes[..., :size]
        return ambient if rows.by_state is None else ambient + rows.by_state, by_x


def joined(found, size):
    """Return rows [B, m] and (by state, by coordinates, so many) of several sensors together."""
    rows, by_state, by_x = zip(*found)
    by_state = [np.broadcast_to(s, (*own.shape, s.shape[2])) for own, s in zip(rows, by_state)]
    by_x = [np.zeros((*own.shape, size)) if x is None else x for own, x in zip(rows, by_x)]
    return np.concatenate(rows, 1), (np.concatenate(by_state, 1), np.concatenate(by_x, 1))


def _output_slices(sensors):
    """Return for every sensor where its outputs stand among all."""
    slices, start = [], 0
    for sensor in sensors:
        slices.append(slice(start, start + sensor.output_size))
        start += sensor.output_size
    return slices
