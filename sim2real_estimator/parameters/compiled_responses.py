"""The responses of a robot by a compiled program: worth it where many are asked for."""

import numpy as np
import torch

from ..backend.base import RolloutInputs
from ..backend.choice import choose_backend
from ..dynamics.system import System

# One step of a second by this integrator adds the acceleration to the velocities.
_INTEGRATOR = 'semi_implicit_euler'


class CompiledResponses:
    """Gives what `Responses` gives, of all that depends on the parameters."""

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
