"""Frames side by side, or on end, for all columns of a call; the latest are kept."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
import threading

import numpy as np

from .cuts import cut, Piece
from .segment import Segment

_NANO = 1e-9
_CACHED_LINES = 16
# A batch at its longest; those of an arm take 30 kB each.
_CACHED_FRAMES = 1100
_NOTHING = Piece((), (), {}, (0.0, 0.0))


@dataclass(frozen=True)
class Line:
    """Frames side by side; cuts: of the distinct ones; lanes [B]: the frame of every column."""

    cuts: tuple
    lanes: np.ndarray

    @property
    def cut(self):
        """The `Cut` of the one frame of all columns, None where there are several."""
        return self.cuts[0] if len(self.cuts) == 1 else None

    @cached_property
    def lengths(self):
        """Lengths [B] of the frames [s]."""
        return np.array([each.length for each in self.cuts])[self.lanes]

    @cached_property
    def segments(self):
        """The segments of the frames in order of time, a tuple of `Segment`."""
        return tuple(self._segment(k) for k in range(max(len(c.pieces) for c in self.cuts)))

    def _segment(self, k):
        """Return the k-th pieces side by side, spread to the columns."""
        pieces = [c.pieces[k] if k < len(c.pieces) else _NOTHING for c in self.cuts]
        steps = max(1, *(len(piece.durations) for piece in pieces))
        durations = np.zeros((steps, len(pieces)))
        controls = np.zeros((steps, self.cuts[0].held.shape[1], len(pieces)))
        for column, (each, piece) in enumerate(zip(self.cuts, pieces)):
            durations[: len(piece.durations), column] = piece.durations
            controls[: len(piece.acting), :, column] = each.inputs(piece)
        measured, moved = self._measured(pieces)
        bounds = np.array([piece.bounds for piece in pieces]).T
        arrays = (durations, controls, bounds, *self._inputs)
        if len(pieces) > 1:
            arrays = tuple(array[..., self.lanes] for array in arrays)
        durations, controls, bounds, changes, held = arrays
        return Segment(durations, controls, measured, moved, bounds, changes, held)

    def _measured(self, pieces):
        """Return the samples at the end of pieces, and by how much they have been moved."""
        measured, moved = [], {}
        for index in sorted({i for piece in pieces for i in piece.measured}):
            values = np.full((len(pieces), self.cuts[0].sizes[index][0]), np.nan)
            by = np.zeros(len(pieces))
            for column, piece in enumerate(pieces):
                if index in piece.measured:
                    values[column] = piece.measured[index].values
                    by[column] = piece.measured[index].moved_ns * _NANO
            is_one = len(pieces) == 1
            measured.append((index, values if is_one else values[self.lanes]))
            moved[index] = by if is_one else by[self.lanes]
        return tuple(measured), moved

    @cached_property
    def _inputs(self):
        """Changes [E, C] and held [E, nu, C]; cuts with fewer inputs repeat the last."""
        count = max(1, *(len(each.changes) for each in self.cuts))
        changes = np.zeros((count, len(self.cuts)))
        held = np.zeros((count, self.cuts[0].held.shape[1], len(self.cuts)))
        for column, each in enumerate(self.cuts):
            if len(each.changes):
                rows = np.minimum(np.arange(count), len(each.changes) - 1)
                changes[:, column], held[..., column] = each.changes[rows], each.held[rows]
        return changes, held


@dataclass(frozen=True)
class Chain:
    """All steps of consecutive frames: durations [S, 1], controls [S, nu, 1], bounds [H + 1]."""

    durations: np.ndarray
    controls: np.ndarray
    bounds: np.ndarray


class TimelineCache(threading.local):
    """
    Cuts frames, and keeps the latest results: fits ask for the same frames again and again.

    Each thread that asks has results of its own.
    """

    def __init__(self, sensors, control_size, max_step):
        """Take the sensors, the number of controls and the longest integration step [s]."""
        self._sensors = {sensor.name: (i, sensor) for i, sensor in enumerate(sensors)}
        self._control_size, self._max_step = control_size, max_step
        self._lines, self._cuts, self._singles = OrderedDict(), OrderedDict(), OrderedDict()

    def line(self, frames):
        """Return the `Line` of one frame for every column, or of the one frame for all."""
        if len(frames) == 1:
            return self._kept_of_one(self._singles, frames[0], self._line_of_one)
        return self._kept(('line', *map(id, frames)), frames, self._line)

    def chain(self, frames):
        """Return the `Chain` of consecutive frames."""
        return self._kept(('chain', *map(id, frames)), frames, self._chain)

    def _kept(self, key, frames, make):
        # The frames are kept with the result, so that an id in a key stays that of one frame.
        if key not in self._lines:
            self._lines[key] = (make(frames), tuple(frames))
            if len(self._lines) > _CACHED_LINES:
                self._lines.popitem(last=False)
        self._lines.move_to_end(key)
        return self._lines[key][0]

    def _chain(self, frames):
        steps = [self._cut(frame).on_end for frame in frames]
        bounds = np.cumsum([0, *(len(durations) for durations, _, _ in steps)])
        durations, controls, _ = (np.concatenate(parts) for parts in zip(*steps))
        return Chain(durations, controls, bounds)

    def _line_of_one(self, frame):
        return Line((self._cut(frame),), np.zeros(1, dtype=int))

    def _line(self, frames):
        distinct = list({id(frame): frame for frame in frames}.values())
        place = {id(frame): i for i, frame in enumerate(distinct)}
        lanes = np.array([place[id(frame)] for frame in frames])
        return Line(tuple(self._cut(frame) for frame in distinct), lanes)

    def _cut(self, frame):
        """Return the `Cut` of one frame; fits of several frames ask for it again and again."""
        return self._kept_of_one(self._cuts, frame, self._cut_up)

    def _cut_up(self, frame):
        return cut(frame, self._sensors, self._control_size, self._max_step)

    def _kept_of_one(self, found, frame, make):
        """Return what was made of a frame, as long as it is among the latest found."""
        kept = found.get(id(frame))
        if kept is None:
            # The frame is kept as well, so that no other one gets its id.
            kept = found[id(frame)] = frame, make(frame)
            if len(found) > _CACHED_FRAMES:
                found.popitem(last=False)
        return kept[1]
