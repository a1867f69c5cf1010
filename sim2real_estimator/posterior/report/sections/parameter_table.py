"""What is known of every parameter, before and after."""

import numpy as np

from ....model.parameters import owner_of
from ..blocks import Bar, Cell, Group, Section, Table, Text
from ..figure_style import class_of, MEANINGS, VERDICTS
from ..words import number, span, with_sd

# Up to so many parameters stand under one another without titles.
_FEW = 12
# Standard deviations of the prior that are shown to each side at least, and at most.
_LEAST, _MOST = 2.5, 4.0
# What cannot be below zero of a body that somebody has built.
_OF_BODIES = ('.mass', '.inertia.xx', '.inertia.yy', '.inertia.zz')
_PRODUCTS = ('.inertia.xy', '.inertia.xz', '.inertia.yz')


def parameters(found):
    """Return the section of the table, with the way from prior to posterior in each row."""
    known = found.findings.parameters
    if not known:
        return Section('Parameters', missing='No parameter was estimated.')
    verdicts = [word for word in VERDICTS if any(each.verdict == word for each in known)]
    meanings = tuple(f'{VERDICTS[word][2]} {word}: {MEANINGS[word]}.' for word in verdicts)
    return Section('Parameters', (_table(found, known), Text('', meanings), *_below_zero(known)))


def by_link(model, known):
    """
    Return title -> parameters of each link and of the joint that moves it, in the model's order.

    model: the `Model`; known: `ParameterFinding`s. Those that are neither of a link nor of a joint
    follow by what they are of, such as a sensor.
    """
    links = {joint.name: joint.child for joint in model.joints}
    groups = {link.name: [] for link in model.links}
    for each in known:
        owner = owner_of(each.name)
        groups.setdefault(links.get(owner, owner), []).append(each)
    return {title: tuple(own) for title, own in groups.items() if own}


def _table(found, known):
    reach = _reach(known)
    rows = []
    if len(known) > _FEW:
        model = found.problem.model
        movers = {joint.child: joint.name for joint in model.joints if not joint.is_fixed}
        for title, own in by_link(model, known).items():
            mover = f'moved by {movers[title]}: ' if title in movers else ''
            rows.append(Group(title, mover + _counted(own)))
            rows += [_row(found, each, reach) for each in own]
    else:
        rows = [_row(found, each, reach) for each in known]
    ends = (f'−{reach:.1f} sd', 'as before', f'+{reach:.1f} sd')
    head = ('parameter', 'unit', 'before', 'after', '90 % interval', 'left', 'verdict', ends)
    caption = (
        'Before is what was believed without data, after is what the data made of it, each with '
        'its standard deviation; left is how much of the uncertainty before is left. The grey bar '
        'is what was believed (one and two standard deviations), the coloured line the 90 % '
        'interval after the data: a short line far inside the bar has been measured.'
    )
    return Table(caption, head, tuple(rows), texts=(0, 1, 6), is_stacked=True)


def _counted(known):
    """Return how many of some parameters have which verdict."""
    words = [each.verdict for each in known]
    return ', '.join(
        f'{look[2]} {words.count(word)} {word}' for word, look in VERDICTS.items() if word in words
    )


def _row(found, each, reach):
    sign = VERDICTS[each.verdict][2]
    return (
        each.name,
        Cell(found.units[each.name], 'unit'),
        with_sd(each.prior_mean, each.prior_sd),
        Cell(with_sd(each.mean, each.sd), 'strong'),
        span(each.quantiles[0], each.quantiles[2]),
        f'{number(100 * each.share, 2)} %',
        Cell(f'{sign} {each.verdict_text}', f'{class_of(each.verdict)} wraps'),
        _bar(each, reach),
    )


def _away(each):
    """Return the quantiles [3] in standard deviations of the prior, from its mean."""
    return (np.array(each.quantiles) - each.prior_mean) / each.prior_sd


def _reach(known):
    """Return how many standard deviations of the prior bars show to each side."""
    ends = np.abs([_away(each) for each in known])
    return float(np.clip(1.15 * ends.max(), _LEAST, _MOST))


def _bar(each, reach):
    """Return the way from prior to posterior of a parameter."""

    def place(deviations):
        # What is beyond the column ends at its edge.
        return float(np.clip(50 * (1 + deviations / reach), 0, 100))

    low, middle, high = map(place, _away(each))
    words = f'{each.name}: before and after the data, in standard deviations of what was believed'
    spans = (
        (place(-2), place(2), 'far'),
        (place(-1), place(1), 'near'),
        (place(0), place(0), 'zero'),
        (low, high, class_of(each.verdict)),
        (middle, middle, 'middle'),
    )
    return Bar(words, spans)


def _below_zero(known):
    """Yield what is to be said where a reader meets inertias or masses below zero."""
    if any(each.name.endswith(_PRODUCTS) and each.mean < 0 for each in known):
        yield Text(
            'Products of inertia (xy, xz, yz) may be below zero: their sign says towards which '
            'side of an axis the mass lies.'
        )
    odd = [
        each.name
        for each in known
        if each.name.endswith(_OF_BODIES) and min(each.mean, each.prior_mean) < 0
    ]
    if odd:
        yield Text(
            f'No body that can be built has a mass or an inertia below zero, as {", ".join(odd)} '
            'here. Such numbers are of an equivalent body: torque and motion depend only on sums '
            'over several links, and one link has less where another has more. The sums are '
            'right, and the robot moves as one of real bodies does.'
        )
