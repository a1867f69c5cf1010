"""What a worker knew when it was asked last, kept by the node for the one after it."""

from array import array

from ...stream.plans import RecordedPlan


class Snapshot:
    """The latest reply to the request for it, and the plan that came with all of them."""

    def __init__(self):
        """Begin with nothing known."""
        self._run, self._bounds, self._openings = None, array('q'), array('q')

    @property
    def known(self):
        """How many bounds and openings of the recorded plan are here."""
        return len(self._bounds), len(self._openings)

    def take(self, content):
        """Take the content of a reply to a request that said what was `known`."""
        self._run, bounds, openings = content
        self._bounds.frombytes(bounds)
        self._openings.frombytes(openings)

    def content(self):
        """Return what the next worker begins with, None where there is nothing yet."""
        if self._run is None:
            return None
        plan = RecordedPlan(frozenset(self._bounds), frozenset(self._openings))
        # It counts what it records from there on, each instant once.
        self._bounds = array('q', sorted(plan.bounds))
        self._openings = array('q', sorted(plan.openings))
        return self._run, plan
