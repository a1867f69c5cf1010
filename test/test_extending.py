"""
What docs/extending.md promises: a new member is one class and one line in a table.

A toy member of each family is put into its table, as its file and its line would, and estimated
with from a config to a posterior.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import measured_arms
import numpy as np
from posteriors import feed
import pytest
import simulated

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config.settings_tree import (
    ActuatorConfig,
    EstimatorConfig,
    PriorConfig,
    SensorConfig,
)
from sim2real_estimator.dynamics.integrators import AbstractIntegrator, INTEGRATORS
from sim2real_estimator.dynamics.integrators.base import map_joints
from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.estimation.estimators import AbstractEstimator, ESTIMATORS
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.actuators import AbstractActuator, ActuatorParameter, ACTUATORS
from sim2real_estimator.model.contacts import AbstractContactLaw, ContactParameter, LAWS
from sim2real_estimator.model.friction import AbstractFriction, FRICTIONS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.joints.continuous import Continuous
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.usual_priors import default_prior
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample, Status, UpdateReport
from sim2real_estimator.sensors import AbstractSensor, SENSORS, stamp_ns
from sim2real_estimator.sensors.base import Rows, Signal
from sim2real_estimator.sensors.decoding import checked_type, Decoded, joints_to
from sim2real_estimator.sensors.joint_positions import JointPositions
from sim2real_estimator.spatial.scalar import maximum, mul, neg


@pytest.fixture(autouse=True)
def _own_pipeline():
    """Keep the pipeline that tests share from being built with a toy member in a table."""
    measured_arms.pipeline.cache_clear()
    yield
    measured_arms.pipeline.cache_clear()


_SETTINGS = {'starts': 2, 'horizons': (12, 25, 40, 60), 'handover': 0.3, 'share': 0.0}


class Belt(AbstractActuator):
    """A motor whose belt passes a part of its effort on."""

    type_name = 'belt'
    command_unit = 'N m'
    parameters = (ActuatorParameter('slip', 1.0, '1', True, 'part of the effort that arrives'),)

    def effort(self, command, velocity, values):
        """Return what arrives."""
        return mul(values['slip'], command)


class CubicDrag(AbstractFriction):
    """drag * v |v| |v|, as of a propeller in mud."""

    name = 'mud'
    description = 'effort at a speed of one, growing with its third power'
    is_positive = True
    sd_of_limit = 0.05
    sd_of_change = 0.05

    def unit(self, joint_units):
        """Return the unit of an effort."""
        return joint_units.effort

    def column(self, motion):
        """Return the cube of the speed."""
        return [mul(speed, mul(speed, speed)) for speed in motion.speeds]


class Midpoint(AbstractIntegrator):
    """Runge and Kutta's method of second order."""

    name, order, stages = 'midpoint', 2, 2

    def step(self, robot, q, v, duration, acceleration):
        """Return (q, v) after a duration [s]."""
        half = 0.5 * duration
        middle = [x + a * half for x, a in zip(v, acceleration(q, v))]
        between = map_joints(robot, lambda kind, x, w: kind.advance(x, w, half), q, v)
        there = acceleration(between, middle)
        after = map_joints(robot, lambda kind, x, w: kind.advance(x, w, duration), q, middle)
        return after, [x + a * duration for x, a in zip(v, there)]


class Swivel(Continuous):
    """A joint that turns on and on, by another name."""

    type_name = 'swivel'


class Resolver(JointPositions):
    """An encoder by another name."""


class Gyroscope(AbstractSensor):
    """The angular velocity of a link, in its own axes [rad/s]."""

    value_size = row_size = output_size = 3
    message_types = ('sensor_msgs/msg/Imu',)

    def __init__(self, name, model, link, sd, message_type=None):
        """Take the link's name and the standard deviation [rad/s]."""
        self.name, self.link, self.sd, self.joints = name, link, sd, joints_to(model, link)
        self.message_type = checked_type(self, message_type)

    @property
    def scale(self):
        """Standard deviations of the values."""
        return np.full(3, self.sd)

    @property
    def signals(self):
        """The angular velocity about every axis."""
        return tuple(Signal(f'about {x}', 'rad/s', self.sd, k) for k, x in enumerate('xyz'))

    def decode(self, message, arrived_ns=None):
        """Return the sample of a message."""
        rate, stamp = message.angular_velocity, stamp_ns(message, arrived_ns)
        values = np.array([rate.x, rate.y, rate.z])
        return Decoded((Sample(self.name, stamp, values),), (Status.USED,))

    def observe(self, robot, q, v):
        """Return the angular velocity in the link's axes."""
        pose = link_poses(robot, q, v)[self.link]
        return list(pose.rotation.transposed() * pose.velocity.angular)

    def rows(self, states, outputs, values):
        """Return predicted less measured, zero where a value is missing."""
        error = (outputs.T - values) / self.sd
        slope = np.broadcast_to(np.eye(3) / self.sd, (len(values), 3, 3))
        missing = np.isnan(error)
        return Rows(
            np.where(missing, 0.0, error), by_outputs=np.where(missing[..., None], 0.0, slope)
        )


@dataclass(frozen=True)
class Prophet(AbstractEstimator):
    """Never learns: what is known is the prior, however much is seen."""

    seed: int = 0
    name = 'prophet'

    def init(self, problem):
        """Return how many frames there were."""
        return 0

    def update(self, problem, state, frame):
        """Return one more."""
        return state + 1, UpdateReport('filter')

    def mixture(self, problem, state):
        """Return the prior at the neutral state."""
        size, prior = problem.tangent_size, problem.prior
        root = np.zeros((1, size + len(prior.mean), size + len(prior.mean)))
        root[0, size:, size:] = prior.root
        return Mixture(np.zeros(1), problem.neutral[:, None], prior.mean[:, None], root)

    def interrupted(self, state):
        """Return the state after a frame that could not be computed."""
        return state

    def kept_frames(self, state):
        """Return the frames that are looked at again: none."""
        return ()

    def with_frames(self, state, frames):
        """Return the state with other frames."""
        return state


def config(**changes):
    """Return the shipped config of a double pendulum that is identified within a second."""
    known = simulated.config()
    estimator = EstimatorConfig('gaussian_sum', settings=_SETTINGS)
    unknown = {'lower.mass': PriorConfig(), '*.damping': PriorConfig()}
    return replace(known, **{'estimator': estimator, 'estimate': unknown, **changes})


def estimated(config, seconds=1.0):
    """Return the pipeline after the data of a simulated double pendulum."""
    pipeline, recording = Pipeline.from_config(config), simulated.record(seconds)
    samples = []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        samples.append(Sample('encoders', int(stamp), angles))
        samples.append(Sample('commanded_efforts', int(stamp), torques))
    feed(pipeline, samples)
    return pipeline


def share_left(pipeline, name):
    """Return what is left of the deviation that a parameter had before any data."""
    found = pipeline.findings(exact=False).parameters
    return next(each.share for each in found if each.name == name)


def test_an_actuator(monkeypatch):
    monkeypatch.setitem(ACTUATORS, 'belt', Belt())
    known = config()
    model = replace(known.model, actuators={'shoulder': ActuatorConfig('belt', {})})
    pipeline = estimated(
        config(model=model, estimate={**known.estimate, 'shoulder.slip': PriorConfig()})
    )
    assert share_left(pipeline, 'shoulder.slip') < 0.5


def test_a_term_of_friction(monkeypatch):
    monkeypatch.setitem(FRICTIONS, 'mud', CubicDrag())
    pipeline = estimated(
        config(estimate={**config().estimate, 'elbow.mud': PriorConfig(mean=0.01, sd=0.5)})
    )
    assert share_left(pipeline, 'elbow.mud') < 0.9


def test_a_term_of_friction_where_torque_is_measured(monkeypatch):
    monkeypatch.setitem(FRICTIONS, 'mud', CubicDrag())
    pipeline = measured_arms.new_pipeline()
    recording = measured_arms.record(3.0, 0)
    feed(pipeline, recording.samples())
    name = 'elbow.mud'
    assert share_left(pipeline, name) < 0.5
    place, estimate = pipeline.problem.parametrization.names.index(name), pipeline.estimate()
    assert abs(estimate.mean[place] - recording.truth[place]) < 3 * estimate.sd[place]


def test_what_a_term_of_friction_declares_reaches_all_that_treat_friction(monkeypatch):
    monkeypatch.setitem(FRICTIONS, 'mud', CubicDrag())
    problem = measured_arms.new_pipeline().problem
    torque, place = problem.torque, problem.parametrization.names.index('elbow.mud')
    assert torque.is_friction[torque.names.index('elbow.mud')]
    assert place in torque.positive and place in torque.guessed and place in torque.own[1]
    size = len(problem.prior.mean)
    assert torque.friction(np.ones(size))[place] == 1.0
    changes = {each.name: each.parameters for each in torque.model_changes()}
    assert 'elbow.mud' in changes['friction of elbow']
    assert (problem.possible.rows == np.eye(size)[place]).all(1).any()


class Spring(AbstractContactLaw):
    """A spring without losses or friction."""

    name = 'spring'
    parameters = (ContactParameter('hardness', 2e4, 'N/m', 0.5, 'force per penetration'),)

    def force(self, gap, gap_rate, slip, normal, values):
        """Return what the spring pushes with."""
        return normal * mul(values['hardness'], maximum(neg(gap), 0.0))

    def duration(self, mass, speed, values):
        """Return half a period."""
        return np.pi * np.sqrt(mass / values['hardness'])


def test_a_law_of_contact(monkeypatch):
    monkeypatch.setitem(LAWS, 'spring', Spring())
    text = (
        '<robot name="ball"><link name="ball"><inertial><mass value="1"/><inertia ixx="0.004" '
        'iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<sphere radius="0.1"/></geometry></collision></link></robot>'
    )
    contact = {'between': ('ball', 'ground'), 'law': 'spring', 'hardness': 1e4}
    model = load_urdf(text, base='floating', contacts={'floor': contact})
    assert default_prior(Parameters(model), 'floor.hardness').mean == 1e4
    simulator = Simulator(model, ['floor.hardness'])
    # It falls 0.3 m, and is watched near the middle of its impact.
    speed, duration = 2.426, 0.015
    state = simulator.neutral_state()
    state[2], state[9] = 0.1 + 1e-9, -speed
    found = simulator.jacobian(state, [1e-3] * 15)

    def depth(hardness):
        rate = np.sqrt(hardness)
        sunk = 9.81 / hardness * (1 - np.cos(rate * duration))
        return speed / rate * np.sin(rate * duration) + sunk

    assert 0.1 - found.state[2].item() == pytest.approx(depth(1e4), rel=1e-4)
    slope = depth(1e4 - 0.5) - depth(1e4 + 0.5)
    assert found.by_parameters[0, 2, 0].item() == pytest.approx(slope, rel=1e-3)


def test_an_integrator(monkeypatch):
    monkeypatch.setitem(INTEGRATORS, 'midpoint', Midpoint())
    known = config()
    simulation = replace(known.simulation, integrator='midpoint')
    assert share_left(estimated(config(simulation=simulation)), 'lower.mass') < 0.5


def test_a_joint(monkeypatch):
    monkeypatch.setitem(JOINTS, 'swivel', Swivel)
    known = config()
    model = replace(known.model, joint_types={'elbow': 'swivel'})
    pipeline = estimated(config(model=model))
    assert pipeline.problem.model.joint('elbow').kind.type_name == 'swivel'
    assert share_left(pipeline, 'lower.mass') < 0.5


def test_a_sensor(monkeypatch):
    monkeypatch.setitem(SENSORS, 'resolver', Resolver)
    known = config()
    sensors = {'encoders': replace(known.sensors['encoders'], kind='resolver')}
    pipeline = estimated(config(sensors=sensors))
    assert isinstance(pipeline.problem.sensors[0], Resolver)
    assert share_left(pipeline, 'lower.mass') < 0.5


def test_a_sensor_of_its_own(monkeypatch):
    monkeypatch.setitem(SENSORS, 'gyroscope', Gyroscope)
    wish = SensorConfig(kind='gyroscope', topic='imu', link='lower', sd=0.02)
    known, data = config(), simulated.record(1.0)
    pipeline = Pipeline.from_config(config(sensors={**known.sensors, 'gyro': wish}))
    imu = next(each for each in pipeline.problem.sensors if each.name == 'gyro')
    rng, samples = np.random.default_rng(0), []
    for stamp, torques, (first, second) in zip(data.stamps, data.torques, data.velocities):
        x, y, z = np.array([0.0, first + second, 0.0]) + 0.02 * rng.standard_normal(3)
        stamped = SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=int(stamp)))
        rate = SimpleNamespace(x=x, y=y, z=z)
        samples += imu.decode(SimpleNamespace(header=stamped, angular_velocity=rate)).samples
        samples.append(Sample('commanded_efforts', int(stamp), torques))
        samples.append(Sample('encoders', int(stamp), data.angles[len(samples) // 3]))
    feed(pipeline, samples)
    without = share_left(estimated(config()), 'lower.mass')
    assert share_left(pipeline, 'lower.mass') < 0.95 * without


def test_an_estimator(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, 'prophet', Prophet)
    pipeline = estimated(config(estimator=EstimatorConfig('prophet')), 0.3)
    assert pipeline.state > 20
    assert share_left(pipeline, 'lower.mass') == pytest.approx(1.0, abs=0.1)
