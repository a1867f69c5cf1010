"""One frame cut at the stamps of its samples."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
import math

import numpy as np

_NANO = 1e-9
# A length that is whole but for rounding takes no step more.
_ALMOST = 1 - 1e-9


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
