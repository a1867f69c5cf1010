"""The sections of a report on one page."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from ...observability.looks import LOOKS
from .figure_style import class_of, VERDICTS
from .sections import SECTIONS
from .summary import caution, outcome
from .words import seconds

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
        verdict=' '.join([outcome(found), *caution(found)]),
        looks=[(class_of(verdict.value), look) for verdict, look in LOOKS.items()],
        cards=_cards(found),
        sections=[section(found) for section in SECTIONS],
        created=found.provenance.created,
    )


def _cards(found):
    """Return (number, what it counts, class) of the figures at the top of the page."""
    words = [each.verdict for each in found.findings.parameters]
    cards = [
        (f'{VERDICTS[word][2]} {words.count(word)}', word, class_of(word))
        for word in VERDICTS
        if word in words
    ]
    used = [(bag.begin_ns, bag.split_ns) for bag in found.bags]
    used = used or [(each.begin_ns, each.end_ns) for each in found.posterior.recordings]
    return [*cards, (seconds(sum(end - begin for begin, end in used)), 'of data used', '')]
