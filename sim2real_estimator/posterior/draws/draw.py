"""Draws of robots as plain numbers, and the lines of JSON they are kept in."""

from dataclasses import dataclass
import json
import math
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...files import damage_as_error, LARGEST_ARRAYS, require_file

FORMAT, VERSION = 'sim2real_estimator draws', 1


@dataclass(frozen=True)
class Draw:
    """
    One robot.

    index: which of its set; values: name -> float of parameters, in SI units; bodies: link ->
    (mass [kg], centre of mass [3] in the frame of the link [m], inertia xx, yy, zz, xy, xz, yz
    about it, in the axes of the link [kg m^2]) of links that are not as described; places: link ->
    origin [3] of its joint in the parent's frame [m], of joints that are not where they were;
    note: of a corner, which one.
    """

    index: int
    values: dict
    bodies: dict
    places: dict
    note: str = ''

    def record(self):
        """Return the draw as JSON."""
        return {
            'index': self.index,
            **({'note': self.note} if self.note else {}),
            'parameters': self.values,
            'bodies': {
                link: {'mass': mass, 'com': list(com), 'inertia': list(inertia)}
                for link, (mass, com, inertia) in self.bodies.items()
            },
            'places': {link: list(place) for link, place in self.places.items()},
        }

    @staticmethod
    def of(record):
        """Return the `Draw` of a record."""
        bodies = {
            link: (float(body['mass']), _numbers(body['com'], 3), _numbers(body['inertia'], 6))
            for link, body in record['bodies'].items()
        }
        values = {name: float(value) for name, value in record['parameters'].items()}
        places = {link: _numbers(place, 3) for link, place in record['places'].items()}
        numbers = [*values.values(), *(x for place in places.values() for x in place)]
        numbers += [x for mass, com, inertia in bodies.values() for x in (mass, *com, *inertia)]
        if not all(map(math.isfinite, numbers)):
            raise ValueError('a number is not finite')
        return Draw(int(record['index']), values, bodies, places, record.get('note', ''))


@dataclass(frozen=True)
class Draws:
    """
    N robots, of which entries of the same index belong together.

    kind: of `KINDS`; seed: of the draws; values: name -> [N]; bodies: link -> (mass [N], centre of
    mass [N, 3], inertia about it [N, 6]) and places: link -> [N, 3], as of `Draw`; method: how
    feasible robots were drawn; drawn: how many robots were drawn for these, None if not counted;
    notes [N]: of corners, else empty.
    """

    kind: str
    seed: int
    values: dict
    bodies: dict
    places: dict
    method: str
    drawn: int | None = None
    notes: tuple = ()

    def __len__(self):
        """Return the number N of robots."""
        return len(next(iter(self.values.values()))) if self.values else 0

    def __getitem__(self, index):
        """Return the `Draw` of an index."""
        return Draw(
            index,
            {name: float(each[index]) for name, each in self.values.items()},
            {
                link: (float(mass[index]), com[index].tolist(), inertia[index].tolist())
                for link, (mass, com, inertia) in self.bodies.items()
            },
            {link: each[index].tolist() for link, each in self.places.items()},
            self.notes[index] if self.notes else '',
        )


def read_draws(path):
    """
    Return (what all draws have in common, [`Draw`]) of a file of JSON lines.

    A DataError where it is another file, cut off or damaged.
    """
    path = Path(path)
    require_file(path, LARGEST_ARRAYS)
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, ValueError) as error:
        raise DataError(f'{path}: cannot be read ({error}); give a file of draws') from error
    with damage_as_error(path, 'write it anew by `sim2real-estimator draw`'):
        head, *lines = map(json.loads, text.splitlines())
        if (head['format'], head['version']) != (FORMAT, VERSION):
            raise DataError(
                f'{path}: is a file of {head["format"]!r}, version {head["version"]!r}; give one '
                f"of '{FORMAT}', version {VERSION}"
            )
        draws = [Draw.of(line) for line in lines]
        if len(draws) != head['count']:
            raise DataError(
                f'{path}: {len(draws)} of {head["count"]} draws are there; write it anew'
            )
    return head, draws


def _numbers(values, count):
    """Return so many numbers as a list."""
    numbers = np.asarray(values, dtype=float)
    if numbers.shape != (count,):
        raise ValueError(f'{count} numbers are wanted, there are {numbers.size}')
    return numbers.tolist()
