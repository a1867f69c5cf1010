"""Motions that begin from known states, for the tests of integrators and of energy."""

from trees import build_model

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.integrators.base import map_joints
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize

# A brick whose three principal moments differ, so that it tumbles when it is thrown.
_BRICK = {'mass': 1.5, 'com': [0.0, 0.0, 0.0], 'inertia': [0.02, 0.05, 0.065, 0.0, 0.0, 0.0]}
# A rod of 0.5 m that hangs from its end.
_ROD = {'mass': 1.0, 'com': [0.0, 0.0, -0.25], 'inertia': [0.021, 0.021, 0.002, 0.0, 0.0, 0.0]}


def tumbling_body():
    """Return (robot, q, v) of a brick thrown with a spin close to its unstable axis."""
    joint = _joint('throw', 'free', 'base', 'brick', [0.0, 0.0, 0.0])
    spec = {'name': 'brick', 'links': [{'name': 'brick', **_BRICK}], 'joints': [joint]}
    robot = realize(Parameters(build_model(spec)), {})
    return robot, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.5, -0.3, 2.0, 0.3, 5.0, -0.2]


def spherical_chain(count):
    """Return (robot, q, v) of rods on ball joints, drawn aside and turning."""
    links = [{'name': f'rod{k}', **_ROD} for k in range(count)]
    joints = [
        _joint(
            f'ball{k}',
            'spherical',
            f'rod{k - 1}' if k else 'base',
            f'rod{k}',
            [0.0, 0.0, -0.5 if k else 0.0],
        )
        for k in range(count)
    ]
    spec = {'name': 'chain', 'links': links, 'joints': joints}
    robot = realize(Parameters(build_model(spec)), {})
    q, v = [], []
    for k, body in enumerate(robot.bodies):
        q += body.kind.advance(body.kind.neutral(), [0.6 - 0.3 * k, 0.2 + 0.1 * k, 0.1], 1.0)
        v += [0.5 - 0.5 * k, 1.0, 2.0]
    return robot, q, v


def _joint(name, kind, parent, child, origin):
    return {
        'name': name,
        'type': kind,
        'parent': parent,
        'child': child,
        'axis': [0.0, 0.0, 1.0],
        'rpy': [0.0, 0.0, 0.0],
        'origin': origin,
    }


def roll(method, robot, q, v, duration, steps, commands=None):
    """Yield the state (q, v) after each of `steps` equal steps that take `duration` [s]."""
    commands = [0.0] * len(v) if commands is None else commands

    def acceleration(q_at, v_at):
        return forward_dynamics(robot, q_at, v_at, commands)

    for _ in range(steps):
        q, v = method.step(robot, q, v, duration / steps, acceleration)
        yield q, v


def end_of(*arguments):
    """Return the last state of `roll`."""
    *_, last = roll(*arguments)
    return last


def distance(robot, one, other):
    """Return the largest difference of two states (q, v), orientations by the turn between."""
    (q, v), (q_other, v_other) = one, other
    gaps = []
    for body in robot.bodies:
        positions = body.moving.positions
        gaps += body.kind.difference(q[positions], q_other[positions])
    return max(abs(gap) for gap in [*gaps, *(a - b for a, b in zip(v, v_other))])


def moved(robot, q, v, duration):
    """Return q after moving with constant velocities for `duration` [s]."""
    return map_joints(robot, lambda kind, x, w: kind.advance(x, w, duration), q, v)
