"""The launch files, run for real where launch is installed."""

from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest
from simulated import CONFIG
import swinging

pytest.importorskip('rclpy')
pytest.importorskip(
    'launch_ros', reason='launch and launch_ros come with ROS 2 only, not with its wheels'
)

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import TextSubstitution
from live import discovery, ROOT
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from waiting import PATIENCE, until
import yaml

NAMES = 'estimator', 'demo', 'replay', 'randomizer', 'payload_bridge', 'controller'
ESTIMATOR, DEMO, REPLAY, RANDOMIZER, BRIDGE, CONTROLLER = (
    ROOT / 'launch' / f'{name}.launch.py' for name in NAMES
)
URDF = CONFIG.with_suffix('.urdf')
# Those that nav2 has, by the same names.
COMMON = {'params_file', 'namespace', 'use_sim_time', 'autostart', 'log_level', 'rviz'}
# One launch of a file for each `name:=value,name:=value` after it.
SCRIPT = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
for text in sys.argv[2:]:
    arguments = [pair.split(':=') for pair in text.split(',')]
    source = PythonLaunchDescriptionSource(sys.argv[1])
    action = IncludeLaunchDescription(source, launch_arguments=arguments)
    service.include_launch_description(LaunchDescription([GroupAction([action])]))
sys.exit(service.run())
"""


def entities(file):
    source = PythonLaunchDescriptionSource(str(file))
    return source.get_launch_description(LaunchContext()).entities


def started(prefix, monkeypatch, **arguments):
    """Return what the launch file for robots starts, as it is inspected and not run."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    context = LaunchContext()
    found = entities(ESTIMATOR)
    for entity in found:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
    context.launch_configurations.update(arguments)
    (function,) = [entity for entity in found if isinstance(entity, OpaqueFunction)]
    return function.execute(context)


@pytest.mark.parametrize('file', [ESTIMATOR, DEMO, REPLAY], ids=lambda file: file.name)
def test_arguments_are_described_and_have_defaults(file):
    arguments = {e.name: e for e in entities(file) if isinstance(e, DeclareLaunchArgument)}
    if file == REPLAY:
        # Nobody knows which recording.
        assert arguments.pop('bag').default_value is None
    assert {*COMMON, 'config_file', 'robot_description'} <= set(arguments)
    assert all(argument.description for argument in arguments.values())
    assert all(argument.default_value is not None for argument in arguments.values())


def test_the_randomizer_hears_the_estimator_that_is_named():
    context, found = LaunchContext(), entities(RANDOMIZER)
    for entity in found:
        if isinstance(entity, DeclareLaunchArgument):
            assert entity.description and entity.default_value is not None
            entity.execute(context)
    context.launch_configurations.update(config_file=str(CONFIG), estimator='left_arm')
    (function,) = [entity for entity in found if isinstance(entity, OpaqueFunction)]
    (node,) = function.execute(context)
    assert (node.node_package, node.node_executable) == (
        'sim2real_estimator',
        'randomizer',
    )


def test_the_bridge_starts_dry_with_its_shipped_parameters():
    declared = {e.name: e for e in entities(BRIDGE) if isinstance(e, DeclareLaunchArgument)}
    assert all(each.description for each in declared.values())
    (given,) = declared['params_file'].default_value
    said = yaml.safe_load(Path(given.text).read_text())['/**']['payload_bridge']
    assert said['ros__parameters']['dry_run'] is True
    (node,) = [
        entity for entity in entities(BRIDGE) if not isinstance(entity, DeclareLaunchArgument)
    ]
    assert (node.node_package, node.node_executable) == ('sim2real_estimator', 'payload_bridge')


def test_the_controller_only_looks_unless_it_is_enabled():
    declared = {e.name: e for e in entities(CONTROLLER) if isinstance(e, DeclareLaunchArgument)}
    assert all(each.description for each in declared.values())
    # Whose robot it is nobody knows.
    assert [n for n, each in declared.items() if each.default_value is None] == ['config_file']
    assert declared['enabled'].default_value[0].text == 'false'
    (node,) = [e for e in entities(CONTROLLER) if not isinstance(e, DeclareLaunchArgument)]
    assert (node.node_package, node.node_executable) == ('sim2real_estimator', 'controller')


@pytest.fixture
def prefix(tmp_path):
    """Return where the package is installed, as far as launch looks."""
    return install(tmp_path, 'sim2real_estimator')


def install(folder, *packages):
    index = folder / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True, exist_ok=True)
    for package in packages:
        (index / package).touch()
    (folder / 'lib').mkdir(exist_ok=True)
    if not (folder / 'lib/sim2real_estimator').exists():
        (folder / 'lib/sim2real_estimator').symlink_to(ROOT / 'scripts')
    return folder


def test_only_the_node_is_started_where_nothing_else_is_wanted(prefix, monkeypatch):
    (node,) = started(prefix, monkeypatch, config_file=str(CONFIG))
    assert (node.node_package, node.node_executable) == (
        'sim2real_estimator',
        'sim2real_estimator_node',
    )


def test_what_is_missing_is_said_and_does_no_harm(prefix, monkeypatch):
    given = {'robot_description': str(URDF), 'rviz': 'true'}
    node, *others = started(prefix, monkeypatch, **given)
    assert node.node_package == 'sim2real_estimator'
    assert all(isinstance(other, LogInfo) for other in others)
    assert len(others) == 2


def test_robot_and_view_are_shown_where_that_is_installed(prefix, monkeypatch):
    install(prefix, 'robot_state_publisher', 'rviz2')
    given = {'robot_description': str(URDF), 'rviz': 'true', 'namespace': 'left'}
    packages = [node.node_package for node in started(prefix, monkeypatch, **given)]
    assert packages == ['sim2real_estimator', 'robot_state_publisher', 'rviz2']


def command(node):
    """Return the words after what is executed, as far as the launch file gives them."""
    first = (part[0] for part in node.cmd[1:])
    return [part.text for part in first if isinstance(part, TextSubstitution)]


@pytest.mark.parametrize(
    'given',
    [
        {'robot_description': str(URDF)},
        {'robot_description': URDF.read_text()},
        {'config_file': str(CONFIG)},
    ],
    ids=['file', 'text', 'of the settings'],
)
def test_rviz_is_told_the_base_link(given, prefix, monkeypatch):
    install(prefix, 'rviz2')
    rviz = started(prefix, monkeypatch, rviz='true', **given)[-1]
    words = command(rviz)
    assert words[words.index('-f') + 1] == 'stand'


def test_rviz_is_shown_where_the_robot_comes_by_a_topic(prefix, monkeypatch, tmp_path):
    install(prefix, 'rviz2')
    settings = tmp_path / 'waiting.yaml'
    settings.write_text('node: {robot_description: true}')
    *_, said, rviz = started(prefix, monkeypatch, rviz='true', config_file=str(settings))
    assert isinstance(said, LogInfo)
    assert (rviz.node_package, '-f' in command(rviz)) == ('rviz2', False)


def test_a_file_of_parameters_that_is_not_there_is_an_error(prefix, monkeypatch):
    with pytest.raises(FileNotFoundError, match='params_file: nowhere.yaml'):
        started(prefix, monkeypatch, params_file='nowhere.yaml')


@contextmanager
def launched(prefix, folder, file, *arguments):
    """Run launch files until the end of the context; yield the process and its output."""
    environment = {
        **os.environ,
        **discovery(),
        'AMENT_PREFIX_PATH': str(prefix),
        'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}',
        'PYTHONPATH': f'{ROOT}{os.pathsep}{os.environ.get("PYTHONPATH", "")}',
        'ROS_LOG_DIR': str(folder),
    }
    output = folder / 'output'
    with open(output, 'w') as log:
        process = subprocess.Popen(
            [sys.executable, '-c', SCRIPT, str(file), *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process, output
    finally:
        # A launch that is killed leaves its nodes behind.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


def assert_ends(process, output, nodes):
    # As Ctrl-C in a terminal does: to the launch and to all that it started.
    os.killpg(process.pid, signal.SIGINT)
    until(lambda: process.poll() is not None, 'the end')
    assert process.returncode == 0
    assert output.read_text().count('process has finished cleanly') == nodes


@pytest.mark.parametrize('section', ['sim2real_estimator', '/**'])
def test_it_starts_the_node_in_its_namespace_and_ends_it(section, prefix, client, tmp_path):
    path = parameter_file(tmp_path, section, {'frames.max_rate': 37.0})
    arguments = (
        f'config_file:={CONFIG},robot_description:={URDF},namespace:=left,log_level:=warn,'
        f'params_file:={path}'
    )
    with launched(prefix, tmp_path, ESTIMATOR, arguments) as (process, output):
        rate, urdf = parameters(
            client, '/left/sim2real_estimator', 'frames.max_rate', 'model.urdf'
        )
        assert (rate.double_value, urdf.string_value) == (37.0, str(URDF))
        assert_ends(process, output, 1)


@pytest.mark.parametrize(
    ('in_file', 'argument'),
    [((False, True), ''), ((True, False), 'autostart:=false,use_sim_time:=true,')],
    ids=['the file', 'arguments more than the file'],
)
def test_what_is_given_counts(in_file, argument, prefix, client, tmp_path):
    names = 'autostart', 'use_sim_time'
    path = parameter_file(tmp_path, '/**', dict(zip(names, in_file)))
    given = f'{argument}config_file:={CONFIG},params_file:={path}'
    with launched(prefix, tmp_path, ESTIMATOR, given) as (process, output):
        values = parameters(client, '/sim2real_estimator', *names)
        assert [value.bool_value for value in values] == [False, True]
        assert_ends(process, output, 1)


def parameter_file(folder, section, values):
    path = folder / 'parameters.yaml'
    path.write_text(yaml.safe_dump({section: {'ros__parameters': values}}))
    return path


def parameters(client, node, *names):
    """Return the values of parameters of a running node."""
    service = client.node.create_client(GetParameters, f'{node}/get_parameters')
    client.wait(service.service_is_ready, f'the parameters of {node}')
    future = service.call_async(GetParameters.Request(names=names))
    client.wait(future.done, 'their values')
    client.node.destroy_client(service)
    return future.result().values


def test_two_robots_in_two_namespaces_do_not_disturb_each_other(prefix, client, tmp_path):
    spaces = ('left', 'right')
    heard = {space: [] for space in spaces}
    for space in spaces:
        topic = f'/{space}/sim2real_estimator/estimate'
        client.node.create_subscription(JointState, topic, heard[space].append, 10)
    arguments = [f'namespace:={space},rviz:=false' for space in spaces]
    with launched(prefix, tmp_path, DEMO, *arguments) as (process, output):
        client.wait(lambda: all(map(len, heard.values())), 'estimates of both')
        for space in spaces:
            topic = f'/{space}/joint_states'
            assert client.node.count_publishers(topic) == 1
            assert client.node.count_subscribers(topic) == 1
        assert_ends(process, output, 4)


def test_a_recording_is_played_to_a_node_that_goes_by_its_time(prefix, client, tmp_path):
    bag = swinging.bag(tmp_path / 'swing', 2.5)
    heard = []
    topic = '/played/sim2real_estimator/estimate'
    client.node.create_subscription(JointState, topic, heard.append, 10)
    arguments = f'bag:={bag},config_file:={CONFIG},namespace:=played,rate:=2.0,loop:=true'
    with launched(prefix, tmp_path, REPLAY, arguments) as (process, output):
        client.wait(lambda: heard, 'estimates')
        assert heard[0].header.stamp.sec < 1_700_000_010
        assert_ends(process, output, 2)
