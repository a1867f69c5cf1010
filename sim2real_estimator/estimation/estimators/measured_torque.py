"""
The estimator of robots whose torques are measured: online least squares on inverse dynamics.

On a servo-driven robot the servo fixes the motion, and what the model lacks shows in the torque.
So the motion comes from encoders alone, inverse dynamics predicts the torques from it, and least
squares with learned noise gives the posterior. The problem is linear from the first sample on, so
there is no batch and there are no initial guesses. An update

1. takes the samples of a frame (`update`); once several blocks of time are complete
   (`_with_blocks`), it
2. smooths the motion of the joints, with learned noise and without outliers
   (`torque/joint_motion.py`),
3. makes rows of torques, and places the poses of motion capture on the motion
   (`torque/rows.py`),
4. adds the rows to the sums, without torques that are far off for a moment
   (`torque/outliers.py`),
5. computes the posterior (`_with_posterior`): elastic joints, coupled joints, the delay of
   torques (`torque/elasticity.py`, `coupling.py`, `delay.py`), kinematics from poses
   (`torque/poses.py`), least squares (`torque/regression.py`), drift (`torque/state.py`); then it
   reports what does not fit (`torque/state.py`, `torque/units.py`),
6. isolates the last change again by the rows since then (`_isolated_again`), and
7. searches for another change, the return to what was known before one included (`_searched`,
   `torque/changes.py`), and makes the prior of what follows (`_changed`).

The mass of a payload is the difference of the posterior from that of before the change:
`observability/payload.py`.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...reported_events import Explained, ExplainedInPart, Happened, kinds_of
from ..changes.isolation import EarlierModel
from ..protocol import Gaussian
from ..torque import poses as pose_regression
from ..torque.changes import find_changes, isolate, name_of_return, Onset, Snapshot, with_noisier
from ..torque.coupling import with_coupled_pairs
from ..torque.delay import with_delay
from ..torque.elasticity import Response, with_elastic_joints, with_samples
from ..torque.joint_motion import (
    followed_motion,
    MOST_SAMPLES,
    REMEMBERED_NS,
    with_learned_noise,
    without_outliers,
    without_spikes,
)
from ..torque.outliers import (
    Disruption,
    is_recent,
    left_out_torques,
    outliers_of,
    with_rows,
)
from ..torque.regression import begin, BLOCK_NS, Earlier, fit, Rows, Sums
from ..torque.rows import (
    are_valid_rows,
    new_rows,
    valid_reading,
    with_kinematics,
    with_placed_poses,
)
from ..torque.state import (
    are_well_known,
    Branch,
    branches_of,
    old_root,
    points_of,
    posterior_of,
    Report,
    restarted,
    TorqueState,
    with_drift,
    with_name_of_change,
    with_unexplained,
    with_weights,
    without_present,
)
from ..torque.units import with_misfit
from .base import AbstractEstimator

_SECOND = 10**9
# Rows are made so much later than their motion, from motion that is smoothed over a window that
# begins so much before them [ns]; so many blocks at a time.
_LAG_NS, _CONTEXT_NS, _AT_ONCE = 100_000_000, 200_000_000, 6
# The smoother needs so many samples after and before a block, at any rate of samples.
_LAG_SAMPLES, _CONTEXT_SAMPLES = 4, 8
# Torques are kept for so long after their motion was used: those that are early belong to later
# motion [ns].
_BEFORE_NS = 50_000_000
# Residuals of real arms are correlated over up to two seconds, which is judged by the rows of so
# much time [ns].
_CORRELATED_NS, _RECENT_NS = 2 * _SECOND, 30 * _SECOND
# How often the posterior is computed [ns].
_RENEWED_NS = _SECOND // 2
# Gauss-Newton steps of a fit: the first fits have no last one to begin from.
_FIRST_STEPS, _FIRST_RENEWALS = 3, 10
# How often changes are searched for [ns], and how long snapshots are kept for that [ns].
_SEARCHED_NS, _SNAPSHOTS_NS = 3 * _SECOND // 10, 83 * _SECOND // 10
# Seconds of rows before a change is searched for: after the beginning, any change; after a change,
# another payload (changes inside joints wait until the last one is isolated); and the return to
# what was known before it.
_KNOWN_AFTER, _KNOWN_AGAIN, _RETURNS_AFTER = 5.0, 3.0, 0.5
# Until so many seconds of rows a change waits for torques that are far off for a moment.
_WELL_KNOWN = 15.0
# A change is accepted that two searches in a row have found, or one with so large a log Bayes
# factor.
_CERTAIN = 60.0
# What was known before a change is what was known so long before its likeliest onset [ns]: when a
# UR10e picks up 2.8 kg the onset is found up to two seconds late. Steps in which it is found.
_WELL_BEFORE_NS, _ONSET_STEPS = 3 * _SECOND, 2
# Rows that the noise of before a change counts for after it.
_NOISE_ROWS = 100.0
# A change is isolated again until so many seconds of rows, whenever there are this part more and
# so many seconds more.
_ISOLATED_UNTIL, _ISOLATED_PART, _ISOLATED_EVERY = 10.0, 0.15, 0.25
# How many earlier_models of what was known before changes are kept.
_MOST_EARLIER = 3


@dataclass(frozen=True)
class MeasuredTorque(AbstractEstimator):
    """See the module. seed: unused, since nothing is drawn."""

    seed: int = 0

    name = 'measured_torque'

    def init(self, problem):
        """Return the state before any data."""
        model, count = problem.torque, len(problem.torque.joints)
        branch = Branch(problem.prior, begin(model, problem.prior))
        poses = problem.poses and pose_regression.begin(problem.poses, problem.prior)
        sums, elastic = Sums.none(count, len(model.names)), np.full(count, np.nan)
        motion = np.zeros(0, dtype=np.int64), np.zeros((0, len(model.encoder_sd)))
        return TorqueState(
            (branch,), sums, motion, poses=poses, response=Response(), elastic=elastic
        )

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        report = Report()
        reading, is_refused = valid_reading(problem.torque, problem.torque.read(frame))
        if is_refused:
            report.events += (Happened.UPDATE_REFUSED,)
        if frame.after_gap and len(state.motion[0]):
            # The samples left are used; the motion during the gap is unknown.
            state = self.interrupted(self._with_blocks(problem, state, None, report))
        state = _with_samples_of(problem, state, frame, reading)
        if len(state.motion[0]):
            newest_ns = int(state.motion[0][-1])
            if frame.is_last:
                state = self._with_blocks(problem, state, None, report)
            elif _is_due(state, newest_ns):
                state = self._with_blocks(problem, state, newest_ns, report)
        return state, report.of('filter' if state.renewals else 'batch')

    def interrupted(self, state):
        """Return the state without the samples of which no row was made yet."""
        none = tuple(part[:0] for part in state.motion)
        state = replace(state, motion=none, torques=(), until_ns=None)
        if state.poses:
            state = replace(state, poses=replace(state.poses, waiting=()))
        return state

    def kept_frames(self, state):
        """Return no frames: none is used again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state: it holds no frames."""
        return state

    def mixture(self, problem, state):
        """Return the posterior as a `Mixture`, a component for each possible cause."""
        return state.posterior or posterior_of(problem, state)

    def _with_blocks(self, problem, state, newest_ns, report):
        """
        Return the state with the rows of all complete blocks.

        newest_ns: stamp of the newest sample, if later ones may come, else None.
        """
        model = problem.torque
        # Motion: samples of the window without spikes, with the noise learned so far.
        state, window = _without_spikes_of_window(model, state)
        state = with_learned_noise(model, state, 1e-9 * _AT_ONCE * BLOCK_NS, report)
        until_ns = _end_of_blocks(state, newest_ns)
        if state.noise is None or len(state.motion[0]) < _LAG_SAMPLES + 2:
            state = with_placed_poses(problem.poses, state, until_ns)
            return _trimmed(state, until_ns)
        state, motion = _smoothed(model, state, window, until_ns)

        # Rows of torques; poses placed on the motion.
        rows = None
        if motion is not None:
            rows, samples = new_rows(model, state, motion, until_ns)
            state = with_samples(model, state, samples)
        state = with_placed_poses(problem.poses, state, until_ns, motion)
        state = _trimmed(state, until_ns)
        if rows is not None and not are_valid_rows(rows[0]):
            report.events += (Happened.UPDATE_REFUSED,)
            rows = None

        # Sums, posterior, changes.
        if rows is not None:
            cause = state.model_before_change
            state = _with_new_rows(model, state, rows, until_ns, report)
            # Rows far off for a moment are taken out again: until then the posterior waits. Soon
            # after a change they are rather far off what is not known well yet.
            is_known = state.onset is None or state.used >= _KNOWN_AGAIN
            if not (is_known and is_recent(state.disruption, until_ns)):
                state = self._with_posterior_if_due(problem, state, until_ns, report)
                if state.onset is not None:
                    state = self._isolated_again(problem, state, until_ns, report)
            state = _with_likelier_cause(state, cause, report)
            if state.searched_ns is None or until_ns - state.searched_ns >= _SEARCHED_NS:
                state = self._searched(problem, state, until_ns, report)
        elif state.poses and state.poses.seen > state.poses.fitted:
            state = self._with_posterior_if_due(problem, state, until_ns, report)
        if state.posterior is None:
            return replace(state, posterior=posterior_of(problem, state))
        points = points_of(problem, state, state.posterior.size)
        return replace(state, posterior=replace(state.posterior, points=points))

    # ---------------------------------------------------------------------- posterior

    def _with_posterior_if_due(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far, and what does not fit it."""
        if state.renewed_ns is None or now_ns - state.renewed_ns >= _RENEWED_NS:
            state = self._with_posterior(problem, state, now_ns, report)
            state = with_unexplained(problem.torque, state, report)
            return with_misfit(problem, state, report)
        return state

    def _with_posterior(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far."""
        model = problem.torque
        # What rows are made of: springs, motors, delays, lengths.
        state = with_elastic_joints(model, state, report)
        if state.is_undisturbed and state.recent and state.delay.is_due(state.used):
            recent = Rows.joined([rows for _, rows in state.recent])
            state = with_coupled_pairs(model, state, recent, report)
            state = with_delay(model, state, recent, report)
        if state.poses:
            state = with_kinematics(problem, state, now_ns, report)

        # Least squares for each possible cause of the last change.
        recent = Rows.none(*state.sums.cross.shape)
        if state.recent:
            recent = Rows.joined([rows for _, rows in state.recent])
        steps = _FIRST_STEPS if state.renewals < _FIRST_RENEWALS else 1
        lags, earlier, elastic = _CORRELATED_NS // BLOCK_NS, state.earlier, state.is_elastic
        branches, poses = [], state.poses
        for branch in state.branches:
            prior = branch.prior
            if poses and poses.renewals:
                prior = pose_regression.conditioned(prior, problem.poses.places, poses.fit)
            found = fit(
                *(model, prior, state.sums, recent, branch.fit, lags, earlier, steps, elastic)
            )
            branches.append(replace(branch, prior=prior, fit=found))
        if not all(np.isfinite(branch.fit.mean).all() for branch in branches):
            report.events += (Happened.UPDATE_REFUSED,)
            return replace(state, renewed_ns=now_ns)
        branches = with_weights(state.sums, branches)
        if not state.renewals:
            report.events += (Happened.FITTED,)
        renewals = state.renewals + 1
        state = replace(state, branches=branches, renewed_ns=now_ns, renewals=renewals)
        return replace(with_drift(model, state, problem.prior), posterior=None)

    # ------------------------------------------------------------------------ changes

    def _searched(self, problem, state, now_ns, report):
        """Return the state after a search for a change of the robot."""
        model, now = problem.torque, Snapshot(now_ns, state.sums, state.fit)
        state = replace(state, searched_ns=now_ns)
        kept = [s for s in state.snapshots if s.end_ns >= now_ns - _SNAPSHOTS_NS]
        jumps, seconds = model.model_changes(), _KNOWN_AFTER
        if state.model_before_change is not None:
            seconds = _RETURNS_AFTER
        if state.onset is not None:
            # A payload may soon be put down again. Changes inside joints are not searched for
            # until the last change is isolated: the robot is not known well enough.
            bodies = tuple(jump for jump in jumps if jump.body is not None)
            jumps = bodies if state.used >= _KNOWN_AGAIN else ()
        # Torques that are far off for a moment look like a change while little is known.
        is_early = state.model_before_change is None and state.used < _WELL_KNOWN
        is_open = is_early and state.disruption is not None
        if state.used >= seconds and kept and (jumps or state.earlier_models) and not is_open:
            root, is_known = partial(old_root, model), are_well_known(state)
            found = find_changes(model, kept, now, jumps, state.earlier_models, root, is_known)
            is_first = not state.is_change_pending
            state = replace(state, is_change_pending=bool(found.causes))
            # What no cause explains may be over soon, and then it was no change.
            may_end = bool(found.in_part) and is_recent(state.disruption, now_ns)
            is_sure = found.causes and (not is_first or found.causes[0].evidence >= _CERTAIN)
            if is_sure and not may_end:
                return self._changed(problem, state, found.causes, kept, report)
            state = with_noisier(model, state, found.noisier, report)
        return replace(state, snapshots=(*kept, now))

    def _changed(self, problem, state, causes, snapshots, report):
        """Return the state of a robot that has changed, by `Cause`s found from `Snapshot`s."""
        begun_ns = causes[0].since.end_ns
        earlier = [s for s in snapshots if s.end_ns <= begun_ns - _WELL_BEFORE_NS]
        origin, now_ns = (earlier or snapshots)[-1 if earlier else 0], state.recent[-1][0]
        recent = [each for each in state.recent if each[0] > origin.end_ns]
        before = sum(rows.count for end_ns, rows in recent if end_ns <= begun_ns)
        rows, visited = Rows.joined([rows for _, rows in recent]), None
        if state.visited:
            visited = np.concatenate(state.visited[-len(recent) :], 1)
        noise = origin.fit.noise.without(~are_well_known(state))
        known = replace(origin.fit, noise=noise)
        # The noise of joints may have changed as well: the former one counts for a while only.
        last, usual = state.model_before_change, noise.of_rigid(state.is_elastic)
        reached_by = None if last is None else last.left_by
        parameters = (causes[0].returns_to or causes[0].jump).parameters
        root = old_root(problem.torque, known)
        earlier = EarlierModel(causes[0].name, parameters, known.mean, root, reached_by=reached_by)
        state = replace(
            state.without_responses(),
            earlier=Earlier.of(origin.sums, usual, _NOISE_ROWS),
            used=0.0,
            is_change_pending=False,
            disruption=None,
            noisy_searches=(),
            earlier_models=(*state.earlier_models, earlier)[-_MOST_EARLIER:],
        )
        state = restarted(state, Onset(known, rows, now_ns, before, visited))
        state = replace(state, branches=branches_of(problem.torque, state, causes))
        # Posterior and onset in turn.
        for _ in range(_ONSET_STEPS):
            state = self._with_posterior(problem, state, now_ns, Report())
            state = restarted(state, state.onset.moved(state.fit))
        causes, _ = _isolated(problem.torque, state)
        state = replace(state, branches=branches_of(problem.torque, state, causes))
        state = self._with_posterior(problem, state, now_ns, Report())
        state = replace(
            state, earlier_models=with_name_of_change(state, state.model_before_change)
        )
        report.events += (Happened.CHANGED,)
        report.explain(state.branches[0])
        return state

    def _isolated_again(self, problem, state, now_ns, report):
        """Return the state with the causes of the last change by all rows since, if it is due."""
        onset = state.onset
        if state.used > _ISOLATED_UNTIL:
            return replace(state, onset=None, earlier_models=without_present(state))
        if state.used < onset.isolated_at * (1 + _ISOLATED_PART) + _ISOLATED_EVERY:
            return state
        # If torques were far off for a moment, and rows after that fit the robot of before better,
        # there was no change. Fewer rows do not tell: a small torque fits any gain.
        _, taken = outliers_of(problem.torque, Disruption(onset.known, 0), state.recent)
        if taken.any():
            later = state.recent[np.flatnonzero(taken.any(1))[-1] + 1 :]
            later = Rows.joined([rows for _, rows in later])
            if onset.for_change(state.fit, later).sum() < 0:
                return self._taken_back(problem, state, taken, report)

        # The onset may move, and with it the causes.
        moved = replace(onset.moved(state.fit), isolated_at=state.used)
        is_same = moved.before == onset.before
        state = replace(state, onset=moved) if is_same else restarted(state, moved)
        causes, left = _isolated(problem.torque, state)
        new = set(left) - set(onset.in_part) if state.used >= _KNOWN_AGAIN else set()
        report.events += tuple(ExplainedInPart(problem.torque.joints[k]) for k in sorted(new))
        in_part = tuple(sorted({*onset.in_part, *new}))
        state = replace(state, onset=replace(state.onset, in_part=in_part))
        names = {branch.before.name for branch in state.branches}
        if {cause.name for cause in causes} - names:
            # Snapshots hold fits under the former causes: no window may begin at one.
            branches = branches_of(problem.torque, state, causes)
            state = replace(state, branches=branches, snapshots=())
        return self._with_posterior(problem, state, now_ns, report)

    def _taken_back(self, problem, state, taken, report):
        """
        Return the state of a robot that has not changed: torques were far off for a moment.

        taken [N, J]: which of the newest rows were far off.
        """
        model, known, last = problem.torque, state.onset.known, state.model_before_change
        found, name = state.fit, name_of_return(last.name)
        prior = Gaussian(known.mean, old_root(model, known))
        root, back = old_root(model, found), known.mean
        earlier = EarlierModel(name, last.parameters, found.mean, root, returns_to=back)
        first = np.flatnonzero(taken.any(1))[-1] + 1
        recent, visited = state.recent[first:], state.visited[first:]
        sums = state.sums.of(rows for _, rows in recent)
        state = replace(
            state,
            branches=(Branch(prior, replace(known, root=prior.root), earlier),),
            sums=sums,
            recent=recent,
            visited=visited,
            earlier_models=tuple(m for m in state.earlier_models if m.mean is not known.mean),
            onset=None,
            snapshots=(),
        )
        report.events += (Happened.CHANGED,)
        report.explain(state.branches[0])
        report.events += left_out_torques(model, taken)
        return self._with_posterior(problem, state, state.renewed_ns, report)


# --------------------------------------------------------------------------- stages


def _with_samples_of(problem, state, frame, reading):
    """Return the state with the samples of a frame, of which a `Reading` are for torques."""
    if state.poses:
        poses = pose_regression.received(problem.poses, state.poses, frame)
        state = replace(state, poses=poses)
    motion, until_ns = state.motion, state.until_ns
    if reading.positions:
        motion = tuple(map(np.concatenate, zip(motion, zip(*reading.positions))))
    if len(motion[0]) and until_ns is None:
        until_ns = int(motion[0][0])
    torques = (*state.torques, *reading.torques)
    return replace(state, motion=motion, torques=torques, until_ns=until_ns)


def _is_due(state, newest_ns):
    """Tell whether enough samples have come for the next blocks."""
    due_ns = state.until_ns + _AT_ONCE * BLOCK_NS
    stamps = state.motion[0]
    if newest_ns - _LAG_NS < due_ns or len(stamps) <= _LAG_SAMPLES:
        return False
    return bool(stamps[-1 - _LAG_SAMPLES] >= due_ns)


def _without_spikes_of_window(model, state):
    """Return (state without spikes, slice of its samples to be smoothed)."""
    times, positions = state.motion
    first = min(
        np.searchsorted(times, state.until_ns - _CONTEXT_NS),
        max(np.searchsorted(times, state.until_ns) - _CONTEXT_SAMPLES, 0),
    )
    window = slice(first, len(times))
    # Older samples have been checked before.
    newest = without_spikes(positions[window], model.encoder_sd)
    positions = np.concatenate([positions[:first], newest])
    return replace(state, motion=(times, positions)), window


def _end_of_blocks(state, newest_ns):
    """Return the stamp at which the last complete block ends; newest_ns: as of `_with_blocks`."""
    if newest_ns is None:
        return int(state.motion[0][-1]) + 1
    whole = (newest_ns - _LAG_NS - state.until_ns) // BLOCK_NS
    return state.until_ns + int(whole) * BLOCK_NS


def _smoothed(model, state, window, until_ns):
    """
    Return (state with the newest place, motion of a window of samples, None where it is unknown).

    The motion: (stamps [N] ns, measured less smoothed positions [N, n], smoothed [3, N, n]).
    """
    times, positions = (part[window] for part in state.motion)
    seconds = 1e-9 * (times - times[0])
    motion, noise = followed_motion(seconds, positions, state.noise)
    if noise is not state.noise:
        state = replace(state, noise=noise, is_noise_outdated=True)
    motion, away, is_known = without_outliers(seconds, positions, motion, noise, model.encoder_sd)
    last = np.searchsorted(times, until_ns, side='right') - 1
    state = replace(state, place=(motion[0, last], motion[1, last]))
    return state, (times, away, motion) if is_known else None


def _trimmed(state, until_ns):
    """Return the state without samples that are no longer needed, up to a new end of blocks."""
    times = state.motion[0]
    first = min(
        np.searchsorted(times, until_ns - REMEMBERED_NS), max(len(times) - MOST_SAMPLES, 0)
    )
    least_ns = until_ns - _BEFORE_NS
    torques = tuple(entry for entry in state.torques if entry[0] >= least_ns)
    motion = tuple(part[first:] for part in state.motion)
    return replace(state, motion=motion, torques=torques, until_ns=until_ns)


def _with_new_rows(model, state, rows, until_ns, report):
    """
    Return the state with `Rows` in its sums, and among the newest ones.

    rows: (`Rows`, motion [3, K, n] at them).
    """
    rows, visited = rows
    least_ns = until_ns - _RECENT_NS
    recent = tuple(each for each in (*state.recent, (until_ns, rows)) if each[0] > least_ns)
    visited = (*state.visited, visited)[-len(recent) :]
    state = replace(state, visited=visited, recent=recent)
    used = state.used + 1e-9 * BLOCK_NS * float(rows.shares.max(1).sum())
    return replace(with_rows(model, state, rows, report), used=used)


def _with_likelier_cause(state, before, report):
    """Return the state with another cause of the last change reported; before: as it was."""
    is_reported = Explained in kinds_of(report.events)
    if before is not None and before.name != state.model_before_change.name and not is_reported:
        report.explain(state.branches[0])
        return replace(state, earlier_models=with_name_of_change(state, state.model_before_change))
    return state


def _isolated(model, state):
    """Return (`Cause`s of the last change, joints explained in part) by all rows since then."""
    onset = state.onset
    earlier_models = tuple(m for m in state.earlier_models if m.mean is not onset.known.mean)
    root = partial(old_root, model)
    return isolate(model, onset.known, state.sums, model.model_changes(), earlier_models, root)
