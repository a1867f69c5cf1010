"""The rows of the comparison, and what is noted of one run."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from . import arm, pendulum

ROBOTS = {'pendulum': pendulum, 'arm': arm}
_LATENCY = 0.010


@dataclass(frozen=True)
class Case:
    """
    One row: a recording, and what is assumed of it.

    robot: the module that describes it; damping: that is assumed, or begun with where
    frees_damping, as a part of the true one; clocks: numbers of the joints that each sensor sees,
    None: one sees all; late: the sensors whose stamps are late by latency [s], which is unknown
    where frees_delay and else assumed to be none; is_wrong: whether what is assumed is;
    draws_starts: whether what is searched is begun with anywhere; frees_state: whether the first
    state is an unknown of theirs, too, as it is always of ours: else it is given the true one.
    """

    title: str
    robot: ModuleType = pendulum
    seconds: float = 2.0
    damping: float = 1.0
    frees_damping: bool = False
    clocks: tuple | None = None
    late: tuple = ()
    latency: float = 0.0
    frees_delay: bool = False
    is_wrong: bool = False
    draws_starts: bool = False
    frees_state: bool = True

    @property
    def joints(self):
        """The names of the joints that each sensor sees, by its name."""
        names = self.robot.JOINTS
        clocks = self.clocks or (range(len(names)),)
        kind = self.robot.SENSOR
        return {f'{kind}{k}': [names[n] for n in seen] for k, seen in enumerate(clocks)}

    @property
    def late_sensors(self):
        """The names of the sensors whose stamps are late."""
        return tuple(list(self.joints)[k] for k in self.late)

    def unknowns(self, starts=None):
        """Return the `Unknown`s of the robot, those first of which errors are told."""
        return self.robot.unknowns(starts, self.damping, self.frees_damping)

    @property
    def truth(self):
        """The true values of what is free: `Unknown`s, then delays."""
        true = [unknown.true for unknown in self.unknowns()]
        return np.array([*true, *[self.latency] * self.frees_delay])

    def record(self, seed):
        """Return the `Recording` of a seed."""
        names = self.robot.JOINTS
        late = [names.index(joint) for name in self.late_sensors for joint in self.joints[name]]
        return self.robot.record(seed, self.seconds, late, self.latency)

    def starts(self, seed):
        """Return with what the first unknowns are begun, None: with what the description says."""
        return self.robot.starts(np.random.default_rng((*seed, 1))) if self.draws_starts else None


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


_WRONG, _FREE = {'damping': 2.0, 'is_wrong': True}, {'damping': 2.0, 'frees_damping': True}
_ONE_LATE = {'clocks': ((0, 2), (1,)), 'late': (1,), 'latency': _LATENCY}
_ALL_LATE = {'late': (0,), 'latency': _LATENCY}
CASES = (
    Case('2 s, model correct'),
    Case('... first state given to theirs', frees_state=False),
    Case('10 s, model correct', seconds=10.0),
    Case('lengths begun with anywhere', draws_starts=True),
    Case('damping wrong by 2, fixed', **_WRONG),
    Case('damping wrong by 2, free', **_FREE),
    Case('one of two cameras 10 ms late, fixed', **_ONE_LATE, is_wrong=True),
    Case('one of two cameras 10 ms late, free', **_ONE_LATE, frees_delay=True),
    Case('the only camera 10 ms late, fixed', **_ALL_LATE),
    Case('the only camera 10 ms late, free', **_ALL_LATE, frees_delay=True),
    Case('2 s, model correct', arm),
    Case('... first state given to theirs', arm, frees_state=False),
    Case('10 s, model correct', arm, seconds=10.0),
    Case('begun with anywhere', arm, draws_starts=True),
    Case('damping wrong by 2, fixed', arm, **_WRONG),
    Case('damping wrong by 2, free', arm, **_FREE),
    Case('encoders 10 ms late, fixed', arm, **_ALL_LATE, is_wrong=True),
    Case('encoders 10 ms late, free', arm, **_ALL_LATE, frees_delay=True),
)
