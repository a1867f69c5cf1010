"""What the diagnostics say of a worker that cannot keep up."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.time import Time

from sim2real_estimator.ros.health import Health, Tally
from sim2real_estimator.ros.server import Report
from sim2real_estimator.ros.worker import Backlog


def worker_status(**changes):
    """Return the status of a worker whose report says so."""
    report = Report('native', True, 9, 4, 0.5, 0.2, (), None, {}, **changes)
    worker = SimpleNamespace(report=report, backlog=Backlog(10), waiting=0, death=None, pid=7)
    message = Health('arm').message(Time(seconds=5), 1.0, (), worker, Tally())
    (status,) = [s for s in message.status if s.name == 'arm: worker']
    return status.level, status.message, {each.key: each.value for each in status.values}


def test_a_backlog_is_told_in_samples_and_in_seconds_of_data():
    level, text, values = worker_status(samples=12, lag=0.48, is_relieved=False, reliefs=0)
    assert (level, text) == (DiagnosticStatus.OK, 'running')
    assert (values['samples waiting'], values['data waiting [s]']) == ('12', '0.480')


def test_longer_frames_are_told():
    # Also those that were long for less than the time between two diagnostics.
    for is_relieved in (True, False):
        level, text, _ = worker_status(samples=9, lag=11.0, is_relieved=is_relieved, reliefs=1)
        assert level == DiagnosticStatus.WARN
        assert 'frames are longer until it has caught up' in text
