"""Through a frame from sample to sample, with derivatives."""

from dataclasses import replace

import numpy as np
import torch

from ..backend.choice import choose_backend
from ..dynamics.system import System
from ..inference.protocol import Linearization
from .sample_rows import SampleRows
from .state_walk import StateWalk
from .timing import ClockDelays, CommandDelays, is_delay, require_known

# With more columns than this the calls are large enough, and derivatives of all at once too large.
_FEW_COLUMNS = 32


class FrameWalk:
    """
    Simulates frames and compares them with their samples, for many pairs of state and parameters.

    A sensor whose clock is late saw an earlier state: the walk to its sample ends earlier, by a
    time that may be unknown. Commands that act late cut the integration steps elsewhere.
    `HiddenForces` are part of the state.
    """

    def __init__(self, parameters, sensors, chart, state_chart, hidden, options):
        """Take the parts of a `RobotProblem`."""
        self.sensors, self.chart, self.state_chart = sensors, chart, state_chart
        self._hidden = hidden
        observing = [s for s in sensors if s.output_size]

        def observe(robot, q, v):
            return [x for sensor in observing for x in sensor.observe(robot, q, v)]

        physical = tuple(n for n in chart.names if n in parameters and not is_delay(n))
        self.system = System(
            parameters,
            physical,
            options.integrator,
            observation=observe if observing else None,
            is_disturbed=hidden.size > 0,
        )
        values = dict(zip(parameters, parameters.nominal()))
        values |= {name: value for name, value in chart.fixed.items() if name in parameters}
        self.backend = choose_backend(options.backend)(self.system, values)
        self._rows = SampleRows(sensors, parameters.model, state_chart, len(physical))
        self.outputs = self._rows.slices
        require_known(chart.names, parameters.model, sensors, physical)
        self._clocks = ClockDelays(sensors, chart.names, chart.fixed)
        self._commands = CommandDelays(parameters.model, chart.names, chart.fixed)
        delays = self._commands, self._clocks
        self._states = StateWalk(
            self.backend, state_chart, hidden, delays, len(physical), options.max_step
        )
        self.inputs, self.fading = self._states.inputs, self._states.fading

    @property
    def known_controls(self):
        """How many controls come from outside: all but the hidden forces."""
        return self.system.control_size - self._hidden.control_size

    @property
    def moves_by_delay(self):
        """Whether an unknown delay moves the robot itself, not only what is seen of it."""
        return self._commands.is_estimated

    def through(self, points, parameters, line, derivatives):
        """Return the `Linearization` of one frame per column; slopes are left out if not asked."""
        if derivatives and self._is_punctual(line) and points.shape[1] <= _FEW_COLUMNS:
            return self._through_at_once(points, parameters, line)
        values = self.chart.to_named(parameters)
        by_chart = self.chart.slope(parameters) if derivatives else None
        t, n = self.state_chart.size, self.state_chart.size + len(parameters)
        transition = np.zeros((points.shape[1], t, n))
        transition[:, range(t), range(t)] = 1.0
        residual, slope = [], []
        for segment in line.segments:
            begin = points, transition
            points, moved = self._states.move(points, values, segment, None, derivatives)
            transition = _chained(moved, by_chart, transition)
            for late, measured in self._by_delay(segment):
                at = points, transition
                if late is not None:
                    state, moved = self._states.move(begin[0], values, segment, late, derivatives)
                    at = state, _chained(moved, by_chart, begin[1])
                rows, gradient = self._rows.measure(
                    self.backend, at[0], values, measured, derivatives
                )
                residual.append(rows)
                if derivatives:
                    slope.append(_chained(gradient, by_chart, at[1]))
        points, transition = self._states.faded(points, transition, line)
        if not residual:
            residual, slope = [np.zeros((points.shape[1], 0))], [np.zeros((len(transition), 0, n))]
        return Linearization(
            points,
            transition,
            np.concatenate(residual, 1),
            np.concatenate(slope, 1) if derivatives else np.zeros((0, 0, n)),
        )

    def _is_punctual(self, line):
        """Tell whether a line has several segments, and none of them hangs on a delay."""
        return (
            len(line.segments) > 1
            and not self._commands.is_estimated
            and not any(self._clocks.is_late(g, *m) for g in line.segments for m in g.measured)
        )

    def _through_at_once(self, points, parameters, line):
        """
        Return what `through` returns, all segments side by side.

        A first pass without derivatives tells where each segment begins; the derivatives of all
        of them are then asked for in one call instead of one each, which with few columns costs
        most of the time.
        """
        batch, count = points.shape[1], len(line.segments)
        values, by_chart = self.chart.to_named(parameters), self.chart.slope(parameters)
        t, n = self.state_chart.size, self.state_chart.size + len(parameters)
        begins, segment = self._side_by_side(points, values, line)
        wide = np.tile(values, count)
        ends, (by_state, by_named) = self._states.move(begins, wide, segment, None, True)
        by_state = by_state.reshape(count, batch, t, t)
        by_x = by_named.reshape(count, batch, t, -1) @ by_chart
        transitions = np.empty((count, batch, t, n))
        transition = np.zeros((batch, t, n))
        transition[:, range(t), range(t)] = 1.0
        for k in range(count):
            transition = by_state[k] @ transition
            transition[..., t:] += by_x[k]
            transitions[k] = transition
        residual, slope = self._measure_all(ends, wide, by_chart, transitions, line)
        last, transition = self._states.faded(ends[:, -batch:], transition, line)
        return Linearization(last, transition, residual, slope)

    def _side_by_side(self, points, values, line):
        """Return the states [nx, G * B] at the begins of segments, and a `Segment` of them all."""
        batch = points.shape[1]
        steps = max(len(segment.durations) for segment in line.segments)
        durations, controls = [], []
        for segment in line.segments:
            missing = steps - len(segment.durations)
            for parts, array in ((durations, segment.durations), (controls, segment.controls)):
                padded = np.concatenate([array, np.zeros((missing, *array.shape[1:]))])
                parts.append(np.broadcast_to(padded, (*padded.shape[:-1], batch)))
        inputs = self._states.inputs(
            points, values, np.concatenate(durations), np.concatenate(controls)
        )
        with torch.no_grad():
            states = self.backend.rollout(inputs)[0].numpy()[:-1:steps]
        begins = np.moveaxis(states, 0, 1).reshape(states.shape[1], -1)
        if self.system.is_disturbed:
            lengths = np.cumsum([np.zeros(batch), *(d.sum(0) for d in durations[:-1])], 0).ravel()
            hidden = np.tile(self._states.hidden_part(points), len(durations))
            begins = np.concatenate([begins, self._hidden.grown(hidden, lengths)])
        side_by_side = replace(
            line.segments[0],
            durations=np.concatenate(durations, -1),
            controls=np.concatenate(controls, -1),
        )
        return begins, side_by_side

    def _measure_all(self, ends, values, by_chart, transitions, line):
        """Return residual [B, m] and slope [B, m, n] of all samples, in the order of segments."""
        count, batch, t, n = transitions.shape
        alike = {}
        for k, segment in enumerate(line.segments):
            if segment.measured:
                alike.setdefault(tuple(index for index, _ in segment.measured), []).append(k)
        found = [(np.zeros((batch, 0)), np.zeros((batch, 0, n)))] * count
        for indices, places in alike.items():
            lanes = np.concatenate([np.arange(k * batch, (k + 1) * batch) for k in places])
            measured = [
                (index, np.concatenate([self._spread(line, k, j, batch) for k in places]))
                for j, index in enumerate(indices)
            ]
            rows, (by_state, by_named) = self._rows.measure(
                self.backend, ends[:, lanes], values[:, lanes], measured, True
            )
            slope = by_state @ transitions[places].reshape(-1, t, n)
            slope[..., t:] += (
                by_named.reshape(len(places), batch, *by_named.shape[1:]) @ by_chart
            ).reshape(*slope.shape[:2], -1)
            for place, k in enumerate(places):
                part = slice(place * batch, (place + 1) * batch)
                found[k] = rows[part], slope[part]
        return tuple(np.concatenate(parts, 1) for parts in zip(*found))

    @staticmethod
    def _spread(line, k, j, batch):
        """Return the j-th samples [B, size] at the end of the k-th segment."""
        sample = line.segments[k].measured[j][1]
        return np.broadcast_to(sample, (batch, sample.shape[-1]))

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
        values, by_chart = self.chart.to_named(parameters), self.chart.slope(parameters)
        t = self.state_chart.size
        still = np.zeros((points.shape[1], t, t + len(parameters)))
        still[:, range(t), range(t)] = 1.0
        found = [
            self._rows.measure(self.backend, points, values, segment.measured, True)
            for segment in line.segments
            if segment.measured
        ]
        slopes = [_chained(gradient, by_chart, still)[..., :t] for _, gradient in found]
        return np.concatenate([r for r, _ in found], 1), np.concatenate(slopes, 1)

    def steps(self, parameters, line):
        """Return (durations [S, B], controls [S, nu, B]) of all segments on end."""
        values = self.chart.to_named(parameters)
        shifted = [self._states.steps(values, segment, None) for segment in line.segments]
        batch = parameters.shape[1]
        durations = [np.broadcast_to(s[0], (*s[0].shape[:1], batch)) for s in shifted]
        controls = [np.broadcast_to(s[1], (*s[1].shape[:2], batch)) for s in shifted]
        return np.concatenate(durations), np.concatenate(controls)

    def _by_delay(self, segment):
        """Yield (the late sensor's index or None, samples) for what a segment's end measures."""
        is_late = [self._clocks.is_late(segment, *sample) for sample in segment.measured]
        in_time = [sample for sample, late in zip(segment.measured, is_late) if not late]
        if in_time:
            yield None, in_time
        for sample, late in zip(segment.measured, is_late):
            if late:
                yield sample[0], [sample]


def _chained(moved, by_chart, transition):
    """Return derivatives by z at the frame's beginning from those at a state on the way."""
    if moved is None:
        return transition
    by_state, by_named = moved
    result = by_state @ transition
    size = transition.shape[1]
    result[..., size:] += by_named @ by_chart
    return result
