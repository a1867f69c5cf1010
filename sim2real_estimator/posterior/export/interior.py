"""The nearest point at which symmetric matrices are positive definite: Newton with a barrier."""

import numpy as np

# Weight of the barrier, in squared relative changes: it leaves a margin of a thousandth or so.
_MARGIN = 1e-4
_PUSHES = tuple(10.0**k for k in range(8))
_STEPS, _HALVINGS, _RIDGE = 80, 30, 1e-13
_SETTLED, _ROUGHLY = 1e-10, 1e-2
# Eigenvalues below this part of the largest may be zero but for rounding.
_ROUNDING = 1e-14
# No body is looked for that is so many times its size away.
_FARTHEST = 30.0


def interior_point(matrices, slopes, lengths):
    """
    Return (steps [D, k], is inside [D]) by which matrices become positive definite.

    matrices [D, L, n, n]: L matrices each; slopes [D, k, L, n, n]: their change by unit steps;
    lengths [D, k]: what a unit step costs. Of all such steps about the shortest, some margin
    left; where there are none, what comes nearest, and False.
    """
    count, size = slopes.shape[:2]
    eye = np.broadcast_to(np.eye(matrices.shape[-1]), (count, 1, *matrices.shape[1:]))
    wide = np.concatenate([slopes, eye], 1)
    cost = np.concatenate([lengths**2, np.zeros((count, 1))], 1)
    # Phase one: as much of the identity is added as it takes, and then less and less.
    missing = np.maximum(-np.linalg.eigvalsh(matrices)[..., 0].min(-1), 0.0) + 1.0
    steps = np.concatenate([np.zeros((count, size)), missing[:, None]], 1)
    is_hopeless = np.zeros(count, dtype=bool)
    for push in _PUSHES:
        is_open = ~_are_inside(matrices, slopes, steps[:, :-1]) & ~is_hopeless
        if not is_open.any():
            break
        part = matrices[is_open], wide[is_open], cost[is_open]
        pull = np.zeros((is_open.sum(), size + 1))
        pull[:, -1] = push
        steps[is_open] = _newton(*part, pull, steps[is_open], _ROUGHLY)
        # The barrier keeps from the best by no more than the number of eigenvalues.
        least = push * steps[:, -1] - matrices.shape[1] * matrices.shape[2] - _ROUGHLY
        is_hopeless |= is_open & (least > _FARTHEST**2 / 2)
    is_inside = _are_inside(matrices, slopes, steps[:, :-1])
    # Phase two: the shortest way that stays inside.
    found = steps[:, :-1].copy()
    part = matrices[is_inside], slopes[is_inside], lengths[is_inside] ** 2 / _MARGIN
    found[is_inside] = _newton(*part, 0.0 * found[is_inside], found[is_inside], _SETTLED)
    return found, is_inside


def _are_inside(matrices, slopes, steps):
    return _are_positive(np.linalg.eigvalsh(_at(matrices, slopes, steps)))


def _are_positive(sizes):
    """Tell of which eigenvalues [D, L, n], in their order, all are clearly above zero, [D]."""
    return (sizes[..., 0] > _ROUNDING * sizes[..., -1]).all(-1)


def _at(matrices, slopes, steps):
    return matrices + (steps[:, None] @ _flat(slopes)).reshape(matrices.shape)


def _flat(matrices):
    """Return matrices [D, k, L, n, n] as rows [D, k, L n n]."""
    return matrices.reshape(*matrices.shape[:2], np.prod(matrices.shape[2:]))


def _newton(matrices, slopes, cost, pull, steps, settled):
    """
    Minimise cost step^2 / 2 + pull step - log det, from steps where that is finite.

    Each of the D is solved as if it were alone, until it promises to gain less than `settled`.
    """
    steps, moving = steps.copy(), np.arange(len(steps))
    for _ in range(_STEPS):
        if not moving.size:
            break
        part = matrices[moving], slopes[moving], cost[moving], pull[moving]
        move, gain = _direction(*part, steps[moving])
        moving, part = moving[gain > settled], [each[gain > settled] for each in part]
        steps[moving] = _searched(*part, steps[moving], move[gain > settled], gain[gain > settled])
    return steps


def _direction(matrices, slopes, cost, pull, steps):
    """Return Newton's (moves [D, k], promised gains [D])."""
    inverse = np.linalg.inv(_at(matrices, slopes, steps))
    turned = inverse[:, None] @ slopes
    gradient = cost * steps + pull - np.einsum('dklii->dk', turned)
    # As products of matrices: of robots with many bodies there are many steps.
    hessian = _flat(turned) @ np.swapaxes(_flat(np.swapaxes(turned, -1, -2)), 1, 2)
    # Next to the edge its entries differ by more digits than there are.
    ridge = _RIDGE * np.einsum('dkk->d', hessian)[:, None]
    hessian += (cost + ridge)[:, :, None] * np.eye(steps.shape[1])
    move = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return move, -(gradient * move).sum(1)


def _searched(matrices, slopes, cost, pull, steps, move, gain):
    """Return the steps after as much of the moves as makes things better."""

    def value(at):
        sizes = np.linalg.eigvalsh(_at(matrices, slopes, at))
        logs = np.log(np.maximum(sizes, 1e-300)).sum((1, 2))
        total = (cost * at**2 / 2 + pull * at).sum(1) - logs
        return np.where(_are_positive(sizes), total, np.inf)

    present, share = value(steps), np.ones(len(steps))
    for _ in range(_HALVINGS):
        trial = value(steps + share[:, None] * move)
        is_worse = ~(trial <= present - 1e-4 * share * gain)
        if not is_worse.any():
            break
        share[is_worse] /= 2
    share[is_worse] = 0.0
    return steps + share[:, None] * move
