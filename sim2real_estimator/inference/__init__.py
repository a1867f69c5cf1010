"""Inference over any problem that fits `protocol.Problem`: no physics, no ROS."""
