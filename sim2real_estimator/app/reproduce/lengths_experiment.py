"""
The first experiment of `Real2Sim Transfer using Differentiable Physics`.

The link lengths of a double pendulum, modelled with ball joints, are found from trajectories of
ten samples at 25 Hz by Adam on the loss of the paper's equation (1): squared distances of unit
heading vectors. Beyond the paper: motion capture noise with an unknown initial state, and a
pendulum whose joints are damped.
"""

from dataclasses import dataclass, field
import math

import torch

from ...backend.simulator import Simulator
from ...dynamics.observations import headings, positions
from ...model.joints import JOINTS
from ...spatial.quaternion import Quaternion
from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3
from .pendulums import rod_chain, rod_names, tilted_quaternion

RATE = 25.0  # [Hz]
SAMPLES = 10
TRAJECTORIES = 8
TRUE_LENGTHS = (0.55, 0.40)  # [m]
# Random starts are drawn between these multiples of the truth, evenly in the logarithm.
START_RANGE = (0.5, 2.0)
LEARNING_RATE = 0.02
RATE_LEARNING_RATE = 0.05  # of initial body rates [rad/s], known less well than lengths
# Much finer than the estimator's, so that the data are not made by the model that fits them.
TRUTH_STEP = 0.001
MODEL_STEP = 0.01

_BALL = JOINTS['spherical']((0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Case:
    """
    One variant of the experiment.

    marker_noise [m]: of the markers at both ends of each rod; damping [N m s/rad]: of the true
    joints; fits_damping: whether the model may adapt its damping; fits_state: whether initial
    orientations and rates are found too, instead of given.
    """

    title: str
    marker_noise: float = 0.0
    damping: float = 0.0
    fits_damping: bool = False
    fits_state: bool = False


CASES = (
    Case('as in the paper: exact data'),
    Case('0.2 mm marker noise', marker_noise=2e-4),
    Case('noise, initial state found', marker_noise=2e-4, fits_state=True),
    Case('damped joints, ignored', damping=0.05),
    Case('damped joints, found too', damping=0.05, fits_damping=True),
)


@dataclass
class Result:
    """
    The course of one case.

    lengths [epochs, 2, starts] [m]; losses [epochs, starts], mean over the trajectories;
    seconds: time of the whole optimisation.
    """

    case: Case
    lengths: torch.Tensor
    losses: torch.Tensor
    seconds: float = 0.0
    truth: torch.Tensor = field(
        default_factory=lambda: torch.tensor(TRUE_LENGTHS, dtype=torch.float64)
    )

    def errors(self):
        """Return the larger relative error of the two lengths, [epochs, starts]."""
        return ((self.lengths - self.truth[:, None]) / self.truth[:, None]).abs().amax(1)

    def epochs_to(self, error):
        """Return for every start the first epoch from which on the error stays below, or nan."""
        above = ~(self.errors() <= error)
        last = torch.where(above, torch.arange(len(above))[:, None], -1).amax(0) + 1
        return torch.where(last < len(above), last.double(), torch.nan)


def run_case(case, starts, epochs, seed, on_epoch):
    """
    Run one case from many random starts at once and return its `Result`.

    on_epoch(epoch, loss, error): called after every epoch with medians over the starts.
    """
    generator = torch.Generator().manual_seed(seed)
    states, targets = record(case, generator)
    model = rod_chain(TRUE_LENGTHS, damping=case.damping if case.fits_damping else 0.0)
    names = rod_names(model, 'length')
    if case.fits_damping:
        names += [f'{joint.name}.damping' for joint in model.joints]
    simulator = Simulator(model, names, max_step=MODEL_STEP, observe=headings(['rod0', 'rod1']))

    low, high = (math.log(x) for x in START_RANGE)
    spread = torch.rand(len(names), starts, generator=generator, dtype=torch.float64)
    logs = simulator.nominal().log() + low + (high - low) * spread
    # One trajectory after the other for every start: column s * TRAJECTORIES + w.
    states, targets = states.repeat(1, starts), targets.repeat(1, 1, starts)
    fit = _Fit(case, simulator, logs, states, targets)
    lengths, losses = [], []
    for epoch in range(epochs):
        lengths.append(fit.logs.detach()[:2].exp().clone())
        losses.append(fit.epoch())
        error = (lengths[-1] / torch.tensor(TRUE_LENGTHS)[:, None] - 1).abs().amax(0).median()
        on_epoch(epoch, float(losses[-1].median()), float(error))
    return Result(case, torch.stack(lengths), torch.stack(losses))


class _Fit:
    """Adam on logarithms of the parameters, and on the initial states where they are found."""

    def __init__(self, case, simulator, logs, states, targets):
        self.simulator, self.states, self.targets = simulator, states, targets
        self.logs = logs.clone().requires_grad_()
        groups = [{'params': [self.logs], 'lr': LEARNING_RATE}]
        self.turns = self.rates = None
        if case.fits_state:
            size = simulator.model.velocity_size
            self.turns = torch.zeros(size, states.shape[1], dtype=states.dtype)
            self.rates = torch.zeros_like(self.turns)
            # Orientations are known to a fraction of a milliradian, rates hardly.
            groups += [
                {'params': [self.turns.requires_grad_()], 'lr': 1e-4},
                {'params': [self.rates.requires_grad_()], 'lr': RATE_LEARNING_RATE},
            ]
        self.optimizer = torch.optim.Adam(groups)

    def epoch(self):
        """Take one step and return the loss of every start before it."""
        self.optimizer.zero_grad()
        parameters = self.logs.exp().repeat_interleave(TRAJECTORIES, 1)
        losses = self.simulator.loss(
            self.initial(), [1 / RATE] * SAMPLES, self.targets, parameters, kind='squared'
        )
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach().reshape(-1, TRAJECTORIES).mean(1)

    def initial(self):
        """Return the initial states, corrected where they are found."""
        if self.turns is None:
            return self.states
        size = self.simulator.model.position_size
        q, v = self.states[:size], self.states[size:]
        rows = []
        for k in range(size // 4):
            rows += _BALL.advance(
                list(q[4 * k : 4 * k + 4]), list(self.turns[3 * k : 3 * k + 3]), 1.0
            )
        return torch.cat([torch.stack(rows), v + self.rates])


def record(case, generator):
    """
    Return the initial states [14, W] and the observed headings [SAMPLES, 6, W] of a case.

    The true pendulum is let go from random tilts and followed for a while before each recording
    begins. Headings are the directions between two noisy markers at the ends of each rod. Where
    the state is not given, orientations come from the first headings and rates from the change
    to the second.
    """
    model = rod_chain(TRUE_LENGTHS, damping=case.damping)
    ends = [
        ('rod0', (0, 0, 0)),
        ('rod0', (0, 0, -TRUE_LENGTHS[0])),
        ('rod1', (0, 0, 0)),
        ('rod1', (0, 0, -TRUE_LENGTHS[1])),
    ]
    truth = Simulator(model, max_step=TRUTH_STEP, observe=positions(ends))
    start = truth.neutral_state(TRAJECTORIES)
    for column in range(TRAJECTORIES):
        for ball in range(2):
            tilt, azimuth = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
            start[4 * ball : 4 * ball + 4, column] = torch.tensor(
                tilted_quaternion(0.4 + 0.9 * tilt, 2 * math.pi * azimuth)
            )
    before = truth.rollout(start, [0.5]).states[-1]
    run = truth.rollout(before, [1 / RATE] * SAMPLES)
    noise = torch.randn(run.outputs.shape, generator=generator, dtype=torch.float64)
    markers = (run.outputs + case.marker_noise * noise).reshape(SAMPLES + 1, 4, 3, TRAJECTORIES)
    pointing = markers[:, 1::2] - markers[:, 0::2]
    pointing = pointing / pointing.norm(dim=2, keepdim=True)
    observed = pointing.reshape(SAMPLES + 1, 6, TRAJECTORIES)
    state = state_from_headings(pointing) if case.fits_state else before
    return state, observed[1:]


def state_from_headings(pointing):
    """
    Return states [14, W] from unit headings [samples, 2, 3, W].

    The spin of a rod about itself cannot be seen: it is taken to be zero.
    """
    tilts = [_tilt_to(pointing[0, rod]) for rod in range(2)]
    # The derivative at the first of four equally spaced values, of third order.
    weights = (-11 / 6, 3.0, -1.5, 1 / 3)
    changes = RATE * sum(weight * sample for weight, sample in zip(weights, pointing))
    rates = [torch.linalg.cross(pointing[0, rod], changes[rod], dim=0) for rod in range(2)]
    upper, lower = tilts
    between = Quaternion(*upper).conjugate() * Quaternion(*lower)
    joint = [upper, torch.stack(list(between))]
    body_rates = [_rotate_back(upper, rates[0]), _rotate_back(lower, rates[1] - rates[0])]
    return torch.cat([*joint, *body_rates])


def _tilt_to(direction):
    """Return the shortest turn [4, W] that brings -z to unit directions [3, W]."""
    x, y, z = direction
    w = 1 - z
    q = torch.stack([w, y, -x, torch.zeros_like(x)])
    return q / q.norm(dim=0)


def _rotate_back(a, vector):
    """Return world vectors [3, W] in the axes of bodies turned by a [4, W]."""
    return torch.stack(list(Rotation.from_quaternion(a).transposed() * Vec3(*vector)))
