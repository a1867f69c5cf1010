"""The rows of the comparison, and what is noted of one run."""

from dataclasses import dataclass

import numpy as np

from . import pendulum

_WRONG_DAMPING, _LATENCY = 2 * pendulum.DAMPING, 0.010
# Lengths are begun with anywhere in here where starts are random [m].
_STARTS = (0.08, 0.55)


@dataclass(frozen=True)
class Case:
    """
    One row: a recording, and what is assumed of it.

    damping [N m s]: that is assumed, or begun with where frees_damping; clocks: numbers of the
    joints that each camera sees; late: the cameras whose stamps are late by latency [s], which is
    unknown where frees_delay and else assumed to be none; is_wrong: whether what is assumed is;
    draws_starts: whether lengths are begun with anywhere; frees_state: whether the first state is
    an unknown of theirs, too, as it is always of ours.
    """

    title: str
    seconds: float = 2.0
    damping: float = pendulum.DAMPING
    frees_damping: bool = False
    clocks: tuple = ((0, 1, 2),)
    late: tuple = ()
    latency: float = 0.0
    frees_delay: bool = False
    is_wrong: bool = False
    draws_starts: bool = False
    frees_state: bool = False

    @property
    def cameras(self):
        """The names of the cameras."""
        return tuple(f'camera{k}' for k in range(len(self.clocks)))

    @property
    def truth(self):
        """The true values of what is free, lengths first."""
        dampings = [pendulum.DAMPING] * (3 * self.frees_damping)
        return np.array([*pendulum.LENGTHS, *dampings, *[self.latency] * self.frees_delay])

    def record(self, seed):
        """Return the `Recording` of a seed."""
        late = [joint for camera in self.late for joint in self.clocks[camera]]
        return pendulum.record(seed, self.seconds, late, self.latency)

    def starts(self, seed):
        """Return what lengths are begun with [m], three numbers."""
        if not self.draws_starts:
            return (pendulum.NOMINAL,) * 3
        return tuple(np.random.default_rng((*seed, 1)).uniform(*_STARTS, 3).tolist())


@dataclass(frozen=True)
class Outcome:
    """
    What a tool made of a recording; all but the last three [n], of what is free.

    half: of the interval of 95 %; inside90, inside95: whether that of 90 or 95 % holds the truth;
    used: processor time [s]; flags: how the tool said that something does not fit; failure: why
    there is no answer, empty where there is one.
    """

    error: np.ndarray
    half: np.ndarray
    inside90: np.ndarray
    inside95: np.ndarray
    used: float
    flags: tuple = ()
    failure: str = ''

    @staticmethod
    def failed(case, used, failure):
        """Return the outcome of a run that ended in an error."""
        count = len(case.truth)
        nothing, outside = np.full(count, np.nan), np.zeros(count, dtype=bool)
        return Outcome(nothing, nothing, outside, outside, used, failure=failure)


_ONE_LATE = {'clocks': ((0, 2), (1,)), 'late': (1,), 'latency': _LATENCY}
_ALL_LATE = {'late': (0,), 'latency': _LATENCY}
CASES = (
    Case('2 s, model correct'),
    Case('... first state unknown to both', frees_state=True),
    Case('10 s, model correct', seconds=10.0),
    Case('lengths begun with anywhere', draws_starts=True),
    Case('damping wrong by 2, fixed', damping=_WRONG_DAMPING, is_wrong=True),
    Case('damping wrong by 2, free', damping=_WRONG_DAMPING, frees_damping=True),
    Case('one of two cameras 10 ms late, fixed', **_ONE_LATE, is_wrong=True),
    Case('one of two cameras 10 ms late, free', **_ONE_LATE, frees_delay=True),
    Case('the only camera 10 ms late, fixed', **_ALL_LATE),
    Case('the only camera 10 ms late, free', **_ALL_LATE, frees_delay=True),
)
