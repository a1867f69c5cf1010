"""One frame cut at the stamps of its samples."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
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

    changes [E] [s] and held [E, nu]: from when on which inputs hold, by their stamps; sizes: of
    the samples and rows of every sensor, by its index; length [s]: of the frame.
    """

    pieces: tuple
    changes: np.ndarray
    held: np.ndarray
    sizes: tuple
    length: float

    @cached_property
    def durations(self):
        """Durations [S, G] of the steps of all pieces, of no length where another has more."""
        result = np.zeros((self._steps, len(self.pieces)))
        for k, piece in enumerate(self.pieces):
            result[: len(piece.durations), k] = piece.durations
        return result

    @cached_property
    def controls(self):
        """The inputs [S, nu, G] that act during these."""
        acting = np.zeros((self._steps, len(self.pieces)), dtype=int)
        for k, piece in enumerate(self.pieces):
            acting[: len(piece.acting), k] = piece.acting
        return self._held(acting).swapaxes(1, 2)

    @cached_property
    def on_end(self):
        """Steps on end: durations [N, 1], controls [N, nu, 1], where each piece begins [G]."""
        durations = [x for piece in self.pieces for x in piece.durations]
        acting = [x for piece in self.pieces for x in piece.acting]
        begins = np.cumsum([0, *(len(piece.durations) for piece in self.pieces[:-1])])
        return np.array(durations)[:, None], self._held(acting)[..., None], begins

    @cached_property
    def begins(self):
        """When every piece begins [G] [s], since the frame's begin."""
        return np.array([piece.bounds[0] for piece in self.pieces])

    @cached_property
    def measured(self):
        """A `Measured` for every sensor that has a sample here."""
        places, values, first = {}, {}, 0
        for k, piece in enumerate(self.pieces):
            for index in sorted(piece.measured):
                size = self.sizes[index][1]
                places.setdefault(index, []).append((k, first))
                values.setdefault(index, []).append(piece.measured[index].values)
                first += size
        found = []
        for index, own in places.items():
            pieces, firsts = np.array(own).T
            rows = (firsts[:, None] + np.arange(self.sizes[index][1])).ravel()
            found.append(Measured(index, pieces, np.array(values[index]), rows))
        return tuple(found)

    def inputs(self, piece):
        """Return the inputs [S, nu] during the steps of a `Piece`."""
        return self._held(piece.acting)

    def _held(self, acting):
        """Return inputs [..., nu] by their numbers; nothing acts where nothing is known."""
        acting = np.asarray(acting, dtype=int)
        if not len(self.held):
            return np.zeros((*acting.shape, self.held.shape[1]))
        return self.held[acting]

    @property
    def _steps(self):
        return max(len(piece.durations) for piece in self.pieces)


def cut(frame, sensors, control_size, max_step):
    """
    Return the `Cut` of a frame.

    sensors: name -> (index, `AbstractSensor`); control_size: number of inputs; max_step [s]: the
    longest integration step. Steps end where an input changes.
    """
    stamps = sorted({sample.stamp_ns for sample in frame.samples} | {frame.end_ns})
    measured = {stamp: {} for stamp in stamps}
    for sample in frame.samples:
        measured[sample.stamp_ns][sensors[sample.sensor][0]] = sample
    changes, pieces, begin = [at for at, _ in frame.inputs], [], frame.start_ns
    for stamp in stamps:
        durations, acting = _steps(changes, begin, stamp, max_step)
        bounds = (begin - frame.start_ns) * _NANO, (stamp - frame.start_ns) * _NANO
        pieces.append(Piece(durations, acting, measured[stamp], bounds))
        begin = stamp
    # What is unknown counts as zero here, and as a wide disturbance in the floor.
    held = np.nan_to_num(np.array([values for _, values in frame.inputs]))
    return Cut(
        tuple(pieces),
        np.array([(at - frame.start_ns) * _NANO for at in changes]),
        held.reshape(len(changes), control_size),
        tuple((sensor.value_size, sensor.row_size) for _, sensor in sensors.values()),
        (frame.end_ns - frame.start_ns) * _NANO,
    )


def _steps(changes, start, end, max_step):
    """Return (durations, which inputs act) of the integration steps between two instants."""
    inside = changes[bisect_right(changes, start) : bisect_left(changes, end)]
    durations, acting = [], []
    for begin, finish in zip([start, *inside], [*inside, end]):
        length = (finish - begin) * _NANO
        parts = max(1, math.ceil(length / max_step * _ALMOST))
        durations += [length / parts] * parts
        # Before the first change its inputs act already.
        acting += [max(bisect_right(changes, begin) - 1, 0)] * parts
    return tuple(durations), tuple(acting)
