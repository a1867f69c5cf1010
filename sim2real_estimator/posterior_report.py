"""A saved posterior as a table."""

from datetime import datetime, timezone

import numpy as np
from rich.table import Table

_NANO = 1e9


def table(posterior):
    """
    Return a table of what is known.

    Of the parameters by name with their verdicts; where recordings were joined, of the
    coordinates they were estimated in, since nobody has asked the robot's model again.
    """
    result = Table(caption=_caption(posterior), caption_justify='left')
    estimate = posterior.estimate
    if estimate is None:
        mean, covariance = posterior.mixture.moments()
        columns = posterior.identity['coordinates'], mean, np.sqrt(np.diag(covariance))
        titles = ('coordinate', 'mean', 'sd')
    else:
        columns = estimate.names, estimate.mean, estimate.sd, estimate.verdicts
        titles = ('parameter', 'mean', 'sd', 'verdict')
    for title in titles:
        result.add_column(title, justify='right' if title in ('mean', 'sd') else 'left')
    for name, mean, sd, *verdict in zip(*columns):
        result.add_row(name, f'{mean:.5g}', f'{sd:.2g}', *verdict)
    return result


def _caption(posterior):
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
    if posterior.run is None:
        lines.append('joined: a new run can begin from it')
    else:
        lines.append('a run can go on from it')
    return '\n'.join(lines)


def _span(recording):
    """Return when data were taken; the stamps of a simulation begin in 1970."""
    begin = datetime.fromtimestamp(recording.begin_ns / _NANO, timezone.utc)
    seconds = (recording.end_ns - recording.begin_ns) / _NANO
    return f'{seconds:.2f} s from {begin:%Y-%m-%d %H:%M:%S} UTC'
