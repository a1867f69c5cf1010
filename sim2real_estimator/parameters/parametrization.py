"""
Parametrizations: maps between the estimator's coordinates and the named unknown parameters.

`DirectParametrization` has a coordinate for every parameter; `SliceParametrization` restricts one
to its observable directions; `TimedParametrization` appends delays. Coordinates are unconstrained.
"""

from dataclasses import dataclass
import math

import numpy as np
import torch

from ..dynamics.mass_matrix import mass_matrix
from ..errors import ConfigError
from ..estimation.protocol import Gaussian
from ..model.parameters import is_dissipation
from ..model.softplus import inverse_softplus, softplus

# Prior standard deviation of the argument of a softplus, in units of its softness: 90 % of values
# are from a hundredth to seven times the expected one.
_SOFT_SD = 3.0


@dataclass(frozen=True)
class Prior:
    """
    The prior of one parameter, normal or (is_log) log-normal.

    mean: also its sign, if log-normal; sd: the standard deviation, that of the logarithm if
    log-normal; limits: (least, most) if the user has set any.
    """

    mean: float
    sd: float
    is_log: bool
    limits: tuple | None = None

    def linear(self):
        """Return the normal prior with the same mean and standard deviation."""
        if not self.is_log:
            return self
        mean = self.mean * math.exp(self.sd**2 / 2)
        sd = abs(mean) * math.sqrt(math.expm1(self.sd**2))
        return Prior(mean, sd, False, self.limits)


class DirectParametrization:
    """
    A coordinate for every parameter: the value, its logarithm or the argument of a softplus.

    names: of the parameters; straight: names with log-normal priors whose coordinate is the value,
    with a normal prior as wide; soft: names whose coordinate is the argument of a softplus;
    labels: of the coordinates; signs [p]: of values whose coordinates are logarithms, else zero;
    fixed: name -> value of other parameters; relative_root: root of the coordinates' covariance if
    every parameter varies by its own size, or by its prior's deviation if that is normal, a column
    for each of the names; has_logs: whether any coordinate is a logarithm.

    All parametrizations have: inner, the `DirectParametrization` or `LinearParametrization` of all
    parameters; basis and combinations, the matrices from the coordinates to those of `inner` and
    back; responses, the `Responses` by which observable directions were found, None if all are;
    is_straight, whether the null space is the same everywhere in inner coordinates.
    """

    responses, is_straight = None, True

    def __init__(self, priors, fixed=None, straight=frozenset(), soft=frozenset()):
        """Take name -> `Prior` of the unknown parameters and name -> float of the others."""
        self.straight, self.soft = frozenset(straight), frozenset(soft)
        self.names, self.priors, self.fixed = tuple(priors), dict(priors), dict(fixed or {})
        own = {n: p.linear() if n in self.straight else p for n, p in priors.items()}
        softness = {n: priors[n].mean / math.log(2) for n in priors if n in self.soft}
        own |= {n: Prior(0.0, _SOFT_SD * s, False) for n, s in softness.items()}
        self._own = tuple(own.values())
        self.softness = np.array([softness.get(name, 0.0) for name in self.names])
        self._is_log = np.array([p.is_log for p in self._own], dtype=bool)
        self.has_logs = bool(self._is_log.any())
        means = np.array([p.mean for p in self._own])
        self.signs = np.where(self._is_log, np.sign(means), 0.0)
        self._sign = self.signs[self._is_log][:, None]
        self._is_soft = self.softness > 0
        self._soft = self.softness[self._is_soft][:, None]
        for name, prior in priors.items():
            if prior.is_log and prior.mean == 0 or not prior.sd > 0:
                raise ConfigError(
                    f"prior of '{name}': a mean of {prior.mean:g} with an sd of "
                    f'{prior.sd:g} says nothing; give it others, or do not '
                    'estimate it'
                )
        self.labels = tuple(
            f'softplus({n})'
            if n in self.soft
            else f'log({"-" if p.mean < 0 else ""}{n})'
            if p.is_log
            else n
            for n, p in own.items()
        )
        centre = np.where(self._is_log, np.log(np.abs(np.where(means == 0, 1.0, means))), means)
        self.prior = Gaussian(centre, np.diag([p.sd for p in self._own]))
        self.relative_root = np.diag(
            [own_size(prior, as_own) for prior, as_own in zip(priors.values(), self._own)]
        )
        self.basis = self.combinations = np.eye(len(centre))

    @property
    def limits(self):
        """(least, most) of every coordinate with limits set by the user, None of others."""
        found = []
        for prior in self._own:
            ends = prior.limits
            if ends and prior.is_log:
                ends = tuple(sorted(np.log(np.abs(ends)).tolist()))
            found.append(ends)
        return tuple(found)

    @property
    def inner(self):
        """This parametrization."""
        return self

    @property
    def apart(self):
        """The parametrization with a coordinate for every parameter: this one."""
        return self

    @property
    def rows(self):
        """The rows [0, 10] of bodies that are linear coordinates: there are none."""
        return np.zeros((0, 10), dtype=int)

    @property
    def loss_rows(self):
        """The rows of parameters of damping and friction."""
        return [row for row, name in enumerate(self.names) if is_dissipation(name)]

    @property
    def deviations(self):
        """The prior standard deviations [p] of the coordinates."""
        return np.array([prior.sd for prior in self._own])

    def with_more(self, priors):
        """Return the parametrization of these parameters, followed by others."""
        return DirectParametrization(
            {**self.priors, **priors}, self.fixed, self.straight, self.soft
        )

    def embed(self, coordinates):
        """Return the coordinates [p, B] of the inner parametrization."""
        return coordinates

    def separated(self, coordinates):
        """Return the coordinates [p, B] of the parametrization `apart`."""
        return coordinates

    def separation(self, coordinates):
        """Return the derivative [B, p, p] of what `separated` returns by the coordinates."""
        return np.tile(np.eye(len(coordinates)), (coordinates.shape[1], 1, 1))

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B]."""
        return self.values_and_rates(coordinates)[0]

    def from_named(self, values):
        """Return the coordinates [p, B] of values [p, B]; NaN for values out of range."""
        coordinates, log = np.array(values, dtype=float), self._is_log
        with np.errstate(invalid='ignore', divide='ignore'):
            coordinates[log] = np.log(self._sign * coordinates[log])
            coordinates[self._is_soft] = inverse_softplus(coordinates[self._is_soft], self._soft)
        return coordinates

    def values_and_rates(self, coordinates):
        """Return the values [p, B] and the derivative [p, B] of each by its own coordinate."""
        values, rates = np.array(coordinates, dtype=float), np.ones(coordinates.shape)
        if self.has_logs:
            log = self._is_log
            values[log] = rates[log] = self._sign * np.exp(np.clip(values[log], -500, 500))
        if self.soft:
            soft = self._is_soft
            rates[soft] = 0.5 * (1 + np.tanh(0.5 * values[soft] / self._soft))
            values[soft] = softplus(values[soft], self._soft)
        return values, rates

    def rates(self, coordinates):
        """Return the derivative [p, B] of every value by its own coordinate."""
        return self.values_and_rates(coordinates)[1]

    def slope(self, coordinates):
        """Return the derivative of the values by the coordinates, [B, p, p]."""
        return self.expanded(coordinates)[1]

    def expanded(self, coordinates):
        """Return the values [p, B] and their derivative by the coordinates, [B, p, p]."""
        return self.along(coordinates, self.basis)

    def along(self, coordinates, directions):
        """Return the values [p, B] and their derivative along directions [p, d], [B, p, d]."""
        values, rates = self.values_and_rates(coordinates)
        return values, rates.T[..., None] * directions

    def are_sound(self, coordinates):
        """Return which of coordinates [p, B] can be simulated, [B]: all."""
        return np.ones(coordinates.shape[1], dtype=bool)

    def offsets(self, count, generator):
        """Return draws [p, count] of the prior, less its mean."""
        return self.prior.root @ generator.standard_normal((len(self.names), count))

    def whitened(self, coordinates):
        """Return whitened coordinates [B, p]: deviations from the prior mean in prior sds."""
        return ((coordinates - self.prior.mean[:, None]) / self.deviations[:, None]).T

    def unwhitened(self, points):
        """Return the coordinates [p, B] of whitened ones [B, p]."""
        return self.prior.mean[:, None] + self.deviations[:, None] * points.T

    def by_whitened(self, slopes):
        """Return derivatives [..., p] by whitened coordinates from those by coordinates."""
        return slopes * self.deviations

    def chained(self, slopes, scale, coordinates):
        """
        Return derivatives [B, k, S, p] by coordinates [p, B] from those by values.

        slopes [B, k, S, p]; scale [k, 1, 1]: divides them.
        """
        return slopes * (self.rates(coordinates).T[:, None, None] / scale)


def own_size(prior, of_coordinate):
    """Return the size of a parameter in its coordinate, or its prior sd if that is normal."""
    if of_coordinate.is_log:
        return 1.0
    return abs(prior.mean) if prior.is_log else prior.sd


class TimedParametrization:
    """Coordinates of physical parameters, followed by delays [s], whose coordinates are values."""

    def __init__(self, physical, delays):
        """Take a parametrization, physical, and delays, name -> normal `Prior`."""
        self.physical, self._delays = physical, DirectParametrization(delays)
        self.names = (*physical.names, *delays)
        self.labels = (*physical.labels, *self._delays.labels)
        self.fixed, self.priors = physical.fixed, {**physical.priors, **delays}
        first, second = physical.prior, self._delays.prior
        self._split = len(first.mean)
        root = _block_diagonal(first.root, second.root)
        self.prior = Gaussian(np.concatenate([first.mean, second.mean]), root)
        self.relative_root = _block_diagonal(physical.relative_root, self._delays.relative_root)
        self.inner, self.is_straight = physical.inner.with_more(delays), physical.is_straight
        self.basis = _block_diagonal(physical.basis, self._delays.basis)
        self.combinations = _block_diagonal(physical.combinations, self._delays.combinations)
        self.responses = physical.responses

    def embed(self, coordinates):
        """Return the coordinates [P, B] of the inner parametrization."""
        first = self.physical.embed(coordinates[: self._split])
        return np.concatenate([first, coordinates[self._split :]])

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B]."""
        first = self.physical.to_named(coordinates[: self._split])
        return np.concatenate([first, coordinates[self._split :]])

    def expanded(self, coordinates):
        """Return the values [P, B] and their derivative by the coordinates, [B, P, p]."""
        values, first = self.physical.expanded(coordinates[: self._split])
        rows, columns = first.shape[1:]
        result = np.zeros((first.shape[0], len(self.names), len(self.labels)))
        result[:, :rows, :columns] = first
        late = np.arange(len(self.names) - rows)
        result[:, rows + late, columns + late] = 1.0
        return np.concatenate([values, coordinates[self._split :]]), result


def _block_diagonal(first, second):
    """Return a matrix of two on its diagonal, zero elsewhere."""
    rows, columns = first.shape
    result = np.zeros((rows + len(second), columns + second.shape[1]))
    result[:rows, :columns], result[rows:, columns:] = first, second
    return result


class SliceParametrization:
    """
    The observable directions of another parametrization; the others stay at the prior mean.

    inner coordinates = prior mean + basis * x. The basis is orthogonal to the null space in the
    metric of the prior: the slice meets every set of observationally equivalent parameters once.
    """

    def __init__(self, inner, basis, labels, combinations, responses, is_straight=False):
        """
        Take the slice.

        inner: a `DirectParametrization` or `LinearParametrization`; basis [p_inner, p]; labels: of
        the p directions; combinations [p, p_inner]: x as linear functions of inner coordinates
        minus the prior mean; responses: the `Responses` by which the slice was found; is_straight:
        whether the null space is the same everywhere.
        """
        self.inner, self.basis, self.labels = inner, basis, tuple(labels)
        self.names, self.fixed, self.priors = inner.names, inner.fixed, inner.priors
        self.combinations, self.responses = combinations, responses
        self.is_straight = is_straight
        spread = combinations @ inner.prior.root
        self.prior = Gaussian(np.zeros(basis.shape[1]), np.linalg.cholesky(spread @ spread.T))
        self.relative_root = combinations @ inner.relative_root

    def embed(self, coordinates):
        """Return the coordinates [P, B] of the inner parametrization."""
        return self.inner.prior.mean[:, None] + self.basis @ coordinates

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [p, B]."""
        return self.inner.to_named(self.embed(coordinates))

    def expanded(self, coordinates):
        """Return the values [P, B] and their derivative by the coordinates, [B, P, p]."""
        return self.inner.along(self.embed(coordinates), self.basis)


def mass_matrices(system, values, positions):
    """
    Return mass matrices [B, nv, nv] for parameter values [P, B] at positions [nq, B].

    system: a `System` whose estimated names the rows of `values` belong to.
    """
    rows = torch.from_numpy(np.ascontiguousarray(values))
    robot = system.robot(dict(zip(system.estimated, rows)))
    q = list(torch.from_numpy(np.ascontiguousarray(positions)))
    matrix = mass_matrix(robot, q)
    batch = values.shape[1]
    return torch.stack(
        [
            torch.stack([torch.as_tensor(e, dtype=torch.float64).expand(batch) for e in row], -1)
            for row in matrix
        ],
        -2,
    ).numpy()
