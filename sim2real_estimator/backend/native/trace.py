"""
The dynamics as straight-line programs, with their derivatives.

The generic source runs once on CasADi symbols; CasADi differentiates and removes common
subexpressions. A step is not unrolled: the acceleration is one kernel that the integrator's
stages call, and its derivative follows from the implicit function theorem. With the residual
r(z, a, u, phi) = 0 that the acceleration a solves, an adjoint la turns into mu = M^-1 la and the
adjoints of everything else into -mu' dr/d(everything else): one mass-matrix solve, with factors
kept from the forward pass, and the reverse of inverse dynamics, which is far shorter than the
reverse of the articulated-body algorithm.
"""

from dataclasses import dataclass, fields, is_dataclass

import casadi

from ...spatial.inertia import ArticulatedInertia, BodyInertia, Symmetric3
from ...spatial.motion import Force, Motion
from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3

_SLOTTED = (Vec3, Rotation, Motion, Force, Symmetric3, BodyInertia, ArticulatedInertia)


@dataclass(frozen=True)
class Kernel:
    """
    One straight-line program.

    inputs, outputs: (name, size) in order; function: the CasADi function; added: names of the
    outputs that are added to what is there instead of replacing it.
    """

    name: str
    function: object
    inputs: tuple
    outputs: tuple
    added: tuple


def make_kernel(name, inputs, outputs, added=()):
    """Return a `Kernel` from dicts of name -> CasADi expressions; the inputs are symbols."""
    expressions = casadi.cse([casadi.densify(e) for e in outputs.values()])
    function = casadi.Function(name, list(inputs.values()), expressions)
    return Kernel(
        name,
        function,
        tuple((k, x.numel()) for k, x in inputs.items()),
        tuple((k, x.numel()) for k, x in outputs.items()),
        tuple(added),
    )


class Leaves:
    """Collects the symbolic scalars of a structure and puts fresh symbols in their place."""

    def __init__(self, name):
        """Take the name of the vector of symbols."""
        self.name = name
        self.expressions = []
        self.symbols = []
        self._known = {}

    def replace(self, structure):
        """Return the structure with every symbolic scalar replaced by a symbol of its own."""
        return map_leaves(structure, self._replace)

    def _replace(self, leaf):
        if leaf.is_constant():
            return float(leaf)
        key = leaf.element_hash()
        if key not in self._known:
            self._known[key] = casadi.SX.sym(f'{self.name}{len(self.symbols)}')
            self.expressions.append(leaf)
            self.symbols.append(self._known[key])
        return self._known[key]

    def keep(self, needed):
        """Forget the leaves whose symbol does not occur in the expression `needed`."""
        used = {symbol.element_hash() for symbol in casadi.symvar(needed)}
        pairs = [
            (e, s) for e, s in zip(self.expressions, self.symbols) if s.element_hash() in used
        ]
        self.expressions = [e for e, _ in pairs]
        self.symbols = [s for _, s in pairs]


def map_leaves(structure, function):
    """Return a copy of nested data with `function` applied to every CasADi scalar in it."""
    if isinstance(structure, casadi.SX):
        return function(structure)
    if isinstance(structure, (list, tuple)):
        return type(structure)(map_leaves(item, function) for item in structure)
    if isinstance(structure, dict):
        return {k: map_leaves(item, function) for k, item in structure.items()}
    if isinstance(structure, _SLOTTED):
        copy = object.__new__(type(structure))
        for slot in structure.__slots__:
            setattr(copy, slot, map_leaves(getattr(structure, slot), function))
        return copy
    if is_dataclass(structure) and not isinstance(structure, type):
        values = {
            f.name: map_leaves(getattr(structure, f.name), function)
            for f in fields(structure)
            if f.init
        }
        return type(structure)(**values)
    return structure


def column(values):
    """Return scalars (floats included) as one CasADi column."""
    values = list(values)
    return casadi.vertcat(*values) if values else casadi.SX(0, 1)


def symbols(name, size):
    """Return a column of symbols and the list of its scalars."""
    vector = casadi.SX.sym(name, size)
    return vector, casadi.vertsplit(vector) if size else []


def pull_back(outputs, inputs, adjoint):
    """Return d(outputs)/d(inputs)' * adjoint."""
    if inputs.numel() == 0 or outputs.numel() == 0:
        return casadi.SX.zeros(inputs.numel(), 1)
    return casadi.jtimes(outputs, inputs, adjoint, True)


def push_forward(outputs, inputs, tangent):
    """Return d(outputs)/d(inputs) * tangent."""
    if inputs.numel() == 0 or outputs.numel() == 0:
        return casadi.SX.zeros(outputs.numel(), 1)
    return casadi.jtimes(outputs, inputs, tangent)
