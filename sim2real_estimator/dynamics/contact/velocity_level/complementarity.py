"""
The exact step: the linear complementarity problem of Stewart and Trinkle.

With W the speeds of contacts by impulses, the joints kept, N and T its rows of normals and of the
d directions of a friction polygon, and speeds without impulses in q:

    s = A z + q >= 0,   z >= 0,   s'z = 0,        z = (normal, directions, slip)
    A = | W_NN  W_NT  0 |    q = | normal - least |
        | W_TN  W_TT  E |        | sliding        |
        | mu    -E'   0 |        | 0              |

`_interior_point` solves it by Mehrotra's predictor and corrector (1992), for all samples at once.
The problem is not monotone, so that this fails in a few of a thousand; Lemke's pivoting (1965),
one by one, ends with a solution of these (Anitescu and Potra 1997).

Gradients come from the KKT conditions at the solution (de Avila Belbute-Peres et al., "End-to-End
Differentiable Physics for Learning and Control", 2018): z o (A z + q) = 0 differentiated gives
(D(s) + D(z) A) dz = -D(z) (dA z + dq), which is one Newton step with a constant matrix.
"""

import math

import torch

from ....errors import EstimatorError

# A solution: residual and complementarity are below this part of the speeds.
_TOLERANCE = 1e-12
_ITERATIONS = 40
# Part of the way to the boundary that a step goes, and the least part of z o slack it aims at.
_REACH, _CENTRING = 0.99, 1e-4
# Compliance of contacts as a part of the mean one: corners of a box that rest on a plane share
# their load in no definite way, and this makes it definite.
_COMPLIANCE = 1e-8
# Pivoting: compliances that are tried, as above, since a smaller one leaves pivots that are noise;
# pivots for each unknown, of which contact takes about one; the least pivot; the noise on the
# right side as a part of the speeds.
_PIVOTED_COMPLIANCES = (1e-7, 1e-6, 1e-5, 1e-4)
_PIVOTS, _PIVOT, _NOISE = 20, 1e-10, 1e-9


def solve_lcp(problem, directions=8):
    """
    Return the `ContactSolution` of a `ContactProblem`, differentiable by all its tensors.

    directions: corners of the friction polygon, even; in the plane there are two whatever it says.
    """
    reduced = problem.reduced()
    polygon = _polygon(reduced.speeds, directions)
    with torch.no_grad():
        constant = _as_lcp(problem.constant().reduced(), polygon)
        z, slack = _solved(*constant, reduced.friction.shape[1])
        is_solved = z.new_ones(len(z), dtype=bool)
        # Where both vanish there is no derivative: it is that halfway between the two sides.
        ceiling = _TOLERANCE * _TOLERANCE * (z + slack).amax(1, keepdim=True)
        z, slack = z.clamp(min=ceiling), slack.clamp(min=ceiling)
        share = 1 / (z + slack)
        jacobian = torch.diag_embed(share * slack) + (share * z)[..., None] * constant[0]
    matrix, vector = _as_lcp(reduced, polygon)
    residual = share * z * ((matrix @ z[..., None])[..., 0] + vector)
    z = z - torch.linalg.solve(jacobian, residual[..., None])[..., 0]
    count = reduced.friction.shape[1]
    along = z[:, count:-count].unflatten(1, (count, -1)) @ polygon
    return reduced.solution(torch.cat([z[:, :count, None], along], -1), is_solved)


def _polygon(speeds, directions):
    """Return the friction directions in the tangent plane, [d, t]."""
    if speeds.shape[2] == 2:
        return speeds.new_tensor([[1.0], [-1.0]])
    angles = torch.arange(directions, dtype=speeds.dtype) * (2 * math.pi / directions)
    return torch.stack([angles.cos(), angles.sin()], -1)


def _as_lcp(reduced, polygon):
    """Return A [B, m, m] and q [B, m] of a `ReducedProblem`, m = c (2 + d)."""
    batch, count, width = reduced.speeds.shape
    eye = torch.eye(count, dtype=polygon.dtype)
    unit = torch.eye(width, dtype=polygon.dtype)[:1]
    normals = torch.kron(eye, unit)
    along = torch.kron(eye, torch.nn.functional.pad(polygon, (1, 0)))
    rows = torch.cat([normals, along])
    delassus = rows @ reduced.delassus @ rows.T
    mean = delassus.diagonal(dim1=1, dim2=2).mean(-1)[:, None, None]
    delassus = delassus + _COMPLIANCE * mean * torch.eye(len(rows), dtype=polygon.dtype)
    share = torch.kron(eye, torch.ones(len(polygon), 1, dtype=polygon.dtype))
    right = torch.cat([torch.zeros_like(eye), share])
    cone = torch.cat([torch.diag_embed(reduced.friction), -share.T.expand(batch, -1, -1)], 2)
    matrix = torch.cat(
        [
            torch.cat([delassus, right.expand(batch, -1, -1)], 2),
            torch.cat([cone, torch.zeros_like(eye).expand(batch, -1, -1)], 2),
        ],
        1,
    )
    speeds = reduced.speeds.flatten(1) @ rows.T
    return matrix, torch.nn.functional.pad(speeds, (0, count))


def _solved(matrix, vector, contacts):
    """Return (z, slack) of LCPs, all of them solved."""
    z, slack, is_solved = _interior_point(matrix, vector, contacts)
    for k in torch.nonzero(~is_solved)[:, 0].tolist():
        z[k] = _lemke(matrix[k], vector[k], contacts)
        slack[k] = (matrix[k] @ z[k] + vector[k]).clamp(min=0.0)
    return z, slack


def _interior_point(matrix, vector, contacts):
    """Return (z, slack, whether it is a solution [B])."""
    # Impulses are measured in what brings the sliding to rest at the mean contact.
    scale = vector.abs().amax(1, keepdim=True).clamp(min=1e-300)
    mean = matrix.diagonal(dim1=1, dim2=2)[:, :-contacts].mean(-1, keepdim=True)
    unit = scale / mean.clamp(min=1e-300)
    impulses, slips = unit.expand(-1, vector.shape[1] - contacts), scale.expand(-1, contacts)
    z = torch.cat([impulses, slips], 1)
    slack = unit * scale / z
    iterations = 0
    while True:
        residual = (matrix @ z[..., None])[..., 0] + vector - slack
        product = z * slack
        is_open = residual.abs().amax(1, keepdim=True) > _TOLERANCE * scale
        is_open |= product.amax(1, keepdim=True) > _TOLERANCE * scale * unit
        if iterations == _ITERATIONS or not is_open.any():
            return z, slack, ~is_open[:, 0]
        iterations += 1
        newton = torch.linalg.lu_factor_ex(matrix + torch.diag_embed(slack / z))[:2]
        step, change = _direction(newton, z, slack, residual, -product)
        length = _length(z, step, slack, change, 1.0)
        after = ((z + length * step) * (slack + length * change)).mean(1, keepdim=True)
        mean = product.mean(1, keepdim=True)
        wanted = (after / mean).clamp(0.0, 1.0).pow(3).clamp(min=_CENTRING) * mean
        step, change = _direction(newton, z, slack, residual, wanted - product - step * change)
        length = is_open * _length(z, step, slack, change, _REACH)
        # A singular matrix gives no direction; the sample stays where it is, unsolved.
        z = z + torch.where(is_open, length * step, 0.0).nan_to_num(0.0)
        slack = slack + torch.where(is_open, length * change, 0.0).nan_to_num(0.0)


def _direction(newton, z, slack, residual, wanted):
    """Return the changes of z and slack after which z o slack has changed by `wanted`."""
    step = torch.linalg.lu_solve(*newton, (wanted / z - residual)[..., None])[..., 0]
    return step, (wanted - slack * step) / z


def _length(z, step, slack, change, reach):
    """Return how much of a step to take [B, 1], at most `reach` of the way to the boundary."""
    ratios = torch.cat([step / z, change / slack], 1).amin(1, keepdim=True)
    return -reach / ratios.clamp(max=-reach)


def _lemke(matrix, vector, contacts):
    """Return z [m] of one LCP by Lemke's complementary pivoting."""
    compliance = matrix.diagonal()[:-contacts].mean() * torch.ones_like(vector)
    compliance[-contacts:] = 0.0
    for part in _PIVOTED_COMPLIANCES:
        # Ties between rows would let the pivots go round in a circle: a little noise parts them.
        generator = torch.Generator().manual_seed(0)
        noise = torch.rand(len(vector), generator=generator, dtype=vector.dtype)
        noise = _NOISE * vector.abs().max() * noise
        z = _pivoted(matrix + part * torch.diag(compliance), vector + noise)
        if z is not None:
            return _without_compliance(matrix, vector, z)
    raise EstimatorError(
        'contact: a complementarity problem has no solution that pivoting can reach; '
        'make the step shorter, or the friction smaller'
    )


def _without_compliance(matrix, vector, z):
    """Return z [m] with the same entries above zero where that solves the LCP, else z itself."""
    active = (z > 0).nonzero()[:, 0]
    found = torch.zeros_like(z)
    part, info = torch.linalg.solve_ex(matrix[active][:, active], -vector[active])
    found[active] = part
    slack = matrix @ found + vector
    is_solution = found.min() >= 0 and slack.min() >= -_NOISE * vector.abs().max()
    return found if not info and is_solution else z


def _pivoted(matrix, vector):
    """Return z [m] of one LCP, or None where the pivots lead nowhere."""
    size = len(vector)
    eye = torch.eye(size, dtype=vector.dtype)
    # Columns: slack, z, the artificial variable that makes the start feasible, the right side.
    table = torch.cat([eye, -matrix, -torch.ones_like(vector)[:, None], vector[:, None]], 1)
    basis = torch.arange(size)
    z, artificial = torch.zeros_like(vector), 2 * size
    row, entering = int(vector.argmin()), artificial
    if vector[row] >= 0:
        return z
    for _ in range(_PIVOTS * size):
        table[row] = table[row] / table[row, entering]
        factors = table[:, entering].clone()
        factors[row] = 0.0
        table -= factors[:, None] * table[row]
        leaving, basis[row] = int(basis[row]), entering
        if leaving == artificial:
            is_unknown = basis >= size
            z[basis[is_unknown] - size] = table[is_unknown, -1]
            return z.clamp(min=0.0)
        entering = leaving + size if leaving < size else leaving - size
        column = table[:, entering]
        ratios = torch.where(column > _PIVOT, table[:, -1] / column, math.inf)
        row = int(ratios.argmin())
        if not torch.isfinite(ratios[row]):
            return None
        # The artificial variable leaves as soon as it may.
        may_leave = (basis == artificial) & (ratios <= ratios[row] * (1 + 1e-12))
        row = int(may_leave.nonzero()[0]) if may_leave.any() else row
    return None
