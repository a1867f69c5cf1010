"""From the moment at which a change is noticed to that at which it is explained."""

from dataclasses import dataclass, replace

import numpy as np

from ..records import UpdateReport
from .explaining import carried_on, explain, Past
from .mixture import Mixture

# After so many frames it is asked what has changed; the last answer is final.
_LOOKS = (12, 25, 50)
# An answer of this probability is taken before that.
_SURE = 0.95
# So many frames before it was noticed a change may have been: a small one is noticed late. What
# was known is kept for each of the last few, then for one in so many.
_REACH, _DENSE, _STRIDE = 64, 8, 8
_NOTABLE = 0.01
# So many states of the robot are remembered in case one of them comes back.
_REMEMBERED = 3


@dataclass(frozen=True)
class SuspectState:
    """
    A filter that has stopped at a change, until it is known what has changed.

    past: `Past`s up to the frame at which it was noticed; frames: since then; mixture: known
    before all of these; memories: `Memory`s of what was known before earlier changes.
    """

    past: tuple
    frames: tuple
    mixture: Mixture
    memories: tuple = ()


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


def suspect(past, memories):
    """Return the state of a filter that has noticed a change in the last frames."""
    return SuspectState(past, (), past[0].mixture, memories)


def look_into(problem, state, frame, noise, drift, scales):
    """
    Return (state, mixture now or None, memories, `UpdateReport`) after one more frame.

    While it is not known what has changed there is a state; then there is a mixture with which
    to go on, or neither where nothing that was known is of use. scales: of disturbances.
    """
    state = replace(state, frames=(*state.frames, frame))
    count = len(state.frames)
    if count not in _LOOKS:
        return state, None, state.memories, UpdateReport('batch')
    given = problem, state.past, state.frames, noise, drift
    found = explain(*given, state.memories, scales)
    is_final = count == _LOOKS[-1]
    if not is_final and not (found.fits and found.probability > _SURE):
        return state, None, state.memories, UpdateReport('batch', events=('fitted',))
    mixture = None
    if found.fits and not found.is_everything:
        mixture, memory = carried_on(*given, found, scales)
    if mixture is None:
        return None, None, (), UpdateReport('batch', events=('forgotten',))
    cause, memories = f'cause: {found.name} ({found.probability:.2f})', state.memories
    if not found.is_nothing:
        memories = (*(m for m in memories if m is not found.memory), memory)[-_REMEMBERED:]
    return (
        None,
        mixture,
        memories,
        UpdateReport('batch', events=('explained', cause), changed=found.parameters),
    )
