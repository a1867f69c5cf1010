"""
The topics `~/posterior` and `~/samples` as PointCloud2: fields are columns, points are rows.

PointCloud2 is the one standard message that carries any number of named columns, and it keeps
every bit. `sensor_msgs_py`, which reads such messages too, is not among the ROS wheels.
"""

from array import array
from dataclasses import dataclass
import math

import numpy as np

from ...errors import DataError
from ...estimation.mixture import Mixture
from ...messages import maker
from .stamps import header, stamp_ns_of

PointCloud2 = maker('sensor_msgs/msg/PointCloud2')
PointField = maker('sensor_msgs/msg/PointField')
# Types of the fields, in the order of the format's constants, which begin at 1.
_TYPES = ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'f4', 'f8')
_WEIGHT, _MEAN, _COVARIANCE = 'weight', 'mean/', 'cov/'


def cloud_message(columns, stamp_ns):
    """
    Return a PointCloud2 of FLOAT64 fields.

    columns: name -> values, [N] for a field of one number or [N, c] for one of c.
    """
    columns = {name: np.asarray(values, dtype='<f8') for name, values in columns.items()}
    table = np.empty(
        len(next(iter(columns.values()))),
        [(name, '<f8', values.shape[1:]) for name, values in columns.items()],
    )
    for name, values in columns.items():
        table[name] = values
    fields = [
        PointField(
            name=name,
            offset=table.dtype.fields[name][1],
            datatype=PointField.FLOAT64,
            count=math.prod(values.shape[1:]),
        )
        for name, values in columns.items()
    ]
    return PointCloud2(
        header=header(stamp_ns),
        height=1,
        width=len(table),
        fields=fields,
        is_bigendian=False,
        point_step=table.dtype.itemsize,
        row_step=table.nbytes,
        data=array('B', table.tobytes()),
        is_dense=bool(all(np.isfinite(values).all() for values in columns.values())),
    )


def read_cloud(message):
    """
    Return name -> values of a PointCloud2, [N] or [N, c], rows one after the other.

    A DataError where it contradicts itself.
    """
    layout = _layout(message)
    rows = message.width * message.height
    if len(message.data) != rows * message.point_step:
        raise DataError(
            f'a cloud of {rows} points of {message.point_step} bytes has {len(message.data)} '
            'bytes; listen to a topic of this package'
        )
    table = np.frombuffer(message.data, layout, rows)
    return {name: table[name].copy() for name in layout.names}


def _layout(message):
    """Return the dtype of a point."""
    order = '>' if message.is_bigendian else '<'
    for field in message.fields:
        if not 1 <= field.datatype <= len(_TYPES):
            raise DataError(
                f"field '{field.name}' has the unknown type {field.datatype}; listen to a topic "
                'of this package'
            )
    shapes = [(field.count,) if field.count > 1 else () for field in message.fields]
    types = [order + _TYPES[field.datatype - 1] for field in message.fields]
    description = {
        'names': [field.name for field in message.fields],
        'formats': [*zip(types, shapes)],
        'offsets': [field.offset for field in message.fields],
        'itemsize': message.point_step,
    }
    try:
        return np.dtype(description)
    except ValueError as error:
        raise DataError(
            f'the fields do not fit into points of {message.point_step} bytes ({error}); listen '
            'to a topic of this package'
        ) from error


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


def samples_message(names, values, stamp_ns):
    """Return draws [P, N] of parameters as PointCloud2: a FLOAT64 field each, a point per draw."""
    return cloud_message(dict(zip(names, values)), stamp_ns)


def read_samples(message):
    """Return name -> draws [N] of a message; entries of the same index belong together."""
    return read_cloud(message)
