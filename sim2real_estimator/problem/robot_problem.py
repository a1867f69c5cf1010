"""A robot, its sensors and its unknown parameters as the problem an estimator sees."""

from dataclasses import dataclass

import numpy as np
import torch

from ..backend.base import RolloutInputs
from ..backend.choice import choose_backend
from ..dynamics.system import System
from ..inference.protocol import Linearization
from .first_state import guess_state
from .parameter_chart import mass_matrices
from .state_chart import StateChart
from .timeline import TimelineCache

_SPREAD_DRAWS, _SPREAD_POSES = 24, 6


@dataclass(frozen=True)
class ProblemOptions:
    """
    How a problem is simulated.

    max_step [s]: longest integration step; position_floor, velocity_floor: what a frame adds to
    the standard deviations of positions [rad or m] and velocities [per s]; position_sd,
    velocity_sd: of the first state about the guess.
    """

    integrator: str = 'rk4'
    backend: str = 'auto'
    max_step: float = 0.01
    position_floor: float = 1e-7
    velocity_floor: float = 1e-5
    position_sd: float = 0.5
    velocity_sd: float = 5.0


class RobotProblem:
    """
    The problem of a robot; see `inference.protocol.Problem`.

    Frames enter as `records.Frame`; numbers are NumPy arrays, the batch last for states and
    parameters, first for derivatives.
    """

    def __init__(self, parameters, sensors, chart, options=None):
        """
        Set up the problem.

        parameters: the model's `Parameters`; sensors: a tuple of AbstractSensor; chart: the
        `ParameterChart` between the estimator's coordinates and named parameters.
        """
        self.options = options or ProblemOptions()
        self.parameters, self.sensors, self.chart = parameters, tuple(sensors), chart
        self.model = parameters.model
        observing = [s for s in self.sensors if s.output_size]
        self._outputs = _output_slices(self.sensors)

        def observe(robot, q, v):
            return [x for sensor in observing for x in sensor.observe(robot, q, v)]

        self._system = System(
            parameters,
            chart.names,
            self.options.integrator,
            observation=observe if observing else None,
        )
        backend = choose_backend(self.options.backend)
        values = dict(zip(parameters, parameters.nominal())) | chart.fixed
        self._backend = backend(self._system, values)
        self._state = StateChart(self.model)
        self._timelines = TimelineCache(
            self.sensors, self._system.control_size, self.options.max_step
        )
        self.point_size, self.tangent_size = self.model.state_size, self._state.size
        self.labels, self.prior = chart.labels, chart.prior
        nv = self.model.velocity_size
        self.noise_floor = np.array(
            [self.options.position_floor] * nv + [self.options.velocity_floor] * nv
        )

    def retract(self, points, deltas):
        """Return the points [nx, B] moved by local coordinates [t, B]."""
        return self._state.retract(points, deltas)

    def first_state(self, frames):
        """Return (point [nx], root [t, t]): a state guessed from the first frames, and its sd."""
        nv = self.model.velocity_size
        root = np.diag([self.options.position_sd] * nv + [self.options.velocity_sd] * nv)
        return guess_state(self, frames), root

    @property
    def neutral(self):
        """The state [nx] with every joint at its neutral position, at rest."""
        return np.array([*self.model.neutral_positions(), *[0.0] * self.model.velocity_size])

    def local(self, starts, ends):
        """Return the local coordinates [t, B] at `starts` of the points `ends`."""
        return self._state.local(starts, ends)

    def observe(self, points, parameters, frame):
        """Return (residual [B, m], slope [B, m, t]) of a frame's samples, all taken as now."""
        values, by_chart = self.chart.to_named(parameters), self.chart.slope(parameters)
        residual, slope = [], []
        for segment in self._timelines.line((frame,)).segments:
            if segment.measured:
                rows, gradient = self._measure(points, values, by_chart, segment, True)
                residual.append(rows)
                slope.append(gradient[..., : self.tangent_size])
        return np.concatenate(residual, 1), np.concatenate(slope, 1)

    def trajectory(self, points, parameters, frames):
        """Return the states [H + 1, nx, K] at the bounds of consecutive frames."""
        line = self._timelines.chain(frames)
        inputs = self._inputs(points, parameters, line.durations, line.controls)
        with torch.no_grad():
            states, _ = self._backend.rollout(inputs)
        return states.numpy()[line.bounds]

    def residuals(self, states, parameters, frames):
        """Return the whitened residuals [K, M] of consecutive frames on a trajectory."""
        count = states.shape[-1]
        lanes = np.moveaxis(states[:-1], 0, 1).reshape(self.point_size, -1)
        pieces = self._walk(
            lanes,
            np.tile(parameters, len(frames)),
            [f for f in frames for _ in range(count)],
            derivatives=False,
        )
        return np.moveaxis(pieces.residual.reshape(len(frames), count, -1), 0, 1).reshape(
            count, -1
        )

    def linearize(self, points, parameters, frames):
        """Return the `Linearization` of one frame for every column, or of one for all."""
        return self._walk(points, parameters, frames, derivatives=True)

    def spread(self, means, roots):
        """Return how well the mass matrix is known: a relative sd for every column."""
        generator = np.random.default_rng(0)
        noise = generator.standard_normal((_SPREAD_DRAWS, roots.shape[-1]))
        positions = self._poses(generator)
        spreads = []
        for mean, root in zip(means.T, roots):
            draws = np.concatenate([mean[:, None], mean[:, None] + root @ noise.T], 1)
            values = np.tile(self.chart.to_named(draws), _SPREAD_POSES)
            matrices = mass_matrices(
                self._system, values, np.repeat(positions, _SPREAD_DRAWS + 1, 1)
            )
            matrices = matrices.reshape(_SPREAD_POSES, _SPREAD_DRAWS + 1, *matrices.shape[1:])
            spreads.append(_relative_spread(matrices))
        return np.array(spreads)

    def _poses(self, generator):
        """Return random positions [nq, poses]."""
        nv = self.model.velocity_size
        points = np.repeat(self.neutral[:, None], _SPREAD_POSES, 1)
        turns = np.zeros((self.tangent_size, _SPREAD_POSES))
        turns[:nv] = generator.standard_normal((nv, _SPREAD_POSES))
        return self.retract(points, turns)[: self.model.position_size]

    def _walk(self, points, parameters, frames, derivatives):
        """Go from sample to sample through one frame per column."""
        line = self._timelines.line(frames)
        batch, t, p = points.shape[1], self.tangent_size, len(self.labels)
        values = self.chart.to_named(parameters)
        by_chart = self.chart.slope(parameters) if derivatives else None
        transition = np.zeros((batch, t, t + p))
        transition[:, range(t), range(t)] = 1.0
        residual, slope = [], []
        for segment in line.segments:
            points, moved = self._move(points, values, by_chart, segment, derivatives)
            if derivatives:
                chained = moved[..., :t] @ transition
                chained[..., t:] += moved[..., t:]
                transition = chained
            if segment.measured:
                rows, gradient = self._measure(points, values, by_chart, segment, derivatives)
                residual.append(rows)
                if derivatives:
                    chained = gradient[..., :t] @ transition
                    chained[..., t:] += gradient[..., t:]
                    slope.append(chained)
        empty = np.zeros((batch, 0))
        residual = np.concatenate(residual, 1) if residual else empty
        slope = np.concatenate(slope, 1) if slope else np.zeros((batch, 0, t + p))
        return Linearization(points, transition, residual, slope)

    def _move(self, points, values, by_chart, segment, derivatives):
        """Return the states after a segment and their derivative [B, t, t + p]."""
        inputs = self._named_inputs(points, values, segment.durations, segment.controls)
        with torch.no_grad():
            if not derivatives:
                return self._backend.rollout(inputs)[0][-1].numpy(), None
            found = self._backend.jacobian(inputs)
        ends = found.state.numpy()
        by_state = self._state.pull(ends, found.by_state.numpy(), points)
        by_named = self._state.pull_rows(ends, found.by_parameters.numpy())
        return ends, np.concatenate([by_state, by_named @ by_chart], -1)

    def _measure(self, points, values, by_chart, segment, derivatives):
        """Return the residual rows [B, m] of a segment's end and their slope [B, m, t + p]."""
        outputs = d_outputs = None
        if any(self.sensors[i].output_size for i, _ in segment.measured):
            none = np.zeros((0, 1))
            inputs = self._named_inputs(
                points, values, none, np.zeros((0, self._system.control_size, 1))
            )
            with torch.no_grad():
                if derivatives:
                    found = self._backend.sensitivities(inputs)
                    d_outputs = found.d_outputs[:, 0].numpy()
                    outputs = found.outputs[0].numpy()
                else:
                    outputs = self._backend.rollout(inputs)[1][0].numpy()
        residual, slope = [], []
        for index, measured in segment.measured:
            sensor, part = self.sensors[index], self._outputs[index]
            rows = sensor.rows(
                points,
                None if outputs is None else outputs[part],
                np.broadcast_to(measured, (points.shape[1], sensor.value_size)),
            )
            residual.append(rows.values)
            if derivatives:
                slope.append(self._row_slope(points, rows, d_outputs, part, by_chart))
        return np.concatenate(residual, 1), np.concatenate(slope, 1) if derivatives else None

    def _row_slope(self, points, rows, d_outputs, part, by_chart):
        """Return the slope [B, m, t + p] of a sensor's rows."""
        batch, count = rows.values.shape
        ambient = np.zeros((batch, count, self.point_size))
        named = np.zeros((batch, count, len(self.chart.names)))
        if rows.by_state is not None:
            ambient = ambient + rows.by_state
        if rows.by_outputs is not None:
            chained = rows.by_outputs @ d_outputs[:, part]
            ambient = ambient + chained[..., : self.point_size]
            named = named + chained[..., self.point_size :]
        return np.concatenate([self._state.push(points, ambient), named @ by_chart], -1)

    def _inputs(self, points, parameters, durations, controls):
        return self._named_inputs(points, self.chart.to_named(parameters), durations, controls)

    def _named_inputs(self, points, values, durations, controls):
        return RolloutInputs(
            *(
                torch.from_numpy(np.ascontiguousarray(a))
                for a in (points, values, controls, durations)
            )
        )


def _relative_spread(matrices):
    """Return the largest, over poses, of the rms relative change of mass matrices [poses, 1+n]."""
    mean, draws = matrices[:, :1], matrices[:, 1:]
    if not np.isfinite(matrices).all():
        return np.inf
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(mean))
    except np.linalg.LinAlgError:
        return np.inf
    relative = inverse @ draws @ np.swapaxes(inverse, -1, -2)
    change = np.abs(np.linalg.eigvalsh(relative) - 1).max(-1)
    return float(np.sqrt((change**2).mean(-1)).max())


def _output_slices(sensors):
    """Return for every sensor where its outputs stand among all."""
    slices, start = [], 0
    for sensor in sensors:
        slices.append(slice(start, start + sensor.output_size))
        start += sensor.output_size
    return slices
