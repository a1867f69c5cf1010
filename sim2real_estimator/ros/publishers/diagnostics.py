"""The topics `~/parameters` and `~/events`: named values as DiagnosticStatus, and back."""

from dataclasses import dataclass

from ...errors import DataError
from ...events import Event
from ...messages import maker
from ...records import ParameterFinding, PAYLOAD_NUMBERS
from ..verdict_looks import look_of
from .stamps import header, stamp_ns_of

DiagnosticArray = maker('diagnostic_msgs/msg/DiagnosticArray')
DiagnosticStatus = maker('diagnostic_msgs/msg/DiagnosticStatus')
KeyValue = maker('diagnostic_msgs/msg/KeyValue')
OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
# Name of the first status, which is of the whole posterior.
_ALL = 'posterior'
_SEPARATOR = ', '
_QUANTILES = ('5 %', 'median', '95 %')
# Keys that exist only where data demand an impossible value.
_ASKED = ('impossible', 'impossible mean', 'impossible std')


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


@dataclass(frozen=True)
class ParametersReading:
    """
    What is known of a robot's parameters.

    parameters: name -> `ParameterFinding`, in units: name -> text; posterior: what is said of all
    of them together, key -> text.
    """

    stamp_ns: int
    parameters: dict
    units: dict
    posterior: dict


def parameters_message(findings, units):
    """
    Return `Findings` as DiagnosticArray: a status for the whole, then one for every parameter.

    units: of the parameters, in their order. Numbers keep every bit, and tools that plot
    diagnostics plot them by name; the message of a status is the verdict.
    """
    statuses = [_whole(findings)]
    statuses += [_status(found, unit) for found, unit in zip(findings.parameters, units)]
    return status_array(statuses, findings.stamp_ns)


def read_parameters(message):
    """Return the `ParametersReading` of a message; a DataError where it is another's."""
    if not message.status or message.status[0].name != _ALL:
        raise DataError('these are no parameters with verdicts; listen to ~/parameters')
    whole, *rest = message.status
    values = {each.name: values_of(each) for each in rest}
    return ParametersReading(
        stamp_ns_of(message),
        {name: _finding(name, entries) for name, entries in values.items()},
        {name: entries['unit'] for name, entries in values.items()},
        values_of(whole),
    )


def _whole(findings):
    """Return the status of the posterior of all parameters."""
    values = {
        'observed dimensions': findings.observed,
        'unobserved dimensions': findings.unobserved,
        'information [nats]': findings.information,
        'modes': len(findings.modes),
        'misfit': '' if findings.misfit is None else findings.misfit,
    }
    directions = enumerate(findings.null_directions, 1)
    values |= {f'null direction {number}': text for number, text in directions}
    for each in findings.networks:
        low, _, high = each.quantiles
        values[f'network {each.name} share'] = each.share
        values |= {f'network {each.name} share low': low, f'network {each.name} share high': high}
    values |= _payload(findings.payload) if findings.payload else {}
    return status(_ALL, values, findings.obstacle, WARN if findings.obstacle else OK)


def _payload(payload):
    """Return the values of a `Payload`: nothing of none, and why it is not valid."""
    values = {} if payload.is_valid else {'payload not valid': payload.reason.text}
    if payload.is_held:
        values |= {'payload on': payload.link, 'payload frame': payload.frame}
        for name, mean, sd in zip(PAYLOAD_NUMBERS[:4], payload.mean.tolist(), payload.sd.tolist()):
            values |= {f'payload {name}': mean, f'payload {name} std': sd}
    return values


def _status(found, unit):
    values = {
        'mean': found.mean,
        'std': found.sd,
        'unit': unit,
        **dict(zip(_QUANTILES, found.quantiles)),
        'prior mean': found.prior_mean,
        'prior std': found.prior_sd,
        'share of prior std': found.share,
        'verdict': found.verdict,
        'aliases': _SEPARATOR.join(found.aliases),
        **dict(zip(_ASKED, found.asked)),
    }
    return status(found.name, values, found.verdict_text, look_of(found.verdict).level)


def _finding(name, values):
    return ParameterFinding(
        name=name,
        mean=float(values['mean']),
        sd=float(values['std']),
        quantiles=tuple(float(values[key]) for key in _QUANTILES),
        prior_mean=float(values['prior mean']),
        prior_sd=float(values['prior std']),
        share=float(values['share of prior std']),
        verdict=values['verdict'],
        aliases=tuple(filter(None, values['aliases'].split(_SEPARATOR))),
        asked=_asked(values),
    )


def _asked(values):
    """Return the impossible value that data demand: (what, mean, sd), () where there is none."""
    if _ASKED[0] not in values:
        return ()
    what, *numbers = (values[key] for key in _ASKED)
    return (what, *map(float, numbers))


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
