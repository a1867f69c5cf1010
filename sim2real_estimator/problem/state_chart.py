"""Local coordinates of states: tangents of quaternions in place of their four numbers."""

import numpy as np
import torch

# A frame asks for the bases at its two ends several times.
_KEPT = 2


class StateChart:
    """
    Maps states (q, v) [nx, B] to and from local coordinates [t, B] with t = 2 nv.

    Plain numbers may follow q and v; they are coordinates of their own.

    Joints whose coordinates are plain numbers need no map: their block is the identity.
    """

    def __init__(self, model, extra=0):
        """Find the quaternions of a model's state; extra: plain numbers that follow it."""
        self.model = model
        self.size, self.point_size = 2 * model.velocity_size + extra, model.state_size + extra
        self._groups = _alike(m for m in model.moving_joints if m.is_independent)
        self._slopes = [_slope_of_rates(kind) for kind, _, _ in self._groups]
        self.is_plain = model.position_size == model.velocity_size
        # (points, basis) of the latest calls.
        self._latest = ()

    def retract(self, points, deltas):
        """Return the points moved by local coordinates."""
        if self.is_plain:
            return points + deltas
        nq, nv = self.model.position_size, self.model.velocity_size
        result = np.empty_like(points)
        q, turn = torch.from_numpy(points), torch.from_numpy(np.ascontiguousarray(deltas))
        for kind, positions, velocities in self._groups:
            rows = kind.advance(list(q[positions]), list(turn[velocities]), 1.0)
            result[positions] = torch.stack(kind.normalized(rows)).numpy()
        result[nq:] = points[nq:] + deltas[nv:]
        return result

    def local(self, starts, ends):
        """Return the local coordinates [t, B] at `starts` of the points `ends`."""
        nq = self.model.position_size
        if self.is_plain:
            return ends - starts
        a, b = torch.from_numpy(starts), torch.from_numpy(ends)
        result = np.empty((self.size, ends.shape[1]))
        for kind, positions, velocities in self._groups:
            rows = kind.difference(list(a[positions]), list(b[positions]))
            result[velocities] = torch.stack(rows).numpy()
        result[self.model.velocity_size :] = ends[nq:] - starts[nq:]
        return result

    def push(self, points, rows):
        """Return derivatives [B, m, nx] by a state's numbers as ones by its tangent [B, m, t]."""
        return rows if self.is_plain else rows @ self._basis(points)

    def pull_rows(self, points, columns):
        """Return derivatives [B, nx, c] of a state's numbers as those of its tangent."""
        return columns if self.is_plain else self._projector(points) @ columns

    def pull(self, ends, matrix, starts):
        """Return d(end)/d(start) [B, nx, nx] between the tangents, [B, t, t]."""
        return self.pull_rows(ends, self.push(starts, matrix))

    def _basis(self, points):
        """Return how a state's numbers move with its tangent, [B, nx, t]; not to be changed."""
        for known, basis in self._latest:
            if np.array_equal(known, points):
                return basis
        basis = self._new_basis(points)
        self._latest = ((points.copy(), basis), *self._latest[: _KEPT - 1])
        return basis

    def _new_basis(self, points):
        nq, nv, batch = self.model.position_size, self.model.velocity_size, points.shape[1]
        basis = np.zeros((batch, self.point_size, self.size))
        basis[:, range(nq, self.point_size), range(nv, self.size)] = 1.0
        for (kind, positions, velocities), slope in zip(self._groups, self._slopes):
            if slope is None:
                rates = _rates(kind, points[positions])
            else:
                rates = np.tensordot(slope[..., 1:], points[positions], 1)
                rates += slope[..., 0, None, None]
            basis[:, positions[:, None], velocities] = np.moveaxis(rates, -1, 0)
        return basis

    def _projector(self, points):
        """Return the left inverse of the basis, [B, t, nx]: its rows scaled by their length."""
        basis = self._basis(points)
        square = np.einsum('bij,bij->bj', basis, basis)
        return np.swapaxes(basis / square[:, None], -1, -2)


def _rates(kind, positions):
    """Return the rates [p, v, J, B] of positions [p, J, B] by each velocity."""
    # All unit velocities at once, side by side along the first dimension.
    units = np.eye(kind.velocity_size)[..., None, None]
    rates = kind.rate(list(positions[:, None]), list(units))
    shape = kind.velocity_size, *positions.shape[1:]
    return np.stack([np.broadcast_to(rate, shape) for rate in rates])


def _slope_of_rates(kind):
    """
    Return what rates by velocities are, [p, v, 1 + p]: a constant, then by how much of a position.

    None where they are not linear in the positions. Those of quaternions are: one small product
    takes a fraction of the time of the quaternions' own.
    """
    size = kind.position_size
    # Nowhere, one of each position, and places at which it shows whether that is all.
    places = np.concatenate([np.zeros((size, 1)), np.eye(size), _anywhere(size)], 1)
    rates = _rates(kind, places[:, None])[:, :, 0]
    constant, slope = rates[..., :1], rates[..., 1 : size + 1] - rates[..., :1]
    is_all = np.allclose(constant + slope @ places, rates, rtol=0, atol=1e-12)
    return np.concatenate([constant, slope], -1) if is_all else None


def _anywhere(size):
    return np.random.default_rng(0).standard_normal((size, 3))


def _alike(joints):
    """Return (kind, positions [nq, J], velocities [nv, J]) of J joints of every kind."""
    groups = {}
    for m in joints:
        groups.setdefault(m.joint.kind, []).append(m)
    return [
        (
            kind,
            np.array([range(m.positions.start, m.positions.stop) for m in group]).T,
            np.array([range(m.velocities.start, m.velocities.stop) for m in group]).T,
        )
        for kind, group in groups.items()
    ]
