"""The drivers that the payload bridge knows: a file and a line each."""

from .base import AbstractDriver
from .franka import Franka
from .parameters_of_node import ParametersOfNode
from .universal_robots import UniversalRobots

__all__ = ['AbstractDriver', 'DRIVERS']

DRIVERS = {
    member.kind: member
    for member in (
        UniversalRobots,
        Franka,
        ParametersOfNode,
    )
}
