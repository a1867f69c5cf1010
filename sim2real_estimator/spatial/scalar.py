"""
Arithmetic over a generic scalar: a Python float, a torch tensor `[B]` or a tracer symbol.

The dynamics are written once with these functions. A float that is exactly zero or one stands for
structure (an axis, an absent damper): it is folded away here, so that neither torch nor the
traced program ever multiplies by it.
"""

import math

__all__ = [
    'add',
    'atan2',
    'cos',
    'div',
    'exp',
    'fabs',
    'is_constant',
    'is_zero',
    'log',
    'maximum',
    'minimum',
    'mul',
    'neg',
    'sign',
    'sin',
    'sqrt',
    'square',
    'sub',
    'sum_of',
    'tanh',
    'where_less',
]


def is_constant(x):
    """Tell whether `x` is a plain number, known when the dynamics are written down."""
    return isinstance(x, (float, int))


def is_zero(x):
    """Tell whether `x` is structurally zero: a plain number equal to zero."""
    return isinstance(x, (float, int)) and x == 0


def add(a, b):
    """Return a + b."""
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    return a + b


def sub(a, b):
    """Return a - b."""
    if is_zero(b):
        return a
    if is_zero(a):
        return -b
    return a - b


def neg(a):
    """Return -a, without ever producing a negative zero."""
    return 0.0 if is_zero(a) else -a


def mul(a, b):
    """Return a * b."""
    if isinstance(a, (float, int)):
        if a == 0:
            return 0.0
        if a == 1:
            return b
        if a == -1:
            return neg(b)
    if isinstance(b, (float, int)):
        if b == 0:
            return 0.0
        if b == 1:
            return a
        if b == -1:
            return -a
    return a * b


def div(a, b):
    """Return a / b; a structural zero stays one."""
    if is_zero(a):
        return 0.0
    return a / b


def square(a):
    """Return a * a."""
    return mul(a, a)


def sum_of(terms):
    """Return the sum of an iterable of scalars; an empty one sums to structural zero."""
    total = 0.0
    for term in terms:
        total = add(total, term)
    return total


def sin(x):
    """Return the sine of x [rad]."""
    return math.sin(x) if is_constant(x) else x.sin()


def cos(x):
    """Return the cosine of x [rad]."""
    return math.cos(x) if is_constant(x) else x.cos()


def sqrt(x):
    """Return the square root of x."""
    return math.sqrt(x) if is_constant(x) else x.sqrt()


def fabs(x):
    """Return the size of x; its derivative at zero is zero."""
    return abs(x)


def exp(x):
    """Return e to the power x."""
    return math.exp(x) if is_constant(x) else x.exp()


def log(x):
    """Return the natural logarithm of x."""
    return math.log(x) if is_constant(x) else x.log()


def tanh(x):
    """Return the hyperbolic tangent of x."""
    return math.tanh(x) if is_constant(x) else x.tanh()


def atan2(y, x):
    """Return the angle of the point (x, y) [rad]; for floats and tensors only."""
    return math.atan2(y, x) if is_constant(y) and is_constant(x) else y.atan2(x)


def sign(x):
    """Return 1 or -1 with the sign of x, never 0; for floats and tensors only."""
    return math.copysign(1.0, x) if is_constant(x) else x.new_ones(()).copysign(x)


def where_less(a, b, x, y):
    """
    Return x where a < b and y elsewhere, without a branch; both x and y must be finite.

    The derivative is that of what was chosen, in every backend also where a equals b.
    """
    if is_constant(a) and is_constant(b):
        return x if a < b else y
    # A comparison of tensors has no floating-point type of its own.
    one = (b if is_constant(a) else a) * 0.0 + 1.0
    return add(mul((a < b) * one, x), mul((a >= b) * one, y))


def maximum(a, b):
    """Return the larger of a and b."""
    return where_less(a, b, b, a)


def minimum(a, b):
    """Return the smaller of a and b."""
    return where_less(b, a, b, a)
