"""
The node `payload_bridge`: messages to `BridgeRules`, and its calls to a driver.

Everything that is decided is logged, and published on `~/decisions`. Nothing is decided here.
"""

import math
import sys
import time

from .. import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('payload_bridge')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState, PointCloud2
from std_srvs.srv import Trigger

from ...errors import ConfigError, DataError
from ...records import PAYLOAD_NUMBERS
from ..process import run, serve
from ..publishers import read_payload
from ..publishers.stamps import stamp_ns_of
from .bridge_rules import BridgeRules
from .bridge_settings import declared, limits_of, previous_of
from .drivers import DRIVERS

NAME = 'payload_bridge'
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Whoever looks later sees how it came to this.
_DECISIONS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_PERIOD = 0.05


class PayloadBridge(Node):
    """Keeps the payload of a driver in step with the estimate; see docs/consumers.md."""

    def __init__(self):
        """Connect to estimator and driver; a ConfigError says what is wrong."""
        super().__init__(NAME)
        values = declared(self)
        kind = values['driver']
        if kind not in DRIVERS:
            raise ConfigError(f"driver: is '{kind}'; choose one of {', '.join(DRIVERS)}")
        limits = limits_of(values, DRIVERS[kind].needs_rest)
        self._driver = DRIVERS[kind](self, values['service'])
        self._seconds = values['transition_time']
        self._rules = BridgeRules(limits, previous_of(values), values['dry_run'])
        # A driver that has come is asked for its payload first, if it can be.
        self._is_asked, self._is_known = False, False
        self._inertia = self._cloud = None
        name = values['estimator']
        self.create_subscription(InertiaStamped, f'{name}/payload', self._hear_payload, _LATCHED)
        self.create_subscription(
            PointCloud2, f'{name}/payload_uncertainty', self._hear_uncertainty, _LATCHED
        )
        self.create_subscription(JointState, f'{name}/estimate', self._hear_estimate, 10)
        self.create_subscription(JointState, values['joint_states'], self._hear_joints, 10)
        self._decisions = self.create_publisher(DiagnosticArray, '~/decisions', _DECISIONS)
        self.create_service(Trigger, '~/rollback', self._roll_back)
        self.create_service(Trigger, '~/resume', self._resume)
        # What is stale is undone even where the time of the topic /clock stands still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_PERIOD, self._step, clock=steady)
        is_dry = ', DRY RUN: nothing is set' if values['dry_run'] else ''
        self.get_logger().info(f'{kind} follows {name}/payload in {limits.frame}{is_dry}')

    def close(self):
        """End the node; the driver keeps what it has."""
        self.destroy_node()

    def _hear_payload(self, message):
        self._inertia = message
        self._pair()

    def _hear_uncertainty(self, message):
        self._cloud = message
        self._pair()

    def _pair(self):
        """Pass a payload on once both its messages are there."""
        if self._inertia is None or self._cloud is None:
            return
        if stamp_ns_of(self._inertia) != stamp_ns_of(self._cloud):
            return
        try:
            payload = read_payload(self._inertia, self._cloud)
        except DataError as error:
            self._rules.hear_unreadable(_now(), str(error))
            return
        self._rules.hear_payload(_now(), payload)

    def _hear_estimate(self, _):
        self._rules.hear_alive(_now())

    def _hear_joints(self, message):
        speeds = [abs(speed) for speed in message.velocity]
        # A NaN stands for an unknown speed.
        is_known = bool(speeds) and all(map(math.isfinite, speeds))
        self._rules.hear_speed(_now(), max(speeds) if is_known else math.nan)

    def _roll_back(self, _, response):
        response.success, response.message = True, self._rules.rollback(_now())
        self._tell()
        return response

    def _resume(self, _, response):
        response.success, response.message = True, self._rules.resume(_now())
        self._tell()
        return response

    def _step(self):
        """Make the call that is due, if any."""
        is_ready = self._driver.is_ready
        if not is_ready:
            self._is_asked = self._is_known = False
        elif not self._is_asked:
            self._is_asked = True
            self._driver.read(self._hear_found)
        self._rules.hear_driver(_now(), is_ready and self._is_known)
        call = self._rules.step(_now())
        self._tell()
        if call is not None:
            self._driver.send(call.body, self._seconds, self._hear_answer)

    def _hear_found(self, body):
        """Take the payload that a driver has that has come, None where it cannot be asked."""
        self._is_known = True
        self._rules.hear_driver(_now(), True)
        if body is not None:
            self._rules.hear_found(_now(), body)
        self._tell()

    def _hear_answer(self, is_good, text, found):
        self._rules.hear_answer(_now(), is_good, text, found)
        self._tell()

    def _tell(self):
        """Log and publish what was decided."""
        for decision in self._rules.taken_decisions():
            # rclpy lets no line of code log at two severities.
            if decision.is_warning:
                self.get_logger().warning(decision.text)
            else:
                self.get_logger().info(decision.text)
            message = DiagnosticArray(status=[_status(decision, self._rules)])
            message.header.stamp = self.get_clock().now().to_msg()
            self._decisions.publish(message)


def _status(decision, rules):
    """Return a `Decision` as DiagnosticStatus, with the payload that the driver has."""
    values = dict(zip(PAYLOAD_NUMBERS, rules.value.numbers))
    values |= {'confirmed': rules.is_sure, 'dry run': rules.is_dry_run}
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if decision.is_warning else DiagnosticStatus.OK,
        name=NAME,
        message=decision.text,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )


def _now():
    """Return the time of a steady clock [s]."""
    return time.monotonic()


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, PayloadBridge, serve, arguments)


if __name__ == '__main__':
    sys.exit(main())
