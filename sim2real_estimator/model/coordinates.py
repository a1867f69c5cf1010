"""
Unconstrained coordinates of physical parameters: what cannot be built cannot be written down.

Positive quantities by their logarithm. The inertia of a link, where all six entries (or the
three diagonal ones of a link without products of inertia) are estimated, by log-Cholesky: the
second moments about the centre of mass are S = mass * L L' with L upper triangular and the
logarithms of its diagonal as coordinates. Together with log(mass) and the centre of mass these
are the log-Cholesky coordinates of the pseudo-inertia (Rucker and Wensing): every real vector is
a body that some distribution of mass has, and every such body is reached. A single entry of an
inertia, the others given, by its place between the smallest and the largest feasible value.
"""

from abc import ABC, abstractmethod

import torch

from ..errors import ConfigError
from .parameters import INERTIA_NAMES, Parameters

_DIAGONAL = ('xx', 'yy', 'zz')


class Coordinates:
    """
    A bijection between parameter values [P, B] and as many unconstrained coordinates [P, B].

    `labels` says for every coordinate what it is, such as log(elbow.damping).
    """

    def __init__(self, parameters: Parameters, names, values=None):
        """
        Set up the coordinates of `names`.

        values: name to float of the parameters that are not among the names, where they differ
        from the model; they decide what is feasible.
        """
        self.names = parameters.checked(names)
        given = dict(zip(parameters, parameters.nominal()))
        given.update(values or {})
        self._blocks = _make_blocks(parameters, self.names, given)
        labels = {}
        for block in self._blocks:
            labels.update(zip(block.rows, block.labels))
        self.labels = tuple(labels[row] for row in range(len(self.names)))

    def to_physical(self, coordinates):
        """Return the parameter values [P, B] of coordinates [P, B]; gradients flow."""
        rows = [None] * len(self.names)
        for block in self._blocks:
            for row, value in zip(block.rows, block.to_physical(coordinates, rows)):
                rows[row] = value
        return torch.stack(rows) if rows else coordinates

    def from_physical(self, values):
        """Return the coordinates [P, B] of values [P, B]; infeasible ones are a ConfigError."""
        rows = [None] * len(self.names)
        for block in self._blocks:
            for row, value in zip(block.rows, block.from_physical(values)):
                rows[row] = value
        return torch.stack(rows) if rows else values


class _Block(ABC):
    """Some of the parameters and their coordinates; both stand in the same `rows`."""

    rows = ()
    labels = ()

    @abstractmethod
    def to_physical(self, x, done):
        """Return the values of the rows; `done` holds the values of blocks before this one."""

    @abstractmethod
    def from_physical(self, values):
        """Return the coordinates of the rows."""


class _Plain(_Block):
    """A quantity that may take any value."""

    def __init__(self, row, name):
        self.rows, self.labels = (row,), (name,)

    def to_physical(self, x, done):
        return [x[self.rows[0]]]

    def from_physical(self, values):
        return [values[self.rows[0]]]


class _Logarithm(_Block):
    """A positive quantity."""

    def __init__(self, row, name):
        self.rows, self.labels, self._name = (row,), (f'log({name})',), name

    def to_physical(self, x, done):
        return [x[self.rows[0]].exp()]

    def from_physical(self, values):
        value = values[self.rows[0]]
        if not bool((value > 0).all()):
            raise ConfigError(
                f"'{self._name}' has to be positive, but is {float(value.min()):g}; "
                'give it a positive value, or do not estimate it'
            )
        return [value.log()]


class _Interval(_Block):
    """One entry of an inertia between its feasible bounds, the other five given."""

    def __init__(self, row, link, entry, given):
        name = f'{link}.inertia.{entry}'
        self.rows, self.labels, self._name = (row,), (f'logit({name})',), name
        matrix = _matrix([given[f'{link}.inertia.{e}'] for e in INERTIA_NAMES])
        self._low, self._high = _feasible_interval(matrix, INERTIA_NAMES.index(entry), name)

    def to_physical(self, x, done):
        return [self._low + (self._high - self._low) * torch.sigmoid(x[self.rows[0]])]

    def from_physical(self, values):
        share = (values[self.rows[0]] - self._low) / (self._high - self._low)
        if not bool(((share > 0) & (share < 1)).all()):
            raise ConfigError(
                f"'{self._name}' has to lie between {self._low:g} and "
                f'{self._high:g}: beyond, no body has the other five entries'
            )
        return [torch.logit(share)]


class _Inertia(_Block):
    """The inertia of a link by the Cholesky factor of its second moments per mass."""

    def __init__(self, parameters, names, link, entries, given):
        self._link, self._entries = link, entries
        self.rows = tuple(names.index(f'{link}.inertia.{e}') for e in entries)
        self.labels = tuple(
            f'{"log " if a == b else ""}{link}.pseudo_inertia.{a}{b}' for a, b in entries
        )
        mass = f'{link}.mass'
        self._mass_row = names.index(mass) if mass in names else None
        self._mass = given[mass]
        if self._mass_row is None and not self._mass > 0:
            raise ConfigError(
                f"link '{link}' has no mass, so it has no inertia to estimate; "
                f"estimate '{mass}' too, or give it a value"
            )

    def to_physical(self, x, done):
        mass = self._mass if self._mass_row is None else done[self._mass_row]
        entry = dict(zip(self._entries, (x[row] for row in self.rows)))
        zero = torch.zeros_like(x[self.rows[0]])
        root = {e: entry[e].exp() if e in _DIAGONAL else entry.get(e, zero) for e in INERTIA_NAMES}
        # S = mass * L L' with L upper triangular.
        rows = (
            (root['xx'], root['xy'], root['xz']),
            (zero, root['yy'], root['yz']),
            (zero, zero, root['zz']),
        )
        moments = {
            e: mass * sum(a * b for a, b in zip(rows['xyz'.index(e[0])], rows['xyz'.index(e[1])]))
            for e in self._entries
        }
        trace = sum(moments[e] for e in _DIAGONAL)
        return [(trace if e in _DIAGONAL else 0.0) - moments[e] for e in self._entries]

    def from_physical(self, values):
        mass = self._mass if self._mass_row is None else values[self._mass_row]
        entry = dict(zip(self._entries, (values[row] for row in self.rows)))
        zero = torch.zeros_like(values[self.rows[0]])
        half = sum(entry[e] for e in _DIAGONAL) / 2
        moments = {
            e: ((half if e in _DIAGONAL else 0.0) - entry.get(e, zero)) / mass
            for e in INERTIA_NAMES
        }
        # Eliminating from the last row up gives the upper triangular factor.
        zz = self._root(moments['zz'])
        xz, yz = moments['xz'] / zz, moments['yz'] / zz
        yy = self._root(moments['yy'] - yz * yz)
        xy = (moments['xy'] - xz * yz) / yy
        xx = self._root(moments['xx'] - xy * xy - xz * xz)
        found = {'xx': xx.log(), 'yy': yy.log(), 'zz': zz.log(), 'xy': xy, 'xz': xz, 'yz': yz}
        return [found[e] for e in self._entries]

    def _root(self, value):
        if not bool((value > 0).all()):
            raise ConfigError(
                f"the inertia of link '{self._link}' is no inertia of a solid body: each "
                'principal moment has to be smaller than the sum of the other two'
            )
        return value.sqrt()


def _make_blocks(parameters, names, given):
    """Return the blocks of all names, masses before the inertias that need them."""
    blocks, inertias, links = [], [], {}
    for row, name in enumerate(names):
        owner, _, entry = name.rpartition('.inertia.')
        if owner:
            links.setdefault(owner, []).append(entry)
        elif parameters[name].is_positive:
            blocks.append(_Logarithm(row, name))
        else:
            blocks.append(_Plain(row, name))
    for link, entries in links.items():
        inertias.append(_inertia_block(parameters, names, link, entries, given))
    return blocks + inertias


def _inertia_block(parameters, names, link, entries, given):
    """Return the block of the estimated entries of one link's inertia."""
    is_diagonal = all(given[f'{link}.inertia.{e}'] == 0 for e in INERTIA_NAMES[3:])
    ordered = tuple(e for e in INERTIA_NAMES if e in entries)
    if ordered == INERTIA_NAMES or (ordered == _DIAGONAL and is_diagonal):
        return _Inertia(parameters, names, link, ordered, given)
    if len(ordered) == 1:
        row = names.index(f'{link}.inertia.{ordered[0]}')
        return _Interval(row, link, ordered[0], given)
    raise ConfigError(
        f"of the inertia of link '{link}' {', '.join(ordered)} are estimated, which has no "
        'coordinates that stay feasible; estimate all six entries, one alone, or xx, yy and zz '
        'of a link whose products of inertia are zero'
    )


def _matrix(entries):
    """Return a 3x3 tensor from xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = entries
    return torch.tensor([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=torch.float64)


def _feasible_interval(inertia, index, name):
    """
    Return the bounds of one entry between which a body with the other entries exists.

    The second moments S = tr(I)/2 1 - I change linearly with the entry and have to stay
    positive definite. With S positive definite inside, S + t D is so between the reciprocals of
    the extreme eigenvalues of -S^(-1/2) D S^(-1/2).
    """
    unit = _matrix([1.0 if i == index else 0.0 for i in range(6)])
    value, eye = inertia[unit != 0][0], torch.eye(3, dtype=torch.float64)
    moments = inertia.trace() / 2 * eye - inertia
    if not torch.linalg.eigvalsh(moments).min() > 0:
        raise ConfigError(
            f"'{name}' cannot be estimated alone: with the other entries as they "
            'are, the body is a rod, a disc or infeasible; estimate all six'
        )
    root = torch.linalg.cholesky(moments)
    direction = unit.trace() / 2 * eye - unit
    half = torch.linalg.solve_triangular(root, direction, upper=False)
    scaled = torch.linalg.solve_triangular(root, half.T.contiguous(), upper=False)
    eigenvalues = torch.linalg.eigvalsh(-scaled)
    return (float(value + 1 / eigenvalues.min()), float(value + 1 / eigenvalues.max()))
