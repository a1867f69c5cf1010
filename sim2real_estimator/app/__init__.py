"""What people start: the commands, the demonstration, the monitor, the synthetic robot."""
