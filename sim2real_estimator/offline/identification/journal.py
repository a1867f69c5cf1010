"""
The node's messages of an identification, written to a plain file that becomes a bag at its end.

A file that only grows can be truncated to its size at the last checkpoint, however the process
ended.
"""

from collections import deque
import os
from pathlib import Path
import struct

from ...bags.writer import BagWriter
from ...messages import serialized
from ...ros.publishers import draw_samples, estimate_message, events_message, samples_message
from ...ros.worker.output_messages import Composer, outdates_draws
from ...ros.worker.pipes import Wishes

# Topic below the node -> type, and whether it is latched for later subscribers.
TOPICS = {
    'estimate': ('sensor_msgs/msg/JointState', False),
    'posterior': ('sensor_msgs/msg/PointCloud2', True),
    'coordinates': ('diagnostic_msgs/msg/DiagnosticArray', True),
    'samples': ('sensor_msgs/msg/PointCloud2', True),
    'payload': ('geometry_msgs/msg/InertiaStamped', True),
    'payload_uncertainty': ('sensor_msgs/msg/PointCloud2', True),
    'parameters': ('diagnostic_msgs/msg/DiagnosticArray', False),
    'bands': ('sensor_msgs/msg/JointState', False),
    'events': ('diagnostic_msgs/msg/DiagnosticArray', False),
    'predicted_joint_states': ('sensor_msgs/msg/JointState', False),
    'markers': ('visualization_msgs/msg/MarkerArray', False),
}
_NAMES = tuple(TOPICS)
_PREFIX = '/sim2real_estimator/'
# Before each message: index of its topic, time in the bag [ns], number of bytes.
_HEAD = struct.Struct('<HqI')
_NANO = 1e9
_JUDGED = ('payload', 'payload_uncertainty', 'parameters', 'bands', 'posterior', 'markers')
_MOST_PENDING = 1 << 20
# Number of earlier means that the markers show, as in the node.
_TRAIL = 300


class Journal:
    """Composes messages of a `Progress` as the node does, and writes them to a file."""

    def __init__(self, path, problem, config, size=0):
        """
        Begin a file, or continue after the first bytes of one.

        problem: a `RobotProblem`; config: its `Config`, with rates and counts; size [bytes].
        """
        self._path, self._problem = Path(path), problem
        self._config, self._trail = config, deque([], _TRAIL)
        self._wishes = Wishes(frozenset(), config.node.rate, config.samples, config.markers)
        self._estimate_ns, self._has_coordinates = None, False
        self._path.touch()
        os.truncate(self._path, size)
        self._size, self._pending = size, bytearray()

    def flush(self):
        """Write pending messages to the file, and sync it."""
        with self._path.open('ab') as file:
            file.write(self._pending)
            file.flush()
            os.fsync(file.fileno())
        self._size, self._pending = self._size + len(self._pending), bytearray()

    def note(self, progress, events, is_assessed, time_ns):
        """
        Write the messages that the node would publish after another frame.

        events, is_assessed: as `History.note` returns them; time_ns: in the recording.
        """
        stamp_ns = progress.estimate.stamp_ns
        if not self._has_coordinates:
            self._has_coordinates = True
            self._compose('coordinates', progress, time_ns)
        if events:
            self._write('events', events_message(events, stamp_ns), time_ns)
        period = _NANO / self._config.node.rate
        if events or self._estimate_ns is None or not 0 <= stamp_ns - self._estimate_ns < period:
            self._estimate_ns = stamp_ns
            message = estimate_message(progress.estimate, progress.assessment.latest)
            self._write('estimate', message, time_ns)
            self._compose('predicted_joint_states', progress, time_ns)
        if is_assessed:
            self._trail.append(progress.mixture.moments()[0])
            for topic in _JUDGED:
                self._compose(topic, progress, time_ns)
        if outdates_draws(progress.estimate.report):
            self.draw(progress.mixture, stamp_ns, time_ns)

    def draw(self, mixture, stamp_ns, time_ns):
        """Write draws of a mixture."""
        wanted = self._config.samples
        draws = draw_samples(self._problem, mixture, wanted.count, wanted.seed)
        message = samples_message(self._problem.parametrization.names, draws, stamp_ns)
        self._write('samples', message, time_ns)

    def snapshot(self):
        """Flush the file; return all that is needed to continue, as plain values."""
        self.flush()
        return self._size, tuple(self._trail), self._estimate_ns, self._has_coordinates

    def restore(self, saved):
        """Continue from a snapshot; the file has been truncated to its size."""
        _, trail, self._estimate_ns, self._has_coordinates = saved
        self._trail = deque(trail, _TRAIL)

    def _compose(self, topic, progress, time_ns):
        # A new composer each time writes complete markers, for players that jump in the bag.
        composer = Composer(self._problem)
        message = composer.message(topic, progress, self._wishes, tuple(self._trail))
        self._write(topic, message, time_ns)

    def _write(self, topic, message, time_ns):
        content = serialized(message)
        self._pending += _HEAD.pack(_NAMES.index(topic), time_ns, len(content)) + content
        if len(self._pending) > _MOST_PENDING:
            self.flush()


def write_bag(journal, path):
    """Write the messages of a journal's file into a bag."""
    with open(journal, 'rb') as file, BagWriter(path) as bag:
        for name, (kind, is_kept) in TOPICS.items():
            bag.add(_PREFIX + name, kind, is_kept)
        while head := file.read(_HEAD.size):
            place, time_ns, size = _HEAD.unpack(head)
            name = _NAMES[place]
            bag.write(_PREFIX + name, TOPICS[name][0], time_ns, file.read(size))
