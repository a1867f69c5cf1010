"""Spatial algebra over any scalar: a Python float, a torch tensor or a tracer symbol."""
