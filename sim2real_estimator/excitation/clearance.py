"""Distances of a robot to itself and to the floor, by spheres about its links."""

import casadi
import numpy as np

from ..dynamics.kinematics import body_positions, kinematics
from ..errors import ConfigError
from ..model.robot import realize
from ..spatial.vector import Vec3


class Clearance:
    """
    How far spheres are apart, as functions of positions.

    names [C]: of what is kept apart, for people. A sphere is compared with those of all links but
    its own and those that one joint connects it with.
    """

    def __init__(self, problem, config):
        """Take the `RobotProblem` and the `SafetyConfig`."""
        model = problem.model
        for link in (*config.spheres, *(name for pair in config.ignored for name in pair)):
            if link not in model.attachments:
                links = ', '.join(each.name for each in model.links)
                raise ConfigError(f"spheres: there is no link '{link}'; those are {links}")
        q = casadi.SX.sym('q', model.position_size)
        robot = realize(problem.parameters, {})
        placed = list(_placed(robot, model, casadi.vertsplit(q), config.spheres))
        parents = [moving.parent for moving in model.moving_joints]
        free = {frozenset(pair) for pair in config.ignored}
        self.names, gaps = [], []
        for k, (link, body, centre, radius) in enumerate(placed):
            for other, its_body, its_centre, its_radius in placed[:k]:
                is_near = body == its_body or _is_next(parents, body, its_body)
                if is_near or frozenset((link, other)) in free:
                    continue
                away = casadi.vertcat(*(a - b for a, b in zip(centre, its_centre)))
                # The root is smooth where centres meet.
                gaps.append(casadi.sqrt(casadi.sumsqr(away) + 1e-8) - radius - its_radius)
                self.names.append(f'{other} and {link}')
            if config.floor is not None and body >= 0:
                gaps.append(centre.z - radius - config.floor)
                self.names.append(f'{link} and the floor')
        self.least = config.clearance
        self.symbols, self.gaps = q, casadi.vertcat(*gaps) if gaps else casadi.SX(0, 1)
        self._run = casadi.Function('gaps', [q], [self.gaps])

    def require_possible(self, positions):
        """Raise a ConfigError where some spheres are too close in all of positions [N, nq]."""
        never = (self(positions) < self.least).all(0)
        if never.any():
            names = '; '.join(dict.fromkeys(n for n, is_so in zip(self.names, never) if is_so))
            raise ConfigError(
                f'spheres: {names}: never {self.least:g} m apart; make spheres smaller, or name '
                'pairs of links under ignored'
            )

    def __call__(self, positions):
        """Return the distances [N, C] at positions [N, nq], below zero where spheres overlap."""
        return self._run(positions.T).full().T if self.names else np.zeros((len(positions), 0))


def _placed(robot, model, q, spheres):
    """Yield (link, body, centre in the world, radius) of all spheres."""
    states = kinematics(robot, q, [0.0] * model.velocity_size)
    origins = body_positions(robot, states)
    for link, several in spheres.items():
        place = robot.links[link]
        for x, y, z, radius in several:
            centre = place.origin + place.rotation * Vec3(x, y, z)
            if place.body >= 0:
                centre = origins[place.body] + states[place.body].rotation * centre
            yield link, place.body, centre, radius


def _is_next(parents, body, other):
    """Tell whether a joint connects two bodies, -1 being the base."""
    return (body >= 0 and parents[body] == other) or (other >= 0 and parents[other] == body)
