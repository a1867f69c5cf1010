"""Compiled rollouts: the dynamics traced, differentiated and compiled in memory."""
