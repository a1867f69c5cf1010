"""
Change detection: tests of whether noise explains the last frames.

Two tests look at the frames of the last 20 to 50 ms. Their misfit is chi-squared if nothing but
noise is in it. So is `bias_statistics`, the score test of a shift of all positions to one side,
which sees a small change first: samples miss their prediction on one side, frame after frame.

Horizons are in seconds of data and false alarms by the hour, so that a robot is watched equally at
25 and at 500 frames a second (`benchmark/evaluate.py --only estimation --study frame_rates`).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

import numpy as np
from scipy.linalg import lapack
from scipy.special import bdtrc, chdtri

from ..mixture import Mixture

# Prior of the share of outliers: so many in so many rows.
_PRIOR_OUTLIERS, _PRIOR_ROWS = 2.0, 100.0
# Time in which the counts of outliers are forgotten to 1/e [s].
_FORGETTING = 10.0
# A model error biases the same motion each time it is repeated, so the largest bias is remembered
# for half an hour [s].
_FORGETTING_OF_BIAS = 2000.0
# Frames of so long are tested together [s]: a large change shows at once, a small one in more of
# them. At 100 Hz these are two to five frames.
_WINDOWS = (0.02, 0.03, 0.04, 0.05)
# The fewest frames that are tested together, at any rate: one may fit badly by a glitch. And the
# fewest that are remembered: a change that comes on gradually shows in those before a bad one.
_FEWEST, _REMEMBERED = 2, 5
# Stamps of frames jitter: so much shorter a time is as good [s].
_JITTER = 1e-3
# Probability of a misfit of the frames before a bad one, below which that is no single outlier.
_UNEASY = 1e-3
# A model that is slightly wrong, of friction for one, biases motions again and again: a change is
# only what does so by this factor more than anything before.
_UNHEARD_OF = 1.5
# Relative regularization of the information of a bias, for directions that nothing observes.
_REGULARIZATION = 1e-9
# Change isolation reaches back so far [s], since a small change is noticed late. Mixtures known
# before a frame are kept at intervals of the first length for so long, and of the second before.
_REACH, _DENSE, _INTERVALS = 0.64, 0.08, (0.01, 0.08)
# What has changed shows in motion, which takes time, and in noisy samples, of which it takes a
# number: at lower rates than this [1/s] isolation has as many frames as at it, in a longer time.
_RATE = 100.0
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

    seconds: its length; misfit, rows, surprises: as of `filter.update.Step`; score: of a bias,
    None where outliers are expected; bias: statistic of this frame and those before over its
    bound, above one where noise does not explain it.
    """

    seconds: float
    misfit: float
    rows: int
    surprises: int
    score: BiasScore | None = None
    bias: float = 0.0


@dataclass(frozen=True)
class DetectorState:
    """
    The state of the change detector.

    fits: `FrameFit`s of the last frames; outliers, rows: counts over the
    frames before, with exponential forgetting; bias: the largest of theirs, forgotten more slowly;
    left_out: whether the last frame was left out as an outlier.
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
    Tests whether noise explains the frames of the last 20 to 50 ms.

    With normal noise their misfit and their bias statistic are chi-squared. Where outliers are
    expected, one of them spoils a misfit; the number of surprising rows is then tested against the
    usual share of outliers, which is binomial. false_alarms: expected in an hour of data, at most:
    tests of successive frames share most of their samples.
    """

    false_alarms: float = 0.036

    def is_outlier(self, state, fit, bad):
        """
        Tell whether a frame of a `FrameFit` is to be left out for a single bad sample.

        bad: number of its samples with surprising rows. If the robot has changed, the next frame
        fits as badly and is not left out. A gradual change shows in several samples, or in the
        frames before.
        """
        if state.left_out or bad != 1 or not _is_full(state.fits):
            return False
        return self.is_far_off(fit) and not _is_uneasy(state.fits[1:])

    def is_far_off(self, fit):
        """Tell whether a frame of a `FrameFit` fits worse than noise can explain."""
        return fit.misfit > _bound(fit.rows, self._probability(fit))

    def remember(self, state, fit):
        """Return the state with the `FrameFit` of one more frame, whose bias is yet unknown."""
        fits, passed = [*state.fits, fit], 0
        while _is_full(fits[passed + 1 :]):
            passed += 1
        kept = tuple(fits[passed:-1])
        fit = replace(fit, bias=self._bias(kept, fit))
        outliers, rows, bias = state.outliers, state.rows, state.bias
        for old in fits[:passed]:
            kept_part = np.exp(-old.seconds / _FORGETTING)
            outliers = _PRIOR_OUTLIERS + kept_part * (outliers - _PRIOR_OUTLIERS) + old.surprises
            rows = _PRIOR_ROWS + kept_part * (rows - _PRIOR_ROWS) + old.rows
            bias = max(np.exp(-old.seconds / _FORGETTING_OF_BIAS) * bias, old.bias)
        return DetectorState((*kept, fit), float(outliers), float(rows), float(bias))

    def pass_over(self, state, seconds):
        """Return the state with one more frame of so long, left out as an outlier."""
        return replace(self.remember(state, FrameFit(seconds, 0.0, 0, 0)), left_out=True)

    def has_changed(self, state, expects_outliers):
        """Tell whether the remembered frames fit worse than noise can explain."""
        if not _is_full(state.fits):
            return False
        latest_first, newest = state.fits[::-1], state.fits[-1]
        counts = _counts(latest_first)
        probability = self._probability(newest) / len(_WINDOWS)
        rows = [*accumulate(fit.rows for fit in latest_first)]
        if expects_outliers:
            share = state.outliers / state.rows
            surprises = [*accumulate(fit.surprises for fit in latest_first)]
            return any(
                bdtrc(surprises[k - 1] - 1, rows[k - 1], share) < probability for k in counts
            )
        if newest.bias > max(1.0, _UNHEARD_OF * state.bias):
            return True
        misfits = [*accumulate(fit.misfit for fit in latest_first)]
        return any(misfits[k - 1] > _bound(rows[k - 1], probability) for k in counts)

    def _probability(self, fit):
        """
        Return the probability of a false alarm in a frame of a `FrameFit`.

        The windows share it (Bonferroni). At low rates some of them are the same, at high ones
        those of successive frames share most samples: both make false alarms rarer.
        """
        return self.false_alarms * fit.seconds / 3600

    def _bias(self, before, fit):
        """Return the largest bias statistic of a `FrameFit` and those before over its bound."""
        scored = [*(each for each in before if each.score is not None), fit]
        if fit.score is None or len(scored) < _FEWEST:
            return 0.0
        counts = _counts(scored[::-1])
        degrees = min(len(fit.score.gradient), fit.rows + sum(each.rows for each in before))
        if not degrees:
            return 0.0
        statistics = bias_statistics([each.score for each in scored], counts)
        bound = _bound(degrees, self._probability(fit) / len(_WINDOWS))
        return float(statistics.max() / bound)


def _is_full(fits):
    """Tell whether `FrameFit`s are enough, and of frames as long as the longest window."""
    if len(fits) < _REMEMBERED:
        return False
    return sum(fit.seconds for fit in fits) >= _WINDOWS[-1] - _JITTER


def _counts(latest_first):
    """Return the numbers of last frames, by their `FrameFit`s, that are as long as each window."""
    lengths = [*accumulate(fit.seconds for fit in latest_first)]
    shorter = [sum(length < window - _JITTER for length in lengths) for window in _WINDOWS]
    return sorted({min(max(count + 1, _FEWEST), len(lengths)) for count in shorter})


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


def bias_statistics(scores, counts):
    """
    Return the score statistics of a common shift in the last frames, [W].

    scores: `BiasScore`s of frames, the last one last; counts [W]: how many of the last frames
    each. Without a bias the statistic is chi-squared, with as many degrees of freedom as there are
    positions.
    """
    latest_first, which = scores[::-1], np.array(counts) - 1
    gradients = np.array([score.gradient for score in latest_first]).cumsum(0)[which]
    informations = np.array([score.information for score in latest_first]).cumsum(0)[which]
    # A view: the informations are changed in place.
    diagonals = informations.reshape(len(gradients), -1)[:, :: gradients.shape[1] + 1]
    diagonals += _REGULARIZATION * diagonals.max(-1, keepdims=True, initial=1.0)
    shifts = np.linalg.solve(informations, gradients[..., None])[..., 0]
    return (gradients * shifts).sum(-1)


def with_frame(recent, frame, mixture, log_evidence):
    """Return `RecentFrame`s with one more; mixture: the prediction before it."""
    recent = [*recent, RecentFrame(frame, _notable(mixture), log_evidence)]
    starts = [each.frame.start_ns for each in recent]
    if has_passed(_REACH, starts[0], starts[-1], len(recent) - 1):
        # From the next mixture on.
        recent = recent[next(k for k, each in enumerate(recent) if k and each.mixture) :]
    starts, last = starts[-len(recent) :], None
    for k, each in enumerate(recent[:-1]):
        if each.mixture is None:
            continue
        is_old = has_passed(_DENSE, starts[k], starts[-1], len(recent) - 1 - k)
        if last is None or has_passed(_INTERVALS[is_old], starts[last], starts[k], k - last):
            last = k
        else:
            recent[k] = replace(each, mixture=None)
    return tuple(recent)


def since(recent, seconds, least=None):
    """
    Return the index of the `RecentFrame` from which on so many seconds are filtered again.

    It is the last one with a mixture that begins so long before the end of the newest, else the
    first, which has one. least: number of frames, as of `has_passed`.
    """
    end_ns = recent[-1].frame.end_ns
    for k in reversed(range(len(recent))):
        is_old = has_passed(seconds, recent[k].frame.start_ns, end_ns, len(recent) - k, least)
        if is_old and recent[k].mixture is not None:
            return k
    return 0


def has_passed(seconds, begin_ns, end_ns, frames, least=None):
    """
    Tell whether so many seconds have passed from one stamp to another, and enough frames.

    frames: their number; least: how many are enough, None: as many as at 100 Hz.
    """
    enough = round(_RATE * seconds) if least is None else least
    return frames >= enough and 1e-9 * (end_ns - begin_ns) >= seconds - _JITTER


def _notable(mixture):
    """Return the components of notable weight."""
    if mixture.size == 1:
        return mixture
    return mixture.pick(np.flatnonzero(mixture.log_weights > np.log(_NOTABLE)))
