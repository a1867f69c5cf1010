"""
Held-out stretches, predicted open loop.

Each window begins with a short stretch from which the state is fitted, for each predictor with its
own parameters; after it nothing but efforts enter. So what is compared are models of the robot,
not filters.
"""

from dataclasses import dataclass

import numpy as np

from .result import HeldOut, Trace

NOMINAL, MEAN, DRAWS = PREDICTORS = ('nominal', 'mean', 'draws')
# Of the stretch that the state is fitted to, and of the prediction [s].
LEAD, HORIZON = 0.3, 1.0
_WINDOWS, _DRAWS = 40, 24
# Until the first efforts have come, and the last samples have [s].
_MARGIN = 0.5
_ITERATIONS = 8
_NANO = 1e9


@dataclass(frozen=True)
class Window:
    """Consecutive frames: those to fit a state to, and those to predict; bag: its index."""

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
    count = min(_WINDOWS, int(length / stretch))
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
    run = []
    for frame in frames:
        if frame.after_gap or not knows_inputs(frame):
            run = []
        if not knows_inputs(frame):
            continue
        run.append(frame)
        if (run[-1].end_ns - run[0].start_ns) / _NANO >= LEAD + HORIZON:
            return _cut(run, bag)
    return None


def predict(problem, mixture, windows, share, seed):
    """
    Return the `HeldOut` of a posterior.

    mixture: over the problem's coordinates, of which draws are taken; seed: of the draws.
    """
    draws = mixture.draw(_DRAWS, np.random.default_rng(seed))
    mean = mixture.moments()[0][:, None]
    parameters = np.concatenate([problem.prior.mean[:, None], mean, draws], 1)
    rows = {}
    kept = []
    for window in windows:
        predicted = _predicted(problem, parameters, window)
        if predicted is not None:
            kept.append(window)
            for key, row in predicted:
                rows.setdefault(key, []).append((len(kept) - 1, *row))
    reason = '' if kept else _reason(windows)
    return HeldOut(
        PREDICTORS,
        share,
        LEAD,
        HORIZON,
        np.array([window.ahead[0].start_ns for window in kept], dtype=np.int64),
        np.array([window.bag for window in kept], dtype=np.int64),
        tuple(_trace(problem, key, found, kept) for key, found in sorted(rows.items())),
        reason,
    )


def nothing_held_out(share):
    """Return the `HeldOut` where nothing was asked for."""
    none = np.zeros(0, dtype=np.int64)
    return HeldOut(PREDICTORS, share, LEAD, HORIZON, none, none, (), 'nothing was held out')


def fitted_states(problem, frames, parameters):
    """
    Return the states [nx, K] at the end of frames that explain their samples best.

    parameters [p, K]: for each of which a state is fitted, by Gauss and Newton.
    """
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
        delta = np.zeros((problem.tangent_size, count))
        delta[:free] = -np.linalg.solve(normal, right[..., None])[..., 0].T
        points = problem.retract(points, delta)
    return _along(problem, frames, points, parameters)[2]


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


def _cut(run, bag):
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
    if not np.isfinite(states).all():
        return None
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
    # What was not measured has no row of its own.
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
