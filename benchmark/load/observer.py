"""What is seen of a running node: what it publishes, and what its processes take."""

from dataclasses import dataclass, field
import os
from pathlib import Path
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from sim2real_estimator.ros.publishers.diagnostics import values_of
from sim2real_estimator.ros.publishers.stamps import stamp_ns_of

_NANO = 1e9
_PREFIX = 'sim2real_estimator: '
_TICKS = os.sysconf('SC_CLK_TCK')


@dataclass
class Course:
    """
    What was seen, as time went on; all times are seconds of the steady clock.

    estimates: (time, how old the newest datum was [s], whether the filter runs); memory: (time,
    MiB); statuses: task -> its latest values; tasks: (time, the same of the worker).
    """

    estimates: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    statuses: dict = field(default_factory=dict)
    works: list = field(default_factory=list)


class Observer:
    """Listens to the node in a ROS context of its own."""

    def __init__(self, domain):
        """Join a domain."""
        self.course = Course()
        self._context = Context()
        self._context.init(domain_id=domain)
        self._node = Node('observer', context=self._context, enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        node = '/sim2real_estimator'
        self._node.create_subscription(
            JointState, f'{node}/estimate', self._hear_estimate, QoSProfile(depth=100)
        )
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._hear_status, 10)

    def close(self):
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def listen(self, seconds):
        """Take in what comes for some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def value(self, task, key, default='0'):
        """Return the latest value of a task of the node's diagnostics, as text."""
        return self.course.statuses.get(task, {}).get(key, default)

    def number(self, task, key):
        """Return the same as a number."""
        return float(self.value(task, key) or 0)

    def _hear_estimate(self, message):
        age = (time.time_ns() - stamp_ns_of(message)) / _NANO
        self.course.estimates.append((time.monotonic(), age))

    def _hear_status(self, message):
        for status in message.status:
            if status.name.startswith(_PREFIX):
                self.course.statuses[status.name.removeprefix(_PREFIX)] = values_of(status)
        self.course.works.append(
            (
                time.monotonic(),
                self.value('estimate', 'stage', ''),
                self.number('worker', 'updates'),
                self.number('worker', 'data waiting [s]'),
            )
        )


def cpu_seconds(pid):
    """Return the processor time that a process has used [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pids):
    """Return the memory of processes [MiB], what they share counted once."""
    total = 0
    for pid in pids:
        for line in Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines():
            if line.startswith('Pss:'):
                total += int(line.split()[1])
    return total / 1024


def machine_seconds():
    """Return the processor time that all processes of the computer have used [s]."""
    fields = [int(x) for x in Path('/proc/stat').read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _TICKS
