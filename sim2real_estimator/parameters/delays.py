"""Delays of commands, one for all or one for each joint, and of the clocks of sensors."""

from copy import copy

import numpy as np

from ..errors import ConfigError

# The name of the delay that all commands share whose joint has none of its own.
COMMAND_DELAY = 'commands.delay'
_ENDING = '.delay'
# Stamps are whole nanoseconds: what is left of a delay that they were moved by is no more [s].
_STAMP_UNIT = 1e-9


def is_delay(name):
    """Tell whether a parameter is a delay, of which the equations of motion know nothing."""
    return name.endswith(_ENDING)


def joint_delays(model):
    """Return joint -> name of the delay of its own that its commands may have."""
    return {joint: f'{joint}{_ENDING}' for joint in dict.fromkeys(model.command_joints)}


def nominal_delays(parameters):
    """Return name -> delay [s] of joints whose actuator is described as a late one."""
    names = joint_delays(parameters.model).values()
    return {name: parameters[name].nominal for name in names if parameters[name].nominal}


class CommandDelays:
    """
    Groups of commands that share a delay which is to be estimated.

    rows: of every group, where its delay stands among the named parameters, None for those whose
    commands are stamped by when they act; owners [nu]: the group of every command, and of what
    comes after them.
    """

    def __init__(self, model, names, fixed=(), others=0):
        """
        Take the names of the parameters, and of those whose value is known.

        others: how many more inputs there are, which are stamped by when they act.
        """
        own, shared = joint_delays(model), None
        if COMMAND_DELAY in names:
            shared = names.index(COMMAND_DELAY)
        rows = {
            joint: names.index(name) if name in names else None
            for joint, name in own.items()
            if name in names or name in fixed
        }
        of_commands = [rows.get(joint, shared) for joint in model.command_joints]
        of_commands += [None] * others
        self.rows = tuple(dict.fromkeys(of_commands)) or (None,)
        self.owners = np.array([self.rows.index(row) for row in of_commands], dtype=int)

    @property
    def is_estimated(self):
        """Whether there is any that is to be estimated."""
        return any(row is not None for row in self.rows)

    def values(self, named):
        """Return the delay [D, B] [s] of every group from named parameters [P, B]."""
        nothing = np.zeros(named.shape[1])
        return np.stack([nothing if row is None else named[row] for row in self.rows])


class ClockDelays:
    """
    What is left of how late the clocks of sensors are, after stamps have been moved.

    rows: sensor index -> where its delay stands among the named parameters, if it is estimated;
    are_all_estimated: whether those of all sensors are.
    """

    def __init__(self, sensors, names, fixed=None):
        """Take the sensors, the names of the parameters, and name -> value of known ones."""
        own = {f'{sensor.name}{_ENDING}': index for index, sensor in enumerate(sensors)}
        self.rows = {own[name]: row for row, name in enumerate(names) if name in own}
        self._known = {own[name]: value for name, value in (fixed or {}).items() if name in own}
        self.are_all_estimated = len(self.rows) == len(own)

    def without(self, index):
        """Return those of the other sensors: the clock of this one is the measure of them."""
        others = copy(self)
        others.rows = {other: row for other, row in self.rows.items() if other != index}
        return others

    @property
    def is_any_late(self):
        """Whether any clock may be late."""
        return bool(self.rows or self._known)

    def is_late(self, segment, index, samples):
        """Tell whether samples [B, k] at a segment's end were taken at another time than that."""
        if index not in self._known:
            return index in self.rows
        left = np.abs(self._known[index] - segment.moved[index]) > _STAMP_UNIT
        return bool((left & ~np.isnan(samples).all(-1)).any())

    def left(self, segment, index, named):
        """Return how much earlier [B] [s] samples were taken than at a segment's end."""
        delay = named[self.rows[index]] if index in self.rows else self._known[index]
        return np.broadcast_to(delay - segment.moved[index], (named.shape[1],))


def require_known(names, model, sensors, physical):
    """Raise a ConfigError where a name is neither one of the physical ones nor a delay."""
    delays = (COMMAND_DELAY, *joint_delays(model).values())
    delays += tuple(f'{sensor.name}{_ENDING}' for sensor in sensors)
    for name in names:
        if name not in (*delays, *physical):
            raise ConfigError(
                f"'{name}' is neither a parameter of the model nor a delay; delays are "
                f'{", ".join(delays)}'
            )
