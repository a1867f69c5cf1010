"""What an estimator must offer."""

from abc import ABC, abstractmethod


class AbstractEstimator(ABC):
    """
    A pure function of state and frame: what must be carried on is in the state, nothing else.

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
        Return a state that lets go of the latest samples, and knows what it knew of parameters.

        With these samples an update has failed, and it would again.
        """

    @abstractmethod
    def kept_frames(self, state):
        """Return the latest frames that a state still holds to look at again."""

    @abstractmethod
    def with_frames(self, state, frames):
        """Return a state with the frames that it holds cut anew."""

    def last_change(self, state):
        """Return the `Memory` of what was known before the last change, None without one."""
        return getattr(state, 'last_change', None)

    @abstractmethod
    def mixture(self, problem, state):
        """Return the posterior as a `Mixture`, in the problem's coordinates."""
