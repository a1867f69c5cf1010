"""
Updates in a thread beside the stream, so that no fit delays the samples that come meanwhile.

The thread computes the `Progress` after a frame; the caller does everything else. The time that
takes decides only when a result can be seen: the posterior is that of `Pipeline.step`, bit for
bit, unless the relief makes frames longer.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import time

from .pipeline import Progress

# Frames get short again when less than this part of the limit waits: a hysteresis.
_CAUGHT_UP = 0.25


@dataclass(frozen=True)
class Relief:
    """
    Longer frames while too much data wait: fewer updates, without leaving out samples.

    limit: data that may wait [s], None: any; rate: of frames beyond it [1/s]; full_rate: of
    frames otherwise [1/s].
    """

    limit: float | None
    rate: float
    full_rate: float

    @classmethod
    def from_config(cls, frames):
        """Return the relief of a `FramesConfig`."""
        return cls(frames.overload, min(frames.overload_rate, frames.max_rate), frames.max_rate)

    def rate_at(self, lag, rate):
        """Return the next rate of frames [1/s]; lag: data that wait [s]; rate: the present one."""
        if self.limit is not None and lag > self.limit:
            return self.rate
        has_caught_up = self.limit is None or lag <= _CAUGHT_UP * self.limit
        return self.full_rate if rate == self.rate and has_caught_up else rate


@dataclass(frozen=True)
class Update:
    """The `Progress` after a frame, and the time that its computation took [s]."""

    progress: Progress
    seconds: float

    @property
    def estimate(self):
        """The `Estimate` after the frame."""
        return self.progress.estimate


class Background:
    """
    `Pipeline.step`, computed in a thread.

    Samples are pushed into the pipeline itself. It can be saved at any time: the frame that is
    being processed is still among those that wait. To reset or load it, close this first and
    begin another one afterwards.
    """

    def __init__(self, pipeline, relief=None, on_update=None):
        """
        Start the thread.

        relief: `Relief`, None: frames stay as they are; on_update: called, from the thread,
        after every frame, when `step` has something to return.
        """
        self.pipeline, self._relief, self._on_update = pipeline, relief, on_update
        self._executor = ThreadPoolExecutor(1, 'estimator')
        self._running, self.reliefs, self._is_closed = None, 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def is_relieved(self):
        """Whether frames are longer than usual because too much data wait."""
        rate = self.pipeline.stream.max_rate
        return self._relief is not None and rate is not None and rate < self._relief.full_rate

    def step(self):
        """
        Start the next update if the thread is free; return the `Update`s that have finished.

        Call it after pushing samples and after every update. An error of an update is raised
        here, and its frame goes on waiting.
        """
        return self._work(is_patient=False)

    def settle(self):
        """Wait until all complete frames are processed; return an `Update` for each."""
        return self._work(is_patient=True)

    def finish(self):
        """Process all frames left at the end of the data; return an `Update` for each."""
        return self._work(is_patient=True, is_end=True)

    def close(self):
        """
        End the thread. `step` then returns the `Update` that was being computed, and begins none.

        A frame whose `Update` is not returned goes on waiting.
        """
        self._is_closed = True
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
        """Start the update with the next frame, and tell whether there was one."""
        if self._is_closed:
            return False
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
        """Set the rate of frames from now on by how much data wait."""
        stream = self.pipeline.stream
        if self._relief is None or stream.max_rate is None:
            return
        was_relieved = self.is_relieved
        stream.set_rate(self._relief.rate_at(stream.lag, stream.max_rate))
        self.reliefs += self.is_relieved and not was_relieved
