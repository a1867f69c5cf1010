"""The node starts with the parameters that were written from a posterior."""

from pathlib import Path

import numpy as np
from posteriors import feed, pipeline_of, samples_of
import pytest

pytest.importorskip('rclpy')

from live import node_process  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from sim2real_estimator.posterior.export import robot_of, write_parameters  # noqa: E402
from sim2real_estimator.posterior.file import load  # noqa: E402


def test_it_begins_with_the_posterior(client, tmp_path):
    pipeline = pipeline_of()
    feed(pipeline, samples_of(0.7, 9.0))
    pipeline.save(tmp_path / 'arm.npz')
    robot = robot_of(pipeline.problem, pipeline.posterior())
    write_parameters(robot, tmp_path / 'start.yaml', tmp_path / 'arm.npz')
    arguments = '--params-file', str(tmp_path / 'start.yaml')
    with node_process(None, tmp_path / 'output', *arguments):
        client.forget()
        client.wait(lambda: client.status('worker'), 'the first diagnostics')
        client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
        response = client.call(Trigger, 'save')
        assert response.success, response.message
    saved = Path(response.message.removeprefix('saved to '))
    # Beside the settings nothing is written unless they name a folder.
    assert saved.is_relative_to(tmp_path / 'state' / 'sim2real_estimator')
    known, again = (load(path).mixture for path in (tmp_path / 'arm.npz', saved))
    np.testing.assert_allclose(again.moments()[0], known.moments()[0], rtol=1e-9)
