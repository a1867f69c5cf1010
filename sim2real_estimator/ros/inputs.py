"""Topics that the node listens to."""

from itertools import chain

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ..errors import ConfigError
from ..messages import ros_class
from .publishers.stamps import stamp_ns_of
from .quality import overridable

_JOINT_STATE = 'sensor_msgs/msg/JointState'
# Joint states must not be lost, and come at up to 1 kHz; stalls of 30 ms were measured.
_JOINTS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.RELIABLE
)
# Receives from drivers of motion capture of either kind.
_OTHERS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.BEST_EFFORT
)


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
        self.sources, self._hand_on = tuple(sources), hand_on
        self.received, self.mismatches = 0, 0
        kind = self.sources[0].message_type
        self._has_names, self._latest, self._latest_names = kind == _JOINT_STATE, None, []
        named = [source.joints for source in self.sources if self._has_names]
        self.joints, self.names = tuple(dict.fromkeys(chain(*named))), set()
        self._subscription = node.create_subscription(
            ros_class(kind),
            topic,
            self._receive,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._mismatch),
            **overridable(_JOINTS if kind == _JOINT_STATE else _OTHERS),
        )
        self._node = node

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
        return stamp_ns_of(self._latest) if self._latest else 0

    def _receive(self, message):
        self.received += 1
        self._latest = message
        # A publisher repeats its names.
        if self._has_names and message.name != self._latest_names:
            self._latest_names = message.name
            self.names.update(message.name)
        for source in self.sources:
            self._hand_on(source.name, source.decode(message))

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
