"""Frames cut at the stamps of their samples, side by side or on end; the latest are kept."""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
import math
import threading

import numpy as np

_NANO = 1e-9
_CACHED_LINES = 16
# A batch at its longest; those of an arm take 30 kB each.
_CACHED_FRAMES = 1100
# A length that is whole but for rounding takes no step more.
_ALMOST = 1 - 1e-9


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


def cut(frame, sensors, control_size, max_step):
    """
    Return the `Cut` of a frame.

    sensors: name -> (index, `AbstractSensor`); control_size: number of inputs; max_step [s]: the
    longest integration step. Steps end where an input changes.
    """
    measured = {frame.end_ns: {}}
    for sample in frame.samples:
        measured.setdefault(sample.stamp_ns, {})[sensors[sample.sensor][0]] = sample
    stamps, changes = sorted(measured), [at for at, _ in frame.inputs]
    durations, acting, bounds = [], [], [0]
    for begin, end in pairwise((frame.start_ns, *stamps)):
        _add_steps(durations, acting, changes, (begin, end), max_step)
        bounds.append(len(durations))
    # What is unknown counts as zero here, and as a wide disturbance in the floor.
    held = np.nan_to_num(frame.held) if frame.unknown else frame.held
    times = [(stamp - frame.start_ns) * _NANO for stamp in (frame.start_ns, *stamps, *changes)]
    count = len(bounds)
    return Cut(
        tuple(durations),
        tuple(acting),
        tuple(bounds),
        tuple(times[:count]),
        tuple(measured[stamp] for stamp in stamps),
        np.array(times[count:]),
        held.reshape(len(changes), control_size),
        tuple((sensor.value_size, sensor.row_size) for _, sensor in sensors.values()),
        (frame.end_ns - frame.start_ns) * _NANO,
    )


def _add_steps(durations, acting, changes, instants, max_step):
    """Add the integration steps between two instants, and which inputs act during each."""
    start, end = instants
    first, last = bisect_right(changes, start), bisect_left(changes, end)
    edges = (start, *changes[first:last], end)
    for number, (begin, finish) in enumerate(pairwise(edges), first - 1):
        length = (finish - begin) * _NANO
        parts = max(1, math.ceil(length / max_step * _ALMOST))
        durations += [length / parts] * parts
        # Before the first change its inputs act already.
        acting += [max(number, 0)] * parts


@dataclass(frozen=True)
class Cut:
    """
    The pieces of one frame, in order of time.

    steps, acting [N]: of all pieces on end, as in `Piece`; bounds [G + 1]: the steps at which
    pieces begin and end; times [G + 1] [s]: the same since the frame's begin; samples [G]: sensor
    index -> `Sample` at the end of each; changes [E] [s] and held [E, nu]: from when on which
    inputs hold, by their stamps; sizes: of the samples and rows of every sensor, by its index;
    length [s]: of the frame.
    """

    steps: tuple
    acting: tuple
    bounds: tuple
    times: tuple
    samples: tuple
    changes: np.ndarray
    held: np.ndarray
    sizes: tuple
    length: float

    @property
    def count(self):
        """How many pieces there are."""
        return len(self.samples)

    @cached_property
    def pieces(self):
        """A `Piece` each."""
        ends = zip(pairwise(self.bounds), self.samples, pairwise(self.times))
        return tuple(
            Piece(self.steps[a:b], self.acting[a:b], measured, times)
            for (a, b), measured, times in ends
        )

    @cached_property
    def side_by_side(self):
        """
        Durations [S, G] of the steps of all pieces, and inputs [S, nu, G] that act during these.

        Some are of no length, where another piece has more.
        """
        places = [
            (k - a, g) for g, (a, b) in enumerate(pairwise(self.bounds)) for k in range(a, b)
        ]
        rows, columns = zip(*places)
        durations = np.zeros((max(rows) + 1, self.count))
        acting = np.zeros(durations.shape, dtype=int)
        durations[rows, columns], acting[rows, columns] = self.steps, self.acting
        return durations, self._held(acting).swapaxes(1, 2)

    @cached_property
    def on_end(self):
        """Steps on end: durations [N, 1], controls [N, nu, 1], where each piece begins [G]."""
        durations, controls = np.array(self.steps), self._held(self.acting)
        return durations[:, None], controls[..., None], list(self.bounds[:-1])

    @cached_property
    def begins(self):
        """When every piece begins [G] [s], since the frame's begin."""
        return np.array(self.times[:-1])

    @cached_property
    def measured(self):
        """A `Measured` for every sensor that has a sample here."""
        found, first = {}, 0
        for k, samples in enumerate(self.samples):
            for index in sorted(samples):
                pieces, values, rows = found.setdefault(index, ([], [], []))
                pieces.append(k)
                values.append(samples[index].values)
                rows += range(first, first + self.sizes[index][1])
                first += self.sizes[index][1]
        return tuple(Measured(index, *map(np.array, parts)) for index, parts in found.items())

    def inputs(self, piece):
        """Return the inputs [S, nu] during the steps of a `Piece`."""
        return self._held(piece.acting)

    def _held(self, acting):
        """Return inputs [..., nu] by their numbers; nothing acts where nothing is known."""
        acting = np.asarray(acting, dtype=int)
        if not len(self.held):
            return np.zeros((*acting.shape, self.held.shape[1]))
        return self.held[acting]


@dataclass(frozen=True)
class Measured:
    """
    All samples of one sensor in a frame.

    pieces [m]: at whose end; values [m, k]; rows [m * r]: where theirs stand among those of all
    sensors, in the order of time.
    """

    index: int
    pieces: np.ndarray
    values: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Piece:
    """
    The steps of a frame up to an instant.

    durations [s] of its integration steps; acting: which of the frame's inputs act during each;
    measured: sensor index -> `Sample` at its end; bounds: begin and end [s] since the frame's.
    """

    durations: tuple
    acting: tuple
    measured: dict
    bounds: tuple


_NOTHING = Piece((), (), {}, (0.0, 0.0))


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
        return _in_steps(np.diff(edges, axis=1), held, max_step)

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


def _in_steps(pieces, held, max_step):
    """
    Return the `ShiftedSteps` of pieces with inputs held [C, nu, B].

    pieces [2 + D, C, B]: lengths, and how these move with the end and with every delay. Every
    column has its own number of steps, and some of no length after them where another has more.
    """
    parts = np.ceil(np.abs(pieces[0]) / max_step * (1 - 1e-9)).astype(int)
    # Pieces of no length count where they would get one by another delay.
    parts = np.maximum(parts, (pieces[1:] != 0).any(0))
    ends = np.cumsum(parts, 0)
    numbers = np.arange(ends[-1].max())[:, None]
    # Of which piece each step is, the last one where there is none.
    whose = (ends[:-1, None] <= numbers).sum(0)
    cut = np.take_along_axis(pieces / np.maximum(parts, 1), whose[None], 1)
    cut *= numbers < ends[-1]
    return ShiftedSteps(cut[0], np.take_along_axis(held, whose[:, None], 0), cut[2:], cut[1])
