"""A pending change: from its detection until it is known what has changed, and how much."""

from dataclasses import dataclass, replace

from ...records import UpdateReport
from ...reported_events import Explained, Happened
from ..filter.gating import implausible_sensors
from ..mixture import Mixture
from .detection import ChangeMemory
from .isolation import CarriedOn, Isolation, known_before

# Numbers of frames since the detection at which the change is isolated; the last time decides.
_ASKED = (12, 25, 50)
# Probability of a hypothesis that is accepted before that.
_SURE = 0.95
# Numbers of frames at which it is asked whether the size of the change is known well enough for a
# filter; after the last it goes on in any case.
_AWAITED = (*_ASKED, 75, 100)
# Number of earlier parameter values that are remembered in case they come back.
_REMEMBERED = 3


@dataclass(frozen=True)
class PendingChange:
    """
    A filter that has stopped at a change, until it is known what has changed.

    past: `Past`s up to the detection; frames: since then; known: the mixture before all of these;
    memories: `Memory`s of earlier changes; answer: what has changed, where that is known, but not
    yet precisely how much; begun_ns: as of the `FilterState`; noticed: memory of the detector at
    the detection; is_reported: whether the change was reported, and is not suspected to be a
    faulty sensor's; wrong: as of the `FilterState`, until then; is_augmented: as of it.
    """

    past: tuple
    frames: tuple
    known: Mixture
    memories: tuple = ()
    answer: CarriedOn | None = None
    begun_ns: int | None = None
    noticed: ChangeMemory = ChangeMemory()
    is_reported: bool = True
    wrong: tuple = ()
    is_augmented: bool = False

    @property
    def mixture(self):
        """The latest mixture: after the change where that is isolated, else before it."""
        return self.known if self.answer is None else self.answer.mixture

    @property
    def last_change(self):
        """The `Memory` of the parameters before the change, None while it is not isolated."""
        if self.answer is None or self.answer.isolated.is_nothing:
            return None
        return known_before(self.past, self.answer.isolated)


def pending_change(past, memories, begun_ns, noticed):
    """Return the state of a filter that has detected a change in the last frames."""
    return PendingChange(past, (), past[0].mixture, memories, None, begun_ns, noticed)


def resolve(problem, state, frame, noise, drift, scales, is_narrow):
    """
    Return (state, mixture now or None, memories, `UpdateReport`) after one more frame.

    While the change is pending there is a state. Then there is a mixture with which to go on, or
    neither, where nothing that was known is of use. If the state of the robot is unknown because
    of faulty sensors, the report has the event MOTION_LOST. scales: of disturbances; is_narrow:
    tells whether a filter may go on with a mixture.
    """
    state = replace(state, frames=(*state.frames, frame))
    count = len(state.frames)
    if count not in _AWAITED:
        return state, None, state.memories, UpdateReport('batch')
    isolation = Isolation(problem, state.past, state.frames, noise, drift)
    answer, is_final = _answered(isolation, state, scales)
    if answer is None and is_final:
        # If it was a faulty sensor, the parameters known before are still of use.
        frames = [*(each.frame for each in state.past), *state.frames]
        if implausible_sensors(problem, state.known, frames):
            report = UpdateReport('batch', events=(Happened.MOTION_LOST,))
            return None, state.known, state.memories, report
        return None, None, (), UpdateReport('batch', events=(Happened.FORGOTTEN,))
    if answer is None or not (count == _AWAITED[-1] or is_narrow(answer.mixture)):
        state = replace(state, answer=answer)
        return state, None, state.memories, UpdateReport('batch', events=(Happened.FITTED,))
    return None, answer.mixture, *_reported(isolation, answer.isolated, state.memories)


def _answered(isolation, state, scales):
    """Return (`CarriedOn` or None, whether that is final)."""
    if state.answer is not None:
        answer = isolation.carried_on(state.answer.isolated, scales, state.answer)
        if answer is not None:
            return answer, True
    found, is_last = isolation.explain(state.memories, scales), len(state.frames) >= _ASKED[-1]
    is_sure = found.fits and found.probability > _SURE and not found.is_everything
    if not (is_last or is_sure):
        # Until the last attempt nothing that was known is discarded.
        return None, False
    if found.is_everything or not found.fits:
        return None, True
    return isolation.carried_on(found, scales), is_last


def _reported(isolation, isolated, memories):
    """Return (memories, `UpdateReport`) of the change with which the filter goes on."""
    chosen = isolated.hypothesis
    if not isolated.is_nothing:
        known = known_before(isolation.past, isolated)
        memories = (*(m for m in memories if m is not chosen.memory), known)[-_REMEMBERED:]
    event = Explained(chosen.name, float(isolated.probability))
    return memories, UpdateReport('batch', events=(event,), changed=chosen.parameters)
