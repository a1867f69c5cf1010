"""QoS of publishers and subscriptions that users can override by parameters."""

from copy import copy

from rclpy.qos import QoSPolicyKind
from rclpy.qos_overriding_options import QoSOverridingOptions

_POLICIES = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)


def overridable(qos):
    """Return keyword arguments of a publisher or subscription with an overridable QoS."""
    # A copy: rclpy writes overrides into the profile, which other topics may share.
    return {'qos_profile': copy(qos), 'qos_overriding_options': QoSOverridingOptions(_POLICIES)}
