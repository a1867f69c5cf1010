"""Robots of all kinds, known by the URDFs that come with them: `benchmark/robots.py`."""
