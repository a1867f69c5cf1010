"""Through one frame with all its pieces and samples side by side."""

import numpy as np

from ..estimation.protocol import Linearization
from .steps import spread, tiled


class FrameAtOnce:
    """
    What a filter asks for: one frame for a few columns, nothing in it late.

    A first pass without derivatives tells where each piece begins; the derivatives of all of them
    are then asked for in one call, as are the rows of each sensor. With few columns that one
    call costs hardly more than any of the calls that it replaces.
    """

    def __init__(self, states, rows, parametrization):
        """Take the `StateWalk`, the `SampleRows` and the `Parametrization`."""
        self._states, self._rows, self._parametrization = states, rows, parametrization

    def through(self, points, parameters, line):
        """Return what `FrameWalk.through` does for the one frame of a `Line`."""
        cut, batch = line.cut, points.shape[1]
        count = cut.count
        values, by_coordinates = self._parametrization.expanded(parameters)
        values = spread(values, batch)
        begins = self._begins(points, values, cut)
        wide = values if batch == 1 else tiled(values, count)
        durations, controls = cut.side_by_side
        if batch > 1:
            durations, controls = (np.repeat(x, batch, -1) for x in (durations, controls))
        ends, slopes = self._states.run(begins, wide, durations, controls, by_coordinates)
        transitions = _chained(*(x.reshape(count, batch, *x.shape[1:]) for x in slopes))
        residual, slope = self._measured(ends, wide, by_coordinates, transitions, cut)
        # The copy is what may fade: the rows were taken before.
        last, transition = self._states.faded(ends[:, -batch:], transitions[-1].copy(), line)
        return Linearization(last, transition, residual, slope)

    def _begins(self, points, values, cut):
        """Return the states [nx, G * B] at the begins of all pieces."""
        if cut.count == 1:
            return points
        durations, controls, places = cut.on_end
        inputs = self._states.inputs(points, values, durations, controls)
        states = self._states.backend.rollout_arrays(inputs)[0][places]
        begins = states.swapaxes(0, 1).reshape(states.shape[1], -1)
        return self._states.with_hidden(begins, points, cut.begins)

    def _measured(self, ends, values, by_coordinates, transitions, cut):
        """Return residual [B, m] and slope [B, m, n] of all samples, in the order of time."""
        count, batch, t, n = transitions.shape
        total = sum(len(each.rows) for each in cut.measured)
        residual, slope = np.empty((batch, total)), np.empty((batch, total, n))
        for each in cut.measured:
            m = len(each.pieces)
            lanes = (each.pieces[:, None] * batch + np.arange(batch)).ravel()
            rows, by_state, by_x = self._rows.measure_one(
                self._states.backend,
                ends[:, lanes],
                values if batch == 1 else values[:, lanes],
                each.index,
                np.repeat(each.values, batch, 0),
                by_coordinates,
            )
            if len(by_state) > 1:
                by_state = by_state.reshape(m, batch, -1, t)
            own = by_state @ transitions[each.pieces]
            if by_x is not None:
                own[..., t:] += by_x.reshape(m, batch, *by_x.shape[1:])
            rows = rows.reshape(m, batch, -1)
            residual[:, each.rows] = rows.swapaxes(0, 1).reshape(batch, -1)
            slope[:, each.rows] = own.swapaxes(0, 1).reshape(batch, -1, n)
        return residual, slope


def _chained(by_state, by_x):
    """
    Return derivatives [G, B, t, n] of the ends of pieces by z at the beginning of the first.

    by_state [G, B, t, t], by_x [G, B, t, p]: of each end by its own beginning and parameters.
    """
    count, batch, t, _ = by_state.shape
    result = np.concatenate([by_state, by_x], -1)
    for k in range(1, count):
        after = np.matmul(by_state[k], result[k - 1], out=result[k])
        after[..., t:] += by_x[k]
    return result
