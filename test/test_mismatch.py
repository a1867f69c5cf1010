"""What acts on robots of studies beyond their models is what the studies say."""

from pathlib import Path
import sys

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from estimation.mismatch import MismatchedPlant, Pushes, Stribeck  # noqa: E402


def test_pushes_are_as_large_and_last_as_long_as_they_are_said_to():
    pushes = Pushes(np.array([0.1, 2.0]), 0.1, np.random.default_rng(4))
    found = np.array([pushes(0.01, None, None) for _ in range(20000)])
    np.testing.assert_allclose(found.std(0), [0.1, 2.0], rtol=0.1)
    for column in found.T:
        assert np.corrcoef(column[:-10], column[10:])[0, 1] == pytest.approx(np.exp(-1), abs=0.08)


def test_what_friction_has_more_at_low_speeds_resists_and_fades():
    stribeck = Stribeck(np.full(4, 0.3), 0.002, 0.1)
    efforts = stribeck(0.001, None, np.array([0.0, 0.01, -0.01, 0.5]))
    np.testing.assert_allclose(efforts, [0.0, -0.297, 0.297, 0.0], atol=1e-3)


def test_forces_act_besides_those_of_the_motors():
    plant, acting = Plant(), []
    plant.acting = acting
    forces = (lambda duration, efforts, speeds: -speeds, lambda *_: np.array([0.0, 1.0]))
    pieces = ((0.001, np.array([5.0, 6.0])), (0.002, np.array([7.0, 8.0])))
    MismatchedPlant(plant, forces).advance(pieces)
    assert [duration for duration, _ in acting] == [0.001, 0.002]
    np.testing.assert_allclose([efforts for _, efforts in acting], [[4.7, 7.4], [6.7, 9.4]])


class Plant:
    """The state of two joints, and what acts on them."""

    state = np.array([0.1, 0.2, 0.3, -0.4])

    def advance(self, pieces):
        self.acting.extend(pieces)
