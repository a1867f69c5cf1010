"""Noticing that the robot is no longer the one it was."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice

from scipy.special import bdtrc, chdtri

# What is assumed of the share of outliers before any data: so many in so many rows.
_PRIOR_OUTLIERS, _PRIOR_ROWS = 2.0, 100.0
_FORGETTING = 0.999
# One frame may fit badly by a glitch.
_FEWEST = 2
# What so few glitches have before them comes of something else.
_UNEASY = 1e-3


@dataclass(frozen=True)
class ChangeMemory:
    """
    What the detector remembers.

    recent: (misfit, rows, surprises) of the last frames; outliers, rows: slowly forgotten counts
    from the frames before those; left_out: whether the last frame was left out as an outlier.
    """

    recent: tuple = ()
    outliers: float = _PRIOR_OUTLIERS
    rows: float = _PRIOR_ROWS
    left_out: bool = False


@dataclass(frozen=True)
class ChangeDetector:
    """
    Compares the last frames, two up to `frames` of them, with what noise explains.

    With normal noise their misfit is chi-squared. Where outliers are expected, one of them
    spoils a misfit; then so many rows have to surprise at once that the usual share of outliers
    does not explain it. probability: of a false alarm, for one look.
    """

    frames: int = 5
    probability: float = 1e-7

    def is_outlier(self, memory, misfit, rows, bad):
        """
        Tell whether a frame fits badly by a single bad sample, as far as can be seen by now.

        bad: how many of its samples surprise. If the robot has changed, the next frame fits as
        badly, and then neither is an outlier: so the frame is better left out until that is
        known. A change that comes on slowly shows in several samples, or in the frames before.
        """
        if memory.left_out or bad != 1 or len(memory.recent) < self.frames:
            return False
        return misfit > _bound(rows, self.probability) and not _is_uneasy(memory.recent[1:])

    def remember(self, memory, misfit, rows, surprises):
        """Return the memory with one more frame that was taken in."""
        recent = (*memory.recent, (misfit, rows, surprises))
        if len(recent) <= self.frames:
            return replace(memory, recent=recent, left_out=False)
        _, old_rows, old_surprises = recent[0]
        return ChangeMemory(
            recent[1:],
            _PRIOR_OUTLIERS + _FORGETTING * (memory.outliers - _PRIOR_OUTLIERS) + old_surprises,
            _PRIOR_ROWS + _FORGETTING * (memory.rows - _PRIOR_ROWS) + old_rows,
        )

    def pass_over(self, memory):
        """Return the memory with one more frame that was left out as an outlier."""
        return replace(self.remember(memory, 0.0, 0, 0), left_out=True)

    def has_changed(self, memory, expects_outliers):
        """Tell whether the remembered frames fit worse than noise can explain."""
        if len(memory.recent) < self.frames:
            return False
        probability = self.probability / (len(memory.recent) - _FEWEST + 1)
        share = memory.outliers / memory.rows
        misfits, rows, surprises = (
            islice(accumulate(reversed(each)), _FEWEST - 1, None) for each in zip(*memory.recent)
        )
        if expects_outliers:
            return any(bdtrc(k - 1, n, share) < probability for k, n in zip(surprises, rows))
        return any(misfit > _bound(n, probability) for misfit, n in zip(misfits, rows))


def _is_uneasy(frames):
    """Tell whether frames (misfit, rows, ...) fit worse than they usually do."""
    misfits, rows, _ = zip(*frames)
    return sum(misfits) > _bound(sum(rows), _UNEASY)


@lru_cache
def _bound(rows, probability):
    """Return what so many squared rows exceed with a probability."""
    # By the bare function: that of scipy.stats costs more than the rest of a look.
    return chdtri(rows, probability)
