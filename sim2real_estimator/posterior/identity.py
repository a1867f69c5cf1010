"""Which robot, coordinates, estimator and data a posterior is of, and what differs in another."""

from dataclasses import dataclass, is_dataclass, replace
import hashlib
import json

import numpy as np

from ..errors import DataError
from ..spatial.rotation import Rotation

# So many differences are named; the rest is counted.
_NAMED = 4
# As many digits as survive another machine's sine and cosine.
_DIGITS = '.12g'


@dataclass(frozen=True)
class Recording:
    """Data that a posterior knows: first: digest of the first frame; the span of their stamps."""

    first: str
    begin_ns: int
    end_ns: int

    @staticmethod
    def begun(frame):
        """Return the recording that begins with a frame."""
        digest = hashlib.blake2b(digest_size=8)
        for sample in frame.samples:
            digest.update(f'{sample.sensor} {sample.stamp_ns}'.encode())
            digest.update(np.ascontiguousarray(sample.values).tobytes())
        return Recording(digest.hexdigest(), frame.start_ns, frame.end_ns)

    def until(self, frame):
        """Return the recording with one more frame."""
        return replace(self, end_ns=frame.end_ns)


def describe(problem, estimator):
    """Return all that has to be the same for a posterior to fit, as JSON."""
    model = describe_model(problem.parameters)
    text = json.dumps(model, sort_keys=True)
    return {
        'model_hash': hashlib.sha256(text.encode()).hexdigest(),
        'model': model,
        'parameters': [
            *problem.parametrization.names,
            *(f'{name}.noise' for name in problem.noises),
        ],
        'coordinates': list(problem.labels),
        'state_size': problem.point_size,
        'estimator': {'name': estimator.name, **_plain(vars(estimator))},
    }


def describe_model(parameters):
    """Return the canonical text of a robot, entry by entry: its joints and nominal values."""
    model = parameters.model
    entries = {'base link': model.base}
    for joint in model.joints:
        entries[f"joint '{joint.name}'"] = _joint_in_words(joint)
    for joint, other in model.couplings:
        entries[f"coupling of joint '{joint}'"] = f"with '{other}'"
    for pair in model.contacts:
        entries[f"contact '{pair.name}'"] = _contact_in_words(pair)
    for name, parameter in parameters.items():
        if parameter.is_described:
            entries[f"parameter '{name}'"] = _number(parameter.nominal)
    return entries


def require_same(then, now, where, goes_on=False):
    """
    Raise a DataError where a posterior is of another robot or in other coordinates.

    then: identity of the posterior; now: of what it is to be used with; where: the latter in
    words; goes_on: whether the estimator has to be the same too, and with the same settings.
    """
    differing = _differences(then['model'], now['model'])
    if differing:
        raise DataError(
            f'the posterior is of another robot than {where}: {_in_words(differing, where)}; '
            'use it with the robot description it has been estimated with'
        )
    for key in ('parameters', 'coordinates'):
        if then[key] != now[key]:
            others = sorted(set(then[key]) ^ set(now[key])) or then[key]
            raise DataError(
                f'the posterior has other {key} than {where}: {", ".join(others[:_NAMED])}; '
                'estimate the same parameters with the same sensors'
            )
    if not goes_on:
        return
    differing = _differences(then['estimator'], now['estimator'])
    if differing:
        raise DataError(
            f'the posterior is of another estimator than {where}: '
            f'{_in_words(differing, where)}; use the same settings to go on'
        )
    if then['state_size'] != now['state_size']:
        raise DataError(
            f'a state has {then["state_size"]} numbers in the posterior and '
            f'{now["state_size"]} in {where}; describe the efforts on the joints alike'
        )


def _differences(then, now):
    """Return [(name, value then, value now)]; None: there is none."""
    names = [*now, *(name for name in then if name not in now)]
    pairs = ((name, then.get(name), now.get(name)) for name in names)
    return [(name, a, b) for name, a, b in pairs if a != b]


def _in_words(differences, where):
    parts = []
    for name, then, now in differences[:_NAMED]:
        if now is None:
            parts.append(f'{name} is not in {where}')
        elif then is None:
            parts.append(f'{name} is in {where} only')
        else:
            parts.append(f'{name} was {then} and is {now}')
    more = len(differences) - _NAMED
    return ', '.join(parts) + (f', and {more} more' if more > 0 else '')


def _joint_in_words(joint):
    """Return all of a joint that is no parameter."""
    kind = joint.kind
    axes = [_numbers(axis) for group in kind.groups for axis in group.axes]
    parts = [
        f'{kind.type_name} from {joint.parent} to {joint.child}',
        f'rotation {" ".join(_numbers(row) for row in joint.rotation.rows)}',
        f'actuator {joint.actuator.type_name}',
    ]
    if axes:
        parts.append(f'axes {" ".join(axes)}')
    if joint.mimic:
        mimic = joint.mimic
        factors = _numbers((mimic.multiplier, mimic.offset))
        parts.append(f'follows {mimic.source} by {factors}')
    return '; '.join(parts)


def _contact_in_words(pair):
    """Return all of a pair of links that can touch that is no parameter."""
    shapes = (_shape_in_words(shape) for shape in (*pair.shapes, *pair.other_shapes))
    return f'{pair.law.name} between {pair.first} and {pair.second}: {", ".join(shapes)}'


def _shape_in_words(shape):
    """Return the kind of a shape and its numbers."""
    parts = [type(shape).__name__]
    for value in vars(shape).values():
        if isinstance(value, Rotation):
            parts += [_numbers(row) for row in value.rows]
        elif isinstance(value, tuple):
            rows = value if value and isinstance(value[0], tuple) else (value,)
            parts += [_numbers(row) for row in rows]
        else:
            parts.append(_number(value))
    return ' '.join(parts)


def _numbers(values):
    return f'({" ".join(_number(value) for value in values)})'


def _number(value):
    # Adding zero makes -0 the same as 0.
    return format(float(value) + 0.0, _DIGITS)


def _plain(value):
    """Return settings as JSON."""
    if is_dataclass(value):
        return {'kind': type(value).__name__, **_plain(vars(value))}
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
