"""Start the node: ros2 launch sim2real_estimator estimator.launch.py config_file:=robot.yaml."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the arguments and the node."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'config_file', description='YAML file with the settings; docs/configuration.md'
            ),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='false',
                description='whether the data have the time of the topic /clock',
            ),
            DeclareLaunchArgument(
                'namespace', default_value='', description='of the node and its topics'
            ),
            DeclareLaunchArgument(
                'log_level', default_value='info', description='least severe message to print'
            ),
            Node(
                package='sim2real_estimator',
                executable='sim2real_estimator_node',
                name='sim2real_estimator',
                namespace=LaunchConfiguration('namespace'),
                output='screen',
                parameters=[
                    {
                        # As text and as bool, whatever the values look like to YAML.
                        'config_file': ParameterValue(
                            LaunchConfiguration('config_file'), value_type=str
                        ),
                        'use_sim_time': ParameterValue(
                            LaunchConfiguration('use_sim_time'), value_type=bool
                        ),
                    }
                ],
                arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            ),
        ]
    )
