"""The edge to ROS 2: messages in, estimates and diagnostics out."""

from importlib.util import find_spec
import sys

from ..errors import ConfigError


def require_ros():
    """Raise a ConfigError where there is no rclpy, or one that does not load."""
    if find_spec('rclpy') is None:
        raise ConfigError(
            'rclpy is missing: source ROS 2 (`. /opt/ros/jazzy/setup.bash`), or install '
            'requirements-ros-wheels.txt; docs/setup.md. Recordings need no ROS: '
            '`sim2real-estimator identify`'
        )
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        # As where the Python is not the one that the sourced ROS 2 is built for.
        version = '.'.join(map(str, sys.version_info[:2]))
        raise ConfigError(
            f'rclpy is there, but {sys.executable}, Python {version}, cannot load it: '
            f'{str(error).splitlines()[0]}; source ROS 2 in this terminal, and take the Python '
            'that it is built for (Jazzy: 3.12); `sim2real-estimator doctor`'
        ) from error


def exit_without_ros(command):
    """End the process with a sentence and exit status 2 where rclpy cannot be used."""
    try:
        require_ros()
    except ConfigError as error:
        print(f'{command}: {error}', file=sys.stderr)
        sys.exit(2)
