"""The mass of a chain from the motion after a ball has hit it."""
