"""What happened on the way."""

from ..blocks import Cell, Section, Table
from ..words import number, seconds

_BEFORE, _AFTER = 'before ', 'after '


def events(found):
    """Return the section of events."""
    if not found.events:
        return Section('Events', missing='Nothing happened.')
    rows = [
        (
            seconds(each.stamp_ns - _begin(found, each)),
            Cell(each.name, 'warn' if each.is_warning else ''),
            each.text,
        )
        for each in found.events
    ]
    caption = 'What happened, in time since the beginning of the recording.'
    blocks = [Table(caption, ('time', 'event', 'what it means'), tuple(rows), (1, 2))]
    blocks += [_change(found, each) for each in found.events if _is_change(each)]
    return Section('Events', tuple(blocks))


def _begin(found, event):
    bags = found.bags[event.bag : event.bag + 1]
    return bags[0].begin_ns if bags else event.stamp_ns


def _is_change(event):
    return any(name.startswith(_AFTER) for name in event.values)


def _change(found, event):
    """Return what parameters were before and after a change."""
    rows = []
    for name, value in event.values.items():
        before = event.values.get(_BEFORE + name.removeprefix(_AFTER))
        if name.startswith(_AFTER) and before is not None:
            parameter = name.removeprefix(_AFTER)
            part = 100 * (float(value) / float(before) - 1) if float(before) else 0.0
            rows.append(
                (
                    parameter,
                    found.units.get(parameter, ''),
                    number(float(before), 4),
                    number(float(value), 4),
                    f'{part:+.1f} %',
                )
            )
    at = seconds(event.stamp_ns - _begin(found, event))
    caption = f'The robot changed: what was known before it, and at {at}.'
    head = ('parameter', 'unit', 'before', 'after', 'change')
    return Table(caption, head, tuple(rows), texts=(0, 1))
