"""Start the node: ros2 launch sim2real_estimator estimator.launch.py config_file:=robot.yaml."""

from pathlib import Path
import xml.etree.ElementTree as ElementTree

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = NODE = 'sim2real_estimator'
FRAMES = [('/tf', 'tf'), ('/tf_static', 'tf_static')]
# name: (default, description); those of nav2 have the names they have there.
ARGUMENTS = {
    'config_file': ('', 'YAML file with the settings; docs/configuration.md'),
    'params_file': ('', 'YAML file with parameters of ROS, above those of config_file; or empty'),
    'namespace': ('', 'of the node, its topics and what comes with it'),
    'use_sim_time': ('false', 'whether the data have the time of the topic /clock'),
    'autostart': ('true', 'whether the node configures and activates itself'),
    'log_level': ('info', 'least severe message to print'),
    'robot_description': (
        '',
        'URDF file in place of model.urdf; robot_state_publisher is started with it; or empty',
    ),
    'rviz': ('false', 'whether to show the estimate in rviz; needs robot_description'),
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
        'use_sim_time': _is_true('use_sim_time', values),
        'autostart': _is_true('autostart', values),
    }
    if values['config_file']:
        given['config_file'] = _text(values['config_file'])
    if values['robot_description']:
        given['model.urdf'] = _text(str(Path(values['robot_description']).resolve()))
    files = [values['params_file']] if values['params_file'] else []
    return _node(PACKAGE, 'sim2real_estimator_node', NODE, values, parameters=[*files, given])


def _state_publisher(values):
    """Return robot_state_publisher, or a line that says that it is missing."""
    if not _is_installed('robot_state_publisher'):
        return [LogInfo(msg='robot_state_publisher is not installed: there are no frames')]
    given = {
        'robot_description': _text(Path(values['robot_description']).read_text('utf-8')),
        'use_sim_time': _is_true('use_sim_time', values),
    }
    name = 'robot_state_publisher'
    return [_node(name, name, name, values, parameters=[given])]


def _rviz(values):
    """Return rviz with the view of the estimate, or a line that says what is missing."""
    if not _is_installed('rviz2'):
        return [LogInfo(msg='rviz2 is not installed: nothing is shown')]
    if not values['robot_description']:
        return [LogInfo(msg='rviz needs robot_description:=<URDF file>: nothing is shown')]
    view = Path(__file__).resolve().parents[1] / 'config' / 'rviz' / 'monitor.rviz'
    return [
        _node(
            'rviz2',
            'rviz2',
            'rviz',
            values,
            parameters=[{'use_sim_time': _is_true('use_sim_time', values)}],
            arguments=['-d', str(view), '-f', _base_link(values['robot_description'])],
        )
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


def _base_link(path):
    """Return the link of a URDF that no joint moves."""
    robot = ElementTree.parse(path).getroot()
    children = {child.get('link') for child in robot.iterfind('joint/child')}
    links = [link.get('name') for link in robot.iterfind('link')]
    return next(name for name in links if name not in children)
