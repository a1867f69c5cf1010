"""Noticing that the robot is no longer the one it was."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice

from scipy.special import bdtrc, chdtri

from .shifts import bias_statistics, BiasScore

# What is assumed of the share of outliers before any data: so many in so many rows.
_PRIOR_OUTLIERS, _PRIOR_ROWS = 2.0, 100.0
_FORGETTING = 0.999
# What shifts a motion comes back when that motion does: it is remembered for 200 000 frames.
_EASING = 1 - 5e-6
# One frame may fit badly by a glitch.
_FEWEST = 2
# What so few glitches have before them comes of something else.
_UNEASY = 1e-3
# A model that is a little wrong, as of friction, shifts motions again and again: only what does so
# by this factor more than anything before is a change.
_UNHEARD_OF = 1.5


@dataclass(frozen=True)
class FrameFit:
    """
    How well a frame fits.

    misfit, rows, surprises: see `filtering.Step`; pull: where its samples pull positions, None
    where nobody asks; bias: how far it and the frames before are shifted, as a part of what
    noise explains.
    """

    misfit: float
    rows: int
    surprises: int
    pull: BiasScore | None = None
    bias: float = 0.0


@dataclass(frozen=True)
class ChangeMemory:
    """
    What the detector remembers.

    recent: `FrameFit`s of the last frames; outliers, rows, bias: slowly forgotten counts, and
    the largest bias, forgotten more slowly, of the frames before those; left_out: whether the
    last frame was left out as an outlier.
    """

    recent: tuple = ()
    outliers: float = _PRIOR_OUTLIERS
    rows: float = _PRIOR_ROWS
    bias: float = 0.0
    left_out: bool = False

    def begun_anew(self, was_nothing):
        """
        Return the memory for what comes after something was noticed.

        was_nothing: whether the robot is the one it was, so that frames like those are its own.
        """
        strains = [fit.bias for fit in self.recent] if was_nothing else []
        return ChangeMemory(bias=max([self.bias, *strains]))


@dataclass(frozen=True)
class ChangeDetector:
    """
    Compares the last frames, two up to `frames` of them, with what noise explains.

    With normal noise their misfit is chi-squared, and so is what shifts them all to one side:
    a small change that lasts is first seen there. Where outliers are expected, one of them
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
        return self.is_far_off(misfit, rows) and not _is_uneasy(memory.recent[1:])

    def is_far_off(self, misfit, rows):
        """Tell whether a frame fits worse than noise can explain."""
        return misfit > _bound(rows, self.probability)

    def remember(self, memory, misfit, rows, surprises, pull=None):
        """Return the memory with one more frame that was taken in."""
        bias = self._bias(memory, rows, pull)
        recent = (*memory.recent, FrameFit(misfit, rows, surprises, pull, bias))
        if len(recent) <= self.frames:
            return replace(memory, recent=recent, left_out=False)
        oldest = recent[0]
        return ChangeMemory(
            recent[1:],
            _PRIOR_OUTLIERS + _FORGETTING * (memory.outliers - _PRIOR_OUTLIERS) + oldest.surprises,
            _PRIOR_ROWS + _FORGETTING * (memory.rows - _PRIOR_ROWS) + oldest.rows,
            max(_EASING * memory.bias, oldest.bias),
        )

    def pass_over(self, memory):
        """Return the memory with one more frame that was left out as an outlier."""
        return replace(self.remember(memory, 0.0, 0, 0), left_out=True)

    def has_changed(self, memory, expects_outliers):
        """Tell whether the remembered frames fit worse than noise can explain."""
        if len(memory.recent) < self.frames:
            return False
        told = [(fit.misfit, fit.rows, fit.surprises) for fit in reversed(memory.recent)]
        misfits, rows, surprises = (
            islice(accumulate(each), _FEWEST - 1, None) for each in zip(*told)
        )
        share = memory.outliers / memory.rows
        if expects_outliers:
            return any(bdtrc(k - 1, n, share) < self._single for k, n in zip(surprises, rows))
        if memory.recent[-1].bias > max(1.0, _UNHEARD_OF * memory.bias):
            return True
        return any(misfit > _bound(n, self._single) for misfit, n in zip(misfits, rows))

    @property
    def _single(self):
        """The probability of a false alarm by so many of the last frames."""
        return self.probability / (self.frames - _FEWEST + 1)

    def _bias(self, memory, rows, pull):
        """
        Return how far the last frames are shifted to one side, as a part of what noise does.

        rows, pull: of the newest frame, as in `FrameFit`.
        """
        before = memory.recent[1 - self.frames :]
        pulls = [*(fit.pull for fit in before if fit.pull is not None), pull]
        if pull is None or len(pulls) < _FEWEST:
            return 0.0
        degrees = min(len(pull.force), rows + sum(fit.rows for fit in before))
        return float(bias_statistics(pulls).max() / _bound(degrees, self._single))


def _is_uneasy(frames):
    """Tell whether frames, by their `FrameFit`s, fit worse than they usually do."""
    return sum(fit.misfit for fit in frames) > _bound(sum(fit.rows for fit in frames), _UNEASY)


@lru_cache
def _bound(rows, probability):
    """Return what so many squared rows exceed with a probability."""
    # By the bare function: that of scipy.stats costs more than the rest of a look.
    return chdtri(rows, probability)
