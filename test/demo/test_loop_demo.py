"""The closed loop: a suggested motion is followed, learned from, and improves the controller."""

import pytest

from sim2real_estimator.app.loop_demo import picture, run


@pytest.fixture(scope='module')
def rounds(tmp_path_factory):
    said = []
    found = run(3, 1, tmp_path_factory.mktemp('loop'), said.append)
    assert len(said) == 3
    return found


def test_a_round_makes_torques_and_tracking_better(rounds):
    before, after = rounds
    assert before.torque > 0.05 and after.torque < 0.2 * before.torque
    assert after.tracking < 0.3 * before.tracking


def test_a_round_tells_parameters(rounds):
    before, after = rounds
    assert before.verdicts.get('identified', 0) == 0
    assert after.verdicts['identified'] > 20
    assert after.advice[0].startswith('A motion of 8 s')


def test_the_picture_is_drawn(rounds):
    pytest.importorskip('matplotlib')
    assert picture(rounds).startswith(b'\x89PNG')
