"""
The linearization of one frame: its states and residuals, with derivatives by where it begins.

z = (state, coordinates of the parameters) at the beginning of the frame. `FrameLinearizer.through`
finds the state at every sample, the sample's residual there, and the derivatives of both by z, in
one of three ways that agree to rounding:
- `FrameForwards` carries derivatives by all of z along one simulation; fastest for few unknowns.
  The inputs of a single frame may be late.
- `FrameAtOnce` simulates first, then differentiates all pieces between samples in one call.
- from segment to segment, with samples and inputs that are late: the general way, also for frames
  side by side, in which batch fits have many columns.
"""

import numpy as np

from ..backend.choice import choose_backend
from ..dynamics.system import System
from ..dynamics.wrenches import WRENCH_SIZE
from ..estimation.protocol import Linearization
from ..model.state_coordinates import StateCoordinates
from ..parameters.delays import ClockDelays, CommandDelays, is_delay, require_known
from .steps import SampleRows, spread, StatePropagator, tiled

# With more columns than this a call for one segment is large enough, and one for all too large.
_FEW_COLUMNS = 32
# Up to so many unknowns derivatives in forward mode are faster: with 12 a frame of three pieces
# takes 0.12 ms instead of 0.54, with the 83 of a commanded arm one takes 0.33 instead of 0.13.
_FEW_UNKNOWNS = 24


class FrameLinearizer:
    """
    Simulates frames and compares them with their samples, for many pairs of state and parameters.

    A sensor whose clock is late observed an earlier state, by a delay that may be unknown. Late
    commands change where integration steps end. `DisturbanceStates` are part of the state.
    """

    def __init__(
        self,
        parameters,
        sensors,
        parametrization,
        state_coordinates,
        disturbance,
        options,
        reference=0,
        wrenches=(),
    ):
        """
        Take the parts of a `RobotProblem`.

        reference: index of the sensor that cuts frames; wrenches: `LinkWrench`es.
        """
        self.sensors, self.state_coordinates = sensors, state_coordinates
        self._disturbance = disturbance
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
            is_disturbed=disturbance.size > 0,
        )
        values = dict(zip(parameters, parameters.nominal()))
        values |= {
            name: value for name, value in parametrization.fixed.items() if name in parameters
        }
        self.backend = choose_backend(options.backend)(self.system, values)
        # Shared, since it caches what it computes at a state.
        robot_coordinates = StateCoordinates(parameters.model)
        self._rows = SampleRows(sensors, robot_coordinates, state_coordinates, len(physical))
        self.outputs = self._rows.slices
        require_known(parametrization.names, parameters.model, sensors, physical)
        clocks = ClockDelays(sensors, parametrization.names, parametrization.fixed)
        others = WRENCH_SIZE * len(wrenches)
        self._commands = CommandDelays(
            parameters.model, parametrization.names, parametrization.fixed, others
        )
        acting = set(range(len(self._commands.owners))) - disturbance.places
        self.parametrization, self._clocks = counted_from(
            parametrization, reference, clocks, self._commands, acting
        )
        delays = self._commands, self._clocks
        both, size = (robot_coordinates, state_coordinates), len(physical)
        self._states = StatePropagator(
            self.backend, both, disturbance, delays, size, options.max_step
        )
        unknowns = state_coordinates.size + len(parametrization.labels)
        kind = FrameForwards if unknowns <= _FEW_UNKNOWNS else FrameAtOnce
        if observing or kind is FrameForwards:
            self.backend.expects_forwards = True
        self._of_filter = kind(self._states, self._rows, self.parametrization)
        self.inputs, self.decay = self._states.inputs, self._states.decay

    @property
    def counts_from_reference(self):
        """Whether time is that of the reference's clock, and delays are relative to its delay."""
        return isinstance(self.parametrization, RelativeTimes)

    @property
    def known_controls(self):
        """Number of controls that are inputs: all but those by disturbance states."""
        return self.system.control_size - self._disturbance.control_size

    @property
    def moves_by_delay(self):
        """Whether the motion itself depends on an unknown delay, not only the samples of it."""
        return self._commands.is_estimated

    def through(self, points, parameters, line):
        """
        Return the `Linearization` of one frame per column.

        points [nx, B]: states at the frames' beginnings; parameters [p, B']: for B' columns that
        repeat; line: the `Line` of the frames.
        """
        if self._is_punctual(line, points.shape[1]) and points.shape[1] <= _FEW_COLUMNS:
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
        points, transition = self._states.decayed(points, transition, line)
        batch, n = points.shape[1], self.state_coordinates.size + len(parameters)
        residual = np.concatenate(residual, 1) if residual else np.zeros((batch, 0))
        slope = np.concatenate(slope, 1) if slope else np.zeros((batch, 0, n))
        return Linearization(points, transition, residual, slope)

    def residuals(self, points, ends, parameters, line):
        """
        Return the residuals [B, m] of one frame per column; points, ends [nx, B]: at its bounds.

        parameters [p, B]. Samples at the end of a frame need no simulation of its last segment.
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

    def _is_punctual(self, line, batch):
        """
        Tell whether a line is one frame in which neither samples nor inputs are late.

        In forward mode the inputs of a single column may be.
        """
        takes_delays = (
            batch == 1
            and isinstance(self._of_filter, FrameForwards)
            and not self._disturbance.size
        )
        return (
            line.cut is not None
            and (takes_delays or not self._commands.is_estimated)
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
        """Return (residual [B, m], slope [B, m, t]) of a frame's samples as if taken at once."""
        values, by_coordinates = self.parametrization.expanded(parameters)
        t = self.state_coordinates.size
        identity = np.zeros((points.shape[1], t, t + len(parameters)))
        identity[:, range(t), range(t)] = 1.0
        found = [
            self._rows.measure(self.backend, points, values, segment.measured, by_coordinates)
            for segment in line.segments
            if segment.measured
        ]
        slopes = [_chained(gradient, identity)[..., :t] for _, gradient in found]
        return np.concatenate([r for r, _ in found], 1), np.concatenate(slopes, 1)

    def integration_steps(self, parameters, line):
        """
        Return durations [S, K], controls [S, nu, K] and bounds [H + 1] of consecutive frames.

        parameters [p, K]; line: of H frames with K columns each. Steps end where commands begin to
        act; bounds: the steps at which frames begin and end.
        """
        count = parameters.shape[1]
        values = spread(self.parametrization.to_named(parameters), len(line.lanes))
        shifted = [self._states.steps(values, segment, None) for segment in line.segments]
        durations, controls = (
            _frame_by_frame([each[part] for each in shifted], len(line.lanes), count)
            for part in (0, 1)
        )
        # Frames side by side have as many steps as any of them, some of no length.
        is_step = (durations != 0).any(2)
        bounds = np.concatenate([[0], np.cumsum(is_step.sum(1))])
        return durations[is_step], controls[is_step], bounds

    def _by_delay(self, segment):
        """Yield (index of the late sensor or None, samples) of the samples that end a segment."""
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
    """Return parts [S, .., B] joined and by frame, [H, S, .., K]; lanes: H * K; count: K."""
    whole = np.concatenate([np.broadcast_to(p, (*p.shape[:-1], lanes)) for p in parts])
    return np.moveaxis(whole.reshape(*whole.shape[:-1], -1, count), -2, 0)


def _chained(moved, transition):
    """
    Return derivatives by z from those by an intermediate state and the parameters (chain rule).

    moved: (by state, by coordinates), None where nothing was to be differentiated; transition
    [B, t, n]: derivative of the intermediate state by z, None where it is the beginning.
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
    Linearizes one frame without late samples in forward mode, for few unknowns.

    One simulation carries the derivatives by all of z, so they are there at every sample. It costs
    one pass for each entry of z, of which a SIMD vector takes several; for many unknowns
    `FrameAtOnce` is faster.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StatePropagator`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization
        self._latest = None

    def through(self, points, parameters, line):
        """Return what `FrameLinearizer.through` does for the one frame of a `Line`."""
        cut, propagator, batch = line.cut, self._states, points.shape[1]
        values, by_coordinates = self._expanded(parameters)
        if len(by_coordinates) < batch:
            values = spread(values, batch)
            by_coordinates = np.tile(by_coordinates, (batch // len(by_coordinates), 1, 1))
        if propagator.has_unknown_delays:
            steps = propagator.delayed(values, cut)
            durations, controls, bounds = steps.durations, steps.controls, steps.bounds
            seeds = propagator.seeds(points, by_coordinates, durations, steps.by_delay)
        else:
            (durations, controls, _), bounds = cut.on_end, cut.bounds
            seeds = propagator.seeds(points, by_coordinates, durations)
        inputs = propagator.inputs(points, values, durations, controls)
        found = propagator.backend.directions_arrays(inputs, seeds)
        residual, slope = self._measured(found, cut, bounds)
        ends, transition = propagator.after(points, found, durations)
        ends, transition = propagator.decayed(ends, transition, line)
        return Linearization(ends, transition, residual, slope)

    def _expanded(self, parameters):
        """Return the parametrization's `expanded`; the last is kept, as frames often share it."""
        latest = self._latest
        if latest is None or not np.array_equal(latest[0], parameters):
            latest = self._latest = (
                parameters.copy(),
                *self._parametrization.expanded(parameters),
            )
        return latest[1:]

    def _measured(self, found, cut, bounds):
        """
        Return residual [B, m] and slope [B, m, n] of all samples, in the order of time.

        bounds [G + 1]: the steps at which pieces begin and end.
        """
        batch, n = found.d_states.shape[0], found.d_states.shape[-1]
        total = sum(len(each.rows) for each in cut.measured)
        residual, slope = np.empty((batch, total)), np.empty((batch, total, n))
        ends = np.array(bounds[1:])
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
        """Return the slope [B, m, n] of a sensor's `Rows` at the steps `at` [G]."""
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
    """Return G of the S instants of [S, n, B] as columns [n, B * G]."""
    _, size, batch = instants.shape
    return instants[at].transpose(1, 2, 0).reshape(size, batch * len(at))


class FrameAtOnce:
    """
    Linearizes one frame without late samples, all its pieces in one call, for a few columns.

    A simulation without derivatives finds where each piece begins. The Jacobians of all pieces are
    then one call, as are the rows of each sensor, which for few columns costs hardly more than any
    of the calls it replaces.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StatePropagator`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization

    def through(self, points, parameters, line):
        """Return what `FrameLinearizer.through` does for the one frame of a `Line`."""
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
        # Decays in place: a copy, since the rows are of the state before.
        last, transition = self._states.decayed(ends[:, -batch:], transitions[-1].copy(), line)
        return Linearization(last, transition, residual, slope)

    def _begins(self, points, values, cut):
        """Return the states [nx, G * B] at the beginning of every piece."""
        if cut.count == 1:
            return points
        durations, controls, places = cut.on_end
        inputs = self._states.inputs(points, values, durations, controls)
        states = self._states.backend.rollout_arrays(inputs)[0][places]
        begins = states.swapaxes(0, 1).reshape(states.shape[1], -1)
        return self._states.with_disturbance(begins, points, cut.begins)

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
    Return derivatives [G, B, t, n] of the ends of G pieces by z (chain rule).

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
    Return (parametrization, `ClockDelays`), relative to a clock if absolute time is unobservable.

    That is where the delays of all clocks, and of all commands that act, are estimated; elsewhere
    both are returned as they are. reference: index of the sensor that has this clock; clocks:
    `ClockDelays`; commands: `CommandDelays`; acting: places of the commands that act.
    """
    owners = {commands.rows[commands.owners[place]] for place in acting}
    if None in owners or reference not in clocks.rows or not clocks.are_all_estimated:
        return parametrization, clocks
    row = clocks.rows[reference]
    relative = RelativeTimes(parametrization, row, tuple(clocks.rows.values()), tuple(owners))
    return relative, clocks.without(reference)


class RelativeTimes:
    """
    A parametrization with delays relative to the delay of a reference clock.

    Where the delays of all clocks and commands are unknown, a motion that begins a little later is
    observationally equivalent to one with other delays. A filter that moved its state along that
    direction would linearize at another point after every frame, and gain information on a time
    that is unobservable. So only observable combinations enter: the delay of a clock minus that of
    the reference, and the delay of commands plus it.
    """

    def __init__(self, parametrization, reference, clocks, commands):
        """
        Take a parametrization and the rows of delays among its names.

        reference: row of the reference; clocks, commands: rows of all clocks and all commands.
        """
        self.names, self.fixed, self._parametrization = (
            parametrization.names,
            parametrization.fixed,
            parametrization,
        )
        self._reference, self._rows = reference, [*clocks, *commands]
        self._signs = np.repeat([-1.0, 1.0], [len(clocks), len(commands)])[:, None]

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B], with relative delays."""
        return self._relative(self._parametrization.to_named(coordinates))

    def expanded(self, coordinates):
        """Return these values and their derivative by the coordinates, [B, P, p]."""
        values, slope = self._parametrization.expanded(coordinates)
        slope = slope.copy()
        slope[:, self._rows] += self._signs * slope[:, [self._reference]]
        return self._relative(values), slope

    def _relative(self, values):
        values = values.copy()
        values[self._rows] += self._signs * values[self._reference]
        return values
