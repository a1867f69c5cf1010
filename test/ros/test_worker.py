"""What the node keeps for its worker, and hears from it."""

import os
from pathlib import Path
import pickle
import signal
import time

import numpy as np
import pytest
from simulated import config, record
from waiting import is_running, until

from sim2real_estimator.records import Sample
from sim2real_estimator.ros.worker.server import NICENESS
from sim2real_estimator.ros.worker.worker import Backlog, BATCH, Worker
from sim2real_estimator.sensors.decoding import Decoded

# What the worker publishes are messages of ROS.
pytest.importorskip('rclpy')


@pytest.fixture
def started():
    """Return a function that starts a worker."""
    workers = []

    def start():
        workers.append(Worker(config()))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def test_what_does_not_fit_is_counted_and_the_newest_stay():
    backlog = Backlog(3)
    for name in 'aabcd':
        backlog.append(name, Decoded())
    assert dict(backlog.dropped) == {'a': 2}
    assert [name for name, _ in backlog.take(2)] == ['b', 'c']
    assert [name for name, _ in backlog.take(2)] == ['d']
    assert len(backlog) == 0


def test_what_has_waited_for_too_long_is_dropped_and_counted():
    backlog = Backlog(10)
    backlog.append('a', 1)
    backlog.append('b', 2)
    between = time.monotonic()
    backlog.append('a', 3)
    backlog.drop_before(between)
    assert backlog.dropped == {'a': 1, 'b': 1}
    assert backlog.take(5) == [('a', 3)] and len(backlog) == 0


def test_a_batch_of_a_large_robot_fits_into_a_pipe():
    samples = [Sample('encoders', k, np.random.default_rng(k).random(60)) for k in range(BATCH)]
    batch = [('encoders', Decoded((sample,))) for sample in samples]
    assert len(pickle.dumps(batch)) < 200_000


def test_it_takes_all_that_is_handed_over_and_ends_when_closed(started):
    worker, recording, reports = started(), record(0.1), []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        for name, values in (('encoders', angles), ('commanded_efforts', torques)):
            worker.backlog.append(name, Decoded((Sample(name, int(stamp), values),)))
    number = len(worker.backlog)

    def is_done():
        reports.extend(worker.poll())
        return reports and reports[-1].taken == number and reports[-1].updates == 5

    assert worker.waiting == number
    until(is_done, 'the last sample')
    assert worker.waiting == 0
    assert reports[-1].updates == reports[-1].counts['encoders']['used']
    assert reports[-1].estimate.stamp_ns in recording.stamps
    mine, its = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (os.getpid(), worker.pid))
    assert its == min(mine + NICENESS, 19)
    assert is_blocked(worker.pid, signal.SIGINT)
    assert is_blocked(worker.pid, signal.SIGTERM)
    worker.close()
    assert not is_running(worker.pid)


def is_blocked(pid, number):
    """Tell whether a signal does not reach a process, by its own status."""
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    masks = dict(line.split(':', 1) for line in lines)
    return bool(int(masks['SigBlk'], 16) >> (number - 1) & 1)


def test_its_death_is_no_error_but_known(started):
    worker = started()
    os.kill(worker.pid, signal.SIGKILL)
    until(lambda: worker.poll() or worker.death, 'the death')
    assert worker.death == 'was killed by SIGKILL'
    assert worker.poll() == []
