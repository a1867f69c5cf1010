"""A guess of the first state from the first frames."""

import numpy as np

_NANO = 1e-9
_FRAMES = 10
# Through so many samples goes the parabola that smooths them.
_NEIGHBOURS = 7
_ITERATIONS = 8
# How far from the guess before it a position is sought [rad or m].
_REACH = 1.0


def guess_state(problem, frames):
    """
    Return the state [nx] at the start of the first frame.

    Positions are fitted to the samples of each of the first frames, whatever the sensors are;
    a parabola through them gives the velocity.
    """
    start, nv = frames[0].start_ns, problem.model.velocity_size
    times, found, is_told = _positions(problem, frames[:_FRAMES], start)
    if not len(times):
        return problem.neutral
    moves = problem.local(np.repeat(found[:, :1], len(times), 1), found)[:nv]
    delta = np.zeros((problem.tangent_size, 1))
    for rows, told in _told_alike(is_told):
        delta[rows, 0], delta[nv + rows, 0] = _parabola(times[told], moves[np.ix_(rows, told)])
    return problem.retract(found[:, :1], delta)[:, 0]


def guess_trajectory(problem, frames):
    """
    Return the states [H + 1, nx] at the bounds of consecutive frames.

    Positions are fitted to the samples of each frame, and a parabola through those nearby smooths
    them and gives the velocity.
    """
    start, nv = frames[0].start_ns, problem.model.velocity_size
    times, found, is_told = _positions(problem, frames, start)
    bounds = np.array([0.0, *((frame.end_ns - start) * _NANO for frame in frames)])
    if not len(times):
        return np.repeat(problem.neutral[None], len(bounds), 0)
    alike, result = _told_alike(is_told), []
    for bound in bounds:
        origin = found[:, [int(np.argmin(np.abs(times - bound)))]]
        delta = np.zeros((problem.tangent_size, 1))
        for rows, told in alike:
            nearest = np.argsort(np.abs(times[told] - bound), kind='stable')[:_NEIGHBOURS]
            near = told[np.sort(nearest)]
            moves = problem.local(np.repeat(origin, len(near), 1), found[:, near])[rows]
            delta[rows, 0], delta[nv + rows, 0] = _parabola(times[near] - bound, moves)
        result.append(problem.retract(origin, delta)[:, 0])
    return np.array(result)


def _positions(problem, frames, start):
    """
    Return (times [k] since `start` [s], states at rest [nx, k], what is told [k, nv]).

    They explain the samples of a frame each; told are the coordinates of which these say anything.
    Others are where they were in the frame before.
    """
    frames = [frame for frame in frames if frame.samples]
    point, found, is_told = problem.neutral, [], []
    for frame in frames:
        point, told = _fit_positions(problem, point, frame)
        found.append(point)
        is_told.append(told)
    is_told = np.array(is_told, dtype=bool)
    # What a late camera sees only later was about there before, not where it is neutral.
    for k in reversed(range(_until_seen(is_told))):
        found[k] = _fit_positions(problem, found[k + 1], frames[k])[0]
    times = np.array([(frame.end_ns - start) * _NANO for frame in frames])
    return times, np.array(found).T, is_told


def _until_seen(is_told):
    """Return how many frames pass before each coordinate is told that ever is."""
    return int(np.argmax(is_told[:, is_told.any(0)], 0).max(initial=0)) if len(is_told) else 0


def _told_alike(is_told):
    """Return (coordinates, frames that tell of them) for those of which the same frames tell."""
    patterns, which = np.unique(is_told, axis=1, return_inverse=True)
    groups = [
        (np.flatnonzero(which.ravel() == k), np.flatnonzero(p)) for k, p in enumerate(patterns.T)
    ]
    return [(rows, told) for rows, told in groups if len(told)]


def _fit_positions(problem, point, frame):
    """
    Return (state at rest nearest to `point` that explains a frame's samples, what is told).

    Samples with which nothing can be computed tell nothing.
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
    """Return value and slope at time 0 of the parabola through moves [nv, k], [2, nv]."""
    degree = min(2, len(times) - 1)
    powers = np.vander(times, degree + 1, increasing=True)
    curve = np.linalg.lstsq(powers, moves.T, rcond=None)[0]
    return curve[:2] if degree else np.stack([curve[0], np.zeros_like(curve[0])])
