"""
Change detection: tests of whether noise explains the last frames.

Two tests look at the last two to five frames. Their misfit is chi-squared if nothing but noise is
in it. So is `bias_statistics`, the score test of a shift of all positions to one side, which sees
a small change first: samples miss their prediction on one side, frame after frame.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice

import numpy as np
from scipy.linalg import lapack
from scipy.special import bdtrc, chdtri

from ..mixture import Mixture

# Prior of the share of outliers: so many in so many rows.
_PRIOR_OUTLIERS, _PRIOR_ROWS = 2.0, 100.0
# Forgetting factor of the counts of outliers, a frame.
_FORGETTING = 0.999
# A model error biases the same motion each time it is repeated, so the largest bias is remembered
# for 200 000 frames.
_FORGETTING_OF_BIAS = 1 - 5e-6
# The fewest frames that are tested together: one may fit badly by a glitch.
_FEWEST = 2
# Probability of a misfit of the frames before a bad one, below which that is no single outlier.
_UNEASY = 1e-3
# A model that is slightly wrong, of friction for one, biases motions again and again: a change is
# only what does so by this factor more than anything before.
_UNHEARD_OF = 1.5
# Relative regularization of the information of a bias, for directions that nothing observes.
_REGULARIZATION = 1e-9
# Change isolation reaches back so many frames, since a small change is noticed late. The mixture
# known before a frame is kept for each of the last few, and for one in so many before those.
_REACH, _DENSE, _STRIDE = 64, 8, 8
# Components of less weight are not kept with them.
_NOTABLE = 0.01


@dataclass(frozen=True)
class BiasScore:
    """
    Score of a frame's samples for a shift of the positions at its beginning.

    gradient [v]: of the log likelihood by the shift; information [v, v]: its negative Hessian.
    """

    gradient: np.ndarray
    information: np.ndarray


@dataclass(frozen=True)
class RecentFrame:
    """
    A frame of the last few.

    mixture: the prediction before it, None where it is no longer kept; log_evidence: of the
    frame's samples under it.
    """

    frame: object
    mixture: Mixture | None
    log_evidence: float


@dataclass(frozen=True)
class FrameFit:
    """
    How well a frame fits.

    misfit, rows, surprises: as of `filter.update.Step`; score: of a bias, None where outliers are
    expected; bias: statistic of this frame and those before over its bound, above one where noise
    does not explain it.
    """

    misfit: float
    rows: int
    surprises: int
    score: BiasScore | None = None
    bias: float = 0.0


@dataclass(frozen=True)
class DetectorState:
    """
    The state of the change detector.

    fits: `FrameFit`s of the last frames; outliers, rows: counts over the frames before, with
    exponential forgetting; bias: the largest of theirs, forgotten more slowly; left_out: whether
    the last frame was left out as an outlier.
    """

    fits: tuple = ()
    outliers: float = _PRIOR_OUTLIERS
    rows: float = _PRIOR_ROWS
    bias: float = 0.0
    left_out: bool = False

    def begun_anew(self, was_nothing):
        """
        Return the state with which detection begins again after an alarm.

        was_nothing: whether the robot has not changed, so that a bias as in these frames is
        normal.
        """
        biases = [fit.bias for fit in self.fits] if was_nothing else []
        return DetectorState(bias=max([self.bias, *biases]))


@dataclass(frozen=True)
class ChangeDetector:
    """
    Tests whether noise explains the last two up to `frames` frames.

    With normal noise their misfit and their bias statistic are chi-squared. Where outliers are
    expected, one of them spoils a misfit; the number of surprising rows is then tested against the
    usual share of outliers, which is binomial. probability: of a false alarm, a frame.
    """

    frames: int = 5
    probability: float = 1e-7

    def is_outlier(self, state, misfit, rows, bad):
        """
        Tell whether a frame is to be left out for a single bad sample.

        bad: number of its samples with surprising rows. If the robot has changed, the next frame
        fits as badly and is not left out. A gradual change shows in several samples, or in the
        frames before.
        """
        if state.left_out or bad != 1 or len(state.fits) < self.frames:
            return False
        return self.is_far_off(misfit, rows) and not _is_uneasy(state.fits[1:])

    def is_far_off(self, misfit, rows):
        """Tell whether a frame fits worse than noise can explain."""
        return misfit > _bound(rows, self.probability)

    def remember(self, state, misfit, rows, surprises, score=None):
        """Return the state with the fit of one more frame."""
        bias = self._bias(state, rows, score)
        fits = (*state.fits, FrameFit(misfit, rows, surprises, score, bias))
        if len(fits) <= self.frames:
            return replace(state, fits=fits, left_out=False)
        oldest = fits[0]
        return DetectorState(
            fits[1:],
            _PRIOR_OUTLIERS + _FORGETTING * (state.outliers - _PRIOR_OUTLIERS) + oldest.surprises,
            _PRIOR_ROWS + _FORGETTING * (state.rows - _PRIOR_ROWS) + oldest.rows,
            max(_FORGETTING_OF_BIAS * state.bias, oldest.bias),
        )

    def pass_over(self, state):
        """Return the state with one more frame, left out as an outlier."""
        return replace(self.remember(state, 0.0, 0, 0), left_out=True)

    def has_changed(self, state, expects_outliers):
        """Tell whether the remembered frames fit worse than noise can explain."""
        if len(state.fits) < self.frames:
            return False
        fits = [(fit.misfit, fit.rows, fit.surprises) for fit in reversed(state.fits)]
        misfits, rows, surprises = (
            islice(accumulate(each), _FEWEST - 1, None) for each in zip(*fits)
        )
        share = state.outliers / state.rows
        if expects_outliers:
            return any(bdtrc(k - 1, n, share) < self._single for k, n in zip(surprises, rows))
        if state.fits[-1].bias > max(1.0, _UNHEARD_OF * state.bias):
            return True
        return any(misfit > _bound(n, self._single) for misfit, n in zip(misfits, rows))

    @property
    def _single(self):
        """The probability of a false alarm of one test: Bonferroni over numbers of frames."""
        return self.probability / (self.frames - _FEWEST + 1)

    def _bias(self, state, rows, score):
        """
        Return the largest bias statistic of the last frames over its bound.

        rows, score: of the newest frame, as in `FrameFit`.
        """
        before = state.fits[1 - self.frames :]
        scores = [*(fit.score for fit in before if fit.score is not None), score]
        if score is None or len(scores) < _FEWEST:
            return 0.0
        degrees = min(len(score.gradient), rows + sum(fit.rows for fit in before))
        return float(bias_statistics(scores).max() / _bound(degrees, self._single))


def _is_uneasy(frames):
    """Tell whether frames, by their `FrameFit`s, fit worse than usual."""
    return sum(fit.misfit for fit in frames) > _bound(sum(fit.rows for fit in frames), _UNEASY)


@lru_cache
def _bound(rows, probability):
    """Return the bound that chi-squared of so many rows exceeds with a probability."""
    # The bare function: that of scipy.stats takes longer than all else of a test.
    return chdtri(rows, probability)


def bias_score(residual, seen, slope):
    """
    Return the `BiasScore` of rows [m]: predicted less measured, in units of the noise.

    seen [m, n]: slope times the root of the prediction; slope [m, v]: derivative by positions.
    """
    if not residual.size:
        return BiasScore(np.zeros(slope.shape[1]), np.zeros((slope.shape[1],) * 2))
    spread = seen @ seen.T
    spread.flat[:: len(spread) + 1] += 1.0
    factor, _ = lapack.dpotrf(spread.T, overwrite_a=1, lower=1)
    rows = np.concatenate([slope, -residual[:, None]], 1)
    whitened, _ = lapack.dtrtrs(factor, rows, lower=1)
    products = whitened[:, :-1].T @ whitened
    return BiasScore(products[:, -1], products[:, :-1])


def bias_statistics(scores):
    """
    Return the score statistic of a common shift in the last two, three, ... frames, [W].

    scores: `BiasScore`s of frames, the last one last. Without a bias the statistic is chi-squared,
    with as many degrees of freedom as there are positions.
    """
    latest_first = scores[::-1]
    gradients = np.array([score.gradient for score in latest_first]).cumsum(0)[1:]
    informations = np.array([score.information for score in latest_first]).cumsum(0)[1:]
    # A view: the informations are changed in place.
    diagonals = informations.reshape(len(gradients), -1)[:, :: gradients.shape[1] + 1]
    diagonals += _REGULARIZATION * diagonals.max(-1, keepdims=True, initial=1.0)
    shifts = np.linalg.solve(informations, gradients[..., None])[..., 0]
    return (gradients * shifts).sum(-1)


def with_frame(recent, frame, mixture, log_evidence):
    """Return `RecentFrame`s with one more; mixture: the prediction before it."""
    recent = [*recent, RecentFrame(frame, _notable(mixture), log_evidence)]
    fading = len(recent) - 1 - _DENSE
    if fading > 0 and any(recent[k].mixture for k in range(max(fading - _STRIDE + 1, 0), fading)):
        recent[fading] = replace(recent[fading], mixture=None)
    if len(recent) > _REACH:
        kept = [k for k, each in enumerate(recent) if k and each.mixture is not None]
        recent = recent[kept[0] :]
    return tuple(recent)


def _notable(mixture):
    """Return the components of notable weight."""
    if mixture.size == 1:
        return mixture
    return mixture.pick(np.flatnonzero(mixture.log_weights > np.log(_NOTABLE)))
