"""The mixture in the space of three parameters, as in figure 2 of the paper."""

from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from ...errors import ConfigError
from .marker_shapes import ball, line, plain, principal, segments, text

_KERNELS, _MEANS, _TRAIL, _BOX, _NAMES = (
    'kernels',
    'kernel means',
    'trail of the mean',
    'parameter space',
    'parameter names',
)
# Dimensions of the box.
AXES = 3
_BLUE, _WHITE = (0.0, 0.45, 0.7), (0.9, 0.9, 0.9)
# The box shows the prior this many standard deviations to either side.
_PRIOR_SIGMAS = 3.0
_KERNEL_SIGMAS = 2.0
# Components of less weight are left out.
_NOTABLE = 1e-3
# In parts of the robot's size: half a side of the box, where it stands, letters, lines, dots.
_HALF, _ASIDE, _HEIGHT, _WIDTH, _DOT = 0.35, (0.0, 1.0, 0.2), 0.04, 0.003, 0.012


@dataclass(frozen=True)
class Kernels:
    """
    A mixture in three coordinates: marginals, and what was known before.

    labels; weights [K]; means [3, K]; covariances [K, 3, 3]; prior_mean, prior_sd [3]; trail
    [T, 3]: earlier means of the whole mixture, the oldest first.
    """

    labels: tuple
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    prior_mean: np.ndarray
    prior_sd: np.ndarray
    trail: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    @staticmethod
    def of(mixture, labels, prior, chosen, trail=()):
        """
        Return the marginals of a mixture in the coordinates that `chosen` names, three.

        labels: of all coordinates; prior: their `Gaussian`; trail: earlier means [p] of all.
        """
        require_axes(labels, chosen)
        rows = [labels.index(label) for label in chosen]
        return Kernels(
            tuple(chosen),
            mixture.weights,
            mixture.means[rows],
            mixture.parameter_covariances()[:, rows][:, :, rows],
            prior.mean[rows],
            np.linalg.norm(prior.root[rows], axis=1),
            np.array(trail)[:, rows] if len(trail) else np.zeros((0, 3)),
        )


def require_axes(labels, chosen):
    """Raise a ConfigError where `chosen` are not three of the labels; nothing chosen is fine."""
    for label in chosen:
        if label not in labels:
            raise ConfigError(
                f"markers: there is no coordinate '{label}' to show; choose three of "
                f'{", ".join(labels)}'
            )
    if chosen and (len(chosen) != AXES or len(set(chosen)) != AXES):
        raise ConfigError(
            f'markers: {len(set(chosen))} different coordinates cannot be axes; choose three '
            f'of {", ".join(labels)}'
        )


def kernel_markers(view):
    """Return the markers of the mixture; none where the view has no kernels."""
    if view.kernels is None:
        return []
    space = _Space(view)
    return [*_box(space), *_components(space, view.kernels), *_trail(space, view.kernels)]


class _Space:
    """The map from coordinates to places in the box."""

    def __init__(self, view):
        """Take the `View`."""
        kernels = view.kernels
        self.frame, self.size, self.labels = view.parameters.model.base, view.size, kernels.labels
        self._centre = view.size * np.array(_ASIDE)
        self._prior_mean = kernels.prior_mean
        self._scale = _HALF * view.size / (_PRIOR_SIGMAS * kernels.prior_sd)

    def point(self, values):
        """Return where coordinates [3] are in the base frame [m]."""
        return self._centre + self._scale * (values - self._prior_mean)

    def corner(self, signs):
        """Return a corner of the box, or the middle of a side [m]."""
        return self._centre + _HALF * self.size * np.asarray(signs, dtype=float)

    def covariance(self, matrix):
        """Return a covariance [3, 3] of coordinates as one of places [m^2]."""
        return matrix * np.outer(self._scale, self._scale)


def _box(space):
    """Return the edges and the names of the axes."""
    corners = list(product((-1, 1), repeat=3))
    edges = [
        space.corner(end)
        for pair in combinations(corners, 2)
        if sum(a != b for a, b in zip(*pair)) == 1
        for end in pair
    ]
    markers = [
        segments(_BOX, 0, space.frame, edges, _WIDTH * space.size, plain(_WHITE, 0.3)),
    ]
    # At the middle of three edges that meet in no corner.
    places = ((0, -1, -1), (1, 0, -1), (1, 1, 0))
    for number, (label, place) in enumerate(zip(space.labels, places)):
        at = space.corner(1.12 * np.array(place))
        height = _HEIGHT * space.size
        markers.append(text(_NAMES, number, space.frame, at, height, label, plain(_WHITE)))
    return markers


def _components(space, kernels):
    """Return an ellipsoid of two standard deviations per component, and its mean."""
    markers = []
    for number in np.flatnonzero(kernels.weights > _NOTABLE):
        centre = space.point(kernels.means[:, number])
        axes, variances = principal(space.covariance(kernels.covariances[number]))
        radii = _KERNEL_SIGMAS * np.sqrt(variances)
        weight = float(kernels.weights[number])
        dot = [_DOT * space.size] * 3
        color, opaque = plain(_BLUE, 0.15 + 0.45 * weight), plain(_BLUE, 0.3 + 0.7 * weight)
        number = int(number)
        markers += [
            ball(_KERNELS, number, space.frame, centre, axes, radii, color),
            ball(_MEANS, number, space.frame, centre, np.eye(3), dot, opaque),
        ]
    return markers


def _trail(space, kernels):
    """Return a line along the earlier means."""
    if len(kernels.trail) < 2:
        return []
    points = [space.point(values) for values in kernels.trail]
    return [line(_TRAIL, 0, space.frame, points, _WIDTH * space.size, plain(_BLUE, 0.8))]
