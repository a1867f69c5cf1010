"""
Draws of feasible robots from a posterior, from one made wider, from the prior, or at corners.

`draw_robots` is the main function. All kinds keep correlations, and every draw is a robot that
can be built: masses above zero, inertias of some distribution of mass (so the triangle
inequalities hold), no damping, friction, armature or stiffness below zero. `Draws.method` says how
that is reached, and so what it does to moments:

- *conditioned*: where torques are linear in the coordinates, draws of the normal posterior
  conditioned on feasibility (observability/feasible_draws.py);
- *rejected*: elsewhere, infeasible draws are drawn again, as long as enough are feasible;
- *projected*: where feasibility contradicts the posterior, draws become the nearest feasible
  robots in its metric. Their spread is too small where many draws end at the same edge;
- *pulled*: corners that are not feasible are pulled towards the mean until they are.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from ...errors import ConfigError, DataError
from ...estimation.mixture import Mixture
from ...model.body_numbers import at_centre
from ...model.checks import NEVER_NEGATIVE
from ...model.robot import joint_origin
from ...observability.feasible_draws import feasible_draws
from ...observability.null_space import draw_samples, likeliest
from ..export.estimated_robot import numbers_of, possible_bodies
from .draw import Draws

# Kind -> what it is; all other tables of kinds are made of this one.
KINDS = {
    'posterior': 'what the data have left open',
    'widened': 'the posterior, its covariance times a factor, but no wider than the prior',
    'prior': 'what was known before any data',
    'corners': 'extremes of named parameters, or along the principal directions',
}
CONDITIONED, REJECTED, PROJECTED = 'conditioned', 'rejected', 'projected'
PULLED = 'pulled'
# Draws that are not feasible are drawn again, so often.
_ROUNDS = 20
# Components that are lighter are left out of the corners.
_LEAST_WEIGHT = 0.05
# All signs of more parameters are too many corners.
_MOST_NAMES = 8
# Halvings by which an infeasible corner is pulled towards the mean.
_HALVINGS = 30
# Step of differences, in standard deviations.
_STEP = 1e-4
_ROUNDING = 1e-12


@dataclass(frozen=True)
class DrawSettings:
    """
    What to draw.

    kind: of `KINDS`; count: of robots; factor: of the covariance, for *widened*; extent: how many
    standard deviations off the mean corners are; names: of the parameters whose extremes are the
    corners, empty: principal directions.
    """

    kind: str = 'posterior'
    count: int = 1000
    factor: float = 4.0
    extent: float = 1.645
    names: tuple = ()

    def __post_init__(self):
        """Raise a ConfigError where something cannot be drawn."""
        if self.kind not in KINDS:
            raise ConfigError(f"kind: is '{self.kind}'; give one of {', '.join(KINDS)}")
        if not self.count >= 1:
            raise ConfigError(f'count: is {self.count}; give at least 1')
        if not 1.0 <= self.factor < np.inf:
            raise ConfigError(f'factor: is {self.factor:g}; give at least 1, and a finite number')
        if not 0.0 < self.extent < np.inf:
            raise ConfigError(f'extent: is {self.extent:g}; give a finite number above 0')
        if len(self.names) > _MOST_NAMES:
            raise ConfigError(f'names: there are {len(self.names)}; give at most {_MOST_NAMES}')


def draw_robots(problem, mixture, settings=DrawSettings(), seed=0):
    """
    Return the `Draws` of a posterior `Mixture` in the coordinates of a `RobotProblem`.

    The same posterior, settings and seed give the same draws. A DataError where the posterior is
    not finite, or where too few of its draws are feasible.
    """
    if not mixture.is_finite:
        raise DataError('the posterior has numbers that are not finite; nothing is drawn of it')
    if settings.kind == 'corners':
        return _corners(problem, mixture, settings, seed)
    generator = np.random.default_rng(seed)
    distribution = _distribution(problem, mixture, settings)
    if problem.possible is not None:
        values, method, drawn = _conditioned(problem, distribution, settings.count, generator)
    else:
        values, method, drawn = _rejected(problem, distribution, settings.count, generator)
    return _as_draws(problem, values, settings.kind, seed, method, drawn)


def _distribution(problem, mixture, settings):
    """Return the `Mixture` over the coordinates that is drawn from."""
    prior = problem.prior
    if settings.kind == 'prior':
        nothing = np.zeros((0, 1))
        return Mixture(np.zeros(1), nothing, prior.mean[:, None], prior.root[None])
    roots = mixture.parameter_roots()
    if settings.kind == 'widened':
        roots = np.stack([_widened(root, prior.root, settings.factor) for root in roots])
    nothing = np.zeros((0, mixture.size))
    return Mixture(mixture.log_weights, nothing, mixture.means, roots)


def _widened(root, prior_root, factor):
    """
    Return a root [p, p] of a covariance times a factor, in no direction wider than the prior.

    Directions are those of the covariance in the metric of the prior; one that is wider than the
    prior already stays as it is.
    """
    relative = np.linalg.solve(prior_root, root)
    directions, sizes, _ = np.linalg.svd(relative, full_matrices=False)
    wider = np.minimum(np.sqrt(factor) * sizes, np.maximum(sizes, 1.0))
    return prior_root @ (directions * wider)


def _conditioned(problem, mixture, count, generator):
    """Return (name -> values [count], method, None), of each component by its weight."""
    parametrization = problem.parametrization
    weights = mixture.weights / mixture.weights.sum()
    parts, method = [], CONDITIONED
    for k, number in enumerate(generator.multinomial(count, weights)):
        if not number:
            continue
        mean, covariance = _all_coordinates(problem, mixture, k)
        points = feasible_draws(problem.possible, mean, covariance, number, generator)
        if points is None:
            method = PROJECTED
            which = np.array([k])
            seed = int(generator.integers(2**31))
            part = draw_samples(problem, mixture.pick(which), number, seed)
        else:
            part = parametrization.inner.to_named(points)
        parts.append(part)
    values = np.concatenate(parts, 1)
    if values.shape[1] < count:
        raise DataError(_too_few(values.shape[1], count))
    if len(parts) > 1:
        values = values[:, generator.permutation(count)]
    return _named(parametrization, values), method, None


def _all_coordinates(problem, mixture, component):
    """Return (mean [P], covariance [P, P]) of a component in the coordinates of all parameters."""
    parametrization, prior = problem.parametrization, problem.parametrization.inner.prior
    mean = parametrization.embed(mixture.means[:, component : component + 1])[:, 0]
    covariance = mixture.parameter_covariances()[component]
    if parametrization.responses is None:
        return mean, covariance
    # The null space has the prior covariance.
    told = parametrization.combinations @ prior.covariance @ parametrization.combinations.T
    return mean, prior.covariance + parametrization.basis @ (
        covariance - told
    ) @ parametrization.basis.T


def _rejected(problem, mixture, count, generator):
    """Return (name -> values [count], method, how many were drawn)."""
    kept, found, drawn = [], 0, 0
    for _ in range(_ROUNDS):
        values = draw_samples(problem, mixture, count, int(generator.integers(2**31)))
        are_good, named = _feasible(problem, _named(problem.parametrization, values))
        drawn += values.shape[1]
        kept.append({name: each[are_good] for name, each in named.items()})
        found += int(are_good.sum())
        if found >= count:
            joined = {n: np.concatenate([part[n] for part in kept])[:count] for n in kept[0]}
            return joined, REJECTED, drawn
    raise DataError(_too_few(found, drawn))


def _too_few(found, drawn):
    return (
        f'of {drawn} draws only {found} are robots that can be built; move more, or give the '
        'masses and inertias priors that fit each other'
    )


def _feasible(problem, named):
    """
    Return (which are feasible [N], name -> values [N]) of robots, name -> [N].

    Numbers of a body that nobody has estimated follow, where the others need that.
    """
    bodies, are_good = possible_bodies(problem, named)
    if problem.model.accepts_infeasible_inertia:
        are_good = np.ones_like(are_good)
    named = dict(named)
    for link, body in bodies.items():
        are_good = are_good & (body[:, 0] >= 0)
        # The numbers of a link that is stretched are those of another length.
        if f'{link}.length' not in named:
            numbers = numbers_of(problem.parameters, link, body)
            named.update({name: each for name, each in numbers.items() if name in named})
    for name, each in named.items():
        if name.rpartition('.')[2] in NEVER_NEGATIVE:
            are_good = are_good & (each >= 0)
    return are_good, named


def _named(parametrization, values):
    """Return name -> [N] of values [P, N], with what the estimator holds fixed."""
    fixed = {name: np.full(values.shape[1], v) for name, v in parametrization.fixed.items()}
    return {**fixed, **dict(zip(parametrization.names, values))}


def _as_draws(problem, values, kind, seed, method, drawn=None, notes=()):
    """Return the `Draws` of feasible robots, name -> [N]."""
    bodies, are_good = possible_bodies(problem, values)
    if not (are_good.all() or problem.model.accepts_infeasible_inertia):
        raise DataError(_too_few(int(are_good.sum()), len(are_good)))
    centred = {link: at_centre(body) for link, body in bodies.items()}
    return Draws(kind, seed, values, centred, _places(problem, values), method, drawn, notes)


def _places(problem, values):
    """Return link -> origins [N, 3] of the joints that are not where the description has them."""
    count = len(next(iter(values.values())))
    named, found = {name: torch.from_numpy(each) for name, each in values.items()}, {}
    for joint in problem.model.joints:
        origin = joint_origin(problem.parameters, joint, named)
        rows = [torch.as_tensor(x, dtype=torch.float64).expand(count) for x in origin]
        place, before = torch.stack(rows, 1).numpy(), np.array(joint.origin, dtype=float)
        if np.abs(place - before).max() > _ROUNDING:
            found[joint.child] = place
    return found


# ---------------------------------------------------------------------------------- corners


def _corners(problem, mixture, settings, seed):
    """Return the `Draws` at corners of every mode: all there are, then the same again."""
    heavy = np.flatnonzero(mixture.weights >= _LEAST_WEIGHT * mixture.weights.max())
    parts, notes, missing = [], [], settings.count
    for k in heavy.tolist():
        space = _Space(problem, mixture, k)
        moves, said = _named_moves(space, settings) if settings.names else _principal(space)
        moves, said = moves[:, :missing], said[:missing]
        reach = space.reach(settings.extent * moves)
        parts.append(space.values(settings.extent * moves * reach))
        mode = f'mode {k}, ' if len(heavy) > 1 else ''
        notes += [
            f'{mode}{text}'
            + ('' if share == 1 else f', {share:.2f} of the way: feasible up to it')
            for text, share in zip(said, reach)
        ]
        missing -= len(said)
        if not missing:
            break
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    again = np.arange(settings.count) % len(notes)
    values = {name: each[again] for name, each in values.items()}
    chosen = tuple(notes[k] for k in again)
    return _as_draws(problem, values, 'corners', seed, PULLED, None, chosen)


class _Space:
    """
    The robots about the mean of a component, by moves [n, B] in standard deviations of it.

    n: of all parameters where torques are linear, else of the estimator's coordinates. Moves are
    along the principal directions, in the metric of the prior, from the least known one on; shares
    [n]: standard deviation over that of the prior.
    """

    def __init__(self, problem, mixture, component):
        """Take the component; a DataError where no robot near its mean is feasible."""
        self._problem, parametrization = problem, problem.parametrization
        if problem.possible is not None:
            mean, covariance = _all_coordinates(problem, mixture, component)
            prior_root = parametrization.inner.prior.root
            mean = problem.possible.nearest(mean[:, None], mean, covariance)[:, 0]
        else:
            mean, covariance = (
                mixture.means[:, component],
                mixture.parameter_covariances()[component],
            )
            prior_root = problem.prior.root
        relative = np.linalg.solve(prior_root, np.linalg.solve(prior_root, covariance).T)
        sizes, axes = np.linalg.eigh((relative + relative.T) / 2)
        self.shares = np.sqrt(np.maximum(sizes[::-1], 0.0))
        self._mean, self._root = mean, prior_root @ (axes[:, ::-1] * self.shares)
        if not self._are_feasible(np.zeros((len(self.shares), 1)))[0]:
            raise DataError(
                "no robot that can be built is near the posterior's mean, and corners are about "
                'it; draw the posterior instead'
            )

    def values(self, moves):
        """Return name -> [B] of moves [n, B]."""
        points = self._mean[:, None] + self._root @ moves
        parametrization = self._problem.parametrization
        if self._problem.possible is None:
            points, is_converged = likeliest(parametrization, points)
            if not is_converged.all():
                raise DataError('a corner is too far from the prior; give a smaller extent')
        named = _named(parametrization, parametrization.inner.to_named(points))
        return _feasible(self._problem, named)[1] if self._problem.possible is None else named

    @property
    def names(self):
        """Names of the parameters."""
        return self._problem.parametrization.names

    def _are_feasible(self, moves):
        """Tell which of moves [n, B] lead to feasible robots."""
        if self._problem.possible is not None:
            points = self._mean[:, None] + self._root @ moves
            return self._problem.possible.are_possible(points)
        return _feasible(self._problem, self.values(moves))[0]

    def reach(self, moves):
        """Return the largest part [B] of moves [n, B] that is feasible."""
        least, most = np.zeros(moves.shape[1]), np.ones(moves.shape[1])
        open_ones = np.flatnonzero(~self._are_feasible(moves))
        least[np.setdiff1d(np.arange(moves.shape[1]), open_ones)] = 1.0
        for _ in range(_HALVINGS if open_ones.size else 0):
            middle = (least[open_ones] + most[open_ones]) / 2
            are_good = self._are_feasible(moves[:, open_ones] * middle)
            least[open_ones[are_good]] = middle[are_good]
            most[open_ones[~are_good]] = middle[~are_good]
        return least

    def slope(self, names):
        """Return the derivative [names, n] of parameters by the moves, at the mean."""
        steps = _STEP * np.eye(len(self.shares))
        moved = self.values(np.concatenate([steps, -steps], 1))
        change = np.stack([moved[name] for name in names])
        half = len(self.shares)
        return (change[:, :half] - change[:, half:]) / (2 * _STEP)


def _principal(space):
    """Return (moves [n, B], [text]): both ways along each direction, the least known one first."""
    names = space.names
    slopes = space.slope(names)
    sizes = np.abs(slopes) / np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
    moves, said = [], []
    for k, share in enumerate(space.shares):
        most = ' and '.join(names[row] for row in np.argsort(-sizes[:, k], kind='stable')[:2])
        for sign, word in ((1.0, 'up'), (-1.0, 'down')):
            move = np.zeros(len(space.shares))
            move[k] = sign
            moves.append(move)
            said.append(f'direction {k} {word}, mostly {most}, {share:.2g} of the prior')
    return np.stack(moves, 1), said


def _named_moves(space, settings):
    """Return (moves [n, B], [text]): each parameter low or high, the others as that implies."""
    unknown = [name for name in settings.names if name not in space.names]
    if unknown:
        raise ConfigError(
            f'names: {", ".join(unknown)} is not estimated; there are {", ".join(space.names)}'
        )
    slopes = space.slope(settings.names)
    covariance = slopes @ slopes.T
    sds = np.sqrt(np.diag(covariance))
    signs = np.array(list(product((-1.0, 1.0), repeat=len(settings.names)))).T
    # The likeliest moves among those with these values of the parameters.
    moves = slopes.T @ np.linalg.lstsq(covariance, sds[:, None] * signs, rcond=_ROUNDING)[0]
    said = [
        ', '.join(f'{n} {"high" if s > 0 else "low"}' for n, s in zip(settings.names, column))
        for column in signs.T
    ]
    return moves, said
