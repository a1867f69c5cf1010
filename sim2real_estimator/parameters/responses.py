"""What unknown parameters change at all: accelerations and outputs in random situations."""

from dataclasses import dataclass
import threading

import numpy as np
import torch
from torch.autograd import forward_ad

from ..backend.dual_numbers import dual_level
from ..dynamics.system import System
from ..dynamics.wrenches import WRENCH_SIZE
from .delays import is_delay
from .response_equations import is_worth_a_program, ResponseEquations

_SITUATIONS = 40
_POSITION_SPREAD, _VELOCITY_SPREAD = 1.0, 2.0
_LEAST_SHARE = 0.01


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
    All that data of a robot can depend on, as a function of the estimator's coordinates.

    Accelerations and sensor outputs in a fixed set of random situations: parameters that give
    the same responses cannot be told apart by any motion.

    parametrization: a `DirectParametrization`; system: a `System`; observing: sensors that have
    outputs; situations: `Situations`; scale [M, 1]: usual size of each response.
    """

    def __init__(
        self, parameters, sensors, parametrization, state_coordinates, driven, wrenches=()
    ):
        """
        Draw the situations.

        parametrization: a `DirectParametrization`; driven: for every command whether it acts and
        is known; wrenches: `LinkWrench`es, which do.
        """
        model = parameters.model
        self.parametrization = parametrization
        self.observing = tuple(s for s in sensors if s.output_size)
        self.system = System(parameters, parametrization.names, wrenches=tuple(wrenches))
        driven = [*driven, *[True] * (WRENCH_SIZE * len(wrenches))]
        self._values = _fixed_values(parameters, parametrization)
        generator = np.random.default_rng(7)
        neutral = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
        turns = np.zeros((state_coordinates.size, _SITUATIONS))
        nq, nv = model.position_size, model.velocity_size
        turns[:nv] = _POSITION_SPREAD * generator.standard_normal((nv, _SITUATIONS))
        points = state_coordinates.retract(np.repeat(neutral[:, None], _SITUATIONS, 1), turns)
        commands = generator.standard_normal((self.system.control_size, _SITUATIONS))
        commands = commands * np.asarray(driven, dtype=float).reshape(-1, 1)
        velocities = _VELOCITY_SPREAD * generator.standard_normal((nv, _SITUATIONS))
        self.situations = Situations(points[:nq], velocities, commands)
        self._equations, self._building = {}, threading.Lock()
        self.scale = 1.0
        raw = self.values(parametrization.prior.mean[:, None]).reshape(-1, _SITUATIONS)
        self.scale = np.repeat(_usual_sizes(raw, nv), _SITUATIONS, 1).reshape(-1, 1)

    @property
    def size(self):
        """Number of coordinates."""
        return len(self.parametrization.names)

    def equations(self, rank, points):
        """
        Return the `ResponseEquations` to be asked for so many points at once.

        rank: how many combinations of the parameters data can tell.
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

        is_dual: whether derivatives are taken. A dual tensor times one that is not takes torch
        forty times as long as one of zero tangent.
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
    """Return a dual tensor of a tangent of zero."""
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

    A kind that is always about zero, such as a height that never changes, counts as a hundredth
    of the largest of its like: accelerations come first, outputs after them.
    """
    size = np.sqrt((responses**2).mean(1, keepdims=True))
    for part in (slice(0, accelerations), slice(accelerations, None)):
        if size[part].size:
            size[part] = np.maximum(size[part], max(_LEAST_SHARE * size[part].max(), 1e-9))
    return size
