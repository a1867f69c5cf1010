"""Through one frame in one pass, with derivatives along all of a few coordinates."""

import numpy as np

from ..estimation.protocol import Linearization
from .steps import spread


class FrameForwards:
    """
    What a filter asks for, where its unknowns are few: one frame, nothing in it late.

    The simulation carries the derivatives by all coordinates with it, from instant to instant:
    what each sensor needs of them is there where it measures. That costs as many passes as there
    are coordinates, of which a vector of the processor takes several at once; with many,
    `FrameAtOnce` is the faster.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StateWalk`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization
        self._latest = None

    def through(self, points, parameters, line):
        """Return what `FrameWalk.through` does for the one frame of a `Line`."""
        cut, walk, batch = line.cut, self._states, points.shape[1]
        values, by_coordinates = self._expanded(parameters)
        if len(by_coordinates) < batch:
            values = spread(values, batch)
            by_coordinates = np.tile(by_coordinates, (batch // len(by_coordinates), 1, 1))
        durations, controls, _ = cut.on_end
        inputs = walk.inputs(points, values, durations, controls)
        seeds = walk.seeds(points, by_coordinates, durations)
        found = walk.backend.directions_arrays(inputs, seeds)
        residual, slope = self._measured(found, cut)
        ends, transition = walk.after(points, found, durations)
        ends, transition = walk.faded(ends, transition, line)
        return Linearization(ends, transition, residual, slope)

    def _expanded(self, parameters):
        """Return what `Parametrization.expanded` does; the frames of a window have the same."""
        latest = self._latest
        if latest is None or not np.array_equal(latest[0], parameters):
            latest = self._latest = (
                parameters.copy(),
                *self._parametrization.expanded(parameters),
            )
        return latest[1:]

    def _measured(self, found, cut):
        """Return residual [B, m] and slope [B, m, n] of all samples, in the order of time."""
        batch, n = found.d_states.shape[0], found.d_states.shape[-1]
        total = sum(len(each.rows) for each in cut.measured)
        residual, slope = np.empty((batch, total)), np.empty((batch, total, n))
        ends = np.array(cut.bounds[1:])
        for each in cut.measured:
            at = ends[each.pieces]
            rows = self._rows.of_sensor(
                _columns(found.states, at),
                _columns(found.outputs, at),
                each.index,
                each.values if batch == 1 else np.tile(each.values, (batch, 1)),
            )
            residual[:, each.rows] = rows.values.reshape(batch, -1)
            slope[:, each.rows] = self._slope(rows, each.index, found, at)
        return residual, slope

    def _slope(self, rows, index, found, at):
        """Return the slope [B, m, n] of a sensor's `Rows` at some instants."""
        batch, n = found.d_states.shape[0], found.d_states.shape[-1]
        parts = []
        if rows.by_state is not None:
            parts.append((rows.by_state, found.d_states[:, at]))
        if rows.by_outputs is not None:
            parts.append((rows.by_outputs, found.d_outputs[:, at, self._rows.slices[index]]))
        slopes = [
            (by if len(by) == 1 else by.reshape(batch, len(at), *by.shape[1:])) @ moved
            for by, moved in parts
        ]
        return sum(slopes[1:], slopes[0]).reshape(batch, -1, n)


def _columns(instants, at):
    """Return what [S, n, B] is at G of S instants, as columns [n, B * G]."""
    _, size, batch = instants.shape
    return instants[at].transpose(1, 2, 0).reshape(size, batch * len(at))
