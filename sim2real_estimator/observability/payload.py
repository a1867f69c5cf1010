"""
The payload: what a link holds, as ten numbers with their covariance.

A change of the robot is a `ModelChange` on top of an `EarlierModel`; data since then observe the
robot and its payload only together. `PayloadHistory` keeps, from change to change, which posterior
was that of the robot without payload and what has been attached since. `estimate_payload` is then
one small least-squares problem, in robot and payload at once: the prior is the posterior of
before, which keeps the cross-covariance with the posterior of now, and what the data since have
added is the measurement. So a payload is as well known as the difference of the two posteriors
allows, in any coordinates, those with logarithms included.

The body has the ten numbers in which rigidly connected bodies add up: mass, first moments, and
inertia about the frame of the link. If no body can have the ten that fit best, the mean is the
nearest one that a body can have, in the metric of the covariance: a pseudo-inertia matrix that is
positive definite (Wensing, Kim and Slotine 2018).
"""

from dataclasses import dataclass, replace

import numpy as np

from ..estimation.mixture import Mixture
from ..estimation.protocol import ModelChange
from ..model.body_numbers import about_frame, at_centre, inertias, second_moments
from ..records import Payload, PayloadReason
from ..reported_events import Explained, Happened
from .null_space import Slice

# How many earlier payloads are remembered: estimators remember three earlier models.
_MOST_PAST = 6
# Least squares: most steps, and halvings of one.
_STEPS, _HALVINGS = 30, 12
# How exactly robot and payload together have the coordinates of now, in their standard deviations:
# loosely at first, since exact equations make a narrow, curved valley.
# And the length of the last step with each, in prior deviations.
_EXACT = (1.0, 1e-2), (1e-2, 1e-2), (1e-3, 1e-7)
# To this part of a standard deviation they are reached where there is such a payload.
_REACHED = 0.1
# Deviations of the coordinates of now are no smaller than this part of the prior's.
_CERTAIN = 1e-6
# Step of numerical derivatives, in prior deviations.
_STEP = 1e-5
# The nearest possible body: weights of the barrier, one after the other, and Newton steps with
# each.
_BARRIERS, _NEWTON_STEPS = (1.0, 0.1, 0.01, 1e-3), 30
# A payload lighter than so many of its standard deviations is none.
_NONE = 1.0
# So many standard deviations below zero: a body of before is missing.
_RELEASED = 3.0
# From the house's order xx, yy, zz, xy, xz, yz to that of geometry_msgs/Inertia, and back.
TO_MESSAGE = np.array([0, 3, 4, 1, 5, 2])
# The events, other than an explanation, that end the isolation of a change.
_ISOLATED = Happened.MOTION_LOST, Happened.HANDED_OVER, Happened.RESUMED


@dataclass(frozen=True)
class PayloadSettings:
    """
    What is asked of the payload.

    link: that holds it, empty: the link of the last change; frame: in which it is given, empty:
    that of the link; rotation [3, 3], origin [3]: of that frame in the link's; is_nominal: whether
    it is what differs from the robot description; known [10]: a body that the robot has held from
    the beginning and that its model includes, about the frame of the link.
    """

    link: str = ''
    frame: str = ''
    rotation: np.ndarray | None = None
    origin: np.ndarray | None = None
    is_nominal: bool = False
    known: np.ndarray | None = None


@dataclass(frozen=True)
class Attached:
    """
    What the robot has picked up since it had no payload.

    mean [p], root [p, p]: the posterior just before; at [P], spread [P, r]: all its parameters
    then, as inner coordinates, and a root of their covariance, its first p columns of the same
    unknowns as those of `root`; changes: the `ModelChange`s since, of any kind. None of them: it
    has no payload.
    """

    mean: np.ndarray | None = None
    root: np.ndarray | None = None
    at: np.ndarray | None = None
    spread: np.ndarray | None = None
    changes: tuple = ()

    @property
    def links(self):
        """The links that hold something, the last one first, each once."""
        found = [change.link for change in self.changes if change.body is not None]
        return tuple(dict.fromkeys(reversed(found)))

    def after(self, earlier, tangents):
        """
        Return this after a change.

        earlier: the `EarlierModel` that the change has ended; tangents: `Tangents` near it.
        """
        jump = earlier.left_by
        if not self.links:
            if jump is None or jump.body is None:
                return Attached()
            mean, root = earlier.mean[:, None], earlier.root[None]
            alone = Mixture(np.zeros(1), np.zeros((0, 1)), mean, root)
            known = earlier.mean, earlier.root, *tangents.spread(alone)
            return Attached(*known, (_compressed(jump),))
        if jump is None or not jump.root.shape[1]:
            return self
        *others, last = self.changes
        if (last.link, last.body is None) != (jump.link, jump.body is None):
            return replace(self, changes=(*self.changes, _compressed(jump)))
        # Changes of one kind in a row are one.
        together = np.concatenate([last.root, jump.root], 1)
        body = None
        if jump.body is not None:
            body = np.concatenate([last.body, jump.body], 1)
        merged = ModelChange(jump.name, jump.parameters, together, body, jump.link)
        return replace(self, changes=(*others, _compressed(merged)))


def _compressed(jump):
    """Return the same `ModelChange` with no more columns than rows."""
    body = np.zeros((0, jump.root.shape[1])) if jump.body is None else jump.body
    together, size = np.concatenate([jump.root, body]), len(jump.root)
    if together.shape[1] <= len(together):
        return jump
    together = np.linalg.qr(together.T, 'r').T
    body = None if jump.body is None else together[size:]
    return replace(jump, root=together[:size], body=body)


@dataclass(frozen=True)
class PayloadHistory:
    """
    The payload from change to change.

    now: what is `Attached`; past: (mean [p] of the `EarlierModel` that a change has ended, what
    was `Attached` until then), ...; name: of the last change; probability: of its cause;
    link: that has held something last; is_begun: whether there is a posterior beyond the first
    fits; is_pending: whether a change is being isolated; is_lost: whether all was estimated anew,
    so that data cannot tell what was held before; tentative: what is `Attached` by the likeliest
    cause of a change that is being isolated.
    """

    now: Attached = Attached()
    past: tuple = ()
    name: str = ''
    probability: float = 1.0
    link: str = ''
    is_begun: bool = False
    is_pending: bool = False
    is_lost: bool = False
    tentative: Attached | None = None

    def after(self, report, earlier, tangents):
        """
        Return the history after an `UpdateReport`.

        earlier: the `EarlierModel` that the last change has ended, None where there was none;
        tangents: `Tangents` of before this update.
        """
        new = self
        for event in report.events:
            if event is Happened.FORGOTTEN:
                new = PayloadHistory(is_lost=True)
            elif event is Happened.CHANGED:
                new = replace(new, is_pending=True)
            elif event in _ISOLATED:
                new = replace(new, is_pending=False)
            elif isinstance(event, Explained):
                known = 1.0 if event.probability is None else float(event.probability)
                new = replace(new, is_pending=False, probability=known)
        if not new.is_begun and report.stage == 'filter':
            new = replace(new, is_begun=True)
        new = replace(new, tentative=None)
        if earlier is None:
            return new
        if new.is_pending:
            return replace(new, tentative=new._with_change(earlier, tangents).now)
        return new._with_change(earlier, tangents)

    def _with_change(self, earlier, tangents):
        """Return the history with the change that has ended an `EarlierModel`, if it is new."""
        places = [k for k, (mean, _) in enumerate(self.past) if np.array_equal(mean, earlier.mean)]
        if places and places[-1] == len(self.past) - 1 and self.name == earlier.name:
            return self
        # The last change may be put down to another cause later.
        before = self.past[places[-1]][1] if places else self.now
        past = self.past[: places[-1]] if places else self.past
        back = None
        if earlier.returns_to is not None:
            back = next(
                (a for mean, a in reversed(past) if np.array_equal(mean, earlier.returns_to)), None
            )
        now = before.after(earlier, tangents) if back is None else back
        past = (*past, (earlier.mean, before))[-_MOST_PAST:]
        link = (*now.links, self.link)[0]
        # What was held then is remembered no longer.
        is_lost = self.is_lost or (back is None and earlier.returns_to is not None)
        return replace(self, now=now, past=past, name=earlier.name, link=link, is_lost=is_lost)


def estimate_payload(problem, mixture, history, stamp_ns, obstacle=None):
    """
    Return the `Payload` of a robot.

    problem: a `RobotProblem`, whose `payload` are the `PayloadSettings`; mixture: the posterior;
    history: the `PayloadHistory`; obstacle: `PayloadReason` why the posterior is not to be relied
    on, None: it is.
    """
    settings = problem.payload
    now = history.tentative or history.now
    link = settings.link or (*now.links, history.link)[0]
    # What is held, about the frame of the link.
    mean, covariance = np.zeros(10), np.zeros((10, 10))
    if settings.is_nominal:
        mean, covariance = _against_nominal(problem, mixture, now, link)
    elif link in now.links:
        mean, covariance = _since(problem, mixture, now, link)
    mean = mean if settings.known is None else mean + settings.known
    is_found = bool(np.isfinite(covariance).all())
    # No body, or one that can be.
    reason, sd = _reason(history, settings, link, obstacle), np.sqrt(covariance[0, 0])
    if reason is PayloadReason.NONE and not is_found:
        reason = PayloadReason.NOT_FOUND
    if reason is PayloadReason.NONE and mean[0] < -_RELEASED * sd:
        reason = PayloadReason.RELEASED
    if not mean[0] > max(_NONE * sd, 0.0):
        mean, slope = np.zeros(10), np.eye(10)
    else:
        mean = _nearest_possible(mean, covariance)
        mean, slope = _expanded(lambda body: _in_frame(body, settings), mean)
    order = np.array([0, 1, 2, 3, *(4 + TO_MESSAGE)])
    return Payload(
        link,
        settings.frame or link,
        stamp_ns,
        mean[order],
        (slope @ covariance @ slope.T)[np.ix_(order, order)],
        history.probability,
        reason,
    )


def _reason(history, settings, link, obstacle):
    """Return the `PayloadReason` why a payload is not valid."""
    if history.is_lost and not settings.is_nominal:
        return PayloadReason.FORGOTTEN
    if not history.is_begun:
        return PayloadReason.UNKNOWN
    if history.is_pending:
        return PayloadReason.CHANGING
    if obstacle is not None:
        return obstacle
    if any(other != link for other in history.now.links):
        return PayloadReason.OTHER_LINK
    return PayloadReason.NONE


def _since(problem, mixture, attached, link):
    """Return (mean [10], covariance [10, 10]) of what a link has picked up, about its frame."""
    root, rest = attached.root, attached.spread.shape[1] - attached.root.shape[1]
    known = attached.mean, np.concatenate([root, np.zeros((len(root), rest))], 1)
    before = attached.at, attached.spread, *known
    own, others = _split(attached.changes, link, len(root))
    assumed = np.concatenate([root, *(c.root for c in attached.changes)], 1)
    return _estimated(_Robot(problem, link), before, others, own, assumed, mixture)


def _against_nominal(problem, mixture, attached, link):
    """Return the same of what differs from the robot description on a link."""
    prior, inner = problem.prior, problem.parametrization.inner
    possible, _ = _split(problem.possible_changes(), link, len(prior.mean))
    if not possible.shape[1]:
        return np.zeros(10), np.zeros((10, 10))
    robot, root = _Robot(problem, link), np.array(inner.prior.root)
    root[robot.rows] = 0.0
    _, others = _split(attached.changes, link, len(prior.mean))
    assumed = np.concatenate([prior.root, *(c.root for c in attached.changes)], 1)
    combinations = problem.parametrization.combinations
    before = np.array(inner.prior.mean), root, prior.mean, combinations @ root
    return _estimated(robot, before, others, possible, assumed, mixture)


def _split(changes, link, size):
    """Return (bodies [10, r] on a link, roots [p, s] of the other changes)."""
    own = [c.body for c in changes if c.body is not None and c.link == link]
    others = [c.root for c in changes if c.body is None or c.link != link]
    none = np.zeros((10, 0)), np.zeros((size, 0))
    return np.concatenate([none[0], *own], 1), np.concatenate([none[1], *others], 1)


class _Robot:
    """The coordinates of a robot with a body on one of its links."""

    def __init__(self, problem, link):
        """Take the `RobotProblem` and the name of the link."""
        parametrization = self._parametrization = problem.parametrization
        self._inner = inner = parametrization.inner
        names = problem.parameters.inertial_names(link)
        self._places = [k for k, name in enumerate(names) if name in inner.names]
        self.rows = [inner.names.index(names[k]) for k in self._places]
        fixed = dict(zip(names, problem.parameters.nominal(names))) | parametrization.fixed
        self._fixed = np.array([fixed[name] for name in names])
        self._held = [axis for axis in range(3) if 1 + axis not in self._places]
        # Where bodies are coordinates, they add up.
        self._adds = link in getattr(inner, 'links', {})
        self._reference = parametrization.embed(np.zeros((len(parametrization.labels), 1)))
        self._slice = None if parametrization.is_straight else Slice(parametrization)

    def with_body(self, robots, bodies):
        """Return robots [P, B], inner coordinates, with bodies [10, B] on the link; NaN: none."""
        if self._adds:
            together = np.array(robots)
            together[self.rows] += bodies[self._places]
            return together
        values, numbers = self._numbers(robots)
        mass, centre, _ = at_centre((numbers + bodies).T)
        # Where the centre is held fixed, the inertia is estimated as if it were there.
        centre[:, self._held] = self._fixed[1:4][self._held]
        shifted = about_frame(mass, centre, np.zeros((len(mass), 6)))[:, 4:]
        inertia = (numbers + bodies)[4:].T - shifted
        together = np.concatenate([mass[:, None], centre, inertia], 1).T
        values[self.rows] = together[self._places]
        return self._inner.from_named(values)

    def _numbers(self, robots):
        """Return (values [P, B] of robots, ten numbers [10, B] of the link about its frame)."""
        values = self._inner.to_named(robots)
        ten = np.repeat(self._fixed[:, None], robots.shape[1], 1)
        ten[self._places] = values[self.rows]
        return values, about_frame(ten[0], ten[1:4].T, ten[4:].T).T

    def straight(self, coordinates):
        """
        Return numbers [P, B] that depend on a body almost linearly, of coordinates [p, B].

        They are inner coordinates, but of the link the numbers in which bodies add up.
        """
        inner = self._parametrization.embed(coordinates)
        if not self._adds:
            inner = np.array(inner)
            inner[self.rows] = self._numbers(inner)[1][self._places]
        return inner

    def straight_slope(self, coordinates):
        """Return the derivative [P, p] of `straight` at coordinates [p]."""
        moved = _STEP * np.eye(len(coordinates))
        ahead, behind = (self.straight(coordinates[:, None] + x) for x in (moved, -moved))
        return (ahead - behind) / (2 * _STEP)

    def coordinates(self, robot):
        """Return (coordinates [p] of a robot [P], their derivative [p, P])."""
        if self._slice is not None:
            return self._slice.coordinates(robot)
        combinations = self._parametrization.combinations
        return combinations @ (robot - self._reference[:, 0]), combinations


def _estimated(robot, before, others, bodies, assumed, mixture):
    """
    Return (mean [10], covariance [10, 10]) of a body, about the frame of its link.

    before: mean [P] and root [P, r] of the robot without it, and [p], [p, r] of its coordinates,
    which are the same along the null space, where straight lines leave its curves; others [p, s]:
    root of other changes since; bodies [10, q]: of the prior of the body; assumed [p, n]: of the
    prior of the robot with it, from which the estimator has come to the mixture.

    As in a Rauch-Tung-Striebel smoother: given the coordinates of now, robot and body are those of
    the prior that have them together, by Gauss-Newton; the uncertainty of the coordinates comes on
    top. The unknowns are whitened: robot [r], other changes [s], body [10].
    """
    (at, root, mean, by_unknowns), body = before, np.linalg.qr(bodies.T, 'r').T
    now, covariance = mixture.moments()
    # In standard deviations of now; of directions without any, of the prior.
    spread = covariance + _CERTAIN**2 * assumed @ assumed.T
    scale = np.sqrt(np.diag(spread))
    whitening = np.linalg.inv(np.linalg.cholesky(spread / scale / scale[:, None])) / scale
    wanted = robot.straight(now[:, None])[:, 0]
    straighten = whitening @ np.linalg.pinv(robot.straight_slope(now), rcond=1e-12)
    count, first = root.shape[1], root.shape[1] + others.shape[1]
    size = first + body.shape[1]
    moved = _STEP * np.eye(size)[:, [*range(count), *range(first, size)]]

    def rows(unknowns, exact):
        """Return (residuals [p + size] at unknowns [size], their derivative), None: no robot."""
        each = unknowns[:, None] + np.concatenate([np.zeros((size, 1)), moved, -moved], 1)
        bare = at[:, None] + root @ each[:count]
        robots = robot.with_body(bare, body @ each[first:])
        if not np.isfinite(robots).all():
            return None
        ahead, behind = np.split(robots[:, 1:], 2, 1)
        found, slope = robot.coordinates(robots[:, 0])
        without, bare_slope = robot.coordinates(bare[:, 0])
        found = found - without + mean + by_unknowns @ unknowns[:count]
        found = found + others @ unknowns[count:first]
        by_each = slope @ ((ahead - behind) / (2 * _STEP))
        by_robot = by_each[:, :count] - bare_slope @ root + by_unknowns
        by_each = np.concatenate([by_robot, others, by_each[:, count:]], 1)
        if not (np.isfinite(found).all() and np.isfinite(by_each).all()):
            return None
        left = straighten @ (wanted - robot.straight(found[:, None])[:, 0]) / exact
        by_each = straighten @ robot.straight_slope(found) @ by_each
        system = np.concatenate([by_each / exact, np.eye(size)])
        return np.concatenate([left, -unknowns]), system

    unknowns = np.zeros(size)
    for exact, shortest in _EXACT:
        there = rows(unknowns, exact)
        for _ in range(_STEPS):
            left, system = there
            step, cost = np.linalg.lstsq(system, left, rcond=None)[0], left @ left
            for _ in range(_HALVINGS):
                there = rows(unknowns + step, exact)
                if there is not None and there[0] @ there[0] <= cost:
                    break
                step = step / 2
            else:
                there = left, system
                break
            unknowns = unknowns + step
            if np.abs(step).max() < shortest:
                break
    if not np.abs(there[0][: len(now)]).max() * exact < _REACHED:
        return np.zeros(10), np.full((10, 10), np.nan)
    axes, triangle = np.linalg.qr(there[1])
    to_body = body @ np.linalg.inv(triangle)[first:]
    by_now = to_body @ axes[: len(now)].T @ whitening / exact
    return body @ unknowns[first:], to_body @ to_body.T + by_now @ covariance @ by_now.T


def _nearest_possible(mean, covariance):
    """
    Return the ten numbers nearest to a mean [10] that a body can have, in a covariance's metric.

    By Newton's method with the logarithm of the determinant of the pseudo-inertia as a barrier.
    """
    if _pseudo_inertia_sizes(mean)[0] > 0:
        return mean
    mass, centre = mean[0], mean[1:4] / mean[0]
    radius = np.sqrt(np.abs(mean[4:7]).max() / mass)
    scale = np.array([mass, *[mass * radius] * 3, *[mass * radius**2] * 6])
    # Numbers that are certain are kept to a thousandth of the size of the body.
    metric = np.linalg.inv(covariance / scale / scale[:, None] + 1e-6 * np.eye(10))
    at = about_frame(np.array(mass), centre, mass * radius**2 * np.array([2.0, 2, 2, 0, 0, 0]))
    x, target = at / scale, mean / scale
    basis = np.stack([_pseudo_inertia(row) for row in np.diag(scale)])
    for weight in _BARRIERS:
        for _ in range(_NEWTON_STEPS):
            inverse = np.linalg.inv(np.tensordot(x, basis, 1))
            parts = inverse @ basis
            slope = metric @ (x - target) - weight * np.einsum('kii->k', parts)
            curvature = metric + weight * np.einsum('kij,lji->kl', parts, parts)
            step = -np.linalg.solve(curvature, slope)
            while np.linalg.eigvalsh(np.tensordot(x + step, basis, 1))[0] <= 0:
                step = step / 2
            x = x + step
            if np.abs(step).max() < 1e-9:
                break
    return x * scale


def _pseudo_inertia(body):
    """Return the pseudo-inertia [4, 4] of a body [10] about a frame; linear in it."""
    second = second_moments(body[4:])
    return np.block([[second, body[1:4, None]], [body[None, 1:4], body[:1, None]]])


def _pseudo_inertia_sizes(body):
    """Return the eigenvalues of the second moments of a body about its centre, per kilogram."""
    mass, _, inertia = at_centre(body)
    return np.linalg.eigvalsh(second_moments(inertia)) / mass


def _in_frame(bodies, settings):
    """Return bodies [10, B] about the link's frame as mass, centre, inertia in the one wanted."""
    mass, centre, inertia = at_centre(bodies.T)
    if settings.rotation is not None:
        centre = (centre - settings.origin) @ settings.rotation
        turned = settings.rotation.T @ second_moments(inertia) @ settings.rotation
        inertia = inertias(turned)
    return np.concatenate([mass[:, None], centre, inertia], 1).T


def _expanded(function, at):
    """Return a function of [10, B] at [10], and its derivative [10, 10] by differences."""
    steps = np.diag(1e-6 * np.maximum(np.abs(at), 1e-3))
    ahead, behind = function(at[:, None] + steps), function(at[:, None] - steps)
    return function(at[:, None])[:, 0], (ahead - behind) / (2 * np.diag(steps))
