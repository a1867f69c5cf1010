"""The joint-space mass matrix: the composite-rigid-body algorithm, and dynamics through it."""

from ..spatial.motion import Motion
from ..spatial.scalar import add, div, mul, sub
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
        if body.moving.is_independent:
            for k in _indices(body):
                rows[k][k] = add(rows[k][k], body.physics['armature'])
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
            motions.append(Motion(direction, Vec3.zero()) if group.is_rotation
                           else Motion(Vec3.zero(), direction))
    return motions


def forward_dynamics_dense(robot, q, v, efforts, wrenches=None):
    """
    Return the joint accelerations by solving with the mass matrix.

    For robots with joints that follow others: a closed coupling no tree algorithm can take.
    efforts: one scalar per velocity.
    """
    bias = inverse_dynamics(robot, q, v, [0.0] * len(efforts), wrenches)
    return solve_symmetric(mass_matrix(robot, q), [sub(e, b) for e, b in zip(efforts, bias)])


def solve_symmetric(matrix, right):
    """Solve a symmetric positive definite system, given by rows, without pivoting (L D L')."""
    size = len(right)
    rows, x = [list(row) for row in matrix], list(right)
    for k in range(size):
        for i in range(k + 1, size):
            factor = div(rows[i][k], rows[k][k])
            for j in range(i, size):
                rows[i][j] = rows[j][i] = sub(rows[i][j], mul(factor, rows[k][j]))
            x[i] = sub(x[i], mul(factor, x[k]))
    for k in reversed(range(size)):
        for j in range(k + 1, size):
            x[k] = sub(x[k], mul(rows[k][j], x[j]))
        x[k] = div(x[k], rows[k][k])
    return x


def velocity_size(robot):
    """Return the number of velocities of a robot's state."""
    return max((body.moving.velocities.stop for body in robot.bodies), default=0)


def _indices(body):
    return range(body.moving.velocities.start, body.moving.velocities.stop)
