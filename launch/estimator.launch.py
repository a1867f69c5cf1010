"""Start the node: ros2 launch sim2real_estimator estimator.launch.py config_file:=robot.yaml."""

from pathlib import Path
import re
import tempfile
import xml.etree.ElementTree as ElementTree

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
import yaml

PACKAGE = NODE = 'sim2real_estimator'
FRAMES = [('/tf', 'tf'), ('/tf_static', 'tf_static')]
# name: (default, description); those of nav2 have the names they have there.
ARGUMENTS = {
    'config_file': ('', 'YAML file with the settings; docs/configuration.md'),
    'params_file': ('', 'YAML file with parameters of ROS, above those of config_file; or empty'),
    'namespace': ('', 'of the node, its topics and what comes with it'),
    'use_sim_time': (
        '',
        'whether the data have the time of the topic /clock; empty: as in params_file, else false',
    ),
    'autostart': (
        '',
        'whether the node configures and activates itself; empty: as in params_file, else true',
    ),
    'log_level': ('info', 'least severe message to print'),
    'robot_description': (
        '',
        'URDF file, or its text, in place of model.urdf; robot_state_publisher is started with '
        'it; or empty, as where the robot has one already',
    ),
    'rviz': ('false', 'whether to show the estimate in rviz, where it is installed'),
}


def generate_launch_description():
    """Return the arguments, and what they ask for."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=actions)])


def actions(context):
    """Return the node, and what shows it, as the arguments of a context say."""
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    urdf = values['robot_description']
    started = [_estimator(values)]
    if urdf:
        started += _state_publisher(values)
    if _is_true('rviz', values):
        started += _rviz(values)
    return started


def _estimator(values):
    """Return the node."""
    given = {
        name: _is_true(name, values) for name in ('use_sim_time', 'autostart') if values[name]
    }
    if values['config_file']:
        given['config_file'] = _text(values['config_file'])
    if values['robot_description']:
        given['model.urdf'] = _text(_urdf(values['robot_description']))
    parameters = [*_parameter_files(values), *([given] if given else [])]
    return _node(PACKAGE, 'sim2real_estimator_node', NODE, values, parameters=parameters)


def _parameter_files(values):
    """
    Return the paths of the files of parameters.

    A section of the node's bare name is meant for the node in whatever namespace, as in nav2; for
    ROS it would be one of the root namespace.
    """
    path, space = values['params_file'], values['namespace'].strip('/')
    if not path:
        return []
    if not Path(path).is_file():
        raise FileNotFoundError(f'params_file: {path} is no file; give the path of a YAML file')
    text = Path(path).read_text('utf-8')
    within = re.sub(rf'^{NODE}:', f'/{space}/{NODE}:', text, flags=re.MULTILINE)
    if not space or within == text:
        return [path]
    # The node reads it after this function has ended, as it does those that launch_ros writes.
    with tempfile.NamedTemporaryFile('w', suffix='.yaml', encoding='utf-8', delete=False) as file:
        file.write(within)
    return [file.name]


def _state_publisher(values):
    """Return robot_state_publisher, or a line that says that it is missing."""
    if not _is_installed('robot_state_publisher'):
        return [LogInfo(msg='robot_state_publisher is not installed: there are no frames')]
    given = {
        'robot_description': _text(_urdf_text(values['robot_description'])),
        'use_sim_time': _is_true('use_sim_time', values),
    }
    name = 'robot_state_publisher'
    return [_node(name, name, name, values, parameters=[given])]


def _rviz(values):
    """Return rviz with the view of the estimate, and a line that says what is missing."""
    if not _is_installed('rviz2'):
        return [LogInfo(msg='rviz2 is not installed: nothing is shown')]
    view = Path(__file__).resolve().parents[1] / 'config' / 'rviz' / 'monitor.rviz'
    arguments, said = ['-d', str(view)], []
    urdf = values['robot_description'] or _configured_urdf(values['config_file'])
    if urdf:
        arguments += ['-f', _base_link(urdf)]
    else:
        said.append(LogInfo(msg='which link is the base is not known here: choose it in rviz'))
    given = {'use_sim_time': _is_true('use_sim_time', values)}
    return [
        *said,
        _node('rviz2', 'rviz2', 'rviz', values, parameters=[given], arguments=arguments),
    ]


def _node(package, executable, name, values, arguments=(), **more):
    """Return a node in the namespace, with the level of the log."""
    return Node(
        package=package,
        executable=executable,
        name=name,
        namespace=values['namespace'],
        output='screen',
        # Frames of several robots would get mixed up.
        remappings=FRAMES if values['namespace'] else [],
        arguments=[*arguments, '--ros-args', '--log-level', values['log_level']],
        **more,
    )


def _text(value):
    """Return a parameter that stays text, whatever it looks like to YAML."""
    return ParameterValue(value, value_type=str)


def _is_true(name, values):
    return values[name].lower() in ('true', '1', 'yes', 'on')


def _is_installed(package):
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _is_xml(text):
    return text.lstrip().startswith('<')


def _urdf(given):
    """Return the text of a URDF as it is, or the path of its file from the root."""
    return str(Path(given).resolve()) if given and not _is_xml(given) else given


def _urdf_text(urdf):
    return urdf if _is_xml(urdf) else Path(urdf).read_text('utf-8')


def _configured_urdf(path):
    """Return what a config file has as its robot, empty where it has none."""
    if not path:
        return ''
    given = yaml.safe_load(Path(path).read_text('utf-8')).get('model', {}).get('urdf') or ''
    return given if _is_xml(given) or not given else str(Path(path).parent / given)


def _base_link(urdf):
    """Return the link of a URDF, a path or the text, that no joint moves."""
    robot = ElementTree.fromstring(_urdf_text(urdf))
    children = {child.get('link') for child in robot.iterfind('joint/child')}
    links = [link.get('name') for link in robot.iterfind('link')]
    return next(name for name in links if name not in children)
