"""
Findings: a verdict on every parameter, and the unobservable directions of a posterior.

`find` has the `Findings` of one mixture; `Assessment` keeps them up to date during a run, with the
changes and misfits that were reported meanwhile; `summarize` has the `Estimate` of every frame.
"""

from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from ..estimation.disturbances import NO_DISTURBANCE
from ..estimation.misfits import misfits_of
from ..parameters.parametrization import DirectParametrization
from ..records import CombinationFinding, Estimate, Findings, ParameterFinding, PayloadReason
from ..reported_events import Explained, Happened, kinds_of, Misfit, MisfitOver, MisfitTest
from .null_space import mending, physical_draws, spectrum_of, tangents_of
from .payload import estimate_payload, PayloadHistory
from .possible_robots import contradictions
from .tangents import Tangents
from .verdicts import (
    direction_text,
    in_run,
    information_gain,
    modes_of,
    null_directions,
    PriorMoments,
    RunConditions,
    verdicts_of,
)

_LINEAR_DRAWS, _EXACT_DRAWS = 1000, 400
# If fewer exact draws converge, linear ones are used instead.
_LEAST_DRAWS = 100
_QUANTILES = (0.05, 0.5, 0.95)
# Ratios of the information of data to that of the prior: from the first on a direction is counted
# as observed, up to the second as unobserved. Up to the third, where data tell less than the prior
# does, it is listed among the null directions.
_OBSERVED, _UNOBSERVED, _NAMED = 10.0, 0.1, 1.0
# Draws pile up at zero if their standard deviation is less than this part of the posterior's.
_PILED = 0.3
# Within so many standard deviations of zero, some of hundreds of normal draws are below it.
_NEAR_ZERO = 1.5
_SECOND = 10**9
# Findings are renewed this often [ns], and at once after events that change the posterior.
_PERIOD = _SECOND
_CHANGING_EVENTS = frozenset(
    (
        Happened.FITTED,
        Happened.HANDED_OVER,
        Happened.RESUMED,
        Happened.CHANGED,
        Happened.FORGOTTEN,
        Explained,
    )
)
# Tangents are renewed with findings, or if the mean has moved so many prior standard deviations.
_MOVED = 0.03
# Shortest time [ns] between renewals, which cost more than most updates of estimators.
_FOLLOWING = _SECOND
# A misspecification is reported after it has lasted this long [ns], during first fits this long.
_LASTING, _LASTING_IN_FITS = _SECOND, 4 * _SECOND
# After a gap nothing is identified before so much data [ns] fit, by an innovation squared per
# degree of freedom below this.
_CONFIRMED_AFTER, _FITTING = _SECOND, 3.0
# How long after a change parameters are marked as changed [ns].
_CHANGED_FOR = 5 * _SECOND
# Evidence: so many times as probable as no disturbances.
_EVIDENT = 3.0


@dataclass(frozen=True)
class Assessment:
    """
    The findings of a run so far; all times are stamps of data.

    latest: `Findings`, at most a second old; changed_ns: time of the last change of the robot,
    None if there was none; changed: names of the parameters that changed, None until they are
    isolated; unknown_efforts: of the newest frame; tangents: `Tangents` from the estimator's
    coordinates to all parameters, near the latest mean; followed_ns: when these were renewed last;
    is_misfit: whether the estimator itself has reported a `Misfit`, so that nothing is identified;
    misspecifications: ((`Misfit` of `estimation.misfits`, since_ns, is_reported), ...); once one
    has lasted long enough it is reported, and nothing is identified; unconfirmed: (time of the
    last gap or of the last data since that did not fit, sums of squared innovations and of degrees
    of freedom since then), None where the motion is known: until so much data fit again nothing is
    identified; payloads: the `PayloadHistory`.
    """

    latest: Findings
    changed_ns: int | None = None
    changed: tuple | None = None
    unknown_efforts: tuple = ()
    tangents: Tangents | None = None
    followed_ns: int | None = None
    is_misfit: bool = False
    misspecifications: tuple = ()
    unconfirmed: tuple | None = None
    payloads: PayloadHistory = PayloadHistory()

    @staticmethod
    def begun(problem, mixture):
        """Return the `Assessment` before any data."""
        tangents = tangents_of(problem.parametrization, mixture)
        return Assessment(find(problem, mixture, 0, False, tangents), tangents=tangents)

    def after(self, problem, mixture, frame, report, model_before_change=lambda: None):
        """
        Return the `Assessment` after a frame.

        mixture, report: the posterior and the `UpdateReport` of this frame; model_before_change:
        function that returns the `EarlierModel` of the posterior before the last change, or None;
        called only when findings are due.
        """
        new, unknown_efforts = self, problem.unknown_efforts(frame)
        if unknown_efforts != self.unknown_efforts:
            new = replace(self, unknown_efforts=unknown_efforts)
        reported = kinds_of(report.events)
        if Happened.CHANGED in reported:
            new = replace(new, changed_ns=frame.end_ns, changed=None)
        if Explained in reported:
            new = replace(new, changed=report.changed)
        is_confirmed, new = new.unconfirmed is None, new._confirmed(problem, frame, report)
        misfits = [event for event in report.events if isinstance(event, (Misfit, MisfitOver))]
        if misfits:
            new = replace(new, is_misfit=isinstance(misfits[-1], Misfit))
        # If a clock was set back, the latest findings are of the future.
        is_old = not 0 <= frame.end_ns - self.latest.stamp_ns < _PERIOD
        is_due = is_old or misfits or _CHANGING_EVENTS & reported
        if is_due or new._needs_tangents(mixture, frame.end_ns):
            tangents = tangents_of(problem.parametrization, mixture, new.tangents)
            new = replace(new, tangents=tangents, followed_ns=frame.end_ns)
        if is_due:
            found = new._misspecified(problem, mixture, frame.end_ns, report)
            payloads = new.payloads.after(report, model_before_change(), self.tangents)
            new = replace(new, misspecifications=found, payloads=payloads)
        if is_due or is_confirmed != (new.unconfirmed is None):
            new = replace(new, latest=new._when_asked(problem, mixture, frame, report))
        return new

    def _confirmed(self, problem, frame, report):
        """
        Return the `Assessment` with `unconfirmed` after a frame.

        Torques measured say of each frame by itself what the robot is; nothing is lost in a gap.
        """
        if frame.after_gap and problem.torque is None:
            return replace(self, unconfirmed=(frame.end_ns, 0.0, 0))
        if self.unconfirmed is None:
            return self
        since_ns, squares, degrees = self.unconfirmed
        squares, degrees = squares + report.nis, degrees + report.degrees
        if not 0 <= frame.end_ns - since_ns < _CONFIRMED_AFTER:
            if report.stage == 'filter' and squares < _FITTING * max(degrees, 1):
                return replace(self, unconfirmed=None)
            since_ns, squares, degrees = frame.end_ns, 0.0, 0
        return replace(self, unconfirmed=(since_ns, float(squares), int(degrees)))

    def events_since(self, before):
        """Return the events of misspecifications that are reported now, or no longer."""
        now, then = self._reported_misfits, before._reported_misfits
        return (
            *(misfit for test, misfit in now.items() if test not in then),
            *(MisfitOver(test) for test in then if test not in now),
        )

    @property
    def _reported_misfits(self):
        """The misspecifications that are reported: `MisfitTest` -> `Misfit`."""
        found = [misfit for misfit, _, is_reported in self.misspecifications if is_reported]
        return {misfit.test: misfit for misfit in found}

    def _misspecified(self, problem, mixture, now_ns, report):
        """
        Return `misspecifications` by a mixture and its `UpdateReport`.

        The estimator of measured torques has a misfit test of its own. A robot that has changed
        may be far from its prior, so this is not reported anew after a change. First fits may be
        wrong for a while, so during these misspecifications have to last longer.
        """
        if problem.torque is not None:
            return ()
        before = {each[0].test: each for each in self.misspecifications}
        least, found = _LASTING if report.stage == 'filter' else _LASTING_IN_FITS, []
        for misfit in misfits_of(problem, mixture, report, before):
            known, since_ns, is_reported = before.get(misfit.test, (misfit, now_ns, False))
            is_of_prior = misfit.test is MisfitTest.PRIOR
            is_by_change = is_of_prior and self.changed_ns is not None and not is_reported
            if now_ns < since_ns or is_by_change:
                since_ns = now_ns
            misfit = known if is_reported else misfit
            found.append((misfit, since_ns, is_reported or now_ns - since_ns >= least))
        return tuple(found)

    def _when_asked(self, problem, mixture, frame, report):
        """Return the `Findings` after a frame, whose costly parts are computed when first read."""
        # Without the latest, which would keep all those before alive.
        own, stamp_ns = replace(self, latest=None), frame.end_ns
        return Findings.when_asked(
            stamp_ns,
            lambda: own._assessed(problem, mixture, stamp_ns, report, False),
            lambda: own.payload(problem, mixture, stamp_ns),
            **own._known(report),
        )

    def _needs_tangents(self, mixture, stamp_ns):
        """Tell whether the mean has moved away from the tangents and their renewal is due."""
        if self.tangents is None:
            return True
        age = None if self.followed_ns is None else stamp_ns - self.followed_ns
        is_fresh = age is not None and 0 <= age < _FOLLOWING
        return not is_fresh and not self.tangents.hold(mixture, _MOVED)

    def payload(self, problem, mixture, stamp_ns):
        """Return the `Payload` by a mixture."""
        reason = None
        if self.is_misfit or self._reported_misfits:
            reason = PayloadReason.MISFIT
        elif self.unconfirmed is not None:
            reason = PayloadReason.UNCONFIRMED
        return estimate_payload(problem, mixture, self.payloads, stamp_ns, reason)

    def find(self, problem, mixture, stamp_ns, report, exact, is_misfit=False):
        """
        Return the `Findings` of a mixture, see `find`.

        is_misfit: whether there is a misfit that was not reported.
        """
        found = self._assessed(problem, mixture, stamp_ns, report, exact, is_misfit)
        return replace(found, payload=self.payload(problem, mixture, stamp_ns))

    def _assessed(self, problem, mixture, stamp_ns, report, exact, is_misfit=False):
        """Return the same without the payload."""
        tangents = tangents_of(problem.parametrization, mixture, self.tangents)
        run = RunConditions(
            has_changed=self.changed_ns is not None
            and 0 <= stamp_ns - self.changed_ns < _CHANGED_FOR,
            changed=self.changed,
            is_misfit=bool(self.is_misfit or self._reported_misfits or is_misfit),
            is_unconfirmed=self.unconfirmed is not None,
        )
        found = find(problem, mixture, stamp_ns, exact, tangents, run)
        return replace(found, **self._known(report))

    def _known(self, report):
        """Return the fields of `Findings` that need no computation, by name."""
        misfit = float(report.nis / report.degrees) if report.degrees else None
        return {'misfit': misfit, 'unknown_efforts': self.unknown_efforts}


def find(problem, mixture, stamp_ns, exact=True, tangents=None, run=None):
    """
    Return the `Findings` of a mixture in a problem's coordinates.

    stamp_ns: of the newest datum, the seed of the draws; exact: whether parameters are drawn along
    the curves of equivalent parameters, which takes longer, or along their `Tangents`, by default
    those of the mixture; run: `RunConditions` other than disturbances, None: none.
    """
    parametrization, inner = problem.parametrization, problem.parametrization.inner
    tangents = tangents or tangents_of(parametrization, mixture)
    mean, covariance = tangents.moments(mixture)
    draws = _draws(problem, mixture, tangents, np.random.default_rng([abs(stamp_ns)]), exact)
    found = spectrum_of(inner, mean, covariance)
    directions = null_directions(found, _NAMED)
    apart = inner.separated(draws), _modes_apart(inner, tangents, mixture), directions
    limits = unobservable_deviations(inner, tangents), _infeasible(problem, mean, covariance)
    parameters = (
        *_parameters(inner.apart, parametrization.priors, *apart, *limits),
        *_noises(problem, mixture, stamp_ns),
    )
    disturbed = problem.dissipation if are_disturbances_evident(mixture) else ()
    run = replace(run or RunConditions(), disturbed=frozenset(disturbed))
    return Findings(
        stamp_ns,
        tuple(in_run(each, run) for each in parameters),
        _combinations(problem, mean, covariance),
        tuple(direction_text(inner.names, direction) for direction in directions),
        int((found.information > _OBSERVED).sum()),
        int((found.information < _UNOBSERVED).sum()),
        information_gain(problem.prior.root, mixture),
        tuple((weight, _values(inner, tangents, at)) for weight, at in modes_of(mixture)),
    )


def _modes_apart(inner, tangents, mixture):
    """Return (weights [K], means [P, K], sds [P, K]) of a mixture, every parameter apart."""
    weights, means, covariances = tangents.components(mixture)
    return weights, inner.separated(means), _deviations_apart(inner, means, covariances).T


def unobservable_deviations(inner, tangents):
    """Return the standard deviations [P] in the null space, every parameter apart."""
    return _deviations_apart(inner, tangents.points, tangents.blind).max(0)


def _deviations_apart(inner, points, covariances):
    """
    Return the standard deviations [K, P] of covariances [K, P, P], every parameter apart.

    points [P, K]: coordinates of the inner parametrization at which they hold.
    """
    slopes = inner.separation(points)
    return np.sqrt(np.einsum('kpp->kp', slopes @ covariances @ slopes.swapaxes(1, 2)).clip(0))


def _infeasible(problem, mean, covariance):
    """
    Return place -> (what, mean, sd) of estimates that are physically infeasible.

    mean [P], covariance [P, P]: of all parameters, before any projection, which draws are after.
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


def _parameters(apart, priors, draws, modes, directions, unobservable=0.0, infeasible=None):
    """
    Return a `ParameterFinding` for every parameter, from the arguments of `verdicts_of`.

    apart: the `DirectParametrization` of the draws; priors: name -> `Prior`, as configured;
    infeasible: as of `_infeasible`.
    """
    infeasible = infeasible or {}
    sd = np.sqrt(np.diag(apart.prior.covariance))
    moments = PriorMoments(apart.names, apart.prior.mean, sd, apart.limits)
    draws = spread_at_zero(draws, modes)
    values = apart.to_named(draws)
    # Normal draws of friction may be negative.
    values[apart.loss_rows] = values[apart.loss_rows].clip(min=0.0)
    quantiles = np.quantile(values, _QUANTILES, axis=1).T.tolist()
    means = values.mean(1).tolist()
    deviations = (values.std(1) * shares_cut(draws, modes)).tolist()
    found = []
    verdicts = verdicts_of(moments, draws, modes, directions, unobservable, infeasible)
    for k, assigned in enumerate(verdicts):
        prior = priors[apart.names[k]]
        found.append(
            ParameterFinding(
                apart.names[k],
                means[k],
                deviations[k],
                tuple(quantiles[k]),
                prior.mean,
                prior.sd * abs(prior.mean) if prior.is_log else prior.sd,
                assigned.share,
                assigned.verdict.value,
                assigned.aliases,
                infeasible.get(k, ()),
            )
        )
    return tuple(found)


def spread_at_zero(draws, modes):
    """
    Return draws [P, N], half-normal for parameters whose feasible draws pile up at zero.

    modes: as of `verdicts_of`. If a normal posterior is mostly below zero, its projection onto
    feasible parameters has almost no spread, which would claim too much: a half-normal
    distribution of the posterior's deviation replaces it.
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
    Return the ratios [P] of posterior deviations to those of draws [P, N] truncated at zero.

    modes: as of `verdicts_of`. Truncation narrows the distribution of a parameter near zero, but
    not its error: of a half-normal, one in a hundred is three of its own deviations from its mean.
    One for all other parameters.
    """
    if modes is None:
        return np.ones(len(draws))
    weights, means, sds = modes
    mean, sd = means @ weights, np.sqrt(sds**2 @ weights)
    is_cut = (draws.min(1) >= 0) & (mean < _NEAR_ZERO * sd)
    return np.where(is_cut, np.maximum(sd / np.maximum(draws.std(1), 1e-300), 1.0), 1.0)


def are_disturbances_evident(mixture):
    """Tell whether there is evidence for some disturbance; all are equal a priori."""
    hypotheses = mixture.disturbances.each
    weights = {
        each: mixture.weights[[other == each for other in hypotheses]].sum()
        for each in set(hypotheses)
    }
    none = weights.pop(NO_DISTURBANCE, 0.0)
    return max(weights.values(), default=0.0) > _EVIDENT * none


def _noises(problem, mixture, stamp_ns):
    """Return a `ParameterFinding` for every sensor whose noise is estimated."""
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

    mean [P], covariance [P, P]: of all parameters. If the null space is curved, a combination is a
    little more uncertain than the coordinate it belongs to.
    """
    parametrization = problem.parametrization
    values = (parametrization.combinations @ mean).tolist()
    spread = parametrization.combinations @ covariance @ parametrization.combinations.T
    sds = np.sqrt(np.diag(spread)).tolist()
    before = np.sqrt(np.diag(problem.prior.covariance)).tolist()
    return tuple(map(CombinationFinding, parametrization.labels, values, sds, before))


def summarize(problem, mixture, stamp_ns, report, findings, tangents):
    """
    Return the `Estimate` of a mixture: means and deviations of all parameters by name.

    findings: the latest `Findings`; tangents: `Tangents` from the estimator's coordinates to all
    parameters. Numbers are computed when first read.
    """
    names = tuple(problem.parametrization.names)
    if problem.noises:
        names = (*names, *(f'{name}.noise' for name in problem.noises))
    numbers = partial(_numbers, problem, mixture, tangents)
    return Estimate.when_asked(stamp_ns, names, numbers, findings, report)


def _numbers(problem, mixture, tangents):
    """Return (values, standard deviations) [P] of all parameters, linearized at the mean."""
    mean, root = tangents.spread(mixture)
    values, spread = problem.parametrization.inner.along(mean[:, None], root)
    values, sd = values[:, 0], np.sqrt(np.einsum('pr,pr->p', spread[0], spread[0]))
    if problem.noises:
        logs, deviations = mixture.noises.moments(mixture.weights)
        values = np.concatenate([values, np.exp(logs)])
        sd = np.concatenate([sd, np.exp(logs) * deviations])
    return values, sd
