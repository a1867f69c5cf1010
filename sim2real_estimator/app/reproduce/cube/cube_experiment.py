"""
Springs and a learned friction matched to a cube that is simulated at velocity level.

The first experiment of "Augmenting Differentiable Simulators with Neural Networks to Close the
Sim2Real Gap" (Heiden et al., 2020). The loss is the paper's equation (1), over whole throws, by
Levenberg-Marquardt; the leash R on the weights is a Gaussian prior.
"""

from dataclasses import dataclass

import numpy as np
import torch
from transforms3d.quaternions import mat2quat

from ....backend.base import RolloutInputs
from ....backend.choice import choose_backend
from ....dynamics.contact import contact_states
from ....dynamics.kinematics import kinematics
from ....dynamics.observations import poses
from ....dynamics.system import System
from ....estimation.damped_gauss_newton import Descents, Expansion, Rules
from ....model.contacts import LAWS
from ....model.parameters import Parameters
from .cube_by_lcp import first_states, FRICTION, SIDE, thrown
from .cube_model import cube_on_floor, FrictionNetwork, PAIR

SECONDS = 1.0
EVERY = 0.02  # between instants that are compared [s]
TRAINING = 16  # throws that are learned from
HELD_OUT = 16
UNITS = 2
# Of the throws that are learned from, and of the network's first weights.
_TRAINING_SEED, _STARTS_SEED = 0, 0
# Normal force of a corner that carries something [N].
_PUSHED = 1e-3
# Of the integration between two instants.
_STEPS = 40
# Deviations that are taken for none: of a place [m], of an entry of a rotation matrix.
_PLACE, _TURN = 0.01 * SIDE, 0.005
# First guesses, and standard deviations of their logarithms.
_PHYSICS = {
    'friction': (0.5, 0.7),
    'dissipation': (20.0, 1.0),
    'stiffness': (1.5e5, 1.0),
    'slip_velocity': (0.02, 1.0),
}
# Where the coefficient of friction is looked for from, so that it is the best one.
_SCALAR_STARTS = (
    {},
    {'friction': (0.25,)},
    {'friction': (0.25,), 'dissipation': (3.0,), 'stiffness': (1e6,)},
    {'friction': (0.35,), 'dissipation': (3.0,), 'stiffness': (1e6,)},
)
# Standard deviations of the weights: of the sliding velocity, of all other inputs, of outputs.
_LEASH = (2.0, 0.03, 0.1)
_ITERATIONS = 60
# Of logarithms and weights, in one step.
_LONGEST_STEP = 1.0


@dataclass(frozen=True)
class Accuracy:
    """How far throws [T, B] are from the target: of the side, and degrees."""

    places: np.ndarray
    turns: np.ndarray

    def rms(self):
        """Return both, over all instants and throws."""
        return tuple(float(np.sqrt((part**2).mean())) for part in (self.places, self.turns))

    def largest(self):
        """Return the largest of both."""
        return float(self.places.max()), float(self.turns.max())


@dataclass(frozen=True)
class Fitted:
    """
    A law whose parameters were fitted, and what it does on throws that were held out.

    values: name to float; poses [T, 12, B]; cone: the largest tangential force, as a part of the
    target's coefficient of friction times the normal force; cost, evaluations: of the training.
    """

    values: dict
    accuracy: Accuracy
    poses: np.ndarray
    cone: float
    cost: float
    evaluations: int


@dataclass(frozen=True)
class Guess:
    """
    A law of contact with the prior of its P parameters and K starts.

    means, deviations [P]; is_log [P]: whose logarithm is meant; points [P, K].
    """

    law: object
    means: np.ndarray
    deviations: np.ndarray
    is_log: np.ndarray
    points: np.ndarray


class Cube:
    """Throws simulated with a law of contact, and their derivatives by its parameters."""

    def __init__(self, law):
        """Compile the law; all of its parameters are arguments of every throw."""
        values = {p.name: 1.0 for p in law.parameters}
        parameters = Parameters(cube_on_floor(law, values))
        self.names = tuple(values)
        names = tuple(f'{PAIR}.{name}' for name in values)
        self._system = System(parameters, names, 'rk4', (), poses(['cube']))
        nominal = dict(zip(parameters, parameters.nominal()))
        self._backend = choose_backend('auto')(self._system, nominal)
        self._backend.expects_forwards = True
        steps = round(SECONDS / EVERY) * _STEPS
        self._durations = np.full((steps, 1), EVERY / _STEPS)
        self._controls = np.zeros((steps, self._system.control_size, 1))

    def throws(self, states, values):
        """Return the poses [T, 12, B] from states [13, B] with parameters [P]."""
        inputs = RolloutInputs(states, values[:, None], self._controls, self._durations)
        return self._backend.rollout_arrays(inputs)[1][::_STEPS]

    def slopes(self, states, values):
        """Return poses [T, 12, B] and their derivatives [T, 12, B, P] by the parameters."""
        found, slopes = [], []
        steps, count = len(self._durations), len(values)
        seeds = (
            np.zeros((1, len(states), count)),
            np.eye(count)[None],
            np.zeros((steps, count)),
            np.zeros((steps, self._controls.shape[1], count)),
        )
        for state in states.T:
            inputs = RolloutInputs(
                state[:, None], values[:, None], self._controls, self._durations
            )
            one = self._backend.directions_arrays(inputs, seeds)
            found.append(one.outputs[::_STEPS, :, 0])
            slopes.append(one.d_outputs[0, ::_STEPS])
        return np.stack(found, -1), np.stack(slopes, 2)

    def cone(self, states, values):
        """
        Return how far friction goes in throws from states [13, B] with parameters [P].

        The largest tangential force over all corners and steps, as a part of the target's
        coefficient of friction times the normal force.
        """
        inputs = RolloutInputs(states, values[:, None], self._controls, self._durations)
        visited = torch.from_numpy(self._backend.rollout_arrays(inputs)[0])
        rows = visited.permute(1, 0, 2).flatten(1).unbind(0)
        q, v = list(rows[:7]), list(rows[7:])
        names = [f'{PAIR}.{name}' for name in self.names]
        robot = self._system.robot(dict(zip(names, torch.from_numpy(values)[:, None])))
        largest = 0.0
        for state in contact_states(robot, kinematics(robot, q, v)):
            x, y, z = state.force()
            share = (x * x + y * y).sqrt() / (FRICTION * z)
            largest = max(largest, float(torch.where(z > _PUSHED, share, 0.0).max()))
        return largest


class PoseMisfit:
    """The loss of throws [13, B] with poses [T, 12, B], in logarithms and weights [P]."""

    def __init__(self, cube, states, observed, guess):
        """Take the prior of a `Guess` as the leash."""
        self._cube, self._states, self._observed, self._guess = cube, states, observed, guess
        self._scale = np.repeat([_PLACE, _TURN], [3, 9])[:, None]

    def values(self, point):
        """Return the parameters [P] at coordinates [P]."""
        is_log = self._guess.is_log
        return np.where(is_log, np.exp(np.where(is_log, point, 0.0)), point)

    def costs(self, points):
        """Return the costs [K] of coordinates [P, K]."""
        found = []
        for point in points.T:
            reached = self._cube.throws(self._states, self.values(point))
            residual = (reached - self._observed) / self._scale
            cost = 0.5 * (residual**2).sum() + 0.5 * (self._pulled(point) ** 2).sum()
            found.append(cost if np.isfinite(cost) else np.inf)
        return np.array(found)

    def expand(self, points, costs=None):
        """Return the `Expansion` at coordinates [P, K]."""
        guess, gradients, normals = self._guess, [], []
        for point in points.T:
            values = self.values(point)
            reached, slopes = self._cube.slopes(self._states, values)
            residual = ((reached - self._observed) / self._scale).ravel()
            slopes = slopes * np.where(guess.is_log, values, 1.0) / self._scale[..., None]
            slopes = slopes.reshape(len(residual), -1)
            gradients.append(slopes.T @ residual + self._pulled(point) / guess.deviations)
            normals.append(slopes.T @ slopes + np.diag(guess.deviations**-2.0))
        costs = self.costs(points) if costs is None else costs
        return Expansion(costs, np.array(gradients), np.array(normals), np.array(normals))

    @staticmethod
    def shortened(step):
        """Return steps [P, K], shorter where an entry is longer than may be trusted."""
        longest = abs(step).max(0)
        return step * np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, 1e-300))

    def _pulled(self, point):
        return (point - self._guess.means) / self._guess.deviations


def target(count, seed):
    """Return the `Throws` of the target from a seed, at the instants that are compared."""
    generator = torch.Generator().manual_seed(seed)
    found = thrown(first_states(count, generator), SECONDS)
    every = round(EVERY / (SECONDS / (len(found.places) - 1)))
    return type(found)(*(part[::every] for part in vars(found).values()))


def states_of(throws):
    """Return the states [13, B] at the first instant of `Throws`."""
    turns, velocities = throws.turns[0], throws.velocities[0]
    spins = (turns.mT @ velocities[:, :3, None])[..., 0]
    quaternions = np.array([mat2quat(turn.numpy()) for turn in turns])
    parts = throws.places[0], torch.from_numpy(quaternions), velocities[:, 3:], spins
    return torch.cat(parts, 1).T.numpy().copy()


def poses_of(throws):
    """Return the poses [T, 12, B] of `Throws`: centres [m], rotation matrices by rows."""
    parts = throws.places, throws.turns.flatten(2)
    return torch.cat(parts, -1).permute(0, 2, 1).numpy()


def accuracy(found, wanted):
    """Return the `Accuracy` of poses [T, 12, B]."""
    places = np.linalg.norm(found[:, :3] - wanted[:, :3], axis=1) / SIDE
    cosines = (np.einsum('tkb,tkb->tb', found[:, 3:], wanted[:, 3:]) - 1) / 2
    return Accuracy(places, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def scalar_law():
    """Return the `Guess` for a coefficient of friction."""
    law = LAWS['hunt_crossley']
    means, deviations = np.array([_PHYSICS[p.name] for p in law.parameters]).T
    starts = [[(_PHYSICS | start)[p.name][0] for start in _SCALAR_STARTS] for p in law.parameters]
    return Guess(law, np.log(means), deviations, np.ones(len(means), bool), np.log(starts))


def network_law(starts, seed, units=UNITS):
    """Return the `Guess` for a friction network, with so many random starts."""
    law = FrictionNetwork(units)
    names = [p.name for p in law.parameters]
    is_log = np.array([name in _PHYSICS for name in names])
    means, deviations = np.zeros((2, len(names)))
    points = np.zeros((len(names), starts))
    rng = np.random.default_rng(seed)
    for k, name in enumerate(names):
        if name in _PHYSICS:
            mean, deviations[k] = _PHYSICS[name]
            means[k] = points[k] = np.log(mean)
        elif name.startswith('w'):
            is_of_sliding = int(name.rpartition('_')[2]) < 2
            deviations[k] = _LEASH[0] if is_of_sliding else _LEASH[1]
            points[k] = rng.standard_normal(starts) if is_of_sliding else 0.0
        else:
            deviations[k] = _LEASH[2]
    _resist(points, names, units)
    return Guess(law, means, deviations, is_log, points)


def _resist(points, names, units):
    """Set the output weights such that every unit resists the sliding it sees, about alike."""
    for k in range(units):
        seen = points[[names.index(f'w{k}_{i}') for i in range(2)]]
        share = _PHYSICS['friction'][0] / units * seen / np.linalg.norm(seen, axis=0)
        points[[names.index(f'o{axis}_{k}') for axis in 'xy']] = share


def fit(guess, training, held_out, on_step):
    """
    Return (`Fitted` at the first start, `Fitted` after the descent that ended lowest).

    guess: a `Guess`; training, held_out: `Throws`; on_step(cost): called after every step.
    """
    cube = Cube(guess.law)
    misfit = PoseMisfit(cube, states_of(training), poses_of(training), guess)
    rules = Rules(iterations=_ITERATIONS, tolerance=0.0, share=1e-3)
    descents = Descents(misfit, guess.points, rules)
    first = float(descents.state.costs[0])
    descents.run(lambda _, costs: on_step(float(costs.min())))
    best = int(descents.state.costs.argmin())
    states, wanted = states_of(held_out), poses_of(held_out)

    def judged(point, cost):
        values = misfit.values(point)
        found = cube.throws(states, values)
        return Fitted(
            dict(zip(cube.names, values.tolist())),
            accuracy(found, wanted),
            found,
            cube.cone(states, values),
            cost,
            int(descents.evaluations.sum()),
        )

    return (
        judged(guess.points[:, 0], first),
        judged(descents.points[:, best], float(descents.state.costs[best])),
    )


@dataclass(frozen=True)
class CubeResult:
    """
    Poses of held-out throws [T, 12, B], and what was fitted.

    before, network: the friction network at its start and after it; scalar: Coulomb's friction.
    """

    wanted: np.ndarray
    before: Fitted
    scalar: Fitted
    network: Fitted

    def laws(self):
        """Return name -> `Fitted`, in the order in which they are shown."""
        return {
            'before': self.before,
            'best coefficient': self.scalar,
            'network': self.network,
        }


def run_cube(seed, starts, on_step):
    """
    Return the `CubeResult`.

    seed: of the held-out throws; the throws that are learned from are the same for all of them.
    starts: of the network; on_step(text): called after every step.
    """
    on_step('simulating by exact steps')
    training = target(TRAINING, _TRAINING_SEED)
    held_out = target(HELD_OUT, seed)

    def shower(name):
        return lambda cost: on_step(f'{name}: cost {cost:.4g}')

    _, scalar = fit(scalar_law(), training, held_out, shower('best coefficient'))
    before, network = fit(network_law(starts, _STARTS_SEED), training, held_out, shower('network'))
    return CubeResult(poses_of(held_out), before, scalar, network)
