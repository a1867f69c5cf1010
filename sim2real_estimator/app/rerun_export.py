"""
The command `sim2real-estimator rerun`: the folder of a result as a recording of rerun.

The robot with the inertia ellipsoid of each link and centres of mass of draws of the posterior,
estimates over time with bands of 90 %, events as a log, and the mixture over three coordinates.
"""

import csv
from importlib.util import find_spec
import json
from pathlib import Path

from .export_command import posterior_in, require_free

# Of a normal distribution: 90 % are within so many standard deviations.
_BAND = 1.645
_DRAWS, _NANO = 200, 1e9
# Second moment of a solid ellipsoid about its centre: this part of mass times squared radius.
_SOLID = 1 / 5
_TIMELINE = 'data'
_ROBOT, _DRAWN, _SOLID_COLOUR = 'robot', (255, 160, 60), (90, 140, 200, 120)


def add_rerun(commands):
    """Add the command that writes a recording of rerun."""
    rerun = commands.add_parser(
        'rerun', help='write the folder of a result as a recording of rerun (an extra)'
    )
    rerun.add_argument('result', type=Path, help='folder of a result')
    rerun.add_argument('-o', '--output', type=Path, required=True, help='.rrd file to write')
    rerun.add_argument(
        '--coordinates',
        nargs=3,
        metavar='COORDINATE',
        help='of the posterior, whose mixture is drawn (the three best known)',
    )
    rerun.add_argument('--seed', type=int, default=0, help='of the draws (0)')
    rerun.add_argument('--force', action='store_true', help='overwrite the file')
    rerun.set_defaults(run=_rerun)


def _rerun(chosen):
    """Write the recording."""
    from ..errors import ConfigError, DataError

    if find_spec('rerun') is None:
        raise ConfigError("rerun is missing: pip install 'sim2real_estimator[rerun]'")
    require_free(chosen.output, chosen.force)
    import rerun

    from ..posterior.export import opened

    try:
        with (chosen.result / 'estimates.csv').open(newline='', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        events = json.loads((chosen.result / 'result.json').read_text('utf-8'))['events']
    except (KeyError, OSError, ValueError) as error:
        raise DataError(
            f'{chosen.result}: is no folder of a result ({error}); give one that `identify` wrote'
        ) from error
    problem, posterior = opened(posterior_in(chosen.result))
    with rerun.RecordingStream('sim2real_estimator') as stream:
        stream.save(chosen.output)
        _log_robot(rerun, stream, problem, posterior, chosen.seed)
        _log_mixture(rerun, stream, problem, posterior.mixture, chosen.coordinates)
        _log_estimates(rerun, stream, rows)
        _log_events(rerun, stream, events)
    print(f'written: {chosen.output}\nshow it: rerun {chosen.output}')
    return 0


def _log_robot(rerun, stream, problem, posterior, seed):
    """Log the tree of links where all joints are at zero, with the bodies of the posterior."""
    import numpy as np
    from transforms3d.quaternions import mat2quat

    from ..posterior.draws import draw_robots, DrawSettings

    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=_DRAWS), seed)
    part = rerun.escape_entity_path_part
    paths = {problem.model.base: f'{_ROBOT}/{part(problem.model.base)}'}
    for joint in problem.model.ordered_joints:
        path = paths[joint.child] = f'{paths[joint.parent]}/{part(joint.child)}'
        place = draws.places.get(joint.child, np.array([joint.origin], dtype=float))
        turn = np.array([tuple(row) for row in joint.rotation.rows], dtype=float)
        pose = rerun.Transform3D(translation=place.mean(0), mat3x3=turn)
        stream.log(path, pose, static=True)
        if joint.child not in draws.bodies:
            continue
        mass, com, inertia = draws.bodies[joint.child]
        stream.log(
            f'{path}/centres_of_mass',
            rerun.Points3D(com, radii=0.002, colors=_DRAWN),
            static=True,
        )
        xx, yy, zz, xy, xz, yz = inertia.mean(0)
        moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        squares = (moments.sum() / 2 - moments) / (_SOLID * mass.mean())
        w, x, y, z = mat2quat(axes)
        body = rerun.Ellipsoids3D(
            half_sizes=[np.sqrt(np.maximum(squares, 1e-8))],
            centers=[com.mean(0)],
            quaternions=[[x, y, z, w]],
            colors=_SOLID_COLOUR,
            labels=[f'{joint.child}: {mass.mean():.4g} +- {mass.std():.2g} kg'],
        )
        stream.log(f'{path}/body', body, static=True)


def _log_mixture(rerun, stream, problem, mixture, wanted):
    """Log an ellipsoid of one standard deviation for every component, in prior deviations."""
    import numpy as np
    from transforms3d.quaternions import mat2quat

    from ..errors import ConfigError

    prior = problem.prior
    sds, labels = np.sqrt(np.diag(prior.covariance)), list(problem.labels)
    if wanted:
        unknown = [name for name in wanted if name not in labels]
        if unknown:
            raise ConfigError(f'--coordinates: {unknown[0]}: there are {", ".join(labels)}')
        rows = [labels.index(name) for name in wanted]
    else:
        rows = np.argsort(np.sqrt(np.diag(mixture.moments()[1])) / sds)[:3].tolist()
    if len(rows) < 3:
        return
    text = ', '.join(labels[row] for row in rows)
    means = ((mixture.means - prior.mean[:, None]) / sds[:, None])[rows].T
    sizes, turns = [], []
    for covariance in mixture.parameter_covariances():
        part = covariance[np.ix_(rows, rows)] / np.outer(sds[rows], sds[rows])
        values, axes = np.linalg.eigh(part)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        w, x, y, z = mat2quat(axes)
        sizes.append(np.sqrt(np.maximum(values, 1e-12)))
        turns.append([x, y, z, w])
    kernels = rerun.Ellipsoids3D(half_sizes=sizes, centers=means, quaternions=turns)
    stream.log('posterior', kernels, static=True)
    about = f'one standard deviation of {text}, in prior standard deviations off the prior mean'
    stream.log('posterior/about', rerun.TextDocument(about), static=True)


def _log_estimates(rerun, stream, rows):
    """Log mean, low and high of every parameter over the time of the data."""
    import numpy as np

    if not rows:
        return
    times = np.array([float(row['stamp_ns']) / _NANO for row in rows])
    for column in rows[0]:
        spread = f'sd of {column}'
        if spread not in rows[0]:
            continue
        mean, sd = (
            np.array([float(row[each] or 'nan') for row in rows]) for each in (column, spread)
        )
        name = column.partition(' [')[0]
        owner, _, quantity = name.partition('.')
        parts = map(rerun.escape_entity_path_part, ('estimates', owner, quantity))
        path = '/'.join(parts)
        bands = np.stack([mean, mean - _BAND * sd, mean + _BAND * sd], 1)
        series = rerun.SeriesLines(names=[column, '5 %', '95 %'])
        stream.log(path, series, static=True)
        stream.send_columns(
            path,
            indexes=[rerun.TimeColumn(_TIMELINE, timestamp=times)],
            columns=rerun.Scalars.columns(scalars=bands),
        )


def _log_events(rerun, stream, events):
    """Log events as text, warnings as such."""
    for event in events:
        stream.set_time(_TIMELINE, timestamp=event['stamp_ns'] / _NANO)
        level = 'WARN' if event['is_warning'] else 'INFO'
        stream.log('events', rerun.TextLog(f'{event["name"]}: {event["text"]}', level=level))
