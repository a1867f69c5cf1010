"""Poses and points as functions of joint positions and kinematics, traced once by CasADi."""

import casadi
import numpy as np

from ..model.robot import realize
from ..parameters.delays import is_delay

# Residual rows of a position or a rotation; those of an image point are two.
_AXES = 3


class PoseModel:
    """
    The residuals of poses and points as functions of the coordinates of a parametrization.

    sensors: the S sensors that observe links; places [k]: indices of the coordinates that their
    residuals depend on, delays of clocks included; geometry: names of those that belong to the
    robot; parts [G]: (index of a sensor, slice of its rows) of every measured position and
    rotation; titles [G]: (name of the sensor, 'position' or 'turn', configured sd).
    """

    @staticmethod
    def of(parameters, parametrization, sensors, encoders):
        """
        Return the `PoseModel` of the sensors that observe links.

        None if there are none, or if their residuals depend on no estimated parameter.
        """
        seeing = [sensor for sensor in sensors if sensor.sees_links]
        model = PoseModel(parameters, parametrization, seeing, encoders) if seeing else None
        return model if model and len(model.places) else None

    def __init__(self, parameters, parametrization, sensors, encoders):
        """
        Trace the outputs of sensors of a robot whose joints all have one degree of freedom.

        parameters: the model's `Parameters`; parametrization: with a coordinate for every name;
        sensors: of poses and points; encoders: sensors of joints, whose clock motion is known by.
        """
        self._parametrization, self.sensors = parametrization, tuple(sensors)
        self._encoders = {sensor.name: sensor.places[: len(sensor.joints)] for sensor in encoders}
        self._numbers = {sensor.name: k for k, sensor in enumerate(self.sensors)}
        self.parts = tuple(
            (k, slice(first, min(first + _AXES, sensor.row_size)))
            for k, sensor in enumerate(self.sensors)
            for first in range(0, sensor.row_size, _AXES)
        )
        signals = [
            (s.name, s.signals[rows.start]) for k, rows in self.parts for s in [self.sensors[k]]
        ]
        self.titles = tuple(
            (name, 'turn' if signal.unit == 'rad' else 'position', signal.sd)
            for name, signal in signals
        )
        values = dict(
            zip(
                parametrization.names,
                parametrization.to_named(parametrization.prior.mean[:, None])[:, 0].tolist(),
            )
        )
        known = {n: v for n, v in {**parametrization.fixed, **values}.items() if n in parameters}
        known = {name: value for name, value in known.items() if not is_delay(name)}
        traced = [_traced(parameters, parametrization, known, sensor) for sensor in self.sensors]
        self._functions = [function for function, _ in traced]
        self._seen = [seen for _, seen in traced]
        others = {parameter.name for parameter in parameters.more}
        names = [
            parametrization.names[row]
            for row in sorted({int(row) for seen in self._seen for row in seen})
        ]
        self.geometry = tuple(name for name in names if name not in others)
        clocks = [sensor.name for sensor in (*self.sensors, *encoders[:1])]
        self._clocks = [_clock(parametrization, name) for name in clocks]
        rows = {int(row) for seen in self._seen for row in seen}
        rows |= {row for row, _ in self._clocks if row is not None}
        self.places = np.array(sorted(rows), dtype=int)
        self._columns = {row: column for column, row in enumerate(self.places.tolist())}

    def joint_positions(self, frame):
        """Return (stamp_ns, places [k], positions [k]) of each sample of encoders in a frame."""
        return tuple(
            (sample.stamp_ns, places, sample.values[: len(places)])
            for sample in frame.samples
            if (places := self._encoders.get(sample.sensor)) is not None
        )

    def read(self, frame, moved_ns=0):
        """
        Return ((number of the sensor, stamp_ns, values), ...) of a frame, and moved_ns.

        Stamps are as they came, beside those of encoders, which are earlier by moved_ns.
        """
        found = []
        for sample in frame.samples:
            if sample.sensor in self._encoders:
                moved_ns = sample.moved_ns
        for sample in frame.samples:
            number = self._numbers.get(sample.sensor)
            if number is not None:
                stamp_ns = sample.stamp_ns + sample.moved_ns - moved_ns
                values = np.full(max(s.value_size for s in self.sensors), np.nan)
                values[: len(sample.values)] = sample.values
                found.append((number, stamp_ns, values))
        return tuple(found), moved_ns

    def delays(self, coordinates):
        """
        Return (delays [S], slope [S, k]) of clocks beside that of the encoders [s].

        coordinates [k]: those at `places`.
        """
        values, slope = (
            np.zeros(len(self._clocks)),
            np.zeros((len(self._clocks), len(self.places))),
        )
        for number, (row, known) in enumerate(self._clocks):
            if row is None:
                values[number] = known
            else:
                values[number] = coordinates[self._columns[row]]
                slope[number, self._columns[row]] = 1.0
        return values[:-1] - values[-1], slope[:-1] - slope[-1]

    def residuals(self, coordinates, number, positions, velocities, values):
        """
        Return (residuals [N, r], slope [N, r, k]) of samples of one sensor.

        Predicted less measured, in sds of the sensor, zero where values are missing.
        coordinates [k]; number: index of the sensor; positions, velocities [N, n]: of joints when
        samples were taken; values [N, .]: measured.
        """
        sensor, columns = self.sensors[number], self._columns
        full = self._parametrization.prior.mean.copy()
        full[self.places] = coordinates
        named, by_coordinates = self._parametrization.expanded(full[:, None])
        count, size, seen = len(positions), positions.shape[1], self._seen[number]
        outputs, slopes = self._functions[number](positions.T, named[:, 0])
        slopes = slopes.full().reshape(sensor.output_size, count, size + len(seen))
        rows = sensor.rows(None, outputs.full(), values[:, : sensor.value_size])
        slopes = rows.by_outputs @ slopes.transpose(1, 0, 2)
        result = np.zeros((*rows.values.shape, len(self.places)))
        rates = by_coordinates[0, seen, seen]
        result[..., [columns[row] for row in seen.tolist()]] = slopes[..., size:] * rates
        by_time = (slopes[..., :size] @ velocities[..., None])[..., 0]
        # A sensor with a larger delay observed earlier positions.
        result -= by_time[..., None] * self.delays(coordinates)[1][number]
        return rows.values, result


def _traced(parameters, parametrization, known, sensor):
    """
    Return (function, rows) of a sensor; rows: places of the names that its outputs depend on.

    The function takes positions [n, N] and the values [P] of the parametrization; it returns
    outputs [k, N] and their derivatives [k, N (n + rows)].
    """
    positions = casadi.SX.sym('q', parameters.model.position_size)
    values = casadi.SX.sym('values', len(parametrization.names))
    named = dict(zip(parametrization.names, casadi.vertsplit(values)))
    named = {name: value for name, value in named.items() if name in known}
    robot = realize(parameters, {**known, **named})
    rest = [0.0] * parameters.model.velocity_size
    outputs = casadi.vertcat(*sensor.observe(robot, casadi.vertsplit(positions), rest))
    _, columns = casadi.jacobian(outputs, values).sparsity().get_triplet()
    rows = np.array(sorted(set(columns)), dtype=int)
    slopes = casadi.jacobian(outputs, values)
    slopes = casadi.horzcat(
        casadi.jacobian(outputs, positions), *(slopes[:, row] for row in rows.tolist())
    )
    results = casadi.cse([casadi.densify(outputs), casadi.densify(slopes)])
    return casadi.Function('seen', [positions, values], results), rows


def _clock(parametrization, sensor):
    """Return (row of the delay of a sensor's clock or None, its known value [s])."""
    name = f'{sensor}.delay'
    if name in parametrization.names:
        return parametrization.names.index(name), 0.0
    return None, parametrization.fixed.get(name, 0.0)
