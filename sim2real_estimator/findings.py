"""The posterior judged: what is known of every parameter, how, and what cannot be known."""

from dataclasses import dataclass, replace

import numpy as np

from .inference.verdicts import (
    Beliefs,
    in_words,
    information_gain,
    judge,
    modes_of,
    null_directions,
    spectrum,
    Verdict,
)
from .problem.fibre import physical_draws, straight_draws
from .problem.parameter_chart import DirectChart
from .records import CombinationFinding, Findings, ParameterFinding

_STRAIGHT_DRAWS, _EXACT_DRAWS = 1000, 400
# Where fewer draws than this settle, those by straight lines tell more.
_LEAST_DRAWS = 100
_QUANTILES = (0.05, 0.5, 0.95)
# Information of data over that of the prior: from where on a dimension is counted as known from
# data, up to where as known as before, and up to where it is named as a null direction.
_TOLD, _UNTOLD, _NAMED = 10.0, 0.1, 1.0
_SECOND = 10**9
# Findings are renewed this often [ns], and after whatever moves the posterior at once.
_PERIOD = _SECOND
_TURNS = frozenset(('fitted', 'handed over', 'resumed', Verdict.CHANGED.value))
# How long a robot counts as changed [ns].
_CHANGED_FOR = 5 * _SECOND


@dataclass(frozen=True)
class Standing:
    """
    What is said of a run as it goes on; all times are of data.

    latest: `Findings` that are at most a second old; changed_ns: when the
    robot changed last, None where it never did; unknown_efforts: of the newest frame.
    """

    latest: Findings
    changed_ns: int | None = None
    unknown_efforts: tuple = ()

    def after(self, problem, mixture, frame, report):
        """Return the standing after a frame, with the mixture and the `UpdateReport` it led to."""
        new = replace(self, unknown_efforts=problem.unknown_efforts(frame))
        if Verdict.CHANGED.value in report.events:
            new = replace(new, changed_ns=frame.end_ns)
        is_old = frame.end_ns - self.latest.stamp_ns >= _PERIOD
        if is_old or _TURNS.intersection(report.events):
            found = new.find(problem, mixture, frame.end_ns, report, exact=False)
            new = replace(new, latest=found)
        return new

    def find(self, problem, mixture, stamp_ns, report, exact):
        """Return the `Findings` of a mixture; see the function `find`."""
        found = find(problem, mixture, stamp_ns, exact)
        if self.changed_ns is not None and stamp_ns - self.changed_ns < _CHANGED_FOR:
            word = Verdict.CHANGED.value
            parameters = tuple(replace(each, verdict=word) for each in found.parameters)
            found = replace(found, parameters=parameters)
        misfit = float(report.nis / report.degrees) if report.degrees else None
        return replace(found, misfit=misfit, unknown_efforts=self.unknown_efforts)


def find(problem, mixture, stamp_ns, exact=True):
    """
    Return the `Findings` of a mixture in a problem's coordinates.

    stamp_ns: of the newest datum, which decides the draws; exact: whether parameters are drawn
    along the curves on which the robot moves alike, which takes a while, or along straight lines.
    """
    chart, inner = problem.chart, problem.chart.inner
    mean, covariance = mixture.moments()
    draws = _draws(chart, mixture, np.random.default_rng([abs(stamp_ns)]), exact)
    found = spectrum(inner.prior.root, _whole(chart, problem.prior, covariance))
    directions = null_directions(found, _NAMED)
    return Findings(
        stamp_ns,
        (
            *_parameters(inner, draws, _inner_modes(problem, mixture), directions),
            *_noises(problem, mixture, stamp_ns),
        ),
        _combinations(problem, mean, covariance),
        tuple(in_words(inner.names, direction) for direction in directions),
        int((found.information > _TOLD).sum()),
        int((found.information < _UNTOLD).sum()),
        information_gain(problem.prior.root, mixture),
        tuple((weight, _values(chart, at)) for weight, at in modes_of(mixture)),
    )


def _values(chart, at):
    return tuple(chart.to_named(at[:, None])[:, 0].tolist())


def _draws(chart, mixture, generator, exact):
    """Return draws of all parameters, as coordinates of the inner chart."""
    if exact:
        draws = physical_draws(chart, mixture.draw(_EXACT_DRAWS, generator), generator)
        if draws.shape[1] >= _LEAST_DRAWS:
            return draws
    return straight_draws(chart, mixture.draw(_STRAIGHT_DRAWS, generator), generator)


def _whole(chart, prior, covariance):
    """Return the covariance of all parameters: of those that are told, and the prior's rest."""
    inner = chart.inner.prior.covariance
    return inner + chart.basis @ (covariance - prior.covariance) @ chart.basis.T


def _inner_modes(problem, mixture):
    """Return (weights [K], means [P, K], sds [P, K]) of the components in all parameters."""
    chart = problem.chart
    covariances = mixture.parameter_covariances()
    sds = [np.sqrt(np.diag(_whole(chart, problem.prior, c)).clip(0)) for c in covariances]
    return mixture.weights, chart.embed(mixture.means), np.stack(sds, 1)


def _parameters(inner, draws, modes, directions):
    """Return a `ParameterFinding` for every parameter."""
    sd = np.sqrt(np.diag(inner.prior.covariance))
    beliefs = Beliefs(inner.names, inner.prior.mean, sd, inner.limits)
    values = inner.to_named(draws)
    quantiles = np.quantile(values, _QUANTILES, axis=1).T.tolist()
    means, deviations = values.mean(1).tolist(), values.std(1).tolist()
    found = []
    for k, judged in enumerate(judge(beliefs, draws, modes, directions)):
        prior = inner.priors[inner.names[k]]
        found.append(
            ParameterFinding(
                inner.names[k],
                means[k],
                deviations[k],
                tuple(quantiles[k]),
                prior.mean,
                prior.sd * abs(prior.mean) if prior.is_log else prior.sd,
                judged.share,
                judged.verdict.value,
                judged.aliases,
            )
        )
    return tuple(found)


def _noises(problem, mixture, stamp_ns):
    """Return a `ParameterFinding` for every sensor whose noise is unknown."""
    if not problem.noises:
        return ()
    chart = DirectChart({f'{name}.noise': prior for name, prior in problem.noises.items()})
    generator = np.random.default_rng([abs(stamp_ns), 1])
    draws = mixture.noises.draw(mixture.weights, _STRAIGHT_DRAWS, generator)
    return _parameters(chart, draws, None, ())


def _combinations(problem, mean, covariance):
    """Return a `CombinationFinding` for every coordinate of the estimator."""
    chart = problem.chart
    values = (chart.combinations @ chart.embed(mean[:, None]))[:, 0].tolist()
    sds = np.sqrt(np.diag(covariance)).tolist()
    before = np.sqrt(np.diag(problem.prior.covariance)).tolist()
    return tuple(map(CombinationFinding, chart.labels, values, sds, before))
