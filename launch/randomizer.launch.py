"""Draws for simulators: ros2 launch sim2real_estimator randomizer.launch.py config_file:=..."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# name: (default, description).
ARGUMENTS = {
    'config_file': ('', "YAML file with the estimator's settings; docs/configuration.md"),
    'params_file': ('', 'YAML file with parameters, as config/randomizer.yaml; or empty'),
    'estimator': ('', 'name of the estimator; empty: as in params_file'),
    'namespace': ('', 'of the node, and of the estimator it hears'),
    'use_sim_time': ('false', 'whether ages are by the time of the topic /clock'),
    'log_level': ('info', 'least severe message to print'),
}


def generate_launch_description():
    """Return the arguments, and the node."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=randomizer)])


def randomizer(context):
    """Return the node, as the arguments of a context say."""
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    is_simulated = values['use_sim_time'].lower() in ('true', '1', 'yes', 'on')
    given = {'use_sim_time': is_simulated}
    for name in ('config_file', 'estimator'):
        if values[name]:
            given[name] = ParameterValue(values[name], value_type=str)
    files = [values['params_file']] if values['params_file'] else []
    return [
        Node(
            package='sim2real_estimator',
            executable='randomizer',
            name='randomizer',
            namespace=values['namespace'],
            output='screen',
            parameters=[*files, given],
            arguments=['--ros-args', '--log-level', values['log_level']],
        )
    ]
