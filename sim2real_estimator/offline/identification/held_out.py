"""
Held-out data, predicted open loop: motion in short windows, and torques where measured.

Each window begins with a short stretch from which the state is fitted, for each predictor with its
own parameters; after it nothing but efforts enter. So what is compared are models of the robot,
not filters.
"""

from dataclasses import dataclass, replace
from itertools import islice, takewhile

import numpy as np

from ...config import with_values
from ...estimation.torque.delay import late_torques, torques_at
from ...estimation.torque.joint_motion import learn_motion_noise, smoothed_motion
from ...estimation.torque.regression import block_rows
from ...estimation.torque.rows import are_moving, BLOCK_NS, motion_at
from ...observability.null_space import mending, physical_draws
from ...setup.build import build_parts
from .result import FAR, HeldOut, TorqueTrace, Trace

NOMINAL, MEAN, DRAWS = PREDICTORS = ('nominal', 'mean', 'draws')
# Longest stretch that the initial state is fitted to, and length of the prediction [s].
LEAD, HORIZON = 0.3, 1.0
# Stretches to fit the initial state to [s]. Over a long one a small model error bends the
# velocities of a fast mechanism, over a short one noise does. The longest one is used at which
# the posterior's mean leaves residuals below _LEFT standard deviations (rms, median of _TELLING
# windows), with at least _LEAST_FRAMES frames with samples.
_LEADS, _LEFT, _TELLING, _LEAST_FRAMES = (LEAD, 0.2, 0.13, 0.09, 0.06), 2.0, 8, 4
_WINDOWS, _DRAWS = 40, 24
# Time for the first efforts and the last samples to arrive [s].
_MARGIN = 0.5
_ITERATIONS = 8
# Longest step of predictions by measured torques [s]: friction near rest is stiff.
_STIFF_STEP = 5e-4
_NANO = 1e9
# Number of draws of the posterior for which torques are predicted.
_TORQUE_DRAWS = 100
# Least samples of a stretch between gaps, and least share of usable samples of a block.
_FEWEST, _SHARE = 20, 0.5


@dataclass(frozen=True)
class Window:
    """Consecutive frames, to fit a state to and to predict; bag: index of the recording."""

    lead: tuple
    ahead: tuple
    bag: int


def windows_of(feed, bag, make_stream, knows_inputs):
    """
    Return `Window`s spread evenly over what a `Feed` holds out, none across a gap.

    bag: index of the recording; make_stream: function that returns a new `Stream`; knows_inputs:
    function that tells whether all efforts of a frame are known.
    """
    stretch = LEAD + HORIZON + _MARGIN
    length = (feed.end_ns - feed.split_ns) / _NANO
    # A single window may have a shorter margin.
    count = min(_WINDOWS, max(int(length / stretch), int(length > LEAD + HORIZON)))
    found = []
    for number in range(count):
        stream = make_stream()
        begin_ns = feed.split_ns + round(number * length / count * _NANO)
        for sample in feed.held_out(begin_ns, stretch):
            stream.push(sample)
        window = _first_window(stream.flush(), bag, knows_inputs)
        found += [window] if window else []
    return found


def _first_window(frames, bag, knows_inputs):
    run = first_run(frames, LEAD + HORIZON, knows_inputs)
    return None if run is None else split_window(run, bag)


def first_run(frames, seconds, knows_inputs):
    """Return the first frames of so many seconds without a gap and with known inputs, or None."""
    run = []
    for frame in frames:
        if frame.after_gap or not knows_inputs(frame):
            run = []
        if not knows_inputs(frame):
            continue
        run.append(frame)
        if (run[-1].end_ns - run[0].start_ns) / _NANO >= seconds:
            return run
    return None


def run_from(frames, first, seconds, least, knows_inputs):
    """
    Return the frames within so many seconds from the first of them on, or None.

    frames: consecutive ones; first: index of the first; least [s]: how long they must last. None
    if they end before, have a gap, or if not all their inputs are known.
    """
    begin_ns = frames[first].start_ns
    end_ns = begin_ns + round(seconds * _NANO)
    run = list(takewhile(lambda each: each.end_ns <= end_ns, islice(frames, first, None)))
    if not run or run[-1].end_ns <= begin_ns + least * _NANO:
        return None
    return None if any(each.after_gap or not knows_inputs(each) for each in run) else run


def predict(problem, mixture, windows, share, seed, torque_noise=None):
    """
    Return the `HeldOut` of a posterior.

    mixture: over the problem's coordinates, of which draws are taken; seed: of the draws;
    torque_noise: the `TorqueNoise` of measured torques, which are what drives the prediction.
    """
    generator = np.random.default_rng(seed)
    draws = mixture.draw(_DRAWS, generator)
    if torque_noise is not None:
        mend = mending(problem, mixture)
        draws = physical_draws(problem.parametrization, draws, generator, mend=mend)
        draws = _with_noise(problem, draws, torque_noise, generator)
    mean, nominal = mixture.moments()[0][:, None], problem.prior.mean
    if torque_noise is not None:
        nominal = described(problem)
        # A robot that cannot be built cannot be simulated either.
        mean = mend(mean) if mend else mean
    parameters = np.concatenate([nominal[:, None], mean, draws], 1)
    lead = _lead_of(problem, mean, windows)
    rows = {}
    kept = []
    for window in (_shortened(each, lead) for each in windows):
        predicted = _predicted(problem, parameters, window)
        if predicted is not None:
            kept.append(window)
            for key, row in predicted:
                rows.setdefault(key, []).append((len(kept) - 1, *row))
    reason = '' if kept else _reason(windows)
    return HeldOut(
        PREDICTORS,
        share,
        lead,
        HORIZON,
        np.array([window.ahead[0].start_ns for window in kept], dtype=np.int64),
        np.array([window.bag for window in kept], dtype=np.int64),
        tuple(_trace(problem, key, found, kept) for key, found in sorted(rows.items())),
        reason,
    )


def predict_motion(pipeline, config, mixture, windows, share):
    """
    Return the `HeldOut` of a posterior by forward simulation, whatever estimator it is of.

    pipeline: the `Pipeline` that has learned; mixture: the posterior; share: that is held out.
    Measured torques drive a finer simulation, as their friction near rest is stiff.
    """
    problem, seed = pipeline.problem, config.samples.seed
    if problem.torque is None:
        return predict(problem, mixture, windows, share, seed)
    step = config.simulation.max_step
    finer = with_values(config, {'simulation.max_step': min(step, _STIFF_STEP)})
    simulated, noise = build_parts(finer)[0], pipeline.state.fit.noise
    return predict(simulated, mixture, windows, share, seed, noise)


def _lead_of(problem, mean, windows):
    """Return the length of the stretch to fit states to [s]; mean [p, 1]: coordinates."""
    for lead in _LEADS[:-1]:
        left = [_left(problem, mean, _shortened(each, lead).lead) for each in windows[:_TELLING]]
        if not left or np.median(left) <= _LEFT:
            return lead
    return _LEADS[-1]


def _left(problem, mean, frames):
    """Return the rms residual of frames after a fit of the state, infinite where that fails."""
    with np.errstate(all='ignore'):
        try:
            residual = _fitted(problem, frames, mean)[1]
        except np.linalg.LinAlgError:
            return np.inf
    left = np.sqrt((residual**2).mean()) if residual.size else 0.0
    return left if np.isfinite(left) else np.inf


def _shortened(window, lead):
    """Return a `Window` whose state is fitted to the last `lead` seconds only."""
    end_ns = window.lead[-1].end_ns
    seen = [each.start_ns for each in window.lead if each.samples]
    begin_ns = min(end_ns - round(lead * _NANO), *seen[-_LEAST_FRAMES:], end_ns)
    kept = tuple(each for each in window.lead if each.start_ns >= begin_ns)
    return replace(window, lead=kept or window.lead)


def described(problem):
    """Return the coordinates [p] of the robot description, else of the prior mean."""
    parametrization = problem.parametrization
    prior = dict(
        zip(parametrization.names, parametrization.to_named(problem.prior.mean[:, None])[:, 0])
    )
    given = {
        name: problem.parameters[name].nominal for name in prior if name in problem.parameters
    }
    values = np.array([[each] for each in {**prior, **given}.values()])
    found = parametrization.inner.from_named(values)[:, 0]
    return np.where(np.isfinite(found), found, problem.prior.mean)


def _with_noise(problem, draws, noise, generator):
    """
    Return draws [p, D] with what measured torques are off during a prediction.

    What is left of them hangs together over about as long as is predicted, so an offset stands
    for it, of the variance that its mean has over that time.
    """
    result, blocks = draws.copy(), HORIZON * _NANO / BLOCK_NS
    deviations = np.sqrt(noise.variance * np.minimum(noise.inflation / blocks, 1.0))
    for joint, deviation in zip(problem.torque.joints, deviations):
        if (label := f'{joint}.torque_offset') in problem.labels:
            row = problem.labels.index(label)
            result[row] += deviation * generator.standard_normal(draws.shape[1])
    return result


def nothing_held_out(share):
    """Return the `HeldOut` of an identification without held-out data."""
    none = np.zeros(0, dtype=np.int64)
    return HeldOut(PREDICTORS, share, LEAD, HORIZON, none, none, (), 'nothing was held out')


def fitted_states(problem, frames, parameters):
    """
    Return the states [nx, K] at the end of frames that explain their samples best.

    parameters [p, K]: for each of which a state is fitted, by Gauss and Newton.
    """
    return _fitted(problem, frames, parameters)[0]


def _fitted(problem, frames, parameters):
    """Return (states [nx, K], residuals [K, m] of the samples) of `fitted_states`."""
    point, root = problem.first_state(frames)
    count, free = parameters.shape[1], 2 * problem.model.velocity_size
    points = np.repeat(point[:, None], count, 1)
    weights = 1 / np.diag(root)[:free] ** 2
    first = points
    for _ in range(_ITERATIONS):
        residual, slope, _ = _along(problem, frames, points, parameters)
        slope = slope[..., :free]
        away = problem.local(first, points)[:free].T
        normal = slope.swapaxes(1, 2) @ slope + np.diag(weights)
        right = (slope * residual[..., None]).sum(1) + weights * away
        # Columns whose simulation diverged stay where they are.
        is_lost = ~(np.isfinite(normal).all((1, 2)) & np.isfinite(right).all(1))
        normal[is_lost], right[is_lost] = np.eye(free), 0.0
        delta = np.zeros((problem.tangent_size, count))
        delta[:free] = -np.linalg.solve(normal, right[..., None])[..., 0].T
        points = problem.retract(points, delta)
    residual, _, ends = _along(problem, frames, points, parameters)
    return ends, residual


def _along(problem, frames, points, parameters):
    """Return residuals [K, m], their slopes [K, m, t] by the first state, and the last states."""
    size = problem.tangent_size
    moved = np.broadcast_to(np.eye(size), (points.shape[1], size, size))
    residuals, slopes = [], []
    for frame in frames:
        found = problem.linearize(points, parameters, (frame,))
        residuals.append(found.residual)
        slopes.append(found.slope[..., :size] @ moved)
        moved = found.transition[..., :size] @ moved
        points = found.ends
    return np.concatenate(residuals, 1), np.concatenate(slopes, 1), points


def split_window(run, bag):
    """Return the `Window` of a run of frames."""
    begin = run[0].start_ns
    cut = next(k for k, frame in enumerate(run, 1) if (frame.end_ns - begin) / _NANO >= LEAD)
    return Window(tuple(run[:cut]), tuple(run[cut:]), bag)


def _predicted(problem, parameters, window):
    """
    Return [((sensor, row), (stamp, error [K], sample))], or None where there are no numbers.

    The errors are in standard deviations, predicted less measured.
    """
    with np.errstate(all='ignore'):
        try:
            points = fitted_states(problem, window.lead, parameters)
        except np.linalg.LinAlgError:
            return None
        states = problem.trajectory(points, parameters, window.ahead)
    # A divergence of the described robot counts as its error; others end the window.
    if not np.isfinite(states[..., 1:]).all():
        return None
    states[..., 0] = np.nan_to_num(states[..., 0], posinf=FAR, neginf=-FAR, nan=FAR)
    found = []
    for k, frame in enumerate(window.ahead):
        errors = problem.residuals(states[k : k + 2], parameters, (frame,))
        row = 0
        for index, sample in problem.in_rows(frame):
            for part in range(problem.sensors[index].row_size):
                found.append(((index, part), (sample, errors[:, row])))
                row += 1
    return found


def _trace(problem, key, found, windows):
    """Return the `Trace` of (window, sample, errors [K]) of one residual row."""
    index, part = key
    sensor = problem.sensors[index]
    signal = sensor.signals[part]
    # Values that were not measured have no entry.
    is_error = signal.place is None
    measured = [0.0 if is_error else sample.values[signal.place] for _, sample, _ in found]
    present = [errors.any() if is_error else True for _, _, errors in found]
    present = np.isfinite(measured) & present
    found = [entry for entry, is_there in zip(found, present) if is_there]
    measured = np.array(measured)[present]
    errors = signal.sd * np.array([errors for _, _, errors in found]).reshape(len(found), -1)
    values = measured[:, None] + errors
    stamps = np.array([sample.stamp_ns for _, sample, _ in found], dtype=np.int64)
    numbers = np.array([number for number, _, _ in found], dtype=np.int64)
    begins = np.array([window.ahead[0].start_ns for window in windows], dtype=np.int64)
    return Trace(
        sensor.name,
        signal.label,
        signal.unit,
        signal.sd,
        is_error,
        stamps,
        numbers,
        (stamps - begins[numbers]) / _NANO,
        measured,
        {NOMINAL: values[:, 0], MEAN: values[:, 1], DRAWS: values[:, 2:]},
    )


def _reason(windows):
    if windows:
        return 'no prediction came to a number: the models are unstable'
    return (
        f'what was held out has no {LEAD + HORIZON:.1f} s without a gap in which all efforts '
        'are known'
    )


def torque_frames(feed, make_stream):
    """Return all held-out frames of a `Feed`; make_stream: makes a `Stream`."""
    seconds = (feed.end_ns - feed.split_ns) / _NANO
    return frames_between(feed, make_stream, feed.split_ns, seconds)


def frames_between(feed, make_stream, begin_ns, seconds):
    """Return the held-out frames of a `Feed` from a time in the bag on, for so many seconds."""
    stream = make_stream()
    for sample in feed.held_out(begin_ns, seconds):
        stream.push(sample)
    return tuple(stream.flush())


def predict_torques(problem, mixture, noise, parts, seed, delay=0.0):
    """
    Return a `TorqueTrace` for each joint whose torque is measured.

    mixture: the posterior; noise: `TorqueNoise` that was learned; parts: the frames that each
    recording holds out; seed: of the draws; delay: by which torques are late [s].
    """
    model, parametrization = problem.torque, problem.parametrization
    generator = np.random.default_rng(seed)
    draws = mixture.draw(_TORQUE_DRAWS, generator)
    draws = physical_draws(parametrization, draws, generator, mend=mending(problem, mixture))
    points = np.column_stack([described(problem), mixture.moments()[0], draws])
    known = [(model.standard(x)[0], model.scales(x)[0]) for x in points.T]
    geometry = model.geometry(points[:, 1])
    rows = []
    for bag, frames in enumerate(parts):
        for stamps, positions, effort_stamps, efforts in stretches(model, frames):
            efforts, wrenches = np.split(efforts, [len(model.joints)], 1)
            if delay:
                late = late_torques(effort_stamps, efforts, effort_stamps)
                efforts = torques_at(late, delay)
            given = effort_stamps, efforts, wrenches
            found = _torque_rows(model, stamps, positions, given, (*known[1], geometry))
            rows += [] if found is None else [(*found, bag)]
    return tuple(
        trace
        for joint, name in enumerate(model.joints)
        if (trace := _torque_trace(joint, name, rows, known, noise)) is not None
    )


def stretches(model, frames):
    """
    Yield stamps [N], positions [N, n], stamps of torques [M], torques [M, J + W] without gaps.

    Known wrenches stand after the torques.
    """
    part = []
    for frame in (*frames, None):
        if frame is None or frame.after_gap:
            readings = [model.read(each) for each in part]
            positions = [entry for r in readings for entry in r.positions]
            torques = [entry for r in readings for entry in r.torques]
            if len(positions) >= _FEWEST and torques:
                yield tuple(
                    np.array(column) for pairs in (positions, torques) for column in zip(*pairs)
                )
            part = []
        if frame is not None:
            part.append(frame)


def _torque_rows(model, stamps, positions, given, known):
    """
    Return (`Rows`, their stamps [K]) of a stretch, None where nothing moves.

    given: stamps of torques [M], torques [M, J], known wrenches [M, W], by which torques are less
    than the motion takes; known: standard parameters, scales of torques and geometry.
    """
    (effort_stamps, efforts, wrenches), (standard, scales, geometry) = given, known
    seconds = (stamps - stamps[0]) / _NANO
    noise = learn_motion_noise(seconds, positions)
    motion = smoothed_motion(seconds, positions, noise)
    at = (effort_stamps - stamps[0]) / _NANO
    is_moving = are_moving(seconds, motion[1][:, model.velocities], model.slowest)
    nearest = np.searchsorted(seconds, at).clip(0, len(seconds) - 1)
    states = motion_at(at, seconds, motion)
    if wrenches.shape[1]:
        efforts = efforts + scales * model.of_wrenches(states[0], wrenches)
    usable = np.isfinite(efforts) & is_moving[nearest]
    usable[(at < 0) | (at > seconds[-1])] = False
    if not usable.any():
        return None
    columns = model.columns(*states, standard, geometry)
    edges = np.arange(effort_stamps[0], effort_stamps[-1] + BLOCK_NS, BLOCK_NS)
    bounds = np.unique(np.append(np.searchsorted(effort_stamps, edges), len(effort_stamps)))
    return block_rows(columns, efforts, usable, bounds), effort_stamps[bounds[:-1]]


def _torque_trace(joint, name, rows, known, noise):
    """Return the `TorqueTrace` of a joint, None where it never moves."""
    stamps, bags, measured, predicted = [], [], [], []
    for found, begins, bag in rows:
        # Rows are weighted by the root of their share of usable samples.
        shares = found.shares[:, joint]
        kept = np.flatnonzero(shares >= _SHARE)
        root = np.sqrt(shares[kept])
        columns = found.columns[kept, joint] / root[:, None]
        stamps.append(begins[kept])
        bags.append(np.full(len(kept), bag))
        measured.append(found.torques[kept, joint] / root)
        predicted.append(
            np.stack([scales[joint] * (columns @ standard) for standard, scales in known], 1)
        )
    if not sum(map(len, measured)):
        return None
    values = np.concatenate(predicted)
    return TorqueTrace(
        name,
        float(np.sqrt(noise.variance[joint])),
        bool(noise.explained[joint]),
        np.concatenate(stamps),
        np.concatenate(bags),
        np.concatenate(measured),
        {'nominal': values[:, 0], 'mean': values[:, 1], 'draws': values[:, 2:]},
    )
