"""
A robot that does not exist: simulated with hidden true parameters, it sends what a real one would.

It knows no ROS: tests and the offline flow take its readings as they are, and a node publishes
them.
"""
