"""The node of the synthetic robot: publishes in real time what a robot would, and the truth."""

from dataclasses import replace
import sys
import time

from ...ros import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('synthetic_robot')

from rcl_interfaces.msg import IntegerRange, ParameterDescriptor
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ...errors import ConfigError
from ...messages import ros_class
from ...ros.process import run
from ...ros.publishers.stamps import set_stamp
from ...ros.quality import overridable
from ...ros.recording.clock import Pace

NAME = 'synthetic_robot'
_NANO = 10**9
_CLOCK_PERIOD, _ACCOUNT_PERIOD, _SERVICE_PERIOD = 10**7, 10**8, 10**7
# Where a controller commands efforts, messages are served at every tick, or so often [ns].
_COMMAND_PERIOD = 10**6
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Who comes late and asks for as many gets the whole history.
_TRUTHS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# As many as may be on their way to a reader that is held up for a second.
_READINGS = QoSProfile(depth=1000)
_ACCOUNTS = QoSProfile(depth=10)


class SyntheticRobotNode(Node):
    """Publishes the readings of a `SyntheticRobot`, each when it arrives."""

    def __init__(self):
        """Read the settings, and compile the robot; a ConfigError names what is wrong."""
        super().__init__(NAME)
        settings = self._settings()
        self._frame = self._declared('frame_id', 'map', 'of the poses that are published')
        has_clock = self._declared(
            'publish_clock', False, "whether the robot's time goes to /clock"
        )
        # Imports torch, which takes seconds: not before signals are heeded.
        import torch

        from .synthetic_robot import SyntheticRobot

        torch.set_num_threads(1)  # two would only wait for one another
        self._robot = SyntheticRobot(settings)
        self._outputs = {
            topic: self.create_publisher(
                ros_class(feed.message_type), topic, **overridable(_READINGS)
            )
            for topic, feed in self._robot.feeds.items()
        }
        self._truth_output = self.create_publisher(JointState, '~/truth', **overridable(_TRUTHS))
        self._account_output = self.create_publisher(
            JointState, '~/sent', **overridable(_ACCOUNTS)
        )
        self._clock_output = (
            self.create_publisher(Clock, '/clock', **overridable(_CLOCK)) if has_clock else None
        )
        # Only a publisher that stays is heard by those who come later.
        self._description_output = self.create_publisher(
            String, 'robot_description', **overridable(_LATCHED)
        )
        self._description_output.publish(String(data=self._robot.description))
        self._told, self._service_period = None, _SERVICE_PERIOD
        if settings.commands:
            self._service_period = _COMMAND_PERIOD
            self.create_subscription(Float64MultiArray, settings.commands, self._hear, 1)

    def close(self):
        """End the node."""
        self.destroy_node()

    def drive(self, stop):
        """Let the robot move in real time until an event is set."""
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        robot, served = self._robot, 0
        topics = ', '.join(publisher.topic_name for publisher in self._outputs.values())
        self.get_logger().info(f'publishing {topics}')
        robot.begin(time.time_ns())
        pace = Pace(round(_NANO / robot.settings.rate), time.monotonic_ns())
        while not stop.is_set():
            now = time.monotonic_ns()
            elapsed, wait = pace.elapsed(now), pace.wait(robot.time_ns, now)
            for reading in robot.arrived(elapsed):
                self._outputs[reading.topic].publish(self._message(reading))
            if wait > 0:
                stop.wait(min(wait, robot.next_arrival_ns - elapsed) / _NANO)
                continue
            self._keep_up(pace.begin(robot.time_ns, now))
            self._tick(pace)
            if now - served > self._service_period:
                served = now
                executor.spin_once(timeout_sec=0)

    def _hear(self, message):
        try:
            self._robot.command(message.data)
        except ConfigError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)

    def _tick(self, pace):
        """Let the robot do a tick, and publish what there is to say of it."""
        robot = self._robot
        time_ns, clock_ns = robot.time_ns, robot.clock_ns
        robot.advance()
        if robot.truth is not self._told:
            self._told = robot.truth
            self._truth_output.publish(_truth_message(self._told, clock_ns))
        period = robot.time_ns - time_ns
        if self._clock_output and time_ns % _CLOCK_PERIOD < period:
            message = Clock()
            set_stamp(message.clock, clock_ns)
            self._clock_output.publish(message)
        if time_ns % _ACCOUNT_PERIOD < period:
            self._account_output.publish(_account_message(robot.feeds, clock_ns, pace.lateness))
            pace.forget()

    def _keep_up(self, postponed):
        """Take note of time in which this process could not do its work."""
        if postponed:
            self._robot.postpone(postponed)
            self.get_logger().warning(
                f'held up for {postponed / _NANO:.1f} s: the robot stood still meanwhile; '
                'give this process more of the computer'
            )

    def _message(self, reading):
        from .readings import message_of

        is_joint = reading.message_type == 'sensor_msgs/msg/JointState'
        return message_of(reading, _make, '' if is_joint else self._frame)

    def _settings(self):
        """Return the settings that the parameters name."""
        from .settings import load_synthetic

        path = self._declared(
            'config_file', '', 'YAML file with the settings; docs/synthetic_robot.md'
        )
        seed = self._declared(
            'seed',
            -1,
            'of all random numbers; -1: that of the file',
            integer_range=[IntegerRange(from_value=-1, to_value=2**31 - 1, step=1)],
        )
        if not path:
            raise ConfigError(
                'parameter config_file: is empty; give the YAML file of the settings, as in '
                '--ros-args -p config_file:=config/synthetic/double_pendulum.yaml'
            )
        settings = load_synthetic(path)
        return settings if seed < 0 else replace(settings, seed=seed)

    def _declared(self, name, default, description, **facts):
        """Return the value of a parameter that does not change."""
        about = ParameterDescriptor(description=description, read_only=True, **facts)
        return self.declare_parameter(name, default, about).value


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, SyntheticRobotNode, SyntheticRobotNode.drive, arguments)


def _make(message_type, **fields):
    return ros_class(message_type)(**fields)


def _truth_message(truth, stamp_ns):
    """Return the true parameters: position is the value."""
    message = JointState(name=list(truth.values), position=list(truth.values.values()))
    set_stamp(message.header.stamp, stamp_ns)
    return message


def _account_message(feeds, stamp_ns, lateness_ns):
    """
    Return what has become of the messages of every topic, by its name.

    position: how many were made; velocity: how many of them were lost on purpose; effort: how
    late [s] the latest ticks were at most.
    """
    message = JointState(
        name=list(feeds),
        position=[float(feed.made) for feed in feeds.values()],
        velocity=[float(feed.lost) for feed in feeds.values()],
        effort=[lateness_ns / _NANO] * len(feeds),
    )
    set_stamp(message.header.stamp, stamp_ns)
    return message


if __name__ == '__main__':
    sys.exit(main())
