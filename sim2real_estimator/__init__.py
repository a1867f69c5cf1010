"""Online estimation of a robot's physical parameters, with an uncertainty one can believe."""
