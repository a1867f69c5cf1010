"""The topic `~/events`: what has happened, each event once."""

from ...events import Event
from .stamps import stamp_ns_of
from .statuses import OK, status, status_array, values_of, WARN


def events_message(events, stamp_ns):
    """Return `Event`s as DiagnosticArray, a status each."""
    return status_array(
        (status(e.name, e.values, e.text, WARN if e.is_warning else OK) for e in events), stamp_ns
    )


def read_events(message):
    """Return (stamp_ns, `Event`s) of a message; all values are text."""
    events = tuple(
        Event(each.name, each.message, each.level != OK, values_of(each))
        for each in message.status
    )
    return stamp_ns_of(message), events
