"""What an estimator needs of a robot: dimensions, a prior, and linearized frames."""

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
    Motion and samples of a frame, linearized at B pairs of an initial state and parameters.

    z = (state, parameters) are n = t + p local coordinates at the point of linearization.
    ends [nx, B]: states at the frame's end; transition [B, t, n]: their derivative by z;
    residual [B, m]: predicted less measured, in standard deviations; slope [B, m, n]: its
    derivative. Padding, for rows that only other columns have, is zero in both.
    """

    ends: np.ndarray
    transition: np.ndarray
    residual: np.ndarray
    slope: np.ndarray

    def pick(self, which):
        """Return the linearization at some of the pairs."""
        return Linearization(
            self.ends[:, which], self.transition[which], self.residual[which], self.slope[which]
        )


@dataclass(frozen=True)
class ModelChange:
    """
    A way in which a robot may change at an instant.

    name: for people; parameters: names of those that it concerns; root [p, r]: of the covariance
    of the change of the coordinates, whose mean is zero; body [10, r]: for a payload, its mass,
    first moments and inertia about the frame of its link, by the columns of the root; None for
    other changes; link: of the payload; log_odds: of its prior probability against others.
    """

    name: str
    parameters: tuple
    root: np.ndarray
    body: np.ndarray | None = None
    link: str = ''
    log_odds: float = 0.0


class Problem(Protocol):
    """
    A robot with sensors and unknown parameters.

    States are points of `point_size` numbers [nx, B] with `tangent_size` local coordinates t, of
    which the first `position_count` are positions. Parameters are real numbers [p, B] without
    constraints, one for each of `labels`. `neutral` [nx]: the initial guess of a state. The last
    `disturbance_size` entries of a state are disturbances, in units of the problem. `drifting`:
    kind of parameters, as in `Drift` -> root [p, r] of the covariance of a change of that kind by
    about the parameters' own size. `lasting_root` [p, r]: of the covariance that disturbances of
    scale one leave in the parameters, however long they are observed. `noise_prior`: of the
    sensors whose noise is estimated, of one component, or None. `spacing` [p]: how far apart
    initial guesses of a fit may be along each parameter so that one of them converges to the
    optimum, infinite where any does. `late_sensors`: name -> direction [p] of the clock's delay,
    of sensors with an unknown one. `is_driven`: whether unknown forces always act on the robot, so
    that its motion does not follow from its first state.
    """

    point_size: int
    tangent_size: int
    position_count: int
    labels: tuple
    prior: Gaussian
    disturbance_size: int
    neutral: np.ndarray
    drifting: dict
    lasting_root: np.ndarray
    noise_prior: NoiseScales | None
    spacing: np.ndarray
    late_sensors: dict
    is_driven: bool
    # The same problem with fixed values that may be wrong among its unknowns, or None.
    augmented: 'Problem | None'

    def marginal(self, mixture):
        """Return the marginal, over this problem's unknowns, of a mixture of the augmented one."""

    def first_state(self, frames):
        """Return (point [nx], root [t, t]) of the state at the beginning, guessed from samples."""

    def first_trajectory(self, frames):
        """Return states [H + 1, nx] at the bounds of frames, guessed from their samples."""

    def moves(self, point, frames):
        """Tell whether samples of frames differ by more than noise from those of a point [nx]."""

    def retract(self, points, deltas):
        """Return the points [nx, B] moved by local coordinates [t, B]."""

    def knows_inputs(self, frame):
        """Tell whether all efforts that act during a frame are known."""

    def floors(self, frames, scales, parameters, states):
        """
        Return the standard deviation of the process noise of consecutive frames, [H, K, t].

        scales [K]: of the disturbances of each column; parameters [p, K]; states: H + 1 times
        [nx, K], before and after.
        """

    def disturbances(self, scales, parameters, points):
        """Return the standard deviations [K, d] of disturbances of scales [K] at states."""

    def push(self, frame):
        """Return the standard deviation [t] of the input noise: the effect of unknown efforts."""

    def loses_sight(self, frame):
        """Tell whether after a frame the state is known no better than by a new guess."""

    def impulse(self, frame):
        """Return the standard deviation [t] of the effect of a model change on the state."""

    def row_samples(self, frame):
        """Return the index of the sample that each residual row [m] of a frame belongs to."""

    def jumps(self, mean):
        """Return the `ModelChange`s that a robot of coordinates [p] may undergo."""

    def trajectory(self, points, parameters, frames):
        """Return the states [H + 1, nx, B] at the bounds of consecutive frames."""

    def linearize(self, points, parameters, frames, scales=None):
        """
        Return the `Linearization` of one frame for every column, or of one for all.

        parameters [p, B']: of B' columns that repeat; scales [B]: of disturbances, None where
        there are none.
        """

    def residuals(self, states, parameters, frames):
        """Return the whitened residuals [B, M] of consecutive frames on a trajectory."""

    def row_noises(self, frames):
        """Return the index of each residual row's sensor in the noise prior, or -1."""

    def spread(self, means, roots):
        """
        Return the relative standard deviation [B] of the mass matrix in every column.

        means [p, B]; roots [B, p, p]: of the parameters' covariance.
        """
