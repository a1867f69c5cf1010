"""Computed torque with the live estimate: ros2 launch sim2real_estimator controller.launch.py."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# name: (type, default, description)
ARGUMENTS = {
    'config_file': (str, '', "YAML file with the estimator's settings"),
    'estimator': (str, '/sim2real_estimator', "full name of the estimator's node"),
    'output': (str, 'effort_commands', 'topic of efforts, for the driver'),
    'enabled': (bool, 'false', 'whether efforts go to the driver; else only to ~/commands'),
    'stiffness': (float, '100.0', 'acceleration per error of position [1/s^2]'),
    'damping': (float, '20.0', 'acceleration per error of velocity [1/s]'),
    'blend': (float, '0.3', 'time constant with which new parameters act [s]'),
    'full_error': (
        float,
        '0.5',
        'error of position at which a spring of the joint itself asks for its largest effort '
        '[rad or m]; 0: there is no spring',
    ),
}


def generate_launch_description():
    """Return the arguments, and the node."""
    declared = [
        DeclareLaunchArgument(
            name, **({'default_value': default} if default else {}), description=description
        )
        for name, (_, default, description) in ARGUMENTS.items()
    ]
    given = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, (kind, _, _) in ARGUMENTS.items()
    }
    controller = Node(
        package='sim2real_estimator',
        executable='controller',
        name='controller',
        output='screen',
        parameters=[given],
    )
    return LaunchDescription([*declared, controller])
