"""
Trained networks in a file: hidden layers, the prior of the last layer, and whether they pay.

A JSON file with an entry per network. Every entry has a digest of its own numbers, the declaration
that it was trained for and a digest of the robot, so that a file of another robot, of another
declaration, or one that was edited, is refused in words.
"""

from dataclasses import asdict, dataclass
import hashlib
import json
import math
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..files import damage_as_error, LARGEST_TEXT, require_file
from .network import Layer, Leash

FORMAT = 'sim2real_estimator neural weights 1'
_AGAIN = 'train it again: sim2real-estimator train BAG --config CONFIG'


@dataclass(frozen=True)
class Trained:
    """
    A trained network.

    declaration: of `Declaration.in_words`; robot: digest of the robot; centres, scales; hidden:
    `Layer`s; leash: `Leash`; width; size; means, deviations: prior of the last layer; power,
    gram: over the motion that it was trained on; off: why it is not used, '' where it is;
    mixing: as of `Network`; held_out: name -> number, what was measured.
    """

    declaration: dict
    robot: str
    centres: tuple
    scales: tuple
    hidden: tuple
    leash: Leash
    width: float
    size: float
    means: tuple
    deviations: tuple
    power: float
    gram: tuple
    off: str = ''
    mixing: tuple = ()
    held_out: dict = None


def trained_of(network, declaration, robot, off='', held_out=None):
    """Return the `Trained` of a `Network` and its `Declaration`; robot: `digest_of_robot`."""
    return Trained(
        declaration.in_words(),
        robot,
        *(network.centres, network.scales, network.hidden, network.leash, network.width),
        *(network.size, network.means, network.deviations, network.power, network.gram),
        off,
        network.mixing,
        held_out or {},
    )


def digest_of_robot(model):
    """Return a digest of the joints of a `Model`: names, kinds, axes and places."""
    entries = [
        [
            joint.name,
            type(joint.kind).__name__,
            joint.parent,
            joint.child,
            *map(_short, joint.origin),
        ]
        for joint in model.joints
    ]
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()[:16]


def write_weights(path, trained):
    """Write name -> `Trained` to a file."""
    entries = {}
    for name, each in trained.items():
        body = asdict(each)
        entries[name] = {**body, 'digest': _digest(body)}
    text = json.dumps({'format': FORMAT, 'networks': entries}, indent=1)
    Path(path).write_text(text + '\n', encoding='utf-8')


def read_weights(path, name, declaration, robot):
    """
    Return the `Trained` of a network; raise a DataError where it is for something else.

    declaration: `Declaration`; robot: `digest_of_robot` of the robot that is estimated.
    """
    require_file(path, LARGEST_TEXT)
    if not Path(path).is_file():
        raise DataError(f'{path}: there is no such file of weights; {_AGAIN}')
    with damage_as_error(path, _AGAIN):
        data = json.loads(Path(path).read_text(encoding='utf-8'))
        format_of, networks = data.get('format'), data.get('networks', {})
    if format_of != FORMAT:
        raise DataError(f'{path}: is no file of neural weights of this version; {_AGAIN}')
    if name not in networks:
        raise DataError(
            f"{path}: has no network '{name}', but {', '.join(networks) or 'none'}; {_AGAIN}"
        )
    with damage_as_error(path, _AGAIN):
        entry = dict(networks[name])
        digest = entry.pop('digest')
    if digest != _digest(entry):
        raise DataError(
            f"{path}: the numbers of '{name}' are not those that were trained (the digest "
            f'differs); {_AGAIN}'
        )
    with damage_as_error(path, _AGAIN):
        found = _read(entry)
    wanted = declaration.in_words()
    other = [key for key in wanted if wanted[key] != found.declaration.get(key)]
    if other:
        key = other[0]
        raise DataError(
            f"{path}: '{name}' was trained for {key}: {found.declaration.get(key)}, and the "
            f'config says {wanted[key]}; write the former, or {_AGAIN}'
        )
    if found.robot != robot:
        raise DataError(
            f"{path}: '{name}' was trained on another robot, with other joints; {_AGAIN}"
        )
    return found


def _read(entry):
    """Return the `Trained` of an entry of the file."""
    hidden = tuple(
        Layer(tuple(map(tuple, layer['weights'])), tuple(layer['biases']))
        for layer in entry['hidden']
    )
    leash = Leash(
        tuple((kind, place) for kind, place in entry['leash']['columns']),
        tuple(map(tuple, entry['leash']['shares'])),
    )
    lists = {key: tuple(entry[key]) for key in ('centres', 'scales', 'means', 'deviations')}
    found = Trained(
        **{
            **entry,
            **lists,
            'hidden': hidden,
            'leash': leash,
            'gram': tuple(map(tuple, entry['gram'])),
            'mixing': tuple(map(tuple, entry['mixing'])),
        }
    )
    numbers = [x for layer in hidden for row in (*layer.weights, layer.biases) for x in row]
    numbers += [*found.centres, *found.scales, *found.means, *found.deviations, found.size]
    if not all(math.isfinite(x) for x in numbers) or not np.all(np.array(found.scales) > 0):
        raise ValueError('it has numbers that are none')
    return found


def _digest(body):
    text = json.dumps(body, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _short(number):
    return format(number, '.9g')
