"""The payload bridge: ros2 launch sim2real_estimator payload_bridge.launch.py params_file:=..."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = Path(__file__).resolve().parent.parent / 'config'
ARGUMENTS = {
    'params_file': (CONFIG / 'payload_bridge.yaml', 'YAML file with the parameters; dry_run too'),
    'namespace': ('', 'of the node'),
    'log_level': ('info', 'least severe message to print'),
}


def generate_launch_description():
    """Return the arguments and the node."""
    declared = [
        DeclareLaunchArgument(name, default_value=str(default), description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    bridge = Node(
        package='sim2real_estimator',
        executable='payload_bridge',
        name='payload_bridge',
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        parameters=[LaunchConfiguration('params_file')],
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
    )
    return LaunchDescription([*declared, bridge])
