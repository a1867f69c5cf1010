"""A stretch of frames without a sample inside, and how delays cut it elsewhere."""

from dataclasses import dataclass

import numpy as np


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
