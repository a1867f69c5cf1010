"""
Vectors and matrices as lists of scalars: floats, NumPy arrays or traced nodes.

Numbers that are exactly 0 or 1 fold away, so that a trace holds no needless operations.
"""


def is_number(x):
    """Tell whether x is a plain number, known while tracing."""
    return isinstance(x, (int, float))


def add(a, b):
    """Return a + b."""
    if is_number(a) and a == 0:
        return b
    if is_number(b) and b == 0:
        return a
    return a + b


def sub(a, b):
    """Return a - b."""
    if is_number(b) and b == 0:
        return a
    if is_number(a) and a == 0:
        return -b
    return a - b


def mul(a, b):
    """Return a b."""
    for x, y in ((a, b), (b, a)):
        if is_number(x) and x in (0, 1, -1):
            return 0.0 if x == 0 else y if x == 1 else -y
    return a * b


def total(terms):
    """Return the sum."""
    result = 0.0
    for term in terms:
        result = add(result, term)
    return result


def dot(a, b):
    """Return the inner product."""
    return total(mul(x, y) for x, y in zip(a, b))


def cross(a, b):
    """Return the cross product of 3-vectors."""
    return [sub(mul(a[i], b[j]), mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]


def plus(a, b):
    """Return the sum of two vectors."""
    return [add(x, y) for x, y in zip(a, b)]


def minus(a, b):
    """Return the difference of two vectors."""
    return [sub(x, y) for x, y in zip(a, b)]


def scale(factor, a):
    """Return a vector times a scalar."""
    return [mul(factor, x) for x in a]


def transpose(matrix):
    """Return the transpose."""
    return [list(column) for column in zip(*matrix)]


def times(matrix, vector):
    """Return matrix times vector."""
    return [dot(row, vector) for row in matrix]


def product(a, b):
    """Return the product of two matrices."""
    columns = transpose(b)
    return [[dot(row, column) for column in columns] for row in a]


def matrix_plus(a, b):
    """Return the sum of two matrices."""
    return [plus(x, y) for x, y in zip(a, b)]


def skew_times(r, matrix):
    """Return [r]x times a matrix."""
    return transpose([cross(r, column) for column in transpose(matrix)])


def symmetric(entry):
    """Return the symmetric 3x3 matrix of entry(i, j), asked for i <= j only."""
    rows = [[None] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i, 3):
            rows[i][j] = rows[j][i] = entry(i, j)
    return rows


def inverse(matrix):
    """Return the inverse of a symmetric 3x3 matrix."""
    (a, b, c), (_, d, e), (_, _, f) = matrix
    first = [sub(mul(d, f), mul(e, e)), sub(mul(c, e), mul(b, f)), sub(mul(b, e), mul(c, d))]
    rest = {
        (1, 1): sub(mul(a, f), mul(c, c)),
        (1, 2): sub(mul(b, c), mul(a, e)),
        (2, 2): sub(mul(a, d), mul(b, b)),
    }
    reciprocal = 1.0 / dot([a, b, c], first)
    return symmetric(lambda i, j: mul(first[j] if i == 0 else rest[i, j], reciprocal))


def quaternion_product(p, q):
    """Return the product of quaternions w, x, y, z."""
    w, x, y, z = p
    a, b, c, d = q
    return [
        total([mul(w, a), -mul(x, b), -mul(y, c), -mul(z, d)]),
        total([mul(w, b), mul(x, a), mul(y, d), -mul(z, c)]),
        total([mul(w, c), mul(y, a), mul(z, b), -mul(x, d)]),
        total([mul(w, d), mul(z, a), mul(x, c), -mul(y, b)]),
    ]


def rotation_matrix(quaternion):
    """Return the rotation matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = quaternion
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return [
        [1.0 - (yy + zz), xy - wz, xz + wy],
        [xy + wz, 1.0 - (xx + zz), yz - wx],
        [xz - wy, yz + wx, 1.0 - (xx + yy)],
    ]


def turn_quaternion(rate, duration):
    """
    Return the quaternion of a turn at a constant rate.

    By the series of sin(x)/x and cos(x), exact to rounding for |rate| duration < 1.
    """
    half = [w * (0.5 * duration) for w in rate]
    x2 = dot(half, half)
    s = (
        (((x2 * (-1 / 39916800.0) + 1 / 362880.0) * x2 - 1 / 5040.0) * x2 + 1 / 120.0) * x2
        - 1 / 6.0
    ) * x2 + 1.0
    c = (
        (
            (((x2 * (1 / 479001600.0) - 1 / 3628800.0) * x2 + 1 / 40320.0) * x2 - 1 / 720.0) * x2
            + 1 / 24.0
        )
        * x2
        - 0.5
    ) * x2 + 1.0
    return [c, half[0] * s, half[1] * s, half[2] * s]
