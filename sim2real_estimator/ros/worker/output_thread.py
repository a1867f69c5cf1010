"""
Messages composed and serialized beside the estimator, for the node to publish as they are.

Nothing here delays samples or updates: messages that take milliseconds are composed in one
thread, draws of the parameters, which may take seconds, in a second one. Where possible the
instant of a message depends on data alone: `~/posterior` is of the instants at which findings
were made, draws are of the switch from batch to filter, or of the latest change.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
import json
import logging
import threading
import time

from rclpy.serialization import serialize_message

from .output_messages import Composer, outdates_draws
from .pipes import Publication, Reply

# Topics that follow every update up to a rate -> that rate; the others are of the instants of new
# findings, once a second of data and after events.
_RATES = {
    'predicted_joint_states': lambda wishes: wishes.rate,
    'markers': lambda wishes: wishes.markers.rate,
}
_JUDGED = ('payload', 'payload_uncertainty', 'parameters', 'bands', 'posterior')
# Topics of the payload, published only where it has changed, and before the others.
_ON_CHANGE = frozenset(('payload', 'payload_uncertainty'))
# The map from coordinates to parameters never changes while the worker lives.
_ONCE = ('coordinates',)
_SAMPLES = 'samples'
# Longest time for which draws wait for the estimator before each piece of them [s].
_LONGEST_PAUSE = 1.0
# Means that are kept for the markers: five minutes of findings.
_TRAIL = 300
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Published:
    """The `Progress` last published on a topic, and when, by a steady clock [s]."""

    progress: object
    time: float


class OutputThread:
    """
    Composes the messages that the node wishes to publish.

    All methods are called by the main thread of the worker, and none of them blocks.
    """

    def __init__(self, problem, connection, on_free):
        """
        Begin with no wishes.

        problem: of all progress; connection: where `Publication`s and `Reply`s go; on_free:
        called, from another thread, when `step` may have something to begin.
        """
        self._composer, self._connection, self._on_free = Composer(problem), connection, on_free
        self._sending, self._may_draw = threading.Lock(), threading.Event()
        self._pool = ThreadPoolExecutor(2, 'outputs')
        self._composing, self._drawing = None, None
        self._wishes, self._trouble = None, ''
        self.forget()

    def close(self):
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def forget(self):
        """Begin again without any progress, as the pipeline does."""
        self._newest, self._assessed, self._turn, self._trail = None, None, None, deque([], _TRAIL)
        self._published, self._asked, self._payloads = {}, deque(), {}

    def wish(self, wishes):
        """Set the node's `Wishes`; return why a part of them cannot be met, or an empty text."""
        before = self._wishes.topics if self._wishes else frozenset()
        # A new subscriber gets a message at once.
        self._published = {
            topic: published for topic, published in self._published.items() if topic in before
        }
        self._wishes = wishes
        return self._composer.refusal(wishes)

    def note(self, progress):
        """Take note of the `Progress` after another frame."""
        report = progress.estimate.report
        # A run continued from a file or from another worker is in the filter already.
        goes_on = self._newest is None and report.stage == 'filter'
        if goes_on or outdates_draws(report):
            self._turn = progress
        self._newest = progress
        if (
            self._assessed is None
            or self._assessed.assessment.latest is not progress.assessment.latest
        ):
            self._assessed = progress
            self._trail.append(progress.mixture.moments()[0])

    def ask(self, number, progress):
        """Draw samples of a `Progress`, and reply to the request of that number."""
        self._asked.append((number, progress))

    def step(self, is_behind=False):
        """
        Start the work that is due, as far as the threads are free.

        is_behind: whether data wait for the estimator; then draws wait for it.
        """
        if is_behind:
            self._may_draw.clear()
        else:
            self._may_draw.set()
        if self._is_free(self._drawing):
            self._drawing = self._begun_to_draw()
        if self._is_free(self._composing):
            now = time.monotonic()
            due = [topic for topic in self._topics() if self._wait(topic, now) == 0]
            if due:
                self._composing = self._run(self._compose, self._jobs(due, now))

    def wait(self):
        """Return the time until `step` has work [s], None where an event will call it."""
        if not self._is_free(self._composing):
            return None
        now = time.monotonic()
        waits = [self._wait(topic, now) for topic in self._topics()]
        return min((wait for wait in waits if wait is not None), default=None)

    def _topics(self):
        """Return the wished topics that are published without a request."""
        wished = self._wishes.topics if self._wishes else ()
        return [topic for topic in (*_ONCE, *_JUDGED, *_RATES) if topic in wished]

    def _subject(self, topic):
        """Return the `Progress` to publish on a topic."""
        return self._newest if topic in _RATES else self._assessed

    def _wait(self, topic, now):
        """Return the time until a topic is due [s], None where there is nothing new."""
        published, subject = self._published.get(topic), self._subject(topic)
        if subject is None or (published and (published.progress is subject or topic in _ONCE)):
            return None
        if published is None or topic not in _RATES:
            return 0.0
        return max(published.time + 1 / _RATES[topic](self._wishes) - now, 0.0)

    def _jobs(self, topics, now):
        """Return the arguments to compose topics, which count as published from now on."""
        trail, jobs = tuple(self._trail), []
        for topic in topics:
            self._published[topic] = _Published(self._subject(topic), now)
            jobs.append((topic, self._subject(topic), self._wishes, trail))
        return jobs

    def _begun_to_draw(self):
        """Start the draws that were requested, else those due after an event."""
        if not self._wishes:
            return None
        if self._asked:
            number, progress = self._asked.popleft()
        elif self._turn and _SAMPLES in self._wishes.topics:
            number, progress, self._turn = None, self._turn, None
        else:
            return None
        return self._run(self._draw, number, progress, self._wishes.samples)

    def _compose(self, jobs):
        for topic, progress, *arguments in jobs:
            if topic in _ON_CHANGE:
                payload = progress.assessment.latest.payload
                if payload.says_as(self._payloads.get(topic)):
                    continue
                self._payloads[topic] = payload
            self._publish(topic, self._composer.message(topic, progress, *arguments))

    def _draw(self, number, progress, settings):
        reply = Reply(number, False, 'the samples cannot be drawn; the log of the node says why')
        try:
            message, count = self._composer.samples(progress, settings, self._pause)
            self._publish(_SAMPLES, message)
            stamp_ns = progress.estimate.stamp_ns
            text = json.dumps({'count': count, 'seed': settings.seed, 'stamp': stamp_ns})
            reply = Reply(number, True, text)
        finally:
            if number is not None:
                self._send(reply)

    def _pause(self):
        """Let the estimator catch up, for a limited time: it may never catch up."""
        self._may_draw.wait(_LONGEST_PAUSE)

    def _publish(self, topic, message):
        self._send(Publication(topic, serialize_message(message)))

    def _send(self, item):
        # Without a reader this process is about to end.
        with self._sending, suppress(OSError):
            self._connection.send(item)

    def _run(self, function, *arguments):
        future = self._pool.submit(function, *arguments)
        future.add_done_callback(lambda _: self._on_free())
        return future

    def _is_free(self, future):
        """Tell whether a thread is free; an error of its last work is logged once."""
        if future is None:
            return True
        if not future.done():
            return False
        error = future.exception()
        # Failing outputs must not stop the estimator.
        if error and repr(error) != self._trouble:
            self._trouble = repr(error)
            _logger.error('a message cannot be made', exc_info=error)
        return True
