"""The edge to ROS 2: messages in, estimates and diagnostics out."""

from importlib.util import find_spec
import sys

from ..errors import ConfigError


def require_ros():
    """Raise a ConfigError where there is no rclpy."""
    if find_spec('rclpy') is None:
        raise ConfigError(
            'rclpy is missing: source ROS 2 (`. /opt/ros/jazzy/setup.bash`), or install '
            'requirements-ros-wheels.txt; docs/setup.md. Recordings need no ROS: '
            '`sim2real-estimator identify`'
        )


def exit_without_ros(command):
    """End the process with a sentence and exit status 2 where there is no rclpy."""
    try:
        require_ros()
    except ConfigError as error:
        print(f'{command}: {error}', file=sys.stderr)
        sys.exit(2)
