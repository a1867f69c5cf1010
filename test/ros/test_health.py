"""What the diagnostics say of a worker that cannot keep up."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.time import Time

from sim2real_estimator.config import Config
from sim2real_estimator.records import Estimate, Findings, ParameterFinding, UpdateReport
from sim2real_estimator.ros.health import Health, Tally
from sim2real_estimator.ros.worker.pipes import Report
from sim2real_estimator.ros.worker.worker import Backlog


def status_of(task, estimate=None, findings=None, **changes):
    """Return (level, message, values) of a task by a worker whose report says so."""
    report = Report('native', True, 9, 4, 0.5, 0.2, (), estimate, findings, {}, **changes)
    worker = SimpleNamespace(report=report, backlog=Backlog(10), waiting=0, death=None, pid=7)
    session = SimpleNamespace(
        inputs=(),
        worker=worker,
        tally=Tally(),
        is_enabled=True,
        has_given_up=False,
        real_time=SimpleNamespace(words='as usual'),
        deaths=0,
        lost=0,
        at_risk=0,
        saving=SimpleNamespace(error='', folder=''),
        config=Config(),
    )
    message = Health('arm').message(Time(seconds=5), 1.0, 'active', session)
    (status,) = [s for s in message.status if s.name == f'arm: {task}']
    return status.level, status.message, {each.key: each.value for each in status.values}


def worker_status(**changes):
    return status_of('worker', **changes)


def judged(task, verdicts, **changes):
    """Return a status after an update with these verdicts."""
    parameters = tuple(
        ParameterFinding(name, 1.0, 0.1, (0.8, 1.0, 1.2), 1.0, 0.3, 0.3, verdict, aliases)
        for name, (verdict, aliases) in verdicts.items()
    )
    found = Findings(9, parameters, (), ('a - b',), 1, 1, 2.5, (), **changes)
    names, words = tuple(verdicts), found.verdicts
    estimate = Estimate(9, names, np.ones(2), np.ones(2), words, UpdateReport('batch'))
    return status_of(task, estimate, found, samples=0, lag=0.0, is_relieved=False, reliefs=0)


def test_verdicts_are_told_with_the_names_that_belong_to_them():
    level, text, values = judged('verdicts', {'a': ('aliased', ('b',)), 'b': ('aliased', ('a',))})
    assert (level, text) == (DiagnosticStatus.OK, '2 aliased')
    assert values['a'] == 'aliased with b'
    assert values['no data tell'] == 'a - b'
    assert values['information [nats]'] == '2.5'


def test_what_does_not_fit_the_prior_is_a_warning():
    level, text, _ = judged('verdicts', {'a': ('out of prior', ()), 'b': ('identified', ())})
    assert (level, text) == (DiagnosticStatus.WARN, '1 out of prior, 1 identified')


def test_unknown_efforts_are_told_with_the_remedy():
    verdicts = {'a': ('prior-only', ()), 'b': ('prior-only', ())}
    level, text, _ = judged('estimate', verdicts, unknown_efforts=('elbow',))
    assert level == DiagnosticStatus.WARN
    assert 'the effort of elbow is unknown' in text and 'efforts.measured' in text
    assert judged('estimate', verdicts)[0] == DiagnosticStatus.OK


def test_a_backlog_is_told_in_samples_and_in_seconds_of_data():
    level, text, values = worker_status(samples=12, lag=0.48, is_relieved=False, reliefs=0)
    assert (level, text) == (DiagnosticStatus.OK, 'running')
    assert (values['samples waiting'], values['data waiting [s]']) == ('12', '0.480')


def test_another_worker_counts_from_zero():
    health = Health('arm')
    assert health._since('updates', 40) == 40
    assert health._since('updates', 45) == 5
    assert health._since('updates', 3) == 3
    assert health._since('updates', 3) == 0


def test_longer_frames_are_told():
    # Also those that were long for less than the time between two diagnostics.
    for is_relieved in (True, False):
        level, text, _ = worker_status(samples=9, lag=11.0, is_relieved=is_relieved, reliefs=1)
        assert level == DiagnosticStatus.WARN
        assert 'frames are longer until it has caught up' in text
