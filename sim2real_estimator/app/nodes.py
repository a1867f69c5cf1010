"""The executables of the nodes, which say in a sentence where ROS 2 is missing."""

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


def estimator():
    """Run the node `sim2real_estimator`, and return the exit status."""
    if not _has_ros('sim2real_estimator_node'):
        return 2
    from ..ros.node import main

    return main()


def synthetic_robot():
    """Run the node `synthetic_robot`, and return the exit status."""
    if not _has_ros('synthetic_robot'):
        return 2
    from .synthetic.node import main

    return main()


def controller():
    """Run the node `controller`, and return the exit status."""
    if not _has_ros('controller'):
        return 2
    from .controller.node import main

    return main()


def payload_bridge():
    """Run the node `payload_bridge`, and return the exit status."""
    if not _has_ros('payload_bridge'):
        return 2
    from ..ros.payload_bridge.node import main

    return main()


def _has_ros(command):
    """Tell whether there is ROS; print what is missing where there is not."""
    try:
        require_ros()
    except ConfigError as error:
        print(f'{command}: {error}', file=sys.stderr)
        return False
    return True
