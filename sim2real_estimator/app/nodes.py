"""The executables of the nodes, which say in a sentence where ROS 2 is missing."""

from ..ros import exit_without_ros


def estimator():
    """Run the node `sim2real_estimator`, and return the exit status."""
    exit_without_ros('sim2real_estimator_node')
    from ..ros.node import main

    return main()


def synthetic_robot():
    """Run the node `synthetic_robot`, and return the exit status."""
    exit_without_ros('synthetic_robot')
    from .synthetic.node import main

    return main()


def randomizer():
    """Run the node `randomizer`, and return the exit status."""
    exit_without_ros('randomizer')
    from ..ros.randomizer.node import main

    return main()


def controller():
    """Run the node `controller`, and return the exit status."""
    exit_without_ros('controller')
    from .controller.node import main

    return main()


def payload_bridge():
    """Run the node `payload_bridge`, and return the exit status."""
    exit_without_ros('payload_bridge')
    from ..ros.payload_bridge.node import main

    return main()


def adviser():
    """Run the node `adviser`, and return the exit status."""
    exit_without_ros('adviser')
    from .adviser.node import main

    return main()
