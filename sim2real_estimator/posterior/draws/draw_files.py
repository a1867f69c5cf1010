"""Draws in files: JSON lines of all of them, the URDF and the MJCF of one."""

from dataclasses import replace
import json

import numpy as np

from ...model.body_numbers import about_frame
from ...records import Findings
from ..export.estimated_robot import EstimatedRobot
from ..export.mjcf import mjcf_text
from ..export.text_files import facts, replace_file
from ..export.urdf_file import urdf_bytes
from .draw import FORMAT, VERSION


def described(problem, posterior):
    """Return the `EstimatedRobot` as it is described, for draws to be written into."""
    nothing = Findings(0, (), (), (), 0, 0, 0.0, ())
    return EstimatedRobot(posterior, problem, nothing, {}, {}, (), {})


def drawn(robot, draws, index):
    """Return a described `EstimatedRobot` with a draw of `Draws` instead of its numbers."""
    draw = draws[index]
    values = {name: value for name, value in draw.values.items() if name in robot.parameters}
    bodies = {
        link: about_frame(*(np.asarray(part, dtype=float) for part in body))
        for link, body in draw.bodies.items()
    }
    text = f'draw {index} of {len(draws)}, {draws.kind}, seed {draws.seed}, {draws.method}'
    return replace(
        robot,
        values=values,
        bodies=bodies,
        completed=(),
        raised={},
        draw=f'{text}: {draw.note}' if draw.note else text,
    )


def urdf_of(robot, draws, index):
    """Return the URDF [bytes] of a draw of a described robot."""
    return urdf_bytes(drawn(robot, draws, index))


def mjcf_of(robot, draws, index):
    """Return the MJCF of a draw of a described robot."""
    return mjcf_text(drawn(robot, draws, index))


def draw_lines(robot, draws, ranges=()):
    """
    Return the lines of JSON of `Draws`: what all have in common first, then a draw each.

    robot: an `EstimatedRobot`, for the provenance; ranges: lines on what became of ranges by hand.
    """
    head = {
        'format': FORMAT,
        'version': VERSION,
        'kind': draws.kind,
        'seed': draws.seed,
        'count': len(draws),
        'method': draws.method,
        'drawn': draws.drawn,
        'units': {n: robot.parameters.unit(n) for n in draws.values if n in robot.parameters},
        'ranges': list(ranges),
        'provenance': facts(robot),
    }
    yield json.dumps(head, allow_nan=False)
    for index in range(len(draws)):
        yield json.dumps(draws[index].record(), allow_nan=False)


def write_draws(path, robot, draws, ranges=()):
    """Write the lines of JSON of `Draws`, all of them or nothing."""
    replace_file(path, ''.join(f'{line}\n' for line in draw_lines(robot, draws, ranges)))
