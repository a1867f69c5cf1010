"""States moved by local coordinates, all joints of a kind at once."""

import numpy as np
import pytest
import torch

from sim2real_estimator.model import state_coordinates as state_coordinates
from sim2real_estimator.model.joints.free import Free
from sim2real_estimator.model.joints.planar import Planar
from sim2real_estimator.model.joints.revolute import Revolute
from sim2real_estimator.model.joints.spherical import Spherical


class Robot:
    """What a parametrization asks of a model, for two joints of every kind."""

    def __init__(self, kinds):
        self.moving_joints, places = [], np.zeros(2, dtype=int)
        for kind in (k for k in kinds for _ in range(2)):
            ends = places + (kind.position_size, kind.velocity_size)
            self.moving_joints.append(Moving(kind, *map(slice, places, ends)))
            places = ends
        self.position_size, self.velocity_size = places.tolist()
        self.state_size = self.position_size + self.velocity_size


class Moving:
    is_independent = True

    def __init__(self, kind, positions, velocities):
        self.joint, self.kind = self, kind
        self.positions, self.velocities = positions, velocities


class Twisted(Spherical):
    """A joint that moves as none of the others does: twice as far."""

    def advance(self, q, v, duration):
        return super().advance(q, v, 2.0 * duration)


KINDS = [Revolute((0.0, 0.0, 1.0)), Planar((0.0, 1.0, 0.0)), Spherical(), Free(), Twisted()]


@pytest.mark.parametrize('length', [0.0, 1e-9, 1e-3, 1.0, 1.5])
def test_states_move_as_every_joint_has_it(length):
    model = Robot(KINDS)
    parametrization, generator = (
        state_coordinates.StateCoordinates(model, extra=2),
        np.random.default_rng(0),
    )
    points = generator.standard_normal((model.state_size + 2, 5))
    deltas = length * generator.standard_normal((2 * model.velocity_size + 2, 5)) / np.sqrt(3)
    moved = parametrization.retract(points, deltas)
    rest = slice(model.position_size, None)
    np.testing.assert_array_equal(moved[rest], points[rest] + deltas[model.velocity_size :])
    q, turn = torch.from_numpy(points), torch.from_numpy(deltas)
    for m in model.moving_joints:
        rows = m.kind.advance(list(q[m.positions]), list(turn[m.velocities]), 1.0)
        expected = torch.stack(m.kind.normalized(rows)).numpy()
        np.testing.assert_allclose(moved[m.positions], expected, rtol=0, atol=3e-14)


def test_only_a_joint_that_moves_otherwise_is_asked_itself(monkeypatch):
    model, asked = Robot(KINDS), []
    parametrization = state_coordinates.StateCoordinates(model)
    own = state_coordinates._advanced

    def advanced(kind, *given):
        asked.append(type(kind))
        return own(kind, *given)

    monkeypatch.setattr(state_coordinates, '_advanced', advanced)
    parametrization.retract(np.ones((model.state_size, 1)), np.ones((2 * model.velocity_size, 1)))
    assert asked == [Twisted]
