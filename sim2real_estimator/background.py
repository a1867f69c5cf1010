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
# Parts of the age limit: frames get long where more data than the first have waited for the
# second, in real time, and hardly get less; where data than the third have for the fourth, all
# but the last part are skipped. So the age stays below the limit where nothing else works.
_LONG_FROM, _LONG_AFTER, _SKIP_FROM, _SKIP_AFTER, _KEPT = 0.3, 0.15, 0.4, 0.4, 0.1
# Data get less fast enough where so much of them [s] is caught up with in a second, as after a
# burst or one long fit.
_CATCHING_UP = 0.5
# During first fits there is no estimate that could be old: so many times the limit may wait.
_FITS = 20.0


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

    def rate_at(self, lag, rate, is_stuck=False):
        """
        Return the next rate of frames [1/s].

        lag: data that wait [s]; rate: the present one; is_stuck: whether too much of them wait
        for an estimate that is to be young, and hardly get less.
        """
        if is_stuck or (self.limit is not None and lag > self.limit):
            return self.rate
        limits = [self.limit, None if self.max_age is None else _LONG_FROM * self.max_age]
        least = min((limit for limit in limits if limit is not None), default=None)
        has_caught_up = least is None or lag <= _CAUGHT_UP * least
        return self.full_rate if rate == self.rate and has_caught_up else rate

    def long_from(self, is_filtering):
        """Return how much data may wait before frames get long [s], None: any."""
        return _LONG_FROM * self.max_age if is_filtering and self.max_age is not None else None

    def skips_from(self, is_filtering):
        """Return how much data may wait before some are skipped [s], None: any."""
        if self.max_age is None:
            return None
        return (_SKIP_FROM if is_filtering else _FITS) * self.max_age


class _Backlog:
    """Whether more data than a limit wait, and hardly get less."""

    def __init__(self):
        self._since = None

    def is_stuck(self, lag, limit, patience, now):
        """
        Tell whether it has been so for some time.

        lag, limit: data that wait, and that may, None: any [s]; patience: for how long; now: by a
        steady clock [s].
        """
        if limit is None or lag <= limit:
            self._since = None
            return False
        if self._since is None:
            self._since = now, lag
        began, before = self._since
        if now - began <= patience:
            return False
        self._since = now, lag
        return lag > before - _CATCHING_UP * (now - began)


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
        self._before_long, self._before_skips = _Backlog(), _Backlog()
        self._is_filtering = False

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
        was_relieved, lag, now = self.is_relieved, stream.lag, time.monotonic()
        # After a gap the motion is fitted anew for a while; the parameters have their estimate.
        self._is_filtering |= self.pipeline.estimate().report.stage == 'filter'
        relief, age = self._relief, self._relief.max_age or 0.0
        limits = relief.long_from(self._is_filtering), relief.skips_from(self._is_filtering)
        is_stuck = self._before_long.is_stuck(lag, limits[0], _LONG_AFTER * age, now)
        stream.set_rate(relief.rate_at(lag, stream.max_rate, is_stuck))
        self.reliefs += self.is_relieved and not was_relieved
        if self._before_skips.is_stuck(lag, limits[1], _SKIP_AFTER * age, now):
            stream.skip(_KEPT * age)
