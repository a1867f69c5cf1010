"""The components of the mixture in the plane of two parameters, beside the robot."""

from dataclasses import dataclass, field

import numpy as np

from ...errors import ConfigError
from ...observability.null_space import tangents_of
from .marker_shapes import ball, line, plain, principal, text

_KERNELS, _MEANS, _TRAIL, _PLANE, _PRIOR, _NAMES = (
    'kernels',
    'kernel means',
    'trail of the mean',
    'parameter plane',
    'prior',
    'parameter names',
)
# Parameters that span the plane.
AXES = 2
_BLUE, _WHITE = (0.0, 0.45, 0.7), (0.95, 0.95, 0.95)
# The plane shows the prior this many standard deviations to either side.
_PRIOR_SIGMAS = 3.0
_KERNEL_SIGMAS = 2.0
# Components of less weight are left out.
_NOTABLE = 1e-3
# In parts of the robot's size: half a side of the plane, where its middle is, how thick kernels
# are, lines, dots, and letters of names and of numbers.
_HALF, _ASIDE, _FLAT = 0.4, (0.0, 1.35, 0.2), 0.002
_WIDTH, _DOT, _NAME, _NUMBER = 0.003, 0.02, 0.065, 0.05
# Points of an ellipse that is drawn as a line.
_ROUND = 48


@dataclass(frozen=True)
class Kernels:
    """
    A mixture in two parameters: marginals, and what was known before.

    names, units: of both; weights [K]; means [2, K]; covariances [K, 2, 2], linearized at the
    means; prior_mean, prior_sd [2]; trail [T, 2]: earlier means of the whole mixture, the oldest
    first. All in units of the parameters.
    """

    names: tuple
    units: tuple
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    prior_mean: np.ndarray
    prior_sd: np.ndarray
    trail: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    @staticmethod
    def of(problem, mixture, chosen, trail=(), tangents=None):
        """
        Return the marginals of a mixture, in a problem's coordinates, in two parameters.

        chosen: their names; trail: earlier means [p] of all coordinates; tangents: `Tangents` near
        the mixture, if there are any.
        """
        parametrization = problem.parametrization
        require_axes(parametrization.names, chosen)
        rows = [parametrization.names.index(name) for name in chosen]
        inner, tangents = parametrization.inner, tangents_of(parametrization, mixture, tangents)
        weights, means, covariances = tangents.components(mixture)
        values, slopes = inner.along(means, np.eye(len(means)))
        slopes = slopes[:, rows]
        earlier = np.zeros((0, 2))
        if len(trail):
            earlier = inner.to_named(tangents.follow(np.array(trail).T))[rows].T
        priors = [parametrization.priors[name] for name in chosen]
        return Kernels(
            tuple(chosen),
            tuple(problem.parameters.unit(name) for name in chosen),
            weights,
            values[rows],
            slopes @ covariances @ slopes.swapaxes(1, 2),
            np.array([prior.mean for prior in priors]),
            np.array([p.sd * abs(p.mean) if p.is_log else p.sd for p in priors]),
            earlier,
        )


def require_axes(names, chosen):
    """Raise a ConfigError where `chosen` are not two of the names; nothing chosen is fine."""
    for name in chosen:
        if name not in names:
            raise ConfigError(
                f"markers: there is no parameter '{name}' to show; choose two of "
                f'{", ".join(names)}'
            )
    if chosen and (len(chosen) != AXES or len(set(chosen)) != AXES):
        raise ConfigError(
            f'markers: {len(set(chosen))} different parameters cannot be the axes of a plane; '
            f'choose two of {", ".join(names)}'
        )


def kernel_markers(view):
    """Return the markers of the mixture; none where the view has no kernels."""
    if view.kernels is None:
        return []
    plane = _Plane(view)
    return [*_frame(plane), *_components(plane, view.kernels), *_trail(plane, view.kernels)]


class _Plane:
    """The map from two parameters to places: the first along y, the second along z of the base."""

    def __init__(self, view):
        """Take the `View`."""
        self.kernels, self.size = view.kernels, view.size
        self.frame = view.parameters.model.base
        self._centre = view.size * np.array(_ASIDE)
        self._scale = _HALF * view.size / (_PRIOR_SIGMAS * self.kernels.prior_sd)

    def point(self, values):
        """Return where two parameters are in the base frame [m]."""
        y, z = self._scale * (values - self.kernels.prior_mean)
        return self._centre + (0.0, y, z)

    def at(self, right, up, letters=0.0):
        """Return a place by parts of half a side, and letters of names further up [m]."""
        half = _HALF * self.size
        return self._centre + (0.0, half * right, half * up + letters * _NAME * self.size)

    def covariance(self, matrix):
        """Return a covariance [2, 2] of parameters as one of places [m^2]."""
        return matrix * np.outer(self._scale, self._scale)


def _frame(plane):
    """Return the edges of the plane, the prior, and names and ends of the axes."""
    size, kernels = plane.size, plane.kernels
    corners = [plane.at(*corner) for corner in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
    width, faint = _WIDTH * size, plain(_WHITE, 0.4)
    markers = [line(_PLANE, 0, plane.frame, corners, width, faint)]
    angles = np.linspace(0, 2 * np.pi, _ROUND + 1)
    for number, sigmas in enumerate((1.0, 2.0)):
        part = sigmas / _PRIOR_SIGMAS
        ring = [plane.at(part * np.cos(angle), part * np.sin(angle)) for angle in angles]
        markers.append(line(_PRIOR, number, plane.frame, ring, width, faint))
    titles = [f'{name} [{unit}]' for name, unit in zip(kernels.names, kernels.units)]
    low = kernels.prior_mean - _PRIOR_SIGMAS * kernels.prior_sd
    high = kernels.prior_mean + _PRIOR_SIGMAS * kernels.prior_sd
    written = (
        (titles[0], plane.at(0, -1, -2.2), _NAME),
        (titles[1], plane.at(0, 1, 1.0), _NAME),
        (f'{low[0]:.3g}', plane.at(-0.85, -1, -0.8), _NUMBER),
        (f'{high[0]:.3g}', plane.at(0.85, -1, -0.8), _NUMBER),
        (f'{low[1]:.3g}', plane.at(-1.2, -0.95), _NUMBER),
        (f'{high[1]:.3g}', plane.at(-1.2, 0.95), _NUMBER),
    )
    for number, (words, place, height) in enumerate(written):
        color = plain(_WHITE)
        markers.append(text(_NAMES, number, plane.frame, place, height * size, words, color))
    return markers


def _components(plane, kernels):
    """Return a flat ellipse of two standard deviations per component, and its mean."""
    markers = []
    for number in np.flatnonzero(kernels.weights > _NOTABLE):
        centre = plane.point(kernels.means[:, number])
        flat, variances = principal(plane.covariance(kernels.covariances[number]))
        axes = np.eye(3)
        axes[1:, 1:] = flat
        radii = (_FLAT * plane.size, *(_KERNEL_SIGMAS * np.sqrt(variances)))
        weight = float(kernels.weights[number])
        dot = [_DOT * plane.size / 2] * 3
        color, opaque = plain(_BLUE, 0.25 + 0.45 * weight), plain(_BLUE, 0.4 + 0.6 * weight)
        number = int(number)
        markers += [
            ball(_KERNELS, number, plane.frame, centre, axes, radii, color),
            ball(_MEANS, number, plane.frame, centre, np.eye(3), dot, opaque),
        ]
    return markers


def _trail(plane, kernels):
    """Return a line along the earlier means."""
    if len(kernels.trail) < 2:
        return []
    points = [plane.point(values) for values in kernels.trail]
    return [line(_TRAIL, 0, plane.frame, points, _WIDTH * plane.size, plain(_BLUE, 0.8))]
