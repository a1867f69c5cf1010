"""Joint states twenty times as fast as robots send them."""

from contextlib import contextmanager
import os
from pathlib import Path
import signal
import struct
import subprocess
import sys
import time

import pytest
from simulated import CONFIG, JOINTS

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from live import discovery, node_process
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from waiting import PATIENCE

from sim2real_estimator.ros.worker.worker import BATCH, CAPACITY

RATE = 20_000
SOURCES = ('encoders', 'commanded_efforts')
# Twenty thousand messages of two joints take a tenth of it.
MEMORY = 100e6


def flood():
    """Publish at the rate until a signal ends it, as a program of its own."""
    import rclpy

    rclpy.init()
    publisher = rclpy.create_node('flood').create_publisher(JointState, 'joint_states', 1000)
    message = JointState(name=list(JOINTS), position=[0.1, 0.2], effort=[0.3, 0.4])
    data = bytearray(serialize_message(message))
    began, sent = time.monotonic(), 0
    while True:
        due = round((time.monotonic() - began) * RATE)
        for number in range(sent, due):
            # Behind the four bytes of every message: seconds and nanoseconds of the stamp.
            struct.pack_into('<iI', data, 4, *divmod(10**18 + number * 10**9 // RATE, 10**9))
            publisher.publish(bytes(data))
        sent = due
        time.sleep(0.001)


@contextmanager
def flooding():
    """Let another process publish, and end it whatever happens."""
    environment = {**os.environ, **discovery()}
    environment['PYTHONPATH'] = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, '-c', f'import {__name__}; {__name__}.flood()'], env=environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def memory_of(pid):
    """Return how many bytes a process has of its own."""
    lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()
    (line,) = (line for line in lines if line.startswith('Pss:'))
    return 1024 * int(line.split()[1])


def test_a_flood_is_dropped_and_counted_while_the_node_answers(client, tmp_path):
    with node_process(CONFIG, tmp_path / 'output') as process:
        client.forget()
        client.wait(
            lambda: client.status('worker') and client.status('worker')[1] == 'running', 'a node'
        )
        worker, before = int(client.health['worker']['pid']), memory_of(process.pid)

        def value(task, key):
            return int(client.health[task][key])

        def dropped():
            return sum(value(f'samples of {name}', 'dropped') for name in SOURCES)

        def warns():
            levels = {client.status(f'samples of {name}')[0] for name in SOURCES}
            return levels == {DiagnosticStatus.WARN}

        # As one that is slower than anything.
        os.kill(worker, signal.SIGSTOP)
        with flooding() as robot:
            client.wait(lambda: dropped() > 1000, 'what is dropped')
            client.wait(lambda: value('input /joint_states', 'lost on the way'), 'what is lost')
            client.wait(warns, 'warnings')
            # Each message is two samples, and it is known where each is.
            waiting, taken = (value('worker', k) for k in ('backlog [messages]', 'messages taken'))
            assert taken + waiting + dropped() == 2 * value('input /joint_states', 'messages')
            assert waiting <= CAPACITY + BATCH
            assert client.call(SetBool, 'set_enabled', data=True).success
            assert memory_of(process.pid) - before < MEMORY
            assert robot.poll() is None
        os.kill(worker, signal.SIGCONT)
        client.wait(lambda: value('worker', 'messages taken') > 1000, 'its going on')
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert 'Traceback' not in (tmp_path / 'output').read_text()
