"""
Change isolation: what has changed, where something has.

`Isolation.explain` compares hypotheses by their evidence. Each lets a few parameters change at the
beginning of one of the last frames and keeps all others: a body on a link, friction or gain of a
joint, the values before an earlier change, nothing but disturbances, or everything. A smoother
under a hypothesis for which all parameters may have changed finds the trajectory. About it one
filter gives the evidence of every hypothesis at once (`change_evidence`); the best are then
compared by smoothers of their own. `Isolation.carried_on` is the posterior by the chosen one.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import chdtri

from ..disturbances import Disturbance, Disturbances, forgotten, with_disturbances
from ..factors import lower_root
from ..filter.smoother import Smoother, Trajectories
from ..filter.update import measurement_update
from ..gaussian import log_normalized, predict
from ..mixture import Mixture
from ..protocol import ModelChange

EVERYTHING = 'everything'
NOTHING = 'nothing but disturbances'
# Probability with which noise exceeds the misfit under a hypothesis that explains the frames.
_IMPROBABLE = 1e-6
# Gauss-Newton iterations while hypotheses are compared, and for the chosen one.
_FEW_PASSES, _PASSES = 8, 15
# At most so many instants of the change are compared, if their log evidence is within a margin of
# the best; of all instants the last are asked first, and the others only if those do not suffice.
_INSTANTS, _MARGIN, _RECENT = 4, 20.0, 6
# So many pairs of a hypothesis and an instant get a smoother of their own, within that margin.
_EXAMINED = 6
# Factor between the sizes of disturbances that are compared: a change shows beside one of about
# the right size.
_APART = 2.5


@dataclass(frozen=True)
class EarlierModel:
    """
    The posterior of the parameters before a change, to which the robot may return.

    name: of the change that ended it; parameters: names of those that the change concerned; mean
    [p], root [p, p]; left_by: the `ModelChange` that ended it, reached_by: the one before, by
    which the robot had come to these parameters; each None where it was a return to still earlier
    ones, or is not known; returns_to [p]: the mean of the `EarlierModel` that holds again after
    it, None where the change was no return.
    """

    name: str
    parameters: tuple
    mean: np.ndarray
    root: np.ndarray
    left_by: ModelChange | None = None
    reached_by: ModelChange | None = None
    returns_to: np.ndarray | None = None


@dataclass(frozen=True)
class Hypothesis:
    """
    A hypothesis on what has changed.

    jump: the `ModelChange`, or earlier: the values that hold again, or neither;
    disturbance: since then.
    """

    name: str
    disturbance: Disturbance
    jump: ModelChange | None = None
    earlier: EarlierModel | None = None

    @property
    def parameters(self):
        """Names of the parameters that it concerns, none where all or none are."""
        return getattr(self.jump or self.earlier, 'parameters', ())


@dataclass(frozen=True)
class IsolatedChange:
    """
    The most probable `Hypothesis`.

    probability: among all; fits: whether noise explains the rest; begin: index of the
    `RecentFrame` at whose beginning it happened; trajectory: since then, approximate; None where
    no motion fits.
    """

    hypothesis: Hypothesis
    probability: float
    fits: bool
    begin: int
    trajectory: Trajectories | None

    @property
    def is_everything(self):
        """Whether all parameters may have changed."""
        return self.hypothesis.name == EVERYTHING

    @property
    def is_nothing(self):
        """Whether no parameter has changed, but perhaps the disturbances."""
        return self.hypothesis.name == NOTHING


@dataclass(frozen=True)
class CarriedOn:
    """
    The posterior by an `IsolatedChange`.

    mixture: after the last frame; trajectories: of its components since the change, None where
    some of them are not finite.
    """

    isolated: IsolatedChange
    mixture: Mixture
    trajectories: Trajectories | None


@dataclass(frozen=True)
class Isolation:
    """
    The comparison of hypotheses on a change at one of the last frames.

    recent: `RecentFrame`s of the frames up to its detection, the first with its mixture; frames:
    those since; noise, drift: as of the `Smoother`.
    """

    problem: object
    recent: tuple
    frames: tuple
    noise: object
    drift: float

    def explain(self, earlier_models, bank):
        """
        Return the `IsolatedChange`.

        earlier_models: `EarlierModel`s of earlier changes; bank: of `Disturbance`s.
        """
        # 1. Hypotheses.
        model_changes, others = hypotheses(
            self.problem, self.recent[0].mixture, earlier_models, bank
        )
        # 2. Instants at which a change of anything is the most probable, and trajectories since.
        trajectories = self._probable_instants(
            union_of_changes(model_changes, others[-1].disturbance),
            [m.mean for m in earlier_models],
        )
        if not trajectories:
            return IsolatedChange(others[-1], 0.0, False, 0, None)
        # 3. Evidence of all hypotheses at each of these, from one filter.
        each, begins = [*model_changes, *others], list(trajectories)
        names = np.array([hypothesis.name for hypothesis in each])
        # Disturbances of all sizes share the prior probability of a hypothesis.
        prior = -np.log([(names == name).sum() for name in names])
        screened = {
            k: self._screened(k, model_changes, others, trajectory)
            for k, trajectory in trajectories.items()
        }
        # 4. Evidence of the best, from smoothers of their own.
        evidence, fits, trajectories = self._examined(screened, each, prior)
        weights = np.exp(log_normalized(evidence.ravel())).reshape(evidence.shape)
        totals = {name: float(weights[:, names == name].sum()) for name in dict.fromkeys(names)}
        best = max(totals, key=totals.get)
        row, column = _top(np.where(names == best, evidence, -np.inf), 1)[0]
        return IsolatedChange(
            each[column],
            totals[best],
            bool(fits[row, column]),
            begins[row],
            trajectories[row, column],
        )

    def _probable_instants(self, hypothesis, remembered):
        """
        Return begin -> `Trajectories` of the most probable instants of a change.

        hypothesis: that anything may have changed; remembered: further initial guesses [p].
        """
        begins = [k for k, each in enumerate(self.recent) if each.mixture is not None]
        found = self._at_begins(begins[-_RECENT:], hypothesis, remembered)
        if self._most_probable(found)[:1] in ([], begins[-_RECENT:][:1]):
            # The earliest of these is the best, or none is finite: it was detected late.
            found |= self._at_begins(begins[:-_RECENT], hypothesis, remembered)
        return {k: found[k][1] for k in sorted(self._most_probable(found))}

    def _at_begins(self, begins, hypothesis, remembered):
        """Return begin -> (log evidence, `Trajectories`) by a hypothesis."""
        found, last = {}, None
        each = [hypothesis] * (1 + len(remembered))
        for begin in begins:
            found[begin] = _best(self._smoothed(begin, each, starts=remembered))
            if last is not None and not np.isfinite(found[begin][0]):
                # A trajectory from the instant before is a better initial guess than the samples.
                trajectory = found[last][1]
                trajectory = replace(trajectory, points=trajectory.points[begin - last :])
                found[begin] = _best(self._smoothed(begin, [hypothesis], trajectory))
            last = begin if np.isfinite(found[begin][0]) else last
        return found

    def _most_probable(self, found):
        """Return the most probable keys of begin -> (log evidence, ...), best first."""
        evidence = {k: self._before(k) + each[0] for k, each in found.items()}
        evidence = {k: value for k, value in evidence.items() if np.isfinite(value)}
        order = sorted(evidence, key=evidence.get, reverse=True)[:_INSTANTS]
        return [k for k in order if evidence[k] >= evidence[order[0]] - _MARGIN]

    def _before(self, begin):
        """Return the log evidence of the frames before an instant."""
        return sum(each.log_evidence for each in self.recent[:begin])

    def _window(self, begin):
        """Return the frames from an instant on."""
        return (*(each.frame for each in self.recent[begin:]), *self.frames)

    def _smoother(self, begin, each, known):
        """Return the `Smoother` from an instant on, with a column for every hypothesis."""
        frames = self._window(begin)
        known = under_hypotheses(self.problem, known, each, self.problem.impulse(frames[0]))
        return Smoother(self.problem, frames, self.noise, known, self.drift)

    def _screened(self, begin, model_changes, others, trajectory):
        """Return (log evidence [hypotheses], `Trajectories`), linearized about a trajectory."""
        columns = [replace(others[-1], name=''), *others]
        smoother = self._smoother(begin, columns, self._heaviest(begin, len(columns)))
        steps = smoother.forward(trajectory.pick([0] * len(columns)), smoother.known.noises)
        plain, *rest = self._before(begin) + smoother.log_evidence(steps)
        evidence = change_evidence(steps, len(self.problem.labels))
        changes = [evidence.of(each.jump.root) for each in model_changes]
        mean = smoother.known.means[:, 0]
        instead = [mean if each.earlier is None else each.earlier.mean for each in others[:-1]]
        parameters = [*(mean + move for _, _, move in changes), *instead]
        parameters.append(trajectory.parameters[:, 0])
        return np.array([*(plain + gain for gain, _, _ in changes), *rest]), Trajectories(
            np.repeat(trajectory.points, len(parameters), 2), np.stack(parameters, 1)
        )

    def _examined(self, seen, each, prior):
        """
        Return (log evidence, whether noise explains the rest, pair -> `Trajectories`).

        Both arrays are [instants, hypotheses], of whose indices a pair consists. seen: begin ->
        result of `_screened`. The best pairs are smoothed; the others keep their distance to them.
        """
        begins = list(seen)
        screened = np.array([evidence for evidence, _ in seen.values()]) + prior
        screened = np.where(np.isfinite(screened), screened, -np.inf)
        evidence, fits = np.full(screened.shape, -np.inf), np.zeros(screened.shape, dtype=bool)
        pairs = _top(screened, _EXAMINED)
        pairs = [pair for pair in pairs if screened[pair] >= screened[pairs[0]] - _MARGIN]
        # An earlier model is so narrow that about the trajectory of another hypothesis it seems
        # too bad.
        remembered = [k for k, hypothesis in enumerate(each) if hypothesis.earlier is not None]
        pairs = list(dict.fromkeys([*pairs, *product(range(len(begins)), remembered)]))
        trajectories = {
            (row, k): seen[begin][1].pick([k])
            for row, begin in enumerate(begins)
            for k in range(len(each))
        }
        for row in {row for row, _ in pairs}:
            columns = [column for other, column in pairs if other == row]
            begin, guess = begins[row], seen[begins[row]][1].pick(columns)
            found = self._smoothed(begin, [each[column] for column in columns], guess)
            trajectories |= {(row, c): found.trajectories.pick([k]) for k, c in enumerate(columns)}
            smoothed = self._before(begin) + found.log_evidence + prior[columns]
            evidence[row, columns] = np.where(np.isfinite(smoothed), smoothed, -np.inf)
            is_small = found.misfits < chdtri(found.rows, _IMPROBABLE)
            fits[row, columns] = self.noise.expects_outliers | is_small
        best = _top(evidence, 1)[0]
        shift = evidence[best] - screened[best]
        is_open = np.isneginf(evidence)
        is_open[tuple(np.transpose(pairs))] = False
        return np.where(is_open, screened + shift, evidence), fits, trajectories

    def _heaviest(self, begin, count):
        """Return the heaviest component known at an instant, repeated `count` times."""
        known = self.recent[begin].mixture
        known = known.pick([known.heaviest()] * count)
        return replace(known, log_weights=np.zeros(count))

    def _smoothed(self, begin, each, trajectories=None, starts=()):
        """
        Return the `Smoothed` result under every hypothesis.

        trajectories: the initial guess, None: from the samples; starts: parameters [p] at which
        the last columns then begin.
        """
        smoother = self._smoother(begin, each, self._heaviest(begin, len(each)))
        if trajectories is None:
            trajectories = self._guessed(smoother)
            parameters = trajectories.parameters.copy()
            for column, start in enumerate(starts, len(each) - len(starts)):
                parameters[:, column] = start
            trajectories = replace(trajectories, parameters=parameters)
        return smoother.run(trajectories, _FEW_PASSES)

    def _guessed(self, smoother):
        """Return `Trajectories` guessed from the samples."""
        points = self.problem.first_trajectory(smoother.frames)
        guess = np.repeat(points[..., None], smoother.known.size, 2)
        return Trajectories(guess, smoother.known.means)

    def carried_on(self, isolated, bank, before=None):
        """
        Return `CarriedOn` by an `IsolatedChange`, None where noise does not explain the rest.

        Every component of the mixture before the change goes on by the hypothesis; if only the
        disturbances have changed, the heaviest goes on by each of the bank. before: `CarriedOn`
        to an earlier frame, whose trajectories are the initial guess.
        """
        known, chosen = self.recent[isolated.begin].mixture, isolated.hypothesis
        each = [replace(chosen, disturbance=each) for each in known.disturbances.each]
        if isolated.is_nothing:
            heaviest = known.heaviest()
            each = disturbed(self.problem, known.disturbances.each[heaviest], bank)
            known = known.pick([heaviest] * len(each))
        smoother = self._smoother(isolated.begin, each, known)
        guess = self._filtered_on(before, smoother.frames) if before else None
        found = smoother.run(guess or self._extended(isolated.trajectory, smoother), _PASSES)
        finite = np.flatnonzero(np.isfinite(found.log_evidence))
        if not len(finite):
            return None
        mixture = found.mixture.pick(finite)
        best = finite[mixture.heaviest()]
        is_small = found.misfits[best] < chdtri(found.rows[best], _IMPROBABLE)
        if not (mixture.is_finite and (self.noise.expects_outliers or is_small)):
            return None
        return CarriedOn(
            isolated, mixture, found.trajectories if len(finite) == len(each) else None
        )

    def _extended(self, trajectory, smoother):
        """Return a trajectory for every column, extended by what the samples suggest."""
        guess = self._guessed(smoother).points[len(trajectory.points) :]
        repeated = trajectory.pick([0] * smoother.known.size)
        return replace(repeated, points=np.concatenate([repeated.points, guess]))

    def _filtered_on(self, before, frames):
        """Return the `Trajectories` of `CarriedOn`, extended by a filter to the last frame."""
        if before.trajectories is None:
            return None
        mixture, points = before.mixture, [*before.trajectories.points]
        for frame in frames[len(points) - 1 :]:
            step = measurement_update(self.problem, mixture, frame, self.noise, self.drift)
            if step is None:
                return None
            mixture = step.mixture
            points.append(mixture.points)
        return Trajectories(np.array(points), mixture.means)


def known_before(recent, isolated):
    """Return the `EarlierModel` of the posterior before a change at one of the `RecentFrame`s."""
    chosen = isolated.hypothesis
    known = recent[isolated.begin].mixture.spread()
    back = None if chosen.earlier is None else chosen.earlier.mean
    return EarlierModel(chosen.name, chosen.parameters, *known, chosen.jump, returns_to=back)


def _best(found):
    """Return (log evidence, `Trajectories`) of the most probable column of a `Smoothed`."""
    evidence = np.where(np.isfinite(found.log_evidence), found.log_evidence, -np.inf)
    best = int(np.argmax(evidence))
    return float(evidence[best]), found.trajectories.pick([best])


def _top(values, count):
    """Return (row, column) of the largest values [rows, columns], best first."""
    order = np.argsort(-values, axis=None, kind='stable')[:count]
    return [tuple(int(k) for k in np.unravel_index(each, values.shape)) for each in order]


def hypotheses(problem, mixture, earlier_models, bank):
    """
    Return (hypotheses of a model change, the other hypotheses) on a robot known by a mixture.

    earlier_models: `EarlierModel`s of earlier changes; bank: of `Disturbance`s.
    """
    heaviest = mixture.heaviest()
    now = mixture.disturbances.each[heaviest]
    model_changes = problem.model_changes(mixture.means[:, heaviest])
    return [Hypothesis(jump.name, now, jump) for jump in model_changes], [
        *(Hypothesis(f'as before: {each.name}', now, earlier=each) for each in earlier_models),
        *disturbed(problem, now, bank),
        Hypothesis(EVERYTHING, now),
    ]


def union_of_changes(model_changes, disturbance):
    """Return the hypothesis that all changes of these hypotheses may have happened."""
    roots = [each.jump.root for each in model_changes]
    jump = ModelChange('', (), np.concatenate(roots, 1)) if roots else None
    return Hypothesis('', disturbance, jump)


def disturbed(problem, now, bank):
    """Return the hypotheses that only the `Disturbance` of now has changed, to one of a bank."""
    if not problem.disturbance_size:
        return [Hypothesis(NOTHING, now)]
    # With too small a disturbance the parameters were estimated too precisely.
    inflated = ModelChange(NOTHING, (), forgotten(problem.prior))
    each = _apart(sorted({*bank, now}), now)
    return [Hypothesis(NOTHING, k, inflated if k > now else None) for k in each]


def _apart(disturbances, kept):
    """Return those whose sizes are well apart, among them the smallest, the largest and `kept`."""
    found = []
    for each in disturbances:
        is_apart = not found or each.size >= _APART * found[-1].size
        if is_apart or each in (kept, disturbances[-1]):
            found.append(each)
    return found


def under_hypotheses(problem, mixture, each, impulse):
    """
    Return a mixture with the prior of every component under a `Hypothesis` of its own.

    impulse [t]: standard deviation that the change itself adds to the state.
    """
    t, n = problem.tangent_size, mixture.roots.shape[-1]
    means, roots = mixture.means.copy(), np.zeros_like(mixture.roots)
    for k, hypothesis in enumerate(each):
        jump = None if hypothesis.jump is None else hypothesis.jump.root
        root = predict(mixture.roots[[k]], np.eye(n)[None, :t], impulse, jump)[0]
        instead = problem.prior if hypothesis.name == EVERYTHING else hypothesis.earlier
        if instead is None:
            roots[k] = root
        else:
            means[:, k] = instead.mean
            roots[k, :t, :t] = lower_root(root[None, :t])[0]
            roots[k, t:, t:] = instead.root
    disturbances = Disturbances.of([hypothesis.disturbance for hypothesis in each])
    found = replace(mixture, means=means, roots=roots, disturbances=disturbances)
    return with_disturbances(problem, found)


@dataclass(frozen=True)
class ChangeEvidence:
    """
    The likelihood of a change x [p] of the parameters just before the first of some frames.

    The innovations form of the evidence, as of the smoother, but as a function of x: one filter
    serves all hypotheses, where the smoother needs a column for each.
    Linearized about one trajectory, its logarithm relative to that of no change is
    `score x - x precision x / 2`: score [p], precision [p, p].
    """

    score: np.ndarray
    precision: np.ndarray

    def of(self, root):
        """
        Return (gain in log evidence, reduction of misfit, posterior mean [p]) of a change.

        root [p, r]: of the prior covariance of the change. Where numbers are not finite, the gain
        is minus infinity.
        """
        precision = root.T @ self.precision @ root
        if not np.isfinite(precision).all():
            return -np.inf, 0.0, np.zeros(len(root))
        sizes, directions = np.linalg.eigh(precision)
        # Rounding makes eigenvalues of unobservable directions negative.
        sizes = 1.0 + sizes.clip(0)
        scores = directions.T @ (root.T @ self.score)
        explained = float(scores @ (scores / sizes))
        gain = 0.5 * (explained - np.log(sizes).sum())
        return gain, explained, root @ (directions @ (scores / sizes))


def change_evidence(steps, parameters):
    """
    Return the `ChangeEvidence` of the steps of a `Smoother` in its first column.

    A filter that does not allow for a change x makes an error in its mean that is linear in x; the
    generalized likelihood ratio test of Willsky and Jones (1976) follows that error from frame to
    frame. parameters: their number.
    """
    size = steps[0].mean.shape[1] - parameters
    # Derivative of the error of the mean by the change.
    error = np.eye(size + parameters)[:, size:]
    score, precision = np.zeros(parameters), np.zeros((parameters, parameters))
    for step in steps:
        root, transition = step.root[0], step.found.transition[0]
        slope = step.found.slope[0]
        seen = slope @ error
        corrected = root @ ((slope @ root).T @ seen)
        score -= seen.T @ step.left[0]
        precision += seen.T @ (seen - slope @ corrected)
        error = error - corrected
        error = np.concatenate([transition @ error, error[size:]])
    return ChangeEvidence(score, 0.5 * (precision + precision.T))
