"""
The node's end of the pipes to the process that computes.

The node never waits for it: a batch is sent only when the one before has been taken in, and is
small enough for the pipe. What comes meanwhile is kept in a bounded backlog. What is to be
published may be large, and comes through a pipe of its own that a thread reads.
"""

from collections import Counter, deque
from contextlib import suppress
import multiprocessing
from multiprocessing import resource_tracker
import os
import queue
import signal
import threading

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

    def __init__(self, config, snapshot=None, backlog=None):
        """
        Start the process that runs the pipeline of a `Config`.

        snapshot: what one before this one knew, as its reply to the request; backlog: the
        messages that wait already.
        """
        self.backlog = Backlog(CAPACITY) if backlog is None else backlog
        self.report, self.death = None, None
        self.sent, self._waiting_for, self._asked = 0, {}, 0
        # Read by libraries when the worker loads them: threads that spin would cost a whole core,
        # and for matrices this small even those that sleep cost more than they save.
        os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
        context = multiprocessing.get_context('spawn')
        self._connection, theirs = context.Pipe()
        outlet, their_outlet = context.Pipe(duplex=False)
        self._process = context.Process(
            target=run, args=(theirs, their_outlet, config, snapshot), name='worker', daemon=True
        )
        _start_deaf(self._process)
        # With the last copies in the worker, its death closes the pipes.
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
        """How many messages have come that the worker has not taken in."""
        return len(self.backlog) + self.sent - (self.report.taken if self.report else 0)

    def ask(self, what, *arguments, then):
        """
        Ask for something, see `Request`, after all that was sent.

        then: is called by a later `poll` with the `Reply`, also where the worker died.
        """
        self._asked += 1
        self._waiting_for[self._asked] = then
        if not self.death:
            # Where it has died, the next poll notices.
            with suppress(OSError):
                self._connection.send(Request(self._asked, what, arguments))

    def poll(self):
        """
        Hand a batch over if the worker can take one; return the reports that came since.

        The error that the worker met in the settings is raised here. Its death is no error of
        the node's: `death` says how it died.
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
        """Yield what is to be published and came since; replies among it are handed on."""
        while not self._outputs.empty():
            received = self._outputs.get()
            if isinstance(received, Publication):
                yield received
            else:
                self._hand_on(received)

    def close(self):
        """End the worker; it has nothing to save."""
        self._connection.close()
        self._process.kill()
        self._process.join()

    @property
    def _can_send(self):
        """Whether the worker has taken in all that was sent, and can take more."""
        report = self.report
        return report is not None and report.has_room and report.taken == self.sent

    def _received(self):
        message = self._connection.recv()
        if isinstance(message, EstimatorError):
            raise message
        if isinstance(message, Reply):
            self._hand_on(message)
        else:
            self.report = message
        return message

    def _hand_on(self, reply):
        """Let whoever asked have a `Reply`; one that comes after a death has been told of that."""
        then = self._waiting_for.pop(reply.number, None)
        if then:
            then(reply)

    def _answer_for_the_dead(self):
        """Reply to what the worker will not reply to any more."""
        waiting, self._waiting_for = self._waiting_for, {}
        for number, then in waiting.items():
            then(Reply(number, False, f'the worker {self.death}'))


def _pass_on(outlet, outputs):
    """Put into a queue what comes out of a pipe, until its other end is closed."""
    with outlet, suppress(EOFError, OSError):
        while True:
            outputs.put(outlet.recv())


def _start_deaf(process):
    """
    Start a process that SIGINT and SIGTERM do not reach, not even while it imports.

    Terminals and systemd send them to the whole group, but it is the node that ends the worker,
    when it knows enough.
    """
    # Started here since on its own start it would unblock the signals.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
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
