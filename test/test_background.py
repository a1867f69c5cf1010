"""Frames taken in beside the stream: the same bits, whenever the updates come."""

import threading
import time

import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes, samples_of
import pytest
from scenarios import continued
import torch
from waiting import PATIENCE

from sim2real_estimator.background import Background, Relief
from sim2real_estimator.config.settings_tree import FramesConfig
from sim2real_estimator.estimation.batch.first_fits import FirstFits
from sim2real_estimator.estimation.estimators.gaussian_sum import GaussianSum
from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.records import Status


class Gate:
    """Holds updates up where a condition on their arguments holds, until it is opened."""

    def __init__(self, monkeypatch, method, condition=lambda *_: True):
        """Take the method of the estimator or its first fits that it stands before."""
        self.reached, self._is_open = threading.Event(), threading.Event()
        kind = GaussianSum if hasattr(GaussianSum, method) else FirstFits
        original = getattr(kind, method)

        def held_up(*arguments):
            if condition(*arguments[1:]):
                self.reached.set()
                assert self._is_open.wait(PATIENCE)
            return original(*arguments)

        monkeypatch.setattr(kind, method, held_up)

    def open(self):
        """Let all go on."""
        self._is_open.set()


def step_until(background, reached):
    """Go on without new samples until an update has come to a gate."""
    end = time.monotonic() + PATIENCE
    while not reached.wait(0.01):
        assert time.monotonic() < end
        background.step()


def feed_background(background, samples, is_patient=False):
    """Push samples, and wait for their updates only where told to."""
    for sample in samples:
        background.pipeline.push(sample)
        background.settle() if is_patient else background.step()


@pytest.fixture(scope='module')
def samples():
    return samples_of()


@pytest.fixture(scope='module')
def expected(samples):
    """Return (pipeline, estimates) of a run in which nobody waits for anything."""
    pipeline = pipeline_of()
    return pipeline, feed(pipeline, samples)


@pytest.mark.parametrize('seed', [0, 1])
def test_updates_delayed_at_random_do_not_change_a_bit(expected, samples, seed, monkeypatch):
    generator, original = np.random.default_rng(seed), GaussianSum.update

    def delayed(*arguments):
        time.sleep(generator.choice([0.0, 0.0, 0.001, 0.02]))
        return original(*arguments)

    monkeypatch.setattr(GaussianSum, 'update', delayed)
    pauses = np.random.default_rng(seed + 100).choice([0.0, 0.0, 0.01], len(samples))
    pipeline, updates = pipeline_of(), []
    with Background(pipeline) as background:
        for sample, pause in zip(samples, pauses):
            pipeline.push(sample)
            updates += background.step()
            time.sleep(pause)
        updates += background.finish()
        assert pipeline.stream.lag == 0 and not pipeline.waiting
    whole, estimates = expected
    assert posterior_bytes(pipeline) == posterior_bytes(whole)
    assert pipeline.counts.table() == whole.counts.table()
    assert [u.estimate.mean.tobytes() for u in updates] == [e.mean.tobytes() for e in estimates]
    assert [u.estimate.report for u in updates] == [e.report for e in estimates]


def test_samples_are_taken_in_during_a_fit_and_what_is_saved_then_goes_on(
    expected, samples, tmp_path, monkeypatch
):
    gate = Gate(monkeypatch, 'fit', lambda problem, state: len(state.frames) == 25)
    pipeline = pipeline_of()
    with Background(pipeline) as background:
        feed_background(background, samples[:80])
        step_until(background, gate.reached)
        feed_background(background, samples[80:150])
        # All after the frame of the fit wait, up to the lateness window.
        assert pipeline.stream.lag == pytest.approx(0.01 * (75 - 26 - 6))
        assert pipeline.stream.waiting == 150 - 2 * 25
        assert pipeline.counts.of('encoders', Status.USED) == 24
        pipeline.save(tmp_path / 'fit.npz')
        gate.open()
        background.settle()
        pipeline.save(tmp_path / 'after.npz')
        feed_background(background, samples[150:])
        background.finish()
    whole = posterior_bytes(expected[0])
    assert posterior_bytes(pipeline) == whole
    paths = tmp_path / 'fit.npz', tmp_path / 'after.npz'
    assert continued([(path, 150, 'remounted') for path in paths]) == [whole, whole]


def test_a_thread_that_was_closed_leaves_its_frames_to_the_next(expected, samples):
    pipeline = pipeline_of()
    for start, end in ((0, 100), (100, 300), (300, len(samples))):
        with Background(pipeline) as background:
            feed_background(background, samples[start:end])
    feed(pipeline, [])
    assert posterior_bytes(pipeline) == posterior_bytes(expected[0])


def test_an_error_of_an_update_surfaces_and_no_frame_is_skipped(samples, monkeypatch):
    original = GaussianSum.update

    def failing(self, problem, state, frame):
        if len(state.frames) == 8:
            raise LookupError
        return original(self, problem, state, frame)

    monkeypatch.setattr(GaussianSum, 'update', failing)
    pipeline = pipeline_of()
    with Background(pipeline) as background:
        for sample in samples[:40]:
            pipeline.push(sample)
        for _ in range(2):
            with pytest.raises(LookupError):
                background.step()
                background.settle()
        assert len(pipeline.state.frames) == 8
        assert pipeline.waiting[0].start_ns == pipeline.state.frames[-1].end_ns


def test_the_thread_computes_with_one_thread(samples, monkeypatch):
    counts, original = [], GaussianSum.update

    def asking(*arguments):
        counts.append((torch.get_num_threads(), threading.current_thread().name))
        return original(*arguments)

    monkeypatch.setattr(GaussianSum, 'update', asking)
    pipeline = pipeline_of()
    with Background(pipeline) as background:
        feed_background(background, samples[:40])
        background.finish()
    assert set(counts) == {(1, 'estimator_0')}


def test_overload_makes_frames_longer_and_a_replay_follows_them(samples, tmp_path, monkeypatch):
    held, relief = samples[240].stamp_ns, Relief(limit=0.3, rate=25.0, full_rate=100.0)
    slow = Gate(monkeypatch, 'update', lambda problem, state, frame: frame.end_ns == held)
    after = Gate(monkeypatch, 'update', lambda problem, state, frame: frame.start_ns == held)
    pipeline = pipeline_of()
    with Background(pipeline, relief) as background:
        feed_background(background, samples[:240], is_patient=True)
        assert isinstance(pipeline.state, FilterState)
        feed_background(background, samples[240:260])
        step_until(background, slow.reached)
        feed_background(background, samples[260:400])
        assert pipeline.stream.lag > relief.limit and not background.is_relieved
        slow.open()
        step_until(background, after.reached)
        assert background.is_relieved
        pipeline.save(tmp_path / 'busy.npz')
        after.open()
        background.settle()
        assert not background.is_relieved and background.reliefs == 1
        feed_background(background, samples[400:], is_patient=True)
        background.finish()
    plan = pipeline.stream.recorded_plan
    lengths = np.diff(sorted(plan.bounds)) // 1_000_000
    assert {10, 40} == set(lengths) and (lengths == 40).sum() > 8 and lengths[-1] == 10
    # Of a change that shows in one frame the first is left out.
    used, left_out = (pipeline.counts.of('encoders', s) for s in (Status.USED, Status.OUTLIER))
    assert (used, left_out) == (len(samples) // 2 - 1, 1)
    replay = pipeline_of(plan=plan)
    feed(replay, samples)
    assert posterior_bytes(replay) == posterior_bytes(pipeline)
    pipeline.save(tmp_path / 'done.npz')
    kept = pipeline_of()
    kept.load(tmp_path / 'done.npz')
    assert kept.stream.recorded_plan == plan
    # What was saved while busy goes on with long frames, until a thread relieves them.
    kept.load(tmp_path / 'busy.npz')
    assert kept.stream.max_rate == 25.0
    with Background(kept, relief) as background:
        background.settle()
    assert kept.stream.max_rate == 100.0


def test_a_replay_is_not_relieved(samples, monkeypatch):
    whole = pipeline_of()
    feed(whole, samples[:200])
    gate = Gate(monkeypatch, 'update')
    pipeline = pipeline_of(plan=whole.stream.recorded_plan)
    with Background(pipeline, Relief(limit=0.1, rate=10.0, full_rate=100.0)) as background:
        feed_background(background, samples[:200])
        assert gate.reached.wait(PATIENCE) and pipeline.stream.lag > 0.1
        gate.open()
        background.finish()
        assert background.reliefs == 0
    assert posterior_bytes(pipeline) == posterior_bytes(whole)


def test_once_closed_it_returns_the_update_that_ran_and_begins_none(monkeypatch, samples):
    gate = Gate(monkeypatch, 'update')
    pipeline = pipeline_of()
    background = Background(pipeline)
    feed_background(background, samples[:40])
    assert gate.reached.wait(PATIENCE)
    gate.open()
    background.close()
    assert len(background.step()) == 1
    assert background.step() == [] and pipeline.stream.lag > 0.0


@pytest.mark.parametrize(
    ('limit', 'lag', 'rate', 'expected'),
    [
        (4.0, 4.1, 100.0, 25.0),
        (4.0, 3.9, 100.0, 100.0),
        (4.0, 1.1, 25.0, 25.0),
        (4.0, 1.0, 25.0, 100.0),
        (4.0, 0.0, 60.0, 60.0),
        (None, 1e6, 100.0, 100.0),
        (None, 1e6, 25.0, 100.0),
    ],
)
def test_rates_do_not_flutter(limit, lag, rate, expected):
    assert Relief(limit, 25.0, 100.0).rate_at(lag, rate) == expected


def test_the_settings_never_ask_for_shorter_frames_under_load():
    assert Relief.from_config(FramesConfig(max_rate=10.0, overload_rate=25.0)).rate == 10.0
