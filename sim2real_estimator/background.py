"""
Taking frames in beside the stream: no fit holds up the samples that come meanwhile.

A thread computes what is known after each frame, one after the other; everything else is done by
whoever calls. When a result is there decides when it can be seen, and nothing else: the posterior
is that of `Pipeline.step`, bit for bit, as long as the relief does not make frames longer.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
import time

from .pipeline import Progress

_NANO = 1e9
# Frames get short again when so little of the limit waits: the rate must not flutter.
_CAUGHT_UP = 0.25


@dataclass(frozen=True)
class Relief:
    """
    Longer frames while too much data wait: fewer updates, and no sample left out.

    limit [s]: of data that may wait, None: any; rate [1/s]: of frames beyond it; full_rate
    [1/s]: of frames otherwise.
    """

    limit: float | None
    rate: float
    full_rate: float

    @classmethod
    def from_config(cls, frames):
        """Return the relief that a `FramesConfig` asks for."""
        return cls(frames.overload, min(frames.overload_rate, frames.max_rate), frames.max_rate)

    def rate_at(self, lag, rate):
        """Return the rate from now on; lag: seconds of data that wait; rate: that in use."""
        if self.limit is not None and lag > self.limit:
            return self.rate
        has_caught_up = self.limit is None or lag <= _CAUGHT_UP * self.limit
        return self.full_rate if rate == self.rate and has_caught_up else rate


@dataclass(frozen=True)
class Update:
    """What a frame has made known, and how many seconds that took."""

    progress: Progress
    seconds: float

    @property
    def estimate(self):
        """The `Estimate` after the frame."""
        return self.progress.estimate


class Background:
    """
    A pipeline's `step` without the waiting.

    Samples are pushed into the pipeline itself, and at any time it can be saved: what is not yet
    taken in is among the frames that wait. To reset it or to load, close this first, and begin
    another after it.
    """

    def __init__(self, pipeline, relief=None, on_update=None):
        """
        Start the thread, which goes on from what the pipeline knows.

        relief: `Relief`, None: frames stay as they are; on_update: called, from the thread,
        after every frame.
        """
        self.pipeline, self._relief, self._on_update = pipeline, relief, on_update
        self._executor = ThreadPoolExecutor(1, 'estimator')
        self._last = self._executor.submit(Update, pipeline.progress, 0.0)
        self._pending, self._lag_ns = deque(), 0
        self._hand_over(pipeline.waiting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def lag(self):
        """Seconds of data in the frames that wait."""
        return self._lag_ns / _NANO

    @property
    def is_relieved(self):
        """Whether frames are longer than usual, since too much data wait."""
        rate = self.pipeline.stream.max_rate
        return self._relief is not None and rate is not None and rate < self._relief.full_rate

    def step(self):
        """
        Hand over the frames that are complete; return an `Update` for each that has been done.

        An error that an update met is raised here.
        """
        self._hand_over(self.pipeline.cut())
        return self._collected()

    def settle(self):
        """Wait until all frames handed over are done; return an `Update` for each."""
        wait(self._pending)
        return self._collected()

    def finish(self):
        """Take in all frames left, the data having come to their end; as `settle`."""
        self._hand_over(self.pipeline.cut(is_end=True))
        return self.settle()

    def close(self):
        """End the thread; frames whose updates have not been returned go on waiting."""
        self._executor.shutdown(cancel_futures=True)

    def _hand_over(self, frames):
        """Let the thread take frames in after those that it has."""
        for frame in frames:
            self._lag_ns += frame.end_ns - frame.start_ns
            self._last = self._executor.submit(self._update, self._last, frame)
            if self._on_update:
                self._last.add_done_callback(lambda _: self._on_update())
            self._pending.append(self._last)

    def _update(self, before, frame):
        """Return the `Update` with a frame; before: the future `Update` of the frame before."""
        # Being the only thread, it has come to its result or to its error, which is ours then.
        progress = before.result().progress
        began = time.monotonic()
        progress = self.pipeline.after(progress, frame)
        return Update(progress, time.monotonic() - began)

    def _collected(self):
        """Return the updates that are done, and let the pipeline go on from them."""
        updates = []
        while self._pending and self._pending[0].done():
            updates.append(self._pending[0].result())
            self._pending.popleft()
            frame = self.pipeline.waiting[0]
            self._lag_ns -= frame.end_ns - frame.start_ns
            self.pipeline.accept(updates[-1].progress)
        self._adapt()
        return updates

    def _adapt(self):
        """Make frames longer or shorter from now on, by how much data wait."""
        rate = self.pipeline.stream.max_rate
        if self._relief is not None and rate is not None:
            self.pipeline.stream.set_rate(self._relief.rate_at(self.lag, rate))
