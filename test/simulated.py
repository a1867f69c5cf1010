"""A simulated double pendulum that sends joint states, for tests of the whole flow."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import load_config
from sim2real_estimator.model.urdf.load import load_urdf

CONFIG = Path(__file__).resolve().parent.parent / 'config' / 'double_pendulum.yaml'
RATE, NOISE = 100, 1e-3
JOINTS = ('shoulder', 'elbow')
_SPREADS = {
    'upper.mass': 0.3,
    'lower.mass': 0.3,
    'upper.com.z': 0.1,
    'lower.com.z': 0.1,
    'upper.inertia.yy': 0.4,
    'lower.inertia.yy': 0.4,
    'shoulder.damping': 0.7,
    'elbow.damping': 0.7,
}
NAMES = tuple(_SPREADS)


@dataclass(frozen=True)
class Recording:
    """
    True values by name; stamps [H + 1] in ns; noisy angles and torques [H + 1, 2].

    velocities [H + 1, 2]: true.
    """

    values: dict
    stamps: np.ndarray
    angles: np.ndarray
    torques: np.ndarray
    velocities: np.ndarray


def config():
    """Return the config that is shipped."""
    return load_config(CONFIG)


def record(seconds, seed=0):
    """Return a `Recording` of a robot that is not as its URDF says."""
    rng = np.random.default_rng(seed)
    model = load_urdf(CONFIG.with_suffix('.urdf'))
    simulator = Simulator(model, NAMES, max_step=0.002)
    nominal = simulator.nominal()[:, 0].numpy()
    values = nominal * np.exp(np.array([*_SPREADS.values()]) * rng.standard_normal(len(NAMES)))
    times = np.arange(round(seconds * RATE) + 1)[:, None] / RATE
    torques = np.stack(
        [
            size
            * np.sin(2 * np.pi * (times * rng.uniform(0.2, 2.5, 4) + rng.uniform(0, 1, 4))).sum(1)
            for size in (0.75, 0.3)
        ],
        1,
    )
    state = torch.tensor([*rng.uniform(-1, 1, 2), *rng.standard_normal(2)])[:, None]
    with torch.no_grad():
        states = simulator.rollout(
            state.double(),
            [1 / RATE] * (len(times) - 1),
            torch.from_numpy(values)[:, None],
            torch.from_numpy(torques[:-1]),
        ).states
    angles = states[:, :2, 0].numpy()
    angles = angles + NOISE * rng.standard_normal(angles.shape)
    stamps = 1_700_000_000 * 10**9 + np.arange(len(times)) * (10**9 // RATE)
    velocities = states[:, 2:, 0].numpy()
    return Recording(dict(zip(NAMES, values)), stamps, angles, torques, velocities)


def base_parameters(values):
    """Return what the motion can tell of the `NAMES`' values [8]."""
    m1, m2, c1, c2, i1, i2, b1, b2 = values
    length = 0.5
    return np.array(
        [
            i1 + m1 * c1**2 + m2 * length**2,
            i2 + m2 * c2**2,
            m2 * length * -c2,
            m1 * -c1 + m2 * length,
            b1,
            b2,
        ]
    )


def misses(pipeline, values):
    """Return by how many sd the identifiable combinations miss the truth, [6]."""
    mixture, parametrization = pipeline.mixture, pipeline.problem.parametrization
    rows = [parametrization.names.index(name) for name in NAMES]
    heaviest = mixture.heaviest()
    covariance = mixture.parameter_covariances()[heaviest]

    def found(moved):
        named = parametrization.to_named(mixture.means[:, [heaviest]] + moved[:, None])
        return base_parameters(named[rows, 0])

    best = found(np.zeros(len(covariance)))
    slope = np.stack([found(1e-6 * row) - best for row in np.eye(len(covariance))], 1) / 1e-6
    sd = np.sqrt(np.einsum('ij,jk,ik->i', slope, covariance, slope))
    return (best - base_parameters(np.array([values[name] for name in NAMES]))) / sd
