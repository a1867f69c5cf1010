"""A thrown cube, simulated at velocity level, matched by springs and a learned friction."""
