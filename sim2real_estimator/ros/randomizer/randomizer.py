"""
What the randomizer node draws, of which posterior, and why it does not; without a node.

A posterior says nothing of which robot it is. Its coordinates do: `~/coordinates` has the prior
and the reference of every parameter, which are compared with those of the settings.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...config import load_config, setting, to_yaml, with_values
from ...errors import ConfigError, DataError
from ...posterior.draws import draw_robots, DrawSettings, KINDS, left_open, load_ranges, narrowed
from ...posterior.draws.draw_files import described
from ...posterior.file import Posterior
from ...posterior.identity import describe
from ...setup.build import build_parts
from ..publishers import map_of

_NANO = 1e9
# Stamps may be ahead of the node's clock by so much [s].
_AHEAD = 1.0
# Of numbers that have come another way: sines of another machine, and rounding.
_SAME, _ROUNDING = 1e-6, 1e-9
# Names of what differs that are listed.
_NAMED = 4
# Draws of the prior by which is judged what data have told.
_OF_PRIOR = 1000


@dataclass(frozen=True)
class RandomizerSettings:
    """The parameters of the node, by name."""

    config_file: str = setting('', "YAML file with the estimator's settings", required=True)
    urdf_file: str = setting('', 'robot description in place of model.urdf there; or empty')
    estimator: str = setting(
        'sim2real_estimator', 'name of the node whose posterior is drawn from; in this namespace'
    )
    max_age: float = setting(
        10.0,
        'oldest datum of a posterior that is drawn from, by the clock of this node; 0: any, as '
        'with a posterior of a recording',
        unit='s',
        low=0.0,
    )
    kind: str = setting('posterior', 'what is drawn', choices=tuple(KINDS), dynamic=True)
    count: int = setting(1000, 'draws of a set', low=1, high=100_000, dynamic=True)
    seed: int = setting(
        0, 'of the first set; the next ones have the next ones', low=0, high=2**31, dynamic=True
    )
    factor: float = setting(
        4.0, 'of the covariance of the widened posterior', low=1.0, high=1e6, dynamic=True
    )
    extent: float = setting(
        1.645, 'standard deviations from the mean to the corners', above=0.0, dynamic=True
    )
    names: tuple[str, ...] = setting(
        (), 'parameters whose extremes are the corners; empty: principal directions', dynamic=True
    )
    ranges_file: str = setting(
        '',
        'YAML file of ranges by hand, as config/randomization.yaml: of what data have not told; '
        'empty: the prior',
    )
    rate: float = setting(
        0.0, 'new sets; 0: only by the service and the episodes', unit='1/s', low=0.0
    )
    lines_file: str = setting('', 'JSON lines of the set, written anew with each; or empty')
    mjcf_file: str = setting('', 'MJCF of the present draw, written anew with each; or empty')

    def draws(self):
        """Return the `DrawSettings`."""
        names = tuple(name for name in self.names if name)
        return DrawSettings(self.kind, self.count, self.factor, self.extent, names)


class Randomizer:
    """
    Draws from the latest posterior, or says why not.

    problem: the `RobotProblem` of the settings; stamp_ns: of the newest datum of the posterior,
    None before any.
    """

    def __init__(self, settings):
        """Build the robot; a ConfigError or ModelError says what is wrong with the settings."""
        if not settings.config_file:
            raise ConfigError(
                "parameter config_file: is empty; give the YAML file of the estimator's settings, "
                'as in --ros-args -p config_file:=robot.yaml'
            )
        config = load_config(settings.config_file)
        if settings.urdf_file:
            config = with_values(config, {'model.urdf': settings.urdf_file})
        self.problem, estimator, *_ = build_parts(config)
        self._ranges = load_ranges(settings.ranges_file) if settings.ranges_file else None
        self._text, self._identity = to_yaml(config), describe(self.problem, estimator)
        parametrization = self.problem.parametrization
        units = tuple(map(self.problem.parameters.unit, parametrization.names))
        self._map, self._estimator = map_of(parametrization, units), settings.estimator
        self._max_age_ns = settings.max_age * _NANO
        self._other = f'no coordinates have come from {settings.estimator} yet'
        self._mixture, self.stamp_ns, self._bad = None, None, ''
        # Draws of the prior, and what the present posterior has left of it; where ranges ask.
        self._prior, self._left = None, None

    def take_coordinates(self, mapping):
        """Compare the coordinates that posteriors come in with those of the settings."""
        differing = _differences(mapping, self._map)
        self._other = (
            f'the posterior of {self._estimator} is of another robot or prior than config_file: '
            f'{differing}; start both nodes with the same settings'
            if differing
            else ''
        )

    def take_posterior(self, reading):
        """Take a `PosteriorReading`; after one that is damaged nothing is known until the next."""
        self.stamp_ns, self._mixture, self._left = reading.stamp_ns, None, None
        self._bad = _damage(reading)
        if not self._bad and reading.labels != self._map.labels:
            strange = sorted(set(reading.labels) ^ set(self._map.labels)) or reading.labels
            self._bad = (
                'the posterior has other coordinates than config_file: '
                f'{", ".join(strange[:_NAMED])}; estimate the same parameters in both, those too '
                'that the estimator has set free'
            )
        if not self._bad:
            self._mixture = reading.mixture()

    def refuse(self, why):
        """Take note that what came is no posterior."""
        self._mixture, self._bad = None, why

    def trouble(self, now_ns):
        """Return why nothing is drawn at a time of the node's clock [ns], '' if something is."""
        if self.stamp_ns is None and not self._bad:
            return f'no posterior has come from {self._estimator} yet'
        if self._bad or self._other:
            return self._bad or self._other
        if not self._max_age_ns:
            return ''
        age_ns = now_ns - self.stamp_ns
        if age_ns > self._max_age_ns:
            return (
                f'the newest datum of the posterior is {age_ns / _NANO:.1f} s old, and max_age is '
                f'{self._max_age_ns / _NANO:g} s: see that the estimator runs and has data'
            )
        if age_ns < -_AHEAD * _NANO:
            return (
                f'the posterior is {-age_ns / _NANO:.1f} s ahead of the clock of this node: '
                'synchronize the clocks, or set use_sim_time in both nodes'
            )
        return ''

    def draw(self, settings, seed, now_ns):
        """
        Return (`Draws`, [what became of ranges by hand]) of the posterior.

        A DataError says why there are none.
        """
        if trouble := self.trouble(now_ns):
            raise DataError(trouble)
        wanted = settings.draws()
        draws = draw_robots(self.problem, self._mixture, wanted, seed)
        if self._ranges is None:
            return draws, []
        if self._prior is None:
            prior = DrawSettings('prior', _OF_PRIOR)
            self._prior = draw_robots(self.problem, self._mixture, prior, 0)
        if self._left is None:
            self._left = left_open(self.problem, self._mixture, self._prior)
        return narrowed(self.problem, draws, self._left, self._ranges, seed)

    def robot(self):
        """Return the described `EstimatedRobot` into which draws of the posterior are written."""
        posterior = Posterior(self._identity, self._mixture, self.problem.prior, (), self._text)
        return described(self.problem, posterior)


def changed(settings, values):
    """Return the `RandomizerSettings` with other values, name -> value; a ConfigError if wrong."""
    result = replace(settings, **values)
    result.draws()
    return result


def _damage(reading):
    """Return what is wrong with the numbers of a `PosteriorReading`, '' where nothing is."""
    parts = {
        'weights': reading.weights,
        'means': reading.means,
        'covariances': reading.covariances,
    }
    for name, part in parts.items():
        if not np.isfinite(part).all():
            return f'the posterior has {name} that are not finite; reset the estimator'
    if (reading.weights < 0).any() or abs(reading.weights.sum() - 1) > _SAME:
        return 'the weights of the posterior are not those of a mixture; listen to ~/posterior'
    sizes = np.sqrt(np.abs(np.diagonal(reading.covariances, axis1=1, axis2=2)))
    scale = sizes[:, :, None] * sizes[:, None] + 1e-300
    correlations = reading.covariances / scale
    is_even = np.abs(correlations - np.swapaxes(correlations, 1, 2)).max() < _SAME
    if not is_even or np.linalg.eigvalsh(correlations).min() < -_SAME:
        return 'a covariance of the posterior is not positive definite; reset the estimator'
    return ''


def _differences(theirs, ours):
    """Return what differs between two `CoordinateMap`s, '' where nothing does."""
    for what in ('labels', 'names', 'units'):
        then, now = getattr(theirs, what), getattr(ours, what)
        if then != now:
            strange = sorted(set(then) ^ set(now)) or then
            return f'other {what}: {", ".join(strange[:_NAMED])}'
    for what in ('signs', 'softness', 'reference', 'prior_mean', 'prior_sd'):
        then, now = getattr(theirs, what), getattr(ours, what)
        if len(which := _unequal(then, now)):
            said = (f'{ours.names[k]} {then[k]:.6g} instead of {now[k]:.6g}' for k in which)
            return f'another {what.replace("_", " ")}: {", ".join([*said][:_NAMED])}'
    for what in ('slopes', 'combinations'):
        if len(_unequal(getattr(theirs, what).ravel(), getattr(ours, what).ravel())):
            return f'other {what} of the coordinates'
    return ''


def _unequal(then, now):
    """Return the places where vectors differ by more than rounding."""
    limit = _SAME * np.abs(now) + _ROUNDING * np.abs(now).max(initial=1e-300)
    return np.flatnonzero(~(np.abs(then - now) <= limit))
