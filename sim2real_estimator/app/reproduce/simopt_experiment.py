"""
The loop of `Closing the Sim-to-Real Loop` (SimOpt, Chebotar et al., ICRA 2019) on a cart-pole.

A policy is trained on a distribution of simulated robots and tried on the true one; what the true
robot did changes the distribution, on which the next policy is trained. Three ways to change it
have policies, training and seeds in common:

- hand-made ranges stay as they are;
- SimOpt searches by CMA-ES for robots that, under the same policy, move as the true one did, and
  draws from the search distribution;
- ours reads encoders and commands of the true robot as they come, and draws from the posterior.
"""

from dataclasses import dataclass
import time

from cmaes import CMA
import numpy as np
from scipy.ndimage import gaussian_filter1d

from ...config import read_config, with_values
from ...messages import maker
from ...observability.null_space import draw_samples
from ...pipeline import Pipeline
from .cartpole import (
    Cartpole,
    DELAY,
    FIRST_GAINS,
    FRICTION_VELOCITY,
    NAMES,
    PERIOD,
    random_starts,
    SECONDS,
    TRUE_FRICTION_VELOCITY,
    URDF,
)
from .simulated_time import counted, SimulatedTime

# What is thought possible before the robot has moved: the middle of every quantity, and the
# standard deviation of its logarithm, of the delay [s] that of the delay itself.
MIDDLES = np.array([0.8, 0.2, 0.3, 0.5, 0.6, 0.003, 0.03])
SPREADS = np.array([0.35, 0.5, 0.3, 0.7, 0.7, 0.7, 0.02])
# A true robot is so many standard deviations from the middle in every quantity: at the edge.
EDGE = (1.0, 2.0)
ALWAYS_MORE = ('pole.mass', 'pole.com.z', 'slider.friction', DELAY)
TRIALS = 3  # rollouts of the true robot in a round
ROUNDS = 3
STARTS = 50  # from which a policy is judged
DRAWS = 200  # of a distribution, for pictures, and of the posterior for training too
# Dampings, frictions and delays are normal in the posterior, and may be below zero where little is
# known of them: draws are at least this share of the middle.
LEAST = 0.01
# Steps in a period of the true robot, which is not made by the model that fits it.
TRUE_STEPS = 10
# First standard deviation of the search for a policy, of the logarithms of its gains.
FIRST_SEARCH = 0.3

CONFIG = """
model: {urdf: ''}
joints: {slider: {effort: commanded}, hinge: {effort: none}}
sensors:
  # One standard deviation for both joints: that of the hinge [rad], twice that of the slider [m].
  encoders: {kind: joint_positions, topic: joint_states, joints: [slider, hinge], sd: 0.001}
simulation: {max_step: 0.005}
frames: {lateness: 0.0}
estimator: {name: gaussian_sum}
estimate:
"""
# From the end of a rollout of the true robot to the beginning of the next one.
PAUSE_NS = 5_000_000_000
_NANO = 1_000_000_000


@dataclass(frozen=True)
class Budget:
    """
    How much is simulated.

    policies, generations: of the training, the same for all; robots: that each policy of a
    generation is tried on; candidates, updates: of SimOpt in a round, 9600 rollouts with three
    trials; few: updates of SimOpt with about a tenth of that.
    """

    policies: int = 24
    generations: int = 50
    robots: int = 16
    candidates: int = 100
    updates: int = 32
    few: int = 3


@dataclass(frozen=True)
class Moment:
    """
    One way after some rounds.

    success: share of starts from which the true robot's pole is up in time; trials: rollouts of
    the true robot so far. What updates of the distribution have taken so far: simulated, rollouts
    of simulated robots; by_differences, the same with derivatives counted as finite differences
    would take; seconds of the processor. draws [7, N]: robots of the distribution, in coordinates.
    """

    success: float
    trials: int
    simulated: float
    by_differences: float
    seconds: float
    draws: np.ndarray


@dataclass(frozen=True)
class Loop:
    """
    All ways with one true robot.

    truth [7]: its coordinates; known: success of a policy that is trained on this very robot;
    courses: title of the way -> its `Moment`s, round by round, the first before any.
    """

    seed: int
    truth: np.ndarray
    known: float
    courses: dict


def run_loop(seed, rounds=ROUNDS, budget=None, on_step=lambda state: None):
    """Return the `Loop` with the true robot of a seed; on_step: called after every training."""
    budget = budget or Budget()
    values = true_robot(seed)
    robot = TrueRobot(values, seed)
    model = Cartpole()

    def trained(draw, number, title):
        gains = train(model, draw, seed * (ROUNDS + 1) + number, budget)
        success = robot.success(gains)
        on_step(f'{title} after {number} rounds: {100 * success:.0f} %')
        return gains, success

    first = trained(HandMade(seed, budget).draw, 0, HandMade.title)
    courses = {}
    for kind in WAYS:
        way, (gains, success), moments = kind(seed, budget), first, []
        for number in range(rounds + 1):
            if number:
                way.update(robot.trials(gains, number), gains)
                gains, success = trained(way.draw, number, way.title)
            draws = to_coordinates(way.draw(DRAWS, np.random.default_rng(seed)))
            spent = way.simulated / SECONDS, way.by_differences / SECONDS, way.seconds
            moments.append(Moment(success, TRIALS * number, *spent, draws))
        courses[way.title] = tuple(moments)
    alike = values[:, None]
    _, known = trained(lambda count, _: alike.repeat(count, 1), 0, 'the true robot itself')
    return Loop(seed, to_coordinates(alike)[:, 0], known, courses)


def to_values(coordinates):
    """Return the quantities [7, B] of coordinates [7, B], which are standard normal at first."""
    moved = SPREADS[:, None] * coordinates
    values = MIDDLES[:, None] * np.exp(moved)
    values[-1] = np.maximum(MIDDLES[-1] + moved[-1], 0.0)
    return values


def to_coordinates(values):
    """Return the coordinates [7, B] of quantities [7, B]."""
    moved = np.empty_like(values)
    moved[:-1] = np.log(values[:-1] / MIDDLES[:-1, None])
    moved[-1] = values[-1] - MIDDLES[-1]
    return moved / SPREADS[:, None]


def true_robot(seed):
    """Return the quantities [7] of a robot at the edge of what is thought possible."""
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1.0, 1.0], len(NAMES))
    signs[[NAMES.index(name) for name in ALWAYS_MORE]] = 1.0
    return to_values((signs * generator.uniform(*EDGE, len(NAMES)))[:, None])[:, 0]


class TrueRobot:
    """The robot that policies are for; it moves in finer steps, and its friction is steeper."""

    def __init__(self, values, seed):
        """Take its quantities [7], and the seed of starts and noise."""
        self._values, self._seed = values[:, None], seed
        self._cartpole = Cartpole(TRUE_STEPS, TRUE_FRICTION_VELOCITY)

    def trials(self, gains, number):
        """Return the `Rollouts` of a round under a policy with gains [11]."""
        return self._run(gains, TRIALS, np.random.default_rng([self._seed, number]))

    def success(self, gains):
        """Return the share of starts, the same for all, from which a policy succeeds."""
        runs = self._run(gains, STARTS, np.random.default_rng([self._seed]))
        return float(runs.succeeded.mean())

    def _run(self, gains, count, generator):
        starts = random_starts(count, generator)
        return self._cartpole.run(self._values, gains[:, None], starts, generator)


def train(cartpole, draw, seed, budget):
    """
    Return the gains [11] of a policy, trained by CMA-ES on random robots.

    draw: function (count, generator) -> quantities [7, count].
    """
    generator = np.random.default_rng(seed)
    middle, count = np.zeros(len(FIRST_GAINS)), budget.policies
    search = CMA(middle, FIRST_SEARCH, seed=seed, population_size=count)
    for _ in range(budget.generations):
        asked = np.array([search.ask() for _ in range(count)])
        gains = FIRST_GAINS[:, None] * np.exp(asked.T)
        # All policies of a generation meet the same robots from the same starts.
        robots, starts = draw(budget.robots, generator), random_starts(budget.robots, generator)
        robots, starts = np.tile(robots, count), np.tile(starts, count)
        runs = cartpole.run(robots, gains.repeat(budget.robots, 1), starts, generator)
        search.tell(list(zip(asked, runs.costs.reshape(count, -1).mean(1))))
    return FIRST_GAINS * np.exp(search.mean)


class HandMade:
    """Ranges stay as they were made by hand."""

    title = 'hand-made ranges'
    simulated = by_differences = seconds = 0.0

    def __init__(self, seed, budget):
        """Take what every way takes: the seed of random numbers, and the `Budget`."""

    def draw(self, count, generator):
        """Return the quantities [7, count] of random robots."""
        return to_values(generator.standard_normal((len(NAMES), count)))

    def update(self, trials, gains):
        """Learn from `Rollouts` of the true robot under a policy with gains [11]: nothing."""


class SimOpt:
    """
    The distribution is that of CMA-ES, which searches for robots that move as the true one did.

    The discrepancy of two rollouts under the same policy is that of the paper, absolute and
    squared differences of what is measured after a Gaussian filter. Late differences count less:
    swings soon depend on everything, and with equal weights the search ends anywhere.
    """

    title = 'SimOpt'
    absolute, squared = 1.0, 0.5
    smooth = 5.0  # standard deviation of the filter [periods]
    fades = 1.0  # in so long the weight of a difference falls to 1/e [s]
    again = 0.5  # standard deviation with which the search of a later round begins

    def __init__(self, seed, budget):
        """Take the seed of random numbers, and the `Budget`."""
        self.simulated, self.seconds = 0.0, 0.0
        self._candidates, self._updates = budget.candidates, budget.updates
        self._seed, self._generator = seed, np.random.default_rng(seed)
        self._cartpole = Cartpole()
        self._search = self._begun(np.zeros(len(NAMES)), 1.0)

    def draw(self, count, generator):
        """Return the quantities [7, count] of random robots."""
        return to_values(np.array([self._search.ask() for _ in range(count)]).T)

    @property
    def by_differences(self):
        """Simulated time of all robots together [s]; there are no derivatives."""
        return self.simulated

    def update(self, trials, gains):
        """Learn from `Rollouts` of the true robot under a policy with gains [11]."""
        began = time.process_time()
        number, count = trials.commands.shape[1], self._candidates
        measured = self._compared(trials.measured)[..., None, :]
        starts = np.tile(trials.measured[0], count)
        weights = np.exp(-PERIOD * np.arange(len(measured)) / self.fades)
        if self.simulated:
            self._search = self._begun(self._search.mean, self.again)
        for _ in range(self._updates):
            asked = np.array([self._search.ask() for _ in range(count)])
            robots = to_values(asked.T).repeat(number, 1)
            runs = self._cartpole.run(robots, gains[:, None], starts, self._generator)
            self.simulated += len(starts[0]) * SECONDS
            found = self._compared(runs.measured)
            off = found.reshape(*found.shape[:2], count, number) - measured
            off = (self.absolute * np.abs(off) + self.squared * off**2).mean((1, 3))
            self._search.tell(list(zip(asked, weights @ off / weights.sum())))
        self.seconds += time.process_time() - began

    def _begun(self, middle, sd):
        """Return the search of a round."""
        return CMA(middle, sd, seed=self._seed, population_size=self._candidates)

    def _compared(self, measured):
        """Return the filtered place of the cart and direction of the pole, [T, 3, B]."""
        x, angle = np.moveaxis(measured, 1, 0)
        return gaussian_filter1d(np.stack([x, np.sin(angle), np.cos(angle)], 1), self.smooth, 0)


class SimOptFew(SimOpt):
    """SimOpt with about a tenth of the simulated rollouts."""

    title = 'SimOpt, a tenth'

    def __init__(self, seed, budget):
        """Take the seed of random numbers, and the `Budget`."""
        super().__init__(seed, budget)
        self._updates = budget.few


class Online:
    """The distribution is the posterior of a `Pipeline` that reads the true robot's messages."""

    title = 'ours'

    def __init__(self, seed, budget):
        """Take the seed of random numbers, and the `Budget`."""
        self.seconds, self._seed = 0.0, seed
        self._total, self._end_ns = SimulatedTime(), 0
        with counted(self._total):
            self.pipeline = Pipeline.from_config(config())
        self._joint_state = maker('sensor_msgs/msg/JointState')
        self._header, self._time = (
            maker('std_msgs/msg/Header'),
            maker('builtin_interfaces/msg/Time'),
        )
        self._draws = None

    @property
    def simulated(self):
        """Simulated time of all robots together [s]."""
        return self._total.seconds

    @property
    def by_differences(self):
        """The same [s], as if derivatives were finite differences."""
        return self._total.by_differences

    def draw(self, count, generator):
        """Return the quantities [7, count] of random robots."""
        if self._draws is None:
            return to_values(generator.standard_normal((len(NAMES), count)))
        return self._draws[:, generator.integers(self._draws.shape[1], size=count)]

    def update(self, trials, gains):
        """Learn from `Rollouts` of the true robot under a policy with gains [11]."""
        began = time.process_time()
        with counted(self._total):
            for trial in range(trials.commands.shape[1]):
                self._read(trials.measured[..., trial], trials.commands[:, trial])
        problem, mixture = self.pipeline.problem, self.pipeline.mixture
        draws = draw_samples(problem, mixture, DRAWS, self._seed)
        draws = draws[[problem.parametrization.names.index(name) for name in NAMES]]
        self._draws = np.maximum(draws, LEAST * MIDDLES[:, None])
        self.seconds += time.process_time() - began

    def _read(self, measured, commands):
        """Read the positions [T + 1, 2] and commands [T] of one rollout, as they come."""
        begin_ns = self._end_ns + PAUSE_NS
        for period, positions in enumerate(measured):
            stamp_ns = begin_ns + round(_NANO * PERIOD * period)
            if period < len(commands):
                effort = [float(commands[period])]
                message = self._message(stamp_ns, name=['slider'], effort=effort)
                self.pipeline.receive('commanded_efforts', message)
            message = self._message(
                stamp_ns, name=['slider', 'hinge'], position=positions.tolist()
            )
            self.pipeline.receive('encoders', message)
            self.pipeline.step()
        self._end_ns = stamp_ns

    def _message(self, stamp_ns, **fields):
        """Return a JointState of an instant."""
        seconds, rest = divmod(stamp_ns, _NANO)
        header = self._header(stamp=self._time(sec=seconds, nanosec=rest))
        return self._joint_state(header=header, **fields)


WAYS = (HandMade, SimOpt, SimOptFew, Online)


def config():
    """Return the estimator's settings: what is thought possible is the prior."""
    lines = [
        f'  {name}: {{mean: {middle}, sd: {spread}, log: {str(name != DELAY).lower()}}}'
        for name, middle, spread in zip(NAMES, MIDDLES, SPREADS)
    ]
    lines.append(f'  slider.friction_velocity: {{mean: {FRICTION_VELOCITY}, fixed: true}}')
    return with_values(read_config(CONFIG + '\n'.join(lines)), {'model.urdf': URDF})
