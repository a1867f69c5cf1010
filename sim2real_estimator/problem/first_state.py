"""A guess of the first state from the first frames."""

import numpy as np

_FRAMES = 10
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
            times.append((frame.end_ns - start) * 1e-9)
            found.append(point)
    if not found:
        return point
    first = np.repeat(found[0][:, None], len(found), 1)
    moves = problem.local(first, np.array(found).T)[:nv]
    degree = min(2, len(times) - 1)
    powers = np.vander(np.array(times), degree + 1, increasing=True)
    curve = np.linalg.lstsq(powers, moves.T, rcond=None)[0]
    delta = np.zeros((problem.tangent_size, 1))
    delta[:nv, 0] = curve[0]
    delta[nv : 2 * nv, 0] = curve[1] if degree else 0.0
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
