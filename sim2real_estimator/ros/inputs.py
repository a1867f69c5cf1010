"""Topics that the node listens to."""

from itertools import chain

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ..errors import ConfigError
from ..messages import ros_class
from .publishers.stamps import stamp_ns_of
from .quality import overridable

# What comes of joints must not be lost, at up to 1 kHz; stalls of 30 ms were measured.
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


class Input:
    """
    A topic, the sources that read its messages, and what came in.

    received: number of messages; stamp_ns: of the latest one, 0 before any; joints: that sources
    look for by name; names: of joints that have come.
    """

    def __init__(self, node, topic, sources, hand_on):
        """
        Subscribe to a topic.

        sources: what decodes the messages, each with a `name`; hand_on: is called with a name
        and the `Decoded` of every message.
        """
        self._node, self.sources, self._hand_on = node, tuple(sources), hand_on
        self.received, self.mismatches = 0, 0
        kind = self.sources[0].message_type
        self._latest, self._latest_ns = None, None
        self._names_field, self._latest_names = _NAMES.get(kind), []
        self._has_stamp = hasattr(ros_class(kind), 'header')
        named = [source.joints for source in self.sources if self._names_field]
        self.joints, self.names = tuple(dict.fromkeys(chain(*named))), set()
        self._subscription = node.create_subscription(
            ros_class(kind),
            topic,
            self._receive,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._mismatch),
            **overridable(_JOINTS if kind in _NAMES else _OTHERS),
        )

    def close(self):
        """Listen no more."""
        self._node.destroy_subscription(self._subscription)

    @property
    def topic(self):
        """Name of the topic, resolved and remapped."""
        return self._subscription.topic_name

    @property
    def stamp_ns(self):
        """Stamp of the latest message [ns]."""
        if self._latest_ns is None:
            return stamp_ns_of(self._latest) if self._latest else 0
        return self._latest_ns

    def _receive(self, message):
        self.received += 1
        self._latest = message
        if not self._has_stamp:
            self._latest_ns = self._node.get_clock().now().nanoseconds
        if self._names_field:
            self._note_names(getattr(message, self._names_field))
        for source in self.sources:
            self._hand_on(source.name, source.decode(message, self._latest_ns))

    def _note_names(self, names):
        # A publisher repeats its names.
        if names != self._latest_names:
            self._latest_names = names
            self.names.update(names)

    def _mismatch(self, event):
        self.mismatches = event.total_count
        self._node.get_logger().warning(
            f"'{self.topic}': a publisher offers a QoS from which nothing is received "
            f'({event.last_policy_kind.name}); override ours, see docs/node.md'
        )


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
