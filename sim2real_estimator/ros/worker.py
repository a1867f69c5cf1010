"""
The process that computes, and the node's end of the pipe to it.

The node never waits for it: a batch is sent only when the worker waits for one, and is small
enough for the pipe. What comes meanwhile is kept in a bounded backlog.
"""

from collections import Counter, deque
from dataclasses import dataclass
import multiprocessing
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
import os
import signal
import threading
import time

from ..errors import EstimatorError
from ..records import Estimate

# Ten seconds of two topics at 1 kHz: as much as a start with an empty disk cache takes.
CAPACITY = 20_000
# Messages sent at once; as bytes fewer than the buffer of a pipe holds.
BATCH = 250
NICENESS = 10
# Between two signs of life during a batch [s].
_REPORT_PERIOD = 0.1
# How long the worker may take to end once it has closed its pipe [s].
_PATIENCE = 1.0


@dataclass(frozen=True)
class Report:
    """
    What the worker tells the node.

    backend: that simulates; is_idle: whether it waits for the next batch; taken: messages done;
    updates: frames done; busy: seconds they took; longest: seconds the longest of them took
    since the report before; events: of all updates since then; estimate: the newest, None before
    the first update; counts: source -> {status in words: number}.
    """

    backend: str
    is_idle: bool
    taken: int
    updates: int
    busy: float
    longest: float
    events: tuple
    estimate: Estimate | None
    counts: dict


class Backlog:
    """Decoded messages that wait for the worker; the oldest make room, and are counted."""

    def __init__(self, capacity):
        """Take the largest number of messages."""
        self._items, self.capacity = deque(), capacity
        self.dropped = Counter()

    def __len__(self):
        return len(self._items)

    def append(self, name, decoded):
        """Keep what a message held for the source of that name."""
        if len(self._items) == self.capacity:
            oldest, _ = self._items.popleft()
            self.dropped[oldest] += 1
        self._items.append((name, decoded))

    def take(self, number):
        """Return the oldest messages, at most so many, and forget them."""
        return [self._items.popleft() for _ in range(min(number, len(self._items)))]


class Worker:
    """The worker as the node sees it."""

    def __init__(self, config, capacity=CAPACITY):
        """Start the process that runs the pipeline of a `Config`."""
        self.backlog, self.report, self.death = Backlog(capacity), None, None
        self._is_idle, self._sent = False, 0
        # Read by OpenMP when the worker loads it: threads that spin would cost a whole core.
        os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
        context = multiprocessing.get_context('spawn')
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=run, args=(theirs, config), name='worker', daemon=True
        )
        _start_deaf(self._process)
        theirs.close()  # with the last copy in the worker, its death closes the pipe

    @property
    def pid(self):
        """Process id of the worker."""
        return self._process.pid

    @property
    def waiting(self):
        """How many messages have come that the worker has not done."""
        return len(self.backlog) + self._sent - (self.report.taken if self.report else 0)

    def poll(self):
        """
        Hand a batch over if the worker waits for one; return the reports that came since.

        The error that the worker met in the settings is raised here. Its death is no error of
        the node's: `death` says how it died.
        """
        reports = []
        if self.death:
            return reports
        try:
            while self._connection.poll():
                reports.append(self._received())
            if self._is_idle and self.backlog:
                batch = self.backlog.take(BATCH)
                self._connection.send(batch)
                self._is_idle, self._sent = False, self._sent + len(batch)
        except (EOFError, OSError):
            self._process.join(_PATIENCE)
            self.death = _cause(self._process.exitcode)
        return reports

    def close(self):
        """End the worker; it has nothing to save."""
        self._connection.close()
        self._process.kill()
        self._process.join()

    def _received(self):
        message = self._connection.recv()
        if isinstance(message, EstimatorError):
            raise message
        self.report, self._is_idle = message, message.is_idle
        return message


def run(connection, config):
    """Be the worker: take batches of (source, `Decoded`), send a `Report` now and then."""
    _die_with_parent()
    os.nice(NICENESS)
    import torch

    from ..backend.choice import choose_backend
    from ..pipeline import Pipeline

    torch.set_num_threads(1)
    try:
        pipeline = Pipeline.from_config(config)
        backend = choose_backend(config.simulation.backend).name
    except EstimatorError as error:
        connection.send(error)
        return
    try:
        _Server(connection, pipeline, backend).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the node has closed its end: there is nobody to work for


class _Server:
    """The loop of the worker."""

    def __init__(self, connection, pipeline, backend):
        """Take the pipe, the `Pipeline` and the backend's name."""
        self._connection, self._pipeline, self._backend = connection, pipeline, backend
        self._taken = self._updates = 0
        self._busy = self._longest = 0.0
        self._events, self._estimate, self._reported = [], None, 0.0

    def serve(self):
        """Do batch after batch until the pipe is closed."""
        while True:
            self._send_report(is_idle=True)
            for name, decoded in self._connection.recv():
                self._pipeline.take(name, decoded)
                self._step()
                self._taken += 1
                if time.monotonic() - self._reported > _REPORT_PERIOD:
                    self._send_report(is_idle=False)

    def _step(self):
        """Do the frames that are complete."""
        began = time.monotonic()
        estimates = self._pipeline.step()
        if not estimates:
            return
        seconds = time.monotonic() - began
        self._busy += seconds
        self._longest = max(self._longest, seconds / len(estimates))
        self._updates += len(estimates)
        self._estimate = estimates[-1]
        self._events += [event for e in estimates for event in e.report.events]

    def _send_report(self, is_idle):
        report = Report(
            backend=self._backend,
            is_idle=is_idle,
            taken=self._taken,
            updates=self._updates,
            busy=self._busy,
            longest=self._longest,
            events=tuple(self._events),
            estimate=self._estimate,
            counts=self._pipeline.counts.table(),
        )
        self._connection.send(report)
        self._events, self._longest, self._reported = [], 0.0, time.monotonic()


def _die_with_parent():
    """End this process when its parent does, however that ends, even during a long update."""
    parent = multiprocessing.parent_process()

    def wait():
        pipes.wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def _start_deaf(process):
    """
    Start a process that SIGINT does not reach, not even while it imports.

    Ctrl-C is sent to the whole group, but it is the node that ends the worker.
    """
    # Started here since on its own start it would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause(exit_code):
    """Return in words how a process died."""
    if exit_code is None:
        return 'closed its pipe'
    if exit_code < 0:
        return f'was killed by {signal.Signals(-exit_code).name}'
    return f'ended by itself with exit code {exit_code}'
