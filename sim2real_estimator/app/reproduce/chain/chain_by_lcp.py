"""
The same chain and ball by exact steps at velocity level, as lcp-physics makes them.

Every body has its own position and turn; hinges are equality constraints, the contact is solved as
a linear complementarity problem. It makes the observations and checks the simulation that the mass
is fitted with, with which it shares the law of contact and no code.
"""

import numpy as np
import torch

from ....dynamics.contact.velocity_level import ContactProblem, solve_lcp
from .chain_model import (
    ABOVE,
    ABOVE_FIRST,
    BALL_MASS,
    BALL_START,
    FRICTION,
    GRAVITY,
    HEIGHT,
    LINKS,
    PUSH,
    PUSH_TIME,
    RADIUS,
    RESTITUTION,
    SPACING,
    WIDTH,
)

# Of a body: right and up [m], turn from z to x [rad].
_X, _Z, _TURN = range(3)
_BODIES = LINKS + 1


def positions_by_lcp(mass, step, seconds, rate):
    """
    Return positions [T + 1, 22] of centres [m], `rate` a second [Hz], by steps of `step` [s].

    mass: of the chain [kg].
    """
    link = mass / LINKS
    masses = np.repeat([link, BALL_MASS], [LINKS, 1])
    turning = np.repeat(
        [link * (WIDTH**2 + HEIGHT**2) / 12, BALL_MASS * RADIUS**2 / 2], [LINKS, 1]
    )
    diagonal = np.stack([masses, masses, turning], -1).ravel()
    place = np.zeros((_BODIES, 3))
    place[:LINKS, _Z] = -ABOVE_FIRST - SPACING * np.arange(LINKS)
    place[-1, :2] = BALL_START
    velocity = np.zeros(3 * _BODIES)
    weight = np.zeros((_BODIES, 3))
    weight[:LINKS, _Z] = -GRAVITY
    every = round(1 / (rate * step))
    found = [place[:, :2].ravel()]
    for number in range(round(seconds / step)):
        force = weight.copy()
        # The push ends between two steps, however these divide its time.
        share = min(max(PUSH_TIME / step - number, 0.0), 1.0)
        force[-1, _X] = share * PUSH / BALL_MASS
        velocity = _stepped(place, velocity, velocity + step * force.ravel(), diagonal, step)
        place = place + step * velocity.reshape(-1, 3)
        if (number + 1) % every == 0:
            found.append(place[:, :2].ravel())
    return np.array(found)


def _stepped(place, velocity, free, diagonal, step):
    """Return the velocities [33] after a step; free: those without hinges and contact."""
    joints, errors = _hinges(place)
    drift = -errors / step
    rows = [_touching(place, link) for link in range(LINKS)]
    closing = [
        (normal, along)
        for gap, normal, along in rows
        if normal @ velocity < 0 and gap + step * normal @ velocity <= 0
    ]
    if not closing:
        response = joints.T / diagonal[:, None]
        return free + response @ np.linalg.solve(joints @ response, drift - joints @ free)
    normals, tangents = (np.array(part) for part in zip(*closing))
    problem = ContactProblem(
        *map(
            torch.as_tensor,
            (
                np.diag(diagonal)[None],
                free[None],
                normals[None],
                tangents[None, :, None],
                np.full((1, len(closing)), FRICTION),
                -RESTITUTION * (normals @ velocity)[None],
                joints[None],
                drift[None],
            ),
        )
    )
    return solve_lcp(problem).velocity[0].numpy()


def _hinges(place):
    """Return the rows [20, 33] of all hinges and by how much each has come apart [20]."""
    rows, errors = np.zeros((2 * LINKS, 3 * _BODIES)), np.zeros(2 * LINKS)
    for k in range(LINKS):
        above = ABOVE if k else ABOVE_FIRST
        below = SPACING - ABOVE
        for body, reach, sign in ((k, above, 1.0), (k - 1, -below, -1.0)):
            if body < 0:
                continue
            turn = place[body, _TURN]
            # Along the link's own z, which turns towards x.
            arm = reach * np.array([np.sin(turn), np.cos(turn)])
            errors[2 * k : 2 * k + 2] += sign * (place[body, :2] + arm)
            at = rows[2 * k : 2 * k + 2, 3 * body : 3 * body + 3]
            at[:, :2] = sign * np.eye(2)
            at[:, _TURN] = sign * np.array([arm[1], -arm[0]])
    return rows, errors


def _touching(place, link):
    """Return the gap between ball and link [m], and the rows [33] of separation and sliding."""
    turn = place[link, _TURN]
    sideways = np.array([np.cos(turn), -np.sin(turn)])
    upwards = np.array([np.sin(turn), np.cos(turn)])
    between = place[-1, :2] - place[link, :2]
    local = np.array([between @ sideways, between @ upwards])
    half = np.array([WIDTH, HEIGHT]) / 2
    closest = np.clip(local, -half, half)
    away = (local - closest) @ np.array([sideways, upwards])
    distance = np.linalg.norm(away)
    normal = away / distance
    arms = -RADIUS * normal, closest @ np.array([sideways, upwards])
    rows = []
    for direction in (normal, np.array([-normal[1], normal[0]])):
        row = np.zeros(3 * _BODIES)
        for body, arm, sign in ((_BODIES - 1, arms[0], 1.0), (link, arms[1], -1.0)):
            row[3 * body : 3 * body + 2] = sign * direction
            row[3 * body + _TURN] = sign * (arm[1] * direction[0] - arm[0] * direction[1])
        rows.append(row)
    return distance - RADIUS, *rows
