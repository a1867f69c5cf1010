"""
Fit the hidden layers of a network to the torques of one joint.

`fit_network` is the main function. Over all rows of a joint the torque is the columns of inverse
dynamics, which any parameters may multiply, plus the network. All that is linear, output weights
and physics, is eliminated (variable projection; Golub and Pereyra 1973), so that Levenberg and
Marquardt move the hidden layers alone: from many starts side by side, of which the worst are begun
anew near the best (parallel basin hopping; McCarty et al. 2018). What equation (1) of Heiden et
al. (2020) calls R, the penalty on all weights, is chosen by rows that the fit has not seen.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from ...augmentation.network import Layer
from ...estimation.damped_gauss_newton import Descents, Expansion, Rules

# Rounds of hops, and the share of the starts that hops.
_HOPS, _HOPPING = 2, 0.5
# A hop moves hidden weights by this part of themselves, and by this.
_HOP_SHARE, _HOP = 0.3, 0.3
_RULES = Rules(iterations=25, tolerance=0.0, share=1e-4)
# Of the hidden layers: deviation of a weight of scaled inputs beforehand.
_HIDDEN_SD = 10.0
# Blocks of rows that choose R take turns with blocks of the fit [s].
_BLOCK, _EVERY = 2.0, 4
# Directions of the physics below this part of the largest are none.
_RANK = 1e-8
# Orthogonal features below this part of the largest are left out of the last layer.
_LEAST = 1e-6
_STEP = 1e-6


@dataclass(frozen=True)
class Effort:
    """How hard is tried: starts side by side; penalties: R; rows: of a fit, spread evenly."""

    starts: int = 8
    penalties: tuple = (0.01, 1.0, 100.0)
    rows: int = 3000


THOROUGH = Effort()


@dataclass(frozen=True)
class JointRows:
    """
    The rows of one joint.

    times [N] s, of all recordings in a row; inputs: name -> [N]; columns [N, P]: of the physics;
    torques [N]: measured [N m or N]; working [N]: effort on the joint per unit of the site.
    """

    times: np.ndarray
    inputs: dict
    columns: np.ndarray
    torques: np.ndarray
    working: np.ndarray

    def part(self, which):
        """Return some of the rows, by indices or a mask."""
        inputs = {name: values[which] for name, values in self.inputs.items()}
        return JointRows(
            self.times[which],
            inputs,
            self.columns[which],
            self.torques[which],
            self.working[which],
        )


@dataclass(frozen=True)
class NetworkFit:
    """
    A fitted network.

    network: with its hidden layers, still without leash; penalty: the R that was chosen; before,
    after: root mean square error of the rows that chose it, without and with the network; weights
    [K]: of the output, of all rows.
    """

    network: object
    penalty: float
    before: float
    after: float
    weights: tuple = ()


def fit_network(network, rows, seed=0, effort=THOROUGH):
    """
    Return the `NetworkFit` of a `Network` with random hidden layers to `JointRows`.

    network: with inputs scaled over these rows; seed: of starts and hops; effort: R is in units
    in which one is what the declared deviation of the output says.
    """
    rows = rows.part(np.unique(np.linspace(0, len(rows.times) - 1, effort.rows).astype(int)))
    is_seen = (rows.times // _BLOCK).astype(int) % _EVERY != _EVERY - 1
    if is_seen.all() or not is_seen.any():
        is_seen = np.arange(len(rows.times)) % _EVERY != _EVERY - 1
    seen, unseen = rows.part(is_seen), rows.part(~is_seen)
    found = []
    for penalty in effort.penalties:
        objective = _Objective(network, seen, penalty)
        point = _best_point(objective, np.random.default_rng(seed), effort.starts)
        found.append((_error(network, point, seen, unseen, penalty), penalty, point))
    after, penalty, point = min(found, key=lambda each: each[0])
    before = _error(None, None, seen, unseen, penalty)
    layers = _layers(network, point)
    trained = replace(network, hidden=layers, is_trained=True, means=(), deviations=())
    return NetworkFit(trained, penalty, before, after)


def _best_point(objective, generator, count):
    """Return the hidden weights [n] of least cost, by descents that hop."""
    starts = np.stack([objective.start(generator) for _ in range(count)], 1)
    descents = Descents(objective, starts, _RULES)
    descents.run()
    points, costs = descents.points.copy(), descents.state.costs.copy()
    for _ in range(_HOPS):
        order = np.argsort(costs)
        worst = order[-max(int(_HOPPING * count), 1) :]
        near = points[:, order[: len(worst)]]
        noise = generator.standard_normal((2, *near.shape))
        descents.restart(worst, near * (1 + _HOP_SHARE * noise[0]) + _HOP * noise[1])
        descents.run()
        better = descents.state.costs < costs
        points[:, better] = descents.points[:, better]
        costs = np.minimum(costs, descents.state.costs)
    return points[:, np.argmin(costs)]


class _Objective:
    """The penalised squares of a joint's rows over hidden weights, for `Descents`."""

    def __init__(self, network, rows, penalty):
        """Take a `Network`, `JointRows` and R."""
        self._network, self._rows = network, rows
        self._values = [rows.inputs[name] for name in network.inputs]
        self._sign = rows.working[:, None] * _sign_of(network)
        self._basis = _basis(rows.columns)
        self._left = rows.torques - self._basis @ (self._basis.T @ rows.torques)
        freedom = max(len(self._left) - self._basis.shape[1], 1)
        self.variance = float(self._left @ self._left) / freedom + 1e-12
        self._ridge = penalty * self.variance * network.count / network.sd**2
        self._hidden = penalty * self.variance / _HIDDEN_SD**2

    def start(self, generator):
        """Return random hidden weights [n]; units bend where there are data."""
        network, parts = self._network, []
        scaled = _scaled(network, self._values)
        count, rows = len(scaled), np.stack(scaled, 1)
        for k, layer in enumerate(network.hidden):
            units = len(layer.biases)
            slopes = np.exp(generator.uniform(0.0, 2.5, (units, 1)))
            directions = generator.standard_normal((units, count))
            weights = slopes * directions / np.linalg.norm(directions, axis=1, keepdims=True)
            places = rows[generator.integers(0, len(rows), units)] if k == 0 else 0.0
            biases = -(weights * places).sum(1)
            parts += [weights.ravel(), biases]
            count = units
        return np.concatenate(parts)

    def costs(self, points):
        """Return the costs [K] of hidden weights [n, K]."""
        return np.array([self._solved(point)[0] for point in points.T])

    def expand(self, points, costs=None):
        """Return the `Expansion` at hidden weights [n, K]."""
        parts = [self._expanded(point) for point in points.T]
        costs, gradient, normal = (np.array(each) for each in zip(*parts))
        return Expansion(costs, gradient, normal, normal).with_finite_slopes()

    def shortened(self, step):
        """Return the steps as they are."""
        return step

    def _features(self, point):
        """Return the efforts that features take from a drive [N, K], without the physics' part."""
        found = self._sign * features_of(self._network, point, self._values)
        return found, found - self._basis @ (self._basis.T @ found)

    def _solved(self, point):
        """Return (cost, residuals [N], output weights [K], features, projected features)."""
        features, free = self._features(point)
        weights = _solve(free, self._left, self._ridge, self._network.is_positive)
        residual = self._left - free @ weights
        cost = residual @ residual + self._ridge * weights @ weights
        return cost + self._hidden * point @ point, residual, weights, features, free

    def _expanded(self, point):
        cost, residual, weights, features, free = self._solved(point)
        slope = np.empty((len(residual), len(point)))
        output = features @ weights
        for k in range(len(point)):
            moved = point.copy()
            moved[k] += _STEP
            values = self._sign * features_of(self._network, moved, self._values)
            slope[:, k] = (output - values @ weights) / _STEP
        slope -= self._basis @ (self._basis.T @ slope)
        # Kaufman's approximation: what output weights make up for is no slope.
        used = free[:, weights != 0.0]
        if used.shape[1]:
            axes = np.linalg.qr(used)[0]
            slope -= axes @ (axes.T @ slope)
        gradient = slope.T @ residual + self._hidden * point
        normal = slope.T @ slope + self._hidden * np.eye(len(point))
        # `costs` are sums of squares, not half of them.
        return cost, 2 * gradient, 2 * normal


def features_of(network, point, values):
    """
    Return the features [N, K] of a `Network` with other hidden weights [n], without leash.

    values: of its inputs, [N] each. The same as `Network.features`, by matrices.
    """
    inputs = list(values)
    if network.law == 'dissipative' and network.velocity is not None:
        speed = np.sqrt(inputs[network.velocity] ** 2 + network.width**2)
        inputs[network.velocity] = speed
    units = np.stack(_scaled(network, inputs), 1)
    slopes = np.zeros_like(units)
    slopes[:, 0] = 1.0 / network.scales[0]
    at = 0
    for layer in network.hidden:
        count, size = len(layer.biases), units.shape[1]
        weights = point[at : at + count * size].reshape(count, size)
        at += count * size
        units = np.tanh(units @ weights.T + point[at : at + count])
        at += count
        if network.law == 'conservative':
            slopes = (1 - units**2) * (slopes @ weights.T)
    if network.law == 'conservative':
        return -slopes
    if network.law == 'dissipative':
        found = 0.5 * (1 + units)
        if network.works:
            found = -np.tanh(values[network.velocity] / network.width)[:, None] * found
        return found
    return units


def orthogonal(network, gram, weights):
    """
    Return (`Network` whose features are orthogonal over a motion, its weights).

    gram [K, K]: means of products of features; weights [K]: of these features. Output weights of
    features that are alike would be many numbers for one thing. Those of a dissipative network
    stay what they are, since they have to be above zero each by itself.
    """
    if network.is_positive:
        return network, weights
    sizes, axes = np.linalg.eigh(np.array(gram))
    kept = sizes > _LEAST**2 * sizes[-1]
    mixing = (axes[:, kept] / np.sqrt(sizes[kept])).T
    new = np.sqrt(sizes[kept]) * (axes[:, kept].T @ weights)
    return replace(network, mixing=tuple(map(tuple, mixing[::-1].tolist()))), new[::-1]


def weights_of(network, rows, penalty):
    """Return the output weights [K] of a `Network` that fit `JointRows`, the physics beside."""
    features = features_at(network, rows)
    basis = _basis(rows.columns)
    left = rows.torques - basis @ (basis.T @ rows.torques)
    variance = float(left @ left) / max(len(left) - basis.shape[1], 1)
    ridge = penalty * variance * network.count / network.sd**2
    free = features - basis @ (basis.T @ features)
    return _solve(free, left, ridge, network.is_positive)


def features_at(network, rows):
    """Return the torques that a drive needs per output weight [N, K] at `JointRows`."""
    values = [rows.inputs[name] for name in network.inputs]
    return rows.working[:, None] * _sign_of(network) * network.sampled(values)


def _solve(features, left, ridge, is_positive):
    """Return the output weights [K] of least penalised squares."""
    count = features.shape[1]
    if is_positive:
        matrix = np.vstack([features, np.sqrt(ridge) * np.eye(count)])
        return nnls(matrix, np.append(left, np.zeros(count)))[0]
    normal = features.T @ features + ridge * np.eye(count)
    return np.linalg.solve(normal, features.T @ left)


def _error(network, point, seen, unseen, penalty):
    """Return the root mean square error of unseen rows; network: None for the physics alone."""
    columns, others = seen.columns, unseen.columns
    if network is not None:
        objective = _Objective(network, seen, penalty)
        weights = objective._solved(point)[2]
        output = []
        for rows in (seen, unseen):
            values = [rows.inputs[name] for name in network.inputs]
            sign = rows.working[:, None] * _sign_of(network)
            output.append(sign * features_of(network, point, values) @ weights)
    else:
        output = [np.zeros(len(rows.times)) for rows in (seen, unseen)]
    # Physics is fitted beside the network.
    physics = np.linalg.lstsq(columns, seen.torques - output[0], rcond=_RANK)[0]
    return float(np.sqrt(np.mean((unseen.torques - output[1] - others @ physics) ** 2)))


def left_by(columns, torques):
    """Return what columns [N, P] leave of torques [N]."""
    basis = _basis(columns)
    return torques - basis @ (basis.T @ torques)


def _basis(columns):
    """Return an orthonormal basis [N, r] of columns [N, P]."""
    sizes = np.sqrt((columns**2).sum(0))
    left, values, _ = np.linalg.svd(columns / np.maximum(sizes, 1e-300), full_matrices=False)
    return left[:, values > np.sqrt(_RANK) * values[0]]


def _sign_of(network):
    """Return -1 where the output acts on the joint, so that the drive needs less."""
    return -1.0 if network.site.endswith('effort') else 1.0


def _scaled(network, values):
    pairs = zip(values, network.centres, network.scales)
    return [(x - centre) / scale for x, centre, scale in pairs]


def _layers(network, point):
    """Return the hidden `Layer`s of a vector of weights."""
    layers, at, size = [], 0, len(network.inputs)
    for layer in network.hidden:
        count = len(layer.biases)
        weights = point[at : at + count * size].reshape(count, size)
        at += count * size
        biases = point[at : at + count]
        layers.append(Layer(tuple(map(tuple, weights.tolist())), tuple(biases.tolist())))
        at, size = at + count, count
    return tuple(layers)
