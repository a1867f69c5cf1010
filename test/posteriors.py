"""Runs that are stopped and continued, for the tests of posteriors in files."""

from functools import cache

import numpy as np
from simulated import config as shipped_config
from simulated import record
import torch

from sim2real_estimator.config import with_values
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample


@cache
def samples_of(seconds=2.5, remounted_at=1.9):
    """Return samples of encoders and efforts; the encoders are remounted on the way."""
    recording, samples = record(seconds), []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        if stamp - recording.stamps[0] > remounted_at * 1e9:
            # No farther than a push might have moved the robot.
            angles = angles + np.array([0.05, -0.03])
        samples.append(Sample('encoders', int(stamp), angles))
        samples.append(Sample('commanded_efforts', int(stamp), torques))
    return samples


def pipeline_of(changes=None, config=None, plan=None):
    """Return a pipeline of the shipped config with some settings changed."""
    torch.set_num_threads(1)
    return Pipeline.from_config(with_values(config or shipped_config(), changes or {}), plan)


def feed(pipeline, samples, to_the_end=True):
    """Return all estimates."""
    estimates = []
    for sample in samples:
        pipeline.push(sample)
        estimates += pipeline.step()
    return [*estimates, *pipeline.finish()] if to_the_end else estimates


def posterior_bytes(pipeline):
    """Return the posterior mixture, bit for bit."""
    mixture = pipeline.posterior().mixture
    arrays = (mixture.log_weights, mixture.points, mixture.means, mixture.roots)
    return b''.join(np.ascontiguousarray(array).tobytes() for array in arrays)
