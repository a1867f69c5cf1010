"""
The worker process, as the node sees it: its end of the pipes.

The node never blocks on it. A batch of messages is sent only when the one before has been
processed, and fits into the buffer of the pipe; messages wait meanwhile in a bounded backlog.
Publications may be large and come through a second pipe, which a thread reads.
"""

from collections import Counter, deque
from contextlib import suppress
import multiprocessing
from multiprocessing import resource_tracker
import os
import queue
import signal
import threading
import time

from ...errors import EstimatorError
from .pipes import Publication, Reply, Report, Request
from .server import run

# Ten seconds of two topics at 1 kHz: as much as a start with an empty disk cache takes.
CAPACITY = 20_000
# Messages sent at once; as bytes fewer than the buffer of a pipe holds.
BATCH = 250
# How long the worker may take to end once it has closed its pipe [s].
_PATIENCE = 1.0


class Backlog:
    """A bounded queue of decoded messages for the worker; it drops the oldest and counts them."""

    def __init__(self, capacity):
        """Take the largest number of messages."""
        # Each with the time of its arrival, by a steady clock [s].
        self._items, self.capacity = deque(), capacity
        self.dropped = Counter()

    def __len__(self):
        return len(self._items)

    def append(self, name, decoded):
        """Enqueue the decoded message of the source of that name."""
        if len(self._items) == self.capacity:
            self._drop_oldest()
        self._items.append((name, decoded, time.monotonic()))

    def take(self, number):
        """Remove the oldest messages, at most `number`, and return them."""
        return [self._items.popleft()[:2] for _ in range(min(number, len(self._items)))]

    def drop_before(self, time_s):
        """Drop and count the messages that came before a time of the steady clock [s]."""
        while self._items and self._items[0][2] < time_s:
            self._drop_oldest()

    def _drop_oldest(self):
        oldest, *_ = self._items.popleft()
        self.dropped[oldest] += 1


class Worker:
    """The worker process: sends batches and requests, receives reports and publications."""

    def __init__(self, config, snapshot=None, backlog=None):
        """
        Start the process that runs the pipeline of a `Config`.

        snapshot: `Snapshot.content` of the worker before, to continue from; backlog: the
        `Backlog` of messages that wait already.
        """
        self.backlog = Backlog(CAPACITY) if backlog is None else backlog
        self.report, self.death = None, None
        self.sent, self._waiting_for, self._asked = 0, {}, 0
        # When it has sent something last, by a steady clock.
        self.heard = time.monotonic()
        # Read by libraries when the worker loads them: spinning threads would cost a whole core,
        # and for matrices this small even sleeping ones cost more than they save.
        os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
        context = multiprocessing.get_context('spawn')
        self._connection, theirs = context.Pipe()
        outlet, their_outlet = context.Pipe(duplex=False)
        self._process = context.Process(
            target=run, args=(theirs, their_outlet, config, snapshot), name='worker', daemon=True
        )
        _start_deaf(self._process)
        # The worker then holds the only copies, so that its death closes the pipes.
        theirs.close()
        their_outlet.close()
        self._outputs = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(outlet, self._outputs), daemon=True).start()

    @property
    def pid(self):
        """Process id of the worker."""
        return self._process.pid

    @property
    def waiting(self):
        """Number of messages received that the worker has not processed."""
        return len(self.backlog) + self.sent - (self.report.taken if self.report else 0)

    def ask(self, what, *arguments, then):
        """
        Send a `Request`, to be answered after all that was sent before.

        then: is called by a later `poll` with the `Reply`, also if the worker dies.
        """
        self._asked += 1
        self._waiting_for[self._asked] = then
        if not self.death:
            # A death is noticed by the next poll.
            with suppress(OSError):
                self._connection.send(Request(self._asked, what, arguments))

    def poll(self):
        """
        Send a batch if the worker has room for one; return the `Report`s received since.

        An error by which the worker refused the settings is raised here. Its death raises
        nothing: `death` says how it died.
        """
        reports = []
        if self.death:
            self._answer_for_the_dead()
            return reports
        try:
            while self._connection.poll():
                received = self._received()
                if isinstance(received, Report):
                    reports.append(received)
            if self._can_send and self.backlog:
                batch = self.backlog.take(BATCH)
                self._connection.send(batch)
                self.sent += len(batch)
        except (EOFError, OSError):
            self._process.join(_PATIENCE)
            self.death = _cause(self._process.exitcode)
            self._answer_for_the_dead()
        return reports

    def publications(self):
        """Yield the `Publication`s received since; replies among them go to who asked."""
        while not self._outputs.empty():
            received = self._outputs.get()
            if isinstance(received, Publication):
                yield received
            else:
                self._hand_on(received)

    def close(self):
        """Kill the worker, which has nothing to save."""
        self._connection.close()
        self._process.kill()
        self._process.join()

    @property
    def _can_send(self):
        """Whether the worker has processed all that was sent, and has room for more."""
        report = self.report
        return report is not None and report.has_room and report.taken == self.sent

    def _received(self):
        message, self.heard = self._connection.recv(), time.monotonic()
        if isinstance(message, EstimatorError):
            raise message
        if isinstance(message, Reply):
            self._hand_on(message)
        else:
            self.report = message
        return message

    def _hand_on(self, reply):
        """Pass a `Reply` to who asked; after a death it was answered already."""
        then = self._waiting_for.pop(reply.number, None)
        if then:
            then(reply)

    def _answer_for_the_dead(self):
        """Answer all open requests with an error that says how the worker died."""
        waiting, self._waiting_for = self._waiting_for, {}
        for number, then in waiting.items():
            then(Reply(number, False, f'the worker {self.death}'))


def _pass_on(outlet, outputs):
    """Move what comes out of a pipe into a queue, until the other end is closed."""
    with outlet, suppress(EOFError, OSError):
        while True:
            outputs.put(outlet.recv())


def _start_deaf(process):
    """
    Start a process with SIGINT and SIGTERM blocked, even while it imports.

    Terminals and systemd send them to the whole process group, but only the node ends the
    worker, after the posterior is saved.
    """
    # Started here, since it would unblock the signals if the process started it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause(exit_code):
    """Return how a process died, as the end of a sentence."""
    if exit_code is None:
        return 'closed its pipe'
    if exit_code < 0:
        return f'was killed by {signal.Signals(-exit_code).name}'
    return f'ended by itself with exit code {exit_code}'
