"""
Frames cut at the stamps of their samples into segments of integration steps.

`TimelineCache` is the entry. It has frames side by side, a `Line` of `Segment`s with a frame for
every column, or consecutively, a `Chain` of steps. Each is made of the `Cut` of every frame.
"""

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
# The longest batch; the `Cut` of an arm's frame takes 30 kB.
_CACHED_FRAMES = 1100
# A length that is a multiple of the step but for rounding takes no further step.
_ALMOST = 1 - 1e-9


class TimelineCache(threading.local):
    """
    Cuts frames and caches the latest results, since fits ask for the same frames repeatedly.

    Each thread has a cache of its own.
    """

    def __init__(self, sensors, control_size, max_step):
        """Take the sensors, the number of controls and the longest integration step [s]."""
        self._sensors = {sensor.name: (i, sensor) for i, sensor in enumerate(sensors)}
        self._control_size, self._max_step = control_size, max_step
        self._lines, self._cuts, self._singles = OrderedDict(), OrderedDict(), OrderedDict()

    def line(self, frames):
        """Return the `Line` of one frame for every column, or of one for all columns."""
        if len(frames) == 1:
            return self._kept_of_one(self._singles, frames[0], self._line_of_one)
        return self._kept(('line', *map(id, frames)), frames, self._line)

    def chain(self, frames):
        """Return the `Chain` of consecutive frames."""
        return self._kept(('chain', *map(id, frames)), frames, self._chain)

    def _kept(self, key, frames, make):
        """Return the cached result of frames by its key, made if it is missing."""
        # The cache holds the frames as well, so that no other object gets an id of a key.
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
        """Return the `Cut` of one frame, cached."""
        return self._kept_of_one(self._cuts, frame, self._cut_up)

    def _cut_up(self, frame):
        return cut(frame, self._sensors, self._control_size, self._max_step)

    def _kept_of_one(self, found, frame, make):
        """Return the cached result of one frame, made if it is missing."""
        kept = found.get(id(frame))
        if kept is None:
            # As in `_kept`.
            kept = found[id(frame)] = frame, make(frame)
            if len(found) > _CACHED_FRAMES:
                found.popitem(last=False)
        return kept[1]


@dataclass(frozen=True)
class Line:
    """
    Frames side by side, one for every column.

    cuts: of the distinct frames; lanes [B]: index of each column's frame among these.
    """

    cuts: tuple
    lanes: np.ndarray

    @property
    def cut(self):
        """The `Cut` of the frame if all columns have the same, else None."""
        return self.cuts[0] if len(self.cuts) == 1 else None

    @cached_property
    def lengths(self):
        """The lengths [B] of the frames [s]."""
        return np.array([each.length for each in self.cuts])[self.lanes]

    @cached_property
    def segments(self):
        """The `Segment`s of the frames in the order of time, a tuple."""
        return tuple(self._segment(k) for k in range(max(len(c.pieces) for c in self.cuts)))

    def _segment(self, k):
        """Return the k-th pieces of all frames as one `Segment`."""
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
        """Return (measured, moved) of a `Segment` of pieces."""
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
        """Changes [E, C] and held [E, nu, C] of the cuts; with fewer inputs the last repeats."""
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

    sensors: name -> (index, `AbstractSensor`); control_size: number of inputs; max_step [s]:
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
    # Unknown inputs are zero here, and input noise in `process_noise`.
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
    """Append the integration steps between two instants, and which inputs act during each."""
    start, end = instants
    first, last = bisect_right(changes, start), bisect_left(changes, end)
    edges = (start, *changes[first:last], end)
    for number, (begin, finish) in enumerate(pairwise(edges), first - 1):
        length = (finish - begin) * _NANO
        parts = max(1, math.ceil(length / max_step * _ALMOST))
        durations += [length / parts] * parts
        # Before the first change, its inputs act already.
        acting += [max(number, 0)] * parts


@dataclass(frozen=True)
class Cut:
    """
    The G pieces of one frame, in the order of time.

    steps, acting [N]: of all pieces joined, as in `Piece`; bounds [G + 1]: the steps at which
    pieces begin and end; times [G + 1] [s]: the same as times since the frame's beginning; samples
    [G]: sensor index -> `Sample` at the end of each piece; changes [E] [s] and held [E, nu]: the
    stamps of inputs and their values; sizes: (number of values, number of rows) of a sample of
    every sensor, by its index; length [s]: of the frame.
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
        """The number G of pieces."""
        return len(self.samples)

    @cached_property
    def pieces(self):
        """The `Piece`s, a tuple."""
        ends = zip(pairwise(self.bounds), self.samples, pairwise(self.times))
        return tuple(
            Piece(self.steps[a:b], self.acting[a:b], measured, times)
            for (a, b), measured, times in ends
        )

    @cached_property
    def side_by_side(self):
        """
        Durations [S, G] of the steps of all pieces, and inputs [S, nu, G] that act during them.

        Pieces with fewer steps than others end with steps of no length.
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
        """Durations [N, 1] and controls [N, nu, 1] of all steps, and first steps of pieces [G]."""
        durations, controls = np.array(self.steps), self._held(self.acting)
        return durations[:, None], controls[..., None], list(self.bounds[:-1])

    @cached_property
    def begins(self):
        """When every piece begins [G] [s], since the frame's beginning."""
        return np.array(self.times[:-1])

    @cached_property
    def measured(self):
        """The `Measured` of every sensor that has a sample in the frame, a tuple."""
        found, first = {}, 0
        for k, samples in enumerate(self.samples):
            for index in sorted(samples):
                pieces, values, rows = found.setdefault(index, ([], [], []))
                pieces.append(k)
                values.append(samples[index].values)
                rows += range(first, first + self.sizes[index][1])
                first += self.sizes[index][1]
        return tuple(Measured(index, *map(np.array, parts)) for index, parts in found.items())

    def delayed(self, delays, owners, max_step):
        """
        Return the `DelayedSteps` of the frame with inputs that act late; the latest are cached.

        They are the steps of `Segment.shifted` for one column and all pieces at once, without
        NumPy's calls for each piece, which would take longer than the simulation.

        delays [D] [s]: from the stamp of an input to its effect; owners [nu]: index of every
        input's delay. The same delays are asked for again and again while a window is fitted.
        """
        latest = self._latest.get('delayed')
        if latest is None or latest[0] != delays:
            latest = self._latest['delayed'] = delays, self._delayed(delays, owners, max_step)
        return latest[1]

    @cached_property
    def _latest(self):
        return {}

    def _delayed(self, delays, owners, max_step):
        """Return what `delayed` does."""
        # Instants (time, which delay moves it, which input begins to act); at one time a piece
        # ends before inputs begin to act.
        instants = [(time, -1, 0) for time in self.times]
        passed = [0] * len(delays)
        changes = self.changes.tolist()
        for which, delay in enumerate(delays):
            for number, change in enumerate(changes[1:], 1):
                if 0.0 <= change + delay < self.length:
                    instants.append((change + delay, which, number))
                elif change + delay < 0.0:
                    passed[which] = number
        instants.sort(key=lambda instant: instant[:2])
        durations, acting, by_delay, bounds = [], [], [], [0]
        for (begin, moves, number), (end, moves_next, _) in pairwise(instants):
            if moves >= 0:
                passed[moves] = number
            slope = [0.0] * len(delays)
            if moves_next >= 0:
                slope[moves_next] += 1.0
            if moves >= 0:
                slope[moves] -= 1.0
            # A piece of no length takes a step if a change of delay would give it a length.
            parts = max(math.ceil((end - begin) / max_step * _ALMOST), int(any(slope)))
            if parts:
                durations += [(end - begin) / parts] * parts
                acting += [tuple(passed)] * parts
                by_delay += [[each / parts for each in slope]] * parts
            if moves_next < 0:
                bounds.append(len(durations))
        held = self.held if len(self.held) else np.zeros((1, len(owners)))
        # A frame of no length has no steps.
        acting = np.array(acting, dtype=int).reshape(-1, len(delays))
        controls = held[acting[:, owners], np.arange(len(owners))]
        by_delay = np.array(by_delay).reshape(-1, len(delays))
        arrays = np.array(durations)[:, None], controls[..., None], by_delay
        return DelayedSteps(*arrays, tuple(bounds))

    def inputs(self, piece):
        """Return the inputs [S, nu] during the steps of a `Piece`."""
        return self._held(piece.acting)

    def _held(self, acting):
        """Return inputs [..., nu] by their index; zero if the frame has none."""
        acting = np.asarray(acting, dtype=int)
        if not len(self.held):
            return np.zeros((*acting.shape, self.held.shape[1]))
        return self.held[acting]


@dataclass(frozen=True)
class DelayedSteps:
    """
    The integration steps of one frame with inputs that act late.

    durations [N, 1] [s]; controls [N, nu, 1]; by_delay [N, D]: derivatives of the durations by
    the delays; bounds [G + 1]: the steps at which pieces begin and end.
    """

    durations: np.ndarray
    controls: np.ndarray
    by_delay: np.ndarray
    bounds: tuple


@dataclass(frozen=True)
class Measured:
    """
    All samples of one sensor in a frame.

    pieces [m]: index of the piece that each sample ends; values [m, k]; rows [m * r]: places of
    their residual rows among those of all sensors, in the order of time.
    """

    index: int
    pieces: np.ndarray
    values: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Piece:
    """
    The part of a frame between two stamps of samples.

    durations [s]: of its integration steps; acting: index of the inputs that act during each;
    measured: sensor index -> `Sample` at its end; bounds: its beginning and end [s], since that
    of the frame.
    """

    durations: tuple
    acting: tuple
    measured: dict
    bounds: tuple


_NOTHING = Piece((), (), {}, (0.0, 0.0))


@dataclass(frozen=True)
class Segment:
    """
    Pieces of B frames side by side, or of one that is the same for all columns (B = 1).

    durations [S, B] [s] and controls [S, nu, B]: of its integration steps, of which those that a
    frame has less than others are of no length; measured: (sensor index, values [B, k]) at its
    end, NaN where a frame has no such sample; moved: sensor index -> by how much [B] [s] these
    have been stamped earlier than they were received; bounds [2, B] [s]: beginning and end since
    the frame's beginning; changes [E, B] [s] and held [E, nu, B]: the stamps of inputs and their
    values.
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

        delays [D, B] [s]: from the stamp of an input to its effect; owners [nu]: index of every
        input's delay; early [B] [s]: if longer than the segment, the steps lead back in time.
        Steps end exactly where an input begins to act, so durations are differentiable by both.
        """
        begin, end = self.bounds[0], self.bounds[1] - early
        is_back = end < begin
        low, high = np.minimum(begin, end), np.maximum(begin, end)
        acting, held, whose = self._in_effect(delays, owners)
        cuts = np.clip(acting, low, high)
        with_delay = whose & (acting >= low) & (acting < high)
        # Instants beyond the end lie at the end and move with it.
        with_end = np.where(np.where(is_back, acting < low, acting >= high), -1.0, 0.0)
        if is_back.any():
            cuts, with_end, held = (np.where(is_back, a[::-1], a) for a in (cuts, with_end, held))
            with_delay = np.where(is_back, with_delay[:, ::-1], with_delay)
        # Where the steps end, and its derivatives by how early the end is and by every delay.
        edges = np.zeros((2 + len(delays), len(cuts) + 2, cuts.shape[1]))
        edges[0, 0], edges[0, 1:-1], edges[0, -1] = begin, cuts, end
        edges[1, 1:-1], edges[1, -1] = with_end, -1.0
        edges[2:, 1:-1] = with_delay
        return _in_steps(np.diff(edges, axis=1), held, max_step)

    def _in_effect(self, delays, owners):
        """
        Return (acting [C, B], held [C + 1, nu, B], whose [D, C, B]): when which inputs act.

        acting: the instants at which inputs begin to act, in the order of time; held: the inputs
        before the first and after each; whose: whether an instant moves with each delay.
        """
        acting = self.changes[1:] + delays[:, None]
        count, given, batch = acting.shape
        if count == 1:
            held = np.broadcast_to(self.held, (*self.held.shape[:2], batch))
            return acting[0], held, np.ones(acting.shape, dtype=bool)
        acting, columns = acting.reshape(count * given, batch), np.arange(batch)
        order = np.argsort(acting, axis=0, kind='stable')
        whose = order // max(given, 1) == np.arange(count)[:, None, None]
        # How many of its own changes each delay's inputs have passed, in every piece.
        passed = np.zeros((count, count * given + 1, batch), dtype=int)
        np.cumsum(whose, 1, out=passed[:, 1:])
        inputs, lanes = np.arange(len(owners))[:, None, None], columns % self.held.shape[2]
        held = self.held[passed[owners], inputs, lanes].swapaxes(0, 1)
        return acting[order, columns], held, whose


@dataclass(frozen=True)
class ShiftedSteps:
    """
    Integration steps that depend on delays.

    durations [S, B] [s]; controls [S, nu, B]; by_delay [D, S, B] and by_early [S, B]: derivatives
    of the durations by the delays of inputs and by how early the segment ends.
    """

    durations: np.ndarray
    controls: np.ndarray
    by_delay: np.ndarray
    by_early: np.ndarray


def _in_steps(pieces, held, max_step):
    """
    Return the `ShiftedSteps` of pieces with inputs held [C, nu, B].

    pieces [2 + D, C, B]: lengths, and their derivatives by how early the end is and by every
    delay. Every column has its own number of steps, then steps of no length up to the longest's.
    """
    parts = np.ceil(np.abs(pieces[0]) / max_step * (1 - 1e-9)).astype(int)
    # A piece of no length takes a step if a change of delay would give it a length.
    parts = np.maximum(parts, (pieces[1:] != 0).any(0))
    ends = np.cumsum(parts, 0)
    numbers = np.arange(ends[-1].max())[:, None]
    # The piece of each step; the last one for steps of no length.
    whose = (ends[:-1, None] <= numbers).sum(0)
    cut = np.take_along_axis(pieces / np.maximum(parts, 1), whose[None], 1)
    cut *= numbers < ends[-1]
    return ShiftedSteps(cut[0], np.take_along_axis(held, whose[:, None], 0), cut[2:], cut[1])
