"""Which combinations of parameters the data tell, and which they cannot."""

import numpy as np

from ....observability.null_space import spectrum_of, tangents_of
from ....observability.verdicts import direction_text
from ..blocks import Section, Table, Text
from ..drawing import drawing, picture, plain_numbers
from ..figure_style import BLUE, GREY, ORANGE, WIDTH
from ..words import count, number, with_sd

_TITLE = 'What these data can tell'
_TOLD, _UNTOLD = 10.0, 0.1
_LONGEST = 64
# Bars that are drawn at most.
_MOST = 40


def identifiability(found):
    """Return the section of the spectrum and of null directions."""
    findings = found.findings
    blocks = [_summary(findings), _picture(found)]
    if findings.null_directions:
        blocks.append(
            Text(
                'No data so far tell these: along each of them parameters may change together (+) '
                'or against one another (-), and the motion stays the same.',
                findings.null_directions,
            )
        )
    combined = [each for each in findings.combinations if ' ' in each.label]
    if combined:
        blocks.append(_combinations(combined))
    if len(findings.modes) > 1:
        blocks.append(_modes(found))
    return Section(_TITLE, tuple(blocks))


def _summary(findings):
    total = findings.observed + findings.unobserved
    size = len(findings.combinations)
    text = (
        f'{count(findings.observed, "independent combination")} of parameters known from data; '
        f'{findings.unobserved} as uncertain as before. The data hold '
        f'{findings.information:.1f} nats of information on the parameters: each nat makes the '
        'volume of what is possible smaller by a factor of 2.7.'
    )
    if size > total:
        text += ' The others are in between.'
    return Text(text)


def _picture(found):
    """Draw what is left of the prior's standard deviation along principal directions."""
    parametrization, mixture = found.problem.parametrization, found.posterior.mixture
    spectrum = spectrum_of(
        parametrization.inner, *tangents_of(parametrization, mixture).moments(mixture)
    )
    order = np.argsort(-spectrum.information, kind='stable')[:_MOST]
    left = 100 / np.sqrt(1 + np.maximum(spectrum.information[order], 0))
    names = [direction_text(parametrization.inner.names, spectrum.directions[:, k]) for k in order]
    colours = [_colour(spectrum.information[k]) for k in order]
    with drawing(WIDTH, 1.0 + 0.3 * len(order)) as figure:
        axis = figure.subplots()
        least = min(0.5 * left.min(), 1.0)
        axis.barh(range(len(order)), left - least, 0.7, left=least, color=colours)
        axis.set_xscale('log')
        axis.set_xlim(least, 180)
        plain_numbers(axis.xaxis)
        axis.set_yticks(range(len(order)), [_short(name) for name in names])
        axis.set_ylim(len(order) - 0.4, -0.6)
        axis.set_xlabel('uncertainty left [% of that before]')
        axis.grid(axis='y', visible=False)
        for row, value in enumerate(left):
            axis.text(value * 1.04, row, f'{number(value, 2)} %', va='center', fontsize=8)
        caption = (
            'Each bar is a combination of parameters, the best known on top: short blue bars have '
            'been measured, orange ones in part, grey ones that reach to the right could not be '
            'observed by these data, however long they are.'
        )
        return picture(figure, caption, 'Uncertainty left along principal directions')


def _colour(information):
    return BLUE if information > _TOLD else GREY if information < _UNTOLD else ORANGE


def _short(name):
    name = name.replace(' - ', ' − ')
    return name if len(name) <= _LONGEST else f'{name[: _LONGEST - 2]} …'


def _combinations(combined):
    caption = 'What the data tell where they do not tell a parameter alone.'
    rows = tuple((each.label, with_sd(each.mean, each.sd)) for each in combined)
    return Table(caption, ('combination', 'known as'), rows)


def _modes(found):
    caption = 'Several separate answers fit these data; a motion that decides is needed.'
    names = found.problem.parametrization.names
    head = ('weight', *names)
    rows = tuple(
        (f'{100 * weight:.0f} %', *(f'{value:.4g}' for value in values))
        for weight, values in found.findings.modes
    )
    return Table(caption, head, rows)
