"""Somebody who hears what the node publishes besides its estimates and diagnostics."""

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile
from recordings import stamp_ns
from sensor_msgs.msg import JointState, PointCloud2
from visualization_msgs.msg import MarkerArray

from sim2real_estimator.ros.publishers import read_events

KEPT = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = {
    'posterior': (PointCloud2, KEPT),
    'coordinates': (DiagnosticArray, KEPT),
    'samples': (PointCloud2, KEPT),
    'parameters': (DiagnosticArray, 100),
    'bands': (JointState, 100),
    'events': (DiagnosticArray, 100),
    'predicted_joint_states': (JointState, 100),
    'markers': (MarkerArray, 100),
}


class Listener:
    """Somebody who hears some topics of the node."""

    def __init__(self, client, topics=tuple(TOPICS)):
        """Subscribe."""
        self._client, self.heard = client, {topic: [] for topic in topics}
        self._subscriptions = [
            client.node.create_subscription(
                TOPICS[topic][0],
                f'/sim2real_estimator/{topic}',
                self.heard[topic].append,
                TOPICS[topic][1],
            )
            for topic in topics
        ]

    def close(self):
        """Hear no more."""
        for subscription in self._subscriptions:
            self._client.node.destroy_subscription(subscription)

    def has_publisher(self, topic):
        """Tell whether the node is found."""
        return self._client.node.count_publishers(f'/sim2real_estimator/{topic}') > 0

    def latest(self, topic):
        """Return the latest message, None before any."""
        return self.heard[topic][-1] if self.heard[topic] else None

    def events(self):
        """Return [(stamp [ns], `Event`)] of all that was told."""
        told = [read_events(message) for message in self.heard['events']]
        return [(stamp, event) for stamp, events in told for event in events]

    def wait_for(self, topic, stamp):
        """Wait for a message of that stamp [ns], and return the latest one."""
        self._client.wait(
            lambda: self.heard[topic] and self._stamp(topic) == stamp, f'{topic} of {stamp}'
        )
        return self.latest(topic)

    def _stamp(self, topic):
        message = self.latest(topic)
        return stamp_ns(message.markers[-1] if topic == 'markers' else message)
