"""Through a frame from sample to sample, with derivatives."""

import numpy as np

from ..backend.choice import choose_backend
from ..dynamics.system import System
from ..dynamics.wrenches import WRENCH_SIZE
from ..estimation.protocol import Linearization
from ..model.state_coordinates import StateCoordinates
from ..parameters.delays import ClockDelays, CommandDelays, is_delay, require_known
from .frame_at_once import FrameAtOnce
from .frame_forwards import FrameForwards
from .relative_times import counted_from, RelativeTimes
from .sample_rows import SampleRows
from .steps import spread, StateWalk

# With more columns than this the calls are large enough, and derivatives of all at once too large.
_FEW_COLUMNS = 32
# With as many the derivatives of a frame are carried forwards.
_FEW_UNKNOWNS = 24


class FrameWalk:
    """
    Simulates frames and compares them with their samples, for many pairs of state and parameters.

    A sensor whose clock is late saw an earlier state: the walk to its sample ends earlier, by a
    time that may be unknown. Commands that act late cut the integration steps elsewhere.
    `DisturbanceStates` are part of the state.
    """

    def __init__(
        self,
        parameters,
        sensors,
        parametrization,
        state_coordinates,
        hidden,
        options,
        reference=0,
        wrenches=(),
    ):
        """
        Take the parts of a `RobotProblem`.

        reference: index of the sensor that cuts frames; wrenches: `LinkWrench`es.
        """
        self.sensors, self.state_coordinates = sensors, state_coordinates
        self._hidden = hidden
        observing = [s for s in sensors if s.output_size]

        def observe(robot, q, v):
            return [x for sensor in observing for x in sensor.observe(robot, q, v)]

        physical = tuple(n for n in parametrization.names if n in parameters and not is_delay(n))
        self.system = System(
            parameters,
            physical,
            options.integrator,
            wrenches,
            observation=observe if observing else None,
            is_disturbed=hidden.size > 0,
        )
        values = dict(zip(parameters, parameters.nominal()))
        values |= {
            name: value for name, value in parametrization.fixed.items() if name in parameters
        }
        self.backend = choose_backend(options.backend)(self.system, values)
        # One for all: what it finds at a state it keeps for the next who asks.
        robot_parametrization = StateCoordinates(parameters.model)
        self._rows = SampleRows(sensors, robot_parametrization, state_coordinates, len(physical))
        self.outputs = self._rows.slices
        require_known(parametrization.names, parameters.model, sensors, physical)
        clocks = ClockDelays(sensors, parametrization.names, parametrization.fixed)
        others = WRENCH_SIZE * len(wrenches)
        self._commands = CommandDelays(
            parameters.model, parametrization.names, parametrization.fixed, others
        )
        acting = set(range(len(self._commands.owners))) - hidden.places
        self.parametrization, self._clocks = counted_from(
            parametrization, reference, clocks, self._commands, acting
        )
        delays = self._commands, self._clocks
        parametrizations, size = (robot_parametrization, state_coordinates), len(physical)
        self._states = StateWalk(
            self.backend, parametrizations, hidden, delays, size, options.max_step
        )
        parts, unknowns = (
            (self._states, self._rows),
            state_coordinates.size + len(parametrization.labels),
        )
        kind = FrameForwards if unknowns <= _FEW_UNKNOWNS else FrameAtOnce
        if observing or kind is FrameForwards:
            self.backend.expects_forwards = True
        self._of_filter = kind(*parts, self.parametrization)
        self.inputs, self.fading = self._states.inputs, self._states.fading

    @property
    def counts_from_reference(self):
        """Whether times are those that the reference saw, and of delays differences."""
        return isinstance(self.parametrization, RelativeTimes)

    @property
    def known_controls(self):
        """How many controls come from outside: all but the hidden forces."""
        return self.system.control_size - self._hidden.control_size

    @property
    def moves_by_delay(self):
        """Whether an unknown delay moves the robot itself, not only what is seen of it."""
        return self._commands.is_estimated

    def through(self, points, parameters, line):
        """
        Return the `Linearization` of one frame per column.

        parameters [p, B']: for B' columns that repeat.
        """
        if self._is_punctual(line) and points.shape[1] <= _FEW_COLUMNS:
            return self._of_filter.through(points, parameters, line)
        values, by_coordinates = self.parametrization.expanded(parameters)
        values = spread(values, points.shape[1])
        transition, residual, slope = None, [], []
        for segment in line.segments:
            begin = points, transition
            points, moved = self._states.move(points, values, segment, None, by_coordinates)
            transition = _chained(moved, transition)
            for late, measured in self._by_delay(segment):
                at = points, transition
                if late is not None:
                    state, moved = self._states.move(
                        begin[0], values, segment, late, by_coordinates
                    )
                    at = state, _chained(moved, begin[1])
                rows, gradient = self._rows.measure(
                    self.backend, at[0], values, measured, by_coordinates
                )
                residual.append(rows)
                slope.append(_chained(gradient, at[1]))
        points, transition = self._states.faded(points, transition, line)
        batch, n = points.shape[1], self.state_coordinates.size + len(parameters)
        residual = np.concatenate(residual, 1) if residual else np.zeros((batch, 0))
        slope = np.concatenate(slope, 1) if slope else np.zeros((batch, 0, n))
        return Linearization(points, transition, residual, slope)

    def residuals(self, points, ends, parameters, line):
        """
        Return the residuals [B, m] of one frame per column; points, ends [nx, B]: at its bounds.

        parameters [p, B]. What is measured at the end of a frame needs no walk there.
        """
        values, found = self.parametrization.to_named(parameters), []
        for segment in line.segments:
            begin, is_last = points, segment is line.segments[-1]
            points = ends if is_last else self._states.move(points, values, segment, None)[0]
            for late, measured in self._by_delay(segment):
                at = points
                if late is not None:
                    at = self._states.move(begin, values, segment, late)[0]
                found.append(self._rows.measure(self.backend, at, values, measured)[0])
        return np.concatenate(found, 1) if found else np.zeros((points.shape[1], 0))

    def _is_punctual(self, line):
        """Tell whether a line is one frame of which nothing hangs on a delay."""
        return (
            line.cut is not None
            and not self._commands.is_estimated
            and not (
                self._clocks.is_any_late
                and any(self._clocks.is_late(g, *m) for g in line.segments for m in g.measured)
            )
        )

    def order(self, line):
        """Return the index of the sensor of every sample, in the order of their rows."""
        return [
            index
            for segment in line.segments
            for _, measured in self._by_delay(segment)
            for index, _ in measured
        ]

    def observe(self, points, parameters, line):
        """Return (residual [B, m], slope [B, m, t]) of a frame's samples, all taken as now."""
        values, by_coordinates = self.parametrization.expanded(parameters)
        t = self.state_coordinates.size
        still = np.zeros((points.shape[1], t, t + len(parameters)))
        still[:, range(t), range(t)] = 1.0
        found = [
            self._rows.measure(self.backend, points, values, segment.measured, by_coordinates)
            for segment in line.segments
            if segment.measured
        ]
        slopes = [_chained(gradient, still)[..., :t] for _, gradient in found]
        return np.concatenate([r for r, _ in found], 1), np.concatenate(slopes, 1)

    def course(self, parameters, line):
        """
        Return durations [S, K], controls [S, nu, K] and bounds [H + 1] of frames on end.

        parameters [p, K]; line: of H frames, each for so many columns. Steps end where commands
        begin to act; bounds: the steps at which frames begin and end.
        """
        count = parameters.shape[1]
        values = spread(self.parametrization.to_named(parameters), len(line.lanes))
        shifted = [self._states.steps(values, segment, None) for segment in line.segments]
        durations, controls = (
            _frame_by_frame([each[part] for each in shifted], len(line.lanes), count)
            for part in (0, 1)
        )
        # Side by side frames have as many steps as any of them.
        is_step = (durations != 0).any(2)
        bounds = np.concatenate([[0], np.cumsum(is_step.sum(1))])
        return durations[is_step], controls[is_step], bounds

    def _by_delay(self, segment):
        """Yield (the late sensor's index or None, samples) for what a segment's end measures."""
        if not self._clocks.is_any_late:
            if segment.measured:
                yield None, segment.measured
            return
        is_late = [self._clocks.is_late(segment, *sample) for sample in segment.measured]
        in_time = [sample for sample, late in zip(segment.measured, is_late) if not late]
        if in_time:
            yield None, in_time
        for sample, late in zip(segment.measured, is_late):
            if late:
                yield sample[0], [sample]


def _frame_by_frame(parts, lanes, count):
    """Return parts [S, .., B] on end, frame by frame, [H, S, .., K]; lanes: H * K; count: K."""
    whole = np.concatenate([np.broadcast_to(p, (*p.shape[:-1], lanes)) for p in parts])
    return np.moveaxis(whole.reshape(*whole.shape[:-1], -1, count), -2, 0)


def _chained(moved, transition):
    """
    Return derivatives by z at the frame's beginning from those at a state on the way.

    transition [B, t, n]: of that state, None where it is the beginning.
    """
    if moved is None:
        return transition
    by_state, by_x = moved
    if transition is None:
        return np.concatenate([by_state, by_x], -1)
    result = by_state @ transition
    result[..., transition.shape[1] :] += by_x
    return result
