"""From a state to later ones: within a frame and over it, with derivatives."""

import numpy as np

from ..backend.base import RolloutInputs
from .uneven_steps import uneven_jacobian


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
