"""A robot of which only the URDF is known, from `init` to what is known of it then."""

from pathlib import Path
import sys

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from any_robot.kinds import KINDS  # noqa: E402
from any_robot.measuring import measure  # noqa: E402

LEG = KINDS['leg']
pytestmark = [
    pytest.mark.usefixtures('one_thread'),
    pytest.mark.skipif(not LEG.exists, reason='needs the robots of example-robot-data'),
]


def test_a_leg_is_identified_with_the_settings_that_init_wrote():
    found = measure(LEG, seed=2, seconds=2.0)
    assert (found['unknowns'], found['combinations']) == (26, 11)
    assert found['possible'] and not found['alarms']
    assert found['left'] < 0.1
    away = np.abs(np.array(found['rank']) - 0.5)
    assert np.isfinite(away).all() and (away < 0.4999).all()
    assert (away < 0.45).mean() > 0.7
