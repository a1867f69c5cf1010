"""
The estimator of robots whose torques are measured: online least squares on inverse dynamics.

On a servo-driven robot the servo fixes the motion, and what the model lacks shows in the torque.
So motion comes from encoders alone (`inference.motion`), inverse dynamics predicts the torques
from it, and least squares with learned noise (`inference.torque_regression`) gives the posterior.
It is linear from the first sample on: there is no batch, no start to choose and nothing to hand
over.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...records import Status, UpdateReport
from ..changes.isolation import Memory
from ..misfits import FITS
from ..protocol import Gaussian
from ..torque import poses as pose_regression
from ..torque.changes import ask_again, look, Onset, returned, Snapshot
from ..torque.coupling import coupled_pairs
from ..torque.delay import delayed, estimate, late_torques, torques_at
from ..torque.elasticity import Response
from ..torque.joint_motion import without_spikes
from ..torque.misfit import look as look_for_misfit
from ..torque.misfit import words_of
from ..torque.outliers import are_far_off, Disruption, judge, without
from ..torque.poses import QUESTIONED
from ..torque.regression import begin, Earlier, fit, Rows, ROWS_TO_JUDGE, Sums, with_columns
from ..torque.rows import (
    BLOCK_NS,
    followed_motion,
    have_moved,
    is_alike_jitter,
    learned_noise,
    MOST_SAMPLES,
    motion_at,
    rows_between,
    sound_reading,
    sound_rows,
    without_outliers,
)
from ..torque.state import (
    answers,
    are_known,
    begun_anew,
    believed,
    Branch,
    drifted,
    jumped,
    points_of,
    posterior_of,
    renamed,
    told_apart,
    TorqueState,
    weighed,
)
from .base import AbstractEstimator

_SECOND = 10**9
# Rows are made this much later, from motion smoothed over a window that begins so much before;
# several at a time.
_LAG_NS, _CONTEXT_NS, _AT_ONCE = 100_000_000, 200_000_000, 6
# Residuals of real arms hang together over up to two seconds.
_CORRELATED_NS = 2_000_000_000
# The smoother needs so many samples beside a block, whatever their rate.
_LAG_SAMPLES, _CONTEXT_SAMPLES = 4, 8
# What is kept of the past to learn how joints move [ns], or `MOST_SAMPLES` if that is longer.
_REMEMBERED_NS = 4 * _SECOND
# Seconds of motion after which noise is learned (anew), and how often later on.
_LEARNED_AT, _LEARNED_EVERY, _LEARNED_AGAIN = (0.3, 0.6, 1.0, 2.0, 5.0), 10.0, 1.0
_JITTER_LEARNED_EVERY = 5.0
# How often the posterior is worked out [ns], and over how much time of rows correlation is judged.
_RENEWED_NS, _RECENT_NS = _SECOND // 2, 30 * _SECOND
# Steps of a fit: it goes on from the last one, which the first do not have.
_FIRST_STEPS, _FIRST_RENEWALS = 3, 10
# How often changes are looked for [ns], over how much time of snapshots [ns], and after how many
# seconds of motion: since the beginning, and since the last change, other ones and its end. Before
# the robot is well known after so many, it is waited for whether torques are off for a moment.
_LOOKED_NS, _SNAPSHOTS_NS = 3 * _SECOND // 10, 83 * _SECOND // 10
_KNOWN_AFTER, _KNOWN_AGAIN, _RETURNS_AFTER = 5.0, 3.0, 0.5
_WELL_KNOWN = 15.0
# Rows that the noise of before a change counts for after it, and how many seconds of motion it
# takes until what has changed is known; until then it is asked again whenever there are so many
# times as many seconds, and so many more.
_NOISE_ROWS, _SETTLED = 100.0, 10.0
_ASKED_PART, _ASKED_AGAIN = 0.15, 0.25
# What was known before a change is what was so long before it was likeliest to have begun [ns]:
# on a UR10e that takes up 2.8 kg this comes up to two seconds late; and when it began is found in
# so many steps.
_WELL_BEFORE_NS, _ONSET_STEPS = 3 * _SECOND, 2
# A change is believed that two looks on end have found, or one with so large a log Bayes factor.
_BEYOND_DOUBT = 60.0
# A joint is noisier that is so in so many looks on end. Where nothing happens windows of arms in
# MuJoCo and of a UR10e exceed their usual noise twice for up to ten looks, 1.4 times for twenty.
_LOUD_LOOKS = 20
# That a joint is not explained is told again only if it was for so many renewals, less those in
# which it was not: under the mount that is not its own an arm has joints that come and go.
_TOLD_AGAIN = 40
# How many memories of what was known before are kept.
_MOST_MEMORIES = 3
# Seconds of motion after which torques are watched for being far off for a moment.
_WATCHED_AFTER = 1.0
# Seconds of rows after which inertias are known well enough to see whether joints are elastic.
_INERTIA_KNOWN = 3.0
# Noise of encoders that was learned is told after so many seconds of motion.
_QUESTIONED_AT = 2.0
# Jitter of stamps is told from here on [s].
_NOTABLE_JITTER = 1e-4
# Rows are made anew where other lengths and offsets change torques by so much of the deviation of
# a row, or by so much if old ones have to be left out then; looked at on so many rows.
_MATTERS, _MATTERS_MUCH, _COMPARED = 0.05, 0.5, 24
# An arm is elastic that so many looks on end find so: a rigid one in MuJoCo was for two.
_SWINGS = 4
# Torques are kept for so long after their motion was used: what is early belongs to later motion.
_BEFORE_NS = 50_000_000
# The delay of torques is looked for after so many seconds of rows, whenever there are so many
# times as many, and no more after so many.
_DELAY_FIRST, _DELAY_AGAIN, _DELAY_LAST = 3.0, 1.4, 45.0


@dataclass(frozen=True)
class MeasuredTorque(AbstractEstimator):
    """See the module. seed: of nothing, since nothing is drawn."""

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
        reading, refused = sound_reading(problem.torque, problem.torque.read(frame))
        report = _Report()
        if refused:
            report.events += (Status.UPDATE_REFUSED.value,)
        if frame.after_gap and len(state.motion[0]):
            # What is left is used; the motion in between is unknown.
            state = self._taken(problem, state, None, report)
            state = self.interrupted(state)
        if state.poses:
            poses = pose_regression.received(problem.poses, state.poses, frame)
            state = replace(state, poses=poses)
        motion = state.motion
        if reading.positions:
            motion = tuple(map(np.concatenate, zip(motion, zip(*reading.positions))))
        torques, until_ns, stamps = (*state.torques, *reading.torques), state.until_ns, motion[0]
        if len(stamps) and until_ns is None:
            until_ns = int(stamps[0])
        state = replace(state, motion=motion, torques=torques, until_ns=until_ns)
        if len(stamps):
            newest_ns = int(stamps[-1])
            if frame.is_last:
                state = self._taken(problem, state, None, report)
            elif self._is_due(state, newest_ns):
                state = self._taken(problem, state, newest_ns, report)
        return state, report.of('filter' if state.renewals else 'batch')

    @staticmethod
    def _is_due(state, newest_ns):
        """Tell whether enough samples have come for the next blocks."""
        due_ns = state.until_ns + _AT_ONCE * BLOCK_NS
        stamps = state.motion[0]
        if newest_ns - _LAG_NS < due_ns or len(stamps) <= _LAG_SAMPLES:
            return False
        return bool(stamps[-1 - _LAG_SAMPLES] >= due_ns)

    def interrupted(self, state):
        """Return the state without the samples that no row was made of yet."""
        none = tuple(part[:0] for part in state.motion)
        state = replace(state, motion=none, torques=(), until_ns=None)
        if state.poses:
            state = replace(state, poses=replace(state.poses, waiting=()))
        return state

    def kept_frames(self, state):
        """Return no frames: none is looked at again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state: it holds no frames."""
        return state

    def mixture(self, problem, state):
        """Return the posterior as a `Mixture`, a component for each possible answer."""
        return state.posterior or posterior_of(problem, state)

    def _taken(self, problem, state, newest_ns, report):
        """
        Return the state with the blocks that are complete.

        newest_ns: stamp of the newest sample, later ones may come; None: none comes.
        """
        times, positions = state.motion
        first = min(
            np.searchsorted(times, state.until_ns - _CONTEXT_NS),
            max(np.searchsorted(times, state.until_ns) - _CONTEXT_SAMPLES, 0),
        )
        window = slice(first, len(times))
        # What is older has been gone through before.
        newest = without_spikes(positions[window], problem.torque.encoder_sd)
        positions = np.concatenate([positions[:first], newest])
        state = replace(state, motion=(times, positions))
        before = state.noise
        state = self._watched(problem, state, times, positions)
        if not state.is_questioned and state.learned >= _QUESTIONED_AT:
            report.events += noise_in_words(problem.torque, state.noise)
            state = replace(state, is_questioned=True)
        if before is not None and not is_alike_jitter(before.jitter, state.noise.jitter):
            # What joints answered was seen with other stamps.
            state = replace(state, response=Response(), swings=0)
            if state.noise.jitter > _NOTABLE_JITTER:
                report.events += (f'stamps jitter: {state.noise.jitter:.2g}',)
        if newest_ns is None:
            until_ns = int(times[-1]) + 1
        else:
            whole = (newest_ns - _LAG_NS - state.until_ns) // BLOCK_NS
            until_ns = state.until_ns + int(whole) * BLOCK_NS
        if state.noise is None or len(times) < _LAG_SAMPLES + 2:
            state = self._placed(problem, state, until_ns)
            return self._trimmed(state, times, until_ns)
        seconds = 1e-9 * (times[window] - times[first])
        motion, noise = followed_motion(seconds, positions[window], state.noise)
        if noise is not state.noise:
            state = replace(state, noise=noise, is_surprised=True)
        motion, away, is_known = without_outliers(
            seconds, positions[window], motion, noise, problem.torque.encoder_sd
        )
        last = np.searchsorted(times[window], until_ns, side='right') - 1
        state = replace(state, place=(motion[0, last], motion[1, last]))
        rows = None
        if is_known:
            torques, late = _torques_between(problem.torque, state, until_ns)
            rows, samples = rows_between(
                problem.torque,
                (state.fit, state.geometry),
                torques,
                (times[window], away, motion),
                (state.until_ns, until_ns),
                late,
            )
            if samples is not None and state.used >= _INERTIA_KNOWN:
                inertias = _inertias(problem.torque, state.fit)
                state = replace(state, response=state.response.plus(samples, noise, inertias))
        state = self._placed(
            problem, state, until_ns, (times[window], motion) if is_known else None
        )
        state = self._trimmed(state, times, until_ns)
        if rows is not None and not sound_rows(rows[0]):
            report.events += (Status.UPDATE_REFUSED.value,)
            rows = None
        if rows is not None:
            state = self._told(problem, state, rows, until_ns, report)
        elif state.poses and state.poses.seen > state.poses.fitted:
            state = self._renewed_if_due(problem, state, until_ns, report)
        if state.posterior is None:
            return replace(state, posterior=posterior_of(problem, state))
        points = points_of(problem, state, state.posterior.size)
        return replace(state, posterior=replace(state.posterior, points=points))

    def _told(self, problem, state, rows, until_ns, report):
        """
        Return the state with more `Rows`, and what they say where it is time to ask.

        rows: (`Rows`, motion [3, K, n] at them).
        """
        rows, visited = rows
        recent = _kept((*state.recent, (until_ns, rows)))
        visited = (*state.visited, visited)[-len(recent) :]
        state = replace(state, visited=visited)
        used = state.used + 1e-9 * BLOCK_NS * float(rows.shares.max(1).sum())
        state = self._watched_over(problem.torque, state, rows, recent, report)
        state = replace(state, used=used)
        answer = state.last_change
        state = self._renewed_if_due(problem, state, until_ns, report)
        if state.onset is not None:
            state = self._asked_again(problem, state, until_ns, report)
        is_told = 'explained' in report.events
        if answer is not None and answer.name != state.last_change.name and not is_told:
            report.explained(state.branches[0])
            state = replace(state, memories=renamed(state, state.last_change))
        if state.looked_ns is None or until_ns - state.looked_ns >= _LOOKED_NS:
            state = self._looked(problem, state, until_ns, report)
        return state

    def _renewed_if_due(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far, if it is time for it."""
        if state.renewed_ns is None or now_ns - state.renewed_ns >= _RENEWED_NS:
            state = self._renewed(problem, state, now_ns, report)
            state = _with_unexplained(problem.torque, state, report)
            return _with_misfit(problem, state, report)
        return state

    @staticmethod
    def _watched_over(model, state, rows, recent, report):
        """
        Return the state with the newest `Rows`, without those that were far off for a moment.

        recent: ((end_ns, `Rows`), ...), the newest ones among them.
        """
        disruption, is_off = state.disruption, False
        if disruption is None and state.used >= _WATCHED_AFTER and state.onset is None:
            is_off = are_far_off(model, state.fit, rows).any()
        state = replace(state, sums=state.sums.plus(rows), recent=recent)
        if is_off:
            since_ns = state.recent[-3][0] if len(recent) > 2 else 0
            return replace(state, disruption=Disruption(state.fit, since_ns))
        if disruption is None:
            return state
        goes_on, taken = judge(model, disruption, recent)
        if goes_on:
            return state
        state = replace(state, disruption=None)
        if not taken.any():
            return state
        sums, kept = state.sums, list(recent)
        for k in np.flatnonzero(taken.any(1)):
            end_ns, all_rows = recent[k]
            rest, left_out = without(all_rows, taken[k])
            sums, kept[k] = sums.less(sums.of((left_out,))), (end_ns, rest)
        report.events += tuple(
            f'left out: {model.joints[joint]}' for joint in np.flatnonzero(taken.any(0))
        )
        snapshots = tuple(s for s in state.snapshots if s.end_ns <= disruption.since_ns)
        return replace(state, sums=sums, recent=tuple(kept), snapshots=snapshots, renewed_ns=None)

    def _renewed(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far."""
        state = _with_springs(problem.torque, state, report)
        state = _with_delay(problem.torque, state, report)
        if state.poses:
            before = state.poses.fit
            poses = pose_regression.renewed(problem.poses, state.poses, now_ns)
            state = replace(state, poses=poses)
            report.events += pose_regression.in_words(problem.poses, before, poses)
            if poses.fit is not before and problem.poses.geometry:
                state = _with_geometry(problem, state)
        model, recent = problem.torque, Rows.none(*state.sums.cross.shape)
        if state.recent:
            recent = Rows.joined([rows for _, rows in state.recent])
        steps = _FIRST_STEPS if state.renewals < _FIRST_RENEWALS else 1
        lags, branches, poses = _CORRELATED_NS // BLOCK_NS, [], state.poses
        for branch in state.branches:
            prior = branch.prior
            if poses and poses.renewals:
                prior = pose_regression.conditioned(prior, problem.poses.places, poses.fit)
            found = fit(
                model,
                prior,
                state.sums,
                recent,
                branch.fit,
                lags,
                state.earlier,
                steps,
                state.is_elastic,
            )
            branches.append(replace(branch, prior=prior, fit=found))
        if not all(np.isfinite(branch.fit.mean).all() for branch in branches):
            report.events += (Status.UPDATE_REFUSED.value,)
            return replace(state, renewed_ns=now_ns)
        branches = weighed(state.sums, branches)
        if not state.renewals:
            report.events += ('fitted',)
        renewals = state.renewals + 1
        state = replace(state, branches=branches, renewed_ns=now_ns, renewals=renewals)
        return replace(drifted(model, state, problem.prior), posterior=None)

    def _looked(self, problem, state, now_ns, report):
        """Return the state after a look at whether the robot has changed."""
        model, now = problem.torque, Snapshot(now_ns, state.sums, state.fit)
        state = replace(state, looked_ns=now_ns)
        kept = [s for s in state.snapshots if s.end_ns >= now_ns - _SNAPSHOTS_NS]
        jumps, seconds = model.jumps(), _KNOWN_AFTER
        if state.last_change is not None:
            seconds = _RETURNS_AFTER
        if state.onset is not None:
            # What has come may go soon; for anything else it has to be known well.
            bodies = tuple(jump for jump in jumps if jump.body is not None)
            jumps = bodies if state.used >= _KNOWN_AGAIN else ()
        # What is off for a moment is none, and with little known it looks like one.
        is_early = state.last_change is None and state.used < _WELL_KNOWN
        is_open = is_early and state.disruption is not None
        if state.used >= seconds and kept and (jumps or state.memories) and not is_open:
            floor, is_known = partial(believed, model), are_known(state)
            found = look(model, kept, now, jumps, state.memories, floor, is_known)
            is_new = not state.is_change_pending
            state = replace(state, is_change_pending=bool(found.causes))
            if found.causes and not (is_new and found.causes[0].evidence < _BEYOND_DOUBT):
                return self._changed(problem, state, (found.causes, kept), report)
            state = _heard(model, state, found.noisier, report)
        return replace(state, snapshots=(*kept, now))

    def _changed(self, problem, state, found, report):
        """Return the state of a robot that has changed; found: (`Cause`s, `Snapshot`s)."""
        causes, snapshots = found
        begun_ns = causes[0].since.end_ns
        earlier = [s for s in snapshots if s.end_ns <= begun_ns - _WELL_BEFORE_NS]
        origin, now_ns = (earlier or snapshots)[-1 if earlier else 0], state.recent[-1][0]
        recent = [each for each in state.recent if each[0] > origin.end_ns]
        before = sum(rows.count for end_ns, rows in recent if end_ns <= begun_ns)
        rows, visited = Rows.joined([rows for _, rows in recent]), None
        if state.visited:
            visited = np.concatenate(state.visited[-len(recent) :], 1)
        noise = origin.fit.noise.without(~are_known(state))
        known = replace(origin.fit, noise=noise)
        # How noisy joints are may have changed as well: what was known counts for a while only.
        last, usual = state.last_change, noise.of_rigid(state.is_elastic)
        jump = None if last is None else last.jump
        parameters = (causes[0].memory or causes[0].jump).parameters
        root = believed(problem.torque, known)
        remembered = Memory(causes[0].name, parameters, known.mean, root, jump)
        state = replace(
            state,
            earlier=Earlier.of(origin.sums, usual, _NOISE_ROWS),
            used=0.0,
            is_change_pending=False,
            disruption=None,
            response=Response(),
            swings=0,
            loud=(),
            memories=(*state.memories, remembered)[-_MOST_MEMORIES:],
        )
        state = begun_anew(state, Onset(known, rows, now_ns, before, visited))
        state = replace(state, branches=answers(problem.torque, state, causes))
        for _ in range(_ONSET_STEPS):
            state = self._renewed(problem, state, now_ns, _Report())
            state = begun_anew(state, state.onset.moved(state.fit))
        causes, _ = self._causes_again(problem, state)
        state = replace(state, branches=answers(problem.torque, state, causes))
        state = self._renewed(problem, state, now_ns, _Report())
        state = replace(state, memories=renamed(state, state.last_change))
        report.events += ('changed',)
        report.explained(state.branches[0])
        return state

    def _asked_again(self, problem, state, now_ns, report):
        """Return the state with other answers to what has changed, where it is time to ask."""
        onset = state.onset
        if state.used > _SETTLED:
            return replace(state, onset=None, memories=told_apart(state))
        if state.used < onset.asked * (1 + _ASKED_PART) + _ASKED_AGAIN:
            return state
        _, taken = judge(problem.torque, Disruption(onset.known, 0), state.recent)
        if taken.any() and self._is_as_before(state, taken):
            return self._taken_back(problem, state, taken, report)
        moved = replace(onset.moved(state.fit), asked=state.used)
        is_same = moved.before == onset.before
        state = replace(state, onset=moved) if is_same else begun_anew(state, moved)
        causes, left = self._causes_again(problem, state)
        new = set(left) - set(onset.in_part) if state.used >= _KNOWN_AGAIN else set()
        report.events += tuple(
            f'explained in part: {problem.torque.joints[k]}' for k in sorted(new)
        )
        in_part = tuple(sorted({*onset.in_part, *new}))
        state = replace(state, onset=replace(state.onset, in_part=in_part))
        names = {branch.memory.name for branch in state.branches}
        if {cause.name for cause in causes} - names:
            # Snapshots are of other answers.
            branches = answers(problem.torque, state, causes)
            state = replace(state, branches=branches, snapshots=())
        return self._renewed(problem, state, now_ns, report)

    @staticmethod
    def _is_as_before(state, taken):
        """
        Tell whether the robot of before explains what follows better than the changed one.

        A torque that is not large just now is not far off under another gain either. taken [N, J]:
        which of the newest rows would be taken out.
        """
        later = state.recent[np.flatnonzero(taken.any(1))[-1] + 1 :]
        rows = Rows.joined([rows for _, rows in later])
        return state.onset.for_change(state.fit, rows).sum() < 0

    def _taken_back(self, problem, state, taken, report):
        """
        Return the state of a robot that has not changed: torques were far off for a moment.

        taken [N, J]: which of the newest rows were so.
        """
        model, known, last = problem.torque, state.onset.known, state.last_change
        fit, name = state.fit, returned(last.name)
        prior = Gaussian(known.mean, believed(model, known))
        memory = Memory(name, last.parameters, fit.mean, believed(model, fit))
        first = np.flatnonzero(taken.any(1))[-1] + 1
        recent, visited = state.recent[first:], state.visited[first:]
        sums = state.sums.of(rows for _, rows in recent)
        state = replace(
            state,
            branches=(Branch(prior, replace(known, root=prior.root), memory),),
            sums=sums,
            recent=recent,
            visited=visited,
            memories=tuple(m for m in state.memories if m.mean is not known.mean),
            onset=None,
            snapshots=(),
        )
        report.events += ('changed',)
        report.explained(state.branches[0])
        report.events += tuple(
            f'left out: {model.joints[joint]}' for joint in np.flatnonzero(taken.any(0))
        )
        return self._renewed(problem, state, state.renewed_ns, report)

    @staticmethod
    def _causes_again(problem, state):
        """Return what `ask_again` says of the last change."""
        model, onset = problem.torque, state.onset
        memories = tuple(m for m in state.memories if m.mean is not onset.known.mean)
        floor = partial(believed, model)
        return ask_again(model, onset.known, state.sums, model.jumps(), memories, floor)

    def _watched(self, problem, state, times, positions):
        """Return the state with the noise of motion learned, where it is time to."""
        newest = times >= times[-1] - _REMEMBERED_NS
        if not have_moved(positions[newest], problem.torque.encoder_sd):
            return state
        moved = state.moved + 1e-9 * _AT_ONCE * BLOCK_NS
        state = replace(state, moved=moved)
        marks = [*_LEARNED_AT, state.learned + _LEARNED_EVERY]
        due = next((mark for mark in marks if mark > state.learned), None)
        if state.is_surprised:
            due = min(due, state.learned + _LEARNED_AGAIN)
        if moved < due or len(times) < 3 * _CONTEXT_SAMPLES:
            return state
        # Jitter takes longer to learn than all else, and changes less.
        is_jitter_due = state.learned < _QUESTIONED_AT or _is_passed(state.learned, moved)
        noise = learned_noise(
            times, positions, problem.torque.encoder_sd, state.noise, not is_jitter_due
        )
        return replace(state, noise=noise, learned=moved, is_surprised=False)

    @staticmethod
    def _placed(problem, state, until_ns, known=None):
        """
        Return the state with the poses of before a stamp beside the motion.

        known: (stamps [N], motion [3, N, n]) about them, None where nobody knows it.
        """
        if state.poses is None or not state.poses.waiting:
            return state
        at = None, None
        if known is not None:
            times, motion = known
            seconds = 1e-9 * (times - times[0])
            at = (
                lambda stamps: motion_at(1e-9 * (stamps - times[0]), seconds, motion)[0],
                (times[0], times[-1]),
            )
        return replace(
            state, poses=pose_regression.placed(problem.poses, state.poses, until_ns, *at)
        )

    @staticmethod
    def _trimmed(state, times, until_ns):
        """Return the state without what is no longer needed."""
        kept = min(
            np.searchsorted(times, until_ns - _REMEMBERED_NS), max(len(times) - MOST_SAMPLES, 0)
        )
        least_ns = until_ns - _BEFORE_NS
        torques = tuple(entry for entry in state.torques if entry[0] >= least_ns)
        motion = tuple(part[kept:] for part in state.motion)
        return replace(state, motion=motion, torques=torques, until_ns=until_ns)


def _is_passed(before, now):
    """Tell whether one more time of learning jitter has been passed [s]."""
    return before // _JITTER_LEARNED_EVERY != now // _JITTER_LEARNED_EVERY


def _with_geometry(problem, state):
    """
    Return the state with rows by the lengths and offsets that poses tell.

    Rows are made anew where that matters to torques. Where it matters much, those that are too old
    for it are left out, with what the prior of rows to come has of them.
    """
    model, fit = problem.torque, state.fit
    mean = fit.mean.copy()
    mean[problem.poses.places] = state.poses.fit.mean
    geometry = model.geometry(mean)
    if not state.recent:
        return replace(state, geometry=geometry)
    visited = np.concatenate(state.visited, 1)
    visited = visited[:, :: -(-visited.shape[1] // _COMPARED)]
    columns = model.columns(*visited, fit.standard, geometry)
    moved = (columns - model.columns(*visited, fit.standard, state.geometry)) @ fit.standard
    matters = (np.sqrt((moved**2).mean(0)) / np.sqrt(fit.noise.variance)).max()
    slope = model.by_geometry(*visited, fit.standard, geometry)
    slope += columns @ model.standard_by_geometry(fit.mean)
    state = replace(state, by_geometry=_moved_with(problem, state, columns, slope))
    number = sum(rows.shares.sum(0) for _, rows in state.recent)
    is_whole = (number >= state.sums.number - 1.0).all()
    if matters < (_MATTERS if is_whole else _MATTERS_MUCH):
        return state
    if matters >= _MATTERS_MUCH and state.earlier is not None:
        branches = tuple(replace(b, prior=_prior_before_rows(problem, b)) for b in state.branches)
        state = replace(state, branches=branches)
    recent = []
    for (end_ns, rows), motion in zip(state.recent, state.visited):
        columns = model.columns(*motion, fit.standard, geometry)
        recent.append((end_ns, with_columns(rows, columns)))
    sums = state.sums.of(rows for _, rows in recent)
    onset = state.onset
    if onset is not None:
        columns = model.columns(*onset.visited, fit.standard, geometry)
        onset = replace(onset, rows=with_columns(onset.rows, columns))
    return replace(
        state, geometry=geometry, recent=tuple(recent), sums=sums, onset=onset, snapshots=()
    )


def _prior_before_rows(problem, branch):
    """Return the prior of a `Branch` before any rows."""
    prior, memory = problem.prior, branch.memory
    if memory is None or memory.jump is None:
        return prior
    return jumped(prior, memory.jump)


def _moved_with(problem, state, columns, slope):
    """
    Return how coordinates move with geometry where torques are to stay what they are, [p, g].

    columns [K, J, P], slope [K, J, g]: of torques, at some of all rows.
    """
    fit, prior = state.fit, problem.prior.root.copy()
    prior[problem.poses.places] = 0.0
    weights = np.sqrt(fit.noise.weights * np.maximum(state.sums.number, 1.0) / len(columns))
    scaled = (weights * fit.scales)[:, None]
    rows = scaled * (columns @ (problem.torque.standard(fit.mean)[1] @ prior))
    rows, slope = (each.reshape(-1, each.shape[-1]) for each in (rows, scaled * slope))
    information = rows.T @ rows
    information[np.diag_indices_from(information)] += 1.0
    return -prior @ np.linalg.solve(information, rows.T @ slope)


def _torques_between(model, state, until_ns):
    """
    Return (since the last block, torques [M, J, lags] of later).

    The former are stamps [M], torques [M, J] and known wrenches [M, W].
    """
    stamps = np.array([ns for ns, _ in state.torques], dtype=np.int64)
    torques = np.array([values for _, values in state.torques])
    torques = torques.reshape(len(stamps), len(model.joints) + model.wrench_size)
    torques, wrenches = np.split(torques, [len(model.joints)], 1)
    new = (stamps >= state.until_ns) & (stamps < until_ns)
    late = late_torques(stamps, torques, stamps[new])
    found = torques[new] if not state.delay.applied else torques_at(late, state.delay.applied)
    return (stamps[new], found, wrenches[new]), late


def _with_delay(model, state, report):
    """
    Return the state with the delay of torques, by the rows of the last 30 s, where it is time to.

    Where rows are made by another one from now on older ones are left out. That of a robot which
    has changed is what it was.
    """
    delay, used = state.delay, state.used
    is_due = max(_DELAY_FIRST, _DELAY_AGAIN * delay.looked) <= used <= _DELAY_LAST
    is_calm = state.last_change is None and state.disruption is None
    if not (is_due and is_calm and state.recent):
        return state
    rows = Rows.joined([rows for _, rows in state.recent])
    times = [end_ns - BLOCK_NS * np.arange(part.count, 0, -1) for end_ns, part in state.recent]
    prior = state.branches[0].prior
    state = _with_pairs(model, prior, state, rows, report)
    found = estimate(model, prior, state.fit, rows, np.concatenate(times), BLOCK_NS)
    if found is None:
        return replace(state, delay=replace(delay, looked=used))
    state = replace(state, delay=delay.renewed(*found, used))
    if state.delay.applied == delay.applied:
        return state
    report.events += (f'torque late: {1e3 * found[0]:.1f} ms +- {1e3 * found[1]:.1g}',)
    recent = tuple((ns, delayed(part, state.delay.applied)) for ns, part in state.recent)
    sums = state.sums.of(part for _, part in recent)
    # What joints answer was seen with other torques.
    return replace(state, recent=recent, sums=sums, snapshots=(), response=Response(), swings=0)


def _with_pairs(model, prior, state, rows, report):
    """Return the state with the joints that seem to share a motor; each pair is told once."""
    found = coupled_pairs(model, prior, state.fit, state.sums, rows, ROWS_TO_JUDGE)
    new = tuple(pair for pair in found[:1] if pair not in state.coupled)
    for pair in new:
        report.events += (f'coupled: {", ".join(model.joints[row] for row in pair)}',)
    return replace(state, coupled=(*state.coupled, *new))


def _with_springs(model, state, report):
    """Return the state with the joints that give way like springs; each is told once."""
    if not state.response.windows:
        return state
    found = state.response.elastic(_inertias(model, state.fit))
    found = np.where(state.fit.noise.explained, found, np.nan)
    swings = 0 if np.isnan(found).all() else state.swings + 1
    state = replace(state, swings=swings)
    if swings < _SWINGS:
        return state
    elastic = np.where(np.isnan(state.elastic), found, state.elastic)
    for row in np.flatnonzero(np.isnan(state.elastic) & ~np.isnan(elastic)):
        report.events += (f'elastic: {model.joints[row]} {elastic[row]:.0f} Hz',)
    return replace(state, elastic=elastic)


def _with_unexplained(model, state, report):
    """Return the state with joints that are not explained told, once for as long as it lasts."""
    before = state.unexplained or (0,) * len(model.joints)
    explained = state.fit.noise.explained
    for joint, left, is_fine in zip(model.joints, before, explained):
        if not is_fine and not left:
            report.events += (f'not explained: {joint}',)
    unexplained = tuple(
        max(left - 1, 0) if is_fine else min(left + 1, _TOLD_AGAIN) if left else _TOLD_AGAIN
        for left, is_fine in zip(before, explained)
    )
    return replace(state, unexplained=unexplained)


def _with_misfit(problem, state, report):
    """Return the state with what is wrong with units or the mount, each told when it begins."""
    is_calm = state.last_change is None and state.disruption is None
    if not (is_calm and state.recent and state.misfits.is_due(state.used)):
        return state
    rows = Rows.joined([rows for _, rows in state.recent])
    found = look_for_misfit(problem.torque, problem.prior, rows, np.concatenate(state.visited, 1))
    misfits, is_news = state.misfits.after(found, state.used)
    if is_news:
        known = misfits.misfit
        report.events += (FITS if known is None else words_of(known, problem.torque.joints),)
    return replace(state, misfits=misfits)


def _inertias(model, found):
    """Return the function from positions [K, n] to torques by accelerations of a `Fit`."""

    def inertias(positions):
        return found.scales[:, None] * model.inertias(positions, found.standard)

    return inertias


def _heard(model, state, noisier, report):
    """Return the state after a look that found the joints of some numbers noisier than usual."""
    if state.onset is not None or state.disruption is not None:
        # What has just changed leaves rows that nothing explains.
        return replace(state, loud=())
    before = state.loud or (0,) * len(model.joints)
    loud = tuple(count + 1 if k in noisier else 0 for k, count in enumerate(before))
    report.events += tuple(
        f'more noise: {joint}' for joint, count in zip(model.joints, loud) if count == _LOUD_LOOKS
    )
    return replace(state, loud=loud)


def noise_in_words(model, noise):
    """Return 'noise of SENSOR FACTOR SD' of sensors that are far from as noisy as configured."""
    found = []
    for name, places in model.encoders.items():
        learned = float(np.median(noise.sd[places]))
        factor = learned / float(np.median(model.encoder_sd[places]))
        if not 1 / QUESTIONED <= factor <= QUESTIONED:
            found.append(f'noise of {name} {factor:.3g} {learned:.3g}')
    return tuple(found)


class _Report:
    """Collects what an update has to say."""

    def __init__(self):
        self.events, self.changed = (), ()

    def explained(self, branch):
        """Say what a change is put down to."""
        weight = np.exp(branch.log_weight)
        self.events += ('explained', f'cause: {branch.memory.name} ({weight:.2f})')
        self.changed = branch.memory.parameters

    def of(self, stage):
        """Return the `UpdateReport`."""
        return UpdateReport(stage, events=self.events, changed=self.changed)


def _kept(recent):
    """Return the newest rows, as many as correlation is judged by."""
    least = recent[-1][0] - _RECENT_NS
    return tuple(each for each in recent if each[0] > least)
