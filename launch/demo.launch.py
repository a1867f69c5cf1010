"""A synthetic robot, the node and what shows it: ros2 launch sim2real_estimator demo.launch.py."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

HERE = Path(__file__).resolve().parent
CONFIG = HERE.parent / 'config'
# Of the launch file for real robots, which this one includes: name -> (default, description).
ARGUMENTS = {
    'config_file': (CONFIG / 'demo.yaml', 'YAML file with the settings of the node'),
    'params_file': ('', 'YAML file with parameters of ROS, above those of config_file; or empty'),
    'namespace': ('', 'of the robot, the node and what comes with them'),
    'use_sim_time': ('false', "whether the robot's time goes to /clock, and all go by it"),
    'autostart': (
        '',
        'whether the node configures and activates itself; empty: as in params_file, else true',
    ),
    'log_level': ('info', 'least severe message to print'),
    'robot_description': (CONFIG / 'double_pendulum.urdf', 'URDF file of the robot, or its text'),
    'rviz': ('true', 'whether to show the estimate in rviz, where it is installed'),
}


def generate_launch_description():
    """Return the arguments, the synthetic robot, and what goes with any robot."""
    declared = [
        DeclareLaunchArgument(name, default_value=str(default), description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    declared.append(
        DeclareLaunchArgument(
            'robot_file',
            default_value=str(CONFIG / 'synthetic' / 'demo.yaml'),
            description='YAML file with the settings of the synthetic robot',
        )
    )
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / 'estimator.launch.py')),
        launch_arguments=[(name, LaunchConfiguration(name)) for name in ARGUMENTS],
    )
    return LaunchDescription([*declared, _robot(), estimator])


def _robot():
    """Return the synthetic robot."""
    given = {
        'config_file': ('robot_file', str),
        'publish_clock': ('use_sim_time', bool),
    }
    return Node(
        package='sim2real_estimator',
        executable='synthetic_robot',
        name='synthetic_robot',
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        parameters=[
            {
                # As text and as bool, whatever the values look like to YAML.
                name: ParameterValue(LaunchConfiguration(argument), value_type=kind)
                for name, (argument, kind) in given.items()
            }
        ],
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
    )
