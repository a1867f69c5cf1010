"""The controller over real DDS: a synthetic robot in, efforts out, and what must not happen."""

import signal

import numpy as np
import pytest
from simulated import CONFIG, config

from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.pipeline import Pipeline

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from live import node_process
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import PATIENCE, until

from sim2real_estimator.ros.publishers import coordinates_message, map_of, posterior_message

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
GOAL = {'shoulder': 0.25, 'elbow': -0.2}
# The upper link is a quarter heavier than described. (Far from that the coordinates of a
# posterior name a robot that moves alike only nearly.)
TRUTH = {'lower.mass': 0.8, 'upper.mass': 1.25}
ROBOT = """
config: estimator.yaml
rate: 250
spread: 0
truth: {truth}
commands: effort_commands
"""


class Scene:
    """What was heard, and who speaks."""

    def __init__(self, client, mapping):
        """Listen to the robot and the controller; publish as an estimator would."""
        self.node, self.mapping = client.node, mapping
        self.client, self.states, self.sent, self.sd = client, [], [], []
        make = client.node.create_subscription
        self._heard = [
            make(JointState, 'joint_states', self.states.append, NEWEST),
            make(Float64MultiArray, 'effort_commands', self.sent.append, 10),
            make(JointState, 'controller/commands_sd', self.sd.append, 10),
        ]
        self.target = client.publisher(JointTrajectory, 'controller/target')
        self.coordinates = client.publisher(
            DiagnosticArray, 'sim2real_estimator/coordinates', LATCHED
        )
        self.posterior = client.publisher(PointCloud2, 'sim2real_estimator/posterior')

    def close(self):
        """Leave the topics: other tests use this client, too."""
        for each in self._heard:
            self.node.destroy_subscription(each)
        for each in (self.target, self.coordinates, self.posterior):
            self.node.destroy_publisher(each)

    def off(self):
        """Return how far the robot is from the goal now [rad], as the root of a square mean."""
        count = len(self.states)
        self.client.wait(lambda: len(self.states) > count + 50, 'joint states')
        q = [dict(zip(m.name, m.position)) for m in self.states[-50:]]
        return float(
            np.sqrt(np.mean([(each[name] - GOAL[name]) ** 2 for each in q for name in GOAL]))
        )

    def settled(self, seconds):
        """Let time pass, by the number of joint states."""
        count = len(self.states)
        self.client.wait(lambda: len(self.states) > count + 150 * seconds, 'joint states')

    def tell(self, values, labels=None):
        """Publish a posterior about values, by name."""
        mapping = self.mapping
        column = np.array([[values[name]] for name in mapping.names])
        mean = mapping.to_coordinates(column)
        roots = 0.03 * np.eye(len(mean))[None]
        mixture = Mixture(np.zeros(1), np.zeros((0, 1)), mean, roots)
        self.posterior.publish(posterior_message(mixture, labels or mapping.labels, 10**9))


@pytest.fixture(scope='module')
def scene(client, tmp_path_factory):
    folder = tmp_path_factory.mktemp('controller')
    estimator = with_values(config(), {'model.urdf': str(CONFIG.with_suffix('.urdf'))})
    (folder / 'estimator.yaml').write_text(to_yaml(estimator))
    (folder / 'robot.yaml').write_text(ROBOT.replace('{truth}', str(TRUTH)))
    problem = Pipeline.from_config(estimator).problem
    names = problem.parametrization.names
    mapping = map_of(problem.parametrization, [''] * len(names))
    with (
        node_process(
            folder / 'robot.yaml', folder / 'robot', module='app.synthetic.node'
        ) as robot,
        node_process(
            folder / 'estimator.yaml',
            folder / 'controller',
            *(
                '-p',
                'enabled:=true',
                '-p',
                'blend:=0.1',
                '-p',
                'full_error:=0.0',
                '-p',
                'stiffness:=40.0',
                '-p',
                'damping:=13.0',
            ),
            module='app.controller.node',
        ) as node,
    ):
        found = Scene(client, mapping)
        found.process, found.output, found.robot = node, folder / 'controller', robot
        client.wait(lambda: len(found.states) > 20 and found.sent, 'states and commands')
        yield found
        found.close()


def trajectory(positions, seconds=1.0):
    """Return a message with one point."""
    point = JointTrajectoryPoint(
        positions=list(positions.values()),
        time_from_start=Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1))),
    )
    return JointTrajectory(joint_names=list(positions), points=[point])


def truth_of(scene):
    """Return the true values by name, as the synthetic robot has them."""
    nominal = Pipeline.from_config(config()).estimate()
    return {**dict(zip(nominal.names, nominal.mean.tolist())), **TRUTH}


def test_the_estimate_makes_the_robot_stand_where_it_is_wanted(scene):
    scene.target.publish(trajectory(GOAL))
    scene.settled(3)
    before = scene.off()
    assert before > 0.01
    names = scene.mapping.names
    message = coordinates_message(scene.mapping, 10**9)
    scene.coordinates.publish(message)
    scene.settled(0.5)
    values = truth_of(scene)
    for _ in range(5):
        scene.tell({name: values[name] for name in names})
        scene.settled(0.5)
    scene.settled(1)
    assert scene.off() < before / 5
    # The spread is that of what the posterior leaves open.
    scene.client.wait(lambda: scene.sd and max(scene.sd[-1].effort) > 0, 'the spread')


def test_posteriors_that_do_not_fit_are_not_used(scene):
    before = scene.off()
    wrong = {name: 3.0 * abs(value) for name, value in truth_of(scene).items()}
    labels = [f'other.{label}' for label in scene.mapping.labels]
    scene.tell({name: wrong[name] for name in scene.mapping.names}, labels)
    until(lambda: 'other coordinates' in scene.output.read_text(), 'the first refusal')
    with np.errstate(invalid='ignore'):
        scene.tell(dict.fromkeys(scene.mapping.names, np.nan))
    until(lambda: 'not finite' in scene.output.read_text(), 'the second refusal')
    scene.settled(1)
    assert scene.off() < before + 0.003


@pytest.mark.parametrize(
    ('message', 'why'),
    [
        (trajectory({'shoulder': 0.1}), 'it is of shoulder'),
        (trajectory({'shoulder': np.nan, 'elbow': 0.0}), 'not finite'),
        (trajectory({'shoulder': 1.2, 'elbow': 0.0}, 0.0), 'from where shoulder is'),
        (JointTrajectory(joint_names=list(GOAL)), 'no points'),
    ],
)
def test_motions_that_cannot_be_followed_are_refused_with_the_reason(scene, message, why):
    scene.target.publish(message)
    until(lambda: why in scene.output.read_text(), 'what is said')
    assert scene.off() < 0.02


def test_without_states_no_efforts_are_sent(scene):
    scene.robot.send_signal(signal.SIGINT)
    scene.robot.wait(PATIENCE)
    until(lambda: 'no efforts: there are no states' in scene.output.read_text(), 'what is said')
    scene.client._listen(lambda: False, 0.5)  # what is still under way
    count = len(scene.sent)
    scene.client._listen(lambda: False, 1.0)
    assert len(scene.sent) == count
    scene.process.send_signal(signal.SIGINT)
    assert scene.process.wait(PATIENCE) == 0
