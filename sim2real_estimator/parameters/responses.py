"""
Responses of a robot: all that data can depend on, as functions of the unknown parameters.

`Responses` are accelerations and sensor outputs in random states. Their null space is that of any
data, so it separates observable from unobservable directions. `ResponseEquations` reduce them to
as many equations as there are observable directions; `CompiledResponses` evaluate them faster.
"""

from dataclasses import dataclass
import threading

import numpy as np
import torch
from torch.autograd import forward_ad

from ..backend.base import RolloutInputs
from ..backend.choice import choose_backend
from ..backend.dual_numbers import dual_level
from ..dynamics.system import System
from ..dynamics.wrenches import WRENCH_SIZE
from .delays import is_delay

_SITUATIONS = 40
_POSITION_SPREAD, _VELOCITY_SPREAD = 1.0, 2.0
_LEAST_SHARE = 0.01
# One step of a second by this integrator adds the acceleration to the velocities.
_INTEGRATOR = 'semi_implicit_euler'
# Slopes of fewer points times parameters than this are there before a program is built.
_WORTH_A_PROGRAM = 40
# How many more responses than equations are looked at, where they can be many.
_SPARE = 2
_RANK_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Situations:
    """Random states and commands: q [nq, N], v [nv, N], u [nu, N]."""

    positions: np.ndarray
    velocities: np.ndarray
    commands: np.ndarray

    @property
    def count(self):
        """How many there are."""
        return self.positions.shape[1]


class Responses:
    """
    Accelerations and sensor outputs in random situations, as functions of the coordinates.

    Parameters with the same responses are observationally equivalent: no motion tells them apart.

    parametrization: a `DirectParametrization`; system: a `System`; observing: sensors that have
    outputs; situations: `Situations`; scale [M, 1]: usual size of each response.
    """

    def __init__(
        self, parameters, sensors, parametrization, state_coordinates, known_commands, wrenches=()
    ):
        """
        Draw the situations.

        parametrization: a `DirectParametrization`; known_commands: for every command whether it
        acts and is known; wrenches: measured `LinkWrench`es.
        """
        model = parameters.model
        self.parametrization = parametrization
        self.observing = tuple(s for s in sensors if s.output_size)
        self.system = System(parameters, parametrization.names, wrenches=tuple(wrenches))
        known_commands = [*known_commands, *[True] * (WRENCH_SIZE * len(wrenches))]
        self._values = _fixed_values(parameters, parametrization)
        generator = np.random.default_rng(7)
        neutral = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
        turns = np.zeros((state_coordinates.size, _SITUATIONS))
        nq, nv = model.position_size, model.velocity_size
        turns[:nv] = _POSITION_SPREAD * generator.standard_normal((nv, _SITUATIONS))
        points = state_coordinates.retract(np.repeat(neutral[:, None], _SITUATIONS, 1), turns)
        commands = generator.standard_normal((self.system.control_size, _SITUATIONS))
        commands = commands * np.asarray(known_commands, dtype=float).reshape(-1, 1)
        velocities = _VELOCITY_SPREAD * generator.standard_normal((nv, _SITUATIONS))
        self.situations = Situations(points[:nq], velocities, commands)
        self._equations, self._building = {}, threading.Lock()
        self.scale = 1.0
        raw = self.values(parametrization.prior.mean[:, None]).reshape(-1, _SITUATIONS)
        self.scale = np.repeat(_usual_sizes(raw, nv), _SITUATIONS, 1).reshape(-1, 1)

    @property
    def size(self):
        """The number of coordinates."""
        return len(self.parametrization.names)

    def equations(self, rank, points):
        """
        Return the `ResponseEquations`, compiled if that pays for so many points.

        rank: number of observable directions.
        """
        is_compiled = is_worth_a_program(self.size, points)
        with self._building:
            if is_compiled not in self._equations:
                self._equations[is_compiled] = ResponseEquations(self, rank, is_compiled)
        return self._equations[is_compiled]

    def values(self, coordinates):
        """Return the responses [M, B] of coordinates [p, B], each in units of its usual size."""
        return self._evaluate(coordinates, None)[0]

    def slopes(self, coordinates):
        """Return the responses [M, B] and their derivative [B, M, p]."""
        count = len(coordinates)
        wide = np.repeat(coordinates, count, 1)
        unit = np.tile(np.eye(count), (1, coordinates.shape[1]))
        values, tangents = self._evaluate(wide, unit)
        batch = coordinates.shape[1]
        values = values.reshape(len(values), batch, count)[..., 0]
        return values, tangents.reshape(len(tangents), batch, count).transpose(1, 0, 2)

    def _evaluate(self, coordinates, tangent):
        """Return the scaled responses [M, B] and their derivative along tangents [p, B]."""
        batch = coordinates.shape[1]
        values = np.repeat(self.parametrization.to_named(coordinates), _SITUATIONS, 1)
        named = torch.from_numpy(np.ascontiguousarray(values))
        with dual_level():
            if tangent is not None:
                moved = np.einsum('bij,jb->ib', self.parametrization.slope(coordinates), tangent)
                moved = np.ascontiguousarray(np.repeat(moved, _SITUATIONS, 1))
                named = forward_ad.make_dual(named, torch.from_numpy(moved))
            rows = self._respond(named, batch, tangent is not None)
            parts = [forward_ad.unpack_dual(row) for row in rows]
            primal = torch.stack([part.primal for part in parts]).numpy()
            slope = None
            if tangent is not None:
                slope = torch.stack(
                    [
                        torch.zeros_like(part.primal) if part.tangent is None else part.tangent
                        for part in parts
                    ]
                ).numpy()
        # Rows by kind, lanes by sample and situation: [kinds * situations, B].
        arranged = [
            None
            if a is None
            else a.reshape(-1, batch, _SITUATIONS).transpose(0, 2, 1).reshape(-1, batch)
            / self.scale
            for a in (primal, slope)
        ]
        return arranged[0], arranged[1]

    def _respond(self, named, batch, is_dual):
        """
        Return the accelerations and outputs, a list of tensors [B * situations].

        is_dual: whether derivatives are taken. A dual tensor times a plain one takes torch forty
        times as long as times a dual one of zero tangent.
        """
        s = self.situations
        q, v, u = (
            [_held(row) if is_dual else row for row in torch.from_numpy(np.tile(a, batch))]
            for a in (s.positions, s.velocities, s.commands)
        )
        robot = self.system.robot({**self._values, **dict(zip(self.system.estimated, named))})
        rows = list(self.system.acceleration(robot, q, v, u)[0])
        for sensor in self.observing:
            rows += sensor.observe(robot, q, v)
        lanes = batch * _SITUATIONS
        return [torch.as_tensor(row, dtype=torch.float64).expand(lanes) for row in rows]


def _held(tensor):
    """Return a dual tensor with a tangent of zero."""
    return forward_ad.make_dual(tensor, torch.zeros_like(tensor))


def _fixed_values(parameters, parametrization):
    """Return the values that differ from the model's nominal ones."""
    return {
        name: value
        for name, value in parametrization.fixed.items()
        if not is_delay(name) and value != parameters[name].nominal
    }


def _usual_sizes(responses, accelerations):
    """
    Return the root mean square of every kind of response [kinds, 1].

    At least a hundredth of the largest acceleration or output, for kinds that are always about
    zero, such as a constant height. Accelerations come first, then outputs.
    """
    size = np.sqrt((responses**2).mean(1, keepdims=True))
    for part in (slice(0, accelerations), slice(accelerations, None)):
        if size[part].size:
            size[part] = np.maximum(size[part], max(_LEAST_SHARE * size[part].max(), 1e-9))
    return size


class ResponseEquations:
    """
    As many equations as there are observable directions; equivalent parameters solve the same.

    Points [B, p] are whitened coordinates. At the prior mean the slopes of the equations are
    orthonormal, so that they are well conditioned near it.
    """

    def __init__(self, responses, rank, is_compiled):
        """Take the `Responses`, the number of observable directions and how to evaluate."""
        self._parametrization, size = responses.parametrization, responses.size
        at_mean = responses.slopes(self._parametrization.prior.mean[:, None])[1][0]
        at_mean = self._parametrization.by_whitened(at_mean)
        kinds = len(responses.scale) // responses.situations.count
        # [kinds, situations, p]
        at_mean = at_mean.reshape(kinds, -1, size)
        if is_compiled:
            moving = responses.system.model.velocity_size
            is_observed = bool(at_mean[moving:].any())
            responses = CompiledResponses(responses, is_observed)
            at_mean = at_mean[: responses.kinds]
            self._slopes, situations = responses.slopes, _enough(at_mean, rank)
            at_mean, self._how = at_mean[:, :situations], (situations,)
        else:
            self._slopes, self._how = responses.slopes, ()
        self._values = responses.values
        left, sizes, _ = np.linalg.svd(at_mean.reshape(-1, size), full_matrices=False)
        self._reduction = (left[:, :rank] / sizes[:rank]).T

    def point(self, coordinates):
        """Return the points [B, p] of coordinates [p, B]."""
        return self._parametrization.whitened(coordinates)

    def coordinates(self, points):
        """Return the coordinates [p, B] of points [B, p]."""
        return self._parametrization.unwhitened(points)

    def sides(self, points):
        """Return the left sides [B, r] of the equations and their slopes [B, r, p]."""
        values, slopes = self._slopes(self.coordinates(points), *self._how)
        slopes = self._parametrization.by_whitened(self._reduction @ slopes)
        return values.T @ self._reduction.T, slopes

    def mismatch(self, points, others):
        """Return the largest difference [B] between the responses of points and of others."""
        here, there = (self._values(self.coordinates(each)) for each in (points, others))
        return np.abs(here - there).max(0)


def _enough(slopes, rank):
    """Return how many of the S situations suffice for the rank of slopes [kinds, S, p]."""
    kinds, all_of_them, size = slopes.shape
    for count in range(-(-_SPARE * rank // kinds), all_of_them):
        sizes = np.linalg.svd(slopes[:, :count].reshape(-1, size), compute_uv=False)
        if len(sizes) >= rank and sizes[rank - 1] > _RANK_TOLERANCE * sizes[0]:
            return count
    return all_of_them


def is_worth_a_program(size, points):
    """Tell whether compiling pays for so many parameters and points."""
    return size * points > _WORTH_A_PROGRAM


class CompiledResponses:
    """The `Responses` that depend on the parameters, evaluated by a compiled backend."""

    def __init__(self, responses, is_observed):
        """
        Take the `Responses`; the program is built when it is first needed.

        is_observed: whether sensor outputs depend on the parameters; else they are left out.
        """
        system, parametrization = responses.system, responses.parametrization
        parameters = system.parameters
        self._parametrization, self._positions = parametrization, parameters.model.position_size
        self._sensors = responses.observing if is_observed else ()
        observe = self._observe if is_observed else None
        fast = System(parameters, system.estimated, _INTEGRATOR, system.wrenches, observe)
        values = {**dict(zip(parameters, parameters.nominal())), **parametrization.fixed}
        self._backend = choose_backend('auto')(fast, values)
        self._backend.expects_forwards = bool(self._sensors)
        at = responses.situations
        self._state = torch.from_numpy(np.concatenate([at.positions, at.velocities]))
        self._commands = torch.from_numpy(at.commands)
        self.situations = self._state.shape[1]
        self.kinds = parameters.model.velocity_size + fast.output_size
        self._scale = responses.scale.reshape(-1, self.situations)[: self.kinds, :1]

    def values(self, coordinates):
        """Return the responses [M, B] of coordinates [p, B]."""
        inputs = self._inputs(coordinates, self.situations)
        with torch.no_grad():
            states, outputs = self._backend.rollout(inputs, 'reverse')
        rows = torch.cat([self._acceleration(states[-1], inputs), outputs[0]])
        return self._arranged(rows, coordinates.shape[1])

    def slopes(self, coordinates, situations):
        """
        Return the responses [M, B] and their derivative [B, M, p].

        situations: in how many, the first ones.
        """
        inputs, batch = self._inputs(coordinates, situations), coordinates.shape[1]
        size = len(self._state)
        if self._sensors:
            found = self._backend.sensitivities(inputs)
            acceleration = self._acceleration(found.states[-1], inputs)
            rows = torch.cat([acceleration, found.outputs[0]])
            by_acceleration = found.d_states[:, -1, self._positions :, size:]
            slopes = torch.cat([by_acceleration, found.d_outputs[:, 0, :, size:]], 1)
        else:
            found = self._backend.jacobian(inputs)
            rows = self._acceleration(found.state, inputs)
            slopes = found.by_parameters[:, self._positions :]
        slopes = slopes.numpy().reshape(batch, situations, self.kinds, -1).transpose(0, 2, 1, 3)
        slopes = self._parametrization.chained(slopes, self._scale[:, None], coordinates)
        return self._arranged(rows, batch), slopes.reshape(batch, self.kinds * situations, -1)

    def _inputs(self, coordinates, situations):
        """Return the rollout of one step in which every point meets every situation."""
        batch = coordinates.shape[1]
        named = np.repeat(self._parametrization.to_named(coordinates), situations, 1)
        return RolloutInputs(
            self._state[:, :situations].repeat(1, batch),
            torch.from_numpy(named),
            self._commands[:, :situations].repeat(1, batch)[None],
            torch.ones(1, 1, dtype=torch.float64),
        )

    def _acceleration(self, state, inputs):
        return (state - inputs.state)[self._positions :]

    def _arranged(self, rows, batch):
        """Return rows [kinds, B * situations] by kind and situation, scaled, a column a point."""
        rows = rows.numpy().reshape(self.kinds, batch, -1).transpose(0, 2, 1)
        return (rows / self._scale[..., None]).reshape(-1, batch)

    def _observe(self, robot, q, v):
        return [x for sensor in self._sensors for x in sensor.observe(robot, q, v)]
