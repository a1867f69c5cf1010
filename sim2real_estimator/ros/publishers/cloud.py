"""
Tables of numbers as PointCloud2, bit for bit: its fields are columns, its points are rows.

The one standard message that carries any number of named columns. `sensor_msgs_py`, which reads
such messages too, is not among the ROS wheels.
"""

from array import array
import math

import numpy as np

from ...errors import DataError
from ...messages import maker
from .stamps import header

PointCloud2 = maker('sensor_msgs/msg/PointCloud2')
PointField = maker('sensor_msgs/msg/PointField')
# Types of the fields, in the order of the format's constants, which begin at 1.
_TYPES = ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'f4', 'f8')


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
