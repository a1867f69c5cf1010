"""
What runs in the worker process: takes messages in, and tells what has become of them.

Samples are decoded, ordered and screened as they come; a second thread takes the frames in, so
a fit of a second holds nothing up, and others make the messages that the node publishes. No
thread ever asks whether there is something to do: the pipe and the bell wake the first, the
first wakes the others.
"""

from contextlib import closing, suppress
from dataclasses import replace
import gc
import multiprocessing
from multiprocessing import connection as pipes
import os
import socket
import threading
import time

from ...errors import EstimatorError
from .pipes import Reply, Report, Request
from .requests import ANEW, begin, REQUESTS

NICENESS = 10
# The shortest time between two reports of updates [s].
_REPORT_PERIOD = 0.01
# From how many seconds of data that wait on the estimator is to go first.
_BEHIND = 0.1
# Samples that may wait; then messages have to wait in the node, which counts what it drops.
_CAPACITY = 20_000


def run(connection, outlet, config, snapshot=None):
    """
    Be the worker: take batches of (source, `Decoded`), send a `Report` now and then.

    outlet: where what is to be published goes, so that no large message holds up a report;
    snapshot: what a worker before this one knew, as its reply to the request for it; None: begin
    as the settings say.
    """
    _die_with_parent()
    # Before there are threads: they inherit it.
    os.nice(NICENESS)
    import torch

    from ...backend.choice import choose_backend
    from ...background import Relief
    from ...pipeline import Pipeline

    torch.set_num_threads(1)
    try:
        pipeline = Pipeline.from_config(config)
        begin(pipeline, config, snapshot)
        backend = choose_backend(config.simulation.backend).name
    except EstimatorError as error:
        connection.send(error)
        return
    _leave_alone_what_stays()
    serve(connection, outlet, pipeline, Relief.from_config(config.frames), backend)


def serve(connection, outlet, pipeline, relief, backend):
    """Take batches and send reports until the other end of the pipe is closed."""
    from .output_thread import OutputThread  # imports torch, which takes seconds

    with (
        _Bell() as bell,
        closing(OutputThread(pipeline.problem, outlet, bell.ring)) as outputs,
        _Server(connection, bell, pipeline, relief, backend, outputs) as server,
    ):
        try:
            server.serve()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the node has closed its end: there is nobody to work for


class _Server:
    """The loop of the worker."""

    def __init__(self, connection, bell, pipeline, relief, backend, outputs):
        """
        Take the parts.

        connection: the pipe; bell: the `_Bell` of updates; relief: `Relief` of the `Pipeline`;
        backend: its name; outputs: the `OutputThread`.
        """
        self._connection, self._bell, self._outputs = connection, bell, outputs
        self._pipeline, self._relief, self._backend = pipeline, relief, backend
        self._taken = self._updates = 0
        self._busy = self._longest = 0.0
        self._events, self._estimate, self._reported = [], None, 0.0
        self._begin()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._background.close()

    def _begin(self):
        """Let frames be taken in beside the messages."""
        from ...background import Background

        self._background = Background(self._pipeline, self._relief, self._bell.ring)

    def serve(self):
        """Do what comes, until the pipe is closed."""
        self._send_report()
        has_news = False
        while True:
            ready = pipes.wait([self._connection, self._bell], self._patience(has_news))
            if self._bell in ready:
                self._bell.hush()
            if self._connection in ready:
                self._take(self._connection.recv())
            has_news = self._step() or has_news
            self._outputs.step(is_behind=self._pipeline.stream.lag > _BEHIND)
            if self._connection in ready or (has_news and not self._due()):
                self._send_report()
                has_news = False

    def _patience(self, has_news):
        """Return for how many seconds there is nothing to do unless something comes, or None."""
        waits = [self._outputs.wait(), self._due() if has_news else None]
        return min((wait for wait in waits if wait is not None), default=None)

    def _due(self):
        """Return in how many seconds updates may be reported."""
        return max(self._reported + _REPORT_PERIOD - time.monotonic(), 0.0)

    def _take(self, batch):
        """Take the messages of a batch in, or do what is asked for."""
        if isinstance(batch, Request):
            self._answer(batch)
            return
        for name, decoded in batch:
            self._pipeline.take(name, decoded)
            self._step()
        self._taken += len(batch)

    def _answer(self, request):
        """Do what a request asks for, or let it be done; a `Reply` says what came of it."""
        if request.what == 'draw_samples':
            self._outputs.ask(request.number, self._pipeline.progress)
        elif request.what == 'wish':
            refusal = self._outputs.wish(*request.arguments)
            self._connection.send(Reply(request.number, not refusal, refusal))
        else:
            self._connection.send(self._reply(request))

    def _reply(self, request):
        """Do what is asked of the pipeline; the `Reply` says what came of it."""
        begins_anew = request.what in ANEW
        if begins_anew:
            self._background.close()
            self._step()
        try:
            text, content = REQUESTS[request.what](self._pipeline, *request.arguments)
            if begins_anew:
                self._note_beginning()
        except EstimatorError as error:
            return Reply(request.number, False, str(error))
        finally:
            if begins_anew:
                self._outputs.forget()
                self._begin()
        return Reply(request.number, True, text, content)

    def _note_beginning(self):
        """Let it be told, where anything has been said before."""
        if self._estimate:
            prior, stamp_ns = self._pipeline.estimate(), self._estimate.stamp_ns
            self._estimate = replace(prior, stamp_ns=stamp_ns)
            self._events.append('reset')

    def _step(self):
        """Let complete frames be done, and tell whether some have been."""
        updates = self._background.step()
        for update in updates:
            self._busy += update.seconds
            self._longest = max(self._longest, update.seconds)
            self._estimate = update.estimate
            self._outputs.note(update.progress)
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


def _leave_alone_what_stays():
    """Spare the garbage collector what lives as long as the process: it stops updates for .2 s."""
    gc.collect()
    gc.freeze()


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
