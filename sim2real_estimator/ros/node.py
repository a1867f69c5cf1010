"""The node: messages to the worker, estimates from it, and how both are doing."""

import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ..config import load_config
from ..errors import ConfigError
from .health import Health, Tally
from .inputs import subscribe
from .process import run
from .publishers import estimate_message
from .worker import Worker

NAME = 'sim2real_estimator'
_POLL_PERIOD, _HEALTH_PERIOD = 0.02, 1.0


class EstimatorNode(Node):
    """Decodes and passes on; whatever takes long is done by the worker."""

    def __init__(self):
        """Read the config, subscribe, and start the worker; a ConfigError names what is wrong."""
        super().__init__(NAME)
        config = load_config(self._config_file())
        # Imports torch, which takes seconds: not before signals are heeded.
        from ..build import build_efforts, build_model, build_sensors, topics

        model = build_model(config)
        sources = (*build_sensors(config, model), *build_efforts(config, model))
        self._estimates = self.create_publisher(JointState, '~/estimate', 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._inputs = subscribe(self, sources, topics(config), self._hand_on)
        self._health, self._tally = Health(self.get_fully_qualified_name()[1:]), Tally()
        self._reported, self._has_told_death = time.monotonic(), False
        self._reliefs, self._is_relieved = 0, False
        self._worker = Worker(config)
        # Simulated time may stand still; polling must not.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_POLL_PERIOD, self._poll, clock=steady)
        self.create_timer(_HEALTH_PERIOD, self._tell_health, clock=steady)
        self.get_logger().info(
            f'listening to {", ".join(each.topic for each in self._inputs)}; '
            f'the worker has process id {self._worker.pid}'
        )

    def close(self):
        """End the worker, then the node."""
        self._worker.close()
        self.destroy_node()

    def _config_file(self):
        """Return the path that the parameter gives."""
        about = ParameterDescriptor(
            description='YAML file with the settings; docs/configuration.md', read_only=True
        )
        path = self.declare_parameter('config_file', '', about).value
        if not path:
            raise ConfigError(
                'parameter config_file: is empty; give the YAML file of the settings, as in '
                '--ros-args -p config_file:=robot.yaml'
            )
        return path

    def _hand_on(self, name, decoded):
        self._worker.backlog.append(name, decoded)

    def _poll(self):
        """Serve the worker, and publish its newest estimate."""
        before = self._worker.report
        for report in self._worker.poll():
            self._tally.add(report)
        report = self._worker.report
        if report and report.updates > (before.updates if before else 0):
            self._estimates.publish(estimate_message(report.estimate))
        if report:
            self._tell_relief(report)
        if self._worker.death and not self._has_told_death:
            self._has_told_death = True
            self.get_logger().error(
                f'the worker {self._worker.death}: there are no estimates any more; '
                'start the node again'
            )

    def _tell_relief(self, report):
        """Say once that frames are made longer, and once that they are no more."""
        if report.reliefs > self._reliefs:
            self._reliefs, self._is_relieved = report.reliefs, True
            self.get_logger().warning(
                'too much data wait for the estimator: frames are made longer until it has '
                'caught up; see docs/node.md'
            )
        if self._is_relieved and not report.is_relieved:
            self._is_relieved = False
            self.get_logger().info('the estimator has caught up: frames are as usual again')

    def _tell_health(self):
        """Publish the diagnostics."""
        elapsed = time.monotonic() - self._reported
        self._reported += elapsed
        now = self.get_clock().now()
        message = self._health.message(now, elapsed, self._inputs, self._worker, self._tally)
        self._diagnostics.publish(message)
        self._tally = Tally()


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, EstimatorNode, _spin, arguments)


def _spin(node, stop):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.is_set():
        executor.spin_once()


if __name__ == '__main__':
    sys.exit(main())
