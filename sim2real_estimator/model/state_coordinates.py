"""Local coordinates of states: tangents of quaternions in place of their four numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

# A frame asks for the bases at its two ends several times.
_KEPT = 2


class StateCoordinates:
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
        self._quaternions = [_quaternion(g[0], s) for g, s in zip(self._groups, self._slopes)]
        self.is_plain = model.position_size == model.velocity_size
        # (points, `_Bases`) of the latest calls.
        self._latest = ()

    def retract(self, points, deltas):
        """Return the points moved by local coordinates."""
        if self.is_plain:
            return points + deltas
        nq, nv = self.model.position_size, self.model.velocity_size
        result = np.empty_like(points)
        result[nq:] = points[nq:] + deltas[nv:]
        for group, slope, quaternion in zip(self._groups, self._slopes, self._quaternions):
            kind, positions, velocities = group
            q, turn = points[positions], deltas[velocities]
            if quaternion is None:
                result[positions] = _advanced(kind, q, turn)
            else:
                result[positions] = _along_sphere(q, turn, slope, quaternion)
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
        return rows if self.is_plain else rows @ self._bases(points).basis

    def pull_rows(self, points, columns):
        """Return derivatives [B, nx, c] of a state's numbers as those of its tangent."""
        return columns if self.is_plain else self._bases(points).projector @ columns

    def pull(self, ends, matrix, starts):
        """Return d(end)/d(start) [B, nx, nx] between the tangents, [B, t, t]."""
        return self.pull_rows(ends, self.push(starts, matrix))

    def _bases(self, points):
        """Return the `_Bases` at points."""
        for known, bases in self._latest:
            if np.array_equal(known, points):
                return bases
        bases = _Bases(self._new_basis(points))
        self._latest = ((points.copy(), bases), *self._latest[: _KEPT - 1])
        return bases

    def _new_basis(self, points):
        """Return how a state's numbers move with its tangent, [B, nx, t]."""
        nq, nv, batch = self.model.position_size, self.model.velocity_size, points.shape[1]
        basis = np.zeros((batch, self.point_size, self.size))
        basis[:, range(nq, self.point_size), range(nv, self.size)] = 1.0
        for (kind, positions, velocities), slope in zip(self._groups, self._slopes):
            rates = _rates_there(kind, slope, points[positions])
            basis[:, positions[:, None], velocities] = rates.transpose(3, 0, 1, 2)
        return basis


@dataclass(frozen=True)
class _Bases:
    """How states' numbers move with their tangents, basis [B, nx, t]; not to be changed."""

    basis: np.ndarray

    @cached_property
    def projector(self):
        """Its left inverse, [B, t, nx]: its rows scaled by their length."""
        square = np.einsum('bij,bij->bj', self.basis, self.basis)
        return np.swapaxes(self.basis / square[:, None], -1, -2)


def _rates_there(kind, slope, positions):
    """Return the rates [p, v, J, B] of positions [p, J, B]; slope: as of `_slope_of_rates`."""
    if slope is None:
        return _rates(kind, positions)
    rates = slope[..., 1:] @ positions.reshape(len(positions), -1)
    rates += slope[..., :1]
    return rates.reshape(*rates.shape[:2], *positions.shape[1:])


def _advanced(kind, positions, turns):
    """Return positions [p, J, B] moved by turns [v, J, B] as the joint's kind has it."""
    q, turns = torch.from_numpy(positions), torch.from_numpy(np.ascontiguousarray(turns))
    return torch.stack(kind.normalized(kind.advance(list(q), list(turns), 1.0))).numpy()


def _along_sphere(positions, turns, slope, quaternion):
    """
    Return the same of a kind whose plain numbers move by their rates.

    Its quaternion, if it has one, moves on the sphere of the unit ones: along a great circle, by
    the length of its rate. The many small operations of quaternions take ten times as long.
    """
    moves = (_rates_there(None, slope, positions) * turns).sum(1)
    result = positions + moves
    if not len(quaternion):
        return result
    q, move = positions[quaternion], moves[quaternion]
    size = np.sqrt((q * q).sum(0))
    angle = np.sqrt((move * move).sum(0)) / size
    # NumPy's sinc is of pi times its argument.
    result[quaternion] = (np.cos(angle) * q + np.sinc(angle / np.pi) * move) / size
    return result


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


def _quaternion(kind, slope):
    """
    Return where a kind's quaternion stands, for `_along_sphere`: four numbers of it, or none.

    None where the kind does not move as that says, which shows at a few places.
    """
    if slope is None:
        return None
    quaternion = np.flatnonzero(slope[..., 1:].any((1, 2)))
    q, turns = (_anywhere(size)[:, None] for size in (kind.position_size, kind.velocity_size))
    found, own = _along_sphere(q, turns, slope, quaternion), _advanced(kind, q, turns)
    return quaternion if np.allclose(found, own, rtol=0, atol=1e-12) else None


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
