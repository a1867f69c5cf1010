"""
The target: a cube thrown on the ground, by exact steps at velocity level.

Corners that would enter the ground in a step are contacts of a linear complementarity problem
with a friction pyramid of four sides, as of Anitescu and Potra (1997). Impacts take all speed of
approach away.
"""

from dataclasses import dataclass

import torch

from ....dynamics.contact.velocity_level import ContactProblem, solve_lcp

SIDE, MASS = 0.1, 0.37  # [m], [kg]
GRAVITY = 9.81  # [m/s^2]
FRICTION = 0.3
PYRAMID = 4  # sides
STEP = 2e-3  # [s]
# Speed [m/s, rad/s] that is none.
_STILL = 1e-9
# Corners that may touch at once: of a cube, the lowest four.
_CONTACTS = 4
_CORNERS = tuple(
    (x, y, z)
    for x in (-SIDE / 2, SIDE / 2)
    for y in (-SIDE / 2, SIDE / 2)
    for z in (-SIDE / 2, SIDE / 2)
)


@dataclass(frozen=True)
class Throws:
    """
    B cubes at T instants, world axes.

    places [T, B, 3]: of centres [m]; turns [T, B, 3, 3]: rotation matrices; velocities [T, B, 6]:
    of the turn [rad/s], then of the centre [m/s].
    """

    places: torch.Tensor
    turns: torch.Tensor
    velocities: torch.Tensor

    def pick(self, which):
        """Return some of the throws."""
        return Throws(*(part[:, which] for part in vars(self).values()))


def first_states(count, generator):
    """Return the one instant of `Throws` at which `count` cubes are thrown to the right."""

    def even(low, high, *shape):
        share = torch.rand(count, *shape, generator=generator, dtype=torch.float64)
        return low + (high - low) * share

    turns = rotations(torch.cat([even(-0.04, 0.04, 2), even(-torch.pi, torch.pi, 1)], 1))
    corners = turns @ torch.tensor(_CORNERS, dtype=torch.float64).T
    height = even(0.005, 0.02) - corners[:, 2].amin(1)
    places = torch.stack([torch.zeros_like(height), torch.zeros_like(height), height], -1)
    heading, speed = even(-0.6, 0.6), even(0.8, 1.6)
    forward = torch.stack([speed * heading.cos(), speed * heading.sin(), 0 * speed], -1)
    spin = torch.cat([even(-0.2, 0.2, 2), even(-3.0, 3.0, 1)], 1)
    return Throws(places[None], turns[None], torch.cat([spin, forward], -1)[None])


def thrown(first, seconds, step=STEP, every=5):
    """Return the `Throws` from first states on, at every so many steps of `step` [s]."""
    place, turn, velocity = first.places[0], first.turns[0], first.velocities[0]
    diagonal = torch.tensor([MASS * SIDE**2 / 6] * 3 + [MASS] * 3, dtype=torch.float64)
    fall = torch.zeros(6, dtype=torch.float64)
    fall[5] = -GRAVITY * step
    found = [(place, turn, velocity)]
    for number in range(round(seconds / step)):
        # What has come to rest stays there.
        moves = velocity.abs().amax(1) > _STILL
        if moves.any():
            place, turn, velocity = place.clone(), turn.clone(), velocity.clone()
            # The inertia of a cube is the same about all axes: no moment is needed to turn it.
            velocity[moves] = _touched(
                place[moves], turn[moves], velocity[moves] + fall, diagonal, step
            )
            place[moves] += step * velocity[moves, 3:]
            turn[moves] = rotations(step * velocity[moves, :3]) @ turn[moves]
        if (number + 1) % every == 0:
            found.append((place, turn, velocity))
    return Throws(*(torch.stack(part) for part in zip(*found)))


def rotations(angles):
    """Return the rotation matrices [B, 3, 3] about axes by angles, vectors [B, 3] [rad]."""
    x, y, z = angles.unbind(-1)
    none = torch.zeros_like(x)
    rows = torch.stack([none, -z, y, z, none, -x, -y, x, none], -1)
    return torch.linalg.matrix_exp(rows.unflatten(-1, (3, 3)))


def _touched(place, turn, free, diagonal, step):
    """Return velocities [B, 6] after a step, free: those without contact."""
    arms = (turn @ torch.tensor(_CORNERS, dtype=torch.float64).T).mT
    heights, lowest = torch.topk(arms[..., 2] + place[:, 2:], _CONTACTS, largest=False)
    arms = torch.gather(arms, 1, lowest[..., None].expand(-1, -1, 3))
    normals = _rows(arms, 2)
    speeds = (normals @ free[..., None])[..., 0]
    is_hit = (heights + step * speeds < 0).any(1)
    if not is_hit.any():
        return free
    arms, heights = arms[is_hit], heights[is_hit]
    problem = ContactProblem(
        torch.diag(diagonal).expand(len(arms), -1, -1),
        free[is_hit],
        normals[is_hit],
        torch.stack([_rows(arms, axis) for axis in (0, 1)], 2),
        torch.full_like(heights, FRICTION),
        -heights / step,
    )
    velocity = free.clone()
    velocity[is_hit] = solve_lcp(problem, PYRAMID).velocity
    return velocity


def _rows(arms, axis):
    """Return the rows [B, c, 6] of the speeds of points at arms [B, c, 3] along a world axis."""
    direction = torch.zeros(3, dtype=torch.float64)
    direction[axis] = 1.0
    direction = direction.expand_as(arms)
    return torch.cat([torch.linalg.cross(arms, direction), direction], -1)
