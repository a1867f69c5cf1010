"""The interface of an estimator."""

from abc import ABC, abstractmethod


class AbstractEstimator(ABC):
    """
    A pure function of state and frame: all that is carried on is in the state.

    States are frozen; the same frames, settings and seed give the same states, bit for bit.
    learns_noise: whether it can estimate how noisy sensors are.
    """

    name = ''
    learns_noise = False

    @abstractmethod
    def init(self, problem):
        """Return the state before any data."""

    @abstractmethod
    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""

    @abstractmethod
    def interrupted(self, state):
        """
        Return a state without the latest samples, with the knowledge of the parameters.

        An update with these samples has failed, and would fail again.
        """

    @abstractmethod
    def kept_frames(self, state):
        """Return the latest frames that a state keeps to process again."""

    @abstractmethod
    def with_frames(self, state, frames):
        """Return a state with these frames in place of those that it keeps."""

    def model_before_change(self, state):
        """Return the `EarlierModel` of the parameters before the last change, None without one."""
        return getattr(state, 'model_before_change', None)

    @abstractmethod
    def mixture(self, problem, state):
        """Return the posterior as a `Mixture`, in the problem's coordinates."""
