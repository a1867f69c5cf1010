"""
Taking frames in beside the stream: no fit holds up the samples that come meanwhile.

A thread computes what is known after a frame; everything else is done by whoever calls. When a
result is there decides when it can be seen, and nothing else: the posterior is that of
`Pipeline.step`, bit for bit, as long as the relief does not make frames longer.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import time

from .pipeline import Progress

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

    Samples are pushed into the pipeline itself, and at any time it can be saved: the frame that
    is being taken in is still among those that wait. To reset it or to load, close this first,
    and begin another after it.
    """

    def __init__(self, pipeline, relief=None, on_update=None):
        """
        Start the thread.

        relief: `Relief`, None: frames stay as they are; on_update: called, from the thread,
        after every frame, when `step` has something to return.
        """
        self.pipeline, self._relief, self._on_update = pipeline, relief, on_update
        self._executor = ThreadPoolExecutor(1, 'estimator')
        self._running, self.reliefs = None, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def is_relieved(self):
        """Whether frames are longer than usual, since too much data wait."""
        rate = self.pipeline.stream.max_rate
        return self._relief is not None and rate is not None and rate < self._relief.full_rate

    def step(self):
        """
        Let the thread take in the next frame once it is free; return an `Update` if one is done.

        To be called after samples were pushed, and after every update. An error that an update
        met is raised here, and the frame goes on waiting.
        """
        return self._work(is_patient=False)

    def settle(self):
        """Wait until all complete frames are taken in; return an `Update` for each."""
        return self._work(is_patient=True)

    def finish(self):
        """Wait until all frames are, the data having come to their end; as `settle`."""
        return self._work(is_patient=True, is_end=True)

    def close(self):
        """End the thread; a frame whose `Update` has not been returned goes on waiting."""
        self._executor.shutdown()

    def _work(self, is_patient, is_end=False):
        updates = []
        while self._running or self._begun(is_end):
            if not is_patient and not self._running.done():
                break
            updates.append(self._running.result())
            self._running = None
            self.pipeline.accept(updates[-1].progress)
        return updates

    def _begun(self, is_end):
        """Hand the next frame over to the thread, and tell whether there was one."""
        if not self.pipeline.waiting:
            self._adapt()
        frame = self.pipeline.next_frame(is_end)
        if frame:
            self._running = self._executor.submit(self._update, self.pipeline.progress, frame)
            if self._on_update:
                self._running.add_done_callback(lambda _: self._on_update())
        return frame is not None

    def _update(self, progress, frame):
        began = time.monotonic()
        progress = self.pipeline.after(progress, frame)
        return Update(progress, time.monotonic() - began)

    def _adapt(self):
        """Make frames longer or shorter from now on, by how much data wait."""
        stream = self.pipeline.stream
        if self._relief is None or stream.max_rate is None:
            return
        was_relieved = self.is_relieved
        stream.set_rate(self._relief.rate_at(stream.lag, stream.max_rate))
        self.reliefs += self.is_relieved and not was_relieved
