"""Where torque is a measurement: regression of inverse dynamics, online."""
