"""Estimators over any problem that fits `protocol`: no physics, no ROS."""
