"""Multiple shooting: short windows of motion, each with a first state of its own."""
