"""
The standard workload: the loss of many short windows and its gradient by the parameters.

S<n>: n rods on ball joints, parameters are the n lengths. W2: a planar double pendulum on hinges
about y, parameters are two each of length, mass, inertia about the centre, and damping. Every
one of S parameter sets meets every one of W windows: column s W + w of a batch.
"""

from dataclasses import dataclass

import numpy as np

from . import chain as chains
from .chain import Chain, Link

RADIUS = 0.05
ROD_MASS = 1.0
DELTA = 0.1
STEP = 0.01
STEPS = 10
# Relative spread of the parameter sets around the truth.
_SPREAD = 0.15


@dataclass(frozen=True)
class Workload:
    """
    One problem with B = S W columns.

    x0 [nx, W], theta [D, S] and observed [H, ny, W] as they are given; X, T and Y are the same
    for all columns, [..., B].
    """

    kind: str
    sets: int
    windows: int
    threads: int
    chain: Chain
    x0: np.ndarray
    theta: np.ndarray
    observed: np.ndarray

    @property
    def batch(self):
        """Number of columns."""
        return self.sets * self.windows

    @property
    def X(self):
        """Initial states, [nx, B]."""
        return np.tile(self.x0, self.sets)

    @property
    def T(self):
        """Parameters, [D, B]."""
        return np.repeat(self.theta, self.windows, 1)

    @property
    def Y(self):
        """Observed headings, [H, ny, B]."""
        return np.tile(self.observed, self.sets)


def chain_of(kind):
    """Return the `Chain` of a kind."""
    return Chain(2, False) if kind == 'W2' else Chain(int(kind[1:]), True)


def links_of(kind, theta):
    """Return the links for a list of scalar parameters."""
    if kind != 'W2':
        return [_rod(length, before) for length, before in zip(theta, [None, *theta])]
    lengths, masses, moments, dampings = (theta[i : i + 2] for i in (0, 2, 4, 6))
    return [
        Link(
            [0.0, 0.0, -lengths[0] if i else 0.0],
            m,
            [0.0, 0.0, length * -0.5],
            _diagonal(moment + m * (length * length) * 0.25, moment),
            damping,
        )
        for i, (length, m, moment, damping) in enumerate(zip(lengths, masses, moments, dampings))
    ]


def _rod(length, before):
    across = length * length * (ROD_MASS / 3) + ROD_MASS * RADIUS**2 / 4
    return Link(
        [0.0, 0.0, 0.0 if before is None else -before],
        ROD_MASS,
        [0.0, 0.0, length * -0.5],
        _diagonal(across, ROD_MASS * RADIUS**2 / 2),
    )


def _diagonal(across, along):
    return [[across, 0.0, 0.0], [0.0, across, 0.0], [0.0, 0.0, along]]


def true_parameters(kind):
    """Return the parameters the observations are made with."""
    if kind == 'W2':
        return np.array([0.5, 0.4, 1.0, 0.8, 0.02, 0.015, 0.05, 0.03])
    count = chain_of(kind).count
    return 0.4 + 0.1 * np.arange(count) / max(count - 1, 1)


def make_workload(kind, sets, windows, threads=1, seed=0):
    """Return a `Workload` drawn from a seed."""
    rng = np.random.default_rng(seed)
    chain, true = chain_of(kind), true_parameters(kind)
    x0 = _draw_states(rng, chain, windows)
    observed = simulate(kind, x0, np.repeat(true[:, None], windows, 1))
    noise = rng.normal(size=(len(true), sets)).clip(-2, 2)
    theta = true[:, None] * (1 + _SPREAD * noise)
    return Workload(kind, sets, windows, threads, chain, x0, theta, observed)


def _draw_states(rng, chain, count):
    """Return random states at moderate angles and speeds, [nx, count]."""
    positions, velocities = [], []
    for _ in range(chain.count):
        if chain.balls:
            axis = rng.normal(size=(3, count))
            axis /= np.linalg.norm(axis, axis=0)
            angle = rng.uniform(0.06, 1.2, size=(1, count))
            positions += [np.cos(angle / 2), np.sin(angle / 2) * axis]
        else:
            positions.append(rng.uniform(-1.5, 1.5, size=(1, count)))
        velocities.append(1.5 * rng.normal(size=(3 if chain.balls else 1, count)))
    return np.concatenate(positions + velocities)


def simulate(kind, x0, theta):
    """Return the headings at the end of every step, [H, ny, B], by NumPy."""
    chain, links, seen = chain_of(kind), links_of(kind, list(theta)), []
    q, v = list(x0[: chain.nq]), list(x0[chain.nq :])
    for _ in range(STEPS):
        q, v = chains.step(chain, q, v, links, STEP, np)
        seen.append(np.stack(chains.headings(chain, q, np)))
    return np.stack(seen)


def huber(error, axes):
    """Return Huber's loss summed over axes."""
    clipped = np.clip(error, -DELTA, DELTA)
    return (clipped * (error - 0.5 * clipped)).sum(axes)


def central_differences(work, width=1e-6):
    """Return (loss [B], gradient [D, B]) by NumPy: slow, and independent of the tracer."""
    X, T, Y = work.X, work.T, work.Y

    def loss(theta):
        return huber(simulate(work.kind, X, theta) - Y, (0, 1))

    gradient = []
    for row in range(len(T)):
        moved = np.zeros_like(T)
        moved[row] = width
        gradient.append((loss(T + moved) - loss(T - moved)) / (2 * width))
    return loss(T), np.stack(gradient)
