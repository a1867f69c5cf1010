"""Controllers that use an estimated robot, without ROS."""
