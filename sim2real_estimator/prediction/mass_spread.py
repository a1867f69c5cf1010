"""How well the mass matrix of a robot is known."""

import numpy as np

from ..model.state_coordinates import StateCoordinates
from ..parameters.parametrization import mass_matrices

_DRAWS, _POSES = 24, 12


class MassSpread:
    """
    Relative standard deviations of the mass matrix, by draws of parameters in random poses.

    What hidden forces have to move does not count: they take all the effort that takes.
    """

    def __init__(self, system, parametrization, standing):
        """Take the `System`, the parametrization and the velocities of driven joints."""
        self._system, self._parametrization, self._standing = system, parametrization, standing

    def of(self, means, roots):
        """Return that of every column; means [p, K], roots [K, p, r] of their covariances."""
        noise = np.random.default_rng(0).standard_normal((_DRAWS, roots.shape[-1]))
        # Of a generator of their own: the same poses whatever else is part of the state.
        positions = self._positions(np.random.default_rng(1))
        spreads = []
        for mean, root in zip(means.T, roots):
            draws = np.concatenate([mean[:, None], mean[:, None] + root @ noise.T], 1)
            values = np.tile(self._parametrization.to_named(draws), _POSES)
            matrices = mass_matrices(self._system, values, np.repeat(positions, _DRAWS + 1, 1))
            matrices = matrices.reshape(_POSES, _DRAWS + 1, *matrices.shape[1:])
            spreads.append(_relative_spread(matrices, self._standing))
        return np.array(spreads)

    def _positions(self, generator):
        """Return random positions [nq, poses]."""
        model = self._system.model
        parametrization = StateCoordinates(model)
        neutral = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
        points = np.repeat(neutral[:, None], _POSES, 1)
        turns = np.zeros((parametrization.size, _POSES))
        turns[: model.velocity_size] = generator.standard_normal((model.velocity_size, _POSES))
        return parametrization.retract(points, turns)[: model.position_size]


def _relative_spread(matrices, left_out):
    """
    Return the largest, over poses, of the rms relative change of mass matrices [poses, 1+n].

    left_out: velocities whose own block does not count.
    """
    mean, draws = matrices[:, :1], matrices[:, 1:]
    if not np.isfinite(matrices).all():
        return np.inf
    block = np.ix_(range(draws.shape[0]), range(draws.shape[1]), left_out, left_out)
    draws[block] = np.broadcast_to(mean, draws.shape)[block]
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(mean))
    except np.linalg.LinAlgError:
        return np.inf
    relative = inverse @ draws @ np.swapaxes(inverse, -1, -2)
    change = np.abs(np.linalg.eigvalsh(relative) - 1).max(-1)
    return float(np.sqrt((change**2).mean(-1)).max())
