"""Stribeck friction: what Coulomb friction is more, or less, at low speed."""

from ...spatial.scalar import div, exp, mul, neg, square
from .base import AbstractFriction, smoothed_sign

# The speed at which it has fallen to 1 / e, in friction velocities.
STRIBECK_VELOCITIES = 5.0


class StribeckFriction(AbstractFriction):
    """stribeck * tanh(v / v_f) * exp(-(v / (5 v_f))^2); negative where friction sets in slowly."""

    name = 'stribeck'
    description = 'Coulomb friction at low speed beyond that at high speed'
    is_positive = False
    part_of = 'friction'
    shown_by = 'creep and reverse, well below the usual speed'
    sd_of_limit = 0.03

    def unit(self, joint_units):
        """Return N m or N."""
        return joint_units.effort

    def column(self, motion):
        """Return the smoothed sign of the velocity, fading at higher speed."""
        width = mul(STRIBECK_VELOCITIES, motion.friction_velocity)
        fading = [exp(neg(square(div(speed, width)))) for speed in motion.speeds]
        return [mul(s, f) for s, f in zip(smoothed_sign(motion), fading)]
