"""Which combinations of parameters the data tell, and which they cannot."""

import numpy as np

from ....observability.null_space import spectrum_of, tangents_of
from ....observability.verdicts import direction_text, involved_in
from ..blocks import Bar, Cell, Section, Table, Text
from ..words import count, number, with_sd

_TITLE = 'What these data can tell'
_OBSERVED, _UNOBSERVED = 10.0, 0.1
# Bars that are drawn at most.
_MOST = 40
# Names in the label of a bar.
_TERMS = 6
# Classes of the style sheet of combinations by what is known of them -> in words.
_KNOWN = {'known': 'measured', 'partly': 'measured in part', 'unknown': 'not measured'}


def identifiability(found):
    """Return the section of the spectrum and of null directions."""
    findings = found.findings
    parametrization, mixture = found.problem.parametrization, found.posterior.mixture
    spectrum = spectrum_of(
        parametrization.inner, *tangents_of(parametrization, mixture).moments(mixture)
    )
    blocks = [_summary(findings, spectrum), _bars(parametrization.inner.names, spectrum)]
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


def _summary(findings, spectrum):
    """Return in a sentence how much is known; spectrum: the `Spectrum` of all parameters."""
    total = findings.observed + findings.unobserved
    text = (
        f'{count(findings.observed, "independent combination")} of parameters known from data; '
        f'{findings.unobserved} as uncertain as before.'
    )
    if len(findings.combinations) > total:
        text += ' The others are in between.'
    known = spectrum.information[spectrum.information > _OBSERVED]
    if len(known):
        factor = np.exp(np.mean(np.log1p(known)) / 2)
        text += (
            f' On average, those that are known from data are {number(float(factor), 2)} times '
            'less uncertain than they were before.'
        )
    return Text(text)


def _bars(names, spectrum):
    """Return what is left of the prior's standard deviation along principal directions."""
    order = np.argsort(-spectrum.information, kind='stable')[:_MOST]
    left = 100 / np.sqrt(1 + np.maximum(spectrum.information[order], 0))
    # Whole decades, up to what was believed before.
    least = min(np.floor(np.log10(left.min())), 1)
    rows = []
    for part, k in zip(left, order):
        name = _name(names, spectrum.directions[:, k])
        end, mark = 100 * (np.log10(part) - least) / (2 - least), _mark(spectrum.information[k])
        text = f'{number(part, 2)} %'
        rows.append(
            (Cell(name, 'wraps'), text, Bar(f'{_KNOWN[mark]}: {text}', ((0.0, float(end), mark),)))
        )
    caption = (
        'Each bar is a combination of parameters, the best known on top: short blue bars have '
        'been measured, orange ones in part, grey ones that reach to the right could not be '
        'observed by these data, however long they are. The scale is logarithmic.'
    )
    decades = tuple(f'{10.0**power:g} %' for power in np.arange(least, 3))
    head = ('combination', 'uncertainty left', decades)
    return Table(caption, head, tuple(rows), is_stacked=True)


def _name(names, direction):
    """Return the parameters of the largest shares in a direction [P], and how many there are."""
    involved = involved_in(direction)
    largest = involved[np.argsort(-np.abs(direction[involved]), kind='stable')[:_TERMS]]
    shown = np.zeros_like(direction)
    shown[largest] = direction[largest]
    text = direction_text(names, shown)
    more = len(involved) - len(largest)
    return text.replace(' - ', ' − ') + (f' and {more} more' if more else '')


def _mark(information):
    return (
        'known'
        if information > _OBSERVED
        else 'unknown'
        if information < _UNOBSERVED
        else 'partly'
    )


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
