"""
The planar double pendulum P2 in its base parameters, fitted over windows of known first states.

Seven coordinates without constraints: logs of a1, a2, g1, g2, b1, b2 and the logit of rho, where
a3 = rho sqrt(a1 a2). The mass matrix is positive whatever they are.
"""

import numpy as np
from problems import p2
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.optimizers.base import half_squares

MASSES = ('upper.mass', 'lower.mass')
# At fixed masses these are as free as the base parameters.
FITTED = (
    'elbow.origin.z', 'upper.com.z', 'lower.com.z', 'upper.inertia.yy', 'lower.inertia.yy',
    'shoulder.damping', 'elbow.damping',
)  # fmt: skip
MAX_STEP = 0.005


def coordinates_of(base):
    """Return the coordinates [7] of base parameters (a1, a2, a3, g1, g2, b1, b2)."""
    rho = base[2] / np.sqrt(base[0] * base[1])
    logs = np.log(base)
    logs[2] = np.log(rho / (1 - rho))
    return logs


def values_of(masses, x):
    """Return the values of FITTED [7, B], a tensor, of coordinates x [7, B]."""
    m1, m2 = masses
    a1, a2, g1, g2, b1, b2 = (x[i].exp() for i in (0, 1, 3, 4, 5, 6))
    a3 = x[2].sigmoid() * (a1 * a2).sqrt()
    c2, length = g2 / m2, a3 / g2
    c1 = (g1 - m2 * length) / m1
    upper, lower = a1 - m1 * c1**2 - m2 * length**2, a2 - m2 * c2**2
    return torch.stack([-length, -c1, -c2, upper, lower, b1, b2])


class PendulumWindows:
    """
    The angles of a random pendulum, seen as a least-squares objective in seven coordinates.

    truth [7]: the coordinates sought. rollouts: how many simulations the calls so far were
    worth, per column, a derivative by central differences costing seven and a gradient three.
    """

    def __init__(self, seed, seconds=3.0, window=0.5):
        """Draw a pendulum from the prior, record it, and cut the record into windows [s]."""
        truth, frames = p2.draw(seed, seconds)
        base = p2.base_parameters(np.array([truth.values[name] for name in p2.NAMES]))
        self.truth = coordinates_of(base)
        fixed = {name: truth.values[name] for name in MASSES}
        self.masses = tuple(fixed.values())
        self.simulator = Simulator(p2.model(), FITTED, max_step=MAX_STEP, values=fixed)
        per = round(window * p2.RATE)
        self.durations, self.rollouts = [1 / p2.RATE] * per, 0
        # The first frame is an instant, and the start of a window belongs to the one before.
        angles = torch.tensor(np.array([f.samples[0].values for f in frames[1:]]))
        efforts = torch.tensor(np.array([f.inputs[0][1] for f in frames[1:]]))
        self.windows = len(angles) // per
        self.starts = torch.tensor(truth.states[: self.windows * per : per]).T
        self.measured = angles.reshape(self.windows, per, 2)
        self.efforts = efforts.reshape(self.windows, per, 2).permute(1, 2, 0)

    def starts_within(self, factor, count, seed):
        """Return random starts [7, count], up to a factor away from the truth in each."""
        rng = np.random.default_rng(seed)
        return self.truth[:, None] + np.log(factor) * rng.uniform(-1, 1, (7, count))

    def errors(self, points):
        """Return the largest relative error of the seven base parameters, [B]."""
        return np.abs(self._base(points) / self._base(self.truth[:, None]) - 1).max(0)

    def value(self, points):
        """Return half the sum of squared residuals, [B]."""
        return half_squares(self.residuals(points))

    def residuals(self, points):
        """Return predicted less measured angles in standard deviations, [B, m]."""
        self.rollouts += 1
        with torch.no_grad():
            states = self.simulator.rollout(*self._inputs(torch.tensor(points))).states
        return self._rows(states).reshape(points.shape[1], -1).numpy()

    def gradient(self, points):
        """Return (values [B], gradients [7, B])."""
        self.rollouts += 4
        x = torch.tensor(points, requires_grad=True)
        states = self.simulator.rollout(*self._inputs(x)).states
        values = 0.5 * (self._rows(states).reshape(points.shape[1], -1) ** 2).sum(-1)
        values.sum().backward()
        return values.detach().numpy(), x.grad.numpy()

    def jacobian(self, points):
        """Return (residuals [B, m], their derivative [B, m, 7])."""
        self.rollouts += 7
        x, count = torch.tensor(points, requires_grad=True), points.shape[1]
        found = self.simulator.sensitivities(*self._inputs(x))
        by_values = found.d_states[:, 1:, :2, 4:] / p2.NOISE
        values = values_of(self.masses, x)
        rows = [torch.autograd.grad(row.sum(), x, retain_graph=True)[0].T for row in values]
        by_points = torch.stack(rows, 1).repeat_interleave(self.windows, 0)
        slope = by_values.flatten(1, 2) @ by_points
        residuals = self._rows(found.states).reshape(count, -1)
        return residuals.numpy(), slope.reshape(count, -1, 7).numpy()

    def _inputs(self, x):
        """Return the arguments of a rollout for every column and window."""
        count = x.shape[1]
        parameters = values_of(self.masses, x).repeat_interleave(self.windows, 1)
        return (
            self.starts.repeat(1, count),
            self.durations,
            parameters,
            self.efforts.repeat(1, 1, count),
        )

    def _rows(self, states):
        """Return the residuals [B * windows, 2 * steps of a window]."""
        angles = states[1:, :2].permute(2, 0, 1)
        measured = self.measured.repeat(len(angles) // self.windows, 1, 1)
        return ((angles - measured) / p2.NOISE).flatten(1)

    def _base(self, points):
        """Return a1, a2, a3, g1, g2, b1, b2 [7, B]."""
        with np.errstate(over='ignore'):
            base = np.exp(points)
            base[2] = np.sqrt(base[0] * base[1]) / (1 + np.exp(-points[2]))
        return base
