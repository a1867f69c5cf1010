"""A pending change: from its detection until it is known what has changed, and how much."""

from dataclasses import dataclass, replace

from ...records import UpdateReport
from ...reported_events import Explained, Happened
from ..filter.gating import implausible_sensors
from ..mixture import Mixture
from .detection import DetectorState, has_passed
from .isolation import CarriedOn, Isolation, known_before

# Times since the detection at which the change is isolated [s]; the last time decides. As all
# horizons of isolation they are longer at low rates, see `has_passed`.
_ASKED = (0.12, 0.25, 0.5)
# Probability of a hypothesis that is accepted before that.
_SURE = 0.95
# Times at which it is asked whether the size of the change is known well enough for a filter [s];
# after the last it goes on in any case.
_AWAITED = (*_ASKED, 0.75, 1.0)
# Number of earlier parameter values that are remembered in case they come back.
_REMEMBERED = 3


@dataclass(frozen=True)
class PendingChange:
    """
    A filter that has stopped at a change, until it is known what has changed.

    recent: `RecentFrame`s up to the detection; frames: since then; known: the mixture before all
    of these; earlier_models: `EarlierModel`s of earlier changes; answer: what has changed, where
    that is known, but not yet precisely how much; begun_ns: as of the `FilterState`; noticed:
    state of the detector at the detection; is_reported: whether the change was reported, and is
    not suspected to be a faulty sensor's; wrong: as of the `FilterState`, until then;
    is_augmented: as of it.
    """

    recent: tuple
    frames: tuple
    known: Mixture
    earlier_models: tuple = ()
    answer: CarriedOn | None = None
    begun_ns: int | None = None
    noticed: DetectorState = DetectorState()
    is_reported: bool = True
    wrong: tuple = ()
    is_augmented: bool = False

    @property
    def mixture(self):
        """The latest mixture: after the change where that is isolated, else before it."""
        return self.known if self.answer is None else self.answer.mixture

    @property
    def model_before_change(self):
        """The `EarlierModel` that the change has ended, None while it is not isolated."""
        if self.answer is None or self.answer.isolated.is_nothing:
            return None
        return known_before(self.recent, self.answer.isolated)


def pending_change(recent, earlier_models, begun_ns, noticed):
    """Return the state of a filter that has detected a change in the last frames."""
    return PendingChange(recent, (), recent[0].mixture, earlier_models, None, begun_ns, noticed)


def resolve(problem, state, frame, noise, drift, bank, is_narrow):
    """
    Return (state, mixture now or None, `EarlierModel`s, `UpdateReport`) after one more frame.

    While the change is pending there is a state. Then there is a mixture with which to go on, or
    neither, where nothing that was known is of use. If the state of the robot is unknown because
    of faulty sensors, the report has the event MOTION_LOST. bank: of `Disturbance`s; is_narrow:
    tells whether a filter may go on with a mixture.
    """
    state = replace(state, frames=(*state.frames, frame))
    passed = _times_passed(state, state.frames)
    if passed == _times_passed(state, state.frames[:-1]):
        return state, None, state.earlier_models, UpdateReport('batch')
    isolation = Isolation(problem, state.recent, state.frames, noise, drift)
    answer, is_final = _answered(isolation, state, bank)
    if answer is None and is_final:
        # If it was a faulty sensor, the parameters known before are still of use.
        frames = [*(each.frame for each in state.recent), *state.frames]
        if implausible_sensors(problem, state.known, frames):
            report = UpdateReport('batch', events=(Happened.MOTION_LOST,))
            return None, state.known, state.earlier_models, report
        return None, None, (), UpdateReport('batch', events=(Happened.FORGOTTEN,))
    if answer is None or not (passed == len(_AWAITED) or is_narrow(answer.mixture)):
        state = replace(state, answer=answer)
        report = UpdateReport('batch', events=(Happened.FITTED,))
        return state, None, state.earlier_models, report
    return None, answer.mixture, *_reported(isolation, answer.isolated, state.earlier_models)


def _times_passed(state, frames):
    """Return how many of the times of `_AWAITED` have passed with frames since the detection."""
    if not frames:
        return 0
    stamps = state.recent[-1].frame.end_ns, frames[-1].end_ns
    return sum(has_passed(seconds, *stamps, len(frames)) for seconds in _AWAITED)


def _answered(isolation, state, bank):
    """Return (`CarriedOn` or None, whether that is final)."""
    if state.answer is not None:
        answer = isolation.carried_on(state.answer.isolated, bank, state.answer)
        if answer is not None:
            return answer, True
    found = isolation.explain(state.earlier_models, bank)
    is_last = _times_passed(state, state.frames) >= len(_ASKED)
    is_sure = found.fits and found.probability > _SURE and not found.is_everything
    if not (is_last or is_sure):
        # Until the last attempt nothing that was known is discarded.
        return None, False
    if found.is_everything or not found.fits:
        return None, True
    return isolation.carried_on(found, bank), is_last


def _reported(isolation, isolated, earlier_models):
    """Return (`EarlierModel`s, `UpdateReport`) of the change with which the filter goes on."""
    chosen = isolated.hypothesis
    if not isolated.is_nothing:
        known = known_before(isolation.recent, isolated)
        others = (each for each in earlier_models if each is not chosen.earlier)
        earlier_models = (*others, known)[-_REMEMBERED:]
    event = Explained(chosen.name, float(isolated.probability))
    return earlier_models, UpdateReport('batch', events=(event,), changed=chosen.parameters)
