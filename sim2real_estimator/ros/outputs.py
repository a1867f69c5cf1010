"""The topics that the node publishes while it is active, all but `/diagnostics`."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState, PointCloud2
from visualization_msgs.msg import MarkerArray

from .quality import overridable

_FLOWING, _NEWEST = QoSProfile(depth=10), QoSProfile(depth=1)
# None of the events may be lost when several come at once.
_EVENTS = QoSProfile(depth=100)
# Latched: later subscribers get the last message.
_KEPT = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Name below the node -> type and QoS; reliable unless overridden, so that all receive.
TOPICS = {
    'estimate': (JointState, _FLOWING),
    'posterior': (PointCloud2, _KEPT),
    'coordinates': (DiagnosticArray, _KEPT),
    'samples': (PointCloud2, _KEPT),
    'payload': (InertiaStamped, _KEPT),
    'payload_uncertainty': (PointCloud2, _KEPT),
    'parameters': (DiagnosticArray, _FLOWING),
    'bands': (JointState, _FLOWING),
    'events': (DiagnosticArray, _EVENTS),
    'predicted_joint_states': (JointState, _FLOWING),
    'markers': (MarkerArray, _NEWEST),
}


class Outputs:
    """The publishers of a session, whose lifecycle follows that of the node."""

    def __init__(self, node):
        """Take the lifecycle node, whose state decides whether something is published."""
        self._node = node
        self._publishers = {
            name: node.create_lifecycle_publisher(kind, f'~/{name}', **overridable(qos))
            for name, (kind, qos) in TOPICS.items()
        }

    def activate(self):
        """Publish from now on: the node was active before the publishers were there."""
        for publisher in self._publishers.values():
            publisher.on_activate(None)

    def wanted(self):
        """Return the names of the topics that have subscribers, or are latched for later ones."""
        return frozenset(
            name
            for name, publisher in self._publishers.items()
            if TOPICS[name][1] is _KEPT or publisher.get_subscription_count()
        )

    def publish(self, name, message):
        """Publish a message, or its bytes."""
        self._publishers[name].publish(message)

    def close(self):
        """Destroy the publishers, with their latched messages."""
        for publisher in self._publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
