"""
Propagation of a state over integration steps, and residuals of samples there, with derivatives.

`StatePropagator` moves states, `SampleRows` compares them with samples.
"""

import numpy as np

from ..backend.base import RolloutInputs, StepDerivatives

# So few columns are not worth a call of their own.
_FEW = 16


class StatePropagator:
    """
    Propagates states over segments of frames, for many pairs of state and parameters.

    The state that a late sensor observed is earlier, by a delay that may be unknown. Commands that
    act late change where integration steps end. `DisturbanceStates` are part of the state.
    """

    def __init__(self, backend, coordinates, disturbance, delays, physical_size, max_step):
        """
        Take the parts of a `FrameLinearizer`.

        coordinates: the `StateCoordinates` without and with disturbance states; delays:
        (`CommandDelays`, `ClockDelays`); physical_size: number of physical parameters, which are
        the first named ones.
        """
        self.backend, self._disturbance = backend, disturbance
        self._robot_coordinates, self.state_coordinates = coordinates
        self._commands, self._clocks = delays
        self._physical, self._max_step = physical_size, max_step

    @property
    def has_unknown_delays(self):
        """Whether delays of commands are estimated."""
        return self._commands.is_estimated

    def inputs(self, points, values, durations, controls, forcing=None):
        """
        Return the `RolloutInputs` of states at the start, as NumPy arrays.

        values [P, B]: of all named parameters; durations [S, B]; controls [S, nu, B]; forcing
        [S, nv, B]: controls by the disturbance states, needed over more than one frame.
        """
        state = points[: self._robot_coordinates.point_size]
        if self._disturbance.size:
            if forcing is None:
                forcing = self._disturbance.controls(self.disturbance_part(points), durations)
            if controls.shape[2] < points.shape[1]:
                controls = np.repeat(controls, points.shape[1], 2)
            controls = np.concatenate([controls, forcing], 1)
        return RolloutInputs(state, values[: self._physical], controls, durations)

    def disturbance_part(self, points):
        """Return the disturbance states [k, B] of points [nx, B]."""
        return points[self._robot_coordinates.point_size :]

    def steps(self, values, segment, late):
        """
        Return (durations, controls, [(row of a delay, slope of durations by it)]) of a segment.

        values [P, B]; late: index of the sensor whose clock ends the segment, None: its end.
        """
        commands = self._commands
        if late is None and not commands.is_estimated:
            return segment.durations, segment.controls, []
        early = np.zeros(values.shape[1])
        if late is not None:
            early = self._clocks.left(segment, late, values)
        delays = commands.values(values)
        found = segment.shifted(delays, commands.owners, early, self._max_step)
        slopes = [*zip(commands.rows, found.by_delay)]
        slopes.append((self._clocks.rows.get(late), found.by_early))
        return found.durations, found.controls, [(r, s) for r, s in slopes if r is not None]

    def move(self, points, values, segment, late, by_coordinates=None):
        """
        Return the states after a segment and their derivatives (by state, by coordinates).

        late: as of `steps`; by_coordinates: as of `run`, without it derivatives are None.
        """
        durations, controls, slopes = self.steps(values, segment, late)
        if by_coordinates is not None:
            return self.run(points, values, durations, controls, by_coordinates, slopes)
        inputs = self.inputs(points, values, durations, controls)
        ends = self.backend.rollout_arrays(inputs)[0][-1]
        return self._joined(ends, points, durations), None

    def run(self, points, values, durations, controls, by_coordinates, slopes=()):
        """
        Return the states after steps and (by state [B, t, t], by coordinates [B, t, p]).

        durations [S, B]; controls [S, nu, B]; by_coordinates [B', P, p]: derivative of the values
        by the coordinates, for B' columns that repeat; slopes: as `steps` returns them.
        """
        inputs = self.inputs(points, values, durations, controls)
        found = uneven_jacobian(self.backend, inputs, slopes)
        ends, coordinates = found.state, self._robot_coordinates
        by_x = np.zeros((points.shape[1], self.state_coordinates.size, by_coordinates.shape[-1]))
        by_physical = coordinates.pull_rows(ends, found.by_parameters)
        by_x[:, : coordinates.size] = by_groups(by_physical, by_coordinates[:, : self._physical])
        for row, slope in slopes:
            # The delay of a clock and that of commands may be the same; their effects add up.
            late = np.einsum('bis,sb->bi', found.by_durations, slope)
            if self._disturbance.size:
                late += self._disturbance.by_disturbance_later(
                    found.by_controls, self.disturbance_part(points), slope
                )
            late = coordinates.pull_rows(ends, late[..., None])
            by_x[:, : coordinates.size] += by_groups(late, by_coordinates[:, row, None])
        by_state = self._by_state(found, ends, points, durations)
        return self._joined(ends, points, durations), (by_state, by_x)

    def delayed(self, values, cut):
        """Return the `DelayedSteps` of the frame of a `Cut` for one column of named values."""
        commands = self._commands
        delays = tuple(commands.values(values)[:, 0].tolist())
        return cut.delayed(delays, commands.owners, self._max_step)

    def seeds(self, points, by_coordinates, durations, by_delay=None):
        """
        Return the derivatives of a rollout's inputs by z = (state, coordinates).

        They are the seeds of the backend's `directions_arrays`. by_coordinates [B, P, p];
        durations [S, 1]: of the steps; by_delay [S, D]: their derivatives by the delays of
        commands, of one column.
        """
        t, coordinates = self.state_coordinates.size, self._robot_coordinates
        batch, steps, n = points.shape[1], len(durations), t + by_coordinates.shape[-1]
        by_state = np.zeros((batch, coordinates.point_size, n))
        by_state[..., : coordinates.size] = coordinates.push(
            points[: coordinates.point_size], np.eye(coordinates.point_size)
        )
        by_parameters = np.zeros((batch, self._physical, n))
        by_parameters[..., t:] = by_coordinates[:, : self._physical]
        by_controls = np.zeros((steps, self.backend.system.control_size, n))
        if self._disturbance.size:
            pushes = self._disturbance.slopes_of_controls(durations)
            by_controls[:, -pushes.shape[1] :, coordinates.size : t] = pushes
        by_durations = np.zeros((steps, n))
        if by_delay is not None:
            for row, slope in zip(self._commands.rows, by_delay.T):
                if row is not None:
                    by_durations[:, t:] += np.outer(slope, by_coordinates[0, row])
        return by_state, by_parameters, by_durations, by_controls

    def after(self, points, found, durations):
        """
        Return the states after a rollout and their derivative [B, t, n] by z before it.

        found: the `Sensitivities` of the rollout with `seeds`.
        """
        ends, coordinates = found.states[-1], self._robot_coordinates
        robot = coordinates.pull_rows(ends, found.d_states[:, -1])
        if not self._disturbance.size:
            return ends, robot
        size, t = coordinates.size, self.state_coordinates.size
        result = np.zeros((len(robot), t, robot.shape[-1]))
        result[:, :size] = robot
        result[:, size:, size:t] = self._disturbance.transition(durations.sum(0))
        return self._joined(ends, points, durations), result

    def _joined(self, ends, points, durations):
        """Return states from those of the robot, with the disturbance states of points before."""
        if not self._disturbance.size:
            return ends
        disturbances = self.disturbance_part(points)
        return np.concatenate([ends, self._disturbance.propagated(disturbances, durations.sum(0))])

    def with_disturbance(self, states, points, elapsed):
        """
        Return states [nx, G * B] from those of the robot, with the disturbance states of points.

        elapsed [G] [s]: from the B points to each of G groups of states.
        """
        if not self._disturbance.size:
            return states
        disturbances = tiled(self.disturbance_part(points), len(elapsed))
        lengths = np.repeat(elapsed, points.shape[1])
        return np.concatenate([states, self._disturbance.propagated(disturbances, lengths)])

    def _by_state(self, found, ends, points, durations):
        """Return the derivative [B, t, t] of the state after steps by the one before."""
        coordinates, size = self._robot_coordinates, self._robot_coordinates.size
        state = points[: coordinates.point_size]
        robot = coordinates.pull(ends, found.by_state, state)
        if not self._disturbance.size:
            return robot
        result = np.zeros((len(robot), self.state_coordinates.size, self.state_coordinates.size))
        result[:, :size, :size] = robot
        by_disturbance = self._disturbance.by_disturbance(found.by_controls, durations)
        result[:, :size, size:] = coordinates.pull_rows(ends, by_disturbance)
        result[:, size:, size:] = self._disturbance.transition(durations.sum(0))
        return result

    def decay(self, line):
        """Return the factor by which each disturbance state decays in a frame, [k, B or 1]."""
        return self._disturbance.decay(line.lengths)

    def decayed(self, points, transition, line):
        """Return points and transition (or None) at a frame's end, disturbance states decayed."""
        if not self._disturbance.size:
            return points, transition
        decay = self.decay(line)
        points, size = points.copy(), self._robot_coordinates.point_size
        points[size:] *= decay
        if transition is not None:
            transition[:, self._robot_coordinates.size :] *= decay.T[:, :, None]
        return points, transition


def uneven_jacobian(backend, inputs, slopes):
    """
    Return the `StepDerivatives` of `RolloutInputs` whose columns have different numbers of steps.

    slopes: as of `StatePropagator.steps`. Columns of few and of many steps are evaluated apart;
    derivatives by steps after a column's last, of no length, are zero.
    """
    if inputs.batch <= _FEW or inputs.durations.shape[1] < inputs.batch:
        return backend.jacobian_arrays(inputs)
    return _by_lengths(backend, inputs, _counts(inputs.durations, slopes))


def _by_lengths(backend, inputs, counts):
    """Return the `StepDerivatives`, splitting columns by their number of steps, counts [B]."""
    limit = max(1, int(np.median(counts)))
    if 2 * limit > inputs.steps or inputs.batch <= _FEW:
        return backend.jacobian_arrays(inputs)
    groups = [np.flatnonzero(counts <= limit), np.flatnonzero(counts > limit)]
    parts = []
    for which in (group for group in groups if len(group)):
        picked = _picked(inputs, which, counts[which].max(initial=limit))
        parts.append((which, _by_lengths(backend, picked, counts[which])))
    return _joined_parts(parts, inputs)


def _counts(durations, slopes):
    """Return the number of steps [B] of each column that have a length, or have one if delayed."""
    is_step = durations != 0
    for _, slope in slopes:
        is_step = is_step | (slope != 0)
    numbers = np.arange(1, 1 + len(durations))[:, None]
    return (is_step * numbers).max(0, initial=0)


def _picked(inputs, which, steps):
    """Return the inputs of some columns for the first `steps` steps."""
    arrays = inputs.state, inputs.parameters, inputs.controls[:steps], inputs.durations[:steps]
    return RolloutInputs(*(a if a.shape[-1] == 1 else a[..., which] for a in arrays))


def _joined_parts(parts, inputs):
    """Return the `StepDerivatives` of all columns from [(which columns, theirs)]."""
    size, steps, controls = inputs.state.shape[0], inputs.steps, inputs.controls.shape[1]
    rows = inputs.batch, size
    state, by_state = np.empty((size, inputs.batch)), np.empty((*rows, size))
    by_parameters = np.empty((*rows, inputs.parameters.shape[0]))
    by_durations, by_controls = np.zeros((*rows, steps)), np.zeros((*rows, steps, controls))
    for which, found in parts:
        taken = found.by_durations.shape[-1]
        state[:, which] = found.state
        by_state[which], by_parameters[which] = found.by_state, found.by_parameters
        by_durations[which, :, :taken] = found.by_durations
        by_controls[which, :, :taken] = found.by_controls
    return StepDerivatives(state, by_state, by_parameters, by_durations, by_controls)


class SampleRows:
    """Whitened residuals of samples at states and their derivatives, for many pairs at once."""

    def __init__(self, sensors, robot_coordinates, state_coordinates, physical_size):
        """
        Take the sensors.

        robot_coordinates, state_coordinates: `StateCoordinates` without and with disturbance
        states; physical_size: number of physical parameters.
        """
        self.sensors, self.slices = sensors, _output_slices(sensors)
        self._state_size, self._robot_coordinates = state_coordinates.size, robot_coordinates
        self._physical = physical_size

    def measure(self, backend, points, values, measured, by_coordinates=None):
        """
        Return the residual rows [B, m] of samples and the derivatives (by state, by coordinates).

        measured: [(index of a sensor, values [B or 1, k])]; by_coordinates [B', P, p]: derivative
        of the values by coordinates, for B' columns that repeat; without it derivatives are None.
        """
        outputs = d_outputs = None
        if any(self.sensors[index].output_size for index, _ in measured):
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

        The derivative by the state is [1, m, t] where it is the same for all; that by the
        coordinates is None where rows depend on the state only. by_coordinates: as of `measure`.
        """
        outputs = d_outputs = None
        if self.sensors[index].output_size:
            outputs, d_outputs = self._observed(backend, points, values, True)
        return self._compared(points, index, samples, outputs, d_outputs, by_coordinates)

    def of_sensor(self, points, outputs, index, samples):
        """Return the `Rows` of samples [B or 1, k] of a sensor; outputs [ny, B]: of all."""
        return self.sensors[index].rows(*self._given(points, index, samples, outputs))

    def _compared(self, points, index, sample, outputs, d_outputs, by_coordinates):
        """Return what `measure_one` does, given the outputs of all sensors."""
        rows = self.of_sensor(points, outputs, index, sample)
        ambient, by_x = self._row_slopes(rows, d_outputs, self.slices[index], by_coordinates)
        return rows.values, self._by_state(points, ambient), by_x

    def _given(self, points, index, sample, outputs):
        """Return the arguments of a sensor: states, its outputs, a sample for every state."""
        batch = points.shape[1]
        return (
            points,
            None if outputs is None else outputs[self.slices[index]],
            sample if len(sample) == batch else sample.repeat(batch, 0),
        )

    def _by_state(self, points, ambient):
        """Return slopes by local coordinates of the state [B, m, t] from those by its numbers."""
        state = points[: self._robot_coordinates.point_size]
        robot = self._robot_coordinates.push(state, ambient)
        if self._state_size == robot.shape[-1]:
            return robot
        result = np.zeros((*robot.shape[:2], self._state_size))
        result[..., : robot.shape[-1]] = robot
        return result

    def _observed(self, backend, points, values, derivatives):
        """Return the outputs [ny, B] of all sensors and their derivative, if asked for."""
        state = points[: self._robot_coordinates.point_size]
        return backend.observed_arrays(state, values[: self._physical], derivatives)

    def _row_slopes(self, rows, d_outputs, part, by_coordinates):
        """Return slopes of a sensor's rows (by the state's numbers, by coordinates or None)."""
        if rows.by_outputs is None:
            return rows.by_state, None
        size = self._robot_coordinates.point_size
        slopes = rows.by_outputs @ d_outputs[:, part]
        by_x = by_groups(slopes[..., size:], by_coordinates[:, : self._physical])
        ambient = slopes[..., :size]
        return ambient if rows.by_state is None else ambient + rows.by_state, by_x


def joined(found, size):
    """
    Return rows [B, m] and (by state [B, m, t], by coordinates [B, m, p]) of several sensors.

    found: [(rows, by state, by coordinates or None)]; size: p.
    """
    rows, by_state, by_x = zip(*found)
    by_state = [np.broadcast_to(s, (*own.shape, s.shape[2])) for own, s in zip(rows, by_state)]
    by_x = [np.zeros((*own.shape, size)) if x is None else x for own, x in zip(rows, by_x)]
    return np.concatenate(rows, 1), (np.concatenate(by_state, 1), np.concatenate(by_x, 1))


def _output_slices(sensors):
    """Return the slice of every sensor's outputs among all."""
    slices, start = [], 0
    for sensor in sensors:
        slices.append(slice(start, start + sensor.output_size))
        start += sensor.output_size
    return slices


def by_groups(slopes, by_coordinates):
    """Return slopes [G * B, m, P] times by_coordinates [B, P, p], which repeats, [G * B, m, p]."""
    groups = slopes.reshape(-1, len(by_coordinates), *slopes.shape[1:])
    return (groups @ by_coordinates).reshape(*slopes.shape[:2], -1)


def spread(columns, batch):
    """Return columns [n, B'], repeated as a whole until there are `batch` of them."""
    count = columns.shape[1]
    return columns if count == batch else tiled(columns, batch // count)


def tiled(columns, count):
    """Return columns [n, B] side by side `count` times; for few columns faster than np.tile."""
    return np.repeat(columns[:, None], count, 1).reshape(len(columns), -1)
