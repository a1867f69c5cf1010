"""
Efforts of joints, measured or commanded.

They are no measurements with a residual: what they say is not predicted but drives the robot, as
inputs of the frames.
"""

from ..errors import ConfigError
from ..records import Sample
from .decoding import Decoded, joint_remarks, JOINT_STATE, read_joints, stamp_ns


class JointEfforts:
    """
    A source of efforts on joints with one degree of freedom.

    values: one effort a joint [N m or N], NaN where a message has none: it is then unknown, and
    never zero. places: where the joints stand among the model's commands; limits: largest effort
    by the robot description, NaN where it gives none.
    """

    message_types = (JOINT_STATE,)
    message_type = JOINT_STATE

    def __init__(self, name, model, joints):
        """Take the names of the joints."""
        self.name, self.joints = name, tuple(joints)
        for joint in self.joints:
            if joint not in model.commands:
                takes = ', '.join(model.commands) or 'none'
                raise ConfigError(
                    f"efforts: joint '{joint}' takes no single effort; joints that do: {takes}; "
                    "set its effort to 'none', or give it an actuator"
                )
        self.places = tuple(model.commands.index(joint) for joint in self.joints)
        limits = (model.joint(joint).limits.effort for joint in self.joints)
        self.limits = tuple(float('nan') if limit is None else limit for limit in limits)
        self.value_size = len(self.joints)
        self._known = frozenset(joint.name for joint in model.joints)

    def decode(self, message):
        """Return the `Decoded` of a JointState; one about other joints only has no sample."""
        if not set(self.joints) & set(message.name):
            return Decoded(statuses=joint_remarks(message, self._known))
        values = read_joints(message, 'effort', self.joints)
        return Decoded(
            (Sample(self.name, stamp_ns(message), values),),
            joint_remarks(message, self._known),
        )
