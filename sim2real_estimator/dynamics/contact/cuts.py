"""
Where a time step must end because two shapes begin to touch or come apart.

The contact force has a kink there, d^1.5, and a step of Runge and Kutta across it has a wrong
derivative: with ten steps to an impact that of the rebound by 5 %, that of a place after a hit by
a quarter (docs/contact.md). Steps that end at the kink are not enough, since how long the next
one is depends on when it was met, and so does its error. So pieces are short next to a kink and
grow with the distance from it: then the error, and with it its derivative, is a tenth and less.

Every step has the same number of places at which it may be cut. Where nothing happens, the cut is
at its end and the rest has no length: no branch is needed, and the lanes of a vector go on
together.
"""

from ...spatial.scalar import add, maximum, minimum, mul, neg, sub, where_less
from ..integrators.base import map_joints
from .forces import gaps

# Pieces into which a step can be cut besides the last: one up to the kink, and four that grow.
CUTS = 5
# The shortest of these, of what is left of the step. With 1/16 and two cuts more the derivative is
# better by a third at 15 steps to an impact, and the same at 8.
_SHORTEST = 0.125
# A piece is at most as long as the time since the touch, and this part of that to the separation.
_BEFORE_SEPARATION = 0.5
# Newton steps on the gap, a cubic in time, from the secant: each doubles the digits.
_NEWTON_STEPS = 3
# A crossing within this part of the step from either end is at that end: that is a gap that was
# cut at just before, to rounding.
_EDGE = 1e-4
# A slope of the gap below this part of a step [m^2] is none; a change of the gap in one step that
# cannot matter [m].
_FLAT_SQUARED, _NO_CHANGE = 1e-30, 1e-12


def next_cut(robot, q, v, acceleration, left):
    """
    Return the length [s] of the next piece, `left` where nothing touches and nothing will.

    q, v, acceleration: the state and its accelerations; left: rest of the step [s]. The motion is
    predicted with constant accelerations, and the piece ends where the first gap opens or closes.
    The result is differentiable.
    """
    middle = [add(x, mul(0.5, mul(a, left))) for x, a in zip(v, acceleration)]
    end = [add(x, mul(a, left)) for x, a in zip(v, acceleration)]
    there = map_joints(robot, lambda kind, x, w: kind.advance(x, w, left), q, middle)
    share = 1.0
    for (gap, rate), (later, later_rate) in zip(gaps(robot, q, v), gaps(robot, there, end)):
        slope = mul(rate, left)
        share = minimum(share, _crossing(gap, slope, later, mul(later_rate, left)))
        share = minimum(share, _graded(gap, slope))
    return mul(share, left)


def _graded(gap, slope):
    """
    Return how long a piece may be next to a kink, as a part of what is left; 1 away from one.

    gap [m]; slope: its change in all that is left, at the present rate [m]. Near the kink the gap
    is in proportion to the time from it.
    """
    change = where_less(slope, 0.0, neg(slope), mul(1.0 / _BEFORE_SEPARATION, slope))
    allowed = maximum(neg(gap) / add(change, _NO_CHANGE), _SHORTEST)
    # In contact, or just about to be.
    return where_less(gap, mul(-_EDGE, slope), minimum(allowed, 1.0), 1.0)


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
