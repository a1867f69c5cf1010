"""
The best fit of recordings by an optimizer of choice, beside the posterior: `identify --fit`.

It is a maximum a posteriori estimate from short windows spread over the recordings, each with a
first state of its own (`TrajectoryMisfit`), from several starts drawn from the prior. It has
nothing in common with the estimator but the simulated robot, its noise and its prior.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from ...errors import ConfigError
from ...estimation.batch.multi_start import cover_prior, with_known
from ...estimation.batch.trajectory_misfit import TrajectoryMisfit
from ...estimation.factors import lower_root
from ...estimation.mixture import Mixture
from ...estimation.optimizers import AbstractOptimizer, OPTIMIZERS
from ...observability.findings import find
from ...setup.sources import nearest
from .held_out import described, first_run

_NANO = 1e9
# Time for the first efforts and the last samples of a window to arrive [s].
_MARGIN = 0.5
# Starts whose cost is above the lowest by less have found the same optimum: it is worth less than
# a standard deviation.
_SAME = 0.5
# Least values of settings; of all others it is zero.
_LEAST = dict.fromkeys(('starts', 'windows', 'iterations', 'generations'), 1) | {'population': 4}
_LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class FitOptions:
    """
    How recordings are fitted.

    optimizer: with its settings; starts: number of them, the first at the prior's mean; windows:
    number of windows, at most, of all recordings together; seconds: length of each [s].
    """

    optimizer: AbstractOptimizer
    starts: int = 8
    windows: int = 20
    seconds: float = 0.5

    @staticmethod
    def read(text):
        """Return the options of 'OPTIMIZER' or 'OPTIMIZER:KEY=VALUE,...'."""
        name, _, rest = text.partition(':')
        if name not in OPTIMIZERS:
            raise ConfigError(f"fit: '{name}' is no optimizer; {nearest(name, OPTIMIZERS)}")
        options = FitOptions(OPTIMIZERS[name]())
        for part in filter(None, rest.split(',')):
            options = options._with(name, *(each.strip() for each in part.partition('=')[::2]))
        return options

    def _with(self, name, key, text):
        """Return the options with a setting by its name and its value as text."""
        local = getattr(self.optimizer, 'local', None)
        owners = [each for each in (self, self.optimizer, local) if key in _numbers(each)]
        if not owners:
            known = [k for each in (self, self.optimizer, local) for k in _numbers(each)]
            raise ConfigError(f"fit: '{name}' has no setting '{key}'; {nearest(key, known)}")
        owner, kind = owners[0], type(_numbers(owners[0])[key])
        least = _LEAST_SECONDS if key == 'seconds' else _LEAST.get(key, 0)
        try:
            value = kind(text)
        except ValueError:
            value = np.nan
        if not least <= value < np.inf:
            what = 'a whole number' if kind is int else 'a number'
            raise ConfigError(f"fit: {key} is '{text}'; give {what} of at least {least:g}")
        changed = replace(owner, **{key: value})
        if owner is self:
            return changed
        if owner is local:
            changed = replace(self.optimizer, local=changed)
        return replace(self, optimizer=changed)

    def require_possible(self, problem):
        """Raise a ConfigError where a motion of this problem does not follow from first states."""
        if problem.torque is not None or problem.poses is not None or problem.has_unknown_inputs:
            raise ConfigError(
                'fit: simulates the motion from given efforts, and here efforts are measured with '
                'noise or not known; leave it out, or, where the efforts are just what acts, '
                "write 'commanded' in joints.JOINT.effort and their topic in efforts.commanded"
            )
        if len(problem.labels) < self.optimizer.least_parameters:
            raise ConfigError(
                f"fit: '{self.optimizer.name}' needs {self.optimizer.least_parameters} parameters "
                'or more; take another optimizer for one'
            )


def _numbers(settings):
    """Return name -> value of the settings of an object that are numbers."""
    if settings is None:
        return {}
    found = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


@dataclass(frozen=True)
class OptimizerFit:
    """
    The best fit by an optimizer.

    optimizer: its name; settings: name -> number; windows: how many; starts; at_lowest: how many
    of them ended at the lowest cost; evaluations: number of parameter vectors that were tried;
    converged: whether the best start did; cost: negative log posterior, less a constant; mean, sd:
    parameter -> value and its standard deviation by the curvature there (Laplace); misfits: 'as
    described', 'posterior mean' and 'fit' -> root mean square of residuals in standard deviations
    of the noise; reason: why there is no fit, '' where there is one.
    """

    optimizer: str
    settings: dict
    windows: int = 0
    starts: int = 0
    at_lowest: int = 0
    evaluations: int = 0
    converged: bool = False
    cost: float = np.nan
    mean: dict | None = None
    sd: dict | None = None
    misfits: dict | None = None
    reason: str = ''


def windows_to_fit(feed, options, most, make_stream, knows_inputs):
    """
    Return windows, tuples of frames, spread over what a `Feed` does not hold out.

    most: their number; make_stream, knows_inputs: as for `held_out.windows_of`.
    """
    begin_ns = feed.bag.begin_ns
    length = (feed.split_ns - begin_ns) / _NANO
    count, found = min(most, int(length / options.seconds)), []
    for number in range(count):
        stream, at_ns = make_stream(), begin_ns + round(number * length / count * _NANO)
        for sample in feed.samples(at_ns, options.seconds + _MARGIN, feed.split_ns):
            stream.push(sample)
        run = first_run(stream.flush(), options.seconds, knows_inputs)
        found += [tuple(run)] if run else []
    return found


def fit_recordings(problem, options, windows, mixture, seed):
    """Return the `OptimizerFit` of windows; mixture: the posterior beside it; seed: of starts."""
    optimizer = options.optimizer
    settings = (
        _numbers(options) | _numbers(getattr(optimizer, 'local', None)) | _numbers(optimizer)
    )
    none = OptimizerFit(optimizer.name, settings)
    if not windows:
        reason = f'no {options.seconds:g} s without a gap in which all efforts are known'
        return replace(none, reason=reason)
    misfit = TrajectoryMisfit(problem, windows)
    draws = cover_prior(problem, options.starts, np.random.default_rng(seed))
    starts = misfit.points(with_known(problem, draws, None))
    found = optimizer.minimize(misfit, starts)
    if not np.isfinite(found.values).any():
        return replace(none, reason='no start came to a number: the model is unstable')
    best = int(np.argmin(found.values))
    point = found.points[:, [best]]
    mean, sd = _in_parameters(problem, misfit, point)
    others = np.stack([described(problem), mixture.moments()[0]], 1)
    rms = misfit.misfit(np.concatenate([misfit.points(others), point], 1)).tolist()
    return replace(
        none,
        windows=len(windows),
        starts=options.starts,
        at_lowest=int((found.values < found.values[best] + _SAME).sum()),
        evaluations=int(found.evaluations.sum()),
        converged=bool(found.converged[best]),
        cost=float(found.values[best]),
        mean=mean,
        sd=sd,
        misfits=dict(zip(('as described', 'posterior mean', 'fit'), rms)),
    )


def _in_parameters(problem, misfit, point):
    """Return (parameter -> value, parameter -> standard deviation) at a point [p, 1]."""
    _, slopes = misfit.jacobian(point)
    root = np.linalg.inv(np.linalg.cholesky(slopes[0].T @ slopes[0])).T
    mean, size = misfit.parameters(point), problem.tangent_size
    roots = np.zeros((1, size + len(mean), size + len(mean)))
    roots[0, size:, size:] = lower_root((problem.prior.root @ root)[None])[0]
    # Laplace's approximation; what no data tell is as uncertain as in findings of a posterior.
    laplace = Mixture(
        np.zeros(1), problem.neutral[:, None], mean, roots, noises=problem.noise_prior
    )
    found = find(problem, laplace, 0, exact=False).parameters
    values = problem.parametrization.to_named(mean)[:, 0].tolist()
    mean = dict(zip(problem.parametrization.names, values))
    return mean, {each.name: each.sd for each in found if each.name in mean}
