"""The whole flow with clocks that are late by many frames, and commands that act early."""

import numpy as np
from posteriors import posterior_bytes
from problems import late_mocap
import pytest
from simulated import CONFIG, JOINTS, record
from simulated import config as shipped_config

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample
from sim2real_estimator.setup.stream_delays import Delays

MILLI = 1_000_000
LATE_MS, SECONDS, SEED = 60, 1.6, 21


pytestmark = pytest.mark.usefixtures('one_thread')


@pytest.fixture(scope='module')
def course(tmp_path_factory):
    """Return (true values, samples, pipeline at the end, file saved on the way, samples in it)."""
    values, samples = late_mocap.draw(SEED, LATE_MS, SECONDS)
    pipeline, saved = Pipeline.from_config(late_mocap.config()), None
    path = tmp_path_factory.mktemp('late') / 'posterior.zip'
    for count, sample in enumerate(samples, 1):
        pipeline.push(sample)
        pipeline.step()
        if saved is None and any(pipeline.progress.restamping.moved.values()):
            # In the batch, with frames that wait for samples of the late clock to come.
            pipeline.save(path)
            saved = count
    pipeline.finish()
    return values, samples, pipeline, path, saved


def test_a_clock_that_is_late_by_frames_and_bodies_off_are_found(course):
    values, _, pipeline, _, _ = course
    assert isinstance(pipeline.state, FilterState)
    assert pipeline.progress.restamping.moved == dict.fromkeys(
        ('upper body', 'lower body'), LATE_MS * MILLI
    )
    estimate = pipeline.estimate()
    found = dict(zip(estimate.names, zip(estimate.mean, estimate.sd)))
    for name in late_mocap.DELAYS:
        assert found[name][0] == pytest.approx(values[name], abs=3e-4)
    for name in late_mocap.MOUNTS:
        assert found[name][0] == pytest.approx(values[name], abs=1e-3)
    for name in (*late_mocap.DELAYS, *late_mocap.MOUNTS):
        assert abs(found[name][0] - values[name]) < 4 * found[name][1]


def test_every_sample_of_the_late_clock_has_one_outcome(course):
    _, samples, pipeline, _, _ = course
    for body in late_mocap.BODIES:
        name = f'{body} body'
        received = sum(sample.sensor == name for sample in samples)
        assert pipeline.counts.outcomes(name) == received
        table = pipeline.counts.table()[name]
        assert set(table) == {'used', 'outside frames'}
        # Those of the first quarter of a second might have been from before the first frame;
        # where the clock became known, some came for frames that were done.
        assert table['outside frames'] <= 26 + LATE_MS // 10


def test_neither_a_stop_nor_pushing_all_at_once_nor_signs_change_a_bit(course):
    _, samples, pipeline, path, saved = course
    again = Pipeline.from_config(late_mocap.config())
    again.load(path)
    for sample in samples[saved:]:
        flips = sample.sensor.endswith('body')
        signs = np.array([1, 1, 1, -1, -1, -1, -1]) if flips else 1.0
        again.push(Sample(sample.sensor, sample.stamp_ns, signs * sample.values))
    again.finish()
    assert posterior_bytes(again) == posterior_bytes(pipeline)
    assert again.counts.table() == pipeline.counts.table()


def test_commands_that_act_before_their_stamp_are_found():
    recording = record(1.5)
    changes = {
        'estimate.commands.delay.min': -0.02,
        'estimate.commands.delay.max': 0.02,
    }
    pipeline = Pipeline.from_config(with_values(shipped_config(), changes))
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample('encoders', int(stamp), angles))
        # Twelve milliseconds before this stamp they acted already.
        pipeline.push(Sample('commanded_efforts', int(stamp) + 12 * MILLI, torques))
        pipeline.step()
    pipeline.finish()
    estimate = pipeline.estimate()
    found = dict(zip(estimate.names, zip(estimate.mean, estimate.sd)))['commands.delay']
    assert abs(found[0] + 0.012) < 4 * found[1]
    assert found[1] < 0.001


def test_delays_of_which_only_the_sum_counts_are_aliased():
    recording = record(1.1)
    changes = {f'estimate.{name}.delay.sd': 0.005 for name in ('commands', 'encoders')}
    pipeline = Pipeline.from_config(with_values(shipped_config(), changes))
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample('encoders', int(stamp), angles))
        pipeline.push(Sample('commanded_efforts', int(stamp), torques))
    pipeline.finish()
    estimate = pipeline.estimate()
    verdicts = dict(zip(estimate.names, estimate.verdicts))
    assert verdicts['commands.delay'] == verdicts['encoders.delay'] == 'aliased'


def delays_of(reference='encoders', fixed=None, nuisances=(), **priors):
    """Return the `Delays` of an encoder and a camera; each prior by its 95 % interval."""
    parametrization = DirectParametrization(
        {
            f'{name}.delay': Prior((low + high) / 2, (high - low) / 3.92, False)
            for name, (low, high) in priors.items()
        },
        fixed,
    )
    model = load_urdf(CONFIG.with_suffix('.urdf'))
    return Delays(parametrization, reference, ('encoders', 'camera'), model, nuisances)


def test_the_past_that_a_nuisance_delay_needs_is_kept_but_no_frame_waits_for_it():
    nuisances = {
        'commands.delay': Prior(0.001, 0.005, False),
        'camera.delay': Prior(0.0, 0.1, False),
    }
    delays = delays_of(nuisances=nuisances)
    assert delays.past == pytest.approx(0.016) and delays.history == delays.lead == 0.0
    assert delays.ahead_ns('camera') == 0 and delays.restamping().moved == {}


def test_the_stream_is_told_how_far_delays_may_reach():
    delays = delays_of(camera=(-0.02, 0.25), commands=(-0.01, 0.03))
    assert delays.lead == pytest.approx(0.03)
    assert delays.history == pytest.approx(0.115 + 3 * 0.27 / 3.92 + 0.01 + 3 * 0.04 / 3.92)
    assert delays.ahead_ns('camera') == pytest.approx(250 * MILLI, rel=1e-4)
    begun = delays.restamping()
    assert begun.moved == {'camera': 0}
    assert begun.margins['camera'] == pytest.approx(250 * MILLI, rel=1e-4)


def test_what_is_known_of_a_delay_moves_stamps_from_the_beginning():
    assert delays_of(camera=(0.1405, 0.1595)).restamping().moved == {'camera': 140 * MILLI}
    fixed = delays_of(fixed={'camera.delay': 0.15, 'commands.delay': 0.02}, other=(0, 1))
    assert fixed.restamping().moved == {'camera': 150 * MILLI}
    assert fixed.restamping().margins == {'camera': 0}
    assert fixed.commands_ns('elbow') == 20 * MILLI
    own = delays_of(fixed={'elbow.delay': 0.03, 'commands.delay': 0.02}, shoulder=(0, 0.1))
    assert [own.commands_ns(joint) for joint in JOINTS] == [0, 30 * MILLI]


def test_the_clock_of_the_reference_is_not_far_off():
    assert delays_of(encoders=(-0.01, 0.01)).restamping().moved == {}
    with pytest.raises(ConfigError, match="'encoders' is the reference.*commands.delay instead"):
        delays_of(encoders=(-0.02, 0.25))
