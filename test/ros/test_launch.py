"""The launch file, run for real where launch is installed."""

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest
from simulated import CONFIG

pytest.importorskip('rclpy')
pytest.importorskip(
    'launch_ros', reason='launch and launch_ros come with ROS 2 only, not with its wheels'
)

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.launch_description_sources import PythonLaunchDescriptionSource
from live import discovery, ROOT
from waiting import PATIENCE, until

FILE = ROOT / 'launch' / 'estimator.launch.py'
SCRIPT = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
arguments = {'config_file': sys.argv[2], 'namespace': 'left', 'log_level': 'warn'}
source = PythonLaunchDescriptionSource(sys.argv[1])
action = IncludeLaunchDescription(source, launch_arguments=arguments.items())
service.include_launch_description(LaunchDescription([action]))
sys.exit(service.run())
"""


def test_its_arguments_are_described():
    source = PythonLaunchDescriptionSource(str(FILE))
    entities = source.get_launch_description(LaunchContext()).entities
    arguments = {e.name: e for e in entities if isinstance(e, DeclareLaunchArgument)}
    assert list(arguments) == ['config_file', 'use_sim_time', 'namespace', 'log_level']
    assert all(argument.description for argument in arguments.values())
    assert [name for name, a in arguments.items() if a.default_value is None] == ['config_file']


@pytest.fixture
def prefix(tmp_path):
    """Return where the package is installed, as far as launch looks."""
    index = tmp_path / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / 'sim2real_estimator').touch()
    (tmp_path / 'lib').mkdir()
    (tmp_path / 'lib/sim2real_estimator').symlink_to(ROOT / 'scripts')
    return tmp_path


def test_it_starts_the_node_in_its_namespace_and_ends_it(prefix, client, tmp_path):
    environment = {
        **os.environ,
        **discovery(),
        'AMENT_PREFIX_PATH': str(prefix),
        'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}',
        'PYTHONPATH': f'{ROOT}{os.pathsep}{os.environ.get("PYTHONPATH", "")}',
        'ROS_LOG_DIR': str(tmp_path),
    }
    output = tmp_path / 'output'
    with open(output, 'w') as file:
        process = subprocess.Popen(
            [sys.executable, '-c', SCRIPT, str(FILE), str(CONFIG)],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        node = ('sim2real_estimator', '/left')
        client.wait(lambda: node in client.node.get_node_names_and_namespaces(), 'the node')
        process.send_signal(signal.SIGINT)
        until(lambda: process.poll() is not None, 'the end')
        assert process.returncode == 0
        assert 'process has finished cleanly' in output.read_text()
    finally:
        # A launch that is killed leaves its nodes behind.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
