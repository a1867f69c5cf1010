"""The node of `record`: writes serialized messages into a bag that survives a kill."""

from collections import Counter
from dataclasses import dataclass
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from ...bags.writer import GrowingBag
from ...errors import DataError
from ...messages import ros_class, typestore_class
from ...setup.sources import listed
from ..inputs import qos_of
from ..outputs import TOPICS
from ..quality import overridable

NAME = 'recorder'
# A kill loses at most the messages of this time [s].
_FLUSH_PERIOD = 0.5
# Between two searches for new topics [s].
_LOOK_PERIOD = 0.5
_WAIT = 0.1
_DEPTH = 1000
# They tell of ROS itself.
_LEFT_OUT = frozenset(('/rosout', '/parameter_events'))
_KEPT = QoSProfile(depth=_DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True)
class Wish:
    """A topic to record, its message type, and the QoS to ask for."""

    topic: str
    message_type: str
    qos: QoSProfile


def wishes_of(config, node):
    """
    Return a `Wish` for every topic that an estimator reads and publishes.

    config: its `Config`; node: its name, full or below the recorder's namespace.
    """
    found = {
        each.topic: Wish(each.topic, each.message_type, qos_of(each.message_type))
        for each in listed(config)
    }
    if config.node.robot_description:
        found['robot_description'] = Wish('robot_description', _type_of(String), _KEPT)
    for name, (kind, qos) in TOPICS.items():
        found[f'{node}/{name}'] = Wish(f'{node}/{name}', _type_of(kind), qos)
    found['/diagnostics'] = Wish('/diagnostics', _type_of(DiagnosticArray), QoSProfile(depth=100))
    return tuple(found.values())


class RecorderNode(Node):
    """Writes the messages that it receives with their time of arrival."""

    def __init__(self, path, wishes=None, kinds=None):
        """
        Begin a bag, and subscribe.

        wishes: `Wish`es; None: whatever there is and will be, of the message types `kinds` if
        these are given. A DataError where the bag cannot be.
        """
        super().__init__(NAME)
        self.counts, self._strange, self._kinds = Counter(), set(), kinds
        self._is_simulated = self.get_parameter('use_sim_time').value
        self._bag = GrowingBag(path)
        for wish in wishes or ():
            self._subscribe(wish)
        # Simulated time may stand still; writing must not.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_FLUSH_PERIOD, self._bag.flush, clock=steady)
        if wishes is None:
            self.create_timer(_LOOK_PERIOD, self._look, clock=steady)
            self._look()
        else:
            self.get_logger().info(f'recording {", ".join(self.counts)}')

    def close(self):
        """End the recording, then the node."""
        try:
            self._bag.close()
        finally:
            self.destroy_node()

    def drive(self, stop, end=math.inf):
        """Record until an event is set, or until a time of the monotonic clock [s]."""
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        while not stop.is_set() and time.monotonic() < end:
            executor.spin_once(timeout_sec=_WAIT)

    def _subscribe(self, wish):
        """Receive a topic from now on."""
        kind, options = wish.message_type, overridable(wish.qos)
        name = self.resolve_topic_name(wish.topic)

        def hear(content, about):
            self._bag.write(name, kind, self._time_ns(about), content)
            self.counts[name] += 1

        self.create_subscription(ros_class(kind), wish.topic, hear, raw=True, **options)
        asked = options['qos_profile']
        self._bag.add(
            name,
            kind,
            is_kept=asked.durability == DurabilityPolicy.TRANSIENT_LOCAL,
            is_reliable=asked.reliability == ReliabilityPolicy.RELIABLE,
        )
        self.counts[name] = 0

    def _time_ns(self, about):
        if self._is_simulated:
            return self.get_clock().now().nanoseconds
        # When it came, not when there was time for it; not every middleware tells.
        return about['received_timestamp'] or time.time_ns()

    def _look(self):
        """Subscribe to new topics."""
        for topic, kinds in self.get_topic_names_and_types():
            if topic in self.counts or topic in self._strange or topic in _LEFT_OUT:
                continue
            if self._kinds and not set(self._kinds) & set(kinds):
                continue
            try:
                (kind,) = kinds
                ros_class(kind)
                typestore_class(kind)
            except (ValueError, ImportError, DataError):
                self._strange.add(topic)
                self.get_logger().warning(
                    f"'{topic}' is left out: its type is not known here: {' and '.join(kinds)}"
                )
                continue
            self._subscribe(Wish(topic, kind, self._offered(topic)))
            self.get_logger().info(f'recording {topic}')

    def _offered(self, topic):
        """Return the best QoS that all publishers of a topic offer."""
        offers = [each.qos_profile for each in self.get_publishers_info_by_topic(topic)]
        is_reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offers)
        is_kept = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offers)
        return QoSProfile(
            depth=_DEPTH,
            reliability=(
                ReliabilityPolicy.RELIABLE if is_reliable else ReliabilityPolicy.BEST_EFFORT
            ),
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL
                if is_kept and offers
                else DurabilityPolicy.VOLATILE
            ),
        )


def _type_of(kind):
    """Return the name of the type of a class of rclpy."""
    package, word, _ = kind.__module__.split('.')
    return f'{package}/{word}/{kind.__name__}'
