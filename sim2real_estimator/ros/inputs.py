"""The topics that the node subscribes to."""

from itertools import chain
import time

from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy

from ..errors import ConfigError
from ..messages import ros_class
from .publishers.stamps import stamp_ns_of
from .quality import overridable

# Depth for joint messages at up to 1 kHz, of which none must be lost; stalls of 30 ms occur.
_JOINTS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.RELIABLE
)
# Receives from drivers of motion capture of either kind.
_OTHERS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.BEST_EFFORT
)
# Type of messages about joints -> the field with their names, empty where it has none.
_NAMES = {
    'sensor_msgs/msg/JointState': 'name',
    'sensor_msgs/msg/MultiDOFJointState': 'joint_names',
    'std_msgs/msg/Float64MultiArray': '',
}

# Stamps that go back, or ahead of real time, by more than this [s] are of a clock that was set.
_JUMP = 1.0
_NANO = 1e9
# Publishers that are there are found within about this time: a reliable one may be next [s].
_SOON = 0.5
# No robot has as many joints.
_MOST_NAMES = 1000


class Input:
    """
    A topic, the sources that read its messages, and what came in.

    received: number of messages; lost: of those that did not get here, known where a single one
    publishes; stamp_ns: of the latest one, 0 before any; jumps: how often stamps went back or
    ran ahead of real time, jump [s]: the latest; joints: that sources look for by name; names:
    of joints that have come.
    """

    def __init__(self, node, topic, sources, hand_on):
        """
        Subscribe to a topic.

        sources: what decodes the messages, each with a `name`; hand_on: is called with a name
        and the `Decoded` of every message.
        """
        self._node, self.sources, self._hand_on = node, tuple(sources), hand_on
        self.received, self.lost, self.mismatches = 0, 0, 0
        self.jumps, self.jump, self.stamp_ns, self._came = 0, 0.0, 0, 0.0
        self._number, self._is_alone = 0, False
        kind = self.sources[0].message_type
        self._names_field, self._latest_names, self._parts = _NAMES.get(kind), [], set()
        self._has_stamp = hasattr(ros_class(kind), 'header')
        named = [source.joints for source in self.sources if self._names_field]
        self.joints, self.names = tuple(dict.fromkeys(chain(*named))), set()
        self._publishers, self._relaxing, self._refused = 0, None, None
        self._subscription = self._subscribed(kind, topic, overridable(qos_of(kind)))

    def _subscribed(self, kind, topic, options):
        """Return a subscription of a message type; options: its QoS, as keyword arguments."""
        return self._node.create_subscription(
            ros_class(kind),
            topic,
            self._receive,
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=self._mismatch, matched=self._match
            ),
            **options,
        )

    def close(self):
        """Unsubscribe."""
        if self._relaxing:
            self._node.destroy_timer(self._relaxing)
        self._node.destroy_subscription(self._subscription)

    @property
    def topic(self):
        """Name of the topic, resolved and remapped."""
        return self._subscription.topic_name

    def publishers(self):
        """Return the full names of the nodes that publish the topic, in order."""
        found = self._node.get_publishers_info_by_topic(self.topic)
        nodes = {f'{each.node_namespace.rstrip("/")}/{each.node_name}' for each in found}
        return tuple(sorted(nodes))

    def of_same_type(self):
        """Return the topics of the same type that other nodes publish, in order."""
        node, kind = self._node, self.sources[0].message_type
        own = f'{node.get_fully_qualified_name()}/'
        return tuple(
            sorted(
                topic
                for topic, kinds in node.get_topic_names_and_types()
                if kind in kinds
                and topic != self.topic
                and not topic.startswith(own)
                and node.count_publishers(topic)
            )
        )

    def has_parts(self, number):
        """Tell whether so many publishers may send joints of their own each."""
        return len(self._parts) >= number and sum(map(len, self._parts)) == len(self.names)

    def _receive(self, message, about):
        self.received += 1
        self._note_number(about['publication_sequence_number'])
        arrived_ns = None if self._has_stamp else self._node.get_clock().now().nanoseconds
        self._note_stamp(stamp_ns_of(message) if self._has_stamp else arrived_ns)
        if self._names_field:
            self._note_names(getattr(message, self._names_field))
        for source in self.sources:
            self._hand_on(source.name, source.decode(message, arrived_ns))

    def _note_number(self, number):
        """Count the messages lost before one, by its publisher's sequence number."""
        if self._is_alone and self._number and number > self._number + 1:
            self.lost += number - self._number - 1
        self._number = number

    def _note_stamp(self, stamp_ns):
        """Record a jump of the stamps against real time."""
        if not stamp_ns:
            return
        now, before_ns = time.monotonic(), self.stamp_ns
        jump = (stamp_ns - before_ns) / _NANO
        if before_ns and (jump < -_JUMP or jump - (now - self._came) > _JUMP):
            self.jumps, self.jump = self.jumps + 1, jump
        self.stamp_ns, self._came = stamp_ns, now

    def _note_names(self, names):
        # A publisher repeats its joint names; one that never does must not fill the memory.
        if names != self._latest_names and len(self.names) < _MOST_NAMES:
            self._latest_names = names
            self.names.update(names)
            self._parts.add(frozenset(names))

    def _match(self, event):
        # Each publisher has its own sequence numbers.
        self._publishers = event.current_count
        self._is_alone, self._number = event.current_count == 1, 0
        if self._refused and not self._publishers:
            # The one that was reliable has gone, and the other is still there.
            self._relax_soon()

    def _relax_soon(self):
        # Not at once, in the midst of an event of the subscription that is to go.
        if not self._relaxing:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._relaxing = self._node.create_timer(_SOON, self._relax, clock=steady)

    def _relax(self):
        """Ask for best effort in place of reliable, where nobody offers more."""
        self._node.destroy_timer(self._relaxing)
        self._relaxing = None
        if self._publishers:
            self._complain(self._refused)
            return
        topic = self.topic
        self._node.destroy_subscription(self._subscription)
        qos = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=_JOINTS.depth,
            reliability=ReliabilityPolicy.BEST_EFFORT,
        )
        kind = self.sources[0].message_type
        self._subscription = self._subscribed(kind, topic, {'qos_profile': qos})
        self.mismatches, self._refused = 0, None
        self._node.get_logger().info(
            f"'{topic}': is published best effort only, and is now received so: messages that "
            'are lost on the way are not sent again'
        )

    def _mismatch(self, event):
        if event.last_policy_kind == QoSPolicyKind.RELIABILITY:
            self._refused = event
            self._relax_soon()
            return
        self._complain(event)

    def _complain(self, event):
        self.mismatches = event.total_count
        self._node.get_logger().warning(
            f"'{self.topic}': a publisher offers a QoS from which nothing is received "
            f'({event.last_policy_kind.name}); override ours, see docs/ros.md'
        )


def qos_of(message_type):
    """Return the QoS with which messages of a type are received."""
    return _JOINTS if message_type in _NAMES else _OTHERS


def subscribe(node, sources, topics, hand_on):
    """
    Return the `Input` of every topic.

    sources: what decodes messages; topics: name of a source -> topic.
    """
    readers = {}
    for source in sources:
        readers.setdefault(topics[source.name], []).append(source)
    for topic, group in readers.items():
        kinds = sorted({source.message_type for source in group})
        if len(kinds) > 1:
            names = ', '.join(source.name for source in group)
            raise ConfigError(
                f"topic '{topic}': {names} read it as {' and as '.join(kinds)}; "
                'give each type a topic of its own'
            )
    return tuple(Input(node, topic, group, hand_on) for topic, group in readers.items())
