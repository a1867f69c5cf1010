"""Initial guesses of states from samples: positions frame by frame, then smoothed by parabolas."""

import numpy as np

_NANO = 1e-9
_FRAMES = 10
# Frames that a smoothing parabola is fitted to.
_NEIGHBOURS = 7
_ITERATIONS = 8
# Standard deviation of the regularisation of a position towards the guess before [rad or m].
_REACH = 1.0


def guess_state(problem, frames):
    """
    Return a guess of the state [nx] at the start of the first frame.

    Positions are fitted to the samples of each of the first frames, of whatever sensors; the slope
    of a parabola through them is the velocity.
    """
    start, nv = frames[0].start_ns, problem.model.velocity_size
    times, found, is_observed = _positions(problem, frames[:_FRAMES], start)
    if not len(times):
        return problem.neutral
    moves = problem.local(np.repeat(found[:, :1], len(times), 1), found)[:nv]
    delta = np.zeros((problem.tangent_size, 1))
    for rows, which in _observed_together(is_observed):
        delta[rows, 0], delta[nv + rows, 0] = _parabola(times[which], moves[np.ix_(rows, which)])
    return problem.retract(found[:, :1], delta)[:, 0]


def guess_trajectory(problem, frames):
    """
    Return guesses of the states [H + 1, nx] at the bounds of consecutive frames.

    Positions are fitted to the samples of each frame, then smoothed by a parabola through those
    nearby, whose slope is the velocity.
    """
    start, nv = frames[0].start_ns, problem.model.velocity_size
    times, found, is_observed = _positions(problem, frames, start)
    bounds = np.array([0.0, *((frame.end_ns - start) * _NANO for frame in frames)])
    if not len(times):
        return np.repeat(problem.neutral[None], len(bounds), 0)
    groups, result = _observed_together(is_observed), []
    for bound in bounds:
        origin = found[:, [int(np.argmin(np.abs(times - bound)))]]
        delta = np.zeros((problem.tangent_size, 1))
        for rows, which in groups:
            nearest = np.argsort(np.abs(times[which] - bound), kind='stable')[:_NEIGHBOURS]
            near = which[np.sort(nearest)]
            moves = problem.local(np.repeat(origin, len(near), 1), found[:, near])[rows]
            delta[rows, 0], delta[nv + rows, 0] = _parabola(times[near] - bound, moves)
        result.append(problem.retract(origin, delta)[:, 0])
    return np.array(result)


def _positions(problem, frames, start):
    """
    Return (times [k] since `start` [s], states at rest [nx, k], is observed [k, nv]).

    Each fits the samples of one frame; observed are the coordinates that these depend on.
    Others are where they were in the frame before.
    """
    frames = [frame for frame in frames if frame.samples]
    point, found, is_observed = problem.neutral, [], []
    for frame in frames:
        point, observed = _fit_positions(problem, point, frame)
        found.append(point)
        is_observed.append(observed)
    is_observed = np.array(is_observed, dtype=bool)
    # Before a coordinate is first observed its guess is what it is then, not its neutral position.
    for k in reversed(range(_until_observed(is_observed))):
        found[k] = _fit_positions(problem, found[k + 1], frames[k])[0]
    times = np.array([(frame.end_ns - start) * _NANO for frame in frames])
    return times, np.array(found).T, is_observed


def _until_observed(is_observed):
    """Return the number of frames until every coordinate that is ever observed has been."""
    if not len(is_observed):
        return 0
    return int(np.argmax(is_observed[:, is_observed.any(0)], 0).max(initial=0))


def _observed_together(is_observed):
    """Return [(coordinates, frames)] of the groups of coordinates observed by the same frames."""
    patterns, which = np.unique(is_observed, axis=1, return_inverse=True)
    groups = [
        (np.flatnonzero(which.ravel() == k), np.flatnonzero(p)) for k, p in enumerate(patterns.T)
    ]
    return [(rows, frames) for rows, frames in groups if len(frames)]


def _fit_positions(problem, point, frame):
    """
    Return (state [nx] at rest that fits a frame's samples, is observed [nv]).

    A Gauss-Newton fit, regularised towards `point`. Samples whose residuals are not finite count
    as none.
    """
    nv, parameters = problem.model.velocity_size, problem.prior.mean[:, None]
    origin = point[:, None]
    current = origin
    for _ in range(_ITERATIONS):
        with np.errstate(all='ignore'):
            residual, slope = problem.observe(current, parameters, frame)
        moved = problem.local(origin, current)[:nv, 0] / _REACH
        rows = np.concatenate([slope[0, :, :nv], np.eye(nv) / _REACH])
        right = np.concatenate([residual[0], moved])
        if not (np.isfinite(rows).all() and np.isfinite(right).all()):
            return point, np.zeros(nv, dtype=bool)
        delta = np.zeros((problem.tangent_size, 1))
        delta[:nv, 0] = -np.linalg.lstsq(rows, right, rcond=None)[0]
        current = problem.retract(current, delta)
        if np.abs(delta).max() < 1e-9:
            break
    return current[:, 0], (slope[0, :, :nv] != 0).any(0)


def _parabola(times, moves):
    """Return value and slope [2, nv] at time 0 of the parabola fitted to moves [nv, k]."""
    degree = min(2, len(times) - 1)
    powers = np.vander(times, degree + 1, increasing=True)
    curve = np.linalg.lstsq(powers, moves.T, rcond=None)[0]
    return curve[:2] if degree else np.stack([curve[0], np.zeros_like(curve[0])])
