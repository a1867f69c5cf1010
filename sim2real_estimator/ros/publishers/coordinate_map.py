"""The topic `~/coordinates`: the map from coordinates of `~/posterior` to parameters."""

from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ...model.body_numbers import about_frames, at_centres, NO_MASS
from ...model.parameters import AXES, INERTIA_NAMES
from ...model.softplus import inverse_softplus, softplus
from .diagnostics import status, status_array, values_of

_COORDINATE, _PARAMETER = 'coordinate ', 'parameter '
_SLOPE = 'slope by '
# Sign of the values whose logarithm is taken; 0: they are taken as they are.
_TRANSFORMS = {'none': 0.0, 'log(x)': 1.0, 'log(-x)': -1.0}
# Of values s log(1 + exp(z / s)), which are above zero; s comes as another value.
_SOFT, _SOFTNESS = 'softplus', 'softness'
# Of the numbers of bodies in which torques are linear.
_FIRST_MOMENT, _FRAME_INERTIA = 'mass*com', 'inertia about the frame'
# Largest logarithm, as in the estimator: far out, but never infinite.
_LARGEST_LOG = 500.0


@dataclass(frozen=True)
class CoordinateMap:
    """
    The map between the coordinates x [p] of a posterior and physical parameters [P].

    z = reference + slopes x, and a parameter is z, exp(z), -exp(z) or s log(1 + exp(z / s)). Back
    again x = combinations (z - reference). Of bodies all of whose numbers are unknown z are mass,
    mass times centre of mass, and the inertia about the frame of the link.

    labels [p]: of the coordinates; names, units [P]: of the parameters; signs [P]: 1 or -1 where
    z is a logarithm, else 0; softness [P]: s where it is a softplus, else 0; reference [P]; slopes
    [P, p]; combinations [p, P]; prior_mean, prior_sd [P]: of z, before any data; bodies [L, 10]:
    the rows of such bodies.
    """

    labels: tuple
    names: tuple
    units: tuple
    signs: np.ndarray
    softness: np.ndarray
    reference: np.ndarray
    slopes: np.ndarray
    combinations: np.ndarray
    prior_mean: np.ndarray
    prior_sd: np.ndarray
    bodies: np.ndarray

    def to_named(self, coordinates):
        """
        Return the values [P, N] of the parameters for coordinates [p, N].

        Where data cannot tell parameters apart, those that agree with the prior the most: the
        topic `~/samples` has draws that vary in all that is not known.
        """
        values = self.reference[:, None] + self.slopes @ coordinates
        log = self.signs != 0
        size = np.exp(np.clip(values[log], -_LARGEST_LOG, _LARGEST_LOG))
        values[log] = self.signs[log, None] * size
        soft = self.softness > 0
        values[soft] = softplus(values[soft], self.softness[soft, None])
        return at_centres(values, self.bodies, NO_MASS * self.prior_mean[self.bodies[:, 0]])

    def to_coordinates(self, values):
        """
        Return the coordinates [p, N] of values [P, N]; those of a wrong sign give NaN.

        With them the posterior's density can be asked at any physical parameters.
        """
        transformed = np.array(values, dtype=float)
        log = self.signs != 0
        with np.errstate(invalid='ignore', divide='ignore'):
            transformed[log] = np.log(self.signs[log, None] * transformed[log])
            soft = self.softness > 0
            transformed[soft] = inverse_softplus(transformed[soft], self.softness[soft, None])
        transformed = about_frames(transformed, self.bodies)
        return self.combinations @ (transformed - self.reference[:, None])


def map_of(parametrization, units):
    """
    Return the `CoordinateMap` of a problem's parametrization.

    units: of the parameters, in the order of the parametrization's names.
    """
    reference = parametrization.embed(np.zeros((len(parametrization.labels), 1)))[:, 0]
    return CoordinateMap(
        tuple(parametrization.labels),
        tuple(parametrization.names),
        tuple(units),
        parametrization.inner.apart.signs,
        parametrization.inner.apart.softness,
        reference,
        parametrization.basis,
        parametrization.combinations,
        parametrization.inner.prior.mean,
        parametrization.inner.deviations,
        parametrization.inner.rows,
    )


def coordinates_message(mapping, stamp_ns):
    """
    Return a `CoordinateMap` as DiagnosticArray, readable and lossless.

    A status `coordinate <label>` each, whose values are its combination of z by parameter; then a
    status `parameter <name>` each. Entries that are not given are zero.
    """
    statuses = [
        status(f'{_COORDINATE}{label}', _sparse('', mapping.names, row))
        for label, row in zip(mapping.labels, mapping.combinations)
    ]
    words = {sign: word for word, sign in _TRANSFORMS.items()}
    transforms = [words[sign] for sign in mapping.signs]
    for k in np.flatnonzero(mapping.softness):
        transforms[k] = _SOFT
    for body in mapping.bodies:
        for places, word in ((body[1:4], _FIRST_MOMENT), (body[4:], _FRAME_INERTIA)):
            for k in places:
                transforms[k] = word
    for k, name in enumerate(mapping.names):
        values = {
            'transform': transforms[k],
            **({_SOFTNESS: mapping.softness[k]} if mapping.softness[k] else {}),
            'unit': mapping.units[k],
            'prior mean': mapping.prior_mean[k],
            'prior sd': mapping.prior_sd[k],
            'reference': mapping.reference[k],
            **_sparse(_SLOPE, mapping.labels, mapping.slopes[k]),
        }
        statuses.append(status(f'{_PARAMETER}{name}', values))
    return status_array(statuses, stamp_ns)


def read_coordinates(message):
    """Return the `CoordinateMap` of a message; a DataError where it is another's."""
    groups = {_COORDINATE: {}, _PARAMETER: {}}
    for each in message.status:
        word, _, name = each.name.partition(' ')
        if f'{word} ' not in groups:
            raise DataError(
                f"there is a status '{each.name}', which is of no coordinate; listen to "
                '~/coordinates'
            )
        groups[f'{word} '][name] = values_of(each)
    coordinates, parameters = groups.values()
    labels, names = tuple(coordinates), tuple(parameters)

    def column(key):
        return np.array([float(values[key]) for values in parameters.values()])

    return CoordinateMap(
        labels,
        names,
        tuple(values['unit'] for values in parameters.values()),
        np.array([_TRANSFORMS.get(values['transform'], 0.0) for values in parameters.values()]),
        np.array([float(values.get(_SOFTNESS, 0.0)) for values in parameters.values()]),
        column('reference'),
        _dense(labels, _SLOPE, parameters.values()),
        _dense(names, '', coordinates.values()),
        column('prior mean'),
        column('prior sd'),
        _bodies(parameters),
    )


def _bodies(parameters):
    """Return the rows [L, 10] of bodies of which mass times centre of mass are coordinates."""
    names, found = list(parameters), []
    for name, values in parameters.items():
        link, _, entry = name.rpartition('.com.')
        if values['transform'] == _FIRST_MOMENT and entry == AXES[0]:
            ten = (f'{link}.mass', *(f'{link}.com.{axis}' for axis in AXES))
            ten += tuple(f'{link}.inertia.{entry}' for entry in INERTIA_NAMES)
            found.append([names.index(each) for each in ten])
    return np.array(found, dtype=int).reshape(-1, 10)


def _sparse(prefix, names, row):
    """Return the entries of a row that are not zero, by name."""
    return {f'{prefix}{name}': value for name, value in zip(names, row) if value}


def _dense(names, prefix, rows):
    """Return the matrix whose rows are what `_sparse` made."""
    return np.array([[float(row.get(f'{prefix}{name}', 0)) for name in names] for row in rows])
