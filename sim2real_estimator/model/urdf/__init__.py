"""Robots from URDF files, and their text."""
