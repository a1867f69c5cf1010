"""The motion of the robot: the compiled simulator in fine steps, driven by delayed commands."""

from collections import deque
import math

import numpy as np
import torch

from ...backend.base import RolloutInputs
from ...backend.choice import choose_backend
from ...dynamics.system import System
from .settings import generator


class Plant:
    """
    The state of the robot and the outputs of its sensors.

    state [nx]; outputs: results of `observe` of the sensors, one after the other.
    """

    def __init__(self, parameters, sensors, simulation, finer, varying, values, wrenches=()):
        """
        Compile the simulator.

        simulation: `SimulationConfig` of the estimator, whose largest step is divided by
        `finer`; varying: names of parameters that will change; values: name -> float of all;
        wrenches: a `LinkWrench` for each that acts, after the efforts.
        """
        self._max_step = simulation.max_step / finer
        self._sensors = tuple(sensor for sensor in sensors if sensor.output_size)
        # Values that change are inputs of the program, so that it is compiled once.
        self._system = System(
            parameters, varying, wrenches=tuple(wrenches), observation=self._observe
        )
        known = {name: values[name] for name in parameters}
        self._backend = choose_backend(simulation.backend)(self._system, known)
        model = parameters.model
        self._positions = model.position_size
        self.state = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
        self.set_values(values)

    def set_values(self, values):
        """Set the values of the parameters that vary."""
        column = [[values[name]] for name in self._system.estimated]
        self._column = torch.tensor(column, dtype=torch.float64).reshape(-1, 1)
        self._look()

    def place(self, settings, positions):
        """
        Set the initial state.

        settings: `SyntheticConfig`; positions: index in the state -> coordinate, for joints with
        a given initial position.
        """
        chance, model = generator(settings.seed, 'start'), self._system.model
        for moving in model.moving_joints:
            if moving.is_independent:
                kind = moving.joint.kind
                turn = settings.start_position_sd * chance.standard_normal(kind.velocity_size)
                q = kind.advance(kind.neutral(), turn.tolist(), 1.0)
                self.state[moving.positions] = kind.normalized(q)
        spread = settings.start_velocity_sd
        velocities = spread * chance.standard_normal(model.velocity_size)
        self.state[self._positions :] = velocities
        for place, position in positions.items():
            self.state[place] = position
            # Coordinates of such joints are single numbers, in the order of the velocities.
            self.state[self._velocity_of(place)] = 0.0
        self._look()

    def advance(self, pieces):
        """Simulate; pieces: successive (duration [s], efforts that act)."""
        durations, controls = [], []
        for duration, efforts in pieces:
            parts = max(1, math.ceil(duration / self._max_step * (1 - 1e-9)))
            durations += [[duration / parts]] * parts
            controls += [[[effort] for effort in efforts]] * parts
        inputs = RolloutInputs(
            torch.from_numpy(self.state)[:, None],
            self._column,
            torch.tensor(controls, dtype=torch.float64).reshape(len(durations), -1, 1),
            torch.tensor(durations, dtype=torch.float64),
        )
        with torch.no_grad():
            states, outputs = self._backend.rollout(inputs, 'reverse')
        self.state, self.outputs = states[-1, :, 0].numpy(), outputs[-1, :, 0].numpy()

    def seen(self, sensor):
        """Return the outputs of one sensor."""
        at = 0
        for each in self._sensors:
            if each is sensor:
                return self.outputs[at : at + each.output_size]
            at += each.output_size
        return self.outputs[:0]

    def _look(self):
        """Compute the outputs of the present state."""
        self.advance(((0.0, [0.0] * self._system.control_size),))

    def _observe(self, robot, q, v):
        return [x for sensor in self._sensors for x in sensor.observe(robot, q, v)]

    def _velocity_of(self, place):
        joints = self._system.model.moving_joints
        moving = next(m for m in joints if m.is_independent and m.positions.start == place)
        return self._positions + moving.velocities.start


class LateCommands:
    """Commands that act after a constant delay each, which is never negative."""

    def __init__(self, delays_ns):
        """Set the delay of every command [ns]."""
        delays_ns = np.array(delays_ns, dtype=int)
        found = np.unique(delays_ns).tolist()
        self._groups = [(late_ns, delays_ns == late_ns, deque()) for late_ns in found]
        self._acting = None

    def give(self, time_ns, efforts):
        """Give efforts at a time, not before the latest one; the first act at once."""
        efforts = np.asarray(efforts, dtype=float)
        if self._acting is None:
            self._acting = efforts
        for late_ns, which, given in self._groups:
            given.append((time_ns + late_ns, np.where(which, efforts, 0.0)))

    def pieces(self, start_ns, end_ns):
        """Return successive (duration [s], efforts that act) from start to end."""
        found = []
        while (at := self._next_ns()) < end_ns:
            if at > start_ns:
                found.append((1e-9 * (at - start_ns), self._acting))
                start_ns = at
            for _, which, given in self._groups:
                if given and given[0][0] == at:
                    self._acting = np.where(which, given.popleft()[1], self._acting)
        return [*found, (1e-9 * (end_ns - start_ns), self._acting)]

    def _next_ns(self):
        """Return when the next efforts begin to act [ns]."""
        return min((given[0][0] for _, _, given in self._groups if given), default=np.inf)
