"""One robot of `examples/`: convert its recordings, identify it, and predict what is held out."""

from collections import Counter
from pathlib import Path
import tempfile
import time

import numpy as np

from sim2real_estimator.bags.reader import BagReader, digest_of
from sim2real_estimator.config import load_config
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.observability.null_space import draw_samples
from sim2real_estimator.offline.identification.feeding import Feed
from sim2real_estimator.offline.identification.held_out import (
    LEAD,
    predict,
    run_from,
    torque_frames,
    Window,
)
from sim2real_estimator.offline.identification.run import identify
from sim2real_estimator.offline.tables.columns import Columns
from sim2real_estimator.offline.tables.converting import convert
from sim2real_estimator.offline.tables.streams import streams_of
from sim2real_estimator.offline.tables.table import Table
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Explained, Happened, kinds_of
from sim2real_estimator.setup.build import stream_maker

from .robots import Drawn

FOLDER = Path(__file__).resolve().parents[2] / 'examples'
# Open-loop errors are told at these times after a prediction begins, and over so much about [s].
HORIZONS, _ABOUT = (0.25, 0.5, 1.0), 0.01
# Another prediction begins every so often [s].
_EVERY = 0.5
# Recordings whose clocks begin at zero were made one after the other, so far apart [s].
_BEGIN, _APART = 1.7e9, 1e3
# How the margins of what quantities are, are told, and how many draws they are told by.
QUANTILES, _DRAWS = (0.05, 0.5, 0.95), 400
# Events that say that the robot is not what it was.
_ALARMS = frozenset((Happened.CHANGED, Happened.FORGOTTEN, Explained))
# The same by their names on ~/events.
_ALARM_NAMES = 'changed', 'forgotten'
_NANO = 1e9
# Of least squares: how fast the sign of friction changes [rad/s], and its terms.
_WIDTH, _PLAIN = 0.02, ('armature', 'damping', 'friction')


def data_folder(example, shared):
    """Return the folder with an example's recordings; shared: folder that has data/, or None."""
    folder = Path(shared or '', 'data', example.data)
    files = (*example.learned, *example.tests, *example.pieces)
    missing = sorted({each.file for each in files if not (folder / f'{each.file}.npz').is_file()})
    if not shared or missing:
        raise FileNotFoundError(f'no {", ".join(missing)} in {folder}')
    return folder


def measure(example, shared):
    """
    Return what an `Example` comes to: plain values by name.

    quantities, prior: name -> quantiles, of the posterior and before any data; verdicts: name ->
    in words, of parameters; open_loop: signal -> (nominal, estimate) median errors at
    `HORIZONS`; torques: who predicts -> error [%]; seconds: of data; used: time of the processor
    per second of data; alarms, events: name -> how often; distrust: sentences.
    """
    with tempfile.TemporaryDirectory() as place:
        data, folder = data_folder(example, shared), FOLDER / example.folder
        bags = [
            converted(data, folder, each, place, _BEGIN + k * _APART)
            for k, each in enumerate(example.learned)
        ]
        config = load_config(folder / 'robot.yaml')
        share = 0.0 if example.tests else example.share
        found = identify(bags, config, merge=len(bags) > 1, held_out=share)
        tests = [converted(data, folder, each, place) for each in example.tests]
        held_out = _predicted(found, config, tests) if tests else found.held_out
        record = record_of(example, found) | {'open_loop': _open_loop(held_out)}
        if example.cutoff:
            record['torques'] = _torques(example, found, data, folder, config)
    return record


def piece(example, recording, shared):
    """
    Return what one recording alone tells of an `Example`, as `measure` does.

    By the `Pipeline` alone, and without what data cannot tell: quantiles of `repeated` only.
    """
    with tempfile.TemporaryDirectory() as place:
        data, folder = data_folder(example, shared), FOLDER / example.folder
        path = converted(data, folder, recording, place)
        config, events = load_config(folder / 'robot.yaml'), Counter()
        pipeline, begin = Pipeline.from_config(config), time.process_time()
        with BagReader(path) as bag:
            feed = Feed(bag, digest_of(path), config, pipeline, share=0.0)
            for _, decoded in feed.messages():
                for name, each in decoded:
                    pipeline.take(name, each)
                for estimate in pipeline.step():
                    events.update(estimate.report.events)
        for estimate in pipeline.finish():
            events.update(estimate.report.events)
        seconds = (feed.end_ns - feed.bag.begin_ns) / _NANO
        used = (time.process_time() - begin) / seconds
    parametrization, parameters = pipeline.problem.parametrization, pipeline.problem.parameters
    drawn = parametrization.to_named(pipeline.mixture.draw(_DRAWS, np.random.default_rng(0)))
    values = {**parametrization.fixed, **dict(zip(parametrization.names, drawn))}
    told = example.quantities(Drawn(parameters, values, _DRAWS))
    quantities = {each: np.quantile(told[each], QUANTILES).tolist() for each in example.repeated}
    alarms = {str(each): n for each, n in events.items() if kinds_of((each,)) & _ALARMS}
    known = {'quantities': quantities, 'seconds': seconds, 'used': used}
    return known | {'alarms': alarms, 'events': {str(each): n for each, n in events.items()}}


def converted(data, folder, recording, place, start=None):
    """
    Return the path of the bag of a `Recording`, made below a place as `convert` makes it.

    start: when its clock was zero [s].
    """
    path = Path(place, recording.name)
    table, rows = data / f'{recording.file}.npz', slice(*recording.rows)
    convert(table, folder / 'columns.yaml', path, rows=rows, start=start)
    return path


def record_of(example, found):
    """Return what an `Identification` says, as `measure` does, without predictions."""
    problem = found.problem

    def quantiles(mixture):
        drawn = draw_samples(problem, mixture, _DRAWS, seed=0)
        values = {
            **problem.parametrization.fixed,
            **dict(zip(problem.parametrization.names, drawn)),
        }
        told = example.quantities(Drawn(problem.parameters, values, drawn.shape[1]))
        return {name: np.quantile(each, QUANTILES).tolist() for name, each in told.items()}

    events = Counter(each.name for each in found.events)
    used = found.timings['reading'] + found.timings['estimating']
    return {
        'quantities': quantiles(found.posterior.mixture),
        'prior': quantiles(_prior(problem)),
        'verdicts': dict(found.verdicts),
        'seconds': found.timings['data'],
        'used': used / found.timings['data'],
        'alarms': {name: n for name, n in events.items() if name in _ALARM_NAMES},
        'events': dict(events),
        'distrust': list(found.distrust),
    }


def _prior(problem):
    """Return the `Mixture` of what is known of a problem before any data."""
    t, p = problem.tangent_size, len(problem.labels)
    root = np.zeros((1, t + p, t + p))
    root[0, t:, t:] = problem.prior.root
    mean = problem.prior.mean[:, None]
    return Mixture(np.zeros(1), problem.neutral[:, None], mean, root)


def _predicted(found, config, bags):
    """Return the `HeldOut` of recordings of which nothing has been learnt."""
    pipeline, problem, windows = Pipeline.from_config(config), found.problem, []
    make_stream = stream_maker(config, problem)
    for number, path in enumerate(bags):
        with BagReader(path) as bag:
            feed = Feed(bag, digest_of(path), config, pipeline, share=1.0)
            frames = torque_frames(feed, make_stream)
        windows += _windows(frames, number, problem.knows_inputs)
    return predict(problem, found.posterior.mixture, windows, 1.0, config.samples.seed)


def _windows(frames, bag, knows_inputs):
    """Return a `Window` of frames every `_EVERY` seconds, none across a gap."""
    found, length, latest = [], LEAD + HORIZONS[-1] + _ABOUT, -np.inf
    for k, frame in enumerate(frames):
        if frame.start_ns < latest + _EVERY * _NANO:
            continue
        run = run_from(frames, k, length, length - LEAD, knows_inputs)
        if run is not None:
            # The lead ends before, where no frame ends at its end: so the figures were measured.
            lead = tuple(each for each in run if each.end_ns <= frame.start_ns + LEAD * _NANO)
            found.append(Window(lead, tuple(run[len(lead) :]), bag))
            latest = frame.start_ns
    return found


def _open_loop(held_out):
    """Return signal -> [(nominal, estimate) median |error| at each of `HORIZONS`], in SI units."""
    found = {}
    for trace in held_out.traces:
        errors = [np.abs(trace.predicted[who] - trace.measured) for who in ('nominal', 'mean')]
        at = [np.abs(trace.elapsed - horizon) < _ABOUT for horizon in HORIZONS]
        if all(each.any() for each in at):
            rows = [[float(np.median(error[each])) for error in errors] for each in at]
            found[f'{trace.label} [{trace.unit}]'] = rows
    return found


def _torques(example, found, data, folder, config):
    """Return who predicts -> torque error of the part held out [%], on one filtered motion."""
    from peers.least_squares import design, fitted, smooth  # needs Pinocchio
    from real.ours import named_at
    from real.torque import arm_of, Motion, torque_error, torque_of_named

    table = Table(data / f'{example.learned[0].file}.npz', slice(None))
    stream = streams_of(table, load_config(folder / 'columns.yaml', Columns))[0]
    t = (stream.stamps - stream.stamps[0]) / _NANO
    known = np.isfinite(stream.effort).any(0)
    motion = Motion(*smooth(t, stream.position, np.nan_to_num(stream.effort), example.cutoff))
    bag, urdf = found.bags[0], (folder / 'robot.urdf').read_text(encoding='utf-8')
    split = (bag.split_ns - bag.begin_ns) / _NANO
    learnt, test = motion.within((-np.inf, split)), motion.within((split, np.inf))
    couple = next((pair[::-1] for pair in config.model.couplings.items()), ())
    terms = (*_PLAIN, 'coupled') if couple else _PLAIN
    model, width = arm_of(urdf, stream.joints), np.full(len(stream.joints), _WIDTH)
    fit = fitted(model, learnt.kinematics, learnt.tau, terms, width, couple, known=known)
    columns = design(model, test.kinematics, terms, width, couple)
    mean = named_at(found.problem, found.posterior.mixture.moments()[0])
    predicted = {
        'the description': torque_of_named(urdf, stream.joints, {}, test),
        'the estimate': torque_of_named(urdf, stream.joints, mean, test),
        'least squares': columns @ fit,
    }
    measured = test.tau[:, known]
    return {who: torque_error(tau[:, known], measured) for who, tau in predicted.items()}
