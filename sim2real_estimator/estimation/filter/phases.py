"""
The phases of the calibrated estimator: what each of them carries on, and what handles it.

A batch is fitted again and again while it grows, a filter takes over, and stops at a pending
change. Every phase has a state, which is all that is carried on, and one handler, an
`AbstractPhase`. A state also says of which problem it is: where values that are held fixed are
wrong, they are among the unknowns (`is_augmented`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ..batch.fit import Fits, Window
from ..changes.detection import DetectorState
from ..mixture import Mixture
from .smoother import Trajectories
from .update import FixedLagWindow


@dataclass(frozen=True)
class BatchState:
    """
    The frames so far, the last fits of them, and the frame count of the next fit.

    knowledge: the posterior of the parameters before the first of these frames, where the motion
    was interrupted; None: the prior; trajectories: of the mixture, where all states were unknowns;
    is_astray: whether these did not fit the frames; wrong: `faulty_samples.sample_key`s that are
    left out; share: effective share of the mixture of the last fit that was narrow; begun_ns:
    stamp of the first frame that knowledge comes from; tries: how often frames did not fit what
    was known before them; is_augmented: whether all this is of the augmented problem.
    """

    frames: tuple = ()
    fits: Fits | None = None
    window: Window | None = None
    due: int = 0
    mixture: Mixture | None = None
    knowledge: Mixture | None = None
    share: float = 0.0
    trajectories: Trajectories | None = None
    is_astray: bool = False
    wrong: tuple = ()
    begun_ns: int | None = None
    tries: int = 0
    is_augmented: bool = False

    def emptied(self):
        """Return the state without its frames."""
        kept = {'mixture': self.mixture, 'knowledge': self.knowledge, 'tries': self.tries}
        return BatchState(begun_ns=self.begun_ns, **kept)

    @staticmethod
    def resuming(mixture, begun_ns):
        """Return a batch that knows the parameters of a mixture, and nothing of the motion."""
        return BatchState(mixture=mixture, knowledge=mixture, begun_ns=begun_ns)


@dataclass(frozen=True)
class FilterState:
    """
    The mixture at the end of the last frame.

    detection: of the change detector; share: effective share of the batch's mixture when the
    filter took over; begun_ns, end_ns: stamps of the first frame that the mixture comes from and
    of the end of the last, None where unknown; lag: window of a fixed-lag smoother, None of a
    filter; recent, earlier_models: `RecentFrame`s of the last frames and `EarlierModel`s of
    earlier changes; wrong: `FaultySensor`s; is_augmented: whether all this is of the augmented
    problem.
    """

    mixture: Mixture
    detection: DetectorState = DetectorState()
    share: float = 1.0
    begun_ns: int | None = None
    end_ns: int | None = None
    lag: FixedLagWindow | None = None
    recent: tuple = ()
    earlier_models: tuple = ()
    wrong: tuple = ()
    is_augmented: bool = False

    @property
    def model_before_change(self):
        """The `EarlierModel` that the last change has ended, None where there was none."""
        return self.earlier_models[-1] if self.earlier_models else None

    def after(self, outcome, end_ns):
        """Return the state after the `FrameOutcome` of frames up to a stamp."""
        return replace(
            self,
            mixture=outcome.step.mixture,
            detection=outcome.detection,
            end_ns=end_ns,
            lag=outcome.step.lag,
            recent=outcome.recent,
            wrong=outcome.faulty,
        )


@dataclass(frozen=True)
class AbstractPhase(ABC):
    """The handler of a phase; settings: the estimator, of which it is a part."""

    settings: object

    @abstractmethod
    def update(self, problem, state, frame):
        """Return (state, of this or another phase, `UpdateReport`) after one more frame."""

    def interrupted(self, state):
        """Return a batch that knows the parameters: as after a gap, the state is unknown."""
        return BatchState.resuming(state.mixture, state.begun_ns)

    def kept_frames(self, state):
        """Return the frames that are still to be fitted again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state with these frames instead."""
        return state

    def mixture(self, problem, state):
        """
        Return the posterior; before the first fit, the prior at the neutral state.

        It is wider than the mixture of the filter: disturbances leave an uncertainty of parameters
        that no length of observation removes (`lasting_root`).
        """
        if state.mixture is not None:
            if not state.mixture.disturbances.sizes.any():
                return state.mixture
            return replace(state.mixture, lasting=problem.lasting_root)
        size, prior = problem.tangent_size, problem.prior
        root = np.zeros((1, size + len(prior.mean), size + len(prior.mean)))
        root[0, size:, size:] = prior.root
        neutral, mean = problem.neutral[:, None], prior.mean[:, None]
        return Mixture(np.zeros(1), neutral, mean, root, noises=problem.noise_prior)
