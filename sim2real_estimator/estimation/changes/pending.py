"""From the moment at which a change is noticed to that at which it is explained."""

from dataclasses import dataclass, replace

import numpy as np

from ...records import UpdateReport
from ..mixture import Mixture
from .detection import ChangeMemory
from .isolation import CarriedOn, Isolation, known_before, Past
from .wrong_sensors import off_sensors

# What is reported where sensors were wrong for so long that nobody knows where the robot is.
MOTION_LOST = 'motion lost'
# After so many frames it is asked what has changed, for the last time after the last of these.
_ASKED = (12, 25, 50)
# An answer of this probability is taken before that.
_SURE = 0.95
# After these it is looked whether it is known by now how much, and no longer waited for after the
# last.
_AWAITED = (*_ASKED, 75, 100)
# So many frames before it was noticed a change may have been: a small one is noticed late. What
# was known is kept for each of the last few, then for one in so many.
_REACH, _DENSE, _STRIDE = 64, 8, 8
_NOTABLE = 0.01
# So many states of the robot are remembered in case one of them comes back.
_REMEMBERED = 3


@dataclass(frozen=True)
class PendingChange:
    """
    A filter that has stopped at a change, until it is known what has changed.

    past: `Past`s up to the frame at which it was noticed; frames: since then; known: the mixture
    before all of these; memories: `Memory`s of what was known before earlier changes; answer:
    the last, where it was found what has changed, but not yet well how much; begun_ns: as of the
    `FilterState`; noticed: the memory of the detector then; is_told: whether it is told by now
    that something has changed; wrong: as of the `FilterState`, until then.
    """

    past: tuple
    frames: tuple
    known: Mixture
    memories: tuple = ()
    answer: CarriedOn | None = None
    begun_ns: int | None = None
    noticed: ChangeMemory = ChangeMemory()
    is_told: bool = True
    wrong: tuple = ()

    @property
    def mixture(self):
        """What is known now, as far as it is known what has changed."""
        return self.known if self.answer is None else self.answer.mixture

    @property
    def last_change(self):
        """The `Memory` of what was known before the change, None while it is not explained."""
        if self.answer is None or self.answer.isolated.is_nothing:
            return None
        return known_before(self.past, self.answer.isolated)


def remembered(past, frame, mixture, log_evidence):
    """Return the last `Past`s with one more frame, known by a mixture before it."""
    past = [*past, Past(frame, _notable(mixture), log_evidence)]
    fading = len(past) - 1 - _DENSE
    if fading > 0 and any(past[k].mixture for k in range(max(fading - _STRIDE + 1, 0), fading)):
        past[fading] = replace(past[fading], mixture=None)
    if len(past) > _REACH:
        kept = [k for k, each in enumerate(past) if k and each.mixture is not None]
        past = past[kept[0] :]
    return tuple(past)


def _notable(mixture):
    """Return a mixture of the components that somebody would miss."""
    if mixture.size == 1:
        return mixture
    return mixture.pick(np.flatnonzero(mixture.log_weights > np.log(_NOTABLE)))


def pending_change(past, memories, begun_ns, noticed):
    """Return the state of a filter that has noticed a change in the last frames."""
    return PendingChange(past, (), past[0].mixture, memories, None, begun_ns, noticed)


def resolve(problem, state, frame, noise, drift, scales, is_narrow):
    """
    Return (state, mixture now or None, memories, `UpdateReport`) after one more frame.

    While it is not known what has changed, or not how much, there is a state; then there is a
    mixture with which to go on, or neither where nothing that was known is of use. Where it is
    the motion that has been lost, and nothing is known to have changed, the report has
    `MOTION_LOST` among its events. scales: of
    disturbances; is_narrow: tells whether a filter may go on with a mixture.
    """
    state = replace(state, frames=(*state.frames, frame))
    count = len(state.frames)
    if count not in _AWAITED:
        return state, None, state.memories, UpdateReport('batch')
    isolation = Isolation(problem, state.past, state.frames, noise, drift)
    answer, is_final = _answered(isolation, state, scales)
    if answer is None and is_final:
        # No robot moves as a sensor says that is wrong; what is known of this one may be of use.
        off = off_sensors(problem, state.known, [*(p.frame for p in state.past), *state.frames])
        if off:
            return None, state.known, state.memories, UpdateReport('batch', events=(MOTION_LOST,))
        return None, None, (), UpdateReport('batch', events=('forgotten',))
    if answer is None or not (count == _AWAITED[-1] or is_narrow(answer.mixture)):
        state = replace(state, answer=answer)
        return state, None, state.memories, UpdateReport('batch', events=('fitted',))
    return None, answer.mixture, *_told(isolation, answer.isolated, state.memories)


def _answered(isolation, state, scales):
    """Return (what is `CarriedOn` by an answer, None where there is none; whether it is final)."""
    if state.answer is not None:
        answer = isolation.carried_on(state.answer.isolated, scales, state.answer)
        if answer is not None:
            return answer, True
    found, is_last = isolation.explain(state.memories, scales), len(state.frames) >= _ASKED[-1]
    is_sure = found.fits and found.probability > _SURE and not found.is_everything
    if not (is_last or is_sure):
        # What was known is not given up before the last time of asking.
        return None, False
    if found.is_everything or not found.fits:
        return None, True
    return isolation.carried_on(found, scales), is_last


def _told(isolation, isolated, memories):
    """Return (memories, `UpdateReport`) of an isolated by which the filter goes on."""
    chosen = isolated.hypothesis
    if not isolated.is_nothing:
        known = known_before(isolation.past, isolated)
        memories = (*(m for m in memories if m is not chosen.memory), known)[-_REMEMBERED:]
    cause = f'cause: {chosen.name} ({isolated.probability:.2f})'
    events = ('explained', cause)
    return memories, UpdateReport('batch', events=events, changed=chosen.parameters)
