"""Frames cut into segments: from sample to sample, with the inputs that act between them."""

from collections import OrderedDict
from dataclasses import dataclass
import math
import threading

import numpy as np

_NANO = 1e-9
_CACHED_LINES = 16
# A batch at its longest, several times over.
_CACHED_FRAMES = 4096


@dataclass(frozen=True)
class ShiftedSteps:
    """
    Integration steps that depend on delays.

    durations [S, B] [s]; controls [S, nu, B]; by_delay, by_early [S, B]: derivatives of the
    durations by the delay of the inputs and by how early the end comes.
    """

    durations: np.ndarray
    controls: np.ndarray
    by_delay: np.ndarray
    by_early: np.ndarray


@dataclass(frozen=True)
class Segment:
    """
    A stretch without a sample inside, for B frames side by side (or 1, for all columns alike).

    durations [S, B] [s] and controls [S, nu, B] of its integration steps, some of no length where
    another frame has more; measured: (sensor index, values [B, k]) at its end, NaN where a frame
    has no such sample; moved: sensor index -> by how much [B] [s] these are stamped earlier than
    they came; bounds [2, B] [s]: begin and end, counted from the frame's start;
    changes [E, B] [s] and held [E, nu, B]: from when on which inputs hold, by their stamps.
    """

    durations: np.ndarray
    controls: np.ndarray
    measured: tuple
    moved: dict
    bounds: np.ndarray
    changes: np.ndarray
    held: np.ndarray

    def shifted(self, delay, early, max_step):
        """
        Return the `ShiftedSteps` with inputs that act late and an end that comes early.

        delay [B] [s]: from the stamp of an input to its effect; early [B] [s], also more than
        the segment is long: then the steps lead back. They are cut exactly where an input begins
        to act, so durations are differentiable in both.
        """
        begin, end = self.bounds[0], self.bounds[1] - early
        is_back = end < begin
        low, high = np.minimum(begin, end), np.maximum(begin, end)
        acting = self.changes[1:] + delay
        cuts = np.clip(acting, low, high)
        with_delay = ((acting >= low) & (acting < high)).astype(float)
        # Cuts beyond the end lie at the end and move with it.
        with_end = np.where(np.where(is_back, acting < low, acting >= high), -1.0, 0.0)
        held = np.broadcast_to(self.held, (*self.held.shape[:2], cuts.shape[1]))
        if is_back.any():
            cuts, with_delay, with_end, held = (
                np.where(is_back, a[::-1], a) for a in (cuts, with_delay, with_end, held)
            )
        begin, end = (np.broadcast_to(x, (1, cuts.shape[1])) for x in (begin, end))
        still = np.zeros((1, cuts.shape[1]))
        pieces = [
            np.diff(np.concatenate(edges), axis=0)
            for edges in (
                (begin, cuts, end),
                (still, with_delay, still),
                (still, with_end, still - 1.0),
            )
        ]
        longest = np.abs(pieces[0]).max(1)
        parts = np.ceil(longest / max_step * (1 - 1e-9)).astype(int)
        # Pieces of no length count where they would get one by another delay.
        matter = (np.abs(pieces[1]) + np.abs(pieces[2])).max(1) > 0
        parts = np.maximum(parts, matter)
        scale = np.maximum(parts, 1)[:, None]
        durations, by_delay, by_early = (np.repeat(p / scale, parts, 0) for p in pieces)
        return ShiftedSteps(durations, np.repeat(held, parts, 0), by_delay, by_early)


@dataclass(frozen=True)
class Line:
    """The segments of frames side by side, in order of time; lengths [B] of the frames [s]."""

    segments: tuple
    lengths: np.ndarray


@dataclass(frozen=True)
class Chain:
    """All steps of consecutive frames: durations [S, 1], controls [S, nu, 1], bounds [H + 1]."""

    durations: np.ndarray
    controls: np.ndarray
    bounds: np.ndarray


@dataclass(frozen=True)
class _Piece:
    """Steps of one frame up to an instant, and what was measured there: sensor -> `Sample`."""

    durations: tuple
    controls: tuple
    measured: dict
    bounds: tuple
    changes: np.ndarray
    held: np.ndarray


class TimelineCache(threading.local):
    """
    Cuts frames, and keeps the latest results: fits ask for the same frames again and again.

    Each thread that asks has results of its own.
    """

    def __init__(self, sensors, control_size, max_step):
        """Take the sensors, the number of controls and the longest integration step [s]."""
        self._sensors, self._control_size, self._max_step = sensors, control_size, max_step
        self._index = {sensor.name: i for i, sensor in enumerate(sensors)}
        self._lines, self._pieces = OrderedDict(), OrderedDict()

    def line(self, frames):
        """Return the `Line` of one frame for every column, or of the one frame for all."""
        return self._kept(('line', *map(id, frames)), frames, self._make_line)

    def chain(self, frames):
        """Return the `Chain` of consecutive frames."""
        return self._kept(('chain', *map(id, frames)), frames, self._make_chain)

    def _kept(self, key, frames, make):
        # The frames are kept with the result, so that an id in a key stays that of one frame.
        if key not in self._lines:
            self._lines[key] = (make(frames), tuple(frames))
            if len(self._lines) > _CACHED_LINES:
                self._lines.popitem(last=False)
        self._lines.move_to_end(key)
        return self._lines[key][0]

    def _make_chain(self, frames):
        durations, controls, bounds = [], [], [0]
        for frame in frames:
            for piece in self._cut(frame):
                durations += piece.durations
                controls += piece.controls
            bounds.append(len(durations))
        controls = np.array(controls).reshape(len(durations), self._control_size, 1)
        return Chain(np.array(durations).reshape(-1, 1), controls, np.array(bounds))

    def _make_line(self, frames):
        distinct = list({id(frame): frame for frame in frames}.values())
        place = {id(frame): i for i, frame in enumerate(distinct)}
        lanes = np.array([place[id(frame)] for frame in frames])
        cut = [self._cut(frame) for frame in distinct]
        count = max(len(pieces) for pieces in cut)
        nothing = np.zeros(0), np.zeros((0, self._control_size))
        none = _Piece((), (), {}, (0.0, 0.0), *nothing)
        segments = tuple(
            self._side_by_side([p[k] if k < len(p) else none for p in cut], lanes)
            for k in range(count)
        )
        lengths = np.array([(f.end_ns - f.start_ns) * _NANO for f in distinct])
        return Line(segments, lengths[lanes])

    def _side_by_side(self, pieces, lanes):
        """Return the `Segment` of pieces of distinct frames, spread to the columns."""
        steps = max(1, *(len(piece.durations) for piece in pieces)) if pieces else 1
        durations = np.zeros((steps, len(pieces)))
        controls = np.zeros((steps, self._control_size, len(pieces)))
        for column, piece in enumerate(pieces):
            durations[: len(piece.durations), column] = piece.durations
            for step, values in enumerate(piece.controls):
                controls[step, :, column] = values
        measured, moved = [], {}
        for index in sorted({i for piece in pieces for i in piece.measured}):
            values = np.full((len(pieces), self._sensors[index].value_size), np.nan)
            by = np.zeros(len(pieces))
            for column, piece in enumerate(pieces):
                if index in piece.measured:
                    values[column] = piece.measured[index].values
                    by[column] = piece.measured[index].moved_ns * _NANO
            is_one = len(pieces) == 1
            measured.append((index, values if is_one else values[lanes]))
            moved[index] = by if is_one else by[lanes]
        changes, held = self._inputs_side_by_side(pieces)
        bounds = np.array([piece.bounds for piece in pieces]).T
        arrays = (durations, controls, bounds, changes, held)
        if len(pieces) > 1:
            arrays = tuple(array[..., lanes] for array in arrays)
        durations, controls, bounds, changes, held = arrays
        return Segment(durations, controls, tuple(measured), moved, bounds, changes, held)

    def _inputs_side_by_side(self, pieces):
        """Return changes [E, B] and held [E, nu, B]; pieces with fewer inputs repeat the last."""
        count = max(1, *(len(piece.changes) for piece in pieces))
        changes = np.zeros((count, len(pieces)))
        held = np.zeros((count, self._control_size, len(pieces)))
        for column, piece in enumerate(pieces):
            if len(piece.changes):
                rows = np.minimum(np.arange(count), len(piece.changes) - 1)
                changes[:, column], held[..., column] = piece.changes[rows], piece.held[rows]
        return changes, held

    def _cut(self, frame):
        """Return the pieces of one frame; fits of several frames ask for it again and again."""
        kept = self._pieces.get(id(frame))
        if kept is None:
            # The frame is kept as well, so that no other one gets its id.
            kept = self._pieces[id(frame)] = frame, self._cut_up(frame)
            if len(self._pieces) > _CACHED_FRAMES:
                self._pieces.popitem(last=False)
        return kept[1]

    def _cut_up(self, frame):
        """Return the pieces of one frame, from stamp to stamp."""
        stamps = sorted({sample.stamp_ns for sample in frame.samples} | {frame.end_ns})
        changes = np.array([(at - frame.start_ns) * _NANO for at, _ in frame.inputs])
        held = np.nan_to_num(np.array([values for _, values in frame.inputs]))
        held = held.reshape(len(changes), self._control_size)
        pieces, start = [], frame.start_ns
        for stamp in stamps:
            durations, controls = self._steps(frame, start, stamp)
            measured = {self._index[s.sensor]: s for s in frame.samples if s.stamp_ns == stamp}
            bounds = tuple((at - frame.start_ns) * _NANO for at in (start, stamp))
            pieces.append(_Piece(durations, controls, measured, bounds, changes, held))
            start = stamp
        return pieces

    def _steps(self, frame, start, end):
        """Return (durations, controls) of the integration steps between two instants."""
        changes = [at for at, _ in frame.inputs[1:] if start < at < end]
        durations, controls = [], []
        for begin, finish in zip([start, *changes], [*changes, end]):
            length = (finish - begin) * _NANO
            parts = max(1, math.ceil(length / self._max_step * (1 - 1e-9)))
            durations += [length / parts] * parts
            controls += [self._acting(frame, begin)] * parts
        return tuple(durations), tuple(controls)

    def _acting(self, frame, instant):
        """Return the inputs that act from an instant on; nothing acts where none is known."""
        latest = [values for at, values in frame.inputs if at <= instant]
        if not latest and frame.inputs:
            latest = [frame.inputs[0][1]]
        # What is unknown counts as zero here, and as a wide disturbance in the floor.
        return np.nan_to_num(latest[-1]) if latest else np.zeros(self._control_size)
