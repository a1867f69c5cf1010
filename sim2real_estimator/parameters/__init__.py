"""What is unknown of a robot: priors, and the coordinates in which it is estimated."""
