"""Arms of known truth whose torques are measured: motion is given, torques follow from it."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from simulated import config as pendulum_config

from sim2real_estimator.config.settings_tree import (
    EstimatorConfig,
    FramesConfig,
    JointConfig,
    PriorConfig,
)
from sim2real_estimator.parameters.delays import is_delay
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample

JOINTS, RATE = ('shoulder', 'elbow'), 250.0
ENCODERS, EFFORTS = 'encoders', 'measured_efforts'
BEGIN_NS = 1_700_000_000 * 10**9
# Of encoders [rad], and of torques as a part of the largest effort.
SD, EFFORT_SD = 1e-4, 0.005
_ESTIMATED = ('*.mass', '*.com.*', '*.inertia.*', '*.damping', '*.friction', '*.armature')


def config():
    """Return the `Config` of a double pendulum whose torques are measured."""
    known = pendulum_config()
    encoders = replace(known.sensors[ENCODERS], sd=SD)
    return replace(
        known,
        joints={joint: JointConfig('measured') for joint in JOINTS},
        sensors={ENCODERS: encoders},
        estimate={name: PriorConfig() for name in _ESTIMATED},
        estimator=EstimatorConfig(),
        frames=FramesConfig(),
    )


@cache
def pipeline():
    """Return a pipeline that nobody feeds."""
    return Pipeline.from_config(config())


def new_pipeline():
    """Return a `Pipeline` before any data."""
    return Pipeline.from_config(config())


@dataclass(frozen=True)
class Recording:
    """
    What was measured of a robot.

    truth [p]: coordinates; times [N] s; motion [3, N, n]: true positions, velocities and
    accelerations; q, tau [N, n]: measured.
    """

    truth: np.ndarray
    times: np.ndarray
    motion: np.ndarray
    q: np.ndarray
    tau: np.ndarray

    def samples(self, shift=0.0):
        """Return `Sample`s; shift: of all stamps [s]."""
        found = []
        for t, q, tau in zip(self.times, self.q, self.tau):
            stamp_ns = BEGIN_NS + round(1e9 * (t + shift))
            found += [Sample(ENCODERS, stamp_ns, q), Sample(EFFORTS, stamp_ns, tau)]
        return found


def drawn_truth(seed=0, size=0.5):
    """Return coordinates [p] drawn from the prior, size: in its standard deviations."""
    problem, rng = pipeline().problem, np.random.default_rng(seed)
    truth = problem.prior.mean + size * problem.prior.root @ rng.standard_normal(
        len(problem.prior.mean)
    )
    positive = problem.torque.positive
    truth[positive] = np.abs(truth[positive])
    return truth


def record(seconds, seed=0, rate=RATE, truth=None, begin=0.0, sd=SD, effort_sd=EFFORT_SD):
    """Return a `Recording` of an arm that swings from a time on [s]."""
    rng, model = np.random.default_rng(seed), pipeline().problem.torque
    truth = drawn_truth() if truth is None else truth
    times = begin + np.arange(round(seconds * rate)) / rate
    motion = np.zeros((3, len(times), len(JOINTS)))
    for size, frequency in ((0.5, 0.37), (0.3, 0.83), (0.12, 1.9)):
        phases = 1.7 * np.arange(len(JOINTS)) + 3 * frequency
        speed = 2 * np.pi * frequency * (1 + 0.2 * np.arange(len(JOINTS)))
        angle = times[:, None] * speed + phases
        motion += size * np.stack(
            [np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle)]
        )
    tau = true_torques(truth, motion) + effort_sd * model.limits * rng.standard_normal(
        motion[0].shape
    )
    q = motion[0] + sd * rng.standard_normal(motion[0].shape)
    return Recording(truth, times, motion, q, tau)


def true_torques(coordinates, motion):
    """Return what torques are measured but for noise [N, J] of a motion [3, N, n]."""
    model = pipeline().problem.torque
    standard = model.standard(coordinates)[0]
    columns = model.columns(*motion, standard)
    return model.scales(coordinates)[0] * (columns @ standard)


def torque_error(coordinates, recording):
    """Return rms of the error of predicted torques over rms of the torques, without noise."""
    true = true_torques(recording.truth, recording.motion)
    return rms(true_torques(coordinates, recording.motion) - true) / rms(true)


def rms(values):
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def away(pipeline, truth):
    """Return the squared distance of the truth per coordinate, in deviations: NEES over p."""
    mean, covariance = pipeline.mixture.moments()
    off = mean - truth
    return float(off @ np.linalg.solve(covariance, off)) / len(off)


def events_of(estimates):
    """Return all events of some estimates."""
    return [event for estimate in estimates for event in estimate.report.events]


def physical(problem):
    """Return the names of the parameters that are estimated, delays left out."""
    return tuple(name for name in problem.parametrization.names if not is_delay(name))
