"""Columns as what is measured: in SI units, in order of time, and checked for both."""

from dataclasses import dataclass, replace
import math

import numpy as np

from ...errors import ConfigError, DataError
from .columns import PIXELS, PLACE_UNITS, UNITS, VELOCITY_UNITS

_NANO = 1e9
# Steps between rows that no measurement of a robot has [s]; what explains them is another unit.
_SHORTEST, _LONGEST = 2e-5, 5.0
# Nothing that is measured moves faster [rad/s, m/s] or farther [m].
_FASTEST, _FARTHEST = 100.0, 100.0
# A derivative and a velocity that differ by a factor this close to one of units differ by units.
_CLOSE = 0.1
_FACTORS = {math.degrees(1): 'deg/s', 60 / (2 * math.pi): 'rpm', 1e3: 'mm/s'}
# Quaternions are of length one, but for their digits.
_NORM = 0.05
# Steps that are so many times as long as the usual one are pauses.
_PAUSE = 20.0
# A date after 2001, and what zero is where there is none [ns].
_DATED, _ZERO = 10**18, 1_700_000_000 * 10**9


@dataclass(frozen=True)
class Stream:
    """
    What a topic tells.

    stamps [n]: in ns; joints: names; position, velocity, effort [n, joints]: in SI units, NaN
    where nothing is known, None where no column tells; place [n, 3]: in m, of a camera u, v and
    0 in pixels; quaternion [n, 4]: x, y, z, w; wrench [n, 6]: force and torque.
    """

    topic: str
    stamps: np.ndarray
    joints: tuple = ()
    position: np.ndarray | None = None
    velocity: np.ndarray | None = None
    effort: np.ndarray | None = None
    place: np.ndarray | None = None
    quaternion: np.ndarray | None = None
    wrench: np.ndarray | None = None


def streams_of(table, columns, is_trusting=False):
    """
    Return a `Stream` for every topic.

    table: a `Table`; columns: `Columns`; is_trusting: whether units that look wrong are right. A
    ConfigError or a DataError says what is wrong.
    """
    found = []
    for topic, wish in columns.topics.items():
        stream = _measured(table, topic, wish, _stamps(table, columns, topic, wish))
        if not is_trusting and wish.unit != PIXELS:
            _require_units(table, stream)
        found.append(_chosen(table, columns, wish, stream))
    earliest = min(stream.stamps[0] for stream in found)
    if columns.start is not None:
        zero = round(columns.start * _NANO)
    else:
        zero = 0 if earliest > _DATED else _ZERO
    return tuple(replace(stream, stamps=stream.stamps + zero) for stream in found)


def _chosen(table, columns, wish, stream):
    """Return the `Stream` of the rows that count."""
    formula, where = wish.where or columns.where, f'topics.{stream.topic}.where'
    where = where if wish.where else 'where'
    if not formula:
        return stream
    counts = table.numbers(formula, where) > 0
    if len(counts) != len(stream.stamps):
        raise DataError(
            f"{table.path}: '{formula}' of {where} has {len(counts)} rows, and the times of "
            f"'{stream.topic}' have {len(stream.stamps)}; give topics.{stream.topic}.where a "
            'formula of its own rows'
        )
    if counts.sum() < 2:
        raise DataError(
            f"{table.path}: '{formula}' of {where} leaves {counts.sum()} rows of "
            f"'{stream.topic}'; give one that holds for more"
        )
    parts = {name: value for name, value in vars(stream).items() if isinstance(value, np.ndarray)}
    return replace(stream, **{name: value[counts] for name, value in parts.items()})


def _stamps(table, columns, topic, wish):
    """Return the times of a topic's rows [n], in ns as the table has them."""
    is_own = bool(wish.time.column or wish.time.rate)
    time = wish.time if is_own else columns.time
    where = f'topics.{topic}.time' if is_own else 'time'
    if bool(time.column) == bool(time.rate):
        what = 'is given, and rate too' if time.column else 'is missing'
        raise ConfigError(
            f'{columns.source}: {where}.column: {what}; give the column of the times, or '
            f'{where}.rate, how many rows a second has'
        )
    if time.rate:
        rows = len(table.numbers(_any_column(table, topic, wish), f'topics.{topic}'))
        stamps = np.round(np.arange(rows) * (_NANO / time.rate)).astype(np.int64)
    else:
        stamps = table.nanoseconds(time.column, time.unit, f'{where}.column')
    if len(stamps) < 2:
        raise DataError(f"{table.path}: '{time.column}' has {len(stamps)} rows; give two at least")
    steps = np.diff(stamps)
    if (steps < 0).any():
        if time.pause is None:
            row = int(np.argmax(steps < 0))
            raise DataError(
                f"{table.path}: time goes back: '{time.column}' is {stamps[row] / _NANO:.9g} s in "
                f'row {row + 1} and {stamps[row + 1] / _NANO:.9g} s in row {row + 2}; sort the '
                'rows, or cut the table by --rows where the clock was set back; where several '
                f'recordings follow each other, give {where}.pause, the seconds between them'
            )
        # The next recording begins a pause after the last row of the one before.
        shift = np.where(steps < 0, round(time.pause * _NANO) - steps, 0)
        stamps = stamps + np.concatenate([[0], np.cumsum(shift)])
        steps = np.diff(stamps)
    step = float(np.median(steps)) / _NANO
    if not _SHORTEST <= step <= _LONGEST:
        raise DataError(
            f'{table.path}: rows follow each other after {step:.3g} s, with '
            + (f'rate {time.rate:g}' if time.rate else f"'{time.column}' in {time.unit}")
            + '; give its true unit, of s, ms, us, ns'
        )
    return stamps


def _any_column(table, topic, wish):
    """Return the name of a column that a topic has."""
    names = [*table.names(wish.position or wish.force, 2 if wish.unit == PIXELS else 3)]
    for joint in wish.joints.values():
        names += [joint.position, joint.velocity, joint.effort]
    found = next((name for name in names if name), None)
    if found is None:
        raise ConfigError(f'topics.{topic}: names no column; give joints, position or force')
    return found


def _measured(table, topic, wish, stamps):
    """Return the `Stream` of a topic."""
    where = f'topics.{topic}'
    if bool(wish.joints) + bool(wish.position) + bool(wish.force) != 1:
        raise ConfigError(f'{where}: give either joints or position or force')

    def column(name, place):
        values = table.numbers(name, place)
        if len(values) != len(stamps):
            raise DataError(
                f"{table.path}: '{name}' has {len(values)} rows, and the times of '{topic}' have "
                f'{len(stamps)}; give {where}.time the times of its own rows'
            )
        return values

    if wish.joints:
        return _joint_stream(topic, wish, stamps, column)
    if wish.force:
        return Stream(topic, stamps, wrench=_wrench(table, where, wish, column))
    is_camera = wish.unit == PIXELS
    size = 2 if is_camera else 3
    positions = table.names(wish.position, size)
    orientations = table.names(wish.orientation, 4)
    if len(positions) != size or len(orientations) not in ((0,) if is_camera else (0, 4)):
        raise ConfigError(
            f'{where}: give columns of u and v, in pixels, and no orientation'
            if is_camera
            else f'{where}: give three columns of position, and four of orientation or none; '
            f'columns of u and v, which a camera sees, have the unit {PIXELS}'
        )
    place = [column(name, f'{where}.position') for name in positions]
    turn = [column(name, f'{where}.orientation') for name in orientations]
    place += [0.0 * place[0]] * (3 - size)
    place = np.stack(place, 1) * PLACE_UNITS[wish.unit]
    quaternion = np.stack(turn, 1) if turn else None
    if turn:
        if wish.order == 'wxyz':
            quaternion = np.roll(quaternion, -1, axis=1)
        _require_unit_length(table, where, quaternion)
    return Stream(topic, stamps, place=place, quaternion=quaternion)


def _wrench(table, where, wish, column):
    """Return forces and torques [n, 6]."""
    forces, torques = table.names(wish.force, 3), table.names(wish.torque, 3)
    if len(forces) != 3 or len(torques) not in (0, 3):
        raise ConfigError(f'{where}: give three columns of force, and three of torque or none')
    found = [column(name, f'{where}.force') for name in forces]
    found += [column(name, f'{where}.torque') for name in torques]
    found += [np.zeros(len(found[0]))] * (6 - len(found))
    return np.stack(found, 1)


def _joint_stream(topic, wish, stamps, column):
    """Return the `Stream` of joints; column: function of a name and the setting that asks."""
    found = {}
    for quantity in ('position', 'velocity', 'effort'):
        if not any(getattr(joint, quantity) for joint in wish.joints.values()):
            continue
        values = np.full((len(stamps), len(wish.joints)), math.nan)
        for place, (name, joint) in enumerate(wish.joints.items()):
            if getattr(joint, quantity):
                where = f'topics.{topic}.joints.{name}.{quantity}'
                factor = _factor(quantity, joint)
                values[:, place] = factor * column(getattr(joint, quantity), where)
        found[quantity] = values
    if not found:
        raise ConfigError(f'topics.{topic}: no joint has a column; give position or effort')
    return Stream(topic, stamps, tuple(wish.joints), **found)


def _factor(quantity, joint):
    if quantity == 'effort':
        return 1.0
    if quantity == 'velocity':
        return VELOCITY_UNITS[joint.velocity_unit or f'{joint.unit}/s']
    return UNITS[joint.unit]


def _require_unit_length(table, where, quaternion):
    """Refuse what is no quaternion; all zeros and NaN are bodies that were hidden."""
    norms = np.linalg.norm(quaternion, axis=1)
    bad = (norms > 0) & (np.abs(norms - 1) > _NORM)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f'{table.path}: {where}.orientation: row {row + 1} is of length {norms[row]:.3g}, and '
            'quaternions are of length 1; give the columns of x, y, z, w'
        )


def _require_units(table, stream):
    """Refuse values that another unit would explain."""
    if stream.place is not None:
        span = np.nanmax(stream.place, 0) - np.nanmin(stream.place, 0)
        speed = _speed(stream.stamps, stream.place)
        if np.nanmax(span) > _FARTHEST or speed > _FASTEST:
            raise _wrong(table, stream, f'moves over {np.nanmax(span):.0f} m', 'mm')
    if stream.position is None:
        return
    for place, joint in enumerate(stream.joints):
        angles = stream.position[:, [place]]
        speed = _speed(stream.stamps, angles)
        if speed > _FASTEST:
            text = f"joint '{joint}' moves at up to {speed:.0f} rad/s or m/s"
            raise _wrong(table, stream, text, 'deg, or mm')
        if stream.velocity is not None:
            _require_derivative(table, stream, joint, angles[:, 0], stream.velocity[:, place])


def _require_derivative(table, stream, joint, angles, velocities):
    """Refuse velocities that are the change of positions in another unit."""
    steps = np.diff(stream.stamps) / _NANO
    means = (velocities[1:] + velocities[:-1]) / 2
    moved = np.diff(angles)
    known = np.isfinite(means) & np.isfinite(moved) & (steps <= _PAUSE * np.median(steps))
    change, reported = moved[known] @ moved[known], (means * steps)[known] @ (means * steps)[known]
    if not change or not reported:
        return
    ratio = math.sqrt(reported / change)
    for factor, unit in _FACTORS.items():
        for measured, wrong in ((ratio, unit), (1 / ratio, 'rad/s or m/s')):
            if abs(measured / factor - 1) < _CLOSE:
                text = f"joint '{joint}' moves at 1/{ratio:.3g} of its velocities"
                raise _wrong(table, stream, text, wrong, 'velocity_unit')


def _wrong(table, stream, text, unit, setting='unit'):
    return DataError(
        f"{table.path}: topic '{stream.topic}': {text}; these are probably {unit}: set "
        f'`{setting}` in topics, or say by --trust-units that they are right'
    )


def _speed(stamps, values):
    """Return the median of the upper tenth of speeds [1/s]: noise is faster, but not for long."""
    steps = np.diff(stamps) / _NANO
    moved = np.linalg.norm(np.diff(values, axis=0), axis=1)
    sound = (steps > 0) & np.isfinite(moved)
    speeds = np.sort(moved[sound] / steps[sound])
    return float(np.median(speeds[-max(1, len(speeds) // 10) :])) if len(speeds) else 0.0
