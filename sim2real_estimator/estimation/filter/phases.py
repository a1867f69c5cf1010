"""What the calibrated estimator knows in its two phases: fits of a batch, then a filter."""

from dataclasses import dataclass

from ..batch.fit import Fits, Window
from ..changes.detection import ChangeMemory
from ..mixture import Mixture
from .fixed_lag import Lag
from .settling import Trajectories


@dataclass(frozen=True)
class BatchState:
    """
    The frames so far, the last fits of them, and the frame count of the next.

    knowledge: what was known of the parameters before the first of these frames, where the
    motion was lost sight of; None: the prior; trajectories: of the mixture, where all states were
    free; is_astray: whether these did not fit the frames; wrong: what samples are known by, as of
    `wrong_sensors.sample_key`, that belong to nothing else;
    share: how well the mixture of the last fit that was narrow stood for the posterior; begun_ns:
    stamp of the first frame that knowledge comes from; tries: how often frames did not fit what
    was known before them.
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

    def emptied(self):
        """Return this without its frames."""
        kept = {'mixture': self.mixture, 'knowledge': self.knowledge, 'tries': self.tries}
        return BatchState(begun_ns=self.begun_ns, **kept)


@dataclass(frozen=True)
class AugmentedState:
    """The state of the estimator on the augmented problem, of a model that is misspecified."""

    state: object


@dataclass(frozen=True)
class FilterState:
    """
    The mixture at the end of the last frame.

    memory: of the change detector; share: how well the batch's mixture stood for the posterior
    when the filter took over; begun_ns, end_ns: stamps of the first frame that it comes from and
    of that end, None where unknown; past, memories: `Past`s of the last frames and `Memory`s of
    what was known before changes; wrong: `Wrong` sensors.
    """

    mixture: Mixture
    memory: ChangeMemory = ChangeMemory()
    share: float = 1.0
    begun_ns: int | None = None
    end_ns: int | None = None
    lag: Lag | None = None
    past: tuple = ()
    memories: tuple = ()
    wrong: tuple = ()

    @property
    def last_change(self):
        """The `Memory` of what was known before the last change, None where there was none."""
        return self.memories[-1] if self.memories else None
