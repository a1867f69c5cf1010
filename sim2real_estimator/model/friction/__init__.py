"""What resists a joint, term by term: one file each, and this table, a new line for a new term."""

from .base import AbstractFriction, JointMotion, JointUnits, smoothed_sign
from .coulomb import CoulombFriction
from .load_dependent import LoadFriction
from .stribeck import StribeckFriction
from .torque_offset import TorqueOffset
from .viscous import per_speed, ViscousDamping

# By the names of their parameters, in the order of the regressor's columns.
FRICTIONS = {
    'damping': ViscousDamping(),
    'friction': CoulombFriction(),
    'torque_offset': TorqueOffset(),
    'load_friction': LoadFriction(),
    'stribeck': StribeckFriction(),
}
# Of the motor that two coupled joints share, which turns at the sum of their velocities.
COUPLED_FRICTIONS = {
    'coupled_damping': FRICTIONS['damping'],
    'coupled_friction': FRICTIONS['friction'],
}
COUPLED_ARMATURE = 'coupled_armature'
COUPLED = (COUPLED_ARMATURE, *COUPLED_FRICTIONS)


def sudden_changes():
    """
    Return title -> {term: standard deviation} of what may change at once inside a joint.

    Deviations are parts of the joint's largest effort. All that dissipates changes together, as
    when a bearing is worn or greased.
    """
    found = {}
    for name, term in FRICTIONS.items():
        if term.sd_of_change:
            title = 'friction' if term.is_dissipative else name.replace('_', ' ')
            found.setdefault(title, {})[name] = term.sd_of_change
    return found


__all__ = [
    'COUPLED',
    'COUPLED_ARMATURE',
    'COUPLED_FRICTIONS',
    'FRICTIONS',
    'AbstractFriction',
    'JointMotion',
    'JointUnits',
    'per_speed',
    'smoothed_sign',
    'sudden_changes',
]
