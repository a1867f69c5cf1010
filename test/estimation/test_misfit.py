"""What a frame's misfit is compared with."""

import numpy as np
from posteriors import pipeline_of
import pytest

from sim2real_estimator.estimation.filter.update import measurement_update
from sim2real_estimator.estimation.noise import NormalNoise
from sim2real_estimator.records import Frame, Sample

POSE = {
    'sensors.hand.kind': 'link_pose',
    'sensors.hand.topic': 'hand',
    'sensors.hand.link': 'lower',
    'sensors.hand.position_sd': 0.01,
    'simulation.backend': 'eager',
}


@pytest.mark.usefixtures('one_thread')
def test_rows_that_no_motion_can_change_are_counted_too():
    # The robot swings in a plane; across it only noise is measured, which is in the misfit.
    pipeline = pipeline_of(POSE)
    values = np.array([0.01, 0.03, -0.51, 1.0, 0.0, 0.0, 0.0])
    frame = Frame(0, 10_000_000, (Sample('hand', 5_000_000, values),), ((0, np.zeros(2)),))
    step = measurement_update(pipeline.problem, pipeline.mixture, frame, NormalNoise())
    assert step.rows == 3
    # Three standard deviations across the plane alone.
    assert step.misfit > 8.9
