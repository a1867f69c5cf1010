"""docs/ros.md against the code: topics, services, types, QoS, and the words of the node."""

import ast
import re

import pytest

from sim2real_estimator.sensors import JointEfforts, SENSORS, WrenchInput

pytest.importorskip('rclpy')

from live import node_process, ROOT
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

PAGE = (ROOT / 'docs/ros.md').read_text()
NODE = 'sim2real_estimator'
# What every node, or every managed one, has.
USUAL = {'parameter_events', 'rosout', f'{NODE}/transition_event'}
OF_MANAGED = re.compile(r'/(get_\w+|\w+_parameters(_atomically)?|change_state)$')
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def rows(heading):
    """Return the rows of the first table below a heading, as lists of cells."""
    text = PAGE[PAGE.index(f'\n## {heading}\n') + 1 :].partition('\n## ')[0]
    table = [line for line in text.splitlines() if line.startswith('|')]
    cells = [re.split(r'(?<!\\)\|', line)[1:-1] for line in table[2:]]
    return [[cell.strip() for cell in line] for line in cells if len(line) == len(cells[0])]


def full(name):
    return name.strip('`').replace('~/', f'{NODE}/').lstrip('/')


def kind(written):
    """Return a type as ROS has it, of one without its middle."""
    return written.replace('/', '/msg/')


def qos(client, topic, side):
    """Return reliability, durability and depth of a topic, which are parameters of the node."""
    policies = ('reliability', 'durability', 'depth')
    names = [f'qos_overrides.{topic}.{side}.{policy}' for policy in policies]
    reliability, durability, depth = client.call(
        GetParameters, 'get_parameters', names=names
    ).values
    return reliability.string_value, durability.string_value, depth.integer_value


@pytest.fixture(scope='module')
def graph(client, tmp_path_factory):
    """Return the graph with a node that has its robot from a topic, and encoders and a body."""
    output = tmp_path_factory.mktemp('page') / 'output'
    config = ROOT / 'config/demo.yaml'
    with node_process(config, output, '-p', 'node.robot_description:=true'):
        robot = client.publisher(String, 'robot_description', LATCHED)
        robot.publish(String(data=(ROOT / 'config/double_pendulum.urdf').read_text()))
        client.wait(lambda: client.status('worker'), 'a configured node')
        client.wait(lambda: NODE in client.node.get_node_names(), 'its name')
        yield client.node
        client.node.destroy_publisher(robot)


def test_published_topics_are_those_of_the_page(graph):
    written = {full(row[0]): kind(row[1]) for row in rows('Published topics')}
    found = dict(graph.get_publisher_names_and_types_by_node(NODE, '/'))
    found = {name.lstrip('/'): kinds[0] for name, kinds in found.items()}
    assert {name: found[name] for name in found.keys() - USUAL} == written


def test_publishers_have_the_qos_of_the_page(graph, client):
    for topic, _, written, *_ in rows('Published topics'):
        reliability, durability, depth = qos(client, '/' + full(topic), 'publisher')
        assert reliability == 'reliable', topic
        assert (durability == 'transient_local') == ('transient local' in written), topic
        assert written.endswith(f'keep last {depth}'), topic


def test_subscribed_types_are_those_that_sensors_read():
    written = {kind(row[1]) for row in rows('Subscribed topics')}
    readable = {*JointEfforts.message_types, *WrenchInput.message_types}
    readable.update(*(sensor.message_types for sensor in SENSORS.values()))
    of_the_node = {'std_msgs/msg/String', 'rosgraph_msgs/msg/Clock'}
    assert written == readable | of_the_node


def test_kinds_of_sensors_read_the_types_of_the_page():
    for _, type_, _, _, origin in rows('Subscribed topics'):
        for name in set(re.findall(r'`(\w+)`', origin)) & set(SENSORS):
            assert kind(type_) in SENSORS[name].message_types


def test_subscriptions_are_of_the_types_and_qos_of_the_page(graph, client):
    written = {kind(row[1]): row[2] for row in rows('Subscribed topics')}
    found = dict(graph.get_subscriber_names_and_types_by_node(NODE, '/'))
    topics = {name: kinds[0] for name, kinds in found.items() if name.lstrip('/') not in USUAL}
    assert len(topics) == 3
    for topic, type_ in topics.items():
        reliability, durability, depth = qos(client, topic, 'subscription')
        assert written[type_].startswith(reliability.replace('_', ' ')), topic
        assert (durability == 'transient_local') == ('transient local' in written[type_]), topic
        assert written[type_].endswith(f'keep last {depth}'), topic


def test_services_are_those_of_the_page(graph):
    written = {full(row[0]): row[1].replace('/', '/srv/') for row in rows('Services')}
    found = {
        name.lstrip('/'): kinds[0]
        for name, kinds in graph.get_service_names_and_types_by_node(NODE, '/')
        if not OF_MANAGED.search(name)
    }
    assert found == written


def test_tasks_of_the_diagnostics_are_those_of_the_page(graph, client):
    written = {re.match(r'`(\w+)', row[0]).group(1) for row in rows('Diagnostics')}
    found = {task.split()[0] for task in client.health}
    # From the first update on.
    assert written == found | {'verdicts'}


def said():
    """Return all that the package says, with a mark where something is filled in."""
    texts = []
    for path in [*(ROOT / NODE).rglob('*.py'), *(ROOT / 'launch').glob('*.py')]:
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.JoinedStr):
                parts = (getattr(part, 'value', None) for part in found.values)
                texts.append(''.join(p if isinstance(p, str) else '\0' for p in parts))
            elif isinstance(found, ast.Constant) and isinstance(found.value, str):
                texts.append(found.value)
    return '\n'.join(texts)


def test_the_node_says_what_the_page_says_it_does():
    texts = said()
    quoted = [words for row in rows('When it does not work') for words in row[1].split('`')[1::2]]
    pieces = [piece.strip() for words in quoted for piece in words.split('...')]
    unsaid = [piece for piece in pieces if piece not in texts]
    assert len(pieces) > 40
    assert not unsaid


def test_parameters_named_by_the_page_exist():
    known = (ROOT / 'docs/parameters.md').read_text()
    named = set(re.findall(r'`((?:node|markers|saving|samples|frames|efforts|mocap)\.\w+)`', PAGE))
    assert len(named) > 8
    assert not [name for name in named if f'`{name}`' not in known]
