"""
A network whose output is linear in its last layer: effort = sum of weights times features.

`Network.features` is the main function. The hidden layers are tanh units of the scaled inputs and
stay as they are, so that the output weights are ordinary parameters in which efforts are linear.
The law says what the features may do to the energy of the robot:

- free: tanh units, less what the estimated physics has columns for (`Leash`);
- dissipative: (1 + tanh) / 2 of inputs that do not know the sign of the velocity, times minus its
  smoothed sign. Output weights below zero count as zero, so that it takes energy at any velocity;
- conservative: minus the derivative of tanh units of the position, which is a potential.

It is written with `spatial/scalar.py` and runs on floats, tensors, symbols and `Samples`.
"""

from dataclasses import dataclass

import numpy as np

from ..spatial.scalar import add, cos, div, maximum, mul, neg, sin, sqrt, square, sub, sum_of, tanh

LAWS = ('free', 'dissipative', 'conservative')
MODES = ('add', 'scale', 'replace')
# Most units of a layer: more are no small network.
MOST_UNITS = 64
# A leash that is made of functions of one input; see `leash_column`.
LEASHES = ('one', 'linear', 'sign', 'sine', 'cosine')


class Samples(np.ndarray):
    """An array of samples as a scalar of the generic source."""

    def tanh(self):
        """Return the hyperbolic tangents."""
        return np.tanh(self)

    def sin(self):
        """Return the sines."""
        return np.sin(self)

    def cos(self):
        """Return the cosines."""
        return np.cos(self)

    def exp(self):
        """Return the exponentials."""
        return np.exp(self)

    def sqrt(self):
        """Return the square roots."""
        return np.sqrt(self)


@dataclass(frozen=True)
class Layer:
    """A layer of tanh units: weights, a row per unit, and biases."""

    weights: tuple
    biases: tuple

    def after(self, values):
        """Return the sums that the units take the tanh of."""
        return [
            add(sum_of(mul(w, x) for w, x in zip(row, values)), bias)
            for row, bias in zip(self.weights, self.biases)
        ]


@dataclass(frozen=True)
class Leash:
    """
    What features lack because the estimated physics has columns for it.

    columns: pairs (member of LEASHES, place of its input); shares: of every feature the part of
    each column that is subtracted, a row per feature, by least squares over the reference motion.
    """

    columns: tuple = ()
    shares: tuple = ()

    def taken_off(self, features, values, width):
        """Return features without their shares of the columns; width: of the sign's change."""
        if not self.columns:
            return features
        columns = [leash_column(kind, values[place], width) for kind, place in self.columns]
        return [
            sub(feature, sum_of(mul(share, column) for share, column in zip(row, columns)))
            for feature, row in zip(features, self.shares)
        ]


@dataclass(frozen=True)
class Network:
    """
    One neural scalar.

    name; site: the quantity that it changes; mode: of MODES; law: of LAWS; inputs: names of
    quantities; centres, scales: of each input, which is divided by the latter after the former is
    subtracted; hidden: `Layer`s; leash: `Leash`; velocity: place among the inputs of the velocity
    that the effort at the site works on, None if it is no input; width: velocity over which the
    smoothed sign changes; size: by which features are multiplied, so that the weights have the
    unit of the site and their deviations make up `sd`; sd: prior standard deviation of the
    output; means, deviations: prior of the output weights; is_estimated: whether these are
    estimated; power, gram: mean square of the total effort at the site and means of products of
    features' efforts, both over the reference motion; is_trained: whether the hidden layers come
    from a weights file; digest: of all that is not estimated; mixing: rows of what features are
    combinations of, so that they are orthogonal; empty: they are the units themselves.
    """

    name: str
    site: str
    mode: str
    law: str
    inputs: tuple
    centres: tuple
    scales: tuple
    hidden: tuple
    leash: Leash = Leash()
    velocity: int | None = None
    width: float = 0.01
    size: float = 1.0
    sd: float = 1.0
    means: tuple = ()
    deviations: tuple = ()
    is_estimated: bool = True
    power: float = 0.0
    gram: tuple = ()
    is_trained: bool = False
    digest: str = ''
    mixing: tuple = ()

    @property
    def count(self):
        """How many features, and output weights, it has."""
        return len(self.mixing or self.hidden[-1].biases)

    @property
    def is_positive(self):
        """Whether its output weights are above zero."""
        return self.law == 'dissipative'

    @property
    def weight_names(self):
        """Names of the output weights: NAME.w1, ..., of a dissipative network NAME.o1, ..."""
        letter = 'o' if self.is_positive else 'w'
        return tuple(f'{self.name}.{letter}{k}' for k in range(1, self.count + 1))

    def features(self, values):
        """Return the features at input values: output per unit weight."""
        if self.law == 'free':
            units = self.leash.taken_off(self._units(values), values, self.width)
        elif self.law == 'dissipative':
            units = [mul(0.5, add(1.0, unit)) for unit in self._units(self._without_sign(values))]
            if self.velocity is not None and self.works:
                direction = neg(tanh(div(values[self.velocity], self.width)))
                units = [mul(direction, unit) for unit in units]
        else:
            units = self.leash.taken_off(self._slopes(values), values, self.width)
        if self.mixing:
            units = [sum_of(mul(m, unit) for m, unit in zip(row, units)) for row in self.mixing]
        return [mul(self.size, unit) for unit in units]

    @property
    def works(self):
        """Whether the site is an effort, which has a direction, and not a coefficient."""
        return self.site.endswith('effort') or self.site.endswith('force')

    def output(self, values, weights):
        """Return the output at input values; weights: scalars, one per feature."""
        # Weights that are structurally zero leave nothing to compute.
        pairs = zip(weights, self.features(values))
        return sum_of(mul(weight, feature) for weight, feature in pairs)

    def sampled(self, values):
        """Return the features [N, K] at arrays [N] of the inputs."""
        arrays = [np.asarray(x, dtype=float).view(Samples) for x in values]
        found = self.features(arrays)
        return np.stack([np.broadcast_to(np.asarray(x), len(arrays[0])) for x in found], 1)

    def _without_sign(self, values):
        """Return the values with the size of the velocity instead of the velocity, smooth at 0."""
        if self.velocity is None:
            return values
        size = sqrt(add(square(values[self.velocity]), self.width**2))
        return [size if k == self.velocity else x for k, x in enumerate(values)]

    def _scaled(self, values):
        pairs = zip(values, self.centres, self.scales)
        return [mul(sub(x, centre), 1.0 / scale) for x, centre, scale in pairs]

    def _units(self, values):
        """Return the outputs of the last hidden layer."""
        units = self._scaled(values)
        for layer in self.hidden:
            units = [tanh(x) for x in layer.after(units)]
        return units

    def _slopes(self, values):
        """Return minus the derivatives of the last hidden layer's outputs by the first input."""
        units = self._scaled(values)
        slopes = [1.0 / self.scales[0] if k == 0 else 0.0 for k in range(len(units))]
        for layer in self.hidden:
            units = [tanh(x) for x in layer.after(units)]
            slopes = [
                mul(sub(1.0, square(unit)), sum_of(mul(w, s) for w, s in zip(row, slopes)))
                for unit, row in zip(units, layer.weights)
            ]
        return [neg(slope) for slope in slopes]


@dataclass(frozen=True)
class Placed:
    """A network in a robot: its `Network`, and the values of its output weights."""

    network: Network
    weights: tuple

    def applied(self, value, quantity):
        """Return a quantity with the network; quantity: function of the name of an input."""
        network = self.network
        values = [quantity(name) for name in network.inputs]
        weights = self.weights
        if network.is_positive:
            # The tail of a normal distribution gives no energy either.
            weights = [maximum(weight, 0.0) for weight in weights]
        output = network.output(values, weights)
        if network.mode == 'replace':
            return output
        return add(value, output if network.mode == 'add' else mul(value, output))


def leash_column(kind, value, width):
    """Return what the physics has a column for: a member of LEASHES of one input."""
    if kind == 'one':
        return 1.0
    if kind == 'linear':
        return value
    if kind == 'sign':
        return tanh(div(value, width))
    return sin(value) if kind == 'sine' else cos(value)
