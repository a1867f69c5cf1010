"""
Where a time step must end because two shapes begin to touch or come apart.

The contact force has a kink there, and a step of Runge and Kutta across it has a wrong derivative:
with ten steps to an impact that of the rebound is wrong by half and more, while steps that end at
the kink leave 1 to 2 % (docs/contact.md). So every step has two places at which it may be
cut. Where nothing happens, the cut is at its end and the rest has no length: no branch is needed,
and the lanes of a vector go on together.
"""

from ...spatial.scalar import add, maximum, minimum, mul, sub, where_less
from ..integrators.base import map_joints
from .forces import gaps

# Pieces into which a step can be cut besides the last. Two shapes that touch within one step are
# frequent (the two corners of an edge), three are not at steps fit for contacts.
CUTS = 2
# Newton steps on the gap, a cubic in time, from the secant: each doubles the digits.
_NEWTON_STEPS = 3
# A crossing within this part of the step from either end is at that end: that is a gap that was
# cut at just before, to rounding.
_EDGE = 1e-4
# A slope of the gap below this part of a step [m^2] is none.
_FLAT_SQUARED = 1e-30


def next_cut(robot, q, v, acceleration, left):
    """
    Return the time [s] after which the first gap opens or closes, `left` where none does.

    q, v, acceleration: the state and its accelerations; left: rest of the step [s]. The motion is
    predicted with constant accelerations. The result is differentiable.
    """
    middle = [add(x, mul(0.5, mul(a, left))) for x, a in zip(v, acceleration)]
    end = [add(x, mul(a, left)) for x, a in zip(v, acceleration)]
    there = map_joints(robot, lambda kind, x, w: kind.advance(x, w, left), q, middle)
    share = 1.0
    for (gap, rate), (later, later_rate) in zip(gaps(robot, q, v), gaps(robot, there, end)):
        share = minimum(share, _crossing(gap, mul(rate, left), later, mul(later_rate, left)))
    return mul(share, left)


def _crossing(start, start_slope, end, end_slope):
    """
    Return where in [0, 1] a cubic is zero that has these values and slopes at 0 and 1.

    1 where its values have the same sign, and where the zero is at an end.
    """
    square = add(sub(mul(3.0, sub(end, start)), mul(2.0, start_slope)), -end_slope)
    cube = add(sub(mul(2.0, start), mul(2.0, end)), add(start_slope, end_slope))
    product = mul(start, end)
    at = where_less(product, 0.0, start, 0.0) / where_less(product, 0.0, sub(start, end), 1.0)
    for _ in range(_NEWTON_STEPS):
        value = add(start, mul(at, add(start_slope, mul(at, add(square, mul(at, cube))))))
        slope = add(start_slope, mul(at, add(mul(2.0, square), mul(3.0, mul(at, cube)))))
        slope = where_less(mul(slope, slope), _FLAT_SQUARED, 1.0, slope)
        at = minimum(maximum(sub(at, value / slope), 0.0), 1.0)
    inside = mul(sub(at, _EDGE), sub(1.0 - _EDGE, at))
    inside = where_less(product, 0.0, inside, -1.0)
    return where_less(0.0, inside, at, 1.0)
