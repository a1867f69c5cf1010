"""A table becomes a bag."""

from dataclasses import replace
from pathlib import Path
import shutil

import numpy as np

from ...bags.writer import BagWriter
from ...config import load_config
from ...messages import serialized, TypestoreMaker
from .columns import Columns
from .streams import streams_of
from .table import Table

_SECOND = 10**9
_JOINT_STATE = 'sensor_msgs/msg/JointState'
_POSE, _POINT = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PointStamped'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'
# Whose frame it is, the estimator's config says.
_WITHOUT_FRAME = (_JOINT_STATE, _WRENCH)


def convert(
    table, columns, output, storage='mcap', is_trusting=False, rows=slice(None), start=None
):
    """
    Write a table as a recording; return topic -> number of its messages.

    table: path of a .csv or .npz file; columns: path of the YAML file that says which column is
    what; output: folder, which must not exist; is_trusting: whether units that look wrong are
    right; rows: a slice of those that count; start: the time at which the table's clock is zero
    [s since 1970], instead of that of the columns. Where an error is raised, there is no folder.
    """
    columns = load_config(columns, Columns)
    columns = columns if start is None else replace(columns, start=start)
    streams = streams_of(Table(table, rows), columns, is_trusting)
    messages = [_Messages(stream) for stream in streams]
    stamps = np.concatenate([stream.stamps for stream in streams])
    whose = np.repeat(np.arange(len(streams)), [len(stream.stamps) for stream in streams])
    rows = np.concatenate([np.arange(len(stream.stamps)) for stream in streams])
    counts = {each.topic: 0 for each in messages}
    with BagWriter(output, storage) as bag:
        try:
            for each in messages:
                bag.add(each.topic, each.message_type)
            # Of equal times in the order of the topics.
            for place in np.argsort(stamps, kind='stable'):
                source = messages[whose[place]]
                content = source.content(rows[place])
                if content is not None:
                    bag.write(source.topic, source.message_type, int(stamps[place]), content)
                    counts[source.topic] += 1
        except BaseException:
            shutil.rmtree(Path(output))
            raise
    return counts


class _Messages:
    """Makes the messages of a `Stream`."""

    def __init__(self, stream):
        self._stream, self.topic = stream, f'/{stream.topic.lstrip("/")}'
        if stream.joints:
            self.message_type, self._fill = _JOINT_STATE, self._joints
        elif stream.wrench is not None:
            self.message_type, self._fill = _WRENCH, self._push
        elif stream.quaternion is not None:
            self.message_type, self._fill = _POSE, self._pose
        else:
            self.message_type, self._fill = _POINT, self._point
        self._make = TypestoreMaker(self.message_type)
        kinds = 'Point', 'Quaternion', 'Pose', 'Vector3', 'Wrench'
        self._parts = {kind: TypestoreMaker(f'geometry_msgs/msg/{kind}') for kind in kinds}
        self._header = TypestoreMaker('std_msgs/msg/Header')
        self._time = TypestoreMaker('builtin_interfaces/msg/Time')

    def content(self, row):
        """Return the bytes of a row's message, or None where nothing was measured."""
        fields = self._fill(row)
        if fields is None:
            return None
        seconds, rest = divmod(int(self._stream.stamps[row]), _SECOND)
        stamp = self._time(sec=seconds, nanosec=rest)
        frame = '' if self.message_type in _WITHOUT_FRAME else 'map'
        header = self._header(stamp=stamp, frame_id=frame)
        return serialized(self._make(header=header, **fields))

    def _joints(self, row):
        stream = self._stream
        given = {name: getattr(stream, name) for name in ('position', 'velocity', 'effort')}
        values = {name: table[row] for name, table in given.items() if table is not None}
        if not any(np.isfinite(each).any() for each in values.values()):
            return None
        return {'name': list(stream.joints), **values}

    def _push(self, row):
        numbers = self._stream.wrench[row]
        if not np.isfinite(numbers).any():
            return None
        force, torque = (
            self._parts['Vector3'](**dict(zip('xyz', map(float, part))))
            for part in (numbers[:3], numbers[3:])
        )
        return {'wrench': self._parts['Wrench'](force=force, torque=torque)}

    def _pose(self, row):
        place, turn = self._stream.place[row], self._stream.quaternion[row]
        if not (np.isfinite(place).all() and np.isfinite(turn).all()):
            return None
        x, y, z, w = map(float, turn)
        orientation = self._parts['Quaternion'](x=x, y=y, z=z, w=w)
        return {'pose': self._parts['Pose'](position=self._at(place), orientation=orientation)}

    def _point(self, row):
        place = self._stream.place[row]
        return {'point': self._at(place)} if np.isfinite(place).all() else None

    def _at(self, place):
        x, y, z = map(float, place)
        return self._parts['Point'](x=x, y=y, z=z)
