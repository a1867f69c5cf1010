"""Through a frame from sample to sample, with derivatives."""

import numpy as np

from ..backend.choice import choose_backend
from ..dynamics.system import System
from ..dynamics.wrenches import WRENCH_SIZE
from ..estimation.protocol import Linearization
from ..model.state_coordinates import StateCoordinates
from ..parameters.delays import ClockDelays, CommandDelays, is_delay, require_known
from .steps import SampleRows, spread, StateWalk, tiled

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


class FrameForwards:
    """
    What a filter asks for, where its unknowns are few: one frame, nothing in it late.

    The simulation carries the derivatives by all coordinates with it, from instant to instant:
    what each sensor needs of them is there where it measures. That costs as many passes as there
    are coordinates, of which a vector of the processor takes several at once; with many,
    `FrameAtOnce` is the faster.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StateWalk`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization
        self._latest = None

    def through(self, points, parameters, line):
        """Return what `FrameWalk.through` does for the one frame of a `Line`."""
        cut, walk, batch = line.cut, self._states, points.shape[1]
        values, by_coordinates = self._expanded(parameters)
        if len(by_coordinates) < batch:
            values = spread(values, batch)
            by_coordinates = np.tile(by_coordinates, (batch // len(by_coordinates), 1, 1))
        durations, controls, _ = cut.on_end
        inputs = walk.inputs(points, values, durations, controls)
        seeds = walk.seeds(points, by_coordinates, durations)
        found = walk.backend.directions_arrays(inputs, seeds)
        residual, slope = self._measured(found, cut)
        ends, transition = walk.after(points, found, durations)
        ends, transition = walk.faded(ends, transition, line)
        return Linearization(ends, transition, residual, slope)

    def _expanded(self, parameters):
        """Return what `Parametrization.expanded` does; the frames of a window have the same."""
        latest = self._latest
        if latest is None or not np.array_equal(latest[0], parameters):
            latest = self._latest = (
                parameters.copy(),
                *self._parametrization.expanded(parameters),
            )
        return latest[1:]

    def _measured(self, found, cut):
        """Return residual [B, m] and slope [B, m, n] of all samples, in the order of time."""
        batch, n = found.d_states.shape[0], found.d_states.shape[-1]
        total = sum(len(each.rows) for each in cut.measured)
        residual, slope = np.empty((batch, total)), np.empty((batch, total, n))
        ends = np.array(cut.bounds[1:])
        for each in cut.measured:
            at = ends[each.pieces]
            rows = self._rows.of_sensor(
                _columns(found.states, at),
                _columns(found.outputs, at),
                each.index,
                each.values if batch == 1 else np.tile(each.values, (batch, 1)),
            )
            residual[:, each.rows] = rows.values.reshape(batch, -1)
            slope[:, each.rows] = self._slope(rows, each.index, found, at)
        return residual, slope

    def _slope(self, rows, index, found, at):
        """Return the slope [B, m, n] of a sensor's `Rows` at some instants."""
        batch, n = found.d_states.shape[0], found.d_states.shape[-1]
        parts = []
        if rows.by_state is not None:
            parts.append((rows.by_state, found.d_states[:, at]))
        if rows.by_outputs is not None:
            parts.append((rows.by_outputs, found.d_outputs[:, at, self._rows.slices[index]]))
        slopes = [
            (by if len(by) == 1 else by.reshape(batch, len(at), *by.shape[1:])) @ moved
            for by, moved in parts
        ]
        return sum(slopes[1:], slopes[0]).reshape(batch, -1, n)


def _columns(instants, at):
    """Return what [S, n, B] is at G of S instants, as columns [n, B * G]."""
    _, size, batch = instants.shape
    return instants[at].transpose(1, 2, 0).reshape(size, batch * len(at))


class FrameAtOnce:
    """
    What a filter asks for: one frame for a few columns, nothing in it late.

    A first pass without derivatives tells where each piece begins; the derivatives of all of them
    are then asked for in one call, as are the rows of each sensor. With few columns that one
    call costs hardly more than any of the calls that it replaces.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StateWalk`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization

    def through(self, points, parameters, line):
        """Return what `FrameWalk.through` does for the one frame of a `Line`."""
        cut, batch = line.cut, points.shape[1]
        count = cut.count
        values, by_coordinates = self._parametrization.expanded(parameters)
        values = spread(values, batch)
        begins = self._begins(points, values, cut)
        wide = values if batch == 1 else tiled(values, count)
        durations, controls = cut.side_by_side
        if batch > 1:
            durations, controls = (np.repeat(x, batch, -1) for x in (durations, controls))
        ends, slopes = self._states.run(begins, wide, durations, controls, by_coordinates)
        transitions = _chained_pieces(*(x.reshape(count, batch, *x.shape[1:]) for x in slopes))
        residual, slope = self._measured(ends, wide, by_coordinates, transitions, cut)
        # The copy is what may fade: the rows were taken before.
        last, transition = self._states.faded(ends[:, -batch:], transitions[-1].copy(), line)
        return Linearization(last, transition, residual, slope)

    def _begins(self, points, values, cut):
        """Return the states [nx, G * B] at the begins of all pieces."""
        if cut.count == 1:
            return points
        durations, controls, places = cut.on_end
        inputs = self._states.inputs(points, values, durations, controls)
        states = self._states.backend.rollout_arrays(inputs)[0][places]
        begins = states.swapaxes(0, 1).reshape(states.shape[1], -1)
        return self._states.with_hidden(begins, points, cut.begins)

    def _measured(self, ends, values, by_coordinates, transitions, cut):
        """Return residual [B, m] and slope [B, m, n] of all samples, in the order of time."""
        count, batch, t, n = transitions.shape
        total = sum(len(each.rows) for each in cut.measured)
        residual, slope = np.empty((batch, total)), np.empty((batch, total, n))
        for each in cut.measured:
            m = len(each.pieces)
            lanes = (each.pieces[:, None] * batch + np.arange(batch)).ravel()
            rows, by_state, by_x = self._rows.measure_one(
                self._states.backend,
                ends[:, lanes],
                values if batch == 1 else values[:, lanes],
                each.index,
                np.repeat(each.values, batch, 0),
                by_coordinates,
            )
            if len(by_state) > 1:
                by_state = by_state.reshape(m, batch, -1, t)
            own = by_state @ transitions[each.pieces]
            if by_x is not None:
                own[..., t:] += by_x.reshape(m, batch, *by_x.shape[1:])
            rows = rows.reshape(m, batch, -1)
            residual[:, each.rows] = rows.swapaxes(0, 1).reshape(batch, -1)
            slope[:, each.rows] = own.swapaxes(0, 1).reshape(batch, -1, n)
        return residual, slope


def _chained_pieces(by_state, by_x):
    """
    Return derivatives [G, B, t, n] of the ends of pieces by z at the beginning of the first.

    by_state [G, B, t, t], by_x [G, B, t, p]: of each end by its own beginning and parameters.
    """
    count, batch, t, _ = by_state.shape
    result = np.concatenate([by_state, by_x], -1)
    for k in range(1, count):
        after = np.matmul(by_state[k], result[k - 1], out=result[k])
        after[..., t:] += by_x[k]
    return result


def counted_from(parametrization, reference, clocks, commands, acting):
    """
    Return (a parametrization, the `ClockDelays`) as simulations take them.

    reference: index of the sensor from whose clock times are counted, if nothing but delays that
    are to be estimated says what time it is; clocks: `ClockDelays`; commands: `CommandDelays`;
    acting: places of the commands that act.
    """
    owners = {commands.rows[commands.owners[place]] for place in acting}
    if None in owners or reference not in clocks.rows or not clocks.are_all_estimated:
        return parametrization, clocks
    row = clocks.rows[reference]
    relative = RelativeTimes(parametrization, row, tuple(clocks.rows.values()), tuple(owners))
    return relative, clocks.without(reference)


class RelativeTimes:
    """
    A parametrization as simulations take it: states are those at the times that the reference saw.

    Where every clock, and every command that acts, is late by an unknown time, a motion that
    begins a little later looks the same with other delays. A filter that moved its state along
    that direction would linearise in another place after every frame, and become sure of a time
    that nobody has told. So only differences enter: of a clock its delay less that of the
    reference, of commands both added up.
    """

    def __init__(self, parametrization, reference, clocks, commands):
        """
        Take a parametrization and rows of delays among its names.

        reference: that of the reference; clocks: those of all clocks, commands: of all commands.
        """
        self.names, self.fixed, self._parametrization = (
            parametrization.names,
            parametrization.fixed,
            parametrization,
        )
        self._reference, self._rows = reference, [*clocks, *commands]
        self._signs = np.repeat([-1.0, 1.0], [len(clocks), len(commands)])[:, None]

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B], delays as differences."""
        return self._counted(self._parametrization.to_named(coordinates))

    def expanded(self, coordinates):
        """Return these values and their derivative by the coordinates, [B, P, p]."""
        values, slope = self._parametrization.expanded(coordinates)
        slope = slope.copy()
        slope[:, self._rows] += self._signs * slope[:, [self._reference]]
        return self._counted(values), slope

    def _counted(self, values):
        values = values.copy()
        values[self._rows] += self._signs * values[self._reference]
        return values
