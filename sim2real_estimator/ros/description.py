"""The topic `robot_description`: the robot to estimate, and whether it is replaced later."""

from xml.etree import ElementTree

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from .quality import overridable

_TOPIC = 'robot_description'
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Description:
    """
    Listens to the topic, and hands on what is another robot than before.

    malformed: number of messages that were no XML; mismatches: of publishers with an incompatible
    QoS; trouble: what keeps the robot from being used, with the remedy, empty where nothing does;
    is_refused: whether that is the description itself.
    """

    def __init__(self, node, hand_on):
        """Subscribe; hand_on: is called with the text of a first and of every other robot."""
        self._node, self._hand_on, self._latest = node, hand_on, None
        self.malformed, self.mismatches, self.is_refused = 0, 0, False
        self._subscription = node.create_subscription(
            String,
            _TOPIC,
            self._receive,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._mismatch),
            **overridable(_LATCHED),
        )
        self.trouble = (
            f'waiting for the robot on {self.topic}; see that robot_state_publisher or another '
            'node publishes it there, or remap it'
        )
        node.get_logger().info(self.trouble)

    @property
    def topic(self):
        """Name of the topic, resolved and remapped."""
        return self._subscription.topic_name

    def close(self):
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)

    def accept(self):
        """Record that the description is in use."""
        self.trouble, self.is_refused = '', False

    def refuse(self, reason):
        """Record that the description cannot be used; the next one may be."""
        self.trouble, self.is_refused = f'{reason}; waiting for another one on {self.topic}', True
        self._node.get_logger().error(f'the robot on {self.topic} cannot be used: {reason}')

    def hold(self, trouble):
        """Take note that the robot is another one now, which is not in use; say so once."""
        if self.trouble != trouble:
            self.trouble = trouble
            self._node.get_logger().warning(trouble)

    def _receive(self, message):
        robot = _canonical(message.data)
        if robot is None:
            self.malformed += 1
            self._node.get_logger().warning(
                f'what comes on {self.topic} is no XML and is left out; publish the URDF itself',
                once=True,
            )
        elif robot != self._latest:
            self._latest = robot
            self._hand_on(message.data)

    def _mismatch(self, event):
        self.mismatches = event.total_count
        self._node.get_logger().warning(
            f'a publisher of {self.topic} offers a QoS from which nothing is received '
            f'({event.last_policy_kind.name}): it should be reliable and transient local; or '
            'override ours, see docs/ros.md'
        )


def _canonical(text):
    """Return XML in canonical form, None where it is not well-formed."""
    try:
        return ElementTree.canonicalize(text, strip_text=True)
    except ElementTree.ParseError:
        return None
