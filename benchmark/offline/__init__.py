"""Recordings that are identified for `benchmark/bags.py`, and what that takes."""
