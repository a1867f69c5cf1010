"""The latest state of the worker, kept by the node for another worker to continue from."""

from array import array

from ...stream.plans import RecordedPlan


class Snapshot:
    """The content of the latest reply to `snapshot` requests, and the recorded plan of all."""

    def __init__(self):
        """Begin empty."""
        self._run, self._bounds, self._openings = None, array('q'), array('q')

    @property
    def known(self):
        """Numbers of bounds and openings of the recorded plan that are here."""
        return len(self._bounds), len(self._openings)

    def take(self, content):
        """Store the content of a reply to a request that named what was `known`."""
        self._run, bounds, openings = content
        self._bounds.frombytes(bounds)
        self._openings.frombytes(openings)

    def content(self):
        """Return (pickled run, plan) to continue from, None where there is no snapshot yet."""
        if self._run is None:
            return None
        plan = RecordedPlan(frozenset(self._bounds), frozenset(self._openings))
        # The next worker counts what it records from the plan on, each instant once.
        self._bounds = array('q', sorted(plan.bounds))
        self._openings = array('q', sorted(plan.openings))
        return self._run, plan
