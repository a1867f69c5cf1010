"""
Projection of estimates onto physically feasible robots.

The posterior of measured torques is normal in parameters that torques are linear in, without
constraints: its mean, and most of its draws, may have an infeasible body (whose pseudo-inertia is
not positive definite; Traversaro et al. 2016, Wensing, Kim and Slotine 2018) or negative friction.
The nearest feasible robot is a convex problem in the metric of the posterior: well-known
directions stay, uncertain ones give way. It is solved by Newton's method with a logarithmic
barrier, for many draws at once.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..dynamics.rnea import gravity_efforts
from ..model.body_numbers import second_moments
from ..model.friction import FRICTIONS
from ..model.parameters import never_negative
from ..model.robot import realize
from ..parameters.body_priors import numbers_of
from ..parameters.linear_parametrization import LinearParametrization
from .verdicts import involved_in

# Weight of the barrier per eigenvalue and friction, in squared posterior deviations. It leaves a
# margin of about this part of a deviation.
_BARRIER = 0.02
# Decreasing weights of the barrier by which a feasible point near the posterior mean is found.
_FROM_AFAR = tuple(10.0**k for k in range(6, -2, -1))
_STEPS, _SETTLED, _SHORTEST = 60, 1e-2, 1e-9
# Longest step, as part of the distance to the boundary.
_NOT_TO_THE_EDGE = 0.9
# Margin of the initial feasible robot, as part of a prior standard deviation.
_LEAST_PART = 1e-3
# Correlations below the first are zero; the second is the ridge of singular covariances.
_APART, _RIDGE = 1e-10, 1e-11
# An estimate contradicts feasibility from so many standard deviations below zero on. For a body
# the data also choose the direction, an eigenvector of a 4 by 4 matrix: chi-squared with four
# degrees of freedom has the quantile 16.3 where that with one has 9.
_CONTRADICTED, _BODY_CONTRADICTED = 3.0, 4.0
# Random poses by which the largest load of a joint is found.
_POSES = 100


class PossibleRobots:
    """
    The set of feasible robots, in the inner coordinates [P] of a parametrization of bodies.

    Pseudo-inertias are positive definite and rows @ coordinates >= least. inner: a
    `LinearParametrization`; rows [R, P]; least [R].
    """

    def __init__(self, inner, rows, least):
        """Take the linear constraints; bodies are those of the parametrization."""
        self._inner, self.rows, self.least = inner, rows, least
        # Bodies are scaled by their prior means, so that all their coordinates are of size one.
        self._roots = [_body_root(body) for body in inner.prior.mean[inner.rows]]
        self._units = _orthonormal()
        sizes = np.sqrt(np.diag(inner.prior.covariance))
        scale = np.diag(sizes)
        for ten, root in zip(inner.rows, self._roots):
            scale[np.ix_(ten, ten)] = numbers_of(root @ self._units @ root.T).T
        self._scale = scale
        # Coordinates times this are those that are solved in.
        self._inverse = np.linalg.inv(scale)
        self._scaled_rows = rows @ scale
        bodies, rest = self._inner.rows, np.abs(rows).sum(0) > 0
        rest[bodies.ravel()] = False
        self._limited = np.concatenate([bodies.ravel(), np.flatnonzero(rest)])

    @staticmethod
    def of(parameters, parametrization):
        """
        Return the `PossibleRobots` of a parametrization, None where no body is restricted.

        parameters: the model's `Parameters`.
        """
        inner = parametrization.inner
        if (
            not isinstance(inner, LinearParametrization)
            or parameters.model.accepts_infeasible_inertia
        ):
            return None
        return PossibleRobots(inner, *_limits(parameters, inner))

    @property
    def bodies(self):
        """The coordinates [L, 10] of the numbers of each body, about the frame of its link."""
        return self._inner.rows

    @cached_property
    def usual(self):
        """A feasible robot [P] near the prior mean."""
        scaled = self._inverse @ self._inner.prior.mean
        for ten in self._inner.rows:
            scaled[ten] = np.einsum('kij,ij->k', self._units, np.eye(4))
        point = self._scale @ scaled
        sizes = np.sqrt(np.diag(self._inner.prior.covariance))
        for row, least in zip(self.rows, self.least):
            short = least + _LEAST_PART * np.abs(row * sizes).max() - row @ point
            if short > 0:
                # The first of a row is never negative by itself, and raises no other.
                first = np.flatnonzero(row)[0]
                point[first] += short / row[first]
        return point

    def are_possible(self, points):
        """Return which of points [P, B] are feasible, [B]."""
        problem = _Nearest(None, self._inner.rows, self._units, self._scaled_rows, self.least)
        return problem.are_inside(self._inverse @ points)

    def nearest(self, points, mean, covariance):
        """
        Return the feasible robots [P, B] nearest to points [P, B]; feasible points stay.

        mean [P], covariance [P, P]: of the normal distribution that is the metric.
        """
        result = np.array(points, dtype=float)
        which = np.flatnonzero(~self.are_possible(result))
        if which.size:
            left = self._inverse @ covariance @ self._inverse.T
            scaled = self._nearest(self._inverse @ result[:, which], self._inverse @ mean, left)
            result[:, which] = self._scale @ scaled
        return result

    def likeliest(self, parametrization, mixture, points, offsets=None):
        """
        Return the feasible robots [P, B] nearest to points, each in the metric of its component.

        parametrization: that of the posterior `Mixture` [p]; points [P, B]: inner coordinates;
        offsets [P, B]: draws of the prior, less its mean, if points are draws of the mixture.
        Unobserved directions then vary as these, which are all feasible.
        """
        coordinates = parametrization.combinations @ (
            points - parametrization.embed(np.zeros((len(parametrization.labels), 1)))
        )
        answers, result = _answers(mixture, coordinates), np.array(points, dtype=float)
        prior = parametrization.inner.prior.covariance
        for k in np.unique(answers):
            mean = parametrization.embed(mixture.means[:, k : k + 1])[:, 0]
            covariance = mixture.parameter_covariances()[k]
            if parametrization.responses is not None:
                # The null space has the prior covariance.
                covariance = (
                    covariance
                    - parametrization.combinations @ prior @ parametrization.combinations.T
                )
                covariance = prior + parametrization.basis @ covariance @ parametrization.basis.T
            which = answers == k
            draws = result[:, which]
            if offsets is not None and parametrization.responses is None:
                draws = _like_before(parametrization, mean, covariance, draws, offsets[:, which])
            result[:, which] = self.nearest(draws, mean, covariance)
        return result

    def contradicted_bodies(self, mean, covariance):
        """Return a `Contradiction` for each body whose estimate is significantly infeasible."""
        deviations = np.sqrt(np.diag(self._inner.prior.covariance))
        result = []
        for ten, link in zip(self._inner.rows, self._inner.links):
            to_scaled = self._inverse[np.ix_(ten, ten)]
            numbers = to_scaled @ mean[ten]
            axis = np.linalg.eigh(np.einsum('k,kij->ij', numbers, self._units))[1][:, 0]
            row = np.einsum('kij,i,j->k', self._units, axis, axis) @ to_scaled
            value = row @ mean[ten]
            sd = np.sqrt(row @ covariance[np.ix_(ten, ten)] @ row)
            if value < -_BODY_CONTRADICTED * sd:
                places = tuple(ten[involved_in(row * deviations[ten])].tolist())
                what = f'an eigenvalue of the pseudo-inertia of {link}, relative to what is usual,'
                result.append(Contradiction(places, what, float(value), float(sd)))
        return result

    def _nearest(self, points, mean, covariance):
        """Return `nearest`, in scaled coordinates."""
        limited, sizes = self._limited, np.sqrt(np.diag(covariance))
        apart = covariance / np.outer(sizes, sizes)
        couples = np.abs(apart) > _APART
        for ten in self._inner.rows:
            couples[np.ix_(ten, ten)] = True
        for row in self.rows:
            couples[np.ix_(row != 0, row != 0)] = True
        moves = np.zeros((len(limited), points.shape[1]))
        for block in blocks_of(couples[np.ix_(limited, limited)]):
            part = limited[block]
            problem = self._problem(part, covariance[np.ix_(part, part)])
            which = np.flatnonzero(~problem.are_inside(points[part]))
            if not which.size:
                continue
            inside = (self._inverse @ self.usual)[part, None]
            for barrier in _FROM_AFAR:
                inside = problem.solved(mean[part, None], inside, barrier)
            wanted = points[np.ix_(part, which)]
            begin = problem.inward(wanted, inside)
            moves[np.ix_(block, which)] = problem.solved(wanted, begin, _BARRIER) - wanted
        # All else follows where that makes it likeliest.
        square = covariance[np.ix_(limited, limited)]
        square = square + _RIDGE * np.diag(np.diag(square))
        return points + covariance[:, limited] @ np.linalg.solve(square, moves)

    def _problem(self, part, covariance):
        """Return the `_Nearest` of coordinates that have to do with one another."""
        places = {each: k for k, each in enumerate(part.tolist())}
        bodies = [[places[k] for k in ten] for ten in self._inner.rows if ten[0] in places]
        rows = np.flatnonzero(np.abs(self.rows[:, part]).sum(1) > 0)
        bodies = np.array(bodies, dtype=int).reshape(-1, 10)
        linear = self._scaled_rows[np.ix_(rows, part)], self.least[rows]
        return _Nearest(_inverse(covariance), bodies, self._units, *linear)


@dataclass(frozen=True)
class _Nearest:
    """
    The nearest points to others, of those with positive definite bodies and linear limits.

    metric [n, n]: None where only feasibility is asked for; bodies [L, 10]: places of the
    numbers of bodies, as multiples of units [10, 4, 4]; rows [R, n], least [R]: rows
    times a point are above them.
    """

    metric: np.ndarray
    bodies: np.ndarray
    units: np.ndarray
    rows: np.ndarray
    least: np.ndarray

    def are_inside(self, points):
        """Tell which of points [n, B] are within all limits."""
        smallest = np.linalg.eigvalsh(_matrices(points, self.bodies, self.units))[..., 0]
        margins = self.rows @ points - self.least[:, None]
        return (margins >= 0).all(0) & (smallest >= 0).all(1)

    def inward(self, wanted, inside):
        """Return points [n, B] on the way from wanted ones to one inside [n, 1], inside."""
        away = wanted - inside
        inside = np.repeat(inside, wanted.shape[1], 1)
        return inside + np.minimum(1.0, _NOT_TO_THE_EDGE * self._reach(inside, away)) * away

    def solved(self, wanted, start, barrier):
        """Return the points [n, B] nearest to wanted ones, from ones inside; barrier: weight."""
        points, moving = start.copy(), np.arange(start.shape[1])
        for _ in range(_STEPS):
            move, gain = self._direction(wanted[:, moving], points[:, moving], barrier)
            is_on = gain > _SETTLED * barrier
            moving, move = moving[is_on], move[:, is_on]
            if not moving.size:
                break
            share = np.minimum(1.0, _NOT_TO_THE_EDGE * self._reach(points[:, moving], move))
            points[:, moving] += share * move
            moving = moving[share > _SHORTEST]
        return points

    def _direction(self, wanted, points, barrier):
        """Return Newton's (moves [n, B], promised gains [B])."""
        count = points.shape[1]
        inverse = np.linalg.inv(_matrices(points, self.bodies, self.units))
        flat = self.units.reshape(10, 16)
        gradient = self.metric @ (points - wanted)
        turned = (inverse.reshape(-1, 16) @ flat.T).reshape(count, *self.bodies.shape)
        gradient[self.bodies] -= barrier * turned.transpose(1, 2, 0)
        # Of a body the second derivatives are traces of products, 10 by 10.
        product = (inverse[:, :, None] @ self.units).reshape(count, -1, 10, 16)
        across = product.reshape(*product.shape[:3], 4, 4).swapaxes(-1, -2)
        blocks = barrier * (product @ across.reshape(product.shape).swapaxes(-1, -2))
        margins = self.rows @ points - self.least[:, None]
        gradient -= barrier * (self.rows.T @ (1 / margins))
        hessian = (self.rows.T * (barrier / margins.T**2)[:, None]) @ self.rows + self.metric
        for k, ten in enumerate(self.bodies):
            # The numbers of a body stand side by side.
            side = slice(ten[0], ten[-1] + 1)
            hessian[:, side, side] += blocks[:, k]
        move = -np.linalg.solve(hessian, gradient.T[..., None])[..., 0].T
        return move, -(gradient * move).sum(0)

    def _reach(self, points, move):
        """Return how many times [B] as far as moves [n, B] the edge is, from points inside."""
        with np.errstate(divide='ignore'):
            slopes, margins = self.rows @ move, self.rows @ points - self.least[:, None]
            nearer = (-slopes / margins).max(0, initial=0.0)
            roots = np.linalg.cholesky(_matrices(points, self.bodies, self.units))
            inverse = np.linalg.inv(roots)
            turned = inverse @ _matrices(move, self.bodies, self.units) @ inverse.swapaxes(-1, -2)
            smallest = np.linalg.eigvalsh(turned)[..., 0].min(-1, initial=0.0)
            return 1 / np.maximum(np.maximum(nearer, -smallest), 1e-300)


@dataclass(frozen=True)
class Contradiction:
    """
    A significantly infeasible estimate of a posterior without constraints.

    places: of the parameters involved; what: the quantity in words, empty if it is the one
    parameter; mean, sd: of the quantity.
    """

    places: tuple
    what: str
    mean: float
    sd: float


def contradictions(inner, possible, mean, covariance):
    """
    Return the `Contradiction`s of a posterior, those of single parameters first.

    inner: a parametrization of all parameters; possible: its `PossibleRobots`, None to leave out
    bodies; mean [P], covariance [P, P]: of the posterior in the parametrization's coordinates.
    """
    rows = _alone(inner) if possible is None else possible.rows
    values = rows @ mean
    sds = np.sqrt((rows @ covariance * rows).sum(1).clip(0))
    result = []
    for k in np.flatnonzero(values < -_CONTRADICTED * sds).tolist():
        parts = np.flatnonzero(rows[k])
        # Of a sum those are to blame that are below zero.
        places = tuple(parts[mean[parts] < 0].tolist())
        what = '' if len(parts) == 1 else ' + '.join(_in_words(inner, rows[k], parts))
        result.append(Contradiction(places, what, float(values[k]), float(sds[k])))
    if possible is not None:
        result += possible.contradicted_bodies(mean, covariance)
    return sorted(result, key=lambda each: bool(each.what))


def likeliest_possible(problem, mixture, values):
    """
    Return values, name -> [D], of the feasible robots nearest to others in a posterior's metric.

    problem: a `RobotProblem`; mixture: the posterior, in its coordinates; values: name -> [D],
    returned as they are if the problem has no `PossibleRobots`.
    """
    parametrization, possible = problem.parametrization, problem.possible
    if possible is None:
        return values
    points = parametrization.inner.from_named(
        np.stack([values[name] for name in parametrization.names])
    )
    found = parametrization.inner.to_named(possible.likeliest(parametrization, mixture, points))
    return {**values, **dict(zip(parametrization.names, found))}


def _like_before(parametrization, mean, covariance, draws, offsets):
    """
    Return draws [P, B] of a posterior whose unobserved directions are those of prior draws.

    Directions are mixed by the part of the prior variance that the data have left of each.
    """
    root = parametrization.inner.prior.root
    half = np.linalg.solve(root, covariance)
    left, directions = np.linalg.eigh(np.linalg.solve(root, half.T))
    deviations = np.sqrt(np.maximum(left, _RIDGE))[:, None]
    observed = directions.T @ np.linalg.solve(root, draws - mean[:, None]) / deviations
    before = directions.T @ np.linalg.solve(root, offsets)
    share = np.minimum(deviations, 1.0)
    mixed = share * before + np.sqrt(1 - share**2) * observed
    return mean[:, None] + root @ (directions @ (deviations * mixed))


def _answers(mixture, points):
    """Return the index [B] of the most probable component of each of points [p, B]."""
    if mixture.size == 1:
        return np.zeros(points.shape[1], dtype=int)
    scores = []
    for weight, mean, covariance in zip(
        mixture.log_weights, mixture.means.T, mixture.parameter_covariances()
    ):
        away = points - mean[:, None]
        square = np.einsum('pb,pb->b', away, np.linalg.solve(covariance, away))
        scores.append(weight - (square + np.linalg.slogdet(covariance)[1]) / 2)
    return np.argmax(scores, 0)


def blocks_of(couples):
    """
    Return the connected components [indices ...] of a graph, that of the first node first.

    couples [n, n]: whether two nodes are connected.
    """
    near = (couples != 0) | (couples != 0).T | np.eye(len(couples), dtype=bool)
    labels = np.arange(len(near))
    while True:
        # Each node takes the least label of its neighbours.
        least = np.where(near, labels, len(labels)).min(1)
        if (least == labels).all():
            return [np.flatnonzero(labels == k) for k in np.unique(labels)]
        labels = least


def _limits(parameters, inner):
    """Return the linear constraints (rows [R, P], least [R]) of friction and of masses."""
    place, single = _straight(inner), never_negative()
    joints = dict.fromkeys(n.rpartition('.')[0] for n in place if n.endswith(single))
    entries = [{f'{joint}.{word}': 1.0} for joint in joints for word in single]
    loads = _largest_loads(parameters, inner, joints)
    for joint in joints:
        # A load-dependent term counts at the largest load.
        worst = {n: loads.get(joint, 0.0) if t.needs_load else 1.0 for n, t in FRICTIONS.items()}
        for words in _never_negative_sums():
            factors = {f'{joint}.{word}': worst[word] for word in words}
            if factors.keys() <= place.keys():
                entries.append(factors)
    rows, least = [], []
    for factors in entries:
        if factors.keys() <= place.keys() and len(set(factors.values()) - {0.0}):
            row = np.zeros(len(inner.names))
            for name, factor in factors.items():
                row[place[name]] = factor
            rows.append(row)
            least.append(0.0)
    for mass, worth in zip(inner.rows[:, 0], inner.least_masses):
        rows.append(np.eye(len(inner.names))[mass])
        least.append(worth)
    return np.array(rows), np.array(least)


def _never_negative_sums():
    """Return tuples of terms of friction whose sum is never negative: one and parts of it."""
    sums = []
    for name in FRICTIONS:
        parts = [other for other, term in FRICTIONS.items() if term.part_of == name]
        for count in range(1, len(parts) + 1):
            sums += [(name, *each) for each in combinations(reversed(parts), count)]
    return sums


def _straight(inner):
    """Return name -> place of the parameters whose coordinates are values."""
    apart = inner.apart
    return {
        name: place
        for place, name in enumerate(inner.names)
        if name in apart.straight or not apart.priors[name].is_log
    }


def _alone(inner):
    """Return rows [R, P] of the parameters that are not negative by themselves."""
    names = _straight(inner).items()
    ends = tuple(f'.{word}' for word in never_negative())
    places = [k for name, k in names if name.endswith(ends)]
    return np.eye(len(inner.names))[places]


def _in_words(inner, row, parts):
    """Return the terms of a linear constraint as texts."""
    factors = ('' if row[k] == 1 else f'{row[k]:.3g} ' for k in parts)
    return [f'{factor}{inner.names[k]}' for factor, k in zip(factors, parts)]


def _largest_loads(parameters, inner, joints):
    """Return joint -> its largest effort against gravity [N m or N], over random poses."""
    loaded = [name for name, term in FRICTIONS.items() if term.needs_load]
    if not any(f'{joint}.{name}' in inner.names for joint in joints for name in loaded):
        return {}
    model = parameters.model
    robot, generator, size = realize(parameters, {}), np.random.default_rng(0), model.velocity_size
    largest = np.zeros(size)
    for _ in range(_POSES):
        position = np.array(model.neutral_positions(), dtype=float)
        if len(position) == size:
            position = position + generator.uniform(-np.pi, np.pi, size)
        loads = gravity_efforts(robot, position.tolist(), size)
        largest = np.maximum(largest, np.abs([float(load) for load in loads]))
    places = {m.joint.name: m.velocities.start for m in model.moving_joints}
    return {joint: float(largest[places[joint]]) for joint in joints if joint in places}


def _body_root(body):
    """Return a root [4, 4] of about the pseudo-inertia of a body [10], positive definite."""
    matrix = np.empty((4, 4))
    matrix[:3, :3] = second_moments(body[4:])
    matrix[:3, 3] = matrix[3, :3] = body[1:4]
    matrix[3, 3] = body[0]
    mass = max(body[0], 1e-9)
    square = max(np.abs(body[4:7]).sum() / 2, 1e-9 * mass)
    # In units of its mass and its size, which differ by orders.
    size = np.sqrt([square / mass] * 3 + [1.0]) * np.sqrt(mass)
    sizes, axes = np.linalg.eigh(matrix / np.outer(size, size))
    return size[:, None] * axes * np.sqrt(np.maximum(sizes, _LEAST_PART))


def _orthonormal():
    """Return the ten orthonormal symmetric matrices [10, 4, 4]."""
    found = []
    for i in range(4):
        for j in range(i, 4):
            unit = np.zeros((4, 4))
            unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)
            found.append(unit)
    return np.array(found)


def _matrices(points, bodies, units):
    """Return the symmetric matrices [B, L, 4, 4] of points [n, B], by multiples of units."""
    flat = points[bodies].transpose(2, 0, 1) @ units.reshape(10, 16)
    return flat.reshape(*flat.shape[:2], 4, 4)


def _inverse(covariance):
    """Return the inverse of a covariance that may be singular but for rounding."""
    sizes = np.sqrt(np.diag(covariance))
    found = np.linalg.inv(covariance / np.outer(sizes, sizes) + _RIDGE * np.eye(len(sizes)))
    return (found + found.T) / 2 / np.outer(sizes, sizes)
