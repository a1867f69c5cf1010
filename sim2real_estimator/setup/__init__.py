"""From settings to the parts of a pipeline, and a first config for a robot."""
