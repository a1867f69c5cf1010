"""A node that is ended, in whatever state: in time, with what it knows, leaving nothing behind."""

from contextlib import contextmanager
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from simulated import CONFIG, record

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from live import node_process
from recordings import send
from waiting import is_running, PATIENCE, until

from sim2real_estimator.posterior.file import load
from sim2real_estimator.ros.worker.server import NICENESS

# What whoever ends it may wait for [s]. On a computer that others keep busy too, one of some
# tries has to do, and may take longer by as much as everything does that yields as the worker.
LIMIT, TRIES = 3.0, 6
# What it says where the worker gets no time of the processor for two seconds.
BUSY = 'the posterior is not saved: the worker is too busy'
# Prints how many times as long as the processor's time the wall clock's is.
YIELDING = f"""
import os, time
os.nice({NICENESS})
began = time.monotonic(), time.process_time()
while (spent := time.process_time() - began[1]) < 0.2:
    pass
print((time.monotonic() - began[0]) / spent)
"""
SHARED = Path('/dev/shm')


@contextmanager
def node_in_state(client, state, folder):
    """Bring a node into a state, and yield its process."""
    settings = ('-p', f'saving.folder:={folder / "posteriors"}', '-p', 'autostart:=false')
    client.forget()
    client.estimates.clear()
    with node_process(CONFIG, folder / 'output', *settings) as process:
        client.wait(lambda: client.status('node'), 'a node')
        if state != 'unconfigured':
            change(client, Transition.TRANSITION_CONFIGURE)
        if state in ('active', 'fitting'):
            change(client, Transition.TRANSITION_ACTIVATE)
        publisher = send(client, record(2.5)) if state == 'fitting' else None
        if publisher:
            client.wait(lambda: client.estimates, 'the first frame, and many that wait')
        if state == 'finalized':
            change(client, Transition.TRANSITION_INACTIVE_SHUTDOWN)
        yield process
        if publisher:
            client.node.destroy_publisher(publisher)


def change(client, number):
    assert client.call(ChangeState, 'change_state', transition=Transition(id=number)).success


def seconds_to_end(process, number):
    """
    Send a signal to a node and its worker, as a terminal or systemd does; see it end well.

    Return how long that would have taken if nobody else had wanted the processor.
    """
    began = time.monotonic()
    os.killpg(process.pid, number)
    assert process.wait(PATIENCE) == 0
    seconds = time.monotonic() - began
    slowness = subprocess.run([sys.executable, '-c', YIELDING], stdout=subprocess.PIPE, check=True)
    return seconds / float(slowness.stdout)


def members_of(group):
    """Return the processes of a group that run."""
    members = []
    for path in Path('/proc').glob('[0-9]*'):
        try:
            fields = (path / 'stat').read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and is_running(int(path.name)):
            members.append(int(path.name))
    return members


def shared_by(pid):
    """Return the names of the shared memory that a process has mapped or holds open."""
    maps = Path(f'/proc/{pid}/maps').read_text().splitlines()
    links = [os.readlink(path) for path in Path(f'/proc/{pid}/fd').iterdir() if path.is_symlink()]
    paths = [*(line.split()[-1] for line in maps), *links]
    return {Path(path).name for path in paths if path.startswith(f'{SHARED}/')}


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('state', ['unconfigured', 'inactive', 'active', 'fitting', 'finalized'])
def test_a_signal_ends_it_in_time_and_what_it_knows_is_saved(client, state, number, tmp_path):
    times = []
    while not times or (min(times) > LIMIT and len(times) < TRIES):
        folder = tmp_path / str(len(times))
        folder.mkdir()
        with node_in_state(client, state, folder) as process:
            times.append(seconds_to_end(process, number))
            # Python's own helper ends as soon as it hears of it.
            until(lambda: members_of(process.pid) == [], 'the end of its processes')
        output = (folder / 'output').read_text()
        if BUSY in output:
            # Nor did it wait for longer: one of the tries has to be saved.
            times[-1] = math.inf
            output = output.replace('[ERROR]', '', 1)
        assert 'Traceback' not in output and '[ERROR]' not in output
        saved = [*(folder / 'posteriors').glob('*')]
        # Before any data there is nothing that would be worth a file.
        assert len(saved) == (state == 'fitting') or BUSY in output
        assert all(load(file).run['stamp_ns'] for file in saved)
    assert min(times) < LIMIT


def test_a_killed_node_leaves_no_process_and_nothing_in_shared_memory(client, tmp_path):
    mine = shared_by(os.getpid())
    with node_in_state(client, 'fitting', tmp_path) as process:
        shared = shared_by(process.pid) - mine
        assert len(members_of(process.pid)) > 1
        process.kill()
        process.wait(PATIENCE)
        until(lambda: members_of(process.pid) == [], 'the end of its processes')

    def left():
        """Return what there is of it but for ports, which the middleware keeps for others."""
        return {n for n in shared if (SHARED / n).exists() and not n.startswith('fastrtps_port')}

    assert left()
    client.wait(lambda: not left(), 'no more shared memory')
