"""
The main loop of the worker process: decoded messages in, reports of estimates out.

The main thread buffers and screens samples as they come. A second thread updates the estimator
with complete frames, so that a fit of a second delays nothing, and others make the messages that
the node publishes. No thread polls: the pipe and the `_Bell` wake the main thread, which wakes
the others.
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
from ...reported_events import Happened
from .pipes import Reply, Report, Request
from .requests import ANEW, begin, REQUESTS

NICENESS = 10
# The shortest time between two reports of updates [s].
_REPORT_PERIOD = 0.01
# Seconds of data that wait beyond which the estimator goes before draws of samples.
_BEHIND = 0.1
# Samples that may wait here; beyond that messages wait in the node, which counts what it drops.
_CAPACITY = 20_000


def run(connection, outlet, config, snapshot=None):
    """
    Be the worker: receive batches of (source, `Decoded`), and send `Report`s.

    outlet: the pipe for publications, so that no large message delays a report; snapshot:
    `Snapshot.content` of the worker before, to continue from; None: begin as the settings say.
    """
    _die_with_parent()
    # Threads inherit it, so set it before there are any.
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
    _freeze_garbage()
    serve(connection, outlet, pipeline, Relief.from_config(config.frames), backend)


def serve(connection, outlet, pipeline, relief, backend):
    """Receive batches and send reports until the other end of the pipe is closed."""
    from .output_thread import OutputThread  # imports torch, which takes seconds

    with (
        _Bell() as bell,
        closing(OutputThread(pipeline.problem, outlet, bell.ring)) as outputs,
        _Server(connection, bell, pipeline, relief, backend, outputs) as server,
    ):
        try:
            server.serve()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the node has closed its end


class _Server:
    """The loop of the worker."""

    def __init__(self, connection, bell, pipeline, relief, backend, outputs):
        """
        Start updating in the background.

        connection: the pipe; bell: the `_Bell` that updates ring; relief: `Relief` of the
        `Pipeline`; backend: its name; outputs: the `OutputThread`.
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
        """Start a `Background` that updates with frames while messages are received."""
        from ...background import Background

        self._background = Background(self._pipeline, self._relief, self._bell.ring)

    def serve(self):
        """Serve messages, requests and updates until the pipe is closed."""
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
        """Return how long to wait for something to come [s], None: without limit."""
        waits = [self._outputs.wait(), self._due() if has_news else None]
        return min((wait for wait in waits if wait is not None), default=None)

    def _due(self):
        """Return the time until updates may be reported [s]."""
        return max(self._reported + _REPORT_PERIOD - time.monotonic(), 0.0)

    def _take(self, batch):
        """Push the messages of a batch into the pipeline, or answer a `Request`."""
        if isinstance(batch, Request):
            self._answer(batch)
            return
        for name, decoded in batch:
            self._pipeline.take(name, decoded)
            self._step()
        self._taken += len(batch)

    def _answer(self, request):
        """Serve a request, or pass it to the output thread; its outcome is sent as a `Reply`."""
        if request.what == 'draw_samples':
            self._outputs.ask(request.number, self._pipeline.progress)
        elif request.what == 'wish':
            refusal = self._outputs.wish(*request.arguments)
            self._connection.send(Reply(request.number, not refusal, refusal))
        else:
            self._connection.send(self._reply(request))

    def _reply(self, request):
        """Serve a request to the pipeline, and return the `Reply`."""
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
        """Report the prior as the new estimate, if any estimate was reported before."""
        if self._estimate:
            prior, stamp_ns = self._pipeline.estimate(), self._estimate.stamp_ns
            self._estimate = replace(prior, stamp_ns=stamp_ns)
            self._events.append(Happened.RESET)

    def _step(self):
        """Start the update with the next frame, and tell whether updates have finished."""
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


def _freeze_garbage():
    """Exempt all objects so far from garbage collection, which stops updates for 0.2 s."""
    gc.collect()
    gc.freeze()


class _Bell:
    """Wakes a `wait` on pipes from another thread of this process."""

    def __init__(self):
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._near.close()
        self._far.close()

    def fileno(self):
        """Return the descriptor to wait for."""
        return self._near.fileno()

    def ring(self):
        """End the `wait`, or the next one where there is none."""
        # A full buffer means that it rings already.
        with suppress(BlockingIOError):
            self._far.send(b'.')

    def hush(self):
        """Stop ringing."""
        self._near.recv(4096)


def _die_with_parent():
    """End this process when its parent ends, in whatever way, even during a long update."""
    parent = multiprocessing.parent_process()

    def wait():
        pipes.wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
