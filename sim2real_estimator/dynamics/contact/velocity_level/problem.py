"""What has to be solved in a time step with contact, and its solution."""

from dataclasses import dataclass, fields

import torch
from torch.autograd import forward_ad


@dataclass(frozen=True)
class ContactProblem:
    """
    The velocities after a step, or after an impact, of B systems with n velocities and c contacts.

    mass [B, n, n]: symmetric, positive definite; free [B, n]: velocities after the step if nothing
    touched and no joint held, v + h M^-1 f, or before an impact; normals [B, c, n]: normals @ v
    are the speeds at which contacts separate [m/s]; tangents [B, c, t, n]: tangents @ v are the
    sliding velocities along t orthogonal directions, one in the plane and two in space [m/s];
    friction [B, c]: Coulomb's coefficients; least [B, c]: the separation speeds that are the
    least allowed: minus restitution times the speed before, or minus gap / h where a contact is
    still open [m/s]; joints [B, e, n] or None: equality constraints, joints @ v = drift; drift
    [B, e] or None: zero, or what takes back in a step by how much joints have come apart [m/s].
    """

    mass: torch.Tensor
    free: torch.Tensor
    normals: torch.Tensor
    tangents: torch.Tensor
    friction: torch.Tensor
    least: torch.Tensor
    joints: torch.Tensor | None = None
    drift: torch.Tensor | None = None

    def constant(self):
        """Return the same problem without derivatives, in either mode of autograd."""
        return ContactProblem(*(_primal(getattr(self, entry.name)) for entry in fields(self)))

    def reduced(self):
        """
        Return the `ReducedProblem`, where impulses and speeds of contacts are all there is.

        Joints are eliminated exactly, with their multipliers.
        """
        mass, size = self.mass, self.free.shape[1]
        rows = torch.cat([self.normals[:, :, None], self.tangents], 2).flatten(1, 2)
        right = torch.cat([mass @ self.free[..., None], rows.mT], 2)
        if self.joints is not None and self.joints.shape[1]:
            held = self.joints.shape[1]
            corner = mass.new_zeros(len(mass), held, held)
            upper = torch.cat([mass, -self.joints.mT], 2)
            mass = torch.cat([upper, torch.cat([self.joints, corner], 2)], 1)
            below = right.new_zeros(len(right), held, right.shape[2] - 1)
            drift = right.new_zeros(len(right), held) if self.drift is None else self.drift
            right = torch.cat([right, torch.cat([drift[..., None], below], 2)], 1)
        solved = torch.linalg.solve(mass, right)[:, :size]
        free, response = solved[..., 0], solved[..., 1:]
        speeds = (rows @ free[..., None])[..., 0].unflatten(1, self.tangents.shape[1:2] + (-1,))
        speeds = torch.cat([speeds[..., :1] - self.least[..., None], speeds[..., 1:]], -1)
        return ReducedProblem(rows @ response, speeds, self.friction, free, response)


@dataclass(frozen=True)
class ReducedProblem:
    """
    A `ContactProblem` in the space of its contacts; k = c (1 + t), normal first in each contact.

    delassus [B, k, k]: speeds by impulses; speeds [B, c, 1 + t]: without impulses, the normal ones
    counted from the least allowed; friction [B, c]; free [B, n]: velocities without impulses;
    response [B, n, k]: velocities by impulses.
    """

    delassus: torch.Tensor
    speeds: torch.Tensor
    friction: torch.Tensor
    free: torch.Tensor
    response: torch.Tensor

    def solution(self, impulses, is_solved):
        """Return the `ContactSolution` for impulses [B, c, 1 + t]."""
        velocity = self.free + (self.response @ impulses.flatten(1)[..., None])[..., 0]
        return ContactSolution(velocity, impulses[..., 0], impulses[..., 1:], is_solved)


@dataclass(frozen=True)
class ContactSolution:
    """
    velocity [B, n] after the step; impulses of contacts [N s]: normal [B, c], tangent [B, c, t].

    is_solved [B]: whether the solver has found it; the exact one raises an error where not.
    """

    velocity: torch.Tensor
    normal: torch.Tensor
    tangent: torch.Tensor
    is_solved: torch.Tensor


def _primal(tensor):
    return None if tensor is None else forward_ad.unpack_dual(tensor).primal.detach()
