"""Subscribes to a running node and a synthetic robot's truth, and fills a `Board`."""

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from ...errors import ConfigError
from ...ros.process import sentence
from ...ros.publishers.diagnostics import read_events, read_parameters, values_of
from ...ros.publishers.joint_states import read_estimate
from ...ros.publishers.stamps import stamp_ns_of
from . import Happening, Task

_HISTORY = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Listener:
    """Listens in a ROS context of its own, which leaves signals alone, until it is closed."""

    def __init__(self, board, node='/sim2real_estimator', robot='/synthetic_robot'):
        """
        Subscribe.

        node, robot: full names of the node and of a synthetic robot, which need not be there.
        """
        self._board, self._prefix = board, f'{node[1:]}: '
        self._context = Context()
        try:
            self._context.init()
            self._node = Node('monitor', context=self._context, enable_rosout=False)
        except rclpy_implementation.RCLError as error:
            raise ConfigError(
                f'ROS 2 does not start: {sentence(error)}; see the variables ROS_* and RMW_*, '
                'and `sim2real-estimator doctor`'
            ) from error
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        for kind, topic, hear, qos in (
            (JointState, f'{node}/estimate', self._hear_estimate, 10),
            (DiagnosticArray, f'{node}/parameters', self._hear_parameters, 10),
            (DiagnosticArray, f'{node}/events', self._hear_events, 100),
            (DiagnosticArray, '/diagnostics', self._hear_diagnostics, 10),
            (JointState, f'{robot}/truth', self._hear_truth, _HISTORY),
        ):
            self._node.create_subscription(kind, topic, hear, qos)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def listen(self, seconds):
        """Put the messages of some seconds on the board."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def _hear_estimate(self, message):
        self._board.take_estimate(read_estimate(message))

    def _hear_parameters(self, message):
        self._board.take_parameters(read_parameters(message))

    def _hear_events(self, message):
        stamp_ns, events = read_events(message)
        for event in events:
            self._board.take_happening(
                Happening(stamp_ns, event.name, event.text, event.is_warning)
            )

    def _hear_diagnostics(self, message):
        for status in message.status:
            if status.name.startswith(self._prefix):
                task = Task(status.level == DiagnosticStatus.OK, status.message, values_of(status))
                self._board.take_task(status.name.removeprefix(self._prefix), task)

    def _hear_truth(self, message):
        self._board.take_truth(stamp_ns_of(message), dict(zip(message.name, message.position)))
