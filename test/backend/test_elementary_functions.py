"""The elementary functions of compiled programs against those of the C library."""

import ctypes
import math

from llvmlite import binding as llvm
import numpy as np
import pytest

from sim2real_estimator.backend.native import program
from sim2real_estimator.backend.native.emit import declarations, emit_kernel
from sim2real_estimator.backend.native.trace import make_kernel, symbols

FUNCTIONS = ('sin', 'cos', 'exp', 'tanh', 'sqrt')
# Units in the last place; the C library itself is right to one.
TOLERANCE = 4
WIDTHS = (2, 4, 8)


@pytest.fixture(scope='module', params=WIDTHS)
def evaluate(request):
    """Return a function (name, numbers) -> results of the compiled functions."""
    width = request.param
    program._initialize()
    x, _ = symbols('x', 1)
    kernel = make_kernel('f', {'x': x}, {n: getattr(x, n)() for n in FUNCTIONS})
    text = declarations(width) + emit_kernel(kernel, width)
    engine = program._compile(text, str(llvm.parse_assembly('')))
    address = engine.get_function_address('f')
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (1 + len(FUNCTIONS)))(address)

    def run(name, numbers):
        numbers = np.asarray(numbers, dtype=np.float64)
        blocks = np.resize(numbers, (-(-len(numbers) // width), width))
        results = np.empty((len(FUNCTIONS), width))
        found = []
        for block in blocks:
            function(block.ctypes.data, *[row.ctypes.data for row in results])
            found.append(results[FUNCTIONS.index(name)].copy())
        # The engine has to live as long as its code is called.
        assert engine
        return np.concatenate(found)[: len(numbers)]

    return run


def largest_error(found, function, numbers):
    """Return the largest error in units in the last place of the exact result."""
    pairs = zip(found, numbers)
    return max(abs(f - function(x)) / math.ulp(function(x)) for f, x in pairs)


def spread(low, high, count=2000, seed=0):
    """Return numbers of both signs whose magnitudes are even on a logarithmic scale."""
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(math.log(low), math.log(high), count))
    return size * rng.choice([-1.0, 1.0], count)


def near_quarter_turns():
    """Return the doubles nearest to multiples of half pi, and their neighbours, up to 1e5."""
    turns = np.concatenate([np.arange(-8, 9), [101, 4096, 20001, 63661, -63661]])
    nearest = turns * (math.pi / 2)
    return np.concatenate([nearest, np.nextafter(nearest, 1e9), nearest + 1e-7, nearest - 0.7])


@pytest.mark.parametrize('name', ['sin', 'cos'])
@pytest.mark.parametrize(
    'numbers', [spread(1e-300, 1e-3), spread(1e-3, 10.0), spread(1.0, 1e5), near_quarter_turns()]
)
def test_sine_and_cosine(evaluate, name, numbers):
    found = evaluate(name, numbers)
    assert largest_error(found, getattr(math, name), numbers) <= TOLERANCE


def test_exponential(evaluate):
    numbers = np.concatenate([spread(1e-300, 700.0), [0.0, -0.0, 708.5, -707.5]])
    # Near the ends of the range; the argument's own rounding costs nothing.
    assert largest_error(evaluate('exp', numbers), math.exp, numbers) <= TOLERANCE


def test_exponential_saturates(evaluate):
    high, low = evaluate('exp', [1e4, -1e4])
    assert math.exp(708) < high <= math.exp(709.5)
    assert 0 <= low < 1e-300


@pytest.mark.parametrize('numbers', [spread(1e-300, 1e-3), spread(1e-3, 30.0), spread(30, 1e300)])
def test_hyperbolic_tangent(evaluate, numbers):
    assert largest_error(evaluate('tanh', numbers), math.tanh, numbers) <= TOLERANCE


def test_square_root(evaluate):
    numbers = np.abs(spread(1e-300, 1e300))
    assert largest_error(evaluate('sqrt', numbers), math.sqrt, numbers) <= 0.5


@pytest.mark.parametrize('name', FUNCTIONS)
def test_nan_stays_in_its_lane(evaluate, name):
    found = evaluate(name, [0.5, math.nan])
    assert math.isnan(found[1])
    assert found[0] == pytest.approx(getattr(math, name)(0.5), rel=1e-15)


def test_infinity(evaluate):
    assert list(evaluate('tanh', [math.inf, -math.inf])) == [1.0, -1.0]
    assert all(np.isnan(evaluate('sin', [math.inf, -math.inf])))
    assert all(np.isnan(evaluate('cos', [math.inf, -math.inf])))
    assert evaluate('sqrt', [math.inf])[0] == math.inf
    assert evaluate('exp', [math.inf])[0] >= math.exp(708.9)


def test_zero_is_kept_exactly(evaluate):
    for name, expected in (('sin', 0.0), ('cos', 1.0), ('tanh', 0.0), ('exp', 1.0), ('sqrt', 0.0)):
        assert evaluate(name, [0.0, 0.0])[0] == expected
