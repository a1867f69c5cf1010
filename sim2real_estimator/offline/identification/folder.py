"""The folder of a result: written in full beside its place, then moved there."""

import csv
from dataclasses import asdict, replace
from enum import Enum
import json
import math
from pathlib import Path
import shutil

import numpy as np

from ...augmentation.weights import digest_of_robot, trained_of, write_weights
from ...config import read_config, to_yaml, with_values
from ...errors import ConfigError, DataError, ModelError, OutputError
from ...model.urdf.xml_reader import read_bytes
from ...posterior.export import robot_of, SETTINGS, write_mjcf, write_randomization, write_urdf
from ...posterior.file import save
from ...posterior.report import missing_for_report, write_report
from ...setup.networks import declaration_of
from .checkpoint import OLD, RESULT
from .held_out import DRAWS
from .journal import write_bag

_SUMMARY = 'result.json'
# The bag with the node's own topics.
BAG = 'estimates'
# Written in place of the models where no such robot exists: why.
REASON = 'no_robot.txt'


def write_posterior(found, path):
    """Write the posterior file."""
    save(path, found.posterior)


def write_estimates(found, path):
    """Write the estimates over time: a row for each instant, mean and sd of each parameter."""
    course = found.course
    titles = [f'{name} [{unit}]' for name, unit in zip(course.names, course.units)]
    head = ['stamp_ns', 'bag', 'stage', 'nis', 'degrees']
    head += [word for title in titles for word in (title, f'sd of {title}')]
    with path.open('w', newline='') as file:
        rows = csv.writer(file, lineterminator='\n')
        rows.writerow(map(cell, head))
        for k, stamp_ns in enumerate(course.stamps_ns):
            pairs = np.stack([course.mean[k], course.sd[k]], 1).ravel().tolist()
            known = [cell(course.bags[k]), course.stages[k]]
            known += [float(course.nis[k]), course.degrees[k]]
            rows.writerow([stamp_ns, *known, *map(repr, pairs)])


def write_held_out(found, path):
    """Write what was held out beside what was predicted; of draws the 5, 50 and 95 % quantiles."""
    quantiles = ('draws 5 %', 'draws 50 %', 'draws 95 %')
    singles = [name for name in found.held_out.predictors if name != DRAWS]
    with path.open('w', newline='') as file:
        rows = csv.writer(file, lineterminator='\n')
        head = ['sensor', 'signal', 'unit', 'window', 'stamp_ns', 'elapsed [s]', 'measured']
        rows.writerow([*head, *singles, *quantiles])
        for trace in found.held_out.traces:
            bands = np.quantile(trace.predicted[DRAWS], (0.05, 0.5, 0.95), axis=1)
            numbers = [trace.elapsed, trace.measured]
            numbers += [trace.predicted[name] for name in singles]
            for k, row in enumerate(np.stack([*numbers, *bands], 1).tolist()):
                what = map(cell, (trace.sensor, trace.label, trace.unit))
                rows.writerow([*what, trace.windows[k], trace.stamps_ns[k], *map(repr, row)])


def write_settings(found, path):
    """
    Write the settings, and the robot description beside them.

    So the folder can be moved: `report`, `export` and `show` need nothing else. Weights of
    networks that are on stand beside it, too.
    """
    config = read_config(found.posterior.config)
    config = _with_weights(config, found.problem.model, path.parent)
    given = config.model.urdf
    content, _ = read_bytes(
        given if given.lstrip().startswith('<') else found.problem.model.source
    )
    (path.parent / _DESCRIPTION).write_bytes(content)
    path.write_text(to_yaml(with_values(config, {'model.urdf': _DESCRIPTION})), encoding='utf-8')


def _with_weights(config, model, folder):
    """Return a `Config` of the networks that a `Model` has; write what was trained to a folder."""
    wishes = {network.name: config.neural[network.name] for network in model.networks}
    trained = {
        network.name: trained_of(
            network, declaration_of(network.name, wishes[network.name]), digest_of_robot(model)
        )
        for network in model.networks
        if network.is_trained
    }
    if trained:
        write_weights(folder / _WEIGHTS, trained)
    return replace(
        config,
        neural={
            name: replace(wish, weights=_WEIGHTS if name in trained else '')
            for name, wish in wishes.items()
        },
    )


def cell(text):
    """Return a text such that no spreadsheet runs it as a formula: by an apostrophe before it."""
    return f"'{text}" if str(text).startswith(tuple('=+-@\t\r')) else text


def write_summary(found, path):
    """Write result.json: what was found, how well it predicts, and where it comes from."""
    content = {
        'provenance': asdict(found.provenance),
        'bags': [asdict(bag) for bag in found.bags],
        'merged': found.is_merged,
        'distrust': list(found.distrust),
        'choice': None if found.choice is None else asdict(found.choice),
        'findings': asdict(found.findings),
        'units': found.units,
        'events': [asdict(event) for event in found.events],
        'held_out': _scores(found.held_out),
        'noise': None if found.noise is None else _noise(found.noise),
        'fit': None if found.fit is None else asdict(found.fit),
    }
    path.write_text(json.dumps(_plain(content), indent=1, ensure_ascii=False) + '\n')


_REPORT = 'report.html'
# The robot as it was described; `robot.urdf` is the robot as estimated.
_DESCRIPTION = 'description.urdf'
_WEIGHTS = 'neural.json'
# File of the folder -> function (`Identification`, path). They hang on nothing else.
WRITERS = {
    'posterior.npz': write_posterior,
    'estimates.csv': write_estimates,
    'held_out.csv': write_held_out,
    _SUMMARY: write_summary,
    SETTINGS: write_settings,
    _REPORT: write_report,
}


def require_free(output, force):
    """Refuse, with a ConfigError, to replace a result unless told to, and anything else always."""
    output = Path(output)
    if not output.exists():
        return
    if not force:
        raise ConfigError(f'{output}: exists; give another --output, or --force')
    is_result = output.is_dir() and ((output / _SUMMARY).exists() or not any(output.iterdir()))
    if not is_result:
        raise ConfigError(
            f'{output}: is no result of `identify`, and only such a folder is replaced; give '
            'another --output, or remove it yourself'
        )


def write_folder(found, output, checkpoint):
    """Write the folder of an `Identification`, in place of one that is there."""
    output, beside = Path(output), checkpoint.folder / RESULT
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    for name, write in WRITERS.items():
        if name != _REPORT or not missing_for_report():
            write(found, beside / name)
    write_models(found, beside)
    write_bag(checkpoint.journal, beside / BAG)
    if output.exists():
        old = checkpoint.folder / OLD
        shutil.rmtree(old, ignore_errors=True)
        output.rename(old)
    beside.rename(output)
    shutil.rmtree(checkpoint.folder)


def _noise(noise):
    """Return what was learned of the noise of encoders, of torques and of poses."""
    encoders = 'sensor', 'joint', 'configured sd', 'learned sd'
    torques = 'joint', 'sd of 20 ms', 'inflation', 'explained', 'resonance [Hz]'
    poses = 'sensor', 'part', 'configured sd', 'learned sd', 'inflation', 'used'
    found = {
        'encoders': [dict(zip(encoders, row)) for row in noise.encoders],
        'torques': [dict(zip(torques, row)) for row in noise.torques],
    }
    if noise.delay:
        found['delay of torques [s]'] = dict(zip(('mean', 'sd', 'applied'), noise.delay))
    if noise.poses:
        found['poses'] = [dict(zip(poses, row)) for row in noise.poses]
    return found


def _scores(held_out):
    """Return how well each predictor has done, signal by signal."""
    return {
        'share': held_out.share,
        'lead [s]': held_out.lead,
        'horizon [s]': held_out.horizon,
        'windows': len(held_out.starts_ns),
        'reason': held_out.reason,
        'signals': [
            {
                'sensor': trace.sensor,
                'signal': trace.label,
                'unit': trace.unit,
                'sd of noise': trace.sd,
                'rms': {name: trace.rms(name) for name in held_out.predictors},
                'within 90 % of draws': trace.coverage(),
            }
            for trace in held_out.traces
        ],
        'torques': {
            'error of all': {name: held_out.torque_error(name) for name in held_out.predictors},
            'joints': [
                {
                    'joint': trace.joint,
                    'blocks': len(trace.measured),
                    'explained': trace.is_explained,
                    'sd of what is left': trace.sd,
                    'rms': {name: trace.rms(name) for name in held_out.predictors},
                    'error': {name: trace.share(name) for name in held_out.predictors},
                    'within 90 %': trace.coverage(),
                }
                for trace in held_out.torques
            ],
        },
    }


def _plain(value):
    """Return a value as JSON has it: numbers that are none become null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.value if isinstance(value, Enum) else value


def write_models(found, folder):
    """Write URDF, MJCF and draws of an `Identification`, or why no robot is like that."""
    try:
        robot = robot_of(found.problem, found.posterior)
        write_urdf(robot, folder / 'robot.urdf')
        write_mjcf(robot, folder / 'robot.xml')
        write_randomization(robot, folder / 'randomization.json')
    except OutputError:
        raise
    except (DataError, ModelError) as error:
        (folder / REASON).write_text(f'{error}\n', encoding='utf-8')
