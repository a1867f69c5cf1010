"""Data that are skipped where the estimator cannot keep up, and what is said after a gap."""

import threading
import time

from posteriors import feed, pipeline_of, posterior_bytes, samples_of
import pytest
from waiting import PATIENCE

from sim2real_estimator import background as background_module
from sim2real_estimator.background import Background, Relief
from sim2real_estimator.config.settings_tree import FramesConfig
from sim2real_estimator.estimation.estimators.gaussian_sum import GaussianSum
from sim2real_estimator.records import Frame, Status, UpdateReport

SECOND = 10**9
# Nothing but the motion, as nobody remounts an encoder.
SAMPLES = samples_of(5.0, remounted_at=99.0)


def since(samples, seconds):
    """Return the samples from so many seconds on."""
    return [s for s in samples if s.stamp_ns - samples[0].stamp_ns >= seconds * SECOND]


def until(samples, seconds):
    """Return the samples before so many seconds."""
    return [s for s in samples if s.stamp_ns - samples[0].stamp_ns < seconds * SECOND]


def skipped(pipeline):
    return pipeline.counts.of('encoders', Status.SKIPPED)


def test_the_settings_bound_the_age_of_estimates():
    relief = Relief.from_config(FramesConfig())
    # Frames get long first, and only then data are skipped.
    assert relief.long_from(is_filtering=True) < relief.skips_from(is_filtering=True) < 0.5
    # There is no estimate yet during first fits, which take long.
    assert relief.long_from(is_filtering=False) is None
    assert relief.rate_at(9.0, 250.0) == 250.0 and relief.skips_from(is_filtering=False) == 20.0
    boundless = Relief.from_config(FramesConfig(max_age=None))
    assert boundless.skips_from(is_filtering=True) is None


def test_a_replay_of_a_run_that_skipped_data_gives_the_same_bits():
    live = pipeline_of()
    feed(live, until(SAMPLES, 3.0), to_the_end=False)
    for sample in until(since(SAMPLES, 3.0), 1.0):
        live.push(sample)
    waiting = live.stream.waiting
    live.stream.skip(0.1)
    # The latest tenth of a second stays, and what may still be late.
    assert skipped(live) == pytest.approx(waiting / 2 - 15, abs=3)
    assert live.stream.lag < 0.2
    feed(live, since(SAMPLES, 4.0))
    plan = live.stream.recorded_plan
    replay = pipeline_of(plan=plan)
    feed(replay, SAMPLES)
    assert replay.stream.recorded_plan == plan
    assert posterior_bytes(replay) == posterior_bytes(live)


def test_a_pipeline_saved_between_skipped_data_and_the_next_frame_goes_on_the_same(tmp_path):
    whole = pipeline_of()
    feed(whole, until(SAMPLES, 2.0), to_the_end=False)
    whole.stream.skip(0.0)
    whole.save(tmp_path / 'skipped.npz')
    again = pipeline_of()
    again.load(tmp_path / 'skipped.npz')
    for each in (whole, again):
        feed(each, since(SAMPLES, 2.0))
    assert posterior_bytes(again) == posterior_bytes(whole)


class Clock:
    """A steady clock that goes on by a step each time somebody asks."""

    def __init__(self, step):
        self.now, self._step = 0.0, step

    def monotonic(self):
        self.now += self._step
        return self.now


def held(monkeypatch, step):
    """Return a semaphore that lets updates go on one by one; the clock goes on by steps [s]."""
    monkeypatch.setattr(background_module, 'time', Clock(step))
    going, original = threading.Semaphore(0), GaussianSum.update

    def update(*arguments):
        assert going.acquire(timeout=PATIENCE)
        return original(*arguments)

    monkeypatch.setattr(GaussianSum, 'update', update)
    return going


def settled(background, going):
    """Let one update be done, if a frame is complete."""
    going.release()
    end = time.monotonic() + PATIENCE
    while not background.step():
        assert time.monotonic() < end
        if background.pipeline.stream.lag == 0.0 and background._running is None:
            return


def test_where_longer_frames_do_not_help_data_are_skipped_and_counted(monkeypatch):
    pipeline = pipeline_of({'frames.max_rate': 100.0})
    feed(pipeline, until(SAMPLES, 2.5), to_the_end=False)
    assert pipeline.estimate().report.stage == 'filter'
    going = held(monkeypatch, 0.1)
    rest, lags = since(SAMPLES, 2.5), []
    with Background(pipeline, Relief.from_config(FramesConfig(max_rate=100.0))) as background:
        # Of every tenth of a second one frame is done, be it of 10 or of 40 ms.
        for k in range(0, len(rest), 20):
            for sample in rest[k : k + 20]:
                pipeline.push(sample)
            settled(background, going)
            lags.append(pipeline.stream.lag)
        going.release(1000)
    assert background.reliefs > 0
    assert skipped(pipeline) > 0
    assert max(lags) < 1.0


def test_a_burst_is_caught_up_with_and_nothing_is_left_out(monkeypatch):
    pipeline = pipeline_of({'frames.max_rate': 100.0})
    feed(pipeline, until(SAMPLES, 2.5), to_the_end=False)
    going = held(monkeypatch, 0.001)
    with Background(pipeline, Relief.from_config(FramesConfig(max_rate=100.0))) as background:
        for sample in until(since(SAMPLES, 2.5), 1.5):
            pipeline.push(sample)
        assert pipeline.stream.lag > 1.0
        going.release(1000)
        background.finish()
    assert skipped(pipeline) == 0 and background.reliefs == 0


def verdicts_after(pipeline, samples):
    """Return (seconds of data, verdicts) after each frame."""
    begin = samples[0].stamp_ns
    return [
        (1e-9 * (each.stamp_ns - begin), set(pipeline_verdicts))
        for sample in samples
        for each, pipeline_verdicts in _estimates(pipeline, sample)
    ]


def _estimates(pipeline, sample):
    pipeline.push(sample)
    return [(each, each.verdicts) for each in pipeline.step()]


def test_after_a_gap_nothing_is_identified_before_data_fit_again():
    pipeline = pipeline_of()
    feed(pipeline, until(SAMPLES, 2.5), to_the_end=False)
    assert 'identified' in pipeline.latest_findings().verdicts
    said = verdicts_after(pipeline, since(SAMPLES, 3.3))
    soon = [verdicts for elapsed, verdicts in said if 0 <= elapsed < 0.95]
    assert soon and not any('identified' in verdicts for verdicts in soon)
    assert all('prior-assisted' in verdicts for verdicts in soon)
    assert 'identified' in said[-1][1]


def after(assessment, pipeline, tenths, report, after_gap=False):
    """Return the assessment of whether a gap is over, after a frame."""
    end_ns = (50 + tenths) * SECOND // 10
    frame = Frame(end_ns, end_ns, (), after_gap=after_gap)
    return assessment._confirmed(pipeline.problem, frame, report)


def test_what_does_not_fit_after_a_gap_is_not_identified_however_long_it_lasts():
    pipeline = pipeline_of()
    feed(pipeline, until(SAMPLES, 2.5), to_the_end=False)
    assessment = pipeline.progress.assessment
    assert assessment.unconfirmed is None
    assessment = after(assessment, pipeline, 0, UpdateReport('filter'), after_gap=True)
    for k in range(1, 40):
        assessment = after(assessment, pipeline, k, UpdateReport('filter', 90.0, 2))
        assert assessment.unconfirmed is not None
    for k in range(40, 70):
        assessment = after(assessment, pipeline, k, UpdateReport('filter', 2.0, 2))
    assert assessment.unconfirmed is None
