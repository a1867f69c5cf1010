"""What the fixtures of the estimator share: a known truth, and frames of noisy samples of it."""

from dataclasses import dataclass

import numpy as np
import torch

from sim2real_estimator.records import Frame, Sample

# Truth is integrated in steps of at most this length [s], far finer than the estimator does it.
TRUTH_STEP = 0.001
# The estimator's steps [s]. Light links whip round at 30 rad/s, for which 10 ms are too coarse:
# after some seconds its error is larger than what the encoders leave open.
STEP = 0.005


@dataclass(frozen=True)
class Truth:
    """
    What a problem was simulated with.

    values: name of every unknown parameter to its value; states [H + 1, nx]: at the ends of the
    frames, the first of which has no length.
    """

    values: dict
    states: np.ndarray


def log_normal_draw(priors, rng):
    """Return name -> value drawn from priors of logarithms."""
    return {n: float(p.mean * np.exp(p.sd * rng.standard_normal())) for n, p in priors.items()}


def roll(simulator, state, rate, count, values, controls=None):
    """Return the `Trajectory` over `count` frames from a state [nx] with one set of values."""
    column = torch.tensor([[values[name]] for name in simulator.names], dtype=torch.float64)
    with torch.no_grad():
        return simulator.rollout(
            torch.from_numpy(state)[:, None], [1 / rate] * count, column, controls
        )


def states_of(trajectory):
    """Return the states [H + 1, nx] of the only sample."""
    return trajectory.states[..., 0].numpy()


def make_frames(rate, measured, controls=None, begin=0):
    """
    Return frames at a rate [Hz], the first one an instant.

    measured: for every instant a dict of sensor name to values; controls [H, nu]: what acts
    during the frames after the first; begin: how many frames were before.
    """
    stamps = [round((begin + k) * 1e9 / rate) for k in range(len(measured))]
    frames = []
    for k, values in enumerate(measured):
        start = stamps[max(k - 1, 0)]
        samples = tuple(Sample(name, stamps[k], values[name]) for name in sorted(values))
        inputs = () if controls is None else ((start, controls[max(k - 1, 0)]),)
        frames.append(Frame(start, stamps[k], samples, inputs))
    return tuple(frames)
