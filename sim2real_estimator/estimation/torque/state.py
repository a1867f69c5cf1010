"""
The state of the estimator of measured torques, and the posterior that follows from it.

A state holds a `Branch` for each cause of the last change that is still possible: these are the
components of the mixture. Old information is discounted: friction drifts, and errors of the model
are the same in rows of many minutes.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...records import UpdateReport
from ...reported_events import Explained, TorqueNotExplained
from ..changes.isolation import EarlierModel
from ..mixture import Mixture
from ..protocol import Gaussian
from .changes import FREEDOM, name_of_return, Onset, prior_log_odds
from .delay import Delay
from .elasticity import Response
from .joint_motion import MotionNoise
from .outliers import Disruption
from .poses import PoseState
from .regression import BLOCK_NS, Earlier, Fit, ROWS_TO_JUDGE, Sums
from .units import MisfitWatch

# Joints warm up and wear: within so many seconds of rows friction may drift by this part. After
# that the learned noise counts for so many rows.
_DRIFTS_AFTER, _DRIFT, _DRIFT_ROWS = 60.0, 0.03, 2000.0
# This part of the information beyond the prior is kept after that. Of an unchanged arm in MuJoCo
# standard deviations agreed with errors after a minute; after twenty they were 4.4 times too small
# without this.
_REMEMBERED = 0.5
# Branches: the least weight of one, and how many are kept.
_LEAST_WEIGHT, _MOST_BRANCHES = 0.01, 4
# Friction is not known better than to this part of its size, which its columns do not describe:
# with this, normalized squared errors are .5 (UR10e) to 1.1 (arms of little noise in MuJoCo),
# without it .9 to 9. When rows are compared with what was known earlier, friction may have drifted
# by the second part since then.
_FRICTION_MISFIT, _FRICTION_LATER = 0.035, 0.05


# That a joint is not explained is reported again only if it was explained at so many more
# posteriors than not since then: under a wrong mount an arm has joints that come and go.
_REPORTED_AGAIN = 40


@dataclass(frozen=True)
class Branch:
    """
    A possible cause of the last change: the prior of the rows since then, and their `Fit`.

    before: the `EarlierModel` that a change has ended, None where no change was found; log_weight:
    posterior probability of the cause; prior_log_odds: before any rows.
    """

    prior: Gaussian
    fit: Fit
    before: EarlierModel | None = None
    log_weight: float = 0.0
    prior_log_odds: float = 0.0


@dataclass(frozen=True)
class TorqueState:
    """
    All that is carried on.

    Samples. motion: (stamps [N] ns, positions [N, n]) of the newest encoder samples; torques:
    ((stamp_ns, torques and known wrenches [J + W]), ...) from shortly before until_ns on, the end
    of the last block; place: (positions, velocities) at that end.

    Noise of motion. noise: `MotionNoise`, None before any motion; moved, learned: seconds of
    motion so far, and when noise was learned last; is_noise_compared: whether learned noise has
    been compared with the configured one; is_noise_outdated: whether joints have begun to move in
    another way since it was learned.

    Rows. sums: of all `Rows` since the last change; earlier: noise of `Earlier` rows; recent:
    ((end_ns, `Rows`), ...), the newest; visited: motion [3, K, n] at each of these; used: seconds
    of rows since the last change; disruption: of torques that are far off just now; unexplained
    [J]: for how many more posteriors joints have to be explained until it is reported again that
    they are not; response: frequency `Response` of joints; elastic [J]: resonances of elastic
    joints [Hz], NaN of others; times_elastic: how often in a row any was found; delay: `Delay` of
    torques; coupled: pairs of numbers of joints that seem to share a motor; misfits: `MisfitWatch`
    for wrong units and mounts.

    Kinematics. poses: `PoseState` of motion capture, None where it observes no unknown; geometry:
    lengths and offsets with which columns of rows are computed, None: those of the prior;
    by_geometry [p, g]: derivative of coordinates by these at unchanged torques.

    Posterior. branches: possible causes of the last change, the likeliest first; renewed_ns,
    renewals: when the posterior was computed last, and how often; posterior: `Mixture` of all
    this.

    Changes. searched_ns: when changes were searched for last; snapshots: of the last seconds;
    is_change_pending: whether the last search found a change; earlier_models: of what was known
    before changes; onset: of the last change, while its cause is being isolated; noisy_searches
    [J]: how many searches in a row found a joint noisier.
    """

    branches: tuple
    sums: Sums
    motion: tuple
    torques: tuple = ()
    until_ns: int | None = None
    place: tuple | None = None
    noise: MotionNoise | None = None
    moved: float = 0.0
    learned: float = 0.0
    is_noise_compared: bool = False
    is_noise_outdated: bool = False
    earlier: Earlier | None = None
    recent: tuple = ()
    visited: tuple = ()
    used: float = 0.0
    disruption: Disruption | None = None
    unexplained: tuple = ()
    response: Response | None = None
    elastic: np.ndarray | None = None
    times_elastic: int = 0
    delay: Delay = Delay()
    coupled: tuple = ()
    misfits: MisfitWatch = MisfitWatch()
    poses: PoseState | None = None
    geometry: np.ndarray | None = None
    by_geometry: np.ndarray | None = None
    renewed_ns: int | None = None
    renewals: int = 0
    posterior: Mixture | None = None
    searched_ns: int | None = None
    snapshots: tuple = ()
    is_change_pending: bool = False
    earlier_models: tuple = ()
    onset: Onset | None = None
    noisy_searches: tuple = ()

    @property
    def fit(self):
        """The `Fit` of the likeliest cause."""
        return self.branches[0].fit

    @property
    def is_elastic(self):
        """Which joints [J] have been reported to be elastic."""
        return ~np.isnan(self.elastic)

    @property
    def is_undisturbed(self):
        """Whether no change has been found, and no torques are far off just now."""
        return self.model_before_change is None and self.disruption is None

    def without_responses(self):
        """Return the state without the frequency responses collected so far."""
        return replace(self, response=Response(), times_elastic=0)

    @property
    def model_before_change(self):
        """The `EarlierModel` that the last change has ended, None where there was none."""
        return self.branches[0].before


class Report:
    """Collects the events of an update."""

    def __init__(self):
        """Begin with no events."""
        self.events, self.changed = (), ()

    def explain(self, branch):
        """Report the cause of the last change, that of a `Branch`."""
        self.events += (Explained(branch.before.name, float(np.exp(branch.log_weight))),)
        self.changed = branch.before.parameters

    def of(self, stage):
        """Return the `UpdateReport`."""
        return UpdateReport(stage, events=self.events, changed=self.changed)


def with_unexplained(model, state, report):
    """Return the state with joints that are not explained reported, once while it lasts."""
    before = state.unexplained or (0,) * len(model.joints)
    explained = state.fit.noise.explained
    for joint, left, is_fine in zip(model.joints, before, explained):
        if not is_fine and not left:
            report.events += (TorqueNotExplained(joint),)
    return replace(state, unexplained=tuple(map(_left_to_explain, before, explained)))


def _left_to_explain(before, is_explained):
    """Return `unexplained` of a joint after another posterior; before: of the one before."""
    if is_explained:
        return max(before - 1, 0)
    return min(before + 1, _REPORTED_AGAIN) if before else _REPORTED_AGAIN


def old_root(model, found):
    """Return a root [p, p] of the covariance of an earlier `Fit`, plus the drift of friction."""
    return _with_friction_drift(model, found, _FRICTION_LATER)


def _with_friction_drift(model, found, part):
    """Return a root [p, p] of the covariance of a `Fit` whose friction drifts by a part."""
    covariance = found.root @ found.root.T
    covariance[np.diag_indices_from(covariance)] += (part * model.friction(found.mean)) ** 2
    # Scaled to ones: some coordinates are a million times as large as others.
    sd = np.sqrt(np.diag(covariance))
    return sd[:, None] * np.linalg.cholesky(covariance / sd / sd[:, None])


def are_well_known(state):
    """Tell which joints [J] have rows enough to be judged, and are explained by the model."""
    number = state.sums.number + (0.0 if state.earlier is None else state.earlier.number)
    return state.fit.noise.explained & (number >= ROWS_TO_JUDGE)


def restarted(state, onset):
    """Return the state of a robot changed at an `Onset`: its rows are those since then."""
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
    """Return a `Branch` for each of the likeliest `Cause`s of the last change."""
    known, found = state.onset.known, []
    root, fits = old_root(model, known), {}
    if state.model_before_change is not None:
        fits = {branch.before.name: branch.fit for branch in state.branches}
    for cause in causes[:_MOST_BRANCHES]:
        if cause.returns_to is not None:
            prior = Gaussian(cause.returns_to.mean, cause.returns_to.root)
        else:
            prior = after_change(Gaussian(known.mean, root), cause.jump)
        parameters = (cause.returns_to or cause.jump).parameters
        back = None if cause.returns_to is None else cause.returns_to.mean
        jump = cause.jump
        earlier = EarlierModel(cause.name, parameters, known.mean, root, jump, returns_to=back)
        begun = replace(known, mean=prior.mean, root=prior.root)
        more = prior_log_odds(cause)
        begun = fits.get(cause.name, begun)
        found.append(Branch(prior, begun, earlier, cause.evidence, more))
    return _normalized(found)


def after_change(gaussian, jump):
    """Return the `Gaussian` of a robot after a `ModelChange`, which adds to its covariance."""
    wide = np.hstack([gaussian.root, jump.root])
    return Gaussian(gaussian.mean, np.linalg.qr(wide.T, 'r').T)


def without_present(state):
    """
    Return the earlier_models to which the robot may return: the newest of each name.

    Not the one whose return the last change was: the robot is in that state.
    """
    newest = {each.name: each for each in state.earlier_models}
    is_now = state.model_before_change.name
    return tuple(m for m in newest.values() if name_of_return(m.name) != is_now)


def with_name_of_change(state, change):
    """Return the earlier_models, that of before the last change named after its cause."""
    return tuple(
        replace(m, name=change.name, parameters=change.parameters)
        if state.onset is not None and m.mean is state.onset.known.mean
        else m
        for m in state.earlier_models
    )


def with_weights(sums, branches):
    """Return `Branch`es weighted by all rows, the likeliest first, without improbable ones."""
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
        log_weight = float(branch.prior_log_odds + volume - score / 2)
        found.append(replace(branch, log_weight=log_weight))
    return _normalized(found)


def _normalized(branches):
    """Return `Branch`es with normalized weights, the likeliest first, without improbable ones."""
    branches = sorted(branches, key=lambda branch: -branch.log_weight)
    weights = np.exp([branch.log_weight - branches[0].log_weight for branch in branches])
    kept = weights >= _LEAST_WEIGHT
    logs = np.log(weights[kept] / weights[kept].sum())
    likely = [branch for branch, is_kept in zip(branches, kept) if is_kept]
    return tuple(replace(b, log_weight=float(w)) for b, w in zip(likely, logs))


def with_drift(model, state, prior):
    """
    Return a state in which old rows have become the prior of new ones, if it is time for it.

    Friction has drifted in that prior, and a part of its information is forgotten.
    """
    (branch, *others), sums = state.branches, state.sums
    if (
        others
        or state.disruption is not None
        or sums.number.max() * 1e-9 * BLOCK_NS < _DRIFTS_AFTER
    ):
        return state
    found = branch.fit
    root = _forgotten(_with_friction_drift(model, found, _DRIFT), prior.root)
    return replace(
        state,
        branches=(replace(branch, prior=Gaussian(found.mean, root)),),
        sums=sums.of(()),
        earlier=Earlier.of(sums, found.noise.of_rigid(state.is_elastic), _DRIFT_ROWS),
        # Only differences of sums are used.
        snapshots=tuple(replace(s, sums=s.sums.less(sums)) for s in state.snapshots),
    )


def _forgotten(root, prior):
    """
    Return a root [p, p] of a covariance after exponential forgetting; prior: the first root.

    The information becomes a mean of what it was and of the prior's, so that no direction is less
    known than in the prior. Errors of the model are the same in rows of many minutes, which no
    noise of rows describes.
    """
    part = np.linalg.solve(prior, root)
    sizes, axes = np.linalg.eigh(part @ part.T)
    sizes = np.maximum(sizes, sizes / (_REMEMBERED + (1 - _REMEMBERED) * sizes))
    return np.linalg.qr((prior @ (axes * np.sqrt(np.maximum(sizes, 0.0)))).T, 'r').T


def posterior_of(problem, state):
    """Return the `Mixture` of the possible causes, at the newest known state of the robot."""
    size, count = problem.tangent_size, len(problem.prior.mean)
    fits = [branch.fit for branch in state.branches]
    roots = np.zeros((len(fits), size + count, size + count))
    roots[:, size:, size:] = [
        _with_friction_drift(problem.torque, found, _FRICTION_MISFIT) for found in fits
    ]
    means = np.stack([found.mean for found in fits], 1)
    if state.by_geometry is not None:
        for k, found in enumerate(fits):
            away = problem.torque.geometry(found.mean) - state.geometry
            means[:, k] += state.by_geometry @ away
            # Uncertainty of lengths adds to that of the bodies that are correlated with them.
            roots[k, size:, size:] = _sheared(problem, state.by_geometry, roots[k, size:, size:])
    weights = np.array([branch.log_weight for branch in state.branches])
    return Mixture(weights, points_of(problem, state, len(fits)), means, roots)


def _sheared(problem, by_geometry, root):
    """Return a root [p, p] of the covariance of coordinates that depend on geometry."""
    sheared = root + by_geometry @ root[problem.torque.geometry_places]
    return np.linalg.qr(sheared.T, 'r').T


def points_of(problem, state, count):
    """Return the newest known state of the robot [nx, K], for so many components."""
    point = problem.neutral.copy()
    if state.place is not None:
        known = np.concatenate(state.place)
        point[: len(known)] = known
    return np.repeat(point[:, None], count, 1)
