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
    times, found, point = [], [], problem.neutral
    for frame in frames[:_FRAMES]:
        if frame.samples:
            point = _fit_positions(problem, point, frame)
            times.append((frame.end_ns - start) * _NANO)
            found.append(point)
    if not found:
        return point
    first = np.repeat(found[0][:, None], len(found), 1)
    moves = problem.local(first, np.array(found).T)[:nv]
    curve = _parabola(np.array(times), moves)
    delta = np.zeros((problem.tangent_size, 1))
    delta[:nv, 0], delta[nv : 2 * nv, 0] = curve
    return problem.retract(found[0][:, None], delta)[:, 0]


def _fit_positions(problem, point, frame):
    """Return the state at rest nearest to `point` that explains a frame's samples."""
    nv, parameters = problem.model.velocity_size, problem.prior.mean[:, None]
    origin = point[:, None]
    current = origin
    for _ in range(_ITERATIONS):
        residual, slope = problem.observe(current, parameters, frame)
        moved = problem.local(origin, current)[:nv, 0] / _REACH
        rows = np.concatenate([slope[0, :, :nv], np.eye(nv) / _REACH])
        right = np.concatenate([residual[0], moved])
        delta = np.zeros((problem.tangent_size, 1))
        delta[:nv, 0] = -np.linalg.lstsq(rows, right, rcond=None)[0]
        current = problem.retract(current, delta)
        if np.abs(delta).max() < 1e-9:
            break
    return current[:, 0]


def guess_course(problem, frames):
    """
    Return the states [H + 1, nx] at the bounds of consecutive frames.

    Positions are fitted to the samples of each frame, and a parabola through those nearby smooths
    them and gives the velocity.
    """
    start, nv = frames[0].start_ns, problem.model.velocity_size
    times, found, point = [], [], problem.neutral
    for frame in frames:
        if frame.samples:
            point = _fit_positions(problem, point, frame)
            times.append((frame.end_ns - start) * _NANO)
            found.append(point)
    bounds = np.array([0.0, *((frame.end_ns - start) * _NANO for frame in frames)])
    if not found:
        return np.repeat(point[None], len(bounds), 0)
    times, found = np.array(times), np.array(found).T
    result = []
    for bound in bounds:
        near = np.sort(np.argsort(np.abs(times - bound), kind='stable')[:_NEIGHBOURS])
        origin = found[:, near[[np.argmin(np.abs(times[near] - bound))]]]
        moves = problem.local(np.repeat(origin, len(near), 1), found[:, near])[:nv]
        curve = _parabola(times[near] - bound, moves)
        delta = np.zeros((problem.tangent_size, 1))
        delta[:nv, 0], delta[nv : 2 * nv, 0] = curve[0], curve[1]
        result.append(problem.retract(origin, delta)[:, 0])
    return np.array(result)


def _parabola(times, moves):
    """Return value and slope at time 0 of the parabola through moves [nv, k], [2, nv]."""
    degree = min(2, len(times) - 1)
    powers = np.vander(times, degree + 1, increasing=True)
    curve = np.linalg.lstsq(powers, moves.T, rcond=None)[0]
    return curve[:2] if degree else np.stack([curve[0], np.zeros_like(curve[0])])
