"""The sections of a report on one page."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from .figure_style import VERDICTS
from .sections import SECTIONS
from .words import count, number, seconds

_TEMPLATE = 'report.html'


def page_text(found):
    """Return the report of an `Identification` as HTML; the same but for the time of day."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    names = ', '.join(bag.name for bag in found.bags)
    return environment.get_template(_TEMPLATE).render(
        robot=found.problem.model.name,
        origin=names or 'a saved posterior',
        verdict=_verdict(found),
        cards=_cards(found),
        sections=[section(found) for section in SECTIONS],
        created=found.provenance.created,
    )


def _verdict(found):
    """Return the outcome in sentences."""
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
    if any(each.verdict == 'changed' for each in known):
        lines.append('The robot changed shortly before the end: verdicts wait for more data.')
    if found.distrust:
        lines.append(f'Caution: {"; ".join(found.distrust)}.')
    if found.findings.obstacle:
        lines.append(f'Something is in the way: {found.findings.obstacle}.')
    return ' '.join(lines)


def _mean_error(traces, name):
    squares = [(trace.rms(name) / trace.sd) ** 2 for trace in traces]
    return (sum(squares) / len(squares)) ** 0.5


def _cards(found):
    """Return (number, what it counts, class) of the figures at the top of the page."""
    words = [each.verdict for each in found.findings.parameters]
    cards = [
        (f'{VERDICTS[word][2]} {words.count(word)}', word, word.replace(' ', '-'))
        for word in VERDICTS
        if word in words
    ]
    used = [(bag.begin_ns, bag.split_ns) for bag in found.bags]
    used = used or [(each.begin_ns, each.end_ns) for each in found.posterior.recordings]
    return [*cards, (seconds(sum(end - begin for begin, end in used)), 'of data used', '')]
