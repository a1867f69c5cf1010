"""rosbag2 recordings, read and written without ROS."""
