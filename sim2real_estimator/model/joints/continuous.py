"""Hinge joints without limits."""

from .revolute import Revolute


class Continuous(Revolute):
    """A hinge that may turn for ever; its angle [rad] is not wrapped."""

    type_name = 'continuous'
