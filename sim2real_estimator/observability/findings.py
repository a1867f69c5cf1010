"""The posterior judged: what is known of every parameter, how, and what cannot be known."""

from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from ..estimation.misfits import FITS, MISFIT, misfits_of
from ..parameters.parametrization import DirectParametrization
from ..records import CombinationFinding, Estimate, Findings, ParameterFinding
from .null_space import mending, physical_draws, spectrum_of, tangents_of
from .payload import load_since
from .possible_robots import contradictions
from .tangents import Tangents
from .verdicts import (
    Beliefs,
    in_words,
    information_gain,
    judge,
    modes_of,
    null_directions,
    Verdict,
)

_LINEAR_DRAWS, _EXACT_DRAWS = 1000, 400
# Where fewer draws than this settle, those along tangents tell more.
_LEAST_DRAWS = 100
_QUANTILES = (0.05, 0.5, 0.95)
# Information of data over that of the prior: from where on a dimension is counted as known from
# data, up to where as known as before, and up to where it is named as a null direction.
_TOLD, _UNTOLD, _NAMED = 10.0, 0.1, 1.0
# Draws pile up that spread less than this part of what data leave them.
_PILED = 0.3
# Zero is near where it is so many deviations off: of hundreds of draws some would be below it.
_NEAR_ZERO = 1.5
_SECOND = 10**9
# Findings are renewed this often [ns], and after whatever moves the posterior at once.
_PERIOD = _SECOND
_TURNS = frozenset(
    ('fitted', 'handed over', 'resumed', Verdict.CHANGED.value, 'explained', 'forgotten')
)
# Tangents are renewed as often, or when the mean is so many deviations of the prior away.
_MOVED = 0.03
# They are not renewed more often than this [ns], which costs more than most estimators do.
_FOLLOWING = _SECOND
# What speaks against all that is found is said once it has lasted so long [ns], and so long in the
# first fits.
_LASTING, _LASTING_IN_FITS = _SECOND, 4 * _SECOND
# How long a robot counts as changed [ns].
_CHANGED_FOR = 5 * _SECOND
# What a loss of a joint cannot be told apart from, where the filter reckons with it.
_UNKNOWN_EFFORTS = 'efforts of unknown origin'
# So many times as probable as none at all they have to be.
_EVIDENT = 3.0


@dataclass(frozen=True)
class Assessment:
    """
    What is said of a run as it goes on; all times are of data.

    latest: `Findings` that are at most a second old; changed_ns: when the
    robot changed last, None where it never did; changed: names of the parameters that did, None
    while that is not known; unknown_efforts: of the newest frame; tangents:
    from what is estimated to all parameters, near the latest mean; followed_ns: when they were
    renewed last; is_misfit: whether a unit or the description is wrong, as far as is known: then
    nothing is identified; doubts: ((kind, since_ns, word), ...) of what speaks against all
    that is found, as words of `inference.misfits`, '' until it has lasted: then nothing is
    identified either.
    """

    latest: Findings
    changed_ns: int | None = None
    changed: tuple | None = None
    unknown_efforts: tuple = ()
    tangents: Tangents | None = None
    followed_ns: int | None = None
    is_misfit: bool = False
    doubts: tuple = ()

    @staticmethod
    def begun(problem, mixture):
        """Return the assessment before any data."""
        tangents = tangents_of(problem.parametrization, mixture)
        return Assessment(find(problem, mixture, 0, False, tangents), tangents=tangents)

    def after(self, problem, mixture, frame, report, last_change=lambda: None):
        """
        Return the assessment after a frame, with the mixture and the `UpdateReport` it led to.

        last_change: function that returns the `Memory` of what was known before the last change,
        None where there was none; asked only when findings are due.
        """
        new, unknown_efforts = self, problem.unknown_efforts(frame)
        if unknown_efforts != self.unknown_efforts:
            new = replace(self, unknown_efforts=unknown_efforts)
        if Verdict.CHANGED.value in report.events:
            new = replace(new, changed_ns=frame.end_ns, changed=None)
        if 'explained' in report.events:
            new = replace(new, changed=report.changed)
        told = [event for event in report.events if event.startswith((MISFIT, FITS))]
        if told:
            new = replace(new, is_misfit=not told[-1].startswith(FITS))
        # A clock that is set back makes what was found last of the future.
        is_old = not 0 <= frame.end_ns - self.latest.stamp_ns < _PERIOD
        is_due = is_old or told or _TURNS.intersection(report.events)
        if is_due or new._tangents_are_of_the_past(mixture, frame.end_ns):
            tangents = tangents_of(problem.parametrization, mixture, new.tangents)
            new = replace(new, tangents=tangents, followed_ns=frame.end_ns)
        if is_due:
            new = replace(new, doubts=new._doubts(problem, mixture, frame.end_ns, report))
            new = replace(
                new, latest=new._when_asked(problem, mixture, frame, report, last_change)
            )
        return new

    def words_since(self, before):
        """Return the words of what speaks against all that is found now, or does no longer."""
        said, was = (
            {kind: word for kind, _, word in each.doubts if word} for each in (self, before)
        )
        return (
            *(word for kind, word in said.items() if kind not in was),
            *(f'{FITS}: {kind}' for kind in was if kind not in said),
        )

    def _doubts(self, problem, mixture, now_ns, report):
        """
        Return `doubts` by a mixture and the `UpdateReport` it came with.

        Of measured torques `torque.units` knows better. A robot that has changed may be far from
        its prior: where that was not said before it is not said then. First fits go astray for a
        while, and what they say of little is soon another thing.
        """
        if problem.torque is not None:
            return ()
        before = {kind: (since_ns, word) for kind, since_ns, word in self.doubts}
        least, found = _LASTING if report.stage == 'filter' else _LASTING_IN_FITS, []
        for kind, word in misfits_of(problem, mixture, report, before):
            since_ns, said = before.get(kind, (now_ns, ''))
            is_other = kind == 'prior' and self.changed_ns is not None and not said
            if now_ns < since_ns or is_other:
                since_ns = now_ns
            found.append((kind, since_ns, said or (word if now_ns - since_ns >= least else '')))
        return tuple(found)

    def _when_asked(self, problem, mixture, frame, report, last_change):
        """Return the `Findings` after a frame; what takes long is worked out for who looks."""
        # Without those before, which would be kept with all that were before them.
        own, change = replace(self, latest=None), last_change()
        known = own._known(mixture, report, change)
        return Findings.when_asked(
            frame.end_ns,
            lambda: own.find(problem, mixture, frame.end_ns, report, False, change),
            **known,
        )

    def _tangents_are_of_the_past(self, mixture, stamp_ns):
        """Tell whether the mean has left the tangents, and they are old enough to be renewed."""
        if self.tangents is None:
            return True
        age = None if self.followed_ns is None else stamp_ns - self.followed_ns
        is_fresh = age is not None and 0 <= age < _FOLLOWING
        return not is_fresh and not self.tangents.hold(mixture, _MOVED)

    def find(self, problem, mixture, stamp_ns, report, exact, change=None):
        """Return the `Findings` of a mixture; see the function `find`; change: the last one's."""
        tangents = tangents_of(problem.parametrization, mixture, self.tangents)
        found = find(problem, mixture, stamp_ns, exact, tangents)
        if self.changed_ns is not None and 0 <= stamp_ns - self.changed_ns < _CHANGED_FOR:
            parameters = tuple(map(self._marked, found.parameters))
            found = replace(found, parameters=parameters)
        if self.is_misfit or any(word for _, _, word in self.doubts):
            found = of_misfit(found)
        return replace(found, **self._known(mixture, report, change))

    def _known(self, mixture, report, change):
        """Return what `Findings` say beside what is found in the posterior."""
        misfit = float(report.nis / report.degrees) if report.degrees else None
        load = None if change is None else load_since(change, mixture)
        return {'misfit': misfit, 'unknown_efforts': self.unknown_efforts, 'load': load}

    def _marked(self, parameter):
        """Return a `ParameterFinding` marked as changed where it has, or may have."""
        if self.changed is not None and parameter.name not in self.changed:
            return parameter
        return replace(parameter, verdict=Verdict.CHANGED.value)


def of_misfit(found):
    """Return `Findings` in which nothing is called identified: data are of something else."""
    parameters = tuple(
        replace(each, verdict=Verdict.MISFIT.value)
        if each.verdict == Verdict.IDENTIFIED.value
        else each
        for each in found.parameters
    )
    return replace(found, parameters=parameters)


def find(problem, mixture, stamp_ns, exact=True, tangents=None):
    """
    Return the `Findings` of a mixture in a problem's coordinates.

    stamp_ns: of the newest datum, which decides the draws; exact: whether parameters are drawn
    along the curves on which the robot moves alike, which takes a while, or along their
    `Tangents`, by default those of the mixture.
    """
    parametrization, inner = problem.parametrization, problem.parametrization.inner
    tangents = tangents or tangents_of(parametrization, mixture)
    mean, covariance = tangents.moments(mixture)
    draws = _draws(problem, mixture, tangents, np.random.default_rng([abs(stamp_ns)]), exact)
    found = spectrum_of(inner, mean, covariance)
    directions = null_directions(found, _NAMED)
    judged = inner.separated(draws), _modes_apart(inner, tangents, mixture), directions
    blind, asked = _blind_apart(inner, tangents), _asked(problem, mean, covariance)
    return Findings(
        stamp_ns,
        (
            *_beside_disturbances(
                problem,
                mixture,
                _parameters(inner.apart, parametrization.priors, *judged, blind, asked),
            ),
            *_noises(problem, mixture, stamp_ns),
        ),
        _combinations(problem, mean, covariance),
        tuple(in_words(inner.names, direction) for direction in directions),
        int((found.information > _TOLD).sum()),
        int((found.information < _UNTOLD).sum()),
        information_gain(problem.prior.root, mixture),
        tuple((weight, _values(inner, tangents, at)) for weight, at in modes_of(mixture)),
    )


def _modes_apart(inner, tangents, mixture):
    """Return (weights [K], means [P, K], sds [P, K]) of a mixture, every parameter apart."""
    weights, means, covariances = tangents.components(mixture)
    return weights, inner.separated(means), _deviations_apart(inner, means, covariances).T


def _blind_apart(inner, tangents):
    """Return the deviations [P] of what no data tell, every parameter apart."""
    return _deviations_apart(inner, tangents.points, tangents.blind).max(0)


def _deviations_apart(inner, points, covariances):
    """
    Return the standard deviations [K, P] of covariances [K, P, P], every parameter apart.

    points [P, K]: coordinates of the inner parametrization at which they hold.
    """
    slopes = inner.separation(points)
    return np.sqrt(np.einsum('kpp->kp', slopes @ covariances @ slopes.swapaxes(1, 2)).clip(0))


def _asked(problem, mean, covariance):
    """
    Return place -> (what, mean, sd) that data ask for and no robot has.

    mean [P], covariance [P, P]: of all parameters, by what data leave. Of draws that are robots
    that can be built nobody would see it.
    """
    result = {}
    for each in contradictions(problem.parametrization.inner, problem.possible, mean, covariance):
        for place in each.places:
            result.setdefault(place, (each.what, each.mean, each.sd))
    return result


def _values(inner, tangents, at):
    return tuple(inner.to_named(tangents.follow(at[:, None]))[:, 0].tolist())


def _draws(problem, mixture, tangents, generator, exact):
    """Return draws of all parameters, as coordinates of the inner parametrization."""
    if exact:
        coordinates, mend = mixture.draw(_EXACT_DRAWS, generator), mending(problem, mixture)
        draws = physical_draws(problem.parametrization, coordinates, generator, mend=mend)
        if draws.shape[1] >= _LEAST_DRAWS:
            return draws
    return tangents.draw(mixture.draw(_LINEAR_DRAWS, generator), generator)


def _parameters(apart, priors, draws, modes, directions, blind=0.0, asked=None):
    """
    Return a `ParameterFinding` for every parameter, from what `judge` takes.

    apart: the `DirectParametrization` of the draws; priors: name -> `Prior` as it was given;
    asked: as of `_asked`.
    """
    asked = asked or {}
    sd = np.sqrt(np.diag(apart.prior.covariance))
    beliefs = Beliefs(apart.names, apart.prior.mean, sd, apart.limits)
    draws = spread_at_zero(draws, modes)
    values = apart.to_named(draws)
    # What is normal about little reaches below zero, and no loss does.
    values[apart.loss_rows] = values[apart.loss_rows].clip(min=0.0)
    quantiles = np.quantile(values, _QUANTILES, axis=1).T.tolist()
    means = values.mean(1).tolist()
    deviations = (values.std(1) * shares_cut(draws, modes)).tolist()
    found = []
    for k, judged in enumerate(judge(beliefs, draws, modes, directions, blind, asked)):
        prior = priors[apart.names[k]]
        found.append(
            ParameterFinding(
                apart.names[k],
                means[k],
                deviations[k],
                tuple(quantiles[k]),
                prior.mean,
                prior.sd * abs(prior.mean) if prior.is_log else prior.sd,
                judged.share,
                judged.verdict.value,
                judged.aliases,
                asked.get(k, ()),
            )
        )
    return tuple(found)


def spread_at_zero(draws, modes):
    """
    Return draws [P, N] in which those that pile up at zero are as uncertain as data leave them.

    modes: as of `judge`. Where a normal distribution is mostly below zero, all robots that can be
    built are next to it, but nobody knows that any better: half of a normal about zero is what
    can be said.
    """
    if modes is None:
        return draws
    weights, means, sds = modes
    mean, sd = means @ weights, np.sqrt(sds**2 @ weights)
    is_piled = (draws.min(1) >= 0) & (mean < 0) & (draws.std(1) < _PILED * sd)
    if not is_piled.any():
        return draws
    count = draws.shape[1]
    half = np.vectorize(NormalDist().inv_cdf)(0.5 + 0.5 * (np.arange(count) + 0.5) / count)
    result = draws.copy()
    result[is_piled] = sd[is_piled, None] * half
    return result


def shares_cut(draws, modes):
    """
    Return by how much [P] normal distributions are wider that draws [P, N] are cut off at zero of.

    modes: as of `judge`. Where zero is near what is left is narrower, but no nearer to the truth:
    of half of a normal one in a hundred is three of its own deviations or more from its mean.
    """
    if modes is None:
        return np.ones(len(draws))
    weights, means, sds = modes
    mean, sd = means @ weights, np.sqrt(sds**2 @ weights)
    is_cut = (draws.min(1) >= 0) & (mean < _NEAR_ZERO * sd)
    return np.where(is_cut, np.maximum(sd / np.maximum(draws.std(1), 1e-300), 1.0), 1.0)


def _beside_disturbances(problem, mixture, found):
    """
    Return findings in which losses of joints are aliased, if there are unknown efforts.

    Where evidence is for efforts of unknown origin, they are most often friction that the model
    has not. Damping then stands for both, with an uncertainty that does not know of it.
    """
    if not _is_evident(mixture):
        return found
    certain = (Verdict.IDENTIFIED.value, Verdict.PRIOR_ASSISTED.value, Verdict.ALIASED.value)
    return tuple(
        replace(each, verdict=Verdict.ALIASED.value, aliases=(*each.aliases, _UNKNOWN_EFFORTS))
        if each.name in problem.losses and each.verdict in certain
        else each
        for each in found
    )


def _is_evident(mixture):
    """Tell whether evidence is for disturbances of some scale; before any all are as probable."""
    weights = {s: mixture.weights[mixture.scales == s].sum() for s in set(mixture.scales.tolist())}
    none = weights.pop(0.0, 0.0)
    return max(weights.values(), default=0.0) > _EVIDENT * none


def _noises(problem, mixture, stamp_ns):
    """Return a `ParameterFinding` for every sensor whose noise is unknown."""
    if not problem.noises:
        return ()
    parametrization = DirectParametrization(
        {f'{name}.noise': prior for name, prior in problem.noises.items()}
    )
    generator = np.random.default_rng([abs(stamp_ns), 1])
    draws = mixture.noises.draw(mixture.weights, _LINEAR_DRAWS, generator)
    return _parameters(parametrization, parametrization.priors, draws, None, ())


def _combinations(problem, mean, covariance):
    """
    Return a `CombinationFinding` for every coordinate of the estimator.

    mean [P], covariance [P, P]: of all parameters. Where curves lead along which the robot moves
    alike, a combination is known a little less than the coordinate that is named after it.
    """
    parametrization = problem.parametrization
    values = (parametrization.combinations @ mean).tolist()
    spread = parametrization.combinations @ covariance @ parametrization.combinations.T
    sds = np.sqrt(np.diag(spread)).tolist()
    before = np.sqrt(np.diag(problem.prior.covariance)).tolist()
    return tuple(map(CombinationFinding, parametrization.labels, values, sds, before))


def summarize(problem, mixture, stamp_ns, report, findings, tangents):
    """
    Return the `Estimate` of a mixture in a problem's coordinates, with the verdicts on it.

    findings: `Findings` that have them; tangents: `Tangents` from the estimator's coordinates to
    all parameters, of which some may be no better known than before. The numbers are worked out
    when they are asked for.
    """
    names = tuple(problem.parametrization.names)
    if problem.noises:
        names = (*names, *(f'{name}.noise' for name in problem.noises))
    numbers = partial(_numbers, problem, mixture, tangents)
    return Estimate.when_asked(stamp_ns, names, numbers, findings, report)


def _numbers(problem, mixture, tangents):
    """Return means and standard deviations of all parameters, carried on to values at the mean."""
    mean, root = tangents.spread(mixture)
    values, spread = problem.parametrization.inner.along(mean[:, None], root)
    values, sd = values[:, 0], np.sqrt(np.einsum('pr,pr->p', spread[0], spread[0]))
    if problem.noises:
        logs, deviations = mixture.noises.moments(mixture.weights)
        values = np.concatenate([values, np.exp(logs)])
        sd = np.concatenate([sd, np.exp(logs) * deviations])
    return values, sd
