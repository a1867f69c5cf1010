"""
Chains of rigid bodies on ball joints or on hinges about y: articulated bodies in world axes.

Written for scalars (`scalars.py`), so that the same lines run on arrays and are traced for the
C++ limit. The state is all positions (a quaternion w, x, y, z per ball), then all velocities.
"""

from dataclasses import dataclass

from .scalars import (
    add,
    cross,
    dot,
    inverse,
    is_number,
    matrix_plus,
    minus,
    mul,
    plus,
    product,
    quaternion_product,
    rotation_matrix,
    scale,
    skew_times,
    sub,
    symmetric,
    times,
    transpose,
    turn_quaternion,
)

GRAVITY = 9.81


@dataclass(frozen=True)
class Chain:
    """`count` bodies, each on a ball joint or, if not `balls`, on a hinge about y."""

    count: int
    balls: bool

    @property
    def nq(self):
        """Number of positions."""
        return self.count * (4 if self.balls else 1)

    @property
    def nv(self):
        """Number of velocities."""
        return self.count * (3 if self.balls else 1)

    def split(self, vector):
        """Return the part of every joint."""
        size = len(vector) // self.count
        return [list(vector[size * i : size * (i + 1)]) for i in range(self.count)]


@dataclass(frozen=True)
class Link:
    """
    What a body is made of, in its own axes with the origin at its joint.

    offset: of the joint from the one before; inertia: 3x3 about the joint.
    """

    offset: list
    mass: object
    centre: list
    inertia: list
    damping: object = 0.0


class _Body:
    """A link in motion: world axes, moments about its own joint."""

    def __init__(self, parent, link, turn, rate_of):
        """Pass outwards; turn: rotation from the parent; rate_of: rotation -> joint rate."""
        spin = parent.spin if parent else [0.0] * 3
        self.link = link
        self.rotation = product(parent.rotation, turn) if parent else turn
        self.lever = times(parent.rotation, link.offset) if parent else list(link.offset)
        self.rate = rate_of(self.rotation)
        self.spin = plus(spin, self.rate)
        self.drift = cross(spin, self.rate)
        self.swing = cross(spin, cross(spin, self.lever))
        half = product(self.rotation, link.inertia)
        moment = scale(link.mass, times(self.rotation, link.centre))
        m, (x, y, z) = link.mass, moment
        # The articulated inertia: A turns, B couples, C moves; with its bias moment and force.
        self.A = symmetric(lambda i, j: dot(half[i], self.rotation[j]))
        self.B = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        self.C = [[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]]
        self.moment = cross(self.spin, times(self.A, self.spin))
        self.force = cross(self.spin, cross(self.spin, moment))

    def carry(self, force, C):
        """Add force and translational inertia C of the child, at the lever of the child."""
        self.force = plus(self.force, force)
        self.C = matrix_plus(self.C, C)


def _turned(lever, C):
    """Return [r]C and [r]C[r]' for a child at r."""
    rC = skew_times(lever, C)
    return rC, transpose(skew_times(lever, transpose(rC)))


class _Ball(_Body):
    """A body on a ball joint, which passes no moment on but friction's, here none."""

    def __init__(self, parent, link, q, v, functions):
        super().__init__(parent, link, rotation_matrix(q), lambda rotation: times(rotation, v))

    def pass_inwards(self, parent):
        """Solve for the joint and add the rest to the parent."""
        inverted = inverse(self.A)
        self.gain = product(inverted, self.B)
        damping = self.link.damping
        is_free = is_number(damping) and damping == 0
        effort = [0.0] * 3 if is_free else scale(-1.0, scale(damping, self.rate))
        self.own = times(inverted, minus(effort, self.moment))
        if parent is None:
            return
        left, right = transpose(self.B), transpose(self.gain)
        C = symmetric(lambda i, j: sub(self.C[i][j], dot(left[i], right[j])))
        force = plus(plus(self.force, times(left, self.own)), times(C, self.swing))
        rC, K = _turned(self.lever, C)
        parent.carry(force, C)
        parent.B = matrix_plus(parent.B, rC)
        A = parent.A
        parent.A = symmetric(lambda i, j: add(A[i][j], K[i][j]))
        parent.moment = plus(parent.moment, cross(self.lever, force))

    def accelerate(self, spin_change, push):
        """Return the joint's acceleration; spin_change and push: what the parent passes on."""
        self.spin_change = minus(self.own, times(self.gain, push))
        own = minus(self.spin_change, plus(spin_change, self.drift))
        return times(transpose(self.rotation), own)


class _Hinge(_Body):
    """A body on a hinge about y."""

    def __init__(self, parent, link, q, v, functions):
        c, s = functions.cos(q[0]), functions.sin(q[0])
        turn = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
        self.speed = v[0]
        super().__init__(parent, link, turn, lambda rotation: scale(v[0], _second(rotation)))
        self.axis = _second(self.rotation)

    def pass_inwards(self, parent):
        """Solve for the joint and add the rest to the parent."""
        self.turning, self.moving = times(self.A, self.axis), times(transpose(self.B), self.axis)
        self.inverted = 1.0 / dot(self.axis, self.turning)
        self.left = sub(-mul(self.link.damping, self.speed), dot(self.axis, self.moment))
        if parent is None:
            return
        turned, moved = scale(self.inverted, self.turning), scale(self.inverted, self.moving)
        A = symmetric(lambda i, j: sub(self.A[i][j], mul(turned[i], self.turning[j])))
        B = [
            [sub(self.B[i][j], mul(turned[i], self.moving[j])) for j in range(3)] for i in range(3)
        ]
        C = symmetric(lambda i, j: sub(self.C[i][j], mul(moved[i], self.moving[j])))
        moment = plus(plus(self.moment, scale(self.left, turned)), times(A, self.drift))
        force = plus(plus(self.force, scale(self.left, moved)), times(transpose(B), self.drift))
        force, moment = plus(force, times(C, self.swing)), plus(moment, times(B, self.swing))
        rC, K = _turned(self.lever, C)
        rB = skew_times(self.lever, transpose(B))
        parent.carry(force, C)
        parent.B = matrix_plus(parent.B, matrix_plus(B, rC))
        old = parent.A
        parent.A = symmetric(
            lambda i, j: add(add(old[i][j], A[i][j]), add(add(rB[i][j], rB[j][i]), K[i][j]))
        )
        parent.moment = plus(plus(parent.moment, moment), cross(self.lever, force))

    def accelerate(self, spin_change, push):
        """Return the joint's acceleration; spin_change and push: what the parent passes on."""
        carried = plus(spin_change, self.drift)
        passed = add(dot(self.turning, carried), dot(self.moving, push))
        own = mul(self.inverted, sub(self.left, passed))
        self.spin_change = plus(carried, scale(own, self.axis))
        return [own]


def _second(rotation):
    return [row[1] for row in rotation]


def acceleration(chain, q, v, links, functions):
    """Return the accelerations; functions: what has sin and cos for these scalars."""
    kind, bodies = _Ball if chain.balls else _Hinge, []
    for link, own_q, own_v in zip(links, chain.split(q), chain.split(v)):
        bodies.append(kind(bodies[-1] if bodies else None, link, own_q, own_v, functions))
    for index in reversed(range(chain.count)):
        bodies[index].pass_inwards(bodies[index - 1] if index else None)
    result, spin_change, push = [], [0.0] * 3, [0.0, 0.0, GRAVITY]
    for index, body in enumerate(bodies):
        if index:
            push = plus(plus(push, cross(spin_change, body.lever)), body.swing)
        result += body.accelerate(spin_change, push)
        spin_change = body.spin_change
    return result


def step(chain, q, v, links, duration, functions):
    """Return (q, v) after a semi-implicit Euler step."""
    change = acceleration(chain, q, v, links, functions)
    v = [x + a * duration for x, a in zip(v, change)]
    if not chain.balls:
        return [x + rate * duration for x, rate in zip(q, v)], v
    moved = []
    for own, rate in zip(chain.split(q), chain.split(v)):
        moved += quaternion_product(own, turn_quaternion(rate, duration))
    return moved, v


def headings(chain, q, functions):
    """Return where -z of every link points: x, y, z in the world, of hinges x and z."""
    result, whole = [], None
    for own in chain.split(q):
        if chain.balls:
            whole = own if whole is None else quaternion_product(whole, own)
            w, x, y, z = whole
            result += [(x * z + w * y) * -2.0, (y * z - w * x) * -2.0, (x * x + y * y) * 2.0 - 1.0]
        else:
            whole = own[0] if whole is None else whole + own[0]
            result += [-functions.sin(whole), -functions.cos(whole)]
    return result
