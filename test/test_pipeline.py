"""The whole flow, from messages to a posterior, on the config that is shipped."""

import hashlib
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest
from ros_like import joint_state
from simulated import base_parameters, config, JOINTS, NAMES, record

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import DataError
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample, Status, UpdateReport
from sim2real_estimator.reported_events import Happened
from sim2real_estimator.stream.plans import RecordedPlan

SECOND = 10**9


pytestmark = pytest.mark.usefixtures('one_thread')


@pytest.fixture(scope='module')
def recording():
    return record(2.5)


def samples_of(recording):
    """Return samples of encoders and efforts, in the order of arrival."""
    samples = []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        samples.append(Sample('encoders', int(stamp), angles))
        samples.append(Sample('commanded_efforts', int(stamp), torques))
    return samples


def run(pipeline, samples):
    """Return all estimates."""
    estimates = []
    for sample in samples:
        pipeline.push(sample)
        estimates += pipeline.step()
    return [*estimates, *pipeline.finish()]


def posterior_bytes(pipeline):
    """Return the posterior mixture, bit for bit."""
    mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
    arrays = (mixture.log_weights, mixture.points, mixture.means, mixture.roots)
    return b''.join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.fixture(scope='module')
def finished(recording):
    """Return (pipeline, estimates) after the whole recording."""
    pipeline = Pipeline.from_config(config())
    return pipeline, run(pipeline, samples_of(recording))


def test_the_shipped_config_finds_the_true_robot(finished, recording):
    pipeline, _ = finished
    parametrization = pipeline.problem.parametrization
    order = [parametrization.names.index(name) for name in NAMES]
    mean, covariance = pipeline.estimator.mixture(pipeline.problem, pipeline.state).moments()

    def base(coordinates):
        return base_parameters(parametrization.to_named(coordinates[:, None])[order, 0])

    steps = 1e-6 * np.eye(len(mean))
    slope = np.stack([(base(mean + s) - base(mean - s)) / 2e-6 for s in steps], 1)
    sd = np.sqrt(np.einsum('ij,jk,ik->i', slope, covariance, slope))
    truth = base_parameters([recording.values[name] for name in NAMES])
    assert (np.abs(base(mean) - truth) < 4 * sd).all()
    assert (sd < 0.02 * np.abs(truth)).all()


def test_estimates_are_by_name_with_a_verdict(finished, recording):
    pipeline, estimates = finished
    last = estimates[-1]
    assert last.names == pipeline.problem.parametrization.names
    assert last.stamp_ns == recording.stamps[-1]
    found = dict(zip(last.names, last.verdicts))
    assert found['shoulder.damping'] == 'identified'
    assert found['upper.mass'] == 'aliased'
    (finding,) = [f for f in pipeline.latest_findings().parameters if f.name == 'upper.mass']
    assert 'upper.inertia.yy' in finding.aliases
    for name, mean, sd in zip(last.names, last.mean, last.sd):
        assert abs(mean - recording.values[name]) < 4 * sd
    assert any(Happened.HANDED_OVER in e.report.events for e in estimates)


def test_every_sample_is_accounted_for(finished, recording):
    pipeline, estimates = finished
    assert len(estimates) == len(recording.stamps)
    assert pipeline.counts.table() == {
        'encoders': {'used': len(recording.stamps)},
        'commanded_efforts': {'used': len(recording.stamps)},
    }


@pytest.mark.parametrize('seed', [1, 2])
def test_the_order_of_arrival_does_not_change_a_bit(finished, recording, seed):
    generator = np.random.default_rng(seed)
    arrivals, latest = [], {}
    for sample in samples_of(recording):
        at = sample.stamp_ns + generator.uniform(0, 0.045) * SECOND
        latest[sample.sensor] = max(at, latest.get(sample.sensor, at))
        arrivals.append((latest[sample.sensor], sample))
    arrivals.sort(key=lambda pair: pair[0])
    shuffled = [sample for _, sample in arrivals]
    assert shuffled != samples_of(recording)
    pipeline = Pipeline.from_config(config())
    run(pipeline, shuffled)
    assert posterior_bytes(pipeline) == posterior_bytes(finished[0])


def test_asking_for_estimates_late_does_not_change_a_bit(finished, recording):
    pipeline = Pipeline.from_config(config())
    for sample in samples_of(recording):
        pipeline.push(sample)
    pipeline.step()
    pipeline.finish()
    assert posterior_bytes(pipeline) == posterior_bytes(finished[0])


def test_another_process_finds_the_same_bit_for_bit(finished, recording):
    script = """
import hashlib
from simulated import config, record
from test_pipeline import posterior_bytes, run, samples_of
from sim2real_estimator.pipeline import Pipeline
import torch

torch.set_num_threads(1)
pipeline = Pipeline.from_config(config())
run(pipeline, samples_of(record(2.5)))
print(hashlib.sha256(posterior_bytes(pipeline)).hexdigest())
"""
    tests = Path(__file__).parent
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join([str(tests), str(tests.parent)]),
        'PYTHONHASHSEED': '123',
    }
    done = subprocess.run(
        [sys.executable, '-c', script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == hashlib.sha256(posterior_bytes(finished[0])).hexdigest()


def test_another_seed_is_another_run(finished, recording):
    other = Pipeline.from_config(with_values(config(), {'estimator.seed': 5}))
    run(other, samples_of(recording))
    assert posterior_bytes(other) != posterior_bytes(finished[0])


def test_a_replay_follows_the_frames_of_an_overloaded_run(recording):
    live = Pipeline.from_config(config())
    for k, sample in enumerate(samples_of(recording)):
        if k == 200:
            live.stream.set_rate(20)
        live.push(sample)
        live.step()
    live.finish()
    plan = live.stream.recorded_plan
    assert len(plan.bounds) < len(recording.stamps)
    replay = Pipeline.from_config(config(), plan)
    run(replay, samples_of(recording))
    assert isinstance(plan, RecordedPlan)
    assert posterior_bytes(replay) == posterior_bytes(live)


def test_a_delay_of_the_commands_is_found(recording):
    late = {'estimate.commands.delay.sd': 0.004, 'frames.max_rate': 100.0}
    pipeline = Pipeline.from_config(with_values(config(), late))
    samples = [
        Sample(s.sensor, s.stamp_ns - 3_000_000, s.values) if 'efforts' in s.sensor else s
        for s in samples_of(recording)
    ]
    last = run(pipeline, samples)[-1]
    found = dict(zip(last.names, zip(last.mean, last.sd)))['commands.delay']
    assert abs(found[0] - 0.003) < 4 * found[1]
    assert found[1] < 0.0005


def test_before_any_data_the_estimate_is_the_prior():
    estimate = Pipeline.from_config(config()).estimate()
    assert estimate.report == UpdateReport('prior')
    assert set(estimate.verdicts) == {'prior-only'}
    assert dict(zip(estimate.names, estimate.mean))['lower.mass'] == pytest.approx(0.8)
    assert dict(zip(estimate.names, estimate.sd))['lower.mass'] == pytest.approx(0.3 * 0.8)


def test_the_mixture_and_the_efforts_are_those_after_the_latest_frame(finished, recording):
    pipeline, _ = finished
    assert pipeline.mixture is pipeline.estimator.mixture(pipeline.problem, pipeline.state)
    # Those of the last sample act from the very end on, and so in no frame yet.
    assert pipeline.progress.efforts == tuple(recording.torques[-2])


def test_before_any_data_the_mixture_is_the_prior_and_no_effort_is_known():
    pipeline = Pipeline.from_config(config())
    np.testing.assert_array_equal(pipeline.mixture.means[:, 0], pipeline.problem.prior.mean)
    assert pipeline.progress.efforts == ()


def test_a_reset_begins_again_from_the_prior(recording):
    pipeline = Pipeline.from_config(config())
    run(pipeline, samples_of(recording)[:60])
    assert set(pipeline.estimate().verdicts) != {'prior-only'}
    pipeline.reset()
    assert set(pipeline.estimate().verdicts) == {'prior-only'}


def test_a_clock_set_back_keeps_what_is_known(recording):
    pipeline = Pipeline.from_config(config())
    samples = samples_of(recording)
    run(pipeline, samples)
    known = pipeline.estimate()
    again = [Sample(s.sensor, s.stamp_ns - 100 * SECOND, s.values) for s in samples[:4]]
    assert pipeline.push(again[0]) is Status.JUMPED_BACK
    np.testing.assert_array_equal(pipeline.estimate().mean, known.mean)


class _Refusing:
    """An estimator that refuses every other frame with an event, and learns nothing otherwise."""

    def __init__(self, estimator, event):
        self.estimator, self.event = estimator, event

    def init(self, problem):
        return 0

    def update(self, problem, state, frame):
        events = (self.event,) if state % 2 else ()
        return state + 1, UpdateReport('filter', events=events)

    def model_before_change(self, state):
        return None

    def mixture(self, problem, state):
        return self.estimator.mixture(problem, self.estimator.init(problem))


@pytest.mark.parametrize(
    ('event', 'status'),
    [
        (Happened.UPDATE_REFUSED, Status.UPDATE_REFUSED),
        (Happened.OUTLIER, Status.OUTLIER),
    ],
)
def test_samples_that_estimators_leave_out_are_counted(recording, event, status):
    usual = Pipeline.from_config(config())
    refusing = _Refusing(usual.estimator, event)
    pipeline = Pipeline(usual.problem, refusing, usual.stream)
    run(pipeline, samples_of(recording)[:20])
    assert pipeline.counts.of('encoders', Status.USED) == 5
    assert pipeline.counts.of('encoders', status) == 5


def test_messages_reach_the_stream_by_name(recording):
    pipeline = Pipeline.from_config(config())
    for stamp, angles, torques in zip(recording.stamps[:9], recording.angles, recording.torques):
        names = [*JOINTS[::-1], 'lamp']
        message = joint_state(int(stamp), names, [*angles[::-1], 0.0], effort=[torques[1]])
        for source in pipeline.sources:
            pipeline.receive(source, message)
    pipeline.finish()
    assert pipeline.counts.table() == {
        'encoders': {'unknown joint': 9, 'used': 9},
        'commanded_efforts': {'missing effort': 9, 'unknown joint': 9, 'used': 9},
    }
    with pytest.raises(DataError, match="no source 'lamp'.*commanded_efforts, encoders"):
        pipeline.receive('lamp', message)
