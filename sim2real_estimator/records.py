"""What travels through the pipeline: immutable records, times in integer nanoseconds."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np


class Status(Enum):
    """
    What became of a sample, or what was remarkable about it.

    Every sample received is counted under exactly one outcome, see `is_outcome`; remarks are
    counted besides.
    """

    USED = 'used'
    LATE = 'late'
    JUMPED_BACK = 'jumped back'
    REPEATED = 'repeated'
    NON_FINITE = 'non-finite'
    OCCLUDED = 'occluded'
    FROZEN = 'frozen'
    TORQUE_WITHOUT_MOTION = 'torque without motion'
    OUTSIDE = 'outside frames'
    THINNED = 'thinned'
    UPDATE_REFUSED = 'update refused'
    UNKNOWN_JOINT = 'unknown joint'
    MISSING_JOINT = 'missing joint'
    MISSING_EFFORT = 'missing effort'
    ZERO_EFFORT = 'zero effort with motion'
    GAP = 'gap'

    @property
    def is_outcome(self):
        """Whether this says what became of a sample; otherwise it is a remark."""
        return self not in _REMARKS


_REMARKS = frozenset(
    (
        Status.UNKNOWN_JOINT,
        Status.MISSING_JOINT,
        Status.MISSING_EFFORT,
        Status.ZERO_EFFORT,
        Status.GAP,
    )
)


@dataclass(frozen=True)
class Sample:
    """
    One measurement of one sensor.

    sensor: its name; stamp_ns: header stamp; values: float64, in the order the sensor defines,
    NaN where a part of it is missing.
    """

    sensor: str
    stamp_ns: int
    values: np.ndarray = field(compare=False)


@dataclass(frozen=True)
class Frame:
    """
    All samples with start_ns < stamp <= end_ns, in the order of (stamp, sensor).

    inputs: the efforts that act during the frame, as (from_ns, values), NaN where an effort is
    unknown; the first one acts at the start already, those before the start matter where efforts
    act late. after_gap: nothing is known of the motion
    since the frame before; such a frame has no length and holds the samples of one instant.
    """

    start_ns: int
    end_ns: int
    samples: tuple
    inputs: tuple = ()
    after_gap: bool = False


@dataclass(frozen=True)
class UpdateReport:
    """
    What one frame did to the posterior.

    stage: 'batch' or 'filter'; nis: normalised innovation squared of the heaviest component and
    its degrees of freedom; events: what happened, as text.
    """

    stage: str
    nis: float = 0.0
    degrees: int = 0
    events: tuple = ()


@dataclass(frozen=True)
class Estimate:
    """
    The posterior at one instant, for people and publishers.

    names, mean, sd: of the parameters; verdicts: one word each; stamp_ns: of the newest datum.
    """

    stamp_ns: int
    names: tuple
    mean: np.ndarray
    sd: np.ndarray
    verdicts: tuple
    report: UpdateReport
