"""What came in, how late, and what became of it."""

from ..blocks import Cell, Section, Table, Text
from ..words import count, date, number, seconds

_MILLI = 1e3
_GOOD = 'used'


def inputs(found):
    """Return the section on the health of the data."""
    if not found.bags:
        return Section('Health of the data', missing='There is no recording with this result.')
    blocks = []
    for bag in found.bags:
        blocks.append(_topics(bag))
        blocks.append(_outcomes(bag))
        odd = (*bag.warnings, *bag.unused)
        if odd:
            blocks.append(Text(f'Odd in {bag.name}:', odd))
    return Section('Health of the data', tuple(blocks))


def _topics(bag):
    rows = [
        (
            topic.name,
            ', '.join(topic.sources),
            topic.how,
            topic.messages,
            f'{topic.rate:.1f} /s',
            seconds(topic.last_ns - topic.first_ns),
        )
        for topic in bag.topics
    ]
    length, held = bag.end_ns - bag.begin_ns, bag.end_ns - bag.split_ns
    caption = (
        f'Recording {bag.name}: {seconds(length)} from {date(bag.begin_ns)}, of which the last '
        f'{seconds(held)} were kept back. Messages are those used for the estimate; matched says '
        'whether the settings name the topic or it was guessed.'
    )
    head = ('topic', 'read by', 'matched', 'messages', 'rate', 'time covered')
    return Table(caption, head, tuple(rows), texts=(0, 1, 2))


def _outcomes(bag):
    """Return how many samples of each source had which outcome."""
    words = list(dict.fromkeys(word for counts in bag.health.values() for word in counts))
    words = [_GOOD, *sorted(word for word in words if word != _GOOD)]
    rows = []
    for source, counts in bag.health.items():
        total = sum(counts.values())
        cells = [
            Cell(_part(counts.get(word, 0), total), 'warn' if _is_much(word, counts) else '')
            for word in words
        ]
        rows.append((source, *cells))
    caption = (
        'What became of each sample: all should have been used; what is marked is more than one '
        'in a hundred.'
    )
    return Table(caption, ('source', *words), tuple(rows))


def _is_much(word, counts):
    return word != _GOOD and counts.get(word, 0) > 0.01 * sum(counts.values())


def _part(number_of, total):
    return f'{number_of} ({100 * number_of / total:.1f} %)' if number_of else '0'


def latencies(found):
    """Return the section on delays."""
    rows = [
        (
            each.name,
            'estimated',
            f'{number(_MILLI * each.mean)} ± {number(_MILLI * each.sd, 2)} ms',
            each.verdict_text,
        )
        for each in found.findings.parameters
        if each.name.endswith('.delay')
    ]
    for bag in found.bags:
        rows += [
            (
                topic.name,
                f'arrival after the stamp, in {bag.name}',
                f'{number(_MILLI * topic.latency)} ± {number(_MILLI * topic.latency_sd, 2)} ms',
                'measured by the clock of the recorder',
            )
            for topic in bag.topics
        ]
    if not rows:
        return Section(
            'Latencies', missing='No delay was estimated, and there is no recording to measure by.'
        )
    caption = (
        'Delays found: those that were estimated shift stamps against the motion and matter for '
        f'control; those of arrival ({count(len(found.bags), "recording")}) say how long messages '
        'were on their way, and do not change the estimate.'
    )
    return Section(
        'Latencies', (Table(caption, ('of', 'what', 'delay', 'known as'), tuple(rows), (0, 1, 3)),)
    )
