"""Named values as DiagnosticStatus, and back."""

from ...messages import maker
from .stamps import header

DiagnosticArray = maker('diagnostic_msgs/msg/DiagnosticArray')
DiagnosticStatus = maker('diagnostic_msgs/msg/DiagnosticStatus')
KeyValue = maker('diagnostic_msgs/msg/KeyValue')
OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN


def status_array(statuses, stamp_ns):
    """Return the DiagnosticArray of statuses."""
    return DiagnosticArray(header=header(stamp_ns), status=list(statuses))


def status(name, values, text='', level=OK):
    """Return a DiagnosticStatus; numbers among the values keep every bit."""
    return DiagnosticStatus(
        name=name,
        level=level,
        message=text,
        values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
    )


def values_of(message):
    """Return key -> text of a DiagnosticStatus."""
    return {each.key: each.value for each in message.values}


def _text(value):
    """Return a value as text; that of a number is the shortest that gives the same number."""
    if isinstance(value, (str, int)):
        return str(value)
    return repr(float(value))
