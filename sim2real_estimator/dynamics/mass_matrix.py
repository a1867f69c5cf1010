"""The joint-space mass matrix: the composite-rigid-body algorithm, and dynamics through it."""

from dataclasses import dataclass

from ..spatial.motion import Motion
from ..spatial.scalar import add, mul, sub
from ..spatial.vector import Vec3
from .kinematics import kinematics
from .rnea import inverse_dynamics


def mass_matrix(robot, q):
    """Return the symmetric mass matrix as a list of rows of scalars; armature included."""
    size = velocity_size(robot)
    states = kinematics(robot, q, [0.0] * size)
    composite = [b.inertia.rotated(s.rotation) for b, s in zip(robot.bodies, states)]
    for body, state in reversed(list(zip(robot.bodies, states))):
        if body.parent >= 0:
            composite[body.parent] += composite[body.moving.index].moved(state.offset)
    rows = [[0.0] * size for _ in range(size)]
    for body in robot.bodies:
        _add_couplings(robot, states, composite, body, rows)
        square = body.moving.multiplier * body.moving.multiplier
        for k in _indices(body):
            rows[k][k] = add(rows[k][k], mul(square, body.physics['armature']))
    for coupling in robot.couplings:
        for i in coupling.velocities:
            for j in coupling.velocities:
                rows[i][j] = add(rows[i][j], coupling.physics['coupled_armature'])
    return rows


def _add_couplings(robot, states, composite, body, rows):
    """Add what the motion of one joint needs from itself and from every joint that carries it."""
    still = Vec3.zero()
    own = list(zip(_indices(body), axis_motions(body, states[body.moving.index])))
    for k, motion in own:
        force = composite[body.moving.index].force(motion, still)
        at = body
        while True:
            state = states[at.moving.index]
            scale = body.moving.multiplier * at.moving.multiplier
            for j, other in zip(_indices(at), axis_motions(at, state)):
                value = mul(scale, other.dot(force))
                rows[j][k] = add(rows[j][k], value)
                if at is not body:
                    rows[k][j] = add(rows[k][j], value)
            if at.parent < 0:
                break
            force = force.carried(state.offset)
            at = robot.bodies[at.parent]


def axis_motions(body, state):
    """Return the motion of a body's origin for unit speed along each of its joint's own axes."""
    motions = []
    for group in body.kind.groups:
        frame = state.frame_of(group)
        for axis in group.axes:
            direction = frame * axis
            motions.append(
                Motion(direction, Vec3.zero())
                if group.is_rotation
                else Motion(Vec3.zero(), direction)
            )
    return motions


@dataclass(frozen=True)
class FactoredMatrix:
    """A symmetric positive definite matrix as L D L', L with ones on its diagonal, by rows."""

    lower: tuple
    inverse_diagonal: tuple

    def solve(self, right):
        """Return the solution for one right-hand side, a list of scalars."""
        x, size = list(right), len(right)
        for k in range(size):
            for i in range(k + 1, size):
                x[i] = sub(x[i], mul(self.lower[i][k], x[k]))
        for k in reversed(range(size)):
            x[k] = mul(x[k], self.inverse_diagonal[k])
            for i in range(k + 1, size):
                x[k] = sub(x[k], mul(self.lower[i][k], x[i]))
        return x


def factor(matrix):
    """Return the `FactoredMatrix` of a symmetric positive definite matrix given by rows."""
    size = len(matrix)
    rows = [list(row) for row in matrix]
    lower = [[0.0] * size for _ in range(size)]
    inverses = []
    for k in range(size):
        inverses.append(1.0 / rows[k][k])
        for i in range(k + 1, size):
            lower[i][k] = mul(rows[i][k], inverses[k])
        for i in range(k + 1, size):
            for j in range(i, size):
                rows[i][j] = rows[j][i] = sub(rows[i][j], mul(lower[i][k], rows[k][j]))
    return FactoredMatrix(tuple(map(tuple, lower)), tuple(inverses))


def dense_dynamics(robot, q, v, efforts, wrenches=None):
    """
    Return the joint accelerations and the `FactoredMatrix` they were solved with.

    For robots with joints that follow others, or that share a rotor: closed couplings that no
    tree algorithm can take.
    efforts: one scalar per velocity, the acceleration where it is prescribed.
    """
    prescribed = robot.prescribed_velocities
    known = [e if k in prescribed else 0.0 for k, e in enumerate(efforts)]
    bias = inverse_dynamics(robot, q, v, known, wrenches)
    factored = factor(_free_part(mass_matrix(robot, q), prescribed))
    right = [e if k in prescribed else sub(e, b) for k, (e, b) in enumerate(zip(efforts, bias))]
    return factored.solve(right), factored


def _free_part(matrix, prescribed):
    """Return a mass matrix with ones in place of the velocities that are prescribed."""
    size = range(len(matrix))
    return [[float(i == j) if {i, j} & prescribed else matrix[i][j] for j in size] for i in size]


def velocity_size(robot):
    """Return the number of velocities of a robot's state."""
    return max((body.moving.velocities.stop for body in robot.bodies), default=0)


def _indices(body):
    return range(body.moving.velocities.start, body.moving.velocities.stop)
