"""Frames cut into segments: from sample to sample, with the inputs that act between them."""

from collections import OrderedDict
from dataclasses import dataclass
import math
import threading

import numpy as np

_NANO = 1e-9
_CACHED_LINES = 16
# A batch at its longest; those of an arm take 30 kB each.
_CACHED_FRAMES = 1100


@dataclass(frozen=True)
class ShiftedSteps:
    """
    Integration steps that depend on delays.

    durations [S, B] [s]; controls [S, nu, B]; by_delay [D, S, B], by_early [S, B]: derivatives of
    the durations by the delays of the inputs and by how early the end comes.
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

    def shifted(self, delays, owners, early, max_step):
        """
        Return the `ShiftedSteps` with inputs that act late and an end that comes early.

        delays [D, B] [s]: from the stamp of an input to its effect; owners [nu]: the delay of
        every input; early [B] [s], also more than the segment is long: then the steps lead back.
        They are cut exactly where an input begins to act, so durations are differentiable in all.
        """
        begin, end = self.bounds[0], self.bounds[1] - early
        is_back = end < begin
        low, high = np.minimum(begin, end), np.maximum(begin, end)
        acting, held, whose = self._in_effect(delays, owners)
        cuts = np.clip(acting, low, high)
        with_delay = whose & (acting >= low) & (acting < high)
        # Cuts beyond the end lie at the end and move with it.
        with_end = np.where(np.where(is_back, acting < low, acting >= high), -1.0, 0.0)
        if is_back.any():
            cuts, with_end, held = (np.where(is_back, a[::-1], a) for a in (cuts, with_end, held))
            with_delay = np.where(is_back, with_delay[:, ::-1], with_delay)
        # Where the steps end, and how that moves with the end and with every delay.
        edges = np.zeros((2 + len(delays), len(cuts) + 2, cuts.shape[1]))
        edges[0, 0], edges[0, 1:-1], edges[0, -1] = begin, cuts, end
        edges[1, 1:-1], edges[1, -1] = with_end, -1.0
        edges[2:, 1:-1] = with_delay
        pieces = np.diff(edges, axis=1)
        sizes = np.abs(pieces).max(2)
        parts = np.ceil(sizes[0] / max_step * (1 - 1e-9)).astype(int)
        # Pieces of no length count where they would get one by another delay.
        parts = np.maximum(parts, sizes[1:].max(0) > 0)
        pieces = np.repeat(pieces / np.maximum(parts, 1)[:, None], parts, 1)
        return ShiftedSteps(pieces[0], np.repeat(held, parts, 0), pieces[2:], pieces[1])

    def _in_effect(self, delays, owners):
        """
        Return (acting [C, B], held [C + 1, nu, B], whose [D, C, B]): when which inputs act.

        acting, in the order of time: when an input begins to; held: what acts before the first,
        and after each; whose: the delay by which each of these instants moves.
        """
        acting = self.changes[1:] + delays[:, None]
        count, given, batch = acting.shape
        if count == 1:
            held = np.broadcast_to(self.held, (*self.held.shape[:2], batch))
            return acting[0], held, np.ones(acting.shape, dtype=bool)
        acting, columns = acting.reshape(count * given, batch), np.arange(batch)
        order = np.argsort(acting, axis=0, kind='stable')
        whose = order // max(given, 1) == np.arange(count)[:, None, None]
        # After how many of its own changes a delay's inputs are, in every piece.
        passed = np.zeros((count, count * given + 1, batch), dtype=int)
        np.cumsum(whose, 1, out=passed[:, 1:])
        inputs, lanes = np.arange(len(owners))[:, None, None], columns % self.held.shape[2]
        held = self.held[passed[owners], inputs, lanes].swapaxes(0, 1)
        return acting[order, columns], held, whose


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
        self._lines, self._pieces, self._singles = OrderedDict(), OrderedDict(), OrderedDict()

    def line(self, frames):
        """Return the `Line` of one frame for every column, or of the one frame for all."""
        if len(frames) == 1:
            return self._kept_of_one(self._singles, frames[0], self._make_line_of_one)
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

    def _make_line_of_one(self, frame):
        return self._make_line((frame,))

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
        return self._kept_of_one(self._pieces, frame, self._cut_up)

    def _kept_of_one(self, found, frame, make):
        """Return what was made of a frame, as long as it is among the latest found."""
        kept = found.get(id(frame))
        if kept is None:
            # The frame is kept as well, so that no other one gets its id.
            kept = found[id(frame)] = frame, make(frame)
            if len(found) > _CACHED_FRAMES:
                found.popitem(last=False)
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
