"""How a QoS is offered and asked for so that users can override it by parameters."""

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
    """Return what a publisher or subscription takes, by keyword, to have a QoS or another."""
    # rclpy writes what is overridden into the profile, which other topics may share.
    return {'qos_profile': copy(qos), 'qos_overriding_options': QoSOverridingOptions(_POLICIES)}
