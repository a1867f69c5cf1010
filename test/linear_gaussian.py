"""
A linear problem with normal noise, and the exact posterior of it by one large normal distribution.

No robot: a point on a line that two unknown numbers accelerate. All that filters, smoothers and
fits find of it can be written down without any recursion, so it is an oracle that has nothing in
common with them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim2real_estimator.estimation.disturbances import Disturbance, Disturbances, Kind
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.protocol import Gaussian, Linearization, ModelChange
from sim2real_estimator.estimation.windows.shooting import ConstantEfforts
from sim2real_estimator.records import Frame, Sample

SECOND = 10**9
PERIOD = 0.05
SENSOR, SD = 'encoder', 0.02
# What a scale of one does to the velocity in a frame.
PUSH = 0.05
# Position and velocity [m, m/s] are known so well beforehand.
STATE_SD = np.array([1.0, 1.0])
# Of the parameters: an acceleration [m/s^2], and what an input of one adds to it.
PRIOR = Gaussian(np.array([0.5, -0.2]), np.array([[0.8, 0.0], [0.3, 0.6]]))
LABELS = ('acceleration', 'gain')
# By which one of them jumps when it changes.
JUMP_SD = 2.0
_ON = np.array([[1.0, PERIOD], [0.0, 1.0]])
_BY = np.array([0.5 * PERIOD**2, PERIOD])


class LinearProblem:
    """
    What an estimator sees of the point.

    Its position is measured at the end of every frame; a disturbance of a scale moves its velocity
    besides, by a random step at the end of every frame.
    """

    tangent_size = 2
    position_count, disturbance_size = 1, 0
    labels, prior, neutral = LABELS, PRIOR, np.zeros(2)
    names = LABELS
    drifting, late_sensors, noises = {}, {}, {}
    lasting_root = np.zeros((2, 0))
    noise_prior = augmented = None
    spacing = np.full(2, np.inf)
    has_unknown_inputs = False
    channel_count = 1
    channel_groups = np.zeros(1, dtype=int)
    commanded_velocities = ()
    constant_efforts = ConstantEfforts(np.zeros(0, dtype=int), np.zeros(0))

    def first_state(self, frames):
        """Return the prior of the first state."""
        return np.zeros(2), np.diag(STATE_SD)

    def first_trajectory(self, frames):
        """Return states [H + 1, 2] as the samples have them."""
        places = np.array([measured(frame) for frame in frames])
        places = np.concatenate([places[:1], places])
        return np.stack([places, np.gradient(places, PERIOD)], 1)

    def moves(self, point, frames):
        """Tell whether the point moves."""
        return True

    def retract(self, points, deltas):
        """Return points moved."""
        return points + deltas

    def local(self, starts, ends):
        """Return how far points are from others."""
        return ends - starts

    def knows_inputs(self, frame):
        """Tell whether the input is known: always."""
        return True

    def loses_sight(self, frame):
        """Tell whether nothing is known of the motion after a frame."""
        return frame.after_gap

    def process_noise(self, frames, disturbances, parameters, states):
        """Return what disturbances add to the deviation of states at the ends of frames."""
        sizes = disturbances.sizes
        one = np.stack([np.zeros_like(sizes), PUSH * sizes], -1)
        return np.broadcast_to(one, (len(frames), *one.shape))

    def disturbances(self, disturbances, parameters, points):
        """Return nothing: a disturbance does not last."""
        return np.zeros((len(disturbances), 0))

    def input_noise(self, frame):
        """Return what unknown inputs do."""
        return np.zeros(2)

    def impulse(self, frame):
        """Return what a change within a frame does to the state in it: as a usual drive does."""
        return np.array([0.0, PERIOD])

    def row_samples(self, frame):
        """Return the sample of each row."""
        return np.arange(len(frame.samples))

    def in_rows(self, frame):
        """Return (number of the sensor, sample) in the order of their rows."""
        return [(0, sample) for sample in frame.samples]

    def row_noises(self, frames):
        """Return which unknown noise each row has: none."""
        return np.full(len(frames[0].samples), -1)

    def model_changes(self, mean):
        """Return that either of the parameters may jump."""
        return tuple(
            ModelChange(name, (name,), JUMP_SD * np.eye(2)[:, [k]])
            for k, name in enumerate(LABELS)
        )

    def trajectory(self, points, parameters, frames):
        """Return the states at the bounds of frames."""
        states = [points]
        for frame in frames:
            forced = _BY[:, None] * (np.array([1.0, drive(frame)]) @ parameters)
            states.append(_ON @ states[-1] + forced)
        return np.array(states)

    def linearize(self, points, parameters, frames, disturbances=None):
        """Return the `Linearization` of frames side by side."""
        count = points.shape[1]
        frames = [*frames] * (count // len(frames)) if len(frames) < count else frames
        parameters = np.tile(parameters, count // parameters.shape[1])
        inputs = np.array([[1.0, drive(frame)] for frame in frames])
        ends = _ON @ points + _BY[:, None] * (inputs.T * parameters).sum(0)
        transition = np.concatenate(
            [np.broadcast_to(_ON, (count, 2, 2)), _BY[:, None] * inputs[:, None]], -1
        )
        is_there = np.array([bool(frame.samples) for frame in frames])
        if not is_there.any():
            return Linearization(ends, transition, np.zeros((count, 0)), np.zeros((count, 0, 4)))
        values = np.array([measured(frame) if frame.samples else 0.0 for frame in frames])
        residual = np.where(is_there, (ends[0] - values) / SD, 0.0)[:, None]
        slope = np.where(is_there[:, None], transition[:, 0] / SD, 0.0)[:, None]
        return Linearization(ends, transition, residual, slope)

    def residuals(self, states, parameters, frames):
        """Return residuals on trajectories [B, H]."""
        values = np.array([measured(frame) for frame in frames])
        return (states[1:, 0] - values[:, None]).T / SD

    def channel_means(self, frame):
        """Return the mean over the one row of a frame."""
        return np.ones((1, len(frame.samples)))

    def marginal(self, mixture):
        """Return the mixture itself: nothing is augmented."""
        return mixture

    def least_covariance(self, share):
        """Return the covariance of parameters that are known to this part of the prior."""
        return share**2 * PRIOR.covariance

    def spread(self, means, roots):
        """Return how well the dynamics are known, relative to the prior."""
        ratios = np.linalg.solve(PRIOR.root, roots)
        return np.linalg.norm(ratios, axis=(1, 2))


def drive(frame):
    """Return the input of a frame."""
    return float(frame.inputs[0][1][0])


def measured(frame):
    """Return the position that was measured at the end of a frame."""
    return float(frame.samples[0].values[0])


@dataclass(frozen=True)
class Run:
    """Frames [H] of a point, its states [H + 1, 2] and its parameters [H, 2]."""

    frames: tuple
    states: np.ndarray
    parameters: np.ndarray


def simulate(count, seed, scale=0.0, jump=None, at=0, truth=None):
    """
    Return a `Run`.

    scale: of disturbances; jump [2]: of the parameters from frame number `at` on; truth [2]: the
    parameters before, None: drawn from the prior.
    """
    rng = np.random.default_rng(seed)
    state = STATE_SD * rng.standard_normal(2)
    drawn = PRIOR.mean + PRIOR.root @ rng.standard_normal(2)
    truth = drawn if truth is None else truth
    frames, states, parameters, period = [], [state], [], round(PERIOD * SECOND)
    for k in range(count):
        now = truth if jump is None or k < at else truth + jump
        given = np.sin(1.7 * PERIOD * k) + 0.5 * np.sin(4.1 * PERIOD * k)
        state = _ON @ states[-1] + _BY * (now @ [1.0, given])
        seen = state[0] + SD * rng.standard_normal()
        start, end = k * period, (k + 1) * period
        sample = Sample(SENSOR, end, np.array([seen]))
        frames.append(Frame(start, end, (sample,), ((start, np.array([given])),)))
        states.append(state + [0.0, PUSH * scale * rng.standard_normal()])
        parameters.append(now)
    return Run(tuple(frames), np.array(states), np.array(parameters))


@dataclass(frozen=True)
class Exact:
    """
    The posterior of states, parameters and a jump: a normal distribution that is conditioned.

    frames; scale: of disturbances; jump: `ModelChange` before frame number `at`, None: none.
    """

    frames: tuple
    scale: float = 0.0
    jump: ModelChange | None = None
    at: int = 0

    @cached_property
    def _joint(self):
        """(linear map [m, N] to samples, mean [N], covariance [N, N], maps [H + 1, 4, N])."""
        count = len(self.frames)
        # First state, parameters, jump, and a step of the velocity at the end of every frame.
        width = 0 if self.jump is None else self.jump.root.shape[1]
        size = 4 + width + count
        sd_of_steps = np.full(count, PUSH * self.scale)
        covariance = np.zeros((size, size))
        covariance[:2, :2] = np.diag(STATE_SD**2)
        covariance[2:4, 2:4] = PRIOR.covariance
        covariance[4 : 4 + width, 4 : 4 + width] = np.eye(width)
        covariance[4 + width :, 4 + width :] = np.diag(sd_of_steps**2)
        mean = np.concatenate([np.zeros(2), PRIOR.mean, np.zeros(width + count)])
        now, maps, rows = np.eye(4, size), [], []
        for k, frame in enumerate(self.frames):
            if width and k == self.at:
                now = now.copy()
                now[2:, 4 : 4 + width] += self.jump.root
            maps.append(now)
            forced = np.array([1.0, drive(frame)]) @ now[2:]
            state = _ON @ now[:2] + _BY[:, None] * forced
            rows.append(state[0])
            state = state.copy()
            state[1, 4 + width + k] += 1.0
            now = np.concatenate([state, now[2:]])
        return np.array(rows), mean, covariance, np.array([*maps, now])

    @cached_property
    def _posterior(self):
        """(mean [N], covariance [N, N], log evidence)."""
        rows, mean, covariance, _ = self._joint
        values = np.array([measured(frame) for frame in self.frames])
        spread = rows @ covariance @ rows.T + SD**2 * np.eye(len(rows))
        gain = np.linalg.solve(spread, rows @ covariance).T
        missed = values - rows @ mean
        log_evidence = -0.5 * (
            missed @ np.linalg.solve(spread, missed) + np.linalg.slogdet(2 * np.pi * spread)[1]
        )
        return mean + gain @ missed, covariance - gain @ rows @ covariance, log_evidence

    @property
    def log_evidence(self):
        """How probable the samples are."""
        return self._posterior[2]

    def at_bound(self, k):
        """Return (mean [4], covariance [4, 4]) of state and parameters before frame number k."""
        place = self._joint[3][k]
        mean, covariance, _ = self._posterior
        return place @ mean, place @ covariance @ place.T

    @property
    def at_end(self):
        """The same after the last frame."""
        return self.at_bound(len(self.frames))


def known_before(scales=(0.0,)):
    """Return the prior of state and parameters as a `Mixture` of equal weights, one per scale."""
    count, root = len(scales), np.zeros((4, 4))
    root[:2, :2], root[2:, 2:] = np.diag(STATE_SD), PRIOR.root
    return Mixture(
        np.full(count, -np.log(count)),
        np.zeros((2, count)),
        np.repeat(PRIOR.mean[:, None], count, 1),
        np.repeat(root[None], count, 0),
        Disturbances.of([Disturbance(Kind.FORCE, scale) for scale in scales]),
    )
