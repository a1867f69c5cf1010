"""Which topic of a recording is which of the config: by name, else guessed by type and joints."""

from dataclasses import dataclass
import difflib
from itertools import islice

from ..errors import ConfigError, DataError

BY_NAME, BY_NAMESPACE, GUESSED = 'config', 'namespace', 'guessed'
# A topic may begin with messages about other joints.
_PEEKED = 50


@dataclass(frozen=True)
class Wanted:
    """
    A topic of the config.

    name; message_type; sources: what decodes its messages, each with a `name`; settings: where
    the topic is set, as paths of the config.
    """

    name: str
    message_type: str
    sources: tuple
    settings: tuple


@dataclass(frozen=True)
class Match:
    """A `Wanted` topic, its name in the bag, and how it was found: one of the words above."""

    wanted: Wanted
    topic: str
    how: str


def wanted_topics(sources, topics, settings):
    """
    Return a `Wanted` for every topic.

    topics: name of a source -> its topic; settings: name of a source -> path of that setting.
    """
    readers = {}
    for source in sources:
        readers.setdefault(topics[source.name], []).append(source)
    found = []
    for topic, group in readers.items():
        kinds = sorted({source.message_type for source in group})
        if len(kinds) > 1:
            raise ConfigError(
                f"topic '{topic}': {', '.join(source.name for source in group)} read it as "
                f'{" and as ".join(kinds)}; give each type a topic of its own'
            )
        paths = tuple(dict.fromkeys(settings[source.name] for source in group))
        found.append(Wanted(topic, kinds[0], tuple(group), paths))
    return tuple(found)


def match(wanted, bag):
    """Return a `Match` for every `Wanted` topic; a DataError lists what there is instead."""
    found = {each.name: _named(each, bag) for each in wanted}
    taken = {topic for topic, _ in found.values() if topic}
    matches = []
    for each in wanted:
        topic, how = found[each.name]
        if topic is None:
            topic, how = _guessed(each, bag, taken), GUESSED
            taken.add(topic)
        matches.append(Match(each, topic, how))
    return tuple(matches)


def _named(wanted, bag):
    """Return (topic, how) where the name says which it is, else (None, None)."""
    topics = {name: topic for name, topic in bag.topics.items() if topic.count}
    name = f'/{wanted.name.lstrip("/")}'
    if name in topics:
        _require_type(wanted, topics[name], bag)
        return name, BY_NAME
    inside = [
        each.name
        for each in topics.values()
        if each.name.endswith(name) and each.message_type == wanted.message_type
    ]
    return (inside[0], BY_NAMESPACE) if len(inside) == 1 else (None, None)


def _require_type(wanted, topic, bag):
    if topic.message_type != wanted.message_type:
        raise DataError(
            f"{bag.path}: topic '{topic.name}' holds {topic.message_type}, but {_readers(wanted)} "
            f'read {wanted.message_type}; name another topic in {_paths(wanted)}, or set the '
            "sensor's message_type where it can read that one"
        )


def _guessed(wanted, bag, taken):
    """Return the only topic that could be meant."""
    of_type = [
        topic.name
        for topic in bag.topics.values()
        if topic.message_type == wanted.message_type and topic.count and topic.name not in taken
    ]
    fitting = [name for name in of_type if _speaks_of_joints(wanted, bag, name)]
    if len(fitting) == 1:
        return fitting[0]
    there = '\n'.join(
        f'  {topic.name}: {topic.message_type}, {topic.count} messages'
        for topic in sorted(bag.topics.values(), key=lambda topic: topic.name)
    )
    names = {name.lstrip('/'): name for name in bag.topics}
    near = difflib.get_close_matches(wanted.name.lstrip('/'), names, 1, 0.5)
    hint = f"; did you mean '{names[near[0]]}'?" if near else ''
    if wanted.name.lstrip('/') in names:
        hint = '; it was recorded, but without a message: see that its publisher runs'
    several = f' ({len(fitting)} others could be meant)' if fitting else ''
    raise DataError(
        f"{bag.path}: there is no topic '{wanted.name}' of {wanted.message_type} for "
        f'{_readers(wanted)}{several}{hint}\nthere are:\n{there or "  none"}\n'
        f'set {_paths(wanted)} to one of them'
    )


def joints_of(message):
    """Return the names of the joints that a message is about, None where it names none."""
    return getattr(message, 'name', getattr(message, 'joint_names', None))


def _speaks_of_joints(wanted, bag, topic):
    """Tell whether messages name a joint that is looked for; poses name none."""
    joints = {joint for source in wanted.sources for joint in source.joints}
    for _, _, content in islice(bag.messages([topic]), _PEEKED):
        message = bag.decoded(topic, content)
        names = joints_of(message)
        if names is None or joints.intersection(names):
            return True
    return False


def _readers(wanted):
    return ', '.join(source.name for source in wanted.sources)


def _paths(wanted):
    return ' and '.join(wanted.settings)
