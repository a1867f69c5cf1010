"""The contact law of Hunt and Crossley (1975) with regularised Coulomb friction."""

from ...spatial.scalar import add, maximum, mul, neg, sqrt, sub
from .base import AbstractContactLaw, ContactParameter

# Keeps the root of no penetration differentiable [m]; far below any penetration.
_TINY_DEPTH = 1e-18
# Data rarely tell how stiff a contact is: it is what lets an impact at this speed [m/s] enter so
# deep [m], small beside the robot and long enough for steps of a millisecond.
_USUAL_SPEED, _USUAL_DEPTH = 1.0, 0.005


class HuntCrossley(AbstractContactLaw):
    """
    Normal force k d^1.5 max(0, 1 + c d'), with depth d = -gap and its rate d' > 0 on approach.

    The exponent is that of Hertz for round surfaces, and the force is continuous at touch
    whatever the speed. Friction is -mu f_n v_t / sqrt(v_t^2 + v_s^2), with the slip velocity v_s
    over which it builds up: differentiable at rest, never larger than mu f_n. A body on a slope
    creeps by a part of v_s.
    """

    name = 'hunt_crossley'
    may_be_zero = ('friction', 'dissipation')
    parameters = (
        ContactParameter('friction', 0.3, '1', 0.5, 'coefficient of friction'),
        ContactParameter(
            'dissipation',
            0.3,
            's/m',
            0.5,
            'part of the contact force added for each m/s of approach; what bounces lose',
        ),
        ContactParameter(
            'stiffness', 2e5, 'N/m^1.5', 1.0, 'contact force over penetration to the power 1.5'
        ),
        ContactParameter(
            'slip_velocity', 0.01, 'm/s', 0.7, 'slip over which friction reaches its size'
        ),
    )

    def force(self, gap, gap_rate, slip, normal, values):
        """Return the force on the first of two bodies, a Vec3 [N]."""
        depth = maximum(neg(gap), 0.0)
        elastic = mul(values['stiffness'], mul(depth, sqrt(depth + _TINY_DEPTH)))
        loss = sub(1.0, mul(values['dissipation'], gap_rate))
        pressure = mul(elastic, maximum(loss, 0.0))
        width = values['slip_velocity']
        size = sqrt(add(slip.dot(slip), mul(width, width)))
        return normal * pressure - slip * (mul(values['friction'], pressure) / size)

    def duration(self, mass, speed, values):
        """Return how long an impact lasts without dissipation: 2.94 times depth over speed."""
        deepest = (1.25 * mass * speed**2 / values['stiffness']) ** 0.4
        return 2.94 * deepest / speed

    def usual_values(self, mass):
        """Return the stiffness at which a mass [kg] enters 5 mm where it hits at 1 m/s."""
        return {'stiffness': 1.25 * mass * _USUAL_SPEED**2 / _USUAL_DEPTH**2.5}
