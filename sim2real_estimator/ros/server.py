"""
What runs in the worker process: takes messages in, and tells what has become of them.

Samples are decoded, ordered and screened as they come; a second thread takes the frames in, so
a fit of a second holds nothing up. Neither thread ever asks whether there is something to do:
the pipe and the bell wake the first, the first wakes the second.
"""

from contextlib import suppress
from dataclasses import dataclass
import multiprocessing
from multiprocessing import connection as pipes
import os
import socket
import threading
import time

from ..errors import EstimatorError
from ..records import Estimate, Findings

NICENESS = 10
# The shortest time between two reports of updates [s].
_REPORT_PERIOD = 0.02
# Samples that may wait; then messages have to wait in the node, which counts what it drops.
_CAPACITY = 20_000


@dataclass(frozen=True)
class Report:
    """
    What the worker tells the node.

    backend: that simulates; has_room: whether the worker can take a batch; taken: messages
    taken in; updates: frames done; busy: seconds they took; longest: seconds the longest of them
    took since the report before; events: of all updates since then; estimate, findings: the
    newest, None before the first update; counts: source -> {status in words: number}; samples:
    how many wait for their frame; lag: seconds of data that could be done already; is_relieved:
    whether frames are made longer since that is too much; reliefs: how often that has begun.
    """

    backend: str
    has_room: bool
    taken: int
    updates: int
    busy: float
    longest: float
    events: tuple
    estimate: Estimate | None
    findings: Findings | None
    counts: dict
    samples: int
    lag: float
    is_relieved: bool
    reliefs: int


def run(connection, config):
    """Be the worker: take batches of (source, `Decoded`), send a `Report` now and then."""
    _die_with_parent()
    # Before there are threads: they inherit it.
    os.nice(NICENESS)
    import torch

    from ..backend.choice import choose_backend
    from ..background import Relief
    from ..pipeline import Pipeline

    torch.set_num_threads(1)
    try:
        pipeline = Pipeline.from_config(config)
        backend = choose_backend(config.simulation.backend).name
    except EstimatorError as error:
        connection.send(error)
        return
    serve(connection, pipeline, Relief.from_config(config.frames), backend)


def serve(connection, pipeline, relief, backend):
    """Take batches and send reports until the other end of the pipe is closed."""
    from ..background import Background

    with _Bell() as bell, Background(pipeline, relief, bell.ring) as background:
        try:
            _Server(connection, bell, background, backend).serve()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the node has closed its end: there is nobody to work for


class _Server:
    """The loop of the worker."""

    def __init__(self, connection, bell, background, backend):
        """Take the pipe, the `_Bell` of updates, the `Background` and the backend's name."""
        self._connection, self._bell = connection, bell
        self._background, self._pipeline = background, background.pipeline
        self._backend = backend
        self._taken = self._updates = 0
        self._busy = self._longest = 0.0
        self._events, self._estimate, self._reported = [], None, 0.0

    def serve(self):
        """Do what comes, until the pipe is closed."""
        self._send_report()
        has_news = False
        while True:
            ready = pipes.wait([self._connection, self._bell], self._due() if has_news else None)
            if self._bell in ready:
                self._bell.hush()
            if self._connection in ready:
                self._take(self._connection.recv())
            has_news = self._step() or has_news
            if self._connection in ready or (has_news and not self._due()):
                self._send_report()
                has_news = False

    def _due(self):
        """Return in how many seconds updates may be reported."""
        return max(self._reported + _REPORT_PERIOD - time.monotonic(), 0.0)

    def _take(self, batch):
        """Take the messages of a batch in."""
        for name, decoded in batch:
            self._pipeline.take(name, decoded)
            self._step()
        self._taken += len(batch)

    def _step(self):
        """Let complete frames be done, and tell whether some have been."""
        updates = self._background.step()
        for update in updates:
            self._busy += update.seconds
            self._longest = max(self._longest, update.seconds)
            self._estimate = update.estimate
            self._events += update.estimate.report.events
        self._updates += len(updates)
        return bool(updates)

    def _send_report(self):
        stream = self._pipeline.stream
        report = Report(
            backend=self._backend,
            has_room=stream.waiting < _CAPACITY,
            taken=self._taken,
            updates=self._updates,
            busy=self._busy,
            longest=self._longest,
            events=tuple(self._events),
            estimate=self._estimate,
            findings=self._pipeline.latest_findings() if self._estimate else None,
            counts=self._pipeline.counts.table(),
            samples=stream.waiting,
            lag=stream.lag,
            is_relieved=self._background.is_relieved,
            reliefs=self._background.reliefs,
        )
        self._connection.send(report)
        self._events, self._longest, self._reported = [], 0.0, time.monotonic()


class _Bell:
    """Wakes a `wait` of this process from another of its threads."""

    def __init__(self):
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._near.close()
        self._far.close()

    def fileno(self):
        """Return what to wait for."""
        return self._near.fileno()

    def ring(self):
        """End the `wait`, the next one where there is none."""
        # Where it cannot be sent nobody has listened for long, and it is ringing.
        with suppress(BlockingIOError):
            self._far.send(b'.')

    def hush(self):
        """Forget that it rang."""
        self._near.recv(4096)


def _die_with_parent():
    """End this process when its parent does, however that ends, even during a long update."""
    parent = multiprocessing.parent_process()

    def wait():
        pipes.wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
