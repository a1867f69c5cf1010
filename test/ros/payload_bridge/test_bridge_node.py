"""The payload bridge as a process, with an estimator and drivers that fail, over DDS."""

import contextlib
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from live import node_process, ROOT
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState, PointCloud2
from std_srvs.srv import Trigger
from waiting import PATIENCE
import yaml

from sim2real_estimator.records import Payload, PayloadReason
from sim2real_estimator.ros.payload_bridge.bridge_settings import PARAMETERS
from sim2real_estimator.ros.publishers import (
    payload_message,
    payload_uncertainty_message,
    samples_message,
)

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_ATTEMPTS = 6
MODULE = 'ros.payload_bridge.node'
MAP = '/driver {mass: {parameter: tool.mass}, com.z: {parameter: tool.z, scale: 1000.0}}'
QUICK = {'stale_after': 1.0, 'revoked_after': 1.0, 'retry_after': 0.5, 'answer_within': 1.0}


class Driver(Node):
    """A node with a payload among its parameters; refuses where it is set to."""

    def __init__(self, context):
        super().__init__('driver', context=context)
        self.declare_parameter('tool.mass', 1.0)
        self.declare_parameter('tool.z', 50.0)
        self.is_refusing, self.seen = False, []
        self.add_on_set_parameters_callback(self._hear)

    def _hear(self, parameters):
        self.seen.append({each.name: each.value for each in parameters})
        return SetParametersResult(successful=not self.is_refusing, reason='protective stop')

    @property
    def value(self):
        """Mass and height now."""
        names = 'tool.mass', 'tool.z'
        return tuple(self.get_parameter(name).value for name in names)


class Scene:
    """An estimator, joints and a driver, played by one process."""

    def __init__(self, client):
        self._client, self._context = client, client.node.context
        self._executor = SingleThreadedExecutor(context=self._context)
        self.node = Node('scene', context=self._context)
        self._executor.add_node(self.node)
        make = self.node.create_publisher
        self._inertia = make(InertiaStamped, '/estimator/payload', LATCHED)
        self._cloud = make(PointCloud2, '/estimator/payload_uncertainty', LATCHED)
        self._estimate = make(JointState, '/estimator/estimate', 10)
        self._joints = make(JointState, '/joint_states', 10)
        self.texts, self._stamp_ns = [], 10**9
        kept = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(
            DiagnosticArray, '/payload_bridge/decisions', self._hear, kept
        )
        self.is_estimating, self.speed, self.driver = True, 0.0, None

    def close(self):
        self.without_driver()
        self.node.destroy_node()

    def with_driver(self):
        self.driver = Driver(self._context)
        self._executor.add_node(self.driver)
        return self.driver

    def without_driver(self):
        if self.driver is not None:
            self._executor.remove_node(self.driver)
            self.driver.destroy_node()
            self.driver = None

    def _hear(self, message):
        self.texts += [each.message for each in message.status]

    def say(self, mass=0.4, sd=1e-3, frame='tool0', reason=PayloadReason.NONE):
        """Let the estimator say what is held."""
        self._stamp_ns += 10**6
        mean = np.array([mass, 0.0, 0.0, 0.05, *[1e-4, 0, 0, 1e-4, 0, 1e-4]])
        covariance = np.eye(10) * sd**2
        payload = Payload('hand', frame, self._stamp_ns, mean, covariance, 1.0, reason)
        self._inertia.publish(payload_message(payload))
        self._cloud.publish(payload_uncertainty_message(payload))

    def say_of_another_model(self):
        """Let somebody publish other fields of the same stamp."""
        self._stamp_ns += 10**6
        payload = Payload('hand', 'tool0', self._stamp_ns, np.ones(10), np.eye(10))
        self._inertia.publish(payload_message(payload))
        self._cloud.publish(samples_message(['hand.mass'], np.zeros((1, 3)), self._stamp_ns))

    def spin(self, seconds=None, until=lambda: False):
        """Go on for a time, or until something is so, which has to come."""
        end = time.monotonic() + (PATIENCE if seconds is None else seconds)
        while time.monotonic() < end:
            if self.is_estimating:
                self._estimate.publish(JointState())
            if self.speed is not None:
                self._joints.publish(JointState(name=['a'], velocity=[self.speed]))
            self._executor.spin_once(timeout_sec=0.01)
            for _ in range(20):
                self._executor.spin_once(timeout_sec=0)
            if until():
                return self
        assert seconds is not None, f'it has not come; decided: {self.texts}'
        return self

    def said(self, text):
        return lambda: any(text in each for each in self.texts)

    def call(self, name):
        """Return the answer of a service of the bridge; it is lost at times, see `Client.call`."""
        for _ in range(_ATTEMPTS):
            client = self.node.create_client(Trigger, f'/payload_bridge/{name}')
            self.spin(until=client.service_is_ready)
            future = client.call_async(Trigger.Request())
            self.spin(PATIENCE / _ATTEMPTS, until=future.done)
            if future.done():
                return future.result()
        raise AssertionError(f'asked in vain: {name}; decided: {self.texts}')


@pytest.fixture
def scene(client):
    made = Scene(client)
    yield made
    made.close()


@contextlib.contextmanager
def bridge(folder, **parameters):
    """Run the node with a driver of parameters; it is not dry unless that is said."""
    given = {'driver': 'parameters', 'service': MAP, 'frame': 'tool0', 'dry_run': False}
    given |= {'estimator': '/estimator', 'adds': False, **QUICK, **parameters}
    arguments = []
    for name, value in given.items():
        text = str(value).lower() if isinstance(value, bool) else value
        quoted = f"'{text}'" if isinstance(value, str) else text
        arguments += ['-p', f'{name}:={quoted}']
    with node_process('', folder / 'bridge.log', *arguments, module=MODULE) as process:
        yield process


HAD = (1.0, 50.0)


def test_the_file_to_copy_has_every_parameter_at_its_default_but_two():
    text = (ROOT / 'config' / 'payload_bridge.yaml').read_text()
    said = yaml.safe_load(text)['/**']['payload_bridge']['ros__parameters']
    known = {name: default for name, (default, _) in PARAMETERS.items()}
    assert said == known | {'driver': 'universal_robots', 'frame': 'tool0'}
    assert said['dry_run'] is True


def test_it_sets_what_is_known_reads_it_back_and_rolls_it_back(scene, tmp_path):
    driver = scene.with_driver()
    with bridge(tmp_path):
        scene.say()
        scene.spin(until=lambda: driver.value == (pytest.approx(0.4), pytest.approx(50.0)))
        scene.spin(until=scene.said('set and confirmed: 0.400 kg'))
        assert scene.call('rollback').success
        scene.spin(until=lambda: driver.value == HAD)
        scene.say(0.8)
        scene.spin(1.5)
        assert driver.value == HAD
        assert scene.call('resume').success
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.8))


def test_a_dry_run_sets_nothing(scene, tmp_path):
    driver = scene.with_driver()
    with bridge(tmp_path, dry_run=True):
        scene.say()
        scene.spin(until=scene.said('dry run, not set'))
        scene.spin(1.0)
        assert driver.value == HAD and not driver.seen


def test_what_is_of_another_model_or_not_known_sets_nothing(scene, tmp_path):
    driver = scene.with_driver()
    with bridge(tmp_path):
        scene.say_of_another_model()
        scene.spin(until=scene.said('cannot be read'))
        scene.say(frame='wrist')
        scene.spin(until=scene.said("'wrist'"))
        scene.say(sd=0.2)
        scene.spin(until=scene.said('the sd of its mass'))
        scene.say(reason=PayloadReason.MISFIT)
        scene.spin(until=scene.said('not valid'))
        assert not driver.seen


def test_a_robot_that_moves_is_left_alone(scene, tmp_path):
    driver, scene.speed = scene.with_driver(), 0.5
    with bridge(tmp_path, rest_speed=0.01):
        scene.say()
        scene.spin(until=scene.said('the robot moves'))
        scene.spin(1.0)
        assert not driver.seen
        scene.speed = 0.0
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.4))


@pytest.mark.parametrize('fault', ['stale', 'revoked'])
def test_an_estimate_that_is_lost_is_undone(scene, tmp_path, fault):
    driver = scene.with_driver()
    with bridge(tmp_path):
        scene.say()
        scene.spin(until=scene.said('set and confirmed'))
        if fault == 'stale':
            scene.is_estimating = False
        else:
            scene.say(reason=PayloadReason.FORGOTTEN)
        scene.spin(until=lambda: driver.value == HAD)
        count = len(driver.seen)
        scene.spin(2.0)
        assert len(driver.seen) == count


def test_a_driver_may_come_late_go_and_come_back(scene, tmp_path):
    with bridge(tmp_path):
        scene.say()
        scene.spin(until=scene.said('the driver is absent'))
        driver = scene.with_driver()
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.4))
        scene.without_driver()
        scene.spin(1.0)
        driver = scene.with_driver()
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.4))


def test_a_driver_that_refuses_is_not_pestered(scene, tmp_path):
    driver = scene.with_driver()
    driver.is_refusing = True
    with bridge(tmp_path, retries=2):
        scene.say()
        scene.spin(until=scene.said('calls have failed'))
        scene.spin(2.0)
        assert len(driver.seen) == 3 and driver.value == HAD
        assert scene.said('protective stop')()
        driver.is_refusing = False
        scene.call('resume')
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.4))


def test_a_bridge_that_is_killed_leaves_what_is_set(scene, tmp_path):
    driver = scene.with_driver()
    with bridge(tmp_path) as process:
        scene.say()
        scene.spin(until=scene.said('set and confirmed'))
        process.kill()
        process.wait()
        count = len(driver.seen)
        scene.say(0.9)
        scene.spin(1.5)
        assert len(driver.seen) == count
    # Another one finds what is there.
    with bridge(tmp_path):
        scene.spin(until=lambda: driver.value[0] == pytest.approx(0.9))


@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'driver': 'kuka'}, 'choose one of'),
        ({'driver': 'universal_robots', 'service': ''}, 'ur_msgs'),
        ({'frame': ''}, 'frame: is empty'),
        ({'service': '/driver'}, 'a YAML map'),
        ({'service': '/driver {com.x: {parameter: x}}'}, 'no mass'),
        ({'mass_step': 0.0}, 'mass_step'),
    ],
)
def test_settings_that_cannot_be_are_refused_with_a_sentence(tmp_path, parameters, text):
    with bridge(tmp_path, **parameters) as process:
        assert process.wait(PATIENCE) == 2
    assert text in (tmp_path / 'bridge.log').read_text()
