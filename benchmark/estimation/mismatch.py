"""Robots on which more acts than their estimators' models know of."""

from dataclasses import dataclass

import numpy as np


class MismatchedPlant:
    """
    The plant of a synthetic robot, with forces that no model has.

    To be put in the place of `SyntheticRobot.plant`; every joint has one command.
    """

    def __init__(self, plant, forces):
        """Take the plant; forces: functions of (duration, efforts, speeds) -> efforts, all [n]."""
        self._plant, self._forces = plant, forces

    @property
    def state(self):
        """The state of the robot."""
        return self._plant.state

    def seen(self, sensor):
        """Return the outputs of one sensor."""
        return self._plant.seen(sensor)

    def set_values(self, values):
        """Take new values of the parameters that vary."""
        self._plant.set_values(values)

    def advance(self, pieces):
        """Move on; pieces: (duration [s], efforts that act) one after the other."""
        for duration, efforts in pieces:
            speeds = self._plant.state[len(efforts) :]
            acting = efforts + sum(force(duration, efforts, speeds) for force in self._forces)
            self._plant.advance(((duration, acting),))


class Pushes:
    """Efforts of unknown origin: Ornstein-Uhlenbeck processes, one for every joint."""

    def __init__(self, deviations, time, generator):
        """Take standard deviations [n], the correlation time [s], and the generator of all."""
        self._deviations, self._time, self._generator = np.array(deviations), time, generator
        self._pushes = self._deviations * generator.standard_normal(len(self._deviations))

    def __call__(self, duration, efforts, speeds):
        """Return the efforts during the next so many seconds."""
        found, left = self._pushes, np.exp(-duration / self._time)
        news = self._deviations * self._generator.standard_normal(len(found))
        self._pushes = left * found + np.sqrt(1 - left**2) * news
        return found


@dataclass(frozen=True)
class Stribeck:
    """
    What friction is larger by at low speeds.

    frictions [n]: at v = 0, as parts of which it is given; width [rad/s]: over which the sign of
    friction changes; speed [rad/s]: at which it has mostly gone.
    """

    frictions: np.ndarray
    width: float
    speed: float

    def __call__(self, duration, efforts, speeds):
        """Return the efforts against the speeds."""
        fading = np.exp(-((speeds / self.speed) ** 2))
        return -self.frictions * np.tanh(speeds / self.width) * fading
