"""
Make a `Network` of its declaration, over a motion that it refers to.

`declared` is the main function. The reference motion says in which units inputs are scaled, what a
feature of size one is, and what of a feature the estimated physics has a column for: by least
squares over it features are made orthogonal to these columns (`Leash`), so that the network
explains nothing that a parameter of the physics does. Before training hidden layers are random,
and stay so: tanh units at random places, of random directions and widths (random features; Rahimi
and Recht 2007), of which the output weights choose.
"""

from dataclasses import dataclass, replace
import hashlib
import json

import numpy as np

from ..errors import ConfigError
from .network import LAWS, Layer, Leash, leash_column, MODES, MOST_UNITS, Network, Samples
from .sites import CONTACT_INPUTS, FRICTION_SITES, INPUTS, joint_of, SITES

# Units of a random layer have a slope of about this at their middle, per half a range of inputs.
_SLOPES = (1.0, 6.0)
# Of a feature that the physics explains up to this part, nothing is left but rounding.
_NOTHING_LEFT = 1e-9
# What gravity explains but for this part is gravity; the columns that ask for it.
_SAME, _OF_GRAVITY = 1e-3, ('sine', 'cosine')
_NAME = 'letters, digits and _'
MOST_LAYERS = 3
# Hidden layers enter the digest with so many digits.
_DIGITS = '.12g'


@dataclass(frozen=True)
class Declaration:
    """
    A network as a config declares it.

    name; at: its site; mode; law; inputs: names; hidden: units of each layer; sd: prior standard
    deviation of the output, in the unit of the site, or relative where it scales; is_estimated:
    whether its last layer is estimated.
    """

    name: str
    at: str
    mode: str = 'add'
    law: str = 'free'
    inputs: tuple = ()
    hidden: tuple = (8,)
    sd: float = 1.0
    is_estimated: bool = True

    def in_words(self):
        """Return what has to be the same for hidden layers to fit: name -> value."""
        return {
            'at': self.at,
            'mode': self.mode,
            'law': self.law,
            'inputs': list(self.inputs),
            'hidden': list(self.hidden),
        }


@dataclass(frozen=True)
class Reference:
    """
    A motion that a network refers to, of N samples.

    values: input -> [N]; working [N]: effort of the joint per unit of the site's quantity, one
    where that is an effort; power: mean square of the total effort at the joint; gravity [N, G]:
    what efforts of gravity on the joint are a linear combination of.
    """

    values: dict
    working: np.ndarray
    power: float
    gravity: np.ndarray


def require_possible(declaration):
    """Raise a ConfigError where a `Declaration` contradicts itself; the robot is not looked at."""
    wish, path = declaration, f'neural.{declaration.name}'
    if not wish.name.replace('_', '').isalnum():
        raise ConfigError(f"{path}: is named '{wish.name}'; use {_NAME}")
    joint, quantity = joint_of(wish.at)
    if not joint or quantity not in SITES:
        raise ConfigError(
            f"{path}.at: is '{wish.at}'; give JOINT.quantity, the latter one of {', '.join(SITES)}"
        )
    for setting, value, choices in (('mode', wish.mode, MODES), ('law', wish.law, LAWS)):
        if value not in choices:
            raise ConfigError(
                f"{path}.{setting}: is '{value}'; choose one of {', '.join(choices)}"
            )
    if not wish.inputs or len(set(wish.inputs)) < len(wish.inputs):
        raise ConfigError(f'{path}.inputs: give at least one quantity, and each of them once')
    for name in wish.inputs:
        if joint_of(name)[1] not in {**INPUTS, **CONTACT_INPUTS}:
            raise ConfigError(
                f"{path}.inputs: '{name}' is no input; give JOINT.quantity, the latter one of "
                f'{", ".join(INPUTS)}, or of a contact PAIR.quantity: {", ".join(CONTACT_INPUTS)}'
            )
    if not 1 <= len(wish.hidden) <= MOST_LAYERS or not all(
        1 <= units <= MOST_UNITS for units in wish.hidden
    ):
        raise ConfigError(
            f'{path}.hidden: is {list(wish.hidden)}; give the units of 1 to {MOST_LAYERS} layers, '
            f'1 to {MOST_UNITS} of each'
        )
    if wish.law == 'conservative' and (
        wish.inputs != (f'{joint}.position',) or (quantity, wish.mode) != ('effort', 'add')
    ):
        raise ConfigError(
            f'{path}.law: an effort that comes of a potential is added at JOINT.effort and '
            f'depends on the position of this joint alone: write at: {joint}.effort, mode: add, '
            f'inputs: [{joint}.position], or choose another law'
        )
    if wish.law == 'dissipative':
        _require_dissipative(wish, path, joint, quantity)


def _require_dissipative(wish, path, joint, quantity):
    """Raise a ConfigError where nothing of the site can be a loss of energy."""
    if quantity in ('torque_offset', 'stiffness'):
        raise ConfigError(
            f'{path}.law: {quantity} takes no energy; write at: {joint}.effort, or law: free'
        )
    if quantity.endswith('effort') and f'{joint}.velocity' not in wish.inputs:
        raise ConfigError(
            f'{path}.inputs: an effort that only takes energy is against the velocity: add '
            f'{joint}.velocity'
        )
    if quantity.endswith('effort') and wish.mode == 'scale':
        raise ConfigError(
            f'{path}.mode: what scales an effort can give energy; write mode: add, or law: free'
        )


def declared(declaration, reference, leash, width, layers=None):
    """
    Return the `Network` of a `Declaration`.

    reference: `Reference`; leash: pairs (member of LEASHES, name of an input or '') of what the
    estimated physics has columns for; width: velocity over which the sign of friction changes;
    layers: hidden `Layer`s that were trained, None: random ones.
    """
    wish, (joint, _) = declaration, joint_of(declaration.at)
    samples = [np.asarray(reference.values[name], dtype=float) for name in wish.inputs]
    velocity = f'{joint}.velocity'
    place = wish.inputs.index(velocity) if velocity in wish.inputs else None
    centres, scales = zip(*map(_middle_and_half, samples))
    if wish.law == 'dissipative' and place is not None:
        # Its size alone enters.
        centres = _with(centres, place, centres[place] * 0.0)
        scales = _with(scales, place, float(np.abs(samples[place]).max()) or 1.0)
    is_trained = layers is not None
    if not is_trained:
        is_even = place if wish.law == 'dissipative' else None
        layers = _random_layers(wish, len(samples), is_even)
    network = Network(
        *(wish.name, wish.at, wish.mode, wish.law, tuple(wish.inputs)),
        *(centres, scales, layers),
        velocity=place,
        width=width,
        sd=wish.sd,
        is_estimated=wish.is_estimated,
        is_trained=is_trained,
    )
    network = referred(network, reference, leash)
    return replace(network, digest=digest_of(network))


def referred(network, reference, leash):
    """Return a `Network` with leash, size of features, prior and gram of a `Reference` motion."""
    values = [
        np.asarray(reference.values[name], dtype=float).view(Samples) for name in network.inputs
    ]
    working = np.asarray(reference.working, dtype=float)[:, None]
    plain = replace(network, leash=Leash(), size=1.0)
    features = _stacked(plain.features(values), len(working))
    before = np.sqrt(((features * working) ** 2).mean(0))
    if not before.any():
        raise ConfigError(
            f'neural.{network.name}: what it scales, {network.site}, is zero in the robot '
            'description; write mode: add'
        )
    if network.law != 'dissipative' and network.mode != 'replace' and leash:
        pairs = tuple(
            (kind, network.inputs.index(name) if name else 0)
            for kind, name in leash
            if (not name or name in network.inputs)
            and not (kind in _OF_GRAVITY and not _is_of_gravity(kind, name, reference))
        )
        if pairs:
            columns = [leash_column(kind, values[place], network.width) for kind, place in pairs]
            columns = _stacked(columns, len(working))
            shares = np.linalg.lstsq(columns * working, features * working, rcond=1e-9)[0]
            features = features - columns @ shares
            plain = replace(plain, leash=Leash(pairs, tuple(map(tuple, shares.T.tolist()))))
    left = np.sqrt(((features * working) ** 2).mean(0))
    if (left <= _NOTHING_LEFT * np.maximum(before, 1e-300)).all():
        raise ConfigError(
            f'neural.{network.name}: over its inputs the estimated physics explains all that it '
            'could add; give it other inputs'
        )
    size = 1.0 / float(np.sqrt((features**2).mean()))
    efforts = size * features * working
    count = network.count
    return replace(
        plain,
        size=size,
        means=network.means or (0.0,) * count,
        deviations=network.deviations or (network.sd / count**0.5,) * count,
        power=float(reference.power),
        gram=tuple(map(tuple, (efforts.T @ efforts / len(working)).tolist())),
    )


def _is_of_gravity(kind, name, reference):
    """
    Tell whether gravity can be the sine or cosine of an input, and nothing else beside it.

    So it is of a pendulum; of a joint whose axis others turn it also depends on theirs.
    """
    wanted = _stacked(
        [leash_column(kind, reference.values[name].view(Samples), 1.0)], len(reference.gravity)
    )
    found = np.linalg.lstsq(reference.gravity, wanted, rcond=1e-9)[0]
    left = wanted - reference.gravity @ found
    return bool((left**2).sum() < _SAME**2 * (wanted**2).sum())


def leash_of(declaration, is_estimated, is_rotation=True):
    """
    Return the leash of a `Declaration`: pairs (member of LEASHES, name of an input or '').

    is_estimated: function that tells of a parameter's name, or of 'gravity' for masses and
    centres, whether it is estimated; is_rotation: whether the joint turns.
    """
    joint, quantity = joint_of(declaration.at)
    if quantity in FRICTION_SITES or quantity == 'stiffness':
        return (('one', ''),) if is_estimated(declaration.at) else ()
    pairs = [('one', '')] if is_estimated(f'{joint}.torque_offset') else []
    for name in declaration.inputs:
        owner, kind = joint_of(name)
        if kind == 'velocity' and owner == joint:
            pairs += [('linear', name)] if is_estimated(f'{joint}.damping') else []
            pairs += [('sign', name)] if is_estimated(f'{joint}.friction') else []
        if kind == 'position' and is_estimated('gravity') and is_rotation:
            pairs += [('sine', name), ('cosine', name)]
        if kind == 'position' and owner == joint and is_estimated(f'{joint}.stiffness'):
            pairs += [('linear', name)]
        if kind == 'load' and is_estimated('gravity'):
            pairs += [('linear', name)]
        if kind == 'command' and owner == joint and is_estimated(f'{joint}.gain'):
            pairs += [('linear', name)]
    return tuple(pairs)


def digest_of(network):
    """Return a digest of a `Network` without its name, output weights and their prior."""
    numbers = [
        [[_rounded(row) for row in (*layer.weights, layer.biases)] for layer in network.hidden],
        [list(network.leash.columns), [_rounded(row) for row in network.leash.shares]],
        [_rounded(row) for row in network.mixing],
        [_rounded(row) for row in (network.centres, network.scales, (network.size,))],
    ]
    about = [network.site, network.mode, network.law, network.inputs, network.width]
    return hashlib.sha256(json.dumps([about, numbers]).encode()).hexdigest()[:16]


def _rounded(row):
    return [format(x, _DIGITS) for x in row]


def _random_layers(declaration, count, is_even):
    """
    Return hidden layers of random tanh units of scaled inputs, the same for the same declaration.

    is_even: place of the input that is a size, from 0 to 1, None if all are from -1 to 1.
    """
    text = json.dumps([declaration.name, declaration.in_words()])
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'big')
    generator, layers = np.random.default_rng(seed), []
    low = np.array([0.0 if k == is_even else -1.0 for k in range(count)])
    for units in declaration.hidden:
        directions = generator.standard_normal((units, count))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        slopes = np.exp(generator.uniform(*np.log(_SLOPES), (units, 1)))
        weights = slopes * directions
        places = generator.uniform(low, 1.0, (units, count))
        biases = -(weights * places).sum(1)
        layers.append(Layer(tuple(map(tuple, weights.tolist())), tuple(biases.tolist())))
        count, low = units, np.full(units, -1.0)
    return tuple(layers)


def _middle_and_half(values):
    """Return the middle and half the width of a range of values."""
    low, high = float(values.min()), float(values.max())
    return (low + high) / 2, (high - low) / 2 or 1.0


def _with(values, place, new):
    return tuple(new if k == place else x for k, x in enumerate(values))


def _stacked(columns, count):
    """Return scalars, some of which are constant, as an array [N, .]."""
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), count) for x in columns], 1)
