"""What data can tell of parameters, and what they cannot: verdicts and null space."""
