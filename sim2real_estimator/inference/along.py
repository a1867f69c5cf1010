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
    return problem.linearize(lanes, np.tile(parameters, len(frames)), repeated, scales)


def linearized_calmly(problem, states, parameters, frames, scales):
    """
    Return the same, with derivatives by parameters as they are where nothing disturbs the robot.

    A disturbance moves a light robot more. If parameters answered to what it is found to be, a
    lighter robot would need less of it for the same motion, and fits lead to one without inertia:
    that the motions of a lighter one are spread more widely beforehand, no least squares count.
    What is found of disturbances tells as much about parameters as noise does: nothing.
    """
    found = linearized_along(problem, states, parameters, frames, scales)
    calm = states.copy()
    calm[:, -problem.disturbance_size :] = 0.0
    calm = linearized_along(problem, calm, parameters, frames, scales)
    for moved, instead in ((found.slope, calm.slope), (found.transition, calm.transition)):
        moved[..., problem.tangent_size :] = instead[..., problem.tangent_size :]
    return found


def by_frame(found, count):
    """Return the `Linearization`s of single frames from that of all, of so many motions."""
    parts = [slice(k, k + count) for k in range(0, found.ends.shape[1], count)]
    return [
        Linearization(found.ends[:, s], found.transition[s], found.residual[s], found.slope[s])
        for s in parts
    ]
