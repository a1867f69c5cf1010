"""A saved posterior as a table."""

from datetime import datetime, timezone

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_NANO = 1e9
# Of a file or a pipe nobody knows a width, and names that are cut off are no names.
_WIDE = 10_000
# Null directions that are listed; of an arm with measured torques there are more than fifty.
_LISTED = 10


def wide_console():
    """Return the terminal, or what takes lines of any length where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def table(posterior, is_verbose=False):
    """
    Return a table of what is known; is_verbose: with all that no data tell, however many.

    Of the parameters by name with their verdicts; where recordings were joined, of the
    coordinates they were estimated in, since nobody has asked the robot's model again.
    """
    # Names may have brackets, which would be taken for styles.
    caption = escape(_caption(posterior, is_verbose))
    result = Table(caption=caption, caption_justify='left')
    is_joined = posterior.findings is None
    result.add_column('coordinate' if is_joined else 'parameter', overflow='fold')
    for title in ('off the prior mean' if is_joined else 'mean', 'sd', 'of the prior sd'):
        result.add_column(title, justify='right')
    if is_joined:
        for label, *numbers in _coordinates(posterior):
            result.add_row(escape(label), *_in_words(*numbers))
        return result
    result.add_column('verdict', overflow='fold')
    for found in posterior.findings.parameters:
        numbers = _in_words(found.mean, found.sd, found.share)
        result.add_row(escape(found.name), *numbers, escape(found.verdict_in_words))
    return result


def _in_words(mean, sd, share):
    return f'{mean:.5g}', f'{sd:.2g}', f'{100 * share:.2g} %'


def _coordinates(posterior):
    """
    Return (label, by how much the mean is off the prior's, sd, part of the prior's sd) of each.

    Combinations of parameters count from the prior's mean, others do not: the difference is
    what can be told without the robot's model.
    """
    mean, covariance = posterior.mixture.moments()
    sds, before = np.sqrt(np.diag(covariance)), np.linalg.norm(posterior.prior.root, axis=1)
    return zip(posterior.identity['coordinates'], mean - posterior.prior.mean, sds, sds / before)


def _besides(findings, is_verbose):
    """Return what `Findings` say besides the parameters, in sentences."""
    lines = [
        f'information: {findings.information:.1f} nats; {findings.told} dimensions known from '
        f'data, {findings.untold} as before'
    ]
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
    if findings.load:
        lines.append(findings.load.in_words)
    if findings.obstacle:
        lines.append(findings.obstacle)
    return lines


def _caption(posterior, is_verbose):
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
    return '\n'.join(lines)


def _span(recording):
    """Return when data were taken; the stamps of a simulation begin in 1970."""
    begin = datetime.fromtimestamp(recording.begin_ns / _NANO, timezone.utc)
    seconds = (recording.end_ns - recording.begin_ns) / _NANO
    return f'{seconds:.2f} s from {begin:%Y-%m-%d %H:%M:%S} UTC'
