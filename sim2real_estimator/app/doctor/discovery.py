"""What `sim2real-estimator doctor` asks ROS: who hears whom."""

import os
import time

# What two nodes take at most to find each other [s].
_PATIENCE = 10.0
# So long others are looked for [s].
_LOOK = 1.5
_TOPIC = f'_sim2real_estimator_doctor_{os.getpid()}'


def middleware():
    """Return the name of the middleware, such as rmw_fastrtps_cpp."""
    import rclpy

    return rclpy.get_rmw_implementation_identifier()


def seconds_of_a_message():
    """Return how long after their start one node hears another [s], None: it does not."""
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from std_msgs.msg import Empty

    # A context each, so that what is tried are two participants, as in two processes.
    contexts, heard = [Context(), Context()], []
    begin = time.monotonic()
    for context in contexts:
        context.init()
    try:
        speaker, listener = (
            Node(f'doctor_{k}', context=each, start_parameter_services=False)
            for k, each in enumerate(contexts)
        )
        publisher = speaker.create_publisher(Empty, _TOPIC, 1)
        listener.create_subscription(Empty, _TOPIC, heard.append, 1)
        executor = SingleThreadedExecutor(context=contexts[1])
        executor.add_node(listener)
        while not heard and time.monotonic() < begin + _PATIENCE:
            publisher.publish(Empty())
            executor.spin_once(timeout_sec=0.05)
        return time.monotonic() - begin if heard else None
    finally:
        for context in contexts:
            context.try_shutdown()


def joint_state_publishers():
    """Return (topic, full name of the node, whether it is reliable) of those seen now."""
    from rclpy.context import Context
    from rclpy.node import Node
    from rclpy.qos import ReliabilityPolicy

    context = Context()
    context.init()
    try:
        node = Node('doctor', context=context, start_parameter_services=False)
        time.sleep(_LOOK)
        return [
            (
                topic,
                f'{each.node_namespace.rstrip("/")}/{each.node_name}',
                each.qos_profile.reliability == ReliabilityPolicy.RELIABLE,
            )
            for topic, types in node.get_topic_names_and_types()
            if 'sensor_msgs/msg/JointState' in types
            for each in node.get_publishers_info_by_topic(topic)
        ]
    finally:
        context.try_shutdown()
