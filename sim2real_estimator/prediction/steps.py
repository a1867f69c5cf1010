"""From a state to later ones, and what sensors say there, with derivatives."""

import numpy as np

from ..backend.base import RolloutInputs, StepDerivatives

# Fewer columns are not worth a call of their own.
_FEW = 16


class StateWalk:
    """
    Moves states over segments of frames, for many pairs of state and parameters.

    A walk to what a late sensor saw ends earlier, by a time that may be unknown. Commands that act
    late cut the integration steps elsewhere. `DisturbanceStates` are part of the state.
    """

    def __init__(self, backend, parametrizations, hidden, delays, physical_size, max_step):
        """
        Take the parts of a `FrameWalk`.

        parametrizations: `StateCoordinates`s without and with what hidden forces add; delays:
        (`CommandDelays`, `ClockDelays`); physical_size: how many of the named parameters are
        physical; they come first.
        """
        self.backend, self._hidden = backend, hidden
        self._robot_parametrization, self.state_coordinates = parametrizations
        self._commands, self._clocks = delays
        self._physical, self._max_step = physical_size, max_step

    def inputs(self, points, values, durations, controls, hidden=None):
        """
        Return `RolloutInputs` of NumPy arrays.

        values [P, B] of all named parameters; hidden [S, nv, B]: controls of the hidden forces
        during steps that are more than a piece of a frame.
        """
        state = points[: self._robot_parametrization.point_size]
        if self._hidden.size:
            if hidden is None:
                hidden = self._hidden.controls(self.hidden_part(points), durations)
            if controls.shape[2] < points.shape[1]:
                controls = np.repeat(controls, points.shape[1], 2)
            controls = np.concatenate([controls, hidden], 1)
        return RolloutInputs(state, values[: self._physical], controls, durations)

    def hidden_part(self, points):
        """Return the hidden forces [k, B] of states."""
        return points[self._robot_parametrization.point_size :]

    def steps(self, values, segment, late):
        """Return (durations, controls, [(row of a delay, slope of the durations)])."""
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

        late: index of the sensor whose samples say where the segment ends, None: its end;
        by_coordinates: as of `run`; without it, there are no derivatives (None).
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

        durations [S, B], controls [S, nu, B]; by_coordinates [B', P, p]: derivative of the values
        by coordinates, for B' columns that repeat; slopes: (row of a named parameter, derivative
        of the durations by it), as `steps` returns them.
        """
        inputs = self.inputs(points, values, durations, controls)
        found = uneven_jacobian(self.backend, inputs, slopes)
        ends, parametrization = found.state, self._robot_parametrization
        by_x = np.zeros((points.shape[1], self.state_coordinates.size, by_coordinates.shape[-1]))
        by_physical = parametrization.pull_rows(ends, found.by_parameters)
        by_x[:, : parametrization.size] = by_groups(
            by_physical, by_coordinates[:, : self._physical]
        )
        for row, slope in slopes:
            # A row that comes late and one that acts late may be the same; their effects add up.
            late = np.einsum('bis,sb->bi', found.by_durations, slope)
            if self._hidden.size:
                late += self._hidden.pushed_later(
                    found.by_controls, self.hidden_part(points), slope
                )
            late = parametrization.pull_rows(ends, late[..., None])
            by_x[:, : parametrization.size] += by_groups(late, by_coordinates[:, row, None])
        by_state = self._by_state(found, ends, points, durations)
        return self._joined(ends, points, durations), (by_state, by_x)

    def seeds(self, points, by_coordinates, durations):
        """
        Return how a rollout's inputs move with z = (state, coordinates), for `directions_arrays`.

        by_coordinates [B, P, p]; durations [S, 1]: of its steps.
        """
        t, parametrization = self.state_coordinates.size, self._robot_parametrization
        batch, steps, n = points.shape[1], len(durations), t + by_coordinates.shape[-1]
        by_state = np.zeros((batch, parametrization.point_size, n))
        by_state[..., : parametrization.size] = parametrization.push(
            points[: parametrization.point_size], np.eye(parametrization.point_size)
        )
        by_parameters = np.zeros((batch, self._physical, n))
        by_parameters[..., t:] = by_coordinates[:, : self._physical]
        by_controls = np.zeros((steps, self.backend.system.control_size, n))
        if self._hidden.size:
            pushes = self._hidden.slopes_of_controls(durations)
            by_controls[:, -pushes.shape[1] :, parametrization.size : t] = pushes
        return by_state, by_parameters, np.zeros((steps, n)), by_controls

    def after(self, points, found, durations):
        """
        Return the states after a rollout of `seeds` and the derivative [B, t, n] by z before it.

        found: its `Sensitivities`.
        """
        ends, parametrization = found.states[-1], self._robot_parametrization
        robot = parametrization.pull_rows(ends, found.d_states[:, -1])
        if not self._hidden.size:
            return ends, robot
        size, t = parametrization.size, self.state_coordinates.size
        result = np.zeros((len(robot), t, robot.shape[-1]))
        result[:, :size] = robot
        result[:, size:, size:t] = self._hidden.growth(durations.sum(0))
        return self._joined(ends, points, durations), result

    def _joined(self, ends, points, durations):
        """Return robot states with what has become of the hidden forces of the points before."""
        if not self._hidden.size:
            return ends
        hidden = self._hidden.grown(self.hidden_part(points), durations.sum(0))
        return np.concatenate([ends, hidden])

    def with_hidden(self, states, points, elapsed):
        """
        Return robot states [nx, G * B] with what the hidden forces of B points have become.

        elapsed [G] [s]: since these points, for each of G groups of states.
        """
        if not self._hidden.size:
            return states
        hidden = tiled(self.hidden_part(points), len(elapsed))
        lengths = np.repeat(elapsed, points.shape[1])
        return np.concatenate([states, self._hidden.grown(hidden, lengths)])

    def _by_state(self, found, ends, points, durations):
        """Return the derivative [B, t, t] of a segment's end by its beginning."""
        parametrization, size = self._robot_parametrization, self._robot_parametrization.size
        state = points[: parametrization.point_size]
        robot = parametrization.pull(ends, found.by_state, state)
        if not self._hidden.size:
            return robot
        result = np.zeros((len(robot), self.state_coordinates.size, self.state_coordinates.size))
        result[:, :size, :size] = robot
        pushed = self._hidden.pushed(found.by_controls, durations)
        result[:, :size, size:] = parametrization.pull_rows(ends, pushed)
        result[:, size:, size:] = self._hidden.growth(durations.sum(0))
        return result

    def fading(self, line):
        """Return which part of every hidden force is left after a frame, [k, B or 1]."""
        return self._hidden.left(line.lengths)

    def faded(self, points, transition, line):
        """Return points and transition, if any, at a frame's end with hidden forces faded."""
        if not self._hidden.size:
            return points, transition
        left = self.fading(line)
        points, size = points.copy(), self._robot_parametrization.point_size
        points[size:] *= left
        if transition is not None:
            transition[:, self._robot_parametrization.size :] *= left.T[:, :, None]
        return points, transition


def uneven_jacobian(backend, inputs, slopes):
    """
    Return the `StepDerivatives` of `RolloutInputs` as NumPy arrays.

    slopes: (row of a delay, derivative of the durations by it). One column with many steps is not
    to make many of all: derivatives by those after its last, of no length, are left at zero.
    """
    if inputs.batch <= _FEW or inputs.durations.shape[1] < inputs.batch:
        return backend.jacobian_arrays(inputs)
    return _by_lengths(backend, inputs, _counts(inputs.durations, slopes))


def _by_lengths(backend, inputs, counts):
    """Return the same; counts [B]: how many steps each column has."""
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
    """Return after how many steps [B] all are of no length, and would be by other delays."""
    is_step = durations != 0
    for _, slope in slopes:
        is_step = is_step | (slope != 0)
    numbers = np.arange(1, 1 + len(durations))[:, None]
    return (is_step * numbers).max(0, initial=0)


def _picked(inputs, which, steps):
    """Return the inputs of some columns for so many steps."""
    arrays = inputs.state, inputs.parameters, inputs.controls[:steps], inputs.durations[:steps]
    return RolloutInputs(*(a if a.shape[-1] == 1 else a[..., which] for a in arrays))


def _joined_parts(parts, inputs):
    """Return the `StepDerivatives` of all columns from [(which, those of some)]."""
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


def by_groups(slopes, by_coordinates):
    """Return slopes [G * B, m, P] times by_coordinates [B, P, p], which repeats, [G * B, m, p]."""
    groups = slopes.reshape(-1, len(by_coordinates), *slopes.shape[1:])
    return (groups @ by_coordinates).reshape(*slopes.shape[:2], -1)


def spread(columns, batch):
    """Return columns [n, B'] repeated until they are so many."""
    count = columns.shape[1]
    return columns if count == batch else tiled(columns, batch // count)


def tiled(columns, count):
    """Return columns [n, B] so many times side by side; of few columns faster than np.tile."""
    return np.repeat(columns[:, None], count, 1).reshape(len(columns), -1)
