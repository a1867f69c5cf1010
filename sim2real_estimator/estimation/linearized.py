"""Frames linearised all at once along motions that are known."""

import numpy as np

from .protocol import Linearization


def linearized_along(problem, states, parameters, frames, scales=None):
    """
    Return the `Linearization` of H frames along K motions, frame after frame, of H * K columns.

    states [H (+ 1), nx, K]: at the frames' beginnings; parameters [p, K]; scales [K]: of
    disturbances, None where there are none.
    """
    count = parameters.shape[1]
    lanes = np.moveaxis(states[: len(frames)], 0, 1).reshape(states.shape[1], -1)
    repeated = [frame for frame in frames for _ in range(count)]
    scales = None if scales is None else np.tile(scales, len(frames))
    return problem.linearize(lanes, parameters, repeated, scales)


def linearized_as_known(problem, states, parameters, frames, scales):
    """
    Return the same, with derivatives by parameters as they are where nothing disturbs the robot.

    A disturbance moves a light robot more. If parameters answered to what it is found to be, a
    lighter robot would need less of it for the same motion, and fits lead to one without inertia:
    that the motions of a lighter one are spread more widely beforehand, no least squares count.
    What is found of disturbances tells as much about parameters as noise does: nothing.
    """
    if not (scales > 0).any():
        return linearized_along(problem, states, parameters, frames, scales)
    calm, count = states.copy(), len(frames) * len(scales)
    calm[:, -problem.disturbance_size :] = 0.0
    # Side by side: of few columns, most of the time is what a call takes.
    both = np.concatenate([states[: len(frames)], calm[: len(frames)]])
    found = linearized_along(problem, both, parameters, (*frames, *frames), scales)
    found, instead = found.pick(slice(count)), found.pick(slice(count, None))
    for moved, other in ((found.slope, instead.slope), (found.transition, instead.transition)):
        moved[..., problem.tangent_size :] = other[..., problem.tangent_size :]
    return found


def by_frame(found, count):
    """Return the `Linearization`s of single frames from that of all, of so many motions."""
    parts = [slice(k, k + count) for k in range(0, found.ends.shape[1], count)]
    return [
        Linearization(found.ends[:, s], found.transition[s], found.residual[s], found.slope[s])
        for s in parts
    ]
