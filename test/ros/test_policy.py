"""The policy of SROS 2 that is shipped allows what the node and its monitor open, and no more."""

from dataclasses import replace
import re
import xml.etree.ElementTree as ElementTree

import pytest
from simulated import CONFIG, config

from sim2real_estimator.config import to_yaml, with_values

pytest.importorskip('rclpy')

from live import command_process, node_process, ROOT
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from waiting import PATIENCE

POLICY = ElementTree.parse(ROOT / 'config/sros2/sim2real_estimator.policy.xml').getroot()
# What a profile grants -> the question to the graph that shows who uses it.
GRANTS = {
    ('topics', 'publish'): Node.get_publisher_names_and_types_by_node,
    ('topics', 'subscribe'): Node.get_subscriber_names_and_types_by_node,
    ('services', 'reply'): Node.get_service_names_and_types_by_node,
    ('services', 'request'): Node.get_client_names_and_types_by_node,
}


def full(name, profile):
    """Return a topic or service of the policy as the graph has it."""
    namespace, node = profile.get('ns'), profile.get('node')
    if name.startswith('~/'):
        return f'{namespace}{node}/{name[2:]}'
    return name if name.startswith('/') else f'{namespace}{name}'


def allowed(node):
    """Return grant -> names, all full, of the profile of a node."""
    (profile,) = POLICY.findall(f'./enclaves/enclave/profiles/profile[@node="{node}"]')
    found = {grant: [] for grant in GRANTS}
    for group in profile:
        for how, decision in group.attrib.items():
            assert decision == 'ALLOW'
            found[group.tag, how] += [full(each.text, profile) for each in group]
    return {grant: sorted(names) for grant, names in found.items()}


def opened(client, node):
    """Return grant -> names that a node has opened, by the graph of ROS."""
    return {
        grant: sorted(name for name, _ in ask(client.node, node, '/'))
        for grant, ask in GRANTS.items()
    }


def wait_until_as_allowed(client, node):
    """Wait for what the policy allows; what differs in the end fails with both lists."""
    seen = {}

    def is_all_there():
        if node in client.node.get_node_names():
            seen.update(opened(client, node))
        return seen == allowed(node)

    try:
        client.wait(is_all_there, f'all that the policy grants {node}')
    except AssertionError:
        assert seen == allowed(node)


def test_the_node_opens_what_the_policy_allows(client, tmp_path):
    changes = {
        'model.urdf': '',
        'node.robot_description': True,
        'joints.shoulder.effort': 'measured',
        'joints.elbow.effort': 'commanded',
        'efforts.commanded': 'joint_commands',
    }
    file = tmp_path / 'config.yaml'
    file.write_text(to_yaml(replace(with_values(config(), changes), source='')))
    with node_process(file, tmp_path / 'output', '-p', 'use_sim_time:=true'):
        kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        robot = client.publisher(String, '/robot_description', kept)
        robot.publish(String(data=CONFIG.with_suffix('.urdf').read_text()))
        wait_until_as_allowed(client, 'sim2real_estimator')
        client.node.destroy_publisher(robot)


def test_the_monitor_opens_what_the_policy_allows(client, tmp_path):
    with command_process(tmp_path / 'output', 'monitor'):
        wait_until_as_allowed(client, 'monitor')


def test_the_documents_name_every_enclave():
    text = (ROOT / 'SECURITY.md').read_text()
    for enclave in POLICY.iter('enclave'):
        assert re.search(rf'{enclave.get("path")}\b(?!/)', text), enclave.get('path')


def test_without_keys_the_monitor_says_so_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
    monkeypatch.setenv('ROS_SECURITY_KEYSTORE', str(tmp_path))
    with command_process(tmp_path / 'output', 'monitor') as process:
        assert process.wait(PATIENCE) == 2
    (line,) = (tmp_path / 'output').read_text().splitlines()
    assert line.startswith('sim2real-estimator: ROS 2 does not start: ') and 'SECURITY' in line
