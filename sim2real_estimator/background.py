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
# Parts of the age limit: from the first on frames are long. Data are skipped where more than the
# second has waited for the third, in real time, and no less waits by then; so the age stays below
# the limit where nothing else works. What is left after that is the last part.
_LONG_FROM, _SKIP_FROM, _PATIENCE, _KEPT = 0.4, 0.5, 0.5, 0.1
# During first fits there is no estimate that could be old: so many times the limit may wait.
_FITS = 2.0


@dataclass(frozen=True)
class Relief:
    """
    Longer frames while too much data wait; where these do not help, data are skipped.

    limit: data that may wait [s], None: any; rate: of frames beyond it [1/s]; full_rate: of
    frames otherwise [1/s]; max_age: of the data of an estimate [s], None: any.
    """

    limit: float | None
    rate: float
    full_rate: float
    max_age: float | None = None

    @classmethod
    def from_config(cls, frames):
        """Return the relief of a `FramesConfig`."""
        rate = min(frames.overload_rate, frames.max_rate)
        return cls(frames.overload, rate, frames.max_rate, frames.max_age)

    def rate_at(self, lag, rate, is_filtering=False):
        """
        Return the next rate of frames [1/s].

        lag: data that wait [s]; rate: the present one; is_filtering: whether first fits are over.
        """
        limit = self.limit
        if is_filtering and self.max_age is not None:
            limit = min(limit or self.max_age, _LONG_FROM * self.max_age)
        if limit is not None and lag > limit:
            return self.rate
        has_caught_up = limit is None or lag <= _CAUGHT_UP * limit
        return self.full_rate if rate == self.rate and has_caught_up else rate

    def skips_from(self, is_filtering):
        """Return how much data may wait before some are skipped [s], None: any."""
        if is_filtering:
            return None if self.max_age is None else _SKIP_FROM * self.max_age
        return None if self.limit is None or self.max_age is None else _FITS * self.limit


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
        # Since when more data wait than may, by a steady clock, and how much did then [s].
        self._behind, self._is_filtering = None, False

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
        was_relieved, lag = self.is_relieved, stream.lag
        # After a gap the motion is fitted anew for a while; the parameters have their estimate.
        self._is_filtering |= self.pipeline.estimate().report.stage == 'filter'
        stream.set_rate(self._relief.rate_at(lag, stream.max_rate, self._is_filtering))
        self.reliefs += self.is_relieved and not was_relieved
        limit, now = self._relief.skips_from(self._is_filtering), time.monotonic()
        if limit is None or lag <= limit:
            self._behind = None
        elif self._behind is None:
            self._behind = now, lag
        elif now - self._behind[0] > _PATIENCE * self._relief.max_age:
            # A burst, or one long fit, is caught up with.
            if lag >= self._behind[1]:
                stream.skip(_KEPT * self._relief.max_age)
                lag = stream.lag
            self._behind = (now, lag) if lag > limit else None
