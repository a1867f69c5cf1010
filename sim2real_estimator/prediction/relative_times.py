"""Delays counted from one clock, where nothing else tells what time it is."""

import numpy as np


class RelativeTimes:
    """
    A parametrization as simulations take it: states are those at the times that the reference saw.

    Where every clock, and every command that acts, is late by an unknown time, a motion that
    begins a little later looks the same with other delays. A filter that moved its state along
    that direction would linearise in another place after every frame, and become sure of a time
    that nobody has told. So only differences enter: of a clock its delay less that of the
    reference, of commands both added up.
    """

    def __init__(self, parametrization, reference, clocks, commands):
        """
        Take a parametrization and rows of delays among its names.

        reference: that of the reference; clocks: those of all clocks, commands: of all commands.
        """
        self.names, self.fixed, self._parametrization = (
            parametrization.names,
            parametrization.fixed,
            parametrization,
        )
        self._reference, self._rows = reference, [*clocks, *commands]
        self._signs = np.repeat([-1.0, 1.0], [len(clocks), len(commands)])[:, None]

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B], delays as differences."""
        return self._counted(self._parametrization.to_named(coordinates))

    def expanded(self, coordinates):
        """Return these values and their derivative by the coordinates, [B, P, p]."""
        values, slope = self._parametrization.expanded(coordinates)
        slope = slope.copy()
        slope[:, self._rows] += self._signs * slope[:, [self._reference]]
        return self._counted(values), slope

    def _counted(self, values):
        values = values.copy()
        values[self._rows] += self._signs * values[self._reference]
        return values


def counted_from(parametrization, reference, clocks, commands, acting):
    """
    Return (a parametrization, the `ClockDelays`) as simulations take them.

    reference: index of the sensor from whose clock times are counted, if nothing but delays that
    are to be estimated says what time it is; clocks: `ClockDelays`; commands: `CommandDelays`;
    acting: places of the commands that act.
    """
    owners = {commands.rows[commands.owners[place]] for place in acting}
    if None in owners or reference not in clocks.rows or not clocks.are_all_estimated:
        return parametrization, clocks
    row = clocks.rows[reference]
    relative = RelativeTimes(parametrization, row, tuple(clocks.rows.values()), tuple(owners))
    return relative, clocks.without(reference)
