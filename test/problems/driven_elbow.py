"""
P2 with a servo in the elbow that nobody knows the torque of: all that is known is how it moves.

The true servo is a stiff spring and damper towards a moving target, so that the joint takes
whatever torque it takes; the estimator only has its encoder.
"""

from functools import cache
import json

import numpy as np
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import read_config
from sim2real_estimator.records import Sample

from . import p2
from .common import log_normal_draw, roll, states_of, TRUTH_STEP

NOISE = 1e-3
NAMES = tuple(n for n in p2.NAMES if n not in {'to_tip.origin.z', 'elbow.damping'})
_STIFFNESS, _DAMPING = 200.0, 4.0
_TARGETS, _TORQUES = 1.0, 3.0
_TONES, _BAND = 4, (0.2, 2.5)
_MODEL = p2.urdf({name: prior.mean for name, prior in p2.priors().items()})
_ESTIMATE = {n: {'sd': p.sd, 'log': True} for n, p in p2.priors().items() if n in NAMES}


@cache
def config():
    """Return the `Config`."""
    encoders = {'kind': 'joint_positions', 'topic': 'joint_states', 'joints': [*p2.JOINTS]}
    settings = {
        'model': {'urdf': _MODEL.strip()},
        'joints': {
            'shoulder': {'effort': 'commanded'},
            'elbow': {'effort': 'driven', 'acceleration': 100.0},
        },
        'sensors': {'encoders': {**encoders, 'sd': NOISE}},
        # A pattern does not reach into a joint that is driven.
        'estimate': {**_ESTIMATE, '*.damping': {'sd': p2.priors()['shoulder.damping'].sd}},
        'simulation': {'max_step': 0.005, 'hidden_time': 0.05, 'disturbance_time': None},
    }
    return read_config(json.dumps(settings), 'driven_elbow.yaml')


def draw(seed, seconds):
    """Return (name -> true value, `Sample`s) of a random robot and motion."""
    rng = np.random.default_rng(seed)
    values = log_normal_draw({name: p2.priors()[name] for name in NAMES}, rng)
    count, fine = round(seconds * p2.RATE), round(1 / (p2.RATE * TRUTH_STEP))
    torque = _Tones(rng, _TORQUES).at(np.arange(count) / p2.RATE)[0]
    target = _Tones(rng, _TARGETS)
    angles, speeds = target.at((np.arange(count * fine) + 0.5) * TRUTH_STEP)
    # A spring that pulls towards zero, and this, pull towards the target together.
    servo = _STIFFNESS * angles + _DAMPING * speeds
    controls = np.stack([np.repeat(torque, fine), servo], 1)
    state = np.array([rng.uniform(-1, 1), angles[0], rng.standard_normal(), speeds[0]])
    path = roll(_simulator(), state, 1 / TRUTH_STEP, len(controls), values, torch.tensor(controls))
    seen = states_of(path)[::fine, :2]
    return values, _samples(seen + NOISE * rng.standard_normal(seen.shape), torque)


class _Tones:
    """A random sum of several tones."""

    def __init__(self, rng, size):
        self._size = 2 * size / _TONES
        self._rates = 2 * np.pi * rng.uniform(*_BAND, _TONES)
        self._phases = rng.uniform(0, 2 * np.pi, _TONES)

    def at(self, times):
        """Return values and rates [H] at times [H]."""
        angles = times[:, None] * self._rates + self._phases
        rates = self._size * (self._rates * np.cos(angles)).sum(1)
        return self._size * np.sin(angles).sum(1), rates


def _samples(angles, torques):
    """Return samples of the encoders, and of the shoulder's torque where it changes."""
    stamps = [round(k * 1e9 / p2.RATE) for k in range(len(angles))]
    found = []
    for k, stamp in enumerate(stamps):
        found.append(Sample('encoders', stamp, angles[k]))
        torque = torques[min(k, len(torques) - 1)]
        found.append(Sample('commanded_efforts', stamp, np.array([torque])))
    return found


@cache
def _simulator():
    values = {'elbow.stiffness': _STIFFNESS, 'elbow.damping': _DAMPING}
    return Simulator(p2.model(), NAMES, max_step=TRUTH_STEP, values=values)


def base_parameters(values):
    """Return what the motion tells of values [..., B] by name: all but the elbow's damping."""
    nominal = {name: prior.mean for name, prior in p2.priors().items()}
    size = np.ones_like(values[NAMES[0]])
    return p2.base_parameters(np.array([size * {**nominal, **values}[n] for n in p2.NAMES]))[:-1]
