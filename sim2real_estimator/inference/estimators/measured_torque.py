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
from .. import pose_regression
from ..elasticity import Response, Samples
from ..hypotheses import Memory
from ..mixture import Mixture
from ..motion import learn_motion_noise, MotionNoise, smoothed_motion, without_spikes
from ..protocol import Gaussian
from ..torque_changes import ask_again, favour, FREEDOM, look, Onset, returned, Snapshot
from ..torque_outliers import are_far_off, Disruption, judge, without
from ..torque_regression import (
    begin,
    block_rows,
    ELASTIC_INFLATION,
    Fit,
    fit,
    Rows,
    ROWS_TO_JUDGE,
    Sums,
    with_columns,
)
from .base import AbstractEstimator

_SECOND = 10**9
# Rows are means over this time, and are made this much later, from motion smoothed over a window
# that begins so much before; several at a time.
BLOCK_NS, _LAG_NS, _CONTEXT_NS = 20_000_000, 100_000_000, 200_000_000
# Residuals of real arms hang together over up to two seconds.
_CORRELATED_NS = 2_000_000_000
_AT_ONCE = 6
# The smoother needs so many samples beside a block, whatever their rate.
_LAG_SAMPLES, _CONTEXT_SAMPLES = 4, 8
# What is kept of the past to learn how joints move [ns], and how many samples are looked at.
_REMEMBERED_NS, _MOST_SAMPLES = 4 * _SECOND, 600
# Seconds of motion after which noise is learned (anew), and how often later on.
_LEARNED_AT, _LEARNED_EVERY, _LEARNED_AGAIN = (0.3, 0.6, 1.0, 2.0), 10.0, 1.0
# A joint moves where its positions span more than this [rad or m], and more than so many standard
# deviations of its encoder.
_MOVED, _MOVED_SDS = 1e-3, 8.0
# A joint rests that is slow for so long, and is not used for a while after it: friction has not
# settled [s]. Nor is one used that is slower than so many times slow, where joints that stick are
# not what the smoothed sign of Coulomb friction makes of them.
_REST, _AFTER_REST, _CREEP = 0.1, 0.03, 1.5
# How often the posterior is worked out [ns], and over how much time of rows correlation is judged.
_RENEWED_NS, _RECENT_NS = _SECOND // 2, 30 * _SECOND
# Steps of a fit: it goes on from the last one, which the first do not have.
_FIRST_STEPS, _FIRST_RENEWALS = 3, 10
# How often changes are looked for [ns], over how much time of snapshots [ns], and after how many
# seconds of motion: since the beginning, and since the last change, other ones and its end.
_LOOKED_NS, _SNAPSHOTS_NS = 3 * _SECOND // 10, 83 * _SECOND // 10
_KNOWN_AFTER, _KNOWN_AGAIN, _RETURNS_AFTER = 15.0, 3.0, 0.5
# Rows that the noise of before a change counts for after it, and how many seconds of motion it
# takes until what has changed is known; until then it is asked again whenever there are so many
# times as many seconds, and so many more.
_NOISE_ROWS, _SETTLED = 100.0, 10.0
_ASKED_PART, _ASKED_AGAIN = 0.15, 0.25
# What was known before a change is what was so long before it was likeliest to have begun [ns]:
# on a UR10e that takes up 2.8 kg this comes up to two seconds late; and when it began is found in
# so many steps.
_WELL_BEFORE_NS, _ONSET_STEPS = 3 * _SECOND, 2
# Friction warms up and wears: in so many seconds of rows it may change by this part, and what is
# known of the noise counts for so many rows then.
_DRIFTS_AFTER, _DRIFT, _DRIFT_ROWS = 60.0, 0.03, 2000.0
# This part of the information of all else is kept then: an arm in MuJoCo that nothing happened to
# was as sure as it is good after a minute, and 4.4 times as sure after twenty without this.
_REMEMBERED = 0.5
# A change is believed that two looks on end have found, or one with so large a log Bayes factor.
_BEYOND_DOUBT = 60.0
# A joint is noisier that is so in so many looks on end. Where nothing happens windows of arms in
# MuJoCo and of a UR10e exceed their usual noise twice for up to ten looks, 1.4 times for twenty.
_LOUD_LOOKS = 20
# Seconds of motion after which torques are watched for being far off for a moment.
_WATCHED_AFTER = 1.0
# Answers to what has changed: the least weight of one, and how many are carried on; and how many
# memories of what was known before.
_LEAST_WEIGHT, _MOST_BRANCHES, _MOST_MEMORIES = 0.01, 4, 3
# Friction is never known better than this part of it: it is another tomorrow.
_LOSS_FLOOR = 0.05
# Seconds of rows after which inertias are known well enough to see whether joints are elastic.
_INERTIA_KNOWN = 3.0
# Motion that misses half of its samples by so many deviations does not follow them.
_MISSED_SDS = 2.0
# Noise of encoders that was learned is told if it is so many times as large, or as small, as
# configured.
_QUESTIONED = 3.0
# Rows are made anew where other lengths and offsets change torques by so much of the deviation of
# a row, or by so much if old ones have to be left out then; looked at on so many rows.
_MATTERS, _MATTERS_MUCH, _COMPARED = 0.05, 0.5, 24
# Motion capture is off of which less than this part of the samples is used.
_MOSTLY = 0.6
# Samples of encoders and of torques that are so many deviations off are left out.
_OUTLIER_SDS = 8.0
# Where more than this part of the samples about a block is off nobody knows the motion: a clock
# that was set back mixes two of them.
_MOST_OFF = 0.1


@dataclass(frozen=True)
class Branch:
    """
    One answer to what has changed: its prior of the rows since then, and their `Fit`.

    memory: of what was known before, None where nothing has changed; log_weight: of the answer;
    favour: by how much it was more probable than others before any rows.
    """

    prior: Gaussian
    fit: Fit
    memory: Memory | None = None
    log_weight: float = 0.0
    favour: float = 0.0


@dataclass(frozen=True)
class TorqueState:
    """
    All that is carried on.

    branches: the answers that are possible, the likeliest first; sums: of all `Rows` since the
    robot changed last; earlier: (squares left, number of rows, inflation) [J] of those before;
    recent: ((end_ns, `Rows`), ...), the newest; motion: ((stamp_ns, positions [n]), ...) of the
    newest samples, and torques: ((stamp_ns, torques [J]), ...) not used yet; until_ns: end of the
    last block; noise: `MotionNoise`, None before any motion; moved, learned: seconds of motion,
    and of those when noise was learned last; used: seconds of rows since the last change;
    renewed_ns, looked_ns: when the posterior was worked out, and when changes were looked for;
    renewals: how often; snapshots: of the last seconds; memories: of what was known before
    changes; onset: of the last change, while it is still asked what it was; noisier: joints that
    are said to be so; is_questioned: whether the noise of encoders
    was held against what is configured; is_surprised: whether joints have moved in another way
    than was learned since; is_suspected: whether the last look found a change; place:
    (positions, velocities) at the end of the newest block; posterior: `Mixture` of all this;
    poses: `PoseState` of what motion capture has seen, None where it tells of nothing unknown;
    geometry: lengths and offsets by which the columns of rows are made, None: as the prior has
    them; visited: motion [3, K, n] at the rows of `recent`; by_geometry [p, g]: how coordinates
    move with these if torques are to stay what they are; response: of joints to
    frequency; elastic [J]: resonances of those that are said to give way like springs [Hz], NaN of
    all others.
    """

    branches: tuple
    sums: Sums
    earlier: tuple | None = None
    recent: tuple = ()
    motion: tuple = ()
    torques: tuple = ()
    until_ns: int | None = None
    noise: MotionNoise | None = None
    moved: float = 0.0
    learned: float = 0.0
    used: float = 0.0
    renewed_ns: int | None = None
    looked_ns: int | None = None
    renewals: int = 0
    snapshots: tuple = ()
    memories: tuple = ()
    onset: Onset | None = None
    disruption: Disruption | None = None
    loud: tuple = ()
    is_suspected: bool = False
    place: tuple | None = None
    posterior: Mixture | None = None
    is_questioned: bool = False
    is_surprised: bool = False
    poses: pose_regression.PoseState | None = None
    geometry: np.ndarray | None = None
    visited: tuple = ()
    by_geometry: np.ndarray | None = None
    response: Response | None = None
    elastic: np.ndarray | None = None

    @property
    def fit(self):
        """The `Fit` of the likeliest answer."""
        return self.branches[0].fit

    @property
    def is_elastic(self):
        """Which joints [J] are said to give way like springs."""
        return ~np.isnan(self.elastic)

    @property
    def last_change(self):
        """The `Memory` of what was known before the last change, None where there was none."""
        return self.branches[0].memory


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
        return TorqueState((branch,), sums, poses=poses, response=Response(), elastic=elastic)

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        reading = problem.torque.read(frame)
        report = _Report()
        if frame.after_gap and state.motion:
            # What is left is used; the motion in between is unknown.
            state = self._taken(problem, state, None, report)
            state = replace(state, motion=(), torques=(), until_ns=None)
            if state.poses:
                state = replace(state, poses=replace(state.poses, waiting=()))
        if state.poses:
            poses = pose_regression.received(problem.poses, state.poses, frame)
            state = replace(state, poses=poses)
        motion = state.motion
        if reading.positions is not None:
            motion = (*motion, reading.positions)
        torques, until_ns = (*state.torques, *reading.torques), state.until_ns
        if motion and until_ns is None:
            until_ns = motion[0][0]
        state = replace(state, motion=motion, torques=torques, until_ns=until_ns)
        if motion:
            newest_ns = state.motion[-1][0]
            if frame.is_last:
                state = self._taken(problem, state, None, report)
            elif self._is_due(state, newest_ns):
                state = self._taken(problem, state, newest_ns, report)
        return state, report.of('filter' if state.renewals else 'batch')

    @staticmethod
    def _is_due(state, newest_ns):
        """Tell whether enough samples have come for the next blocks."""
        due_ns = state.until_ns + _AT_ONCE * BLOCK_NS
        if newest_ns - _LAG_NS < due_ns or len(state.motion) <= _LAG_SAMPLES:
            return False
        return state.motion[-1 - _LAG_SAMPLES][0] >= due_ns

    def kept_frames(self, state):
        """Return no frames: none is looked at again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state: it holds no frames."""
        return state

    def mixture(self, problem, state):
        """Return the posterior as a `Mixture`, a component for each possible answer."""
        return state.posterior or _posterior(problem, state)

    def _taken(self, problem, state, newest_ns, report):
        """
        Return the state with the blocks that are complete.

        newest_ns: stamp of the newest sample, later ones may come; None: none comes.
        """
        times = np.array([stamp for stamp, _ in state.motion])
        positions = np.array([values for _, values in state.motion])
        positions = without_spikes(positions, problem.torque.encoder_sd)
        state = self._watched(problem, state, times, positions)
        if not state.is_questioned and state.learned >= _LEARNED_AT[-1]:
            report.events += noise_in_words(problem.torque, state.noise)
            state = replace(state, is_questioned=True)
        if newest_ns is None:
            until_ns = int(times[-1]) + 1
        else:
            whole = (newest_ns - _LAG_NS - state.until_ns) // BLOCK_NS
            until_ns = state.until_ns + int(whole) * BLOCK_NS
        if state.noise is None or len(times) < _LAG_SAMPLES + 2:
            state = self._placed(problem, state, until_ns)
            return self._trimmed(state, times, until_ns)
        first = min(
            np.searchsorted(times, state.until_ns - _CONTEXT_NS),
            max(np.searchsorted(times, state.until_ns) - _CONTEXT_SAMPLES, 0),
        )
        window = slice(first, len(times))
        seconds = 1e-9 * (times[window] - times[first])
        state, motion = self._smoothed(state, seconds, positions[window])
        motion, away, is_known = self._without_outliers(
            problem.torque, state, seconds, positions[window], motion
        )
        last = np.searchsorted(times[window], until_ns, side='right') - 1
        state = replace(state, place=(motion[0, last], motion[1, last]))
        rows = None
        if is_known:
            rows, samples = self._rows(
                problem.torque, state, (times[window], away, motion), until_ns
            )
            if samples is not None and state.used >= _INERTIA_KNOWN:
                inertias = _inertias(problem.torque, state.fit)
                state = replace(state, response=state.response.plus(samples, inertias))
        state = self._placed(
            problem, state, until_ns, (times[window], motion) if is_known else None
        )
        state = self._trimmed(state, times, until_ns)
        if rows is not None:
            state = self._told(problem, state, rows, until_ns, report)
        elif state.poses and state.poses.seen > state.poses.fitted:
            state = self._renewed_if_due(problem, state, until_ns, report)
        if state.posterior is None:
            return replace(state, posterior=_posterior(problem, state))
        points = _points(problem, state, state.posterior.size)
        return replace(state, posterior=replace(state.posterior, points=points))

    def _told(self, problem, state, rows, until_ns, report):
        """
        Return the state with more `Rows`, and what they say where it is time to ask.

        rows: (`Rows`, motion [3, K, n] at them).
        """
        rows, visited = rows
        recent = _kept((*state.recent, (until_ns, rows)))
        if state.poses:
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
            state = replace(state, memories=_renamed(state, state.last_change))
        if state.looked_ns is None or until_ns - state.looked_ns >= _LOOKED_NS:
            state = self._looked(problem, state, until_ns, report)
        return state

    def _renewed_if_due(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far, if it is time for it."""
        if state.renewed_ns is None or now_ns - state.renewed_ns >= _RENEWED_NS:
            return self._renewed(problem, state, now_ns, report)
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
            sums, kept[k] = sums.less(Sums.none(*sums.cross.shape).plus(left_out)), (end_ns, rest)
        report.events += tuple(
            f'left out: {model.joints[joint]}' for joint in np.flatnonzero(taken.any(0))
        )
        snapshots = tuple(s for s in state.snapshots if s.end_ns <= disruption.since_ns)
        return replace(state, sums=sums, recent=tuple(kept), snapshots=snapshots, renewed_ns=None)

    def _renewed(self, problem, state, now_ns, report):
        """Return the state with the posterior of all rows so far."""
        state = _with_springs(problem.torque, state, report)
        if state.poses:
            before = state.poses.fit
            poses = pose_regression.renewed(problem.poses, state.poses, now_ns)
            state = replace(state, poses=poses)
            report.events += poses_in_words(problem.poses, before, poses)
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
        branches = _weighed(state.sums, branches)
        if not state.renewals:
            report.events += ('fitted',)
        before, now = state.fit.noise.explained, branches[0].fit.noise.explained
        for joint, was, still in zip(model.joints, before, now):
            if was and not still:
                report.events += (f'not explained: {joint}',)
        renewals = state.renewals + 1
        state = replace(state, branches=branches, renewed_ns=now_ns, renewals=renewals)
        return replace(_drifted(model, state, problem.prior), posterior=None)

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
        if state.used >= seconds and kept and (jumps or state.memories):
            floor, is_known = partial(believed, model), _are_known(state)
            found = look(model, kept, now, jumps, state.memories, floor, is_known)
            is_new = not state.is_suspected
            state = replace(state, is_suspected=bool(found.causes))
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
        noise = origin.fit.noise.without(~_are_known(state))
        known = replace(origin.fit, noise=noise)
        # How noisy joints are may have changed as well: what was known counts for a while only.
        number = np.minimum(origin.sums.number, _NOISE_ROWS)
        last = state.last_change
        jump = None if last is None else last.jump
        parameters = (causes[0].memory or causes[0].jump).parameters
        root = believed(problem.torque, known)
        remembered = Memory(causes[0].name, parameters, known.mean, root, jump)
        state = replace(
            state,
            earlier=(number * known.noise.variance, number, _usual_inflation(state, known)),
            used=0.0,
            is_suspected=False,
            disruption=None,
            response=Response(),
            loud=(),
            memories=(*state.memories, remembered)[-_MOST_MEMORIES:],
        )
        state = _begun(state, Onset(known, rows, now_ns, before, visited))
        state = replace(state, branches=_answers(problem.torque, state, causes))
        for _ in range(_ONSET_STEPS):
            state = self._renewed(problem, state, now_ns, _Report())
            state = _begun(state, state.onset.moved(state.fit))
        causes, _ = self._causes_again(problem, state)
        state = replace(state, branches=_answers(problem.torque, state, causes))
        state = self._renewed(problem, state, now_ns, _Report())
        state = replace(state, memories=_renamed(state, state.last_change))
        report.events += ('changed',)
        report.explained(state.branches[0])
        return state

    def _asked_again(self, problem, state, now_ns, report):
        """Return the state with other answers to what has changed, where it is time to ask."""
        onset = state.onset
        if state.used > _SETTLED:
            return replace(state, onset=None, memories=_told_apart(state))
        if state.used < onset.asked * (1 + _ASKED_PART) + _ASKED_AGAIN:
            return state
        _, taken = judge(problem.torque, Disruption(onset.known, 0), state.recent)
        if taken.any():
            return self._taken_back(problem, state, taken, report)
        moved = replace(onset.moved(state.fit), asked=state.used)
        state = (
            replace(state, onset=moved) if moved.before == onset.before else _begun(state, moved)
        )
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
            branches = _answers(problem.torque, state, causes)
            state = replace(state, branches=branches, snapshots=())
        return self._renewed(problem, state, now_ns, report)

    def _taken_back(self, problem, state, taken, report):
        """
        Return the state of a robot that has not changed: torques were far off for a moment.

        taken [N, J]: which of the newest rows were so.
        """
        model, known, last = problem.torque, state.onset.known, state.last_change
        fit, name = state.fit, returned(last.name)
        prior = Gaussian(known.mean, believed(model, known))
        memory = Memory(name, last.parameters, fit.mean, fit.root)
        first = np.flatnonzero(taken.any(1))[-1] + 1
        recent, visited = state.recent[first:], state.visited[first:]
        sums = Sums.none(*state.sums.cross.shape)
        for _, rows in recent:
            sums = sums.plus(rows)
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
        low = np.where(np.isfinite(positions), positions, np.inf).min(0)
        high = np.where(np.isfinite(positions), positions, -np.inf).max(0)
        span = high - low
        moves = span > np.maximum(_MOVED, _MOVED_SDS * problem.torque.encoder_sd)
        if not moves.any():
            return state
        moved = state.moved + 1e-9 * _AT_ONCE * BLOCK_NS
        state = replace(state, moved=moved)
        marks = [*_LEARNED_AT, state.learned + _LEARNED_EVERY]
        due = next((mark for mark in marks if mark > state.learned), None)
        if state.is_surprised:
            due = min(due, state.learned + _LEARNED_AGAIN)
        if moved < due or len(times) < 3 * _CONTEXT_SAMPLES:
            return state
        # Of the samples at either end nobody knows whether they are far off.
        inner = slice(-_MOST_SAMPLES, -_LAG_SAMPLES)
        times, positions = times[inner][_LAG_SAMPLES:], positions[inner][_LAG_SAMPLES:]
        seconds, expected = 1e-9 * (times - times[0]), problem.torque.encoder_sd
        noise = learn_motion_noise(seconds, positions, expected)
        sound = _sound(positions, smoothed_motion(seconds, positions, noise)[0])
        if not np.array_equal(sound, positions, equal_nan=True):
            noise = learn_motion_noise(seconds, sound, expected)
        if state.noise is not None:
            # Motion that was slow of late may be fast again.
            noise = replace(noise, jerk=np.maximum(noise.jerk, state.noise.jerk))
        return replace(state, noise=noise, learned=moved, is_surprised=False)

    def _smoothed(self, state, seconds, positions):
        """
        Return (state, motion [3, N, n]) of a window of samples.

        Where the motion does not follow its samples, joints move in another way than was learned.
        """
        motion = smoothed_motion(seconds, positions, state.noise)
        missed = 1.48 * _median(np.abs(positions - motion[0]))
        if not (missed > _MISSED_SDS * state.noise.sd).any():
            return state, motion
        new, noise = learn_motion_noise(seconds, _sound(positions, motion[0])), state.noise
        is_off = missed > _MISSED_SDS * noise.sd
        jerk = np.where(is_off, np.maximum(new.jerk, noise.jerk), noise.jerk)
        # How good encoders are is learned from longer times, but soon.
        state = replace(state, noise=MotionNoise(jerk, noise.sd), is_surprised=True)
        return state, smoothed_motion(seconds, positions, state.noise)

    @staticmethod
    def _without_outliers(model, state, seconds, positions, motion):
        """
        Return (motion without samples that are far off, `away`, whether it is known).

        away [N, n]: positions [N, n] less the motion, zero where there is none. motion [3, N, n]:
        that is smoothed from all positions, at seconds [N].
        """
        off = np.abs(positions - motion[0]) > _OUTLIER_SDS * np.maximum(
            state.noise.sd, model.encoder_sd
        )
        is_known = not off.mean(0).max() > _MOST_OFF
        if off.any() and is_known:
            motion = smoothed_motion(seconds, np.where(off, np.nan, positions), state.noise)
        away = np.where(np.isfinite(positions) & ~off, positions - motion[0], 0.0)
        return motion, away, is_known

    def _rows(self, model, state, window, until_ns):
        """
        Return ((`Rows` of the torques up to a stamp, motion [3, K, n] at them), `Samples`).

        None instead of either where there are none. window: (stamps [N], how far positions [N, n]
        are from the motion, motion [3, N, n]).
        """
        times, away, motion = window
        origin = times[0]
        seconds = 1e-9 * (times - origin)
        used = [(ns, values) for ns, values in state.torques if ns < until_ns]
        if not used:
            return None, None
        stamps = np.array([ns for ns, _ in used])
        torques = np.array([values for _, values in used])
        at = motion_at(1e-9 * (stamps - origin), seconds, motion)
        moves = are_moving(seconds, motion[1][:, model.velocities], model.slowest)
        nearest = np.searchsorted(seconds, 1e-9 * (stamps - origin)).clip(0, len(seconds) - 1)
        usable = np.isfinite(torques) & moves[nearest]
        usable[stamps < times[0]] = False
        if not usable.any():
            return None, None
        columns = model.columns(*(part.T for part in at), state.fit.standard, state.geometry)
        predicted = state.fit.scales * (columns @ state.fit.standard)
        usable &= ~_outliers(torques - predicted, usable, model.limits)
        edges = np.arange(state.until_ns, until_ns, BLOCK_NS)
        numbers = np.searchsorted(stamps, edges)
        bounds = np.unique(np.append(numbers, len(stamps)))
        sizes = np.diff(bounds)[:, None]
        visited = np.stack([np.add.reduceat(part, bounds[:-1], axis=0) / sizes for part in at])
        rows = block_rows(columns, torques, usable, bounds), visited
        new = (times >= state.until_ns) & (times < until_ns)
        samples = Samples(times[new], away[new], stamps, torques - predicted, usable, at[0], at[2])
        return rows, samples

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
        kept = np.searchsorted(times, until_ns - _REMEMBERED_NS)
        torques = tuple(entry for entry in state.torques if entry[0] >= until_ns)
        return replace(state, motion=state.motion[kept:], torques=torques, until_ns=until_ns)


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
    visited = visited[:, :: -(-visited.shape[1] // _COMPARED)].transpose(0, 2, 1)
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
    recent, sums = [], Sums.none(*state.sums.cross.shape)
    for (end_ns, rows), motion in zip(state.recent, state.visited):
        columns = model.columns(*motion.transpose(0, 2, 1), fit.standard, geometry)
        recent.append((end_ns, with_columns(rows, columns)))
        sums = sums.plus(recent[-1][1])
    onset = state.onset
    if onset is not None:
        columns = model.columns(*onset.visited.transpose(0, 2, 1), fit.standard, geometry)
        onset = replace(onset, rows=with_columns(onset.rows, columns))
    return replace(
        state, geometry=geometry, recent=tuple(recent), sums=sums, onset=onset, snapshots=()
    )


def _prior_before_rows(problem, branch):
    """Return the prior of a `Branch` before any rows."""
    prior, memory = problem.prior, branch.memory
    if memory is None or memory.jump is None:
        return prior
    wide = np.hstack([prior.root, memory.jump.root])
    return Gaussian(prior.mean, np.linalg.qr(wide.T, 'r').T)


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


def _usual_inflation(state, found):
    """Return the inflation [J] of a `Fit` without that of elastic joints."""
    factor = np.where(state.is_elastic, ELASTIC_INFLATION, 1.0)
    return np.maximum(found.noise.inflation / factor, 1.0)


def _with_springs(model, state, report):
    """Return the state with the joints that give way like springs; each is told once."""
    if not state.response.windows:
        return state
    found = state.response.elastic(_inertias(model, state.fit), state.noise.sd)
    found = np.where(state.fit.noise.explained, found, np.nan)
    elastic = np.where(np.isnan(state.elastic), found, state.elastic)
    for row in np.flatnonzero(np.isnan(state.elastic) & ~np.isnan(elastic)):
        report.events += (f'elastic: {model.joints[row]} {elastic[row]:.0f} Hz',)
    return replace(state, elastic=elastic)


def _inertias(model, found):
    """Return the function from positions [K, n] to torques by accelerations of a `Fit`."""

    def inertias(positions):
        return found.scales[:, None] * model.inertias(positions.T, found.standard)

    return inertias


def motion_at(times, samples, motion):
    """
    Return positions, velocities, accelerations [3, M, n] at times [M] between samples [N].

    motion [3, N, n]: at the samples. Accelerations are straight between them.
    """
    before = np.clip(np.searchsorted(samples, times, side='right') - 1, 0, len(samples) - 2)
    step = samples[before + 1] - samples[before]
    since = (times - samples[before])[:, None]
    q, v, a = (part[before] for part in motion)
    jerk = (motion[2][before + 1] - a) / step[:, None]
    return np.stack(
        [
            q + since * (v + since * (a / 2 + since * jerk / 6)),
            v + since * (a + since * jerk / 2),
            a + since * jerk,
        ]
    )


def are_moving(samples, speeds, slowest):
    """
    Return [N, J] where a joint moves, at samples [N] s with speeds [N, J].

    Whoever turns round is slow for a moment only. Who is slow for longer may stick, and so may who
    has just begun to move.
    """
    is_slow = np.abs(speeds) < slowest
    since = np.where(is_slow, np.inf, samples[:, None])
    before = np.where(is_slow, -np.inf, samples[:, None])
    # The last instant of motion before each sample, and the first one after it.
    before = np.maximum.accumulate(before, 0)
    after = np.minimum.accumulate(since[::-1], 0)[::-1]
    before = np.maximum(before, samples[0])
    rests = is_slow & (np.minimum(after, samples[-1]) - before > _REST)
    last_rest = np.maximum.accumulate(np.where(rests, samples[:, None], -np.inf), 0)
    return (samples[:, None] - last_rest > _AFTER_REST) & (np.abs(speeds) > _CREEP * slowest)


def _sound(positions, smoothed):
    """Return positions [N, n] with NaN where one is far off what is smoothed, beside others."""
    away = np.abs(positions - smoothed)
    usual = 1.48 * _median(away)
    with np.errstate(invalid='ignore'):
        return np.where((away > _OUTLIER_SDS * usual) & (usual > 0), np.nan, positions)


def _median(values):
    """Return the medians of columns, zero of one without a number."""
    is_any = np.isfinite(values).any(0)
    result = np.zeros(values.shape[1])
    result[is_any] = np.nanmedian(values[:, is_any], 0)
    return result


def _outliers(residuals, usable, limits):
    """Return [M, J] where a torque is far off from all others about it."""
    # What is not usable is sorted to the end.
    order, middle = np.where(usable, residuals, np.inf), np.maximum(usable.sum(0) - 1, 0) // 2
    joints = np.arange(len(limits))
    with np.errstate(invalid='ignore'):
        centre = np.sort(order, 0)[middle, joints]
        spread = 1.48 * np.sort(np.abs(order - centre), 0)[middle, joints]
        return np.abs(residuals - centre) > _OUTLIER_SDS * np.maximum(spread, 5e-3 * limits)


def _are_known(state):
    """Tell which joints [J] have rows enough to be judged, and are explained by the model."""
    number = state.sums.number + (0.0 if state.earlier is None else state.earlier[1])
    return state.fit.noise.explained & (number >= ROWS_TO_JUDGE)


def _begun(state, onset):
    """Return the state of a robot that has changed at an `Onset`, another one than was thought."""
    later = [each for each in state.recent if each[0] > onset.end_ns]
    recent, visited = ((onset.end_ns, onset.since), *later), ()
    if onset.visited is not None:
        visited = (
            onset.visited[:, onset.before :],
            *state.visited[len(state.visited) - len(later) :],
        )
    sums = Sums.none(*state.sums.cross.shape)
    for _, rows in recent:
        sums = sums.plus(rows)
    return replace(state, onset=onset, sums=sums, recent=recent, visited=visited, snapshots=())


def _answers(model, state, causes):
    """Return the `Branch`es of the likeliest `Cause`s of the last change."""
    known, found = state.onset.known, []
    root, fits = believed(model, known), {}
    if state.last_change is not None:
        fits = {branch.memory.name: branch.fit for branch in state.branches}
    for cause in causes[:_MOST_BRANCHES]:
        if cause.memory is not None:
            prior = Gaussian(cause.memory.mean, cause.memory.root)
        else:
            wide = np.hstack([root, cause.jump.root])
            prior = Gaussian(known.mean, np.linalg.qr(wide.T, 'r').T)
        parameters = (cause.memory or cause.jump).parameters
        memory = Memory(cause.name, parameters, known.mean, root, cause.jump)
        begun = replace(known, mean=prior.mean, root=prior.root)
        more = favour(model.jumps(), cause)
        begun = fits.get(cause.name, begun)
        found.append(Branch(prior, begun, memory, cause.evidence, more))
    return _normalized(found)


def _told_apart(state):
    """Return the memories without what the robot is again, the newest of each name."""
    newest = {memory.name: memory for memory in state.memories}
    is_now = state.last_change.name
    return tuple(m for m in newest.values() if returned(m.name) != is_now)


def _renamed(state, change):
    """Return the memories, that of before the last change called by what it is put down to."""
    return tuple(
        replace(m, name=change.name, parameters=change.parameters)
        if state.onset is not None and m.mean is state.onset.known.mean
        else m
        for m in state.memories
    )


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


def _drifted(model, state, prior):
    """
    Return a state in which rows that are old are not of what friction is now.

    What they have told becomes the prior of rows to come, in which friction has moved on.
    """
    (branch, *others), sums = state.branches, state.sums
    if (
        others
        or state.disruption is not None
        or sums.number.max() * 1e-9 * BLOCK_NS < _DRIFTS_AFTER
    ):
        return state
    found = branch.fit
    root = _forgotten(_with_other_friction(model, found, _DRIFT), prior.root)
    number = np.minimum(sums.number, _DRIFT_ROWS)
    zero = Sums.none(*sums.cross.shape)
    return replace(
        state,
        branches=(replace(branch, prior=Gaussian(found.mean, root)),),
        sums=zero,
        earlier=(number * found.noise.variance, number, _usual_inflation(state, found)),
        # Only differences of sums are looked at.
        snapshots=tuple(replace(s, sums=s.sums.less(sums)) for s in state.snapshots),
    )


def _forgotten(root, prior):
    """
    Return a root [p, p] of a covariance of which a part has been forgotten; prior: that of first.

    Information is a mean of what it was and of the prior's: nothing gets less known than at
    first. Rows of many minutes are off in the same ways, which no noise of rows tells.
    """
    part = np.linalg.solve(prior, root)
    sizes, axes = np.linalg.eigh(part @ part.T)
    sizes = np.maximum(sizes, sizes / (_REMEMBERED + (1 - _REMEMBERED) * sizes))
    return np.linalg.qr((prior @ (axes * np.sqrt(np.maximum(sizes, 0.0)))).T, 'r').T


def _posterior(problem, state):
    """Return the `Mixture` of the possible answers, at the newest state that is known."""
    size, count = problem.tangent_size, len(problem.prior.mean)
    fits = [branch.fit for branch in state.branches]
    roots = np.zeros((len(fits), size + count, size + count))
    roots[:, size:, size:] = [believed(problem.torque, found) for found in fits]
    means = np.stack([found.mean for found in fits], 1)
    if state.by_geometry is not None:
        for k, found in enumerate(fits):
            away = problem.torque.geometry(found.mean) - state.geometry
            means[:, k] += state.by_geometry @ away
            # What is not known of lengths is not known of bodies that hang together with them.
            roots[k, size:, size:] = _sheared(problem, state.by_geometry, roots[k, size:, size:])
    weights = np.array([branch.log_weight for branch in state.branches])
    return Mixture(weights, _points(problem, state, len(fits)), means, roots)


def _sheared(problem, by_geometry, root):
    """Return a root [p, p] of the covariance of coordinates that move with geometry."""
    sheared = root + by_geometry @ root[problem.torque.geometry_places]
    return np.linalg.qr(sheared.T, 'r').T


def _points(problem, state, count):
    """Return the newest state [nx, K] that is known, for so many components."""
    point = problem.neutral.copy()
    if state.place is not None:
        known = np.concatenate(state.place)
        point[: len(known)] = known
    return np.repeat(point[:, None], count, 1)


def noise_in_words(model, noise):
    """Return 'noise of SENSOR FACTOR SD' of sensors that are far from as noisy as configured."""
    found = []
    for name, places in model.encoders.items():
        learned = float(np.median(noise.sd[places]))
        factor = learned / float(np.median(model.encoder_sd[places]))
        if not 1 / _QUESTIONED <= factor <= _QUESTIONED:
            found.append(f'noise of {name} {factor:.3g} {learned:.3g}')
    return tuple(found)


def poses_in_words(model, before, poses):
    """
    Return what is remarkable about new poses: noise, once, and sensors that are mostly off.

    before: `PoseFit` of before; 'noise of SENSOR PART FACTOR SD', 'poses off: SENSOR'.
    """
    found, fit = [], poses.fit
    if fit is before:
        return ()
    if poses.renewals == _FIRST_RENEWALS:
        for (sensor, part, sd), variance in zip(model.titles, fit.variance.tolist()):
            factor = variance**0.5
            if not 1 / _QUESTIONED <= factor <= _QUESTIONED:
                found.append(f'noise of {sensor} {part} {factor:.3g} {factor * sd:.3g}')
    for title, was, now in zip(model.titles, before.share, fit.share):
        if now < _MOSTLY <= was and f'poses off: {title[0]}' not in found:
            found.append(f'poses off: {title[0]}')
    return tuple(found)


def believed(model, found):
    """Return a root [p, p] of the covariance of a `Fit`: friction is never the same again."""
    return _with_other_friction(model, found, _LOSS_FLOOR)


def _with_other_friction(model, found, part):
    """Return a root [p, p] of the covariance of a `Fit` whose friction has changed by a part."""
    away = part * model.friction(found.mean)
    return np.linalg.qr(np.vstack([found.root.T, np.diag(away)]), 'r').T


def _weighed(sums, branches):
    """Return `Branch`es with their weights by all rows, the likeliest first, without the rest."""
    if len(branches) == 1:
        return tuple(branches)
    noise = branches[0].fit.noise
    number = sums.number / noise.inflation
    found = []
    for branch in branches:
        squares = noise.weights * sums.squares_left(branch.fit.standard, branch.fit.scales)
        away = np.linalg.solve(branch.prior.root, branch.fit.mean - branch.prior.mean)
        volume = np.linalg.slogdet(branch.fit.root)[1] - np.linalg.slogdet(branch.prior.root)[1]
        score = ((FREEDOM + number) * np.log1p(squares / FREEDOM)).sum() + away @ away
        log_weight = float(branch.favour + volume - score / 2)
        found.append(replace(branch, log_weight=log_weight))
    return _normalized(found)


def _normalized(branches):
    """Return `Branch`es the likeliest first, without those that are hardly possible."""
    branches = sorted(branches, key=lambda branch: -branch.log_weight)
    weights = np.exp([branch.log_weight - branches[0].log_weight for branch in branches])
    kept = weights >= _LEAST_WEIGHT
    logs = np.log(weights[kept] / weights[kept].sum())
    likely = [branch for branch, is_kept in zip(branches, kept) if is_kept]
    return tuple(replace(b, log_weight=float(w)) for b, w in zip(likely, logs))


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
