"""
A recording on its way into a pipeline, checked before it is used.

`Feed` hands out the decoded messages from any message on; `survey` reads a few messages of every
topic and refuses recordings whose stamps, clocks or units cannot be right.
"""

from dataclasses import dataclass
from itertools import islice
import math
import time

import numpy as np

from ...bags.matching import joints_of, match, wanted_topics
from ...errors import DataError
from ...sensors import stamp_ns
from ...setup.sources import settings_of, topics
from .result import Bag, Topic

_NANO = 1e9
# Messages that were only written in another order than received are closer together [s].
_SET_BACK = 0.1
# Number of places of a recording that are read before it is used, and of messages at each.
_LOOKS, _MESSAGES = 20, 50
# No joint turns faster [rad/s], unless its description says so.
_FASTEST = 50.0
# A body that moves this many times farther than its robot reaches is not measured in metres.
_TOO_FAR = 20.0
# No filmed body moves faster [m/s].
_TOO_FAST = 100.0
# Standard deviation of a normal distribution per median absolute deviation.
_TO_SD = 1.4826


class Timings:
    """
    Processor time of the parts of an identification.

    seconds: 'reading', which includes decoding, and 'estimating' -> time [s].
    """

    def __init__(self):
        """Begin at zero."""
        self.seconds = {'reading': 0.0, 'estimating': 0.0}
        self.skip()

    def skip(self):
        """Leave out the time since the last call."""
        self._latest = time.thread_time()

    def add(self, part):
        """Add the time since the last call, of this or of `skip`, to a part."""
        before, self._latest = self._latest, time.thread_time()
        self.seconds[part] += self._latest - before


class Feed:
    """
    An opened recording, its topics matched with the config.

    bag: its `BagReader`; matches: a `Match` for each topic; split_ns: time in the bag after which
    messages are held out; passed: number of messages yielded so far.
    """

    def __init__(self, bag, digest, config, pipeline, share, is_trusting=False):
        """
        Match and survey the topics; raise a DataError where something cannot be right.

        digest: of its files; share: of its time that is held out, at its end; is_trusting: accept
        units that look wrong.
        """
        sources = pipeline.sources.values()
        self.bag, self._digest, self._jump = bag, digest, config.frames.jump_back
        self.matches = match(wanted_topics(sources, topics(config), settings_of(config)), bag)
        self._readers = {each.topic: each.wanted.sources for each in self.matches}
        self._surveyed = survey(bag, self.matches)
        model, is_fixed = pipeline.problem.model, config.model.base == 'fixed'
        if not is_trusting:
            require_plausible_units(bag, self.matches, self._surveyed, model, is_fixed)
        self.end_ns = max(bag.last(each.topic)[0] for each in self.matches)
        self.split_ns = self.end_ns - round(share * (self.end_ns - bag.begin_ns))
        self.passed, self._latest, self._counts = 0, {}, {}

    def names_of_guesses(self):
        """Return sentences about topics whose names differ from those of the config."""
        return tuple(
            f"'{each.wanted.name}' of the config is '{each.topic}' here, as far as its "
            f'{"name" if each.how == "namespace" else "type"} tells'
            for each in self.matches
            if each.how != 'config'
        )

    def messages(self):
        """
        Yield (time in the bag [ns], [(source, `Decoded`)]) of messages that are not held out.

        They begin after those already `passed`.
        """
        # Read to the very end: only then it is known that all could be read.
        for topic, time_ns, content in islice(self.bag.messages(self._readers), self.passed, None):
            if time_ns > self.split_ns:
                continue
            message = self.bag.decoded(topic, content)
            self._pass(topic, stamp_ns(message, time_ns))
            yield (
                time_ns,
                [(each.name, each.decode(message, time_ns)) for each in self._readers[topic]],
            )

    def held_out(self, begin_ns, seconds):
        """Yield the samples held out from a time in the bag [ns] on, for so many seconds."""
        yield from self.samples(max(begin_ns, self.split_ns + 1), seconds)

    def samples(self, begin_ns, seconds, last_ns=None):
        """
        Yield the samples from a time in the bag [ns] on, for so many seconds.

        last_ns: time in the bag after which there are none, None: its end.
        """
        end_ns = begin_ns + round(seconds * _NANO)
        end_ns = end_ns if last_ns is None else min(end_ns, last_ns)
        for topic, time_ns, content in self.bag.messages(self._readers, begin_ns, end_ns):
            message = self.bag.decoded(topic, content)
            for source in self._readers[topic]:
                yield from source.decode(message, time_ns).samples

    def snapshot(self):
        """Return all that is needed to continue after the messages passed, as plain values."""
        return self.passed, dict(self._latest), dict(self._counts)

    def restore(self, saved):
        """Continue from a snapshot."""
        self.passed, latest, counts = saved
        self._latest, self._counts = dict(latest), dict(counts)

    def described(self, health):
        """Return the `Bag` that describes what was read; health: source -> {status: number}."""
        seconds = max((self.split_ns - self.bag.begin_ns) / _NANO, 1 / _NANO)
        found = []
        for each in self.matches:
            seen, number = self._surveyed[each.topic], self._counts.get(each.topic, 0)
            found.append(
                Topic(
                    each.topic,
                    each.wanted.message_type,
                    tuple(source.name for source in each.wanted.sources),
                    each.wanted.name,
                    each.how,
                    number,
                    number / seconds,
                    seen.first_ns,
                    seen.last_ns,
                    seen.latency,
                    seen.latency_sd,
                )
            )
        warnings = (*self.bag.warnings, *self.names_of_guesses())
        times = self.bag.begin_ns, self.split_ns, self.end_ns
        return Bag(self.bag.name, self._digest, *times, tuple(found), health, warnings)

    def _pass(self, topic, stamp):
        """Count a message; raise a DataError where the clock of its stamps was set back."""
        # The stream counts messages whose stamp was not set.
        stamp = stamp or self._latest.get(topic, 0)
        latest = self._latest.get(topic, stamp)
        if latest - stamp > self._jump * _NANO:
            raise DataError(
                f"{self.bag.path}: stamps of '{topic}' go back by {(latest - stamp) / _NANO:.1f} "
                f's after {self._counts[topic]} messages; cut the recording there, and give the '
                'parts as recordings of their own, or its earlier part alone where it repeats'
            )
        self._latest[topic] = max(latest, stamp)
        self._counts[topic] = self._counts.get(topic, 0) + 1
        self.passed += 1


@dataclass(frozen=True)
class Surveyed:
    """
    A summary of a topic, from messages at several places of the recording.

    first_ns, last_ns: stamps of its first and last message; latency, latency_sd [s]: from the
    stamp to the time in the bag, median and robust deviation; values: name of a source -> list
    of pieces (stamps [n] in s, values [n, k]) of successive samples.
    """

    first_ns: int
    last_ns: int
    latency: float
    latency_sd: float
    values: dict


def survey(bag, matches):
    """Return topic -> `Surveyed`; raise a DataError where stamps cannot be right."""
    for each in matches:
        _require_order(bag, each.topic)
    found = {each.topic: _surveyed(bag, each) for each in matches}
    for topic, seen in found.items():
        if seen.last_ns == 0:
            raise DataError(
                f"{bag.path}: stamps of '{topic}' are zero, and only stamps say when something "
                'was measured; let the driver set header.stamp and record again'
            )
        if bag.topics[topic].count == 1:
            raise DataError(
                f"{bag.path}: there is a single message of '{topic}', and one instant tells "
                'nothing; record for longer'
            )
        if seen.last_ns < seen.first_ns:
            raise DataError(
                f"{bag.path}: stamps of '{topic}' go back on the way: the last is "
                f'{(seen.first_ns - seen.last_ns) / _NANO:.1f} s before the first; cut the '
                'recording where its clock was set back, and give the parts one by one'
            )
    late = max(found, key=lambda topic: found[topic].first_ns)
    early = min(found, key=lambda topic: found[topic].last_ns)
    if found[late].first_ns >= found[early].last_ns:
        apart = (found[late].first_ns - found[early].last_ns) / _NANO
        raise DataError(
            f"{bag.path}: '{late}' begins {apart:.1f} s after '{early}' has ended, by their "
            'header stamps, so they have no time in common; let both take stamps of one clock, '
            'or record both at once'
        )
    return found


def _require_order(bag, topic):
    """Raise a DataError where the recorder's clock was set back, as times are then ambiguous."""
    back_ns, number = bag.set_back(topic)
    if back_ns > _SET_BACK * _NANO:
        raise DataError(
            f'{bag.path}: the clock of the recorder goes back by {back_ns / _NANO:.1f} s after '
            f"{number} messages of '{topic}'; cut the recording there, and give the parts one by "
            'one, or sort its messages where only their order in the file is wrong'
        )


def require_plausible_units(bag, matches, found, model, is_fixed):
    """
    Refuse measurements whose units cannot be those of ROS, with a DataError.

    found: of `survey`; model: the robot; is_fixed: whether its base does not move.
    """
    for each in matches:
        for source in each.wanted.sources:
            pieces = found[each.topic].values[source.name]
            where = f"{bag.path}: topic '{each.topic}'"
            turning = _turning_joints(source, model)
            if turning:
                _require_radians(where, turning, pieces)
            if places := _places(source):
                _require_metres(where, places, pieces, _reach(model) if is_fixed else math.inf)


def _turning_joints(source, model):
    """Return (index of the value, `Joint`) of all joint angles that a source measures."""
    if not getattr(source, 'measures_joints', False):
        return []
    joints = [model.joint(name) for name in source.joints]
    single = [each.kind.position_size == 1 for each in joints]
    pairs = enumerate(joints) if all(single) else ()
    return [(place, joint) for place, joint in pairs if joint.kind.groups[0].is_rotation]


def _places(source):
    """Return the indices of coordinates in space among the values of a source."""
    if getattr(source, 'measures_joints', False):
        return []
    signals = getattr(source, 'signals', ())
    return [each.place for each in signals if each.unit == 'm' and each.place is not None]


def _surveyed(bag, each):
    """Return the `Surveyed` of a `Match`."""
    sources, topic = each.wanted.sources, each.topic
    values, lates, names = {source.name: [] for source in sources}, [], set()
    length = (bag.end_ns - bag.begin_ns) // _LOOKS
    for look in range(_LOOKS if length else 1):
        pieces = {source.name: [] for source in sources}
        for _, time_ns, content in islice(
            bag.messages([topic], bag.begin_ns + look * length), _MESSAGES
        ):
            message = bag.decoded(topic, content)
            lates.append((time_ns - stamp_ns(message, time_ns)) / _NANO)
            names.update(joints_of(message) or ())
            for source in sources:
                pieces[source.name] += source.decode(message, time_ns).samples
        for name, samples in pieces.items():
            if samples:
                stamps = np.array([sample.stamp_ns for sample in samples]) / _NANO
                values[name].append((stamps, np.array([sample.values for sample in samples])))
    _require_joints(bag, each, names)
    _, *first = next(iter(bag.messages([topic])))
    last = bag.last(topic)
    latency = float(np.median(lates))
    spread = _TO_SD * float(np.median(np.abs(np.array(lates) - latency)))
    ends = (stamp_ns(bag.decoded(topic, content), time_ns) for time_ns, content in (first, last))
    return Surveyed(*ends, latency, spread, values)


def _require_joints(bag, each, names):
    """Raise a DataError where messages name joints, but none of those that a source reads."""
    for source in each.wanted.sources:
        if names and source.joints and not names.intersection(source.joints):
            raise DataError(
                f"{bag.path}: topic '{each.topic}' speaks of {', '.join(sorted(names))}, but "
                f'{source.name} reads {", ".join(source.joints)}; set '
                f'{" and ".join(each.wanted.settings)} to the topic that speaks of them, or '
                'name joints as the robot description does'
            )


def _require_radians(where, turning, pieces):
    """Raise a DataError where angles are plausible in degrees only."""
    for place, joint in turning:
        found = [(stamps, values[:, place]) for stamps, values in pieces]
        farthest = max((_largest(np.abs(angles)) for _, angles in found), default=0.0)
        limits = [abs(x) for x in (joint.limits.lower, joint.limits.upper) if x is not None]
        # Beyond the limits a sensor may still have an offset of half a turn.
        bound = max(limits) + math.pi if len(limits) == 2 and any(limits) else math.inf
        fastest = max(_FASTEST, 2 * (joint.limits.velocity or 0.0))
        speed = max((_speed(stamps, angles[:, None]) for stamps, angles in found), default=0.0)
        if (farthest > bound and math.radians(farthest) <= bound) or (
            speed > fastest and math.radians(speed) <= fastest
        ):
            raise DataError(
                f"{where}: joint '{joint.name}' reaches {farthest:.0f} rad at up to "
                f'{speed:.0f} rad/s, which {_allowed(joint.limits)}; these are probably degrees: '
                'publish radians, or correct the limits where it really moves so, or say by '
                '--trust-units that they are right'
            )


def _require_metres(where, places, pieces, reach):
    """Raise a DataError where positions are plausible in millimetres only."""
    found = [(stamps, values[:, places]) for stamps, values in pieces]
    if not found:
        return
    together = np.concatenate([values for _, values in found])
    far = _largest(np.nanmax(together, 0) - np.nanmin(together, 0))
    speed = max(_speed(*piece) for piece in found)
    if far > _TOO_FAR * reach or speed > _TOO_FAST:
        raise DataError(
            f'{where}: the body moves over {far:.0f} m at up to {speed:.0f} m/s, and the robot '
            f'reaches {reach:.2g} m; these are probably millimetres: publish metres, as ROS does, '
            'or say by --trust-units that they are right'
        )


def _speed(stamps, values):
    """Return the median of the fastest tenth of speeds [1/s], robust to single outliers."""
    steps = np.diff(stamps)
    sound = steps > 0
    if not sound.any():
        return 0.0
    with np.errstate(invalid='ignore', over='ignore'):
        moved = np.linalg.norm(np.diff(values, axis=0), axis=1)[sound] / steps[sound]
    moved = np.sort(moved[np.isfinite(moved)])
    return float(np.median(moved[-max(1, len(moved) // 10) :])) if len(moved) else 0.0


def _largest(values):
    values = values[np.isfinite(values)]
    return float(values.max()) if len(values) else 0.0


def _reach(model):
    """Return the largest reach of the robot [m], by its description."""
    lengths = sum(math.hypot(*joint.origin) for joint in model.joints)
    centres = [math.hypot(*link.inertial.centre) for link in model.links if link.inertial]
    slides = [
        max(abs(limit) for limit in (joint.limits.lower, joint.limits.upper) if limit is not None)
        for joint in model.joints
        if (joint.limits.lower or joint.limits.upper) and not joint.kind.groups[0].is_rotation
    ]
    return lengths + sum(slides) + 2 * max(centres, default=0.0)


def _allowed(limits):
    """Return what the description allows, as the end of a sentence about a motion."""
    parts = []
    if limits.lower is not None and limits.upper is not None:
        parts.append(f'from {limits.lower:.3g} to {limits.upper:.3g} rad')
    if limits.velocity is not None:
        parts.append(f'{limits.velocity:.3g} rad/s')
    if not parts:
        return 'joints do not, and its description gives no limits'
    return f'its description does not allow ({", ".join(parts)})'
