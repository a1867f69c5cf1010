"""
What an estimator sees of a robot: small protocols, complete, with no physics in them.

`Dynamics` says how states and parameters predict samples, `Measurements` which sample a residual
belongs to, `ProcessNoise` what is random, and `ModelChanges` in what ways a robot may change. A
`Problem` is all four. `test/linear_gaussian.py` is one without a robot, and
`test/test_contracts.py` checks that estimators use nothing else.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .noise import NoiseScales


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution: mean [n] and a root S [n, n] of its covariance S S'."""

    mean: np.ndarray
    root: np.ndarray

    @property
    def covariance(self):
        """The covariance [n, n]."""
        return self.root @ self.root.T


@dataclass(frozen=True)
class Linearization:
    """
    A frame linearized about B pairs of a state at its beginning and parameters.

    z = (state, parameters) are n = t + p local coordinates about the point of linearization.
    ends [nx, B]: states at the frame's end; transition [B, t, n]: their derivative;
    residual [B, m]: predicted less measured, in standard deviations; slope [B, m, n]: its
    derivative. A row that the frame of one column does not have is zero in both.
    """

    ends: np.ndarray
    transition: np.ndarray
    residual: np.ndarray
    slope: np.ndarray

    def pick(self, which):
        """Return that of some of the pairs."""
        return Linearization(
            self.ends[:, which], self.transition[which], self.residual[which], self.slope[which]
        )


@dataclass(frozen=True)
class ModelChange:
    """
    A way in which a robot may change at once, as a zero-mean jump of its coordinates.

    name: for people; parameters: names of those that it concerns; root [p, r]: of the covariance
    of the jump; body [10, r]: of a payload, its mass, first moments and inertia about the frame of
    its link, one column for each of the root's, None of any other change; link: that frame's;
    log_odds: log prior odds against other changes.
    """

    name: str
    parameters: tuple
    root: np.ndarray
    body: np.ndarray | None = None
    link: str = ''
    log_odds: float = 0.0


class Dynamics(Protocol):
    """
    States, parameters, and the samples that they predict.

    States are points [nx, B] with `tangent_size` local coordinates t, of which the first
    `position_count` are positions. Parameters are real numbers [p, B] without
    constraints, named by `labels`, with a `prior`. `neutral` [nx]: a state to begin from where
    nothing is known. `spacing` [p]: how far apart initial guesses may be along each parameter so
    that a fit from one of them finds the optimum, infinite where any does.
    """

    tangent_size: int
    position_count: int
    labels: tuple
    prior: Gaussian
    neutral: np.ndarray
    spacing: np.ndarray

    def retract(self, points, deltas):
        """Return points [nx, B] moved by local coordinates [t, B]."""

    def local(self, starts, ends):
        """Return the local coordinates [t, B] at points `starts` of the points `ends`."""

    def trajectory(self, points, parameters, frames):
        """Return the states [H + 1, nx, B] at the bounds of consecutive frames."""

    def linearize(self, points, parameters, frames, disturbances=None):
        """
        Return the `Linearization` of one frame for every column, or of one for all.

        parameters [p, B']: of B' columns that repeat; disturbances: `Disturbances` of B
        columns, None where there are none.
        """

    def residuals(self, states, parameters, frames):
        """Return the whitened residuals [B, M] of consecutive frames on a trajectory."""

    def first_state(self, frames):
        """Return (point [nx], root [t, t]): a guess of the first state, and its deviation."""

    def first_trajectory(self, frames):
        """Return a guess of the states [H + 1, nx] at the bounds of frames, from their samples."""

    def spread(self, means, roots):
        """
        Return the relative standard deviation [B] of the dynamics (the mass matrix of a robot).

        means [p, B]; roots [B, p, p]: of the parameters' covariance.
        """

    def least_covariance(self, share):
        """Return the covariance [p, p] of parameters that are known to this part of their size."""


class Measurements(Protocol):
    """
    The samples of frames, and the rows of residuals that they give.

    `noise_prior`: of the sensors whose noise is estimated, of one component, or None.
    `late_sensors`: name -> direction [p] of the delay of a sensor's clock. `channel_count`: number
    of rows of all sensors together; `channel_groups`: an array of as many numbers, equal where
    rows are axes of one quantity.
    """

    noise_prior: NoiseScales | None
    late_sensors: dict
    channel_count: int
    channel_groups: np.ndarray

    def knows_inputs(self, frame):
        """Tell whether all efforts that act during a frame are known."""

    def loses_sight(self, frame):
        """Tell whether the motion is unknown after a frame, so that it has to be guessed anew."""

    def moves(self, point, frames):
        """Tell whether samples of frames differ by more than noise, seen from a point [nx]."""

    def in_rows(self, frame):
        """Return (number of the sensor, sample) of a frame in the order of their rows."""

    def row_samples(self, frame):
        """Return the number [m] of the sample of each residual row of a frame."""

    def row_noises(self, frames):
        """Return each residual row's entry of the noise prior for frames side by side, or -1."""

    def channel_means(self, frame):
        """Return the matrix [C, m] from residual rows of a frame to means by channel."""


class ProcessNoise(Protocol):
    """
    What moves a robot at random.

    The last `disturbance_size` entries of a state are disturbances (Gauss-Markov processes), in
    units of the problem's own. `has_unknown_inputs`: whether inputs that nobody measures always
    act, so that a motion does not follow from its first state. `drifting`: kind of parameters, as
    in `Drift` -> root [p, r] of the covariance that they would have if those of the kind changed
    by their own size. `lasting_root` [p, r]: of the covariance of parameters that a disturbance of
    one leaves however long it is watched. `constant_efforts`: the `ConstantEfforts` of a window;
    `commanded_velocities`: places of the velocities on which commands act.
    """

    disturbance_size: int
    has_unknown_inputs: bool
    drifting: dict
    lasting_root: np.ndarray
    constant_efforts: object
    commanded_velocities: list

    def process_noise(self, frames, disturbances, parameters, states):
        """
        Return what consecutive frames add to the standard deviation of the state, [H, K, t].

        disturbances: `Disturbances` of K columns; parameters [p, K]; states: H + 1 times
        [nx, K], before and after.
        """

    def disturbances(self, disturbances, parameters, points):
        """Return the standard deviations [K, d] of `Disturbances` at states."""

    def input_noise(self, frame):
        """Return the standard deviation [t] of what unknown efforts do to the state."""

    def impulse(self, frame):
        """Return the standard deviation [t] of what a change within a frame does to the state."""


class ModelChanges(Protocol):
    """
    In what ways a robot may be another one than described, or become one.

    `augmented`: the same problem in which what is held fixed, and may be misspecified, is among
    the unknowns; None where there is nothing of the kind. `names`: of parameters, for people.
    """

    augmented: 'Problem | None'
    names: tuple

    def marginal(self, mixture):
        """Return the posterior of this problem's unknowns from a mixture of the augmented one."""

    def model_changes(self, mean):
        """Return a `ModelChange` for each way in which a robot of coordinates [p] may change."""


class Problem(Dynamics, Measurements, ProcessNoise, ModelChanges, Protocol):
    """A robot with sensors and unknown parameters, for estimators by forward simulation."""


class RegressionProblem(Protocol):
    """
    The same for estimators that need no simulation.

    `torque`: a `TorqueModel`, rows of measured torques that are linear in parameters, None where
    no torque is measured; `poses`: a `PoseModel`, what motion capture sees of given joint
    positions, None where nothing does; all else as of `Dynamics`.
    """

    torque: object
    poses: object


# What a problem need not have that has no torques and no poses to regress on.
OF_REGRESSION = frozenset(('torque', 'poses'))
