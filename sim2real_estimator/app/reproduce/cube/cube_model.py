"""
The cube that is fitted: corners on nonlinear springs, and friction by a number or by a network.

Normal forces are those of Hunt and Crossley. The friction force is learned by a network of the
corner's sliding velocity, its normal force and how deep it is in the ground, as in "Augmenting
Differentiable Simulators with Neural Networks to Close the Sim2Real Gap" (Heiden et al., 2020).
"""

from ....model.contacts import (
    AbstractContactLaw,
    Box,
    ContactPair,
    ContactParameter,
    HalfSpace,
    LAWS,
)
from ....model.joints import JOINTS
from ....model.tree import Inertial, Joint, Link, Model
from ....spatial.scalar import maximum, mul, neg, sum_of, tanh
from ....spatial.vector import Vec3
from .cube_by_lcp import MASS, SIDE

PAIR = 'floor'
# What is a lot: of sliding [m/s], of normal force [N], of depth [m].
_SLIDING, _PRESSURE, _DEPTH = 0.1, 5.0, 1e-3
# Parameters of the normal force.
SPRING = ('dissipation', 'stiffness')
# Inputs of the network: sliding along x and y, normal force, depth, one.
INPUTS = 5
_AXES = 'xy'


class FrictionNetwork(AbstractContactLaw):
    """
    Hunt and Crossley's normal force f_n, and friction -f_n times the outputs of a network.

    One layer of tanh units of the sliding velocity in world axes x and y, the normal force, the
    depth and one; their weights are w<unit>_<input>, those of the outputs o<axis>_<unit>. The
    ground is level.
    """

    name = 'friction_network'

    def __init__(self, units):
        """Take how many units the hidden layer has."""
        self._spring, self._units = LAWS['hunt_crossley'], units
        physical = (p for p in self._spring.parameters if p.name in SPRING)
        names = [f'w{k}_{i}' for k in range(units) for i in range(INPUTS)]
        names += [f'o{axis}_{k}' for axis in _AXES for k in range(units)]
        weights = (ContactParameter(name, 0.0, '1', 1.0, 'weight') for name in names)
        self.parameters = (*physical, *weights)

    def force(self, gap, gap_rate, slip, normal, values):
        """Return the force on the first of two bodies, a Vec3 [N]."""
        springs = {**values, 'friction': 0.0, 'slip_velocity': 1.0}
        pushed = self._spring.force(gap, gap_rate, slip, normal, springs)
        pressure, depth = pushed.dot(normal), maximum(neg(gap), 0.0)
        inputs = [slip[0] / _SLIDING, slip[1] / _SLIDING]
        # What is large in an impact says no more than that it is large.
        inputs += [pressure / (pressure + _PRESSURE), depth / (depth + _DEPTH), 1.0]
        x, y = self._outputs(inputs, values)
        return pushed - Vec3(mul(pressure, x), mul(pressure, y), 0.0)

    def _outputs(self, inputs, values):
        units = [
            tanh(sum_of(mul(values[f'w{k}_{i}'], value) for i, value in enumerate(inputs)))
            for k in range(self._units)
        ]
        return [
            sum_of(mul(values[f'o{axis}_{k}'], unit) for k, unit in enumerate(units))
            for axis in _AXES
        ]

    def duration(self, mass, speed, values):
        """Return how long an impact lasts without dissipation [s]."""
        return self._spring.duration(mass, speed, values)


def cube_on_floor(law, values):
    """Return the `Model` of a cube that can touch the ground by a law; values: name to float."""
    turning = MASS * SIDE**2 / 6
    cube = Link('cube', Inertial(MASS, (0.0, 0.0, 0.0), (turning,) * 3 + (0.0,) * 3))
    flight = Joint('flight', JOINTS['free']((0.0, 0.0, 1.0)), 'ground', 'cube')
    box = Box((0.0, 0.0, 0.0), (SIDE, SIDE, SIDE))
    pair = ContactPair(PAIR, 'ground', 'cube', (HalfSpace(),), (box,), law, tuple(values.items()))
    model = Model('cube', (Link('ground'), cube), (flight,), source='cube_on_floor')
    return model.with_contacts([pair])
