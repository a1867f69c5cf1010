"""Rigid-body and articulated-body inertias of generic scalars."""

from .motion import Force
from .scalar import add, is_zero, mul, neg, sub, sum_of
from .vector import Vec3

# The order of the six entries of a symmetric 3x3 matrix, everywhere in the package.
SYMMETRIC_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


class Symmetric3:
    """A symmetric 3x3 matrix, given by its entries xx, yy, zz, xy, xz, yz."""

    __slots__ = ('entries',)

    def __init__(self, xx, yy, zz, xy, xz, yz):
        self.entries = (xx, yy, zz, xy, xz, yz)

    def __iter__(self):
        return iter(self.entries)

    def __add__(self, other):
        return Symmetric3(*(add(a, b) for a, b in zip(self, other)))

    def __sub__(self, other):
        return Symmetric3(*(sub(a, b) for a, b in zip(self, other)))

    def __mul__(self, vector_or_scale):
        """Return the product with a vector, or the matrix scaled by a scalar."""
        if isinstance(vector_or_scale, Vec3):
            return Vec3(*(row.dot(vector_or_scale) for row in self.rows()))
        return Symmetric3(*(mul(e, vector_or_scale) for e in self))

    def rows(self):
        """Return the three rows."""
        xx, yy, zz, xy, xz, yz = self.entries
        return Vec3(xx, xy, xz), Vec3(xy, yy, yz), Vec3(xz, yz, zz)

    def trace(self):
        """Return xx + yy + zz."""
        return sum_of(self.entries[:3])

    def rotated(self, rotation):
        """Return R M R', the matrix seen in the axes `rotation` leads to."""
        half = [Vec3(*(row.dot(c) for c in self.rows())) for row in rotation.rows]
        return Symmetric3(*(half[i].dot(rotation.rows[j]) for i, j in SYMMETRIC_ENTRIES))

    @staticmethod
    def point_mass(mass, offset):
        """Return the inertia of a point `mass` [kg] at `offset` [m]."""
        return Symmetric3.scaled_identity(mul(mass, offset.dot(offset))) - Symmetric3.outer(
            offset, offset * mass
        )

    @staticmethod
    def outer(a, b):
        """Return a b' for parallel vectors a and b."""
        return Symmetric3(*(mul(a[i], b[j]) for i, j in SYMMETRIC_ENTRIES))

    @staticmethod
    def scaled_identity(value):
        """Return `value` on the diagonal."""
        return Symmetric3(value, value, value, 0.0, 0.0, 0.0)


def complement_of_trace(matrix):
    """
    Return tr(M)/2 1 - M for an inertia, tr(S) 1 - S for second moments: each from the other.

    The rotational inertia I and the second moments S = integral of x x' dm of one body say the
    same: I = tr(S) 1 - S and S = tr(I)/2 1 - I. This is the second; `tr(S) 1 - S` is written as
    `Symmetric3.scaled_identity(S.trace()) - S`.
    """
    return Symmetric3.scaled_identity(mul(matrix.trace(), 0.5)) - matrix


class BodyInertia:
    """
    Inertia of a rigid body about its origin.

    mass [kg]; first_moment [kg m] = mass times centre of mass; rotational [kg m^2] about the
    origin of the body, not about its centre of mass.
    """

    __slots__ = ('first_moment', 'mass', 'rotational')

    def __init__(self, mass, first_moment, rotational):
        self.mass, self.first_moment, self.rotational = mass, first_moment, rotational

    def __add__(self, other):
        return BodyInertia(
            add(self.mass, other.mass),
            self.first_moment + other.first_moment,
            self.rotational + other.rotational,
        )

    def __iter__(self):
        yield self.mass
        yield from self.first_moment
        yield from self.rotational

    def rotated(self, rotation):
        """Return the same body in the axes `rotation` leads to."""
        return BodyInertia(
            self.mass, rotation * self.first_moment, self.rotational.rotated(rotation)
        )

    def moved(self, offset):
        """Return the same body about an origin from which the present one is `offset` away."""
        h, m = self.first_moment, self.mass
        # |r|^2 m + 2 r.h on the diagonal, minus the symmetric outer products.
        diagonal = add(mul(m, offset.dot(offset)), mul(2.0, offset.dot(h)))
        outer = [
            sum_of((mul(mul(m, offset[i]), offset[j]), mul(offset[i], h[j]), mul(h[i], offset[j])))
            for i, j in SYMMETRIC_ENTRIES
        ]
        shift = Symmetric3.scaled_identity(diagonal) - Symmetric3(*outer)
        return BodyInertia(m, h + offset * m, self.rotational + shift)

    def is_zero(self):
        """Tell whether the body is structurally without mass."""
        return all(is_zero(value) for value in self)

    def force(self, acceleration, omega):
        """
        Return the force that gives the body `acceleration` at its origin.

        acceleration: classical Motion of the origin; omega: angular velocity [rad/s].
        """
        alpha, a, h = acceleration.angular, acceleration.linear, self.first_moment
        force = a * self.mass + alpha.cross(h) + omega.cross(omega.cross(h))
        moment = self.rotational * alpha + h.cross(a) + omega.cross(self.rotational * omega)
        return Force(moment, force)

    def bias(self, omega):
        """Return the part of `force` that depends on the angular velocity only."""
        h = self.first_moment
        return Force(omega.cross(self.rotational * omega), omega.cross(omega.cross(h)))

    @staticmethod
    def from_centre(mass, centre, rotational):
        """Return the inertia of a body from its centre of mass [m] and the inertia about it."""
        return BodyInertia(mass, centre * mass, rotational + Symmetric3.point_mass(mass, centre))

    @staticmethod
    def zero():
        """Return a body structurally without mass."""
        return BodyInertia(0.0, Vec3.zero(), Symmetric3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


class ArticulatedInertia:
    """
    A symmetric 6x6 map from accelerations to forces, angular part first.

    Held as a full nested list of rows; entries below the diagonal repeat those above.
    """

    __slots__ = ('rows',)

    def __init__(self, rows):
        self.rows = rows

    @staticmethod
    def of_body(body):
        """Return the inertia of a free rigid body."""
        rows = [[0.0] * 6 for _ in range(6)]
        for (i, j), value in zip(SYMMETRIC_ENTRIES, body.rotational):
            rows[i][j] = rows[j][i] = value
        hx, hy, hz = body.first_moment
        for i, j, value in (
            (0, 1, neg(hz)),
            (0, 2, hy),
            (1, 0, hz),
            (1, 2, neg(hx)),
            (2, 0, neg(hy)),
            (2, 1, hx),
        ):
            rows[i][3 + j] = rows[3 + j][i] = value
        for i in range(3, 6):
            rows[i][i] = body.mass
        return ArticulatedInertia(rows)

    def __add__(self, other):
        return ArticulatedInertia(_symmetric(lambda i, j: add(self.rows[i][j], other.rows[i][j])))

    def __mul__(self, motion):
        """Return the force that the acceleration `motion` needs."""
        components = tuple(motion)
        f = [sum_of(mul(a, b) for a, b in zip(row, components)) for row in self.rows]
        return Force(Vec3(*f[:3]), Vec3(*f[3:]))

    def eliminated(self, response, inverse, pivot):
        """
        Return the inertia that is left when one degree of freedom is free to give way.

        response: U = I S, a Force; inverse: 1 / (S.U + armature); pivot: the row that becomes
        zero for a structural reason, or None. U U' / d is subtracted.
        """
        u = tuple(response)
        scaled = [mul(x, inverse) for x in u]

        def entry(i, j):
            if pivot in (i, j):
                return 0.0
            return sub(self.rows[i][j], mul(u[i], scaled[j]))

        return ArticulatedInertia(_symmetric(entry))

    def carried(self, offset):
        """Return the inertia about a point from which its present reference is `offset` away."""
        rows = self.rows
        shift = (
            (0.0, neg(offset.z), offset.y),
            (offset.z, 0.0, neg(offset.x)),
            (neg(offset.y), offset.x, 0.0),
        )

        def shifted(i, column):
            return sum_of(mul(shift[i][k], column[k]) for k in range(3))

        # B' = B + [r]C ; A' = A + [r]B'^T + ([r]B^T)^T.
        b = [
            [add(rows[i][3 + j], shifted(i, rows[3 + j][3:])) for j in range(3)] for i in range(3)
        ]
        old_b = [[rows[i][3 + j] for j in range(3)] for i in range(3)]

        def entry(i, j):
            if i >= 3:
                return rows[i][j]
            if j >= 3:
                return b[i][j - 3]
            return sum_of((rows[i][j], shifted(i, b[j]), shifted(j, old_b[i])))

        return ArticulatedInertia(_symmetric(entry))


def _symmetric(entry):
    """Return 6x6 rows from a function of (i, j) that is asked for i <= j only."""
    rows = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            rows[i][j] = rows[j][i] = entry(i, j)
    return rows
