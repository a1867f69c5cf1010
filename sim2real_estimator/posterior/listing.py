"""A saved posterior as a table."""

from datetime import datetime, timezone

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ..observability.looks import look_of

_NANO = 1e9
# Of a file or a pipe nobody knows a width, and names that are cut off are no names.
_WIDE = 10_000
# Null directions that are listed; of an arm with measured torques there are more than fifty.
_LISTED = 10
# Width of a usual terminal; of all columns but the name; of those that cannot be left out.
_USUAL, _BESIDES, _LEAST = 80, 49, 40


def wide_console():
    """Return the terminal, or what takes lines of any length where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def table(posterior, is_verbose=False, width=_USUAL):
    """
    Return what is known as a table and lines below it.

    Of the parameters by name with their verdicts; where recordings were joined, of the
    coordinates they were estimated in, since nobody has asked the robot's model again.
    is_verbose: with all that no data tell, however many; width: of the terminal, in characters.
    """
    if posterior.findings is None:
        result = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        result.add_column('coordinate', overflow='fold')
        for title in ('off the prior mean', 'sd', 'of the prior sd'):
            result.add_column(title, justify='right')
        for label, *numbers in _coordinates(posterior):
            result.add_row(label, *_in_words(*numbers))
    else:
        result = parameter_table(posterior.findings.parameters, width)
    return Group(result, *(Text(line) for line in _lines_below(posterior, is_verbose)))


def parameter_table(parameters, width=_USUAL, has_shares=True):
    """
    Return a table of `ParameterFinding`s, the names of a link or joint under one another.

    Names are whole; where the terminal is too narrow for them, the share of the prior's standard
    deviation is left out. With whom a parameter is aliased stands below: `relations`.
    """
    longest = max((len(each.name) for each in parameters), default=0)
    has_shares = has_shares and longest + _BESIDES <= width
    result = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    result.add_column('parameter', overflow='fold', min_width=min(longest, width - _LEAST))
    for title in ('mean', 'sd', *(['of prior'] if has_shares else [])):
        result.add_column(title, justify='right', no_wrap=True)
    result.add_column('verdict', no_wrap=True)
    before = ''
    for found in parameters:
        owner, dot, word = found.name.partition('.')
        name = Text.assemble((owner + dot, 'dim' if owner == before else 'bold'), word)
        mean, sd, share = _in_words(found.mean, found.sd, found.share)
        verdict = Text(found.verdict, look_of(found.verdict).style)
        result.add_row(name, mean, sd, *([share] if has_shares else []), verdict)
        before = owner
    return result


def relations(parameters):
    """Return a line for each group of parameters that data do not tell apart, or that are odd."""
    groups, odd = {}, []
    for each in parameters:
        if each.asked:
            odd.append(f'{each.name}: {each.verdict_text}')
        elif each.aliases:
            groups.setdefault(tuple(sorted({each.name, *each.aliases})), None)
    return [*odd, *(f'no data tell apart: {", ".join(names)}' for names in groups)]


def _in_words(mean, sd, share):
    return f'{mean:.4g}', f'{sd:.2g}', f'{100 * share:.{0 if share > 0.0995 else 1}f} %'


def _coordinates(posterior):
    """
    Return (label, by how much the mean is off the prior's, sd, part of the prior's sd) of each.

    Combinations of parameters count from the prior's mean, others do not: the difference is
    what can be said without the robot's model.
    """
    mean, covariance = posterior.mixture.moments()
    sds, before = np.sqrt(np.diag(covariance)), np.linalg.norm(posterior.prior.root, axis=1)
    return zip(posterior.identity['coordinates'], mean - posterior.prior.mean, sds, sds / before)


def _besides(findings, is_verbose):
    """Return what `Findings` say apart from the parameters, in sentences."""
    lines = [
        f'information: {findings.information:.1f} nats; {findings.observed} dimensions known from '
        f'data, {findings.unobserved} as before'
    ]
    apart = relations(findings.parameters)
    lines += apart if is_verbose or len(apart) <= _LISTED else apart[:_LISTED]
    if len(apart) > _LISTED and not is_verbose:
        lines.append(f'... and {len(apart) - _LISTED} groups more, with --verbose')
    lines += [
        f'data tell: {each.label} = {each.mean:.5g} +- {each.sd:.2g}'
        for each in findings.combinations
        if ' ' in each.label  # the others are in the table
    ]
    unseen = findings.null_directions
    if is_verbose or len(unseen) <= _LISTED:
        lines += [f'no data tell: {direction}' for direction in unseen]
    else:
        lines.append(
            f'no data tell: {len(unseen)} parameters and combinations, listed in report.html and '
            'result.json, and here with --verbose'
        )
    if len(findings.modes) > 1:
        weights = ', '.join(f'{weight:.2f}' for weight, _ in findings.modes)
        lines.append(f'{len(findings.modes)} separate answers, of weights {weights}')
    if findings.payload and findings.payload.is_held:
        lines.append(findings.payload.sentence)
    if findings.obstacle:
        lines.append(findings.obstacle)
    return lines


def _lines_below(posterior, is_verbose):
    """Return robot, estimator, data and purpose in words."""
    identity = posterior.identity
    estimator, model = identity['estimator'], identity['model']
    joints = sum(name.startswith('joint ') for name in model)
    lines = [
        f'robot: {joints} joints on {model["base link"]}, model {identity["model_hash"][:12]}',
        f'estimator: {estimator["name"]}, seed {estimator["seed"]}, '
        f'{posterior.mixture.size} component(s)',
    ]
    lines += [f'data: {_span(recording)}' for recording in posterior.recordings]
    if not posterior.recordings:
        lines.append('data: none')
    if posterior.findings:
        lines += _besides(posterior.findings, is_verbose)
    if posterior.run is None:
        lines.append(f'{posterior.obstacle or "joined"}: a new run can begin from it')
    else:
        lines.append('a run can go on from it')
    return lines


def _span(recording):
    """Return when data were taken; the stamps of a simulation begin in 1970."""
    begin = datetime.fromtimestamp(recording.begin_ns / _NANO, timezone.utc)
    seconds = (recording.end_ns - recording.begin_ns) / _NANO
    return f'{seconds:.2f} s from {begin:%Y-%m-%d %H:%M:%S} UTC'
