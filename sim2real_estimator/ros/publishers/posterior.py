"""The topic `~/posterior`: the whole mixture, in the estimator's coordinates, lossless."""

from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ...estimation.mixture import Mixture
from .cloud import cloud_message, read_cloud
from .stamps import stamp_ns_of

_WEIGHT, _MEAN, _COVARIANCE = 'weight', 'mean/', 'cov/'


@dataclass(frozen=True)
class PosteriorReading:
    """
    The posterior at one instant.

    stamp_ns: of the newest datum; labels: of the coordinates, such as 'log(elbow.damping)';
    weights [K]; means [p, K]; covariances [K, p, p].
    """

    stamp_ns: int
    labels: tuple
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def mixture(self):
        """Return the `Mixture` of the coordinates, to draw from and to take moments of."""
        sizes, axes = np.linalg.eigh(self.covariances)
        roots = axes * np.sqrt(np.maximum(sizes, 0.0))[:, None]
        nothing = np.zeros((0, len(self.weights)))
        with np.errstate(divide='ignore'):
            return Mixture(np.log(self.weights), nothing, self.means, roots)


def posterior_message(mixture, labels, stamp_ns):
    """
    Return a mixture as PointCloud2: a point per component.

    Fields, all FLOAT64: `weight`; `mean/<label>`; `cov/<label>`, the row of the covariance, one
    number per coordinate in the order of the `mean` fields.
    """
    columns = {_WEIGHT: mixture.weights}
    columns |= {f'{_MEAN}{label}': row for label, row in zip(labels, mixture.means)}
    rows = np.moveaxis(mixture.parameter_covariances(), 1, 0)
    columns |= {f'{_COVARIANCE}{label}': row for label, row in zip(labels, rows)}
    return cloud_message(columns, stamp_ns)


def read_posterior(message):
    """Return the `PosteriorReading` of a message; a DataError where it is another's."""
    columns = read_cloud(message)
    labels = tuple(name[len(_MEAN) :] for name in columns if name.startswith(_MEAN))
    wanted = {_WEIGHT, *(f'{part}{label}' for part in (_MEAN, _COVARIANCE) for label in labels)}
    rows = [values for name, values in columns.items() if name.startswith(_COVARIANCE)]
    size, count = len(labels), message.width * message.height
    if not labels or set(columns) != wanted or any(row.size != count * size for row in rows):
        raise DataError(
            f'there are the fields {", ".join(columns) or "of no name"}, which are not those of '
            'a posterior; listen to ~/posterior'
        )
    return PosteriorReading(
        stamp_ns_of(message),
        labels,
        columns[_WEIGHT],
        np.stack([columns[f'{_MEAN}{label}'] for label in labels]),
        np.stack([columns[f'{_COVARIANCE}{label}'].reshape(count, size) for label in labels], 1),
    )
