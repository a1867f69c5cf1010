"""
What has changed, where something has: hypotheses, among which evidence decides.

Each hypothesis lets a few things jump, at the beginning of one of the last frames, and keeps all
else that is known. Smoothers over the frames since then tell how probable these are under each.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtri

from .disturbances import forgotten, with_scales
from .filtering import is_finite
from .gaussian import log_normalized, predict
from .mixture import Mixture
from .protocol import Jump
from .smoother import Courses, Smoother

# A misfit that noise exceeds so seldom belongs to a hypothesis that does not explain it.
_IMPROBABLE = 1e-6
_FEW_PASSES, _PASSES = 4, 15
# Of the instants at which a change may have been, so many are looked into.
_BEGINS = 4
_EVERYTHING = 'everything'
_NOTHING = 'nothing but disturbances'


@dataclass(frozen=True)
class Past:
    """
    A frame that was taken in a moment ago.

    mixture: known before it, None where that has been forgotten; log_evidence: how probable it
    was, by that.
    """

    frame: object
    mixture: Mixture | None
    log_evidence: float


@dataclass(frozen=True)
class Memory:
    """
    What was known of the parameters before a change.

    name: of the change; parameters: names of those that it concerned; mean [p], root [p, p].
    """

    name: str
    parameters: tuple
    mean: np.ndarray
    root: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """
    The most probable hypothesis.

    name; parameters: names of those that it concerns, none where all or nothing is; probability:
    among all hypotheses; fits: whether it explains the frames; begin: of which `Past` it happened;
    memory: the one returned to, if any; jump: what was released, if anything.
    """

    name: str
    parameters: tuple
    probability: float
    fits: bool
    begin: int
    memory: Memory | None = None
    jump: Jump | None = None

    @property
    def is_everything(self):
        """Whether nothing of what was known is of use any more."""
        return self.name == _EVERYTHING

    @property
    def is_nothing(self):
        """Whether the robot is what it was, and only what disturbs it is not."""
        return self.name == _NOTHING


@dataclass(frozen=True)
class _Lane:
    """A hypothesis: what is released or known instead, and the scale of disturbances."""

    name: str
    scale: float
    jump: Jump | None = None
    memory: Memory | None = None


def explain(problem, past, frames, noise, drift, memories, scales):
    """
    Return the `Explanation` of a change.

    past: of the last frames before it was noticed, in order, the first with its mixture; frames:
    those since; memories: what was known before earlier changes; scales: of disturbances that the
    filter may reckon with.
    """
    lanes = _lanes(problem, past[0].mixture, memories, scales)
    names = np.array([lane.name for lane in lanes])
    # No kind is more probable for coming in several scales.
    prior = -np.log([(names == name).sum() for name in names])
    compare = partial(_compared, problem, past, frames, noise, drift)
    # When it was depends little on what it was: all jumps at once tell, for a part of the time.
    begins = [k for k, each in enumerate(past) if each.mixture is not None]
    when = compare([_all_at_once(lanes)], begins)[0][:, 0]
    begins = sorted(np.array(begins)[np.argsort(-when, kind='stable')[:_BEGINS]].tolist())
    evidence, fits = compare(lanes, begins)
    evidence = evidence + prior
    weights = np.exp(log_normalized(evidence.ravel())).reshape(evidence.shape)
    totals = {name: float(weights[:, names == name].sum()) for name in dict.fromkeys(names)}
    best = max(totals, key=totals.get)
    shown = np.where(names == best, weights, -1.0)
    begin, lane = np.unravel_index(np.argmax(shown), shown.shape)
    chosen = lanes[lane]
    return Explanation(
        str(best),
        getattr(chosen.jump or chosen.memory, 'parameters', ()),
        totals[best],
        bool(fits[begin, lane]),
        begins[begin],
        chosen.memory,
        chosen.jump,
    )


def _compared(problem, past, frames, noise, drift, lanes, begins):
    """
    Return (log evidence, whether it explains all frames), both [begins, lanes].

    begins: of which `Past`s a hypothesis may hold.
    """
    evidence = np.zeros((len(begins), len(lanes)))
    fits = np.zeros(evidence.shape, dtype=bool)
    before = np.cumsum([0.0, *(each.log_evidence for each in past)])
    for k, begin in enumerate(begins):
        window = (*(p.frame for p in past[begin:]), *frames)
        known = past[begin].mixture
        found = _smoothed(problem, window, noise, drift, known, lanes, _FEW_PASSES)
        evidence[k] = before[begin] + found.log_evidence
        is_small = found.misfits < chdtri(found.rows, _IMPROBABLE)
        fits[k] = noise.expects_outliers | is_small
    return np.where(np.isfinite(evidence), evidence, -np.inf), fits


def _all_at_once(lanes):
    """Return the hypothesis that everything jumps that does so in any of them."""
    roots = [lane.jump.root for lane in lanes if lane.jump and lane.name != _NOTHING]
    jump = Jump('', (), np.concatenate(roots, 1)) if roots else None
    return replace(lanes[0], jump=jump, memory=None, name='')


def _lanes(problem, mixture, memories, scales):
    """Return all hypotheses on a robot that was known by a mixture."""
    heaviest = mixture.heaviest()
    scale = mixture.scales[heaviest]
    jumps = problem.jumps(mixture.means[:, heaviest])
    return [
        *(_Lane(jump.name, scale, jump) for jump in jumps),
        *(_Lane(f'as before: {each.name}', scale, memory=each) for each in memories),
        *_disturbed(problem, scale, scales),
        _Lane(_EVERYTHING, scale),
    ]


def _disturbed(problem, scale, scales):
    """Return the hypotheses that nothing but a disturbance is another than that of a scale."""
    if not problem.disturbance_size:
        return [_Lane(_NOTHING, scale)]
    # What was learnt while it was thought to be smaller is too sure of itself.
    unsure = Jump(_NOTHING, (), forgotten(problem.prior))
    return [_Lane(_NOTHING, each, unsure if each > scale else None) for each in sorted(scales)]


def carried_on(problem, past, frames, noise, drift, explanation, scales):
    """
    Return (mixture now or None where its numbers are not finite, `Memory` of what was known).

    Every component of what was known before the change goes on by the explanation; the heaviest
    by every scale of disturbances where these alone have changed.
    """
    known, begin = past[explanation.begin].mixture, explanation.begin
    window = (*(p.frame for p in past[begin:]), *frames)
    if explanation.is_nothing:
        lanes = _disturbed(problem, known.scales[known.heaviest()], scales)
        known = known.pick([known.heaviest()] * len(lanes))
    else:
        lanes = [
            _Lane(explanation.name, scale, explanation.jump, explanation.memory)
            for scale in known.scales
        ]
    found = _smoothed(problem, window, noise, drift, known, lanes, _PASSES, True)
    sound = np.flatnonzero(np.isfinite(found.log_evidence))
    mean, covariance = known.moments()
    name, parameters = explanation.name, explanation.parameters
    memory = Memory(name, parameters, mean, np.linalg.cholesky(covariance))
    if not len(sound):
        return None, memory
    mixture = found.mixture.pick(sound)
    return (mixture if is_finite(mixture) else None), memory


def _smoothed(problem, frames, noise, drift, mixture, lanes, passes, by_component=False):
    """
    Return what is `Smoothed` of frames under every lane.

    mixture: known before them; by_component: whether each lane is of a component of its own, or
    all of the heaviest.
    """
    count = len(lanes)
    which = np.arange(count) if by_component else np.full(count, mixture.heaviest())
    known = _released(problem, mixture.pick(which), lanes, problem.jolt(frames[0]))
    if not by_component:
        known = replace(known, log_weights=np.zeros(count))
    guess = np.repeat(problem.first_course(frames)[..., None], count, 2)
    return Smoother(problem, frames, noise, known, drift).run(Courses(guess, known.means), passes)


def _released(problem, mixture, lanes, jolt):
    """Return a mixture of one component for each lane, released by it; jolt [t]: of states."""
    t, n = problem.tangent_size, mixture.roots.shape[-1]
    means, roots = mixture.means.copy(), np.zeros_like(mixture.roots)
    for k, lane in enumerate(lanes):
        jump = None if lane.jump is None else lane.jump.root
        root = predict(mixture.roots[[k]], np.eye(n)[None, :t], jolt, jump)[0]
        instead = problem.prior if lane.name == _EVERYTHING else lane.memory
        if instead is None:
            roots[k] = root
        else:
            means[:, k] = instead.mean
            roots[k, :t, :t] = np.linalg.qr(root[:t].T, mode='r').T
            roots[k, t:, t:] = instead.root
    scales = np.array([lane.scale for lane in lanes])
    released = replace(mixture, means=means, roots=roots, scales=scales)
    return with_scales(released, problem.disturbance_size)
