"""A parametrization in which the torques of a robot are linear: standard inertial parameters."""

import numpy as np

from ..estimation.protocol import Gaussian
from ..model.body_numbers import about_frames, at_centres, centred, NO_MASS
from ..model.friction import FRICTIONS
from ..model.parameters import AXES
from .body_priors import BodyPrior, drawn
from .parametrization import DirectParametrization, own_size, Prior

# A log-normal prior wider than this is kept: a normal one so wide is often below zero.
_WIDEST = 0.5
# Bodies with less than this part of the expected mass are not simulated.
_LEAST_MASS = 0.05
# Derivatives of the inertia xx, yy, zz, xy, xz, yz about the centre of mass by first moments are
# this times the centre: for every axis of the centre a row of [6, 3].
_BY_MOMENTS = np.array(
    [
        [[0, 0, 0], [-2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]],
        [[0, -2, 0], [0, 0, 0], [0, -2, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]],
        [[0, 0, -2], [0, 0, -2], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
    ],
    dtype=float,
).reshape(3, 18)


def linear_parametrization(direct, parameters, bodies=None):
    """
    Return the `LinearParametrization` of the parameters of a `DirectParametrization`.

    None unless all ten inertial parameters of some link are unknown, with priors that are not very
    wide. bodies: link -> joint prior of these ten, where they have one.
    """
    links = {}
    for link in parameters.model.links:
        names = parameters.inertial_names(link.name)
        if all(name in direct.priors and _is_narrow(direct.priors[name]) for name in names):
            links[link.name] = names
    are_checked = not parameters.model.accepts_infeasible_inertia
    return LinearParametrization(direct, links, are_checked, bodies) if links else None


class LinearParametrization:
    """
    Standard inertial parameters of bodies (Atkeson, An and Hollerbach), and friction by value.

    Bodies have mass, first moments and inertia about the frames of their links. Torques are linear
    in these coordinates: the posterior is normal however little is known, and observationally
    equivalent parameters lie on straight lines. Other parameters are as in the
    `DirectParametrization`, and so are all attributes except: prior, normal with the moments that
    the priors of single parameters imply; apart, the `DirectParametrization` with a coordinate for
    every parameter, without logarithms of linear ones; rows [L, 10], the coordinates of bodies.
    """

    responses, is_straight = None, True

    def __init__(self, direct, links, are_checked=True, bodies=None):
        """
        Take the parameters.

        direct: their `DirectParametrization`; links: name -> names of its ten inertial parameters;
        are_checked: whether bodies have to be physically feasible; bodies: link -> joint prior of
        these ten, where they have one.
        """
        self.names, self.priors, self.fixed = direct.names, direct.priors, direct.fixed
        self._straight = direct.straight
        self.links, self._are_checked, self._given = links, are_checked, bodies or {}
        rows = {name: row for row, name in enumerate(self.names)}
        self.rows = np.array([[rows[name] for name in ten] for ten in links.values()])
        self._bodies = [
            self._given.get(link) or BodyPrior([self.priors[n] for n in ten], are_checked)
            for link, ten in links.items()
        ]
        self.apart = DirectParametrization(self._priors_apart(), self.fixed)
        mean, root = self.apart.prior.mean.copy(), self.apart.prior.root.copy()
        labels = list(self.apart.labels)
        for link, ten, body in zip(links, self.rows, self._bodies):
            mean[ten], root[np.ix_(ten, ten)] = body.mean, body.root
            for row, label in zip(ten, _labels(link, links[link])):
                labels[row] = label
        self.prior, self.labels = Gaussian(mean, root), tuple(labels)
        masses = mean[self.rows[:, 0]]
        self._least, self.least_masses = NO_MASS * masses, _LEAST_MASS * masses
        self.basis = self.combinations = np.eye(len(mean))
        by_itself = np.linalg.inv(self.separation(mean[:, None])[0])
        self.relative_root = by_itself * [
            own_size(prior, self.apart.priors[name]) for name, prior in self.priors.items()
        ]

    def _priors_apart(self):
        """Return name -> `Prior`, normal for parameters that torques are linear in."""
        found, linear = {}, (*FRICTIONS, 'armature', 'stiffness')
        for name, prior in self.priors.items():
            is_linear = name.rpartition('.')[2] in linear or '.inertia.' in name
            is_straight = name in self._straight or is_linear and _is_narrow(prior)
            found[name] = prior.linear() if is_straight else prior
        for ten, body in zip(self.links.values(), self._bodies):
            for name, mean, sd in zip(ten, body.means, body.deviations):
                found[name] = Prior(float(mean), float(sd), False, self.priors[name].limits)
        return found

    @property
    def inner(self):
        """This parametrization."""
        return self

    @property
    def deviations(self):
        """The prior standard deviations [P] of the coordinates."""
        return np.sqrt(np.diag(self.prior.covariance))

    def with_more(self, priors):
        """Return the parametrization of these parameters, followed by others."""
        direct = DirectParametrization({**self.priors, **priors}, self.fixed, self._straight)
        return LinearParametrization(direct, self.links, self._are_checked, self._given)

    def embed(self, coordinates):
        """Return the coordinates [P, B] of the inner parametrization."""
        return coordinates

    def to_named(self, coordinates):
        """Return the parameter values [P, B] of coordinates [P, B]."""
        return self.apart.to_named(self.separated(coordinates))

    def from_named(self, values):
        """Return the coordinates [P, B] of values [P, B]; NaN for values out of range."""
        return about_frames(self.apart.from_named(values), self.rows)

    def slope(self, coordinates):
        """Return the derivative of the values by the coordinates, [B, P, P]."""
        return self.expanded(coordinates)[1]

    def expanded(self, coordinates):
        """Return the values [P, B] and their derivative by the coordinates, [B, P, P]."""
        return self.along(coordinates, self.basis)

    def along(self, coordinates, directions):
        """Return the values [P, B] and their derivative along directions [P, d], [B, P, d]."""
        separated, slopes = self._separated_along(coordinates, directions)
        values, rates = self.apart.values_and_rates(separated)
        if self.apart.has_logs:
            slopes *= rates.T[..., None]
        return values, slopes

    def separated(self, coordinates):
        """Return the coordinates [P, B] of the parametrization `apart`."""
        return at_centres(coordinates, self.rows, self._least)

    def separation(self, coordinates):
        """Return the derivative [B, P, P] of what `separated` returns by the coordinates."""
        return self._separated_along(np.asarray(coordinates, dtype=float), self.basis)[1]

    def _separated_along(self, coordinates, directions):
        """Return `separated` coordinates and the derivative [B, P, d] along directions [P, d]."""
        values, result = coordinates.copy(), np.repeat(directions[None], coordinates.shape[1], 0)
        bodies = centred(coordinates[self.rows].transpose(2, 0, 1), self._least)
        values[self.rows] = bodies.transpose(1, 2, 0)
        result[:, self.rows] = _slopes_at_centre(bodies) @ directions[self.rows]
        return values, result

    def are_sound(self, coordinates):
        """Return which of coordinates [P, B] can be simulated, [B]: bodies have some mass."""
        return (coordinates[self.rows[:, 0]] > self.least_masses[:, None]).all(0)

    def offsets(self, count, generator):
        """Return draws [P, count] of the priors of single parameters, less the prior mean."""
        noise = generator.standard_normal((len(self.names), count))
        mean = self.prior.mean[:, None]
        result = self.apart.prior.root @ noise
        for row, name in enumerate(self.names):
            if self.priors[name].is_log and not self.apart.priors[name].is_log:
                result[row] = drawn(self.priors[name], noise[row]) - mean[row]
        for ten, body in zip(self.rows, self._bodies):
            result[ten] = body.draw(count, generator).T - mean[ten]
        return result

    def whitened(self, coordinates):
        """Return whitened coordinates [B, P]: S^-1 (x - mean), S the root of the prior."""
        return np.linalg.solve(self.prior.root, coordinates - self.prior.mean[:, None]).T

    def unwhitened(self, points):
        """Return the coordinates [P, B] of whitened ones [B, P]."""
        return self.prior.mean[:, None] + self.prior.root @ points.T

    def by_whitened(self, slopes):
        """Return derivatives [..., P] by whitened coordinates from those by coordinates."""
        return slopes @ self.prior.root

    def chained(self, slopes, scale, coordinates):
        """
        Return derivatives [B, k, S, P] by coordinates [P, B] from those by values.

        slopes [B, k, S, P]; scale [k, 1, 1]: divides them.
        """
        return slopes @ self.slope(coordinates)[:, None] / scale


def _is_narrow(prior):
    return not prior.is_log or prior.sd <= _WIDEST


def _labels(link, names):
    """Return the labels of the ten coordinates of a body."""
    moments = [f'{link}.mass*com.{axis}' for axis in AXES]
    entries = [name.rpartition('.')[2] for name in names[4:]]
    return (names[0], *moments, *(f'{link}.frame_inertia.{entry}' for entry in entries))


def _slopes_at_centre(bodies):
    """Return the derivatives [B, L, 10, 10] of bodies about centres by bodies about frames."""
    inverse, centre = 1 / bodies[..., :1], bodies[..., 1:4]
    by_moments = (centre @ _BY_MOMENTS).reshape(*centre.shape[:-1], 6, 3)
    result = np.empty((*bodies.shape, bodies.shape[-1]))
    result[:] = np.eye(bodies.shape[-1])
    result[..., 1:4, 1:4] *= inverse[..., None]
    result[..., 4:, 1:4] = by_moments
    result[..., 1:4, 0] = -centre * inverse
    result[..., 4:, 0] = (by_moments @ centre[..., None])[..., 0] / -2
    return result
