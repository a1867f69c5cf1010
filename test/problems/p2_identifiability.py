"""
P2 with more and less to see: what can be observed of the ten parameters depends on the data.

Values are near the nominal ones, as in the table of identifiability of the specification.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.observations import positions
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.sensors import SENSORS

from . import p2
from .common import make_frames, roll, states_of, STEP, TRUTH_STEP

SECONDS = 3.0
MARKER_NOISE = 2e-4
# Part of the prior's deviations by which values are off the nominal ones.
_NEAR = 0.2
_POINTS = (('lower', (0.0, 0.0, 0.0)), ('tip', (0.0, 0.0, 0.0)))


@dataclass(frozen=True)
class Experiment:
    """What is done and seen: dimensions that data tell in it, and those that they leave open."""

    has_torques: bool
    has_markers: bool
    observed: int
    unobserved: int


EXPERIMENTS = {
    'free swing, angles': Experiment(False, False, 6, 4),
    'torques, angles': Experiment(True, False, 7, 3),
    'torques, angles, markers on elbow and tip': Experiment(True, True, 8, 2),
}


@cache
def make_problem(experiment):
    """Return the `RobotProblem` of an experiment."""
    model = p2.model()
    sensors = [SENSORS['joint_positions']('encoders', model, p2.JOINTS, p2.NOISE)]
    if experiment.has_markers:
        sensors += [SENSORS['marker'](link, model, link, at, MARKER_NOISE) for link, at in _POINTS]
    driven = [experiment.has_torques] * len(model.commands)
    parametrization = choose_parametrization(
        p2.parameters(), sensors, p2.priors(), known_commands=driven
    )
    return RobotProblem(p2.parameters(), sensors, parametrization, ProblemOptions(max_step=STEP))


def draw(experiment, seed):
    """Return the frames of a random motion of a robot near the nominal one."""
    rng = np.random.default_rng(seed)
    values = {
        name: prior.mean * np.exp(_NEAR * prior.sd * rng.standard_normal())
        for name, prior in p2.priors().items()
    }
    state, torques = p2.draw_motion(rng, SECONDS)
    torques = torques * experiment.has_torques
    path = roll(_simulator(), state, p2.RATE, len(torques), values, torch.from_numpy(torques))
    angles = states_of(path)[:, :2]
    measured = [{'encoders': row} for row in angles + p2.NOISE * rng.standard_normal(angles.shape)]
    if experiment.has_markers:
        points = path.outputs[..., 0].numpy()
        points = points + MARKER_NOISE * rng.standard_normal(points.shape)
        for row, seen in zip(measured, points):
            row |= {link: seen[3 * k : 3 * k + 3] for k, (link, _) in enumerate(_POINTS)}
    return make_frames(p2.RATE, measured, torques)


@cache
def _simulator():
    return Simulator(p2.model(), p2.NAMES, max_step=TRUTH_STEP, observe=positions(_POINTS))
