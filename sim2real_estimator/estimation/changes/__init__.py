"""What happens when the robot, or a sensor, is no longer what it was."""
