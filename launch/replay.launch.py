"""A recording and the node: ros2 launch sim2real_estimator replay.launch.py bag:=swing.bag ..."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

HERE = Path(__file__).resolve().parent
# Of the launch file for real robots, which this one includes: name -> (default, description).
ARGUMENTS = {
    'config_file': ('', 'YAML file with the settings of the node'),
    'params_file': ('', 'YAML file with parameters of ROS, above those of config_file; or empty'),
    'namespace': ('', 'of the node, the recording and what comes with them'),
    'use_sim_time': ('true', 'whether the node goes by the time of the recording'),
    'autostart': ('true', 'whether the node configures and activates itself'),
    'log_level': ('info', 'least severe message to print'),
    'robot_description': ('', 'URDF file in place of model.urdf; or empty'),
    'rviz': ('false', 'whether to show the estimate in rviz; needs robot_description'),
}
# Of the recording.
OPTIONS = {
    'rate': ('1.0', 'seconds of the recording in a second'),
    'start': ('0.0', 'leave out so many seconds of the recording'),
    'loop': ('false', 'whether it begins anew at its end'),
}


def generate_launch_description():
    """Return the arguments, the recording, and what goes with any robot."""
    declared = [
        DeclareLaunchArgument('bag', description='recording: folder or file'),
        *(
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (default, description) in {**OPTIONS, **ARGUMENTS}.items()
        ),
    ]
    given = [(name, LaunchConfiguration(name)) for name in ARGUMENTS]
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / 'estimator.launch.py')),
        launch_arguments=given,
    )
    return LaunchDescription([*declared, OpaqueFunction(function=recording), estimator])


def recording(context):
    """Return what publishes the recording, once the node listens, as a context says."""
    names = ('bag', 'config_file', 'namespace', 'log_level', *OPTIONS)
    values = {name: LaunchConfiguration(name).perform(context) for name in names}
    options = ['--rate', values['rate'], '--start', values['start'], '--wait']
    if values['loop'].lower() in ('true', '1', 'yes', 'on'):
        options.append('--loop')
    if values['config_file']:
        options += ['--config', values['config_file']]
    return [
        Node(
            package='sim2real_estimator',
            executable='sim2real-estimator',
            name='replay',
            namespace=values['namespace'],
            output='screen',
            arguments=[
                *('replay', values['bag'], *options),
                *('--ros-args', '--log-level', values['log_level']),
            ],
        )
    ]
