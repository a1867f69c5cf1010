"""What an estimator sees of a robot: dimensions, a prior, and linearised frames."""

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
    A frame seen from its beginning, for B pairs of a state and parameters.

    z = (state, parameters) are n = t + p local coordinates around the point of linearisation.
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
    A way in which a robot may change all at once.

    name: for people; parameters: names of those that it concerns; root [p, r]: of the covariance
    by which the coordinates jump, as likely one way as the other; body [10, r]: where a body is
    taken up or put down, its mass, first moments and inertia about the frame of its link, which
    go with the columns of the root; None where nothing of the kind happens; link: that frame's;
    log_odds: how much more probable it is than others before any data.
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
    which the first `position_count` are positions; parameters are `labels` many real numbers
    [p, B] without constraints. `neutral` [nx]: a state to begin from where nothing is known. The
    last `disturbance_size` entries of a state are
    disturbances, in units of the problem's own. `drifting`: kind of parameters, as in `Drift` ->
    root [p, r] of the covariance that they would have if those of that kind changed by about their
    own size. `lasting_root` [p, r]: of the covariance that a
    disturbance of one leaves for good, however long it is listened to. `noise_prior`: of
    the sensors whose noise is estimated, of one component, or None. `spacing` [p]: how far apart
    the starts of a fit may be along each parameter so that one of them leads to the optimum,
    infinite where any does. `late_sensors`: name -> direction [p] that is how late a clock is, of
    those that may be late. `is_driven`: whether hidden forces always push the robot, so that its
    motion does not follow from its first state.
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
    # The same problem with what is held fixed, and may be wrong, among its unknowns, or None.
    augmented: 'Problem | None'

    def marginal(self, mixture):
        """Return what a mixture of the augmented problem knows of this one's unknowns."""

    def first_state(self, frames):
        """Return (point [nx], root [t, t]): a state guessed from the first frames, and its sd."""

    def first_trajectory(self, frames):
        """Return states [H + 1, nx] at the bounds of frames, guessed from their samples."""

    def moves(self, point, frames):
        """Tell whether samples of frames differ by more than noise, seen from a point [nx]."""

    def retract(self, points, deltas):
        """Return the points [nx, B] moved by local coordinates [t, B]."""

    def knows_inputs(self, frame):
        """Tell whether all efforts that act during a frame are known."""

    def floors(self, frames, scales, parameters, states):
        """
        Return what consecutive frames add to the standard deviation of the state, [H, K, t].

        scales [K]: of the disturbances of each column; parameters [p, K]; states: H + 1 times
        [nx, K], before and after.
        """

    def disturbances(self, scales, parameters, points):
        """Return the standard deviations [K, d] of disturbances of scales [K] at states."""

    def push(self, frame):
        """Return the standard deviation of what unknown efforts do to the state, [t]."""

    def loses_sight(self, frame):
        """Tell whether after a frame the motion may be anywhere: a new guess tells more of it."""

    def impulse(self, frame):
        """Return the sd [t] of what a change somewhere in a frame does to the state in it."""

    def row_samples(self, frame):
        """Return which sample of a frame, by number, each of its residual rows is of, [m]."""

    def jumps(self, mean):
        """Return a `ModelChange` for each way in which a robot of coordinates [p] may change."""

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
        """Return each residual row's entry of the noise prior for frames side by side, or -1."""

    def spread(self, means, roots):
        """
        Return for every column how well the dynamics are known: a relative sd [B].

        means [p, B]; roots [B, p, p]: of the parameters' covariance.
        """
