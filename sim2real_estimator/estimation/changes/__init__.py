"""Changes of the robot or of its sensors: detection, isolation, relocation."""
