"""
Elementary functions as SIMD arithmetic.

Polynomials after an exact argument reduction: no library call, so that the whole kernel stays
in vector registers on a machine without a vector mathematics library. `e` is the emitter that
writes the operations; strict ones are those no fast-math rule may reorder.
"""

import math

_HALF_PI_HIGH = 1.57079632679489655800
_HALF_PI_LOW = 6.12323399573676603587e-17
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10

# Chebyshev fits, which are nearly minimax, to (sin(r)/r - 1)/z and (cos(r) - 1 + z/2)/z^2 in
# z = r^2 for |r| <= pi/4, highest power first: 1e-17 and less of the function. Taylor
# coefficients of the same number leave 3e-14.
_SIN = (
    1.59153232122714e-10,
    -2.5051092507061385e-08,
    2.755731591191116e-06,
    -0.00019841269836387345,
    0.0083333333333307,
    -0.16666666666666666,
)
_COS = (
    -1.1380876948169717e-11,
    2.087612165887116e-09,
    -2.755731715246704e-07,
    2.4801587298533456e-05,
    -0.0013888888888887241,
    0.041666666666666664,
)
# Taylor coefficients of (exp(r) - 1) / r on |r| <= ln(2)/2: 1/14! r^13 is below 1e-17.
_EXPM1 = tuple(1.0 / math.factorial(k) for k in range(14, 0, -1))


def sine_and_cosine(e, x):
    """Return (sin x, cos x), accurate to a few ulp for |x| up to 1e5 rad."""
    k = e.call('nearbyint', e.mul(x, e.constant(2 / math.pi)))
    r = e.strict_fma(e.neg(k), e.constant(_HALF_PI_HIGH), x)
    r = e.strict_fma(e.neg(k), e.constant(_HALF_PI_LOW), r)
    z = e.mul(r, r)
    sine = e.add(e.mul(_polynomial(e, z, _SIN), e.mul(z, r)), r)
    quadratic = e.sub(e.constant(1.0), e.mul(e.constant(0.5), z))
    cosine = e.add(e.mul(_polynomial(e, z, _COS), e.mul(z, z)), quadratic)
    # k mod 4 chooses the quadrant.
    quadrant = e.sub(k, e.mul(e.constant(4.0), e.call('floor', e.mul(k, e.constant(0.25)))))
    is_one, is_two, is_three = (
        e.compare('oeq', quadrant, e.constant(float(n))) for n in (1, 2, 3)
    )
    swapped = e.either(is_one, is_three)
    s, c = e.select(swapped, cosine, sine), e.select(swapped, sine, cosine)
    return (
        e.select(e.either(is_two, is_three), e.neg(s), s),
        e.select(e.either(is_one, is_two), e.neg(c), c),
    )


def exponential(e, x):
    """Return exp(x); saturates below -708 and above 709, NaN stays NaN."""
    minus_one, scale = _expm1_parts(e, x)
    return e.add(e.mul(scale, minus_one), scale)


def hyperbolic_tangent(e, x):
    """Return tanh(x) with full relative accuracy near zero."""
    size = e.call('fabs', x)
    polynomial, scale = _expm1_parts(e, e.mul(e.constant(-2.0), size))
    minus_one = e.strict_fma(scale, polynomial, e.strict_sub(scale, e.constant(1.0)))
    value = e.neg(e.div(minus_one, e.add(e.constant(2.0), minus_one)))
    return e.copysign(value, x)


def _expm1_parts(e, x):
    """Return (exp(r) - 1, 2^k) with x = k ln 2 + r."""
    x = e.select(e.compare('ogt', x, e.constant(709.0)), e.constant(709.0), x)
    x = e.select(e.compare('olt', x, e.constant(-708.0)), e.constant(-708.0), x)
    k = e.call('nearbyint', e.mul(x, e.constant(1 / math.log(2))))
    r = e.strict_fma(e.neg(k), e.constant(_LN2_HIGH), x)
    r = e.strict_fma(e.neg(k), e.constant(_LN2_LOW), r)
    return e.mul(_polynomial(e, r, _EXPM1), r), e.power_of_two(k)


def _polynomial(e, x, coefficients):
    """Evaluate a polynomial by Horner's rule, highest power first."""
    result = e.constant(coefficients[0])
    for c in coefficients[1:]:
        result = e.add(e.mul(result, x), e.constant(c))
    return result
