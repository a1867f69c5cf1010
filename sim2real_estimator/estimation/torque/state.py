"""
What is carried on about a robot whose torques are measured, and the posterior that follows.

A state holds one `Branch` for each answer to what has changed last that is still possible: these
are the components of the mixture. What is old is let go of: friction drifts, and rows of many
minutes are off in the same ways.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...records import UpdateReport
from ..changes.isolation import Memory
from ..mixture import Mixture
from ..protocol import Gaussian
from .changes import favour, FREEDOM, name_of_return, Onset
from .delay import Delay
from .elasticity import Response
from .joint_motion import MotionNoise
from .outliers import Disruption
from .poses import PoseState
from .regression import BLOCK_NS, Earlier, Fit, ROWS_TO_JUDGE, Sums
from .units import Watch

# Friction warms up and wears: in so many seconds of rows it may change by this part, and what is
# known of the noise counts for so many rows then.
_DRIFTS_AFTER, _DRIFT, _DRIFT_ROWS = 60.0, 0.03, 2000.0
# This part of the information of all else is kept then: an arm in MuJoCo that nothing happened to
# was as sure as it is good after a minute, and 4.4 times as sure after twenty without this.
_REMEMBERED = 0.5
# Answers to what has changed: the least weight of one, and how many are carried on.
_LEAST_WEIGHT, _MOST_BRANCHES = 0.01, 4
# Friction is never known better than this part of it, which its columns do not describe: with it
# mean squared errors are .5 (UR10e) to 1.1 (arms of little noise in MuJoCo), without it .9 to 9.
# When a change is asked for, this part may be another: it is another tomorrow.
_LOSS_FLOOR, _OTHER_TOMORROW = 0.035, 0.05


# That a joint is not explained is said again only if it was not for so many posteriors, less those
# at which it was: under a wrong mount an arm has joints that come and go.
_SAID_AGAIN = 40


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
    robot changed last; motion: (stamps [N] ns, positions [N, n]) of the newest samples; earlier:
    what `Earlier` rows tell of noise; recent: ((end_ns, `Rows`), ...), the newest; torques:
    ((stamp_ns, torques and known wrenches [J + W]), ...) from shortly before until_ns on: the end
    of the last block; noise: `MotionNoise`, None before any motion; moved, learned: seconds of
    motion, and of those when noise was learned last; used: seconds of rows since the last change;
    renewed_ns, looked_ns: when the posterior was worked out, and when changes were looked for;
    renewals: how often; snapshots: of the last seconds; memories: of what was known before
    changes; onset: of the last change, while it is still asked what it was; disruption: of torques
    that are far off just now; loud [J]: looks on end that found joints noisier; is_change_pending:
    whether the last look found a change; place: (positions, velocities) at the end of the newest
    block; posterior: `Mixture` of all this; is_questioned: whether the noise of encoders was held
    against what is configured; is_surprised: whether joints have moved in another way than was
    learned since;
    poses: `PoseState` of what motion capture has seen, None where it tells of nothing unknown;
    geometry: lengths and offsets by which the columns of rows are made, None: as the prior has
    them; visited: motion [3, K, n] at the rows of each of `recent`; by_geometry [p, g]: how
    coordinates move with these if torques are to stay what they are; response: of joints to
    frequency; elastic [J]: resonances of those that are said to give way like springs [Hz], NaN of
    others; swings: looks on end that found any; delay: `Delay` of torques; coupled: pairs of
    numbers of joints that seem to share a motor; unexplained [J]: in how many renewals more joints
    have to be explained until it is told again that they are not; misfits: `Watch` for wrong units
    and mounts.
    """

    branches: tuple
    sums: Sums
    motion: tuple
    earlier: Earlier | None = None
    recent: tuple = ()
    torques: tuple = ()
    until_ns: int | None = None
    noise: MotionNoise | None = None
    moved: float = 0.0
    learned: float = 0.0
    used: float = 0.0
    renewed_ns: int | None = None
    searched_ns: int | None = None
    renewals: int = 0
    snapshots: tuple = ()
    memories: tuple = ()
    onset: Onset | None = None
    disruption: Disruption | None = None
    noisy_searches: tuple = ()
    is_change_pending: bool = False
    place: tuple | None = None
    posterior: Mixture | None = None
    is_noise_compared: bool = False
    is_noise_outdated: bool = False
    poses: PoseState | None = None
    geometry: np.ndarray | None = None
    visited: tuple = ()
    by_geometry: np.ndarray | None = None
    response: Response | None = None
    elastic: np.ndarray | None = None
    times_elastic: int = 0
    delay: Delay = Delay()
    coupled: tuple = ()
    unexplained: tuple = ()
    misfits: Watch = Watch()

    @property
    def fit(self):
        """The `Fit` of the likeliest answer."""
        return self.branches[0].fit

    @property
    def is_elastic(self):
        """Which joints [J] are said to give way like springs."""
        return ~np.isnan(self.elastic)

    @property
    def is_undisturbed(self):
        """Whether no change has been found, and no torques are far off just now."""
        return self.last_change is None and self.disruption is None

    def without_responses(self):
        """Return the state without the frequency responses collected so far."""
        return replace(self, response=Response(), times_elastic=0)

    @property
    def last_change(self):
        """The `Memory` of what was known before the last change, None where there was none."""
        return self.branches[0].memory


class Report:
    """Collects the events of an update."""

    def __init__(self):
        """Begin with no events."""
        self.events, self.changed = (), ()

    def explain(self, branch):
        """Report the cause of the last change, that of a `Branch`."""
        weight = np.exp(branch.log_weight)
        self.events += ('explained', f'cause: {branch.memory.name} ({weight:.2f})')
        self.changed = branch.memory.parameters

    def of(self, stage):
        """Return the `UpdateReport`."""
        return UpdateReport(stage, events=self.events, changed=self.changed)


def with_unexplained(model, state, report):
    """Return the state with joints that are not explained reported, once while it lasts."""
    before = state.unexplained or (0,) * len(model.joints)
    explained = state.fit.noise.explained
    for joint, left, is_fine in zip(model.joints, before, explained):
        if not is_fine and not left:
            report.events += (f'not explained: {joint}',)
    unexplained = tuple(
        max(left - 1, 0) if is_fine else min(left + 1, _SAID_AGAIN) if left else _SAID_AGAIN
        for left, is_fine in zip(before, explained)
    )
    return replace(state, unexplained=unexplained)


def old_root(model, found):
    """Return a root [p, p] of the covariance of a `Fit` of before: friction is another now."""
    return _with_other_friction(model, found, _OTHER_TOMORROW)


def _with_other_friction(model, found, part):
    """Return a root [p, p] of the covariance of a `Fit` whose friction has changed by a part."""
    covariance = found.root @ found.root.T
    covariance[np.diag_indices_from(covariance)] += (part * model.friction(found.mean)) ** 2
    # Numbers of one size: some coordinates are a million times as large as others.
    sd = np.sqrt(np.diag(covariance))
    return sd[:, None] * np.linalg.cholesky(covariance / sd / sd[:, None])


def are_well_known(state):
    """Tell which joints [J] have rows enough to be judged, and are explained by the model."""
    number = state.sums.number + (0.0 if state.earlier is None else state.earlier.number)
    return state.fit.noise.explained & (number >= ROWS_TO_JUDGE)


def restarted(state, onset):
    """Return the state of a robot that has changed at an `Onset`, another one than was thought."""
    later = [each for each in state.recent if each[0] > onset.end_ns]
    recent, visited = ((onset.end_ns, onset.since), *later), ()
    if onset.visited is not None:
        visited = (
            onset.visited[:, onset.before :],
            *state.visited[len(state.visited) - len(later) :],
        )
    sums = state.sums.of(rows for _, rows in recent)
    return replace(state, onset=onset, sums=sums, recent=recent, visited=visited, snapshots=())


def branches_of(model, state, causes):
    """Return the `Branch`es of the likeliest `Cause`s of the last change."""
    known, found = state.onset.known, []
    root, fits = old_root(model, known), {}
    if state.last_change is not None:
        fits = {branch.memory.name: branch.fit for branch in state.branches}
    for cause in causes[:_MOST_BRANCHES]:
        if cause.memory is not None:
            prior = Gaussian(cause.memory.mean, cause.memory.root)
        else:
            prior = after_change(Gaussian(known.mean, root), cause.jump)
        parameters = (cause.memory or cause.jump).parameters
        memory = Memory(cause.name, parameters, known.mean, root, cause.jump)
        begun = replace(known, mean=prior.mean, root=prior.root)
        more = favour(model.jumps(), cause)
        begun = fits.get(cause.name, begun)
        found.append(Branch(prior, begun, memory, cause.evidence, more))
    return _normalized(found)


def after_change(gaussian, jump):
    """Return the `Gaussian` of a robot that has changed by a `ModelChange`."""
    wide = np.hstack([gaussian.root, jump.root])
    return Gaussian(gaussian.mean, np.linalg.qr(wide.T, 'r').T)


def without_present(state):
    """Return the memories without what the robot is again, the newest of each name."""
    newest = {memory.name: memory for memory in state.memories}
    is_now = state.last_change.name
    return tuple(m for m in newest.values() if name_of_return(m.name) != is_now)


def with_name_of_change(state, change):
    """Return the memories, that of before the last change called by what it is put down to."""
    return tuple(
        replace(m, name=change.name, parameters=change.parameters)
        if state.onset is not None and m.mean is state.onset.known.mean
        else m
        for m in state.memories
    )


def with_weights(sums, branches):
    """Return `Branch`es with their weights by all rows, the likeliest first, without the rest."""
    if len(branches) == 1:
        return tuple(branches)
    noise = branches[0].fit.noise.of_changes
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


def with_drift(model, state, prior):
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
    return replace(
        state,
        branches=(replace(branch, prior=Gaussian(found.mean, root)),),
        sums=sums.of(()),
        earlier=Earlier.of(sums, found.noise.of_rigid(state.is_elastic), _DRIFT_ROWS),
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


def posterior_of(problem, state):
    """Return the `Mixture` of the possible answers, at the newest state that is known."""
    size, count = problem.tangent_size, len(problem.prior.mean)
    fits = [branch.fit for branch in state.branches]
    roots = np.zeros((len(fits), size + count, size + count))
    roots[:, size:, size:] = [
        _with_other_friction(problem.torque, found, _LOSS_FLOOR) for found in fits
    ]
    means = np.stack([found.mean for found in fits], 1)
    if state.by_geometry is not None:
        for k, found in enumerate(fits):
            away = problem.torque.geometry(found.mean) - state.geometry
            means[:, k] += state.by_geometry @ away
            # What is not known of lengths is not known of bodies that hang together with them.
            roots[k, size:, size:] = _sheared(problem, state.by_geometry, roots[k, size:, size:])
    weights = np.array([branch.log_weight for branch in state.branches])
    return Mixture(weights, points_of(problem, state, len(fits)), means, roots)


def _sheared(problem, by_geometry, root):
    """Return a root [p, p] of the covariance of coordinates that move with geometry."""
    sheared = root + by_geometry @ root[problem.torque.geometry_places]
    return np.linalg.qr(sheared.T, 'r').T


def points_of(problem, state, count):
    """Return the newest state [nx, K] that is known, for so many components."""
    point = problem.neutral.copy()
    if state.place is not None:
        known = np.concatenate(state.place)
        point[: len(known)] = known
    return np.repeat(point[:, None], count, 1)
