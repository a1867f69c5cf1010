"""
What a robot's own messages tell of its settings, before anything is estimated.

`observed_joints` is the main function: from samples of the joints of a recording it decides which
joints move, stand still or are never heard of, who knows their efforts and in what unit, how noisy
and how coarse the encoders are, and how steadily messages come. Each decision has its reason as a
sentence, for the config and for the person who reads it.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
import math

import numpy as np

from ..dynamics.energy import kinetic_energy, potential_energy
from ..dynamics.rnea import inverse_dynamics
from ..errors import ConfigError
from ..model.parameters import Parameters
from ..model.robot import realize

# A pause this many times as long as usual ends a stretch of samples.
_PAUSE = 5.0
# Differences of the fourth order of white noise are so many times as large as it.
_OF_FOURTH = math.sqrt(70.0)
_TO_SD = 1.4826
# Noise is that of the quietest part of windows of so many samples: elsewhere the joint moves.
_WINDOW, _QUIET = 50, 0.2
# Values that differ by less are one value [rad or m]; noise is never called smaller.
_SAME, _LEAST_SD = 1e-9, 1e-6
# A joint that keeps within this span does not move [rad or m], and its zero is the URDF's.
_STILL, _AT_ZERO = 1e-3, 1e-2
# Inverse dynamics and energy are computed at so many instants at most, from motion that is
# averaged over these times [s]: accelerations need more than velocities.
_INSTANTS, _AVERAGED, _BRIEFLY = 400, 0.06, 0.015
# A unit is another one if the description's torques explain this share of what is reported, and
# what is reported is so many times smaller or larger.
_EXPLAINED, _OTHER_UNIT = 0.6, 3.0
# Noise of torques as a part of the largest: that of recorded drives is .001 to .07.
_COMPUTED = 1e-5
# Nothing drives a robot whose energy, by its description, never rises by more than this part of
# how much it varies, and which turns this part of its height into speed. Of recorded pendulums
# that swing freely it rises by .12 and .43, of driven robots by .82 to 1.
_RISE, _SWING = 0.6, 0.3
# Mechanisms of so few joints may be light enough to follow their torque.
_LIGHT = 3
_BEST_EFFORT = 'published best effort'


@dataclass(frozen=True)
class SeenJoint:
    """
    Samples of a joint on one topic.

    stamps [s]; positions [rad or m], efforts [T]; NaN where a message has none.
    """

    stamps: np.ndarray
    positions: np.ndarray
    efforts: np.ndarray


@dataclass(frozen=True)
class SeenTopic:
    """
    A topic of joint states.

    name; count: of its messages; late: how old its messages are when they come, median [s];
    is_reliable: how it is published, None where nobody knows; joints: name -> `SeenJoint`.
    """

    name: str
    count: int
    late: float
    is_reliable: bool | None
    joints: dict


@dataclass
class ObservedJoints:
    """
    What a recording says about the settings.

    efforts: joint -> 'measured', 'unknown', 'none' or 'driven'; fixed: joints that are welded;
    sensors: topic -> (joints, sd of the noise); effort_topic: '' where nobody reports any; gains:
    joint -> gain of its torque where its unit is another one; estimator: its name, '' for the
    usual one; gap, hold, lateness: of frames and efforts [s], None as by default; reasons: path
    of a setting -> why; remarks: sentences about the whole; warnings: what to mend first;
    noiseless: joints whose efforts have no noise.
    """

    efforts: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    sensors: dict = field(default_factory=dict)
    effort_topic: str = ''
    gains: dict = field(default_factory=dict)
    estimator: str = ''
    gap: float | None = None
    hold: float | None = None
    lateness: float | None = None
    reasons: dict = field(default_factory=dict)
    remarks: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    noiseless: list = field(default_factory=list)


def observed_joints(model, topics, patterns=()):
    """
    Return the `ObservedJoints` of the joints of a model by the topics of a recording.

    topics: `SeenTopic`s, () without a recording; patterns: of the joints to estimate, () for all.
    """
    found = ObservedJoints()
    joints = [m.joint for m in model.moving_joints if m.is_independent]
    wanted = _wanted(joints, patterns)
    where = _heard(joints, topics)
    for joint in joints:
        topic = where.get(joint.name)
        seen = topic.joints[joint.name] if topic else None
        if joint.name in wanted and (seen is not None or not topics):
            continue
        if joint.kind.position_size != 1:
            continue
        _set_aside(found, joint.name, seen, joint.name in wanted, bool(topics))
    if topics:
        _observe_encoders(found, where)
        _observe_efforts(found, model, where)
        _observe_pace(found, where)
    return found


def _wanted(joints, patterns):
    """Return the joints that match a pattern; a ConfigError where one matches none."""
    names = [joint.name for joint in joints]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(
                f"--joints: '{pattern}' matches no joint that moves; the robot has "
                f'{", ".join(names)}'
            )
    return {n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns)}


def _heard(joints, topics):
    """Return joint -> the `SeenTopic` that tells its position; of several the one with most."""
    found = {}
    names = {joint.name for joint in joints if joint.kind.position_size == 1}
    for topic in sorted(topics, key=lambda each: -len(names & set(each.joints))):
        for name, seen in topic.joints.items():
            if name in names and np.isfinite(seen.positions).any():
                found.setdefault(name, topic)
    if topics and not found:
        spoken = sorted({name for topic in topics for name in topic.joints})
        raise ConfigError(
            f'no message speaks of a joint of the robot description: they speak of '
            f'{", ".join(spoken) or "none"}, it has {", ".join(sorted(names))}; give the URDF of '
            'this robot, or rename joints in one of both'
        )
    return found


def _set_aside(found, name, seen, is_wanted, has_data):
    """Weld a joint that is not to be estimated, or say that its motion is just measured."""
    path = f'joints.{name}'
    if seen is None:
        found.fixed[name] = (
            'no message tells its position: taken as welded at zero'
            if has_data
            else 'not among --joints: taken as welded at zero; where it moves or stands '
            'elsewhere, take it out here and give it effort: driven under joints'
        )
        if has_data and is_wanted:
            found.warnings.append(f'{name}: {found.fixed[name]}')
        return
    positions = seen.positions[np.isfinite(seen.positions)]
    if np.ptp(positions) < _STILL and abs(np.median(positions)) < _AT_ZERO:
        found.fixed[name] = 'not among --joints, and it stands at zero'
        return
    found.efforts[name] = 'driven'
    found.reasons[path] = (
        f'not among --joints, and it is measured from {positions.min():.3g} to '
        f'{positions.max():.3g}: its motion is taken as it is'
    )


def _observe_encoders(found, where):
    """Say which topics measure which joints, and how well."""
    by_topic = {}
    for name, topic in where.items():
        if name not in found.fixed:
            by_topic.setdefault(topic.name, (topic, []))[1].append(name)
    for number, (topic, names) in enumerate(by_topic.values()):
        sds, steps = [], []
        for name in names:
            sd, step = noise_of(topic.joints[name].stamps, topic.joints[name].positions)
            sds.append(sd)
            steps.append(step)
        sd = float(f'{max(float(np.median(sds)), _LEAST_SD):.2g}')
        found.sensors[topic.name] = (tuple(names), sd)
        period, scatter = pace_of(topic.joints[names[0]].stamps)
        text = f'{topic.count} messages at {1 / period:.4g} Hz'
        text += f', {_BEST_EFFORT}' if topic.is_reliable is False else ''
        text += f'; time between two varies by {100 * scatter:.0f} %' if scatter > 0.1 else ''
        text += f'; noise of positions from {min(sds):.1g} to {max(sds):.1g}'
        coarse = [step for step in steps if step]
        if coarse:
            text += f', in steps of {min(coarse):.2g} to {max(coarse):.2g}'
        found.reasons[f'sensors.{sensor_name(number)}'] = text
        still = [n for n in names if np.nanmax(_span(topic.joints[n].positions)) < _STILL]
        if still:
            text = f'{", ".join(still)} did not move: nothing is learned of what only they move'
            found.remarks.append(text)


def sensor_name(number):
    """Return the name of the sensor of a topic, by its number from 0."""
    return 'encoders' if number == 0 else f'encoders_{number + 1}'


def _span(values):
    finite = values[np.isfinite(values)]
    return np.ptp(finite) if len(finite) else 0.0


def _observe_efforts(found, model, where):
    """Say who knows the effort on each joint, and in what unit."""
    reports = {
        name: kind_of_efforts(topic.joints[name].efforts)
        for name, topic in where.items()
        if name not in found.fixed
    }
    topics = [where[name].name for name, kind in reports.items() if kind == 'reported']
    found.effort_topic = max(dict.fromkeys(topics), key=topics.count, default='')
    is_passive = not topics and _is_passive(model, where, found)
    for name, kind in reports.items():
        if name in found.efforts:
            continue
        path = f'joints.{name}'
        efforts = where[name].joints[name].efforts
        if kind == 'reported' and where[name].name == found.effort_topic:
            found.efforts[name] = 'measured'
            limits = np.nanmin(efforts), np.nanmax(efforts)
            found.reasons[path] = f'effort from {limits[0]:.3g} to {limits[1]:.3g}'
            noise, _ = noise_of(where[name].joints[name].stamps, efforts)
            if noise < _COMPUTED * max(map(abs, limits)):
                found.reasons[path] += ', without any noise'
                found.noiseless.append(name)
            _observe_limit(found, model, name, limits)
        elif is_passive:
            found.efforts[name] = 'none'
            found.reasons[path] = (
                f'effort is {kind}, and the energy of the robot only falls: nothing drives it; '
                'where something does, and nobody reports it: unknown'
            )
        else:
            found.efforts[name] = 'unknown'
            found.reasons[path] = (
                f'effort is {kind}: nobody reports it'
                if kind != 'reported'
                else f'its effort is on {where[name].name}, those of most joints on '
                f'{found.effort_topic}: one topic can be read'
            )
    if found.effort_topic:
        _observe_units(found, model, where)


def kind_of_efforts(efforts):
    """Return 'reported', or why efforts say nothing: 'absent', 'zero' or 'constant'."""
    finite = efforts[np.isfinite(efforts)]
    if not len(finite):
        return 'absent'
    if np.ptp(finite) < _SAME:
        return 'zero' if abs(finite[0]) < _SAME else 'constant'
    return 'reported'


def _observe_limit(found, model, name, limits):
    """Warn of an effort that is far beyond what the description says the joint can give."""
    limit, largest = model.joint(name).limits.effort, max(abs(each) for each in limits)
    if limit and largest > _OTHER_UNIT * limit:
        found.warnings.append(
            f'{name}: its effort reaches {largest:.3g}, and the robot description allows '
            f'{limit:.3g} N m: perhaps it is in mA, in per mille or at the motor; convert it'
        )


def _observe_units(found, model, where):
    """Compare what is reported with the torques of the description, joint by joint."""
    motion = _motion(model, where, found, _AVERAGED)
    if motion is None:
        return
    stamps, q, v, a = motion
    robot, ratios = realize(Parameters(model), {}), {}
    rows = zip(q.tolist(), v.tolist(), a.tolist())
    torques = np.array([inverse_dynamics(robot, *row) for row in rows], dtype=float)
    for moving in model.moving_joints:
        name = moving.joint.name
        if found.efforts.get(name) != 'measured':
            continue
        k = moving.velocities.start
        seen = where[name].joints[name]
        good = np.isfinite(seen.efforts)
        reported = np.interp(stamps, seen.stamps[good], seen.efforts[good])
        ratio, share = ratio_of(torques[:, k], v[:, k], reported)
        ratios[name] = ratio if share > _EXPLAINED else None
    _tell_units(found, ratios)
    independent = [m.joint.name for m in model.moving_joints if m.is_independent]
    unexplained = [name for name, ratio in ratios.items() if ratio is None]
    if len(independent) <= _LIGHT and unexplained and len(ratios) == len(independent):
        found.estimator = 'multiple_shooting'
        found.reasons['estimator.name'] = (
            f'a mechanism of so few joints, and the description does not explain the torque of '
            f'{", ".join(unexplained)}: it follows its torque, rather than a servo, so its motion '
            'is what tells; where it is a stiff arm: auto'
        )


def _tell_units(found, ratios):
    """
    Say which efforts are in N m, give the others a gain, or leave them out.

    ratios: joint -> what it reports over the torque of the description, None where that explains
    too little of it.
    """
    is_usual = {name: r and 1 / _OTHER_UNIT < r < _OTHER_UNIT for name, r in ratios.items()}
    for name, ratio in ratios.items():
        path = f'joints.{name}'
        times = ratio and f'{ratio:.2g} times the torque of the robot description'
        if ratio is None:
            others = [each for each, r in ratios.items() if r and not is_usual[each]]
            if others:
                found.efforts[name] = 'unknown'
                found.reasons[path] += (
                    f'; not used: it does not tell its unit, and that of {", ".join(others)} is '
                    'not N m'
                )
        elif is_usual[name]:
            found.reasons[path] += f', {times}, so in N m'
        elif ratio < 0:
            found.efforts[name] = 'unknown'
            found.reasons[path] += f', {times}: not used, as its sign is the other one'
            found.warnings.append(
                f'{name}: its effort is {times}: its sign is the other one; mend that where it '
                'is published, or by `convert`'
            )
        else:
            found.gains[name] = float(f'{1 / ratio:.2g}')
            found.reasons[path] += (
                f', {times}: not N m, perhaps amperes; its gain is estimated, from that ratio on'
            )
            found.warnings.append(
                f'{name}: its effort is {times}, perhaps a current: masses are known no better '
                'than the description knows them. Better publish N m: reduction x torque '
                'constant x current (`convert` computes it)'
            )


def ratio_of(torques, velocities, reported):
    """
    Return (ratio of what is reported to torques, share of it that torques explain).

    All [T]. Offset, Coulomb and viscous friction are fitted beside; the share is of what these
    leave.
    """
    own = np.stack([np.ones(len(torques)), np.sign(velocities), velocities], 1)
    left = [x - own @ np.linalg.lstsq(own, x, rcond=None)[0] for x in (torques, reported)]
    size, power = float(left[0] @ left[0]), float(left[1] @ left[1])
    if size <= 0 or power <= 0:
        return 1.0, 0.0
    product = float(left[0] @ left[1])
    # The ratio that is halfway between regressing one on the other and the other on the one.
    ratio = math.copysign(math.sqrt(power / size), product)
    return ratio, product**2 / (size * power)


def _is_passive(model, where, found):
    """Tell whether the energy of the robot, by its description, only falls."""
    motion = _motion(model, where, found, _BRIEFLY)
    if motion is None:
        return False
    _, q, v, _ = motion
    robot = realize(Parameters(model), {})
    rows = zip(q.tolist(), v.tolist())
    pairs = [(kinetic_energy(robot, *row), potential_energy(robot, row[0])) for row in rows]
    kinetic, potential = np.array(pairs, dtype=float).T
    energy = kinetic + potential
    rise = np.max(energy - np.minimum.accumulate(energy))
    # A servo that lets an arm down slowly takes energy away, too.
    swings = kinetic.max() > _SWING * np.ptp(potential)
    return bool(swings and rise < _RISE * np.ptp(energy))


def _motion(model, where, found, span):
    """
    Return (stamps [T], q, v, a [T, n]) at some instants, None where joints are missing.

    From positions that are averaged over a span [s], by differences, in the longest stretch
    without a pause.
    """
    moving = [m for m in model.moving_joints if m.is_independent]
    names = [m.joint.name for m in moving if m.joint.name not in found.fixed]
    if any(m.joint.kind.position_size != 1 for m in moving) or set(names) - set(where):
        return None
    # The one that comes least often decides.
    slowest = min(names, key=lambda name: len(where[name].joints[name].stamps))
    stamps = where[slowest].joints[slowest].stamps
    begin, end = max(runs_of(stamps), key=lambda run: run[1] - run[0])
    period, _ = pace_of(stamps[begin:end])
    times = np.arange(stamps[begin], stamps[end - 1], period)
    width = max(round(span / period), 1)
    if len(times) < 4 * width + 8:
        return None
    size = model.velocity_size
    q, v, a = (np.zeros((len(times), size)) for _ in range(3))
    for m in moving:
        k = m.velocities.start
        if m.joint.name in found.fixed:
            continue
        seen = where[m.joint.name].joints[m.joint.name]
        good = np.isfinite(seen.positions)
        positions = np.interp(times, seen.stamps[good], seen.positions[good])
        q[:, k] = _averaged(positions, width)
        v[:, k] = _averaged(np.gradient(q[:, k], period), width)
        a[:, k] = np.gradient(v[:, k], period)
    inner = np.arange(2 * width, len(times) - 2 * width)
    chosen = inner[:: max(1, len(inner) // _INSTANTS)]
    return times[chosen], q[chosen], v[chosen], a[chosen]


def _averaged(values, width):
    """Return running means of so many values."""
    return np.convolve(values, np.ones(width) / width, 'same')


def _observe_pace(found, where):
    """Widen what the config allows for gaps, where messages come less often than it expects."""
    slowest = max(pace_of(topic.joints[name].stamps)[0] for name, topic in where.items())
    if 3 * slowest > 0.5:
        found.gap = found.hold = float(f'{3 * slowest:.2g}')
        text = f'messages come every {slowest:.2g} s only'
        found.reasons['frames.gap'] = found.reasons['efforts.hold'] = text
    lates = [topic.late for topic in where.values()]
    spread = max(lates) - min(lates)
    if spread > 0.02:
        found.lateness = float(f'{2 * spread + 0.05:.2g}')
        found.reasons['frames.lateness'] = f'topics come up to {1000 * spread:.0f} ms apart'


def runs_of(stamps):
    """Return (begin, end) of the stretches of samples without a pause, as indices."""
    steps = np.diff(stamps)
    forward = steps[steps > 0]
    limit = _PAUSE * (np.median(forward) if len(forward) else 0.0)
    breaks = np.flatnonzero((steps > limit) | (steps < 0)) + 1
    bounds = [0, *breaks.tolist(), len(stamps)]
    return list(zip(bounds, bounds[1:]))


def pace_of(stamps):
    """Return (usual time between two samples [s], part of it that most of them are off)."""
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    if not len(steps):
        return 1.0, 0.0
    period = float(np.median(steps))
    return period, float(np.quantile(np.abs(steps - period), 0.9) / period)


def noise_of(stamps, positions):
    """
    Return (sd of the noise, step in which values come, None where they are not coarse).

    The noise is what differences of the fourth order see where the joint moves least; coarse
    values have at least that of their rounding.
    """
    step = step_of(positions)
    quiet = []
    for begin, end in runs_of(stamps):
        values = positions[begin:end]
        values = values[np.isfinite(values)]
        fourth = np.abs(np.diff(values, 4))
        count = len(fourth) // _WINDOW
        if count:
            windows = fourth[: count * _WINDOW].reshape(count, _WINDOW)
            quiet.append(_TO_SD * np.median(windows, 1) / _OF_FOURTH)
    noise = float(np.quantile(np.concatenate(quiet), _QUIET)) if quiet else 0.0
    return max(noise, step / math.sqrt(12) if step else 0.0), step


def step_of(values):
    """Return the step of which all values are multiples, None where there is none."""
    unique = np.unique(values[np.isfinite(values)])
    steps = np.diff(unique)
    steps = steps[steps > _SAME]
    if len(steps) < 10:
        return None
    step = float(steps.min())
    # Refined: the sum of all is a multiple of it, too.
    counts = np.round((unique - unique[0]) / step)
    step = float((unique[-1] - unique[0]) / counts[-1])
    off = np.abs((unique - unique[0]) / step - np.round((unique - unique[0]) / step))
    return step if np.quantile(off, 0.99) < 0.1 and counts[-1] < 1e7 else None
