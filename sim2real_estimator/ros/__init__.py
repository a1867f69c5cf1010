"""The edge to ROS 2: messages in, estimates and diagnostics out."""
