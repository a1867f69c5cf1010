"""What both tools are told of a robot: its recordings, and what about it is unknown."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Recording:
    """
    What was seen of one motion.

    positions [nq], velocities [nv]: the true state at time zero; times [N]: stamps [s]; seen
    [N, m]: of all joints, with noise; efforts [N, nu]: that act from each stamp to the next.
    """

    positions: np.ndarray
    velocities: np.ndarray
    times: np.ndarray
    seen: np.ndarray
    efforts: np.ndarray


@dataclass(frozen=True)
class Unknown:
    """
    One number that both tools search, each in its way.

    name: as ours has it; true: its value; begin: where both begin; sd: of our prior about that,
    of the logarithm where is_log; low, high: between which the peer looks, since it asks for
    bounds; write: (MjSpec, value) -> nothing, how the peer's model gets a value.
    """

    name: str
    true: float
    begin: float
    sd: float
    is_log: bool
    low: float
    high: float
    write: Callable
