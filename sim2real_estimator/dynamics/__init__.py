"""Rigid-body dynamics, written once over a generic scalar."""
