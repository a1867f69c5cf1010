"""Arrays in, a result out: `identify_arrays`, for who has measurements in Python."""

from dataclasses import replace
from pathlib import Path
import tempfile

import numpy as np

from ..bags.writer import BagWriter
from ..config.settings_tree import PriorConfig
from ..errors import ConfigError, DataError
from ..messages import serialized, TypestoreMaker
from ..model.urdf.load import load_urdf
from ..setup.observed import SeenJoint, SeenTopic
from ..setup.starter import started
from .identification.run import identify

_NANO = 10**9
_JOINT_STATE, _TOPIC = 'sensor_msgs/msg/JointState', '/joint_states'
# The time at which a clock that begins at zero began [s since 1970]; any other would do.
_BEGIN = 1_700_000_000


def identify_arrays(
    t,
    q,
    tau=None,
    *,
    model,
    priors=None,
    joints=None,
    effort=None,
    held_out=0.2,
    output=None,
    force=False,
    trust_units=False,
):
    """
    Return the `Identification` of a robot from what its joints measured.

    t [T]: times [s], increasing; q [T, n]: positions [rad or m]; tau [T, n]: torques [N m or N],
    None or NaN where nobody knows them; n may be left out where there is one joint. model: path
    of the URDF, or its text; joints: the n names of the columns, by default those of all joints
    that move, in the order of the URDF's tree. priors: name or pattern -> {} for the usual prior,
    a pair (mean, sd), or the settings of a prior, such as {'fixed': True}; they override the usual
    ones. effort: 'measured', 'commanded', 'none' or 'unknown', by default as the arrays look.
    held_out: share at the end that is predicted instead of used; output: folder for the result,
    None: nothing is written; force: replace it; trust_units: accept units that look wrong.
    """
    times, names, positions, efforts = _checked(t, q, tau, _names(model, joints))
    topic = SeenTopic(
        _TOPIC,
        len(times),
        0.0,
        True,
        {name: SeenJoint(times, positions[:, k], efforts[:, k]) for k, name in enumerate(names)},
    )
    described = model if _is_text(model) else str(Path(model).resolve())
    config, _, _ = started(
        model, described, effort=effort, is_trusting=trust_units, topics=(topic,)
    )
    estimate = dict(config.estimate)
    for name, prior in (priors or {}).items():
        estimate.pop(name, None)  # Later ones override earlier ones.
        estimate[name] = _prior(name, prior)
    config = replace(config, estimate=estimate)
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder, 'arrays')
        _write(bag, times, names, positions, efforts)
        options = {'force': force, 'trust_units': trust_units}
        return identify(bag, config, output, held_out=held_out, **options)


def _is_text(model):
    """Tell whether a model is the text of a URDF; a ConfigError where it is no path either."""
    if not isinstance(model, (str, Path)):
        raise ConfigError(
            f'model: is a {type(model).__name__}; give the path of the URDF, or its text'
        )
    return isinstance(model, str) and model.lstrip().startswith('<')


def _names(model, joints):
    """Return the names of the columns, which must be of joints with one position."""
    _is_text(model)
    robot = load_urdf(model, inertia_check='mend')
    moving = [m.joint for m in robot.moving_joints if m.is_independent]
    single = [joint.name for joint in moving if joint.kind.position_size == 1]
    if joints is None:
        return single
    for name in joints:
        if name not in single:
            raise ConfigError(
                f"joints: '{name}' is no joint that moves and has one position; there are "
                f'{", ".join(single)}'
            )
    return list(joints)


def _checked(t, q, tau, names):
    """Return (times [T], names, positions [T, n], efforts [T, n]) of arrays that fit together."""
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or len(times) < 2:
        raise DataError(f't: has shape {times.shape}; give one time for each row, at least two')
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise DataError('t: has to increase from row to row, and to be finite')
    tables = {}
    for name, given in (('q', q), ('tau', tau)):
        table = np.full((len(times), len(names)), np.nan) if given is None else given
        table = np.asarray(table, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        if table.shape != (len(times), len(names)):
            raise DataError(
                f'{name}: has shape {table.shape}; give {len(times)} rows, as t has, of '
                f'{len(names)} columns: {", ".join(names)}. Other joints: joints=[...]'
            )
        tables[name] = table
    return times, names, tables['q'], tables['tau']


def _prior(name, given):
    """Return the `PriorConfig` of what a caller gives."""
    if isinstance(given, PriorConfig):
        return given
    try:
        if isinstance(given, dict):
            return PriorConfig(**given)
        mean, sd = given
        return PriorConfig(mean=float(mean), sd=float(sd), log=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"priors: '{name}' is {given!r}; give {{}}, a pair (mean, sd), or settings such as "
            "{'mean': 1.0, 'sd': 0.1, 'log': True}"
        ) from error


def _write(path, times, names, positions, efforts):
    """Write joint states as a recording."""
    make, header = TypestoreMaker(_JOINT_STATE), TypestoreMaker('std_msgs/msg/Header')
    moment = TypestoreMaker('builtin_interfaces/msg/Time')
    # A clock that begins at zero would begin in 1970, which `identify` takes for one never set.
    begin = 0.0 if times[0] > _BEGIN / 2 else _BEGIN
    with BagWriter(path) as bag:
        for k, time in enumerate(times.tolist()):
            # Seconds apart: a float of both has not the digits.
            seconds, rest = divmod(round((time - int(time)) * _NANO), _NANO)
            stamp = moment(sec=int(time) + int(begin) + seconds, nanosec=rest)
            content = make(
                header=header(stamp=stamp),
                name=names,
                position=positions[k],
                effort=efforts[k],
            )
            at = stamp.sec * _NANO + stamp.nanosec
            bag.write(_TOPIC, _JOINT_STATE, at, serialized(content))
