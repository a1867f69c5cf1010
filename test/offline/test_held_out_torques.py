"""Held-out torques, predicted from held-out motion, and what is said of noise."""

import numpy as np
import pytest

from sim2real_estimator.config import read_config
from sim2real_estimator.events import EventDescriber
from sim2real_estimator.observability.null_space import draw_samples
from sim2real_estimator.offline.identification.held_out import described, predict_torques
from sim2real_estimator.offline.identification.result import HeldOut, LearnedNoise
from sim2real_estimator.offline.identification.terminal import torque_scores
from sim2real_estimator.records import Estimate, Frame, Sample, UpdateReport
from sim2real_estimator.reported_events import NoiseQuestioned
from sim2real_estimator.setup.build import build_parts

pytestmark = pytest.mark.usefixtures('one_thread')
STEP_NS, BEGIN_NS = 4_000_000, 1_700_000_000 * 10**9
ENCODER_SD, TORQUE_SD = 2e-5, (0.6, 0.3)
_ARM = """
<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0.02 0 -0.2"/><mass value="3"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="100" velocity="5"/></joint>
  <link name="lower"><inertial><origin xyz="0 0.01 -0.15"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
</robot>
"""
_SETTINGS = """
model: {{urdf: '{urdf}'}}
joints: {{shoulder: {{effort: measured}}, elbow: {{effort: measured}}}}
sensors: {{encoders: {{kind: joint_positions, topic: joint_states, joints: [shoulder, elbow],
           sd: 1.0e-3}}}}
estimate: {{'*.mass': {{}}, '*.com.*': {{}}, '*.inertia.*': {{}}, '*.damping': {{}},
            '*.friction': {{}}, '*.armature': {{}}}}
simulation: {{backend: eager}}
"""


@pytest.fixture(scope='module')
def parts():
    """Return (problem, estimator) of an arm of two joints whose torques are measured."""
    settings = read_config(_SETTINGS.format(urdf=' '.join(_ARM.split())))
    return build_parts(settings)[:2]


@pytest.fixture(scope='module')
def truth(parts):
    """Return the coordinates of a robot that could be built, off the description."""
    problem = parts[0]
    generator, prior = np.random.default_rng(3), problem.prior
    point = prior.mean + 0.5 * prior.root @ generator.standard_normal(len(prior.mean))
    return problem.possible.nearest(point[:, None], prior.mean, prior.covariance)[:, 0]


def frames_of(problem, truth, seconds, seed):
    """Return `Frame`s of a robot that moves smoothly, with noise on encoders and torques."""
    generator = np.random.default_rng(seed)
    times = np.arange(0, seconds, STEP_NS * 1e-9)
    rates, phases = generator.uniform(1, 6, (2, 3, 1)), generator.uniform(0, 6, (2, 3, 1))
    angles = rates * times + phases
    sizes = 0.3 / np.sqrt(rates)
    q = (sizes * np.sin(angles)).sum(1)
    v = (sizes * rates * np.cos(angles)).sum(1)
    a = -(sizes * rates**2 * np.sin(angles)).sum(1)
    model = problem.torque
    standard, scales = model.standard(truth)[0], model.scales(truth)[0]
    torques = scales * (model.columns(q.T, v.T, a.T, standard) @ standard)
    torques += TORQUE_SD * generator.standard_normal(torques.shape)
    measured = q.T + ENCODER_SD * generator.standard_normal(q.T.shape)
    stamps = BEGIN_NS + np.arange(len(times)) * STEP_NS
    frames, before = [], int(stamps[0])
    for stamp, positions, efforts in zip(stamps.tolist(), measured, torques):
        sample = Sample('encoders', stamp, positions)
        frames.append(Frame(before, stamp, (sample,), ((before, efforts),), after_gap=not frames))
        before = stamp
    return _shifted(frames, stamps, torques)


def _shifted(frames, stamps, torques):
    """Return frames whose efforts have the stamps at which they were measured."""
    efforts = dict(zip(stamps.tolist(), torques))
    return tuple(
        Frame(f.start_ns, f.end_ns, f.samples, ((f.start_ns, efforts[f.start_ns]),), f.after_gap)
        for f in frames
    )


@pytest.fixture(scope='module')
def learned(parts, truth):
    """Return (state, events) after eight seconds."""
    problem, estimator = parts
    state, events = estimator.init(problem), []
    for frame in frames_of(problem, truth, 8.0, seed=1):
        state, report = estimator.update(problem, state, frame)
        events += report.events
    return state, events


@pytest.fixture(scope='module')
def torques(parts, truth, learned):
    problem, estimator = parts
    mixture, noise = estimator.mixture(problem, learned[0]), learned[0].fit.noise
    frames = frames_of(problem, truth, 4.0, seed=2)
    return predict_torques(problem, mixture, noise, [frames], seed=0)


def test_torques_are_predicted_up_to_their_noise(torques):
    assert [trace.joint for trace in torques] == ['shoulder', 'elbow']
    for trace, noise in zip(torques, TORQUE_SD):
        # Of means over five samples.
        assert trace.rms('mean') == pytest.approx(noise / np.sqrt(5), rel=0.25)
        assert trace.rms('nominal') > 3 * trace.rms('mean')
        # Rows of white noise tell more than those of real arms, which inflation reckons with.
        assert trace.coverage() > 0.85
        assert np.median(trace.band()[1]) < 4 * noise / np.sqrt(5)
        assert trace.is_explained and len(trace.measured) > 150


def test_all_of_them_are_written_in_a_table(torques):
    none = np.zeros(0, dtype=np.int64)
    held_out = HeldOut(('nominal', 'mean', 'draws'), 0.2, 0.3, 1.0, none, none, (), '', torques)
    assert held_out.torque_error('mean') < 0.1 < held_out.torque_error('nominal')
    assert torque_scores(held_out).row_count == 3


def test_the_description_is_what_its_file_says(parts):
    problem = parts[0]
    values = problem.parametrization.to_named(described(problem)[:, None])[:, 0]
    named = dict(zip(problem.parametrization.names, values))
    assert named['upper.mass'] == pytest.approx(3.0)
    assert named['elbow.friction'] == named['elbow.torque_offset'] == 0.0
    assert named['lower.com.z'] == pytest.approx(-0.15)


def test_noise_is_held_against_what_is_configured(parts, learned):
    problem, (state, events) = parts[0], learned
    (questioned,) = [event for event in events if isinstance(event, NoiseQuestioned)]
    assert questioned.sd == pytest.approx(ENCODER_SD, rel=0.5)
    noise = LearnedNoise.of(problem, state)
    for (sensor, _, configured, sd), joint in zip(noise.encoders, ('shoulder', 'elbow')):
        assert (sensor, configured) == ('encoders', 1e-3), joint
        assert sd == pytest.approx(ENCODER_SD, rel=0.5)
    (event,) = EventDescriber().describe((questioned,), _estimate())
    assert (event.name, event.is_warning) == ('noise questioned', False)
    assert 'times smaller than configured' in event.text
    assert event.values['learned sd'] == pytest.approx(ENCODER_SD, rel=0.5)


def test_draws_of_what_was_learned_can_be_built(parts, learned):
    problem, estimator = parts
    mixture = estimator.mixture(problem, learned[0])
    values = draw_samples(problem, mixture, 200, seed=0)
    points = problem.parametrization.inner.from_named(values)
    assert values.shape[1] == 200 and problem.possible.are_possible(points).mean() > 0.99


def _estimate():
    return Estimate(BEGIN_NS, (), np.zeros(0), np.zeros(0), (), UpdateReport('filter'))
