"""
A ball that hits a hanging chain, as in the demo of lcp-physics (locuslab/lcp-physics).

Ten links of .2 m by .6 m hang from a hinge, .5 m apart; a weightless ball of 3 kg is pushed for a
tenth of a second, meets the lowest link at .5 m/s and bounces. Sizes, times, masses, restitution
and friction are those of `experiments/inference.py` there, a hundred of its pixels to a metre.
All its links but the first have weight; here the first has, too.
"""

import casadi

from ....dynamics.contact.velocity_level import contact_impulses, ContactLaw
from ....dynamics.kinematics import link_poses
from ....dynamics.mass_matrix import factor, mass_matrix
from ....model.joints import JOINTS
from ....model.parameters import Parameters
from ....model.robot import realize
from ....model.tree import Inertial, Joint, Link, Model
from ....spatial.scalar import fabs, sqrt
from ....spatial.vector import Vec3

LINKS = 10
CHAIN_MASS = 7.0  # [kg], of all links
WIDTH, HEIGHT = 0.2, 0.6  # of a link [m]
ABOVE_FIRST, ABOVE, SPACING = 0.2, 0.25, 0.5  # of hinges above centres, and between hinges [m]
BALL_MASS, RADIUS = 3.0, 0.2  # [kg], [m]
BALL_START = (-2.5, -4.7)  # from the uppermost hinge, to the right and up [m]
GRAVITY = 1.0  # [m/s^2]
PUSH, PUSH_TIME = 15.0, 0.1  # [N], [s]
RESTITUTION, FRICTION = 0.75, 0.9
# Positions and velocities: ten angles, then the ball, right and down [m], and its turn.
SIZE = LINKS + 3
_PLANE = (0.0, 1.0, 0.0)
# Of compiled functions: what occurs twice is computed once.
_OPTIONS = {'cse': True}


def chain_with_ball():
    """Return the `Model`; the ball moves in the same vertical plane as the chain."""
    links, joints = [Link('ceiling')], []
    mass = CHAIN_MASS / LINKS
    for number in range(LINKS):
        centre = (0.0, 0.0, -(ABOVE if number else ABOVE_FIRST))
        turning = mass * (WIDTH**2 + HEIGHT**2) / 12
        inertia = (turning, turning, mass * WIDTH**2 / 6, 0.0, 0.0, 0.0)
        last = links[-1].name
        links.append(Link(f'link{number}', Inertial(mass, centre, inertia)))
        drop = {0: 0.0, 1: ABOVE_FIRST + SPACING - ABOVE}.get(number, SPACING)
        hinge = JOINTS['continuous'](_PLANE)
        joints.append(Joint(f'hinge{number}', hinge, last, f'link{number}', (0.0, 0.0, -drop)))
    turning = BALL_MASS * RADIUS**2 / 2
    links.append(Link('ball', Inertial(BALL_MASS, (0.0, 0.0, 0.0), (turning,) * 3 + (0.0,) * 3)))
    start = (BALL_START[0], 0.0, BALL_START[1])
    joints.append(Joint('flight', JOINTS['planar'](_PLANE), 'ceiling', 'ball', start))
    return Model('chain and ball', tuple(links), tuple(joints), source='chain_with_ball')


def mass_names():
    """Return the names of what is proportional to the mass of the chain."""
    return [f'link{k}.{of}' for of in ('mass', 'inertia.yy') for k in range(LINKS)]


def centres_and_gaps(robot, q, v):
    """
    Observe the centres of all links, then of the ball: right and up [m], 22 scalars.

    After them the distances between the ball's surface and all links [m], 10 scalars.
    """
    poses = link_poses(robot, q, [0.0] * len(v))
    points = [_centre(poses, number) for number in range(LINKS)] + [poses['ball'].position]
    gaps = [_size(_away(poses, number)[0]) - RADIUS for number in range(LINKS)]
    return [point[axis] for point in points for axis in (0, 2)] + gaps


class Impacts:
    """
    What happens when the ball touches a link, as compiled functions of the state.

    A hit is an impact at velocity level, solved by the regularised convex step, and differentiated
    by its implicit function along a direction.
    """

    def __init__(self, model, restitution=RESTITUTION, friction=FRICTION):
        """Take the `Model`; the impacts of a link are traced when it is first hit."""
        self._parameters = Parameters(model)
        self._restitution, self._friction = restitution, friction
        self._q, self._v = casadi.SX.sym('q', SIZE), casadi.SX.sym('v', SIZE)
        self._hits = {}

    def hit(self, link, q, v, mass):
        """
        Return what happens when the ball hits a link.

        Velocities after it [13], impulses on the ball, across and along the surface [2], and the
        speed of approach before it [m/s].
        """
        velocity, impulses, speed = self._traced(link)[0](q, v, mass)
        return velocity.full()[:, 0], impulses.full()[:, 0], float(speed)

    def slope(self, link, q, v, mass, impulses, directions):
        """Return the derivative [13] of those velocities; directions: of (q, v, mass), [27]."""
        found = self._traced(link)[1](q, v, mass, impulses, directions)
        return found.full()[:, 0]

    def _traced(self, link):
        if link not in self._hits:
            self._hits[link] = self._trace(link)
        return self._hits[link]

    def _realized(self, mass):
        """Return the `Robot` for a mass of the chain, and its positions as scalars."""
        names = mass_names()
        scale = mass / CHAIN_MASS
        values = {n: x * scale for n, x in zip(names, self._parameters.nominal(names))}
        return realize(self._parameters, values), casadi.vertsplit(self._q)

    def _trace(self, link):
        mass, y = casadi.SX.sym('mass'), casadi.SX.sym('y', 2)
        robot, q = self._realized(mass)
        rows = _rows(robot, self._q, link)
        factored = factor(mass_matrix(robot, q))
        responses = [factored.solve(casadi.horzsplit(row)) for row in rows]
        delassus = [[casadi.dot(r.T, casadi.vertcat(*x)) for x in responses] for r in rows]
        normal, along = (row @ self._v for row in rows)
        speeds = [[(1 + self._restitution) * normal, along]]
        impulses = casadi.vertcat(*contact_impulses(delassus, speeds, [self._friction]))
        response = casadi.horzcat(*(casadi.vertcat(*x) for x in responses))
        inputs = [self._q, self._v, mass]
        hit = casadi.Function(
            'hit', inputs, [self._v + response @ impulses, impulses, -normal], _OPTIONS
        )

        # Impulses y leave no residual: their derivative is that of the implicit function.
        residual, matrix = ContactLaw(delassus, speeds, [self._friction]).corrected(
            casadi.vertsplit(y)
        )
        residual = casadi.vertcat(*residual)
        matrix = casadi.vertcat(*(casadi.horzcat(*row) for row in matrix))
        direction, all_inputs = casadi.SX.sym('d', 2 * SIZE + 1), casadi.vertcat(*inputs)
        by_direction = casadi.jtimes(residual, all_inputs, direction)
        d_impulses = -casadi.solve(matrix, by_direction)
        after = casadi.jtimes(self._v + response @ y, all_inputs, direction)
        slope = after + response @ d_impulses
        return hit, casadi.Function('slope', [*inputs, y, direction], [slope], _OPTIONS)


def _centre(poses, number):
    """Return the centre of a link."""
    pose = poses[f'link{number}']
    return pose.position + pose.rotation * Vec3(0.0, 0.0, -(ABOVE if number else ABOVE_FIRST))


def _away(poses, number):
    """Return what leads from the closest point of a link to the ball's centre, and that point."""
    ball = poses['ball'].position - _centre(poses, number)
    local = poses[f'link{number}'].rotation.transposed() * ball
    closest = Vec3(_clipped(local[0], WIDTH / 2), 0.0, _clipped(local[2], HEIGHT / 2))
    return local - closest, closest


def _clipped(x, most):
    """Return x where it is within most, else most with its sign."""
    return 0.5 * (fabs(x + most) - fabs(x - most))


def _size(vector):
    return sqrt(vector[0] * vector[0] + vector[2] * vector[2])


def _rows(robot, q, number):
    """Return the rows [1, 13] of the speeds at which ball and link separate and slide."""
    poses = link_poses(robot, casadi.vertsplit(q), [0.0] * SIZE)
    turn, turn_of_ball = poses[f'link{number}'].rotation, poses['ball'].rotation
    away, closest = _away(poses, number)
    normal = turn * (away * (1 / _size(away)))
    back = turn_of_ball.transposed() * (normal * -RADIUS)
    # The points that touch, which stay where they are in the bodies.
    held = casadi.SX.sym('held', 4)
    of_ball = poses['ball'].position + turn_of_ball * Vec3(held[0], 0.0, held[1])
    of_link = _centre(poses, number) + turn * Vec3(held[2], 0.0, held[3])
    between = casadi.vertcat(of_ball[0] - of_link[0], of_ball[2] - of_link[2])
    points = casadi.vertcat(back[0], back[2], closest[0], closest[2])
    slopes = casadi.substitute(casadi.jacobian(between, q), held, points)
    return (
        casadi.horzcat(normal[0], normal[2]) @ slopes,
        casadi.horzcat(-normal[2], normal[0]) @ slopes,
    )
