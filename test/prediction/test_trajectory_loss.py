"""The loss that `gumbel_mixture` descends, against the residuals of trajectories."""

import numpy as np
import pytest
import simulated

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample

# So large that Huber's function is the square.
_FAR = 1e9


@pytest.fixture(scope='module')
def robot():
    """Return (problem, frames) of the config that is shipped, which reckons with disturbances."""
    pipeline, recording = Pipeline.from_config(simulated.config()), simulated.record(0.3)
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample('encoders', int(stamp), angles))
        pipeline.push(Sample('commanded_efforts', int(stamp), torques))
    pipeline.cut()
    assert pipeline.problem.disturbance_size
    return pipeline.problem, tuple(pipeline.waiting)


@pytest.mark.parametrize('count', [1, 4, 9])
@pytest.mark.parametrize('length', [1, 2, 25])
def test_the_loss_of_a_disturbed_robot_is_that_of_its_residuals(robot, count, length):
    problem, frames = robot
    frames, rng = frames[:length], np.random.default_rng(count)
    parameters = problem.prior.mean[:, None] + 0.3 * problem.prior.root @ rng.standard_normal(
        (len(problem.prior.mean), count)
    )
    points = np.repeat(problem.first_state(frames)[0][:, None], count, 1)
    states = problem.trajectory(points, parameters, frames)
    expected = 0.5 * (problem.residuals(states, parameters, frames) ** 2).sum(-1)
    for _ in range(3):
        losses, gradients = problem.huber_loss(points, parameters, frames, _FAR)
        np.testing.assert_allclose(losses, expected, rtol=1e-9)
    step = 1e-6
    for row in range(len(parameters)):
        moved = parameters.copy()
        moved[row] += step
        other, _ = problem.huber_loss(points, moved, frames, _FAR)
        np.testing.assert_allclose(
            (other - losses) / step, gradients[row], rtol=1e-3, atol=1e-3 * expected.max()
        )
