"""What an identification found, in sentences: for the report, and for the terminal."""

from .words import count, number


def outcome(found):
    """Return what an `Identification` has found, in sentences."""
    known = found.findings.parameters
    good = sum(each.verdict == 'identified' for each in known)
    lines = [f'Of {count(len(known), "parameter")} {good} could be identified from these data.']
    held = found.held_out
    if held.torques:
        before, after = (f'{100 * held.torque_error(name):.2g} %' for name in ('nominal', 'mean'))
        lines.append(
            f'On data that were kept back, torques predicted from motion are off by {after} of '
            f'their size, against {before} with the robot description as it was.'
        )
    traces = () if held.torques else held.traces
    if traces:
        before, after = (_mean_error(traces, name) for name in ('nominal', 'mean'))
        lines.append(
            f'On data that were kept back, predictions miss by {number(after, 2)} times the noise '
            f'of the sensors, against {number(before, 2)} with the robot description as it was.'
        )
    return ' '.join(lines)


def caution(found):
    """Yield sentences on what stands in the way of believing an `Identification`."""
    if any(each.verdict == 'changed' for each in found.findings.parameters):
        yield 'The robot changed shortly before the end: verdicts wait for more data.'
    if found.distrust:
        yield f'Caution: {"; ".join(found.distrust)}.'
    if found.findings.obstacle:
        yield f'Something is in the way: {found.findings.obstacle}.'


def _mean_error(traces, name):
    squares = [(trace.rms(name) / trace.sd) ** 2 for trace in traces]
    return (sum(squares) / len(squares)) ** 0.5
