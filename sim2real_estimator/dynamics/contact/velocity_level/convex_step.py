"""
The fast step: contact as a convex problem with a little compliance, a fixed number of iterations.

Castro et al., "An Unconstrained Convex Formulation of Compliant Contact" (2022), whose solver is
known as SAP: the velocities minimize

    1/2 (v - v*)' M (v - v*) + 1/2 sum R |impulse|^2,    impulse = -(J v - least) / R on the cone,

where "on the cone" is the projection onto Coulomb's cone. Newton's matrix M + J'GJ, G minus the
derivative of impulses by speeds, is symmetric and positive definite. All steps stay in
v* + M^-1 J'y, so that they are taken in y, with the matrix 1 + G W, W = J M^-1 J'.

The convex problem lets what slides separate with friction times the sliding speed. The last
iterations take that out (de Saxce's correction), so that the solution is that of the
complementarity problem with a round cone, up to the compliance. They have no guarantee: of boxes
that fall on both corners about four in a thousand are left unsolved, and said to be.

`contact_impulses` is written over a generic scalar, without branches: it runs on torch tensors
and is traced like the rest of the dynamics.
"""

import torch

from ....spatial.scalar import add, fabs, mul, sqrt, sub, sum_of

# Compliance as a part of what an impulse does at the contact itself.
_COMPLIANCE = 1e-7
# Iterations on the convex problem, on Coulomb's law, and to find the length of one of the former.
_CONVEX, _CORRECTED, _SEARCH = 24, 8, 4
# Lengths of a step on Coulomb's law: a full one may go round in a circle.
_LENGTHS = (1.0, 0.3, 0.1)
# A residual that is none, as a part of the impulses.
_SOLVED = 1e-6
# Sliding speed [m/s] below which its direction is smoothed.
_SMOOTH = 1e-9


def solve_convex(problem):
    """Return the `ContactSolution` of a `ContactProblem`, differentiable by all its tensors."""
    with torch.no_grad():
        law = _law(problem.constant().reduced())
        impulses = contact_impulses(law.delassus, law.speeds, law.friction)
        left, rows = law.corrected(impulses)
        jacobian = torch.stack([_stacked(row) for row in rows], 1)
        size = _stacked(impulses).abs().amax(1)
        is_solved = _stacked(left).abs().amax(1) <= _SOLVED * size
    reduced = problem.reduced()
    # One Newton step with a constant matrix has the derivative of the implicit function.
    residual = _stacked(_law(reduced).corrected(impulses)[0])
    impulses = _stacked(impulses) - torch.linalg.solve(jacobian, residual[..., None])[..., 0]
    return reduced.solution(impulses.reshape(reduced.speeds.shape), is_solved)


def contact_impulses(delassus, speeds, friction):
    """
    Return the impulses of contacts [N s], k scalars, normal first in each contact.

    delassus: k rows of k scalars, speeds by impulses; speeds: for each contact its speeds without
    impulses, first that of separation, counted from the least allowed one; friction: of each.
    """
    law = ContactLaw(delassus, speeds, friction)
    impulses = [0.0] * len(delassus)
    for _ in range(_CONVEX):
        lifts = law.lifts(impulses)
        step = _solved(*law.convex(impulses, lifts))
        length = law.best_length(impulses, step, lifts)
        impulses = [sub(y, mul(length, s)) for y, s in zip(impulses, step)]
    for _ in range(_CORRECTED):
        step = _solved(*law.corrected(impulses))
        impulses = law.best_of(
            [[sub(y, mul(length, s)) for y, s in zip(impulses, step)] for length in _LENGTHS]
        )
    return impulses


class ContactLaw:
    """Impulses that speeds ask for, and how far impulses are from what they themselves cause."""

    def __init__(self, delassus, speeds, friction):
        """Take what `contact_impulses` takes."""
        self.delassus, self.speeds, self.friction = delassus, speeds, friction
        width = len(speeds[0])
        self._places = [range(width * i, width * i + width) for i in range(len(speeds))]
        self.compliance = [
            mul(_COMPLIANCE / width, sum_of(delassus[k][k] for k in places))
            for places in self._places
        ]

    def lifts(self, impulses):
        """Return friction times sliding speed of each contact at k impulses."""
        return [
            mul(friction, _size(along))
            for friction, (_, along) in zip(self.friction, self._speeds_at(impulses))
        ]

    def convex(self, impulses, lifts):
        """Return residual and matrix of the convex problem with constant lifts."""
        return self._linearized(impulses, lifts)

    def corrected(self, impulses):
        """Return residual and matrix of Coulomb's law at k impulses."""
        return self._linearized(impulses, None)

    def best_length(self, impulses, step, lifts):
        """Return the part of a step against which the convex cost is least, at most one."""
        moved = [sum_of(mul(w, s) for w, s in zip(row, step)) for row in self.delassus]

        def slope(length):
            at = [sub(y, mul(length, s)) for y, s in zip(impulses, step)]
            asked = [g for part, _ in self._asked(at, lifts) for g in part]
            return sum_of(mul(m, sub(g, y)) for m, g, y in zip(moved, asked, at))

        # The slope grows with the length; where it is negative at one, all of the step is taken.
        low, high = 0.0, 1.0
        at_low, at_high = slope(0.0), slope(1.0)
        is_whole = _holds(at_high <= 0.0)
        for _ in range(_SEARCH):
            middle = low + (high - low) * _between(at_low, at_high)
            at_middle = slope(middle)
            is_before = _holds(at_middle < 0.0)
            # The end that stays counts half (Illinois), so that both ends move.
            at_low = is_before * at_middle + (1.0 - is_before) * 0.5 * at_low
            at_high = is_before * 0.5 * at_high + (1.0 - is_before) * at_middle
            low = is_before * middle + (1.0 - is_before) * low
            high = is_before * high + (1.0 - is_before) * middle
        return is_whole + (1.0 - is_whole) * (low + (high - low) * _between(at_low, at_high))

    def best_of(self, candidates):
        """Return those of several k impulses that leave the least residual of Coulomb's law."""
        best, *others = candidates
        least = self._left(best)
        for other in others:
            left = self._left(other)
            is_better = _holds(left < least)
            best = [y + is_better * (z - y) for y, z in zip(best, other)]
            least = least + is_better * (left - least)
        return best

    def _left(self, impulses):
        return sum_of(mul(r, r) for r in self.corrected(impulses)[0])

    def _linearized(self, impulses, lifts):
        """Return residual [k] and its derivative [k][k] by the impulses."""
        residual, matrix = list(impulses), []
        for places, (asked, slope) in zip(self._places, self._asked(impulses, lifts)):
            for k, value, row in zip(places, asked, slope):
                residual[k] = sub(residual[k], value)
                entries = [
                    sum_of(mul(g, self.delassus[i][j]) for g, i in zip(row, places))
                    for j in range(len(impulses))
                ]
                matrix.append([add(float(j == k), e) for j, e in enumerate(entries)])
        return residual, matrix

    def _asked(self, impulses, lifts):
        """
        Return (impulses, minus their derivatives by speeds) that each contact asks for.

        lifts: of each contact, None: those of these impulses themselves.
        """
        lifts = [None] * len(self.friction) if lifts is None else lifts
        return [
            _on_cone(normal, along, friction, compliance, lift)
            for (normal, along), friction, compliance, lift in zip(
                self._speeds_at(impulses), self.friction, self.compliance, lifts
            )
        ]

    def _speeds_at(self, impulses):
        """Return (speed of separation, sliding speeds) of each contact."""
        found = []
        for places, speeds in zip(self._places, self.speeds):
            normal, *along = (
                add(speed, sum_of(mul(w, y) for w, y in zip(self.delassus[k], impulses)))
                for k, speed in zip(places, speeds)
            )
            found.append((normal, along))
        return found


def _on_cone(normal, along, friction, compliance, lift):
    """
    Return the impulses of one contact, normal first, and minus their derivatives by its speeds.

    normal: speed of separation; along: of sliding [m/s]; lift [m/s], None: friction times sliding.
    """
    is_corrected = lift is None
    sliding = _size(along)
    unit = [a / sliding for a in along]
    lifted = add(normal, mul(friction, sliding) if is_corrected else lift)
    # Inside the cone what is asked for is what is had, else it is the next point of its surface.
    cone = 1.0 + friction * friction
    surface = (friction * sliding - lifted) / cone
    sticks = _holds(sliding <= -friction * lifted)
    slides = (1.0 - sticks) * _holds(surface > 0.0)
    drag = slides * friction * surface
    impulses = [slides * surface - sticks * lifted]
    impulses += [-(sticks * a + drag * u) for a, u in zip(along, unit)]
    # Derivatives by lifted and along: along the surface's generator, and around the cone.
    share, around = slides / cone, drag / sliding
    rows = [[sticks + share, *(-share * friction * u for u in unit)]]
    for i, u in enumerate(unit):
        entries = [
            around * (float(i == j) - u * w) + share * friction * friction * u * w
            for j, w in enumerate(unit)
        ]
        entries[i] = entries[i] + sticks
        rows.append([-share * friction * u, *entries])
    if is_corrected:
        turned = [friction * u for u in unit]
        rows = [[row[0], *(a + row[0] * u for a, u in zip(row[1:], turned))] for row in rows]
    return (
        [value / compliance for value in impulses],
        [[value / compliance for value in row] for row in rows],
    )


def _size(along):
    """Return the size of a vector, smooth where it is none."""
    return sqrt(sum_of(mul(a, a) for a in along) + _SMOOTH**2)


def _between(low, high):
    """Return where a line through (0, low) and (1, high) is zero, in [0, 1]."""
    return fabs(low) / (fabs(low) + fabs(high) + 1e-300)


def _holds(condition):
    """Return 1.0 where a comparison of scalars holds, else 0.0."""
    return condition * 1.0


def _solved(right, matrix):
    """Return the solution of a few linear equations, by elimination without exchanging rows."""
    rows, size = [[*row, value] for row, value in zip(matrix, right)], len(right)
    for k in range(size):
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = rows[i][: k + 1] + [
                sub(a, mul(factor, b)) for a, b in zip(rows[i][k + 1 :], rows[k][k + 1 :])
            ]
    x = [0.0] * size
    for k in reversed(range(size)):
        known = sum_of(mul(rows[k][j], x[j]) for j in range(k + 1, size))
        x[k] = sub(rows[k][size], known) / rows[k][k]
    return x


def _law(reduced):
    """Return the `ContactLaw` of a `ReducedProblem`, of scalars [B]."""
    return ContactLaw(
        [row.unbind(-1) for row in reduced.delassus.unbind(1)],
        [row.unbind(-1) for row in reduced.speeds.unbind(1)],
        reduced.friction.unbind(-1),
    )


def _stacked(scalars):
    return torch.stack(torch.broadcast_tensors(*map(torch.as_tensor, scalars)), -1)
