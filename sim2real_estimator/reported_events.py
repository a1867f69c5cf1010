"""
The events that estimators report in `UpdateReport.events`, as typed records.

An event is a member of `Happened` if there is nothing to say but that it happened, else an
instance of one of the classes below. Code asks for members, classes and fields; `str` of an event
is a short line for logs, and `events.py` has the sentences of `~/events`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Happened(Enum):
    """Events without data."""

    # The batch phase, and the switch to the filter.
    FITTED = 'fitted'
    # A fit whose residuals exceed the noise of the sensors.
    POOR_FIT = 'poor fit'
    # The posterior is narrow, but a Gaussian mixture describes it badly.
    NOT_YET_GAUSSIAN = 'not yet Gaussian'
    HANDED_OVER = 'handed over'
    # The estimator goes on with the parameters known before an interruption.
    RESUMED = 'resumed'
    # Somebody has asked for the prior.
    RESET = 'reset'
    # The robot.
    CHANGED = 'changed'
    # No single change explains the data: the estimator begins again from its prior.
    FORGOTTEN = 'forgotten'
    # Samples were wrong for so long that the state of the robot is unknown.
    MOTION_LOST = 'motion lost'
    AT_REST = 'at rest'
    # An actuated joint hardly moves.
    STICKS = 'sticks'
    # The data.
    EFFORTS_UNKNOWN = 'efforts unknown'
    OUTLIER = 'outlier'
    # A window of motion fits nothing that is known, and waits for the next ones.
    WINDOW_MISFIT = 'window misfit'
    # With the samples of a frame nothing finite can be computed.
    UPDATE_REFUSED = 'update refused'

    # What `Enum` has is slow.
    __hash__ = object.__hash__

    def __str__(self):
        """Return the event as a short line."""
        return self.value


class MisfitTest(Enum):
    """
    The tests for data that contradict the robot description.

    What each of them finds holds until the same test finds nothing any more.
    """

    TORQUES = 'torques'
    NOISE = 'noise'
    PRIOR = 'prior'
    EFFORTS = 'efforts'
    MOTION = 'motion'

    __hash__ = object.__hash__


@dataclass(frozen=True)
class ReportedEvent:
    """
    An event with data.

    LINE: its short line, a format of the event's fields.
    """

    LINE: ClassVar[str] = ''

    def __str__(self):
        """Return the event as a short line."""
        return self.LINE.format(self)


# --------------------------------------------------------------------------- the robot


@dataclass(frozen=True)
class Explained(ReportedEvent):
    """
    A change was put down to a cause.

    cause: in words; probability: of the cause among all that are possible, None where none was
    computed.
    """

    cause: str
    probability: float | None = None

    @property
    def cause_and_probability(self):
        """The cause, with its probability if that is known."""
        if self.probability is None:
            return self.cause
        return f'{self.cause} ({self.probability:.2f})'

    def __str__(self):
        """Return the event as a short line."""
        return f'cause: {self.cause_and_probability}'


@dataclass(frozen=True)
class ExplainedInPart(ReportedEvent):
    """The cause of a change leaves much of the torque of a joint unexplained."""

    joint: str
    LINE = 'explained in part: {0.joint}'


@dataclass(frozen=True)
class FixedValuesWrong(ReportedEvent):
    """
    Values that are held fixed do not explain the motion; if they are estimated, it is explained.

    parameters: names of those whose estimate is far from the fixed value.
    """

    parameters: tuple

    def __str__(self):
        """Return the event as a short line."""
        return f'fixed values wrong: {", ".join(self.parameters)}'


@dataclass(frozen=True)
class ElasticJoint(ReportedEvent):
    """
    A joint gives way like a spring between its motor and its link.

    resonance_hz: at which the link swings while the motor is held.
    """

    joint: str
    resonance_hz: float
    LINE = 'elastic: {0.joint} {0.resonance_hz:.0f} Hz'


@dataclass(frozen=True)
class CoupledJoints(ReportedEvent):
    """Two joints seem to share a motor."""

    joint: str
    other: str
    LINE = 'coupled: {0.joint}, {0.other}'


@dataclass(frozen=True)
class NetworkCarries(ReportedEvent):
    """A network carries much of the effort at its site; share: of its mean square."""

    network: str
    site: str
    share: float
    LINE = 'network carries: {0.network} {0.share:.2g}'


# --------------------------------------------------------------------------- torques


@dataclass(frozen=True)
class TorqueNotExplained(ReportedEvent):
    """The model leaves more than half of the measured torque of a joint unexplained."""

    joint: str
    LINE = 'not explained: {0.joint}'


@dataclass(frozen=True)
class TorqueNoisier(ReportedEvent):
    """The residuals of the torque of a joint have grown, and no change explains that."""

    joint: str
    LINE = 'more noise: {0.joint}'


@dataclass(frozen=True)
class TorqueLeftOut(ReportedEvent):
    """The torque of a joint was far off for a moment; its rows were subtracted again."""

    joint: str
    LINE = 'left out: {0.joint}'


@dataclass(frozen=True)
class TorqueLate(ReportedEvent):
    """
    Rows are made with another delay of torques from now on.

    delay_s, sd_s: relative to the clock of the encoders, negative where torques are early [s].
    """

    delay_s: float
    sd_s: float

    def __str__(self):
        """Return the event as a short line."""
        return f'torque late: {1e3 * self.delay_s:.1f} ms +- {1e3 * self.sd_s:.1g}'


# --------------------------------------------------------------------------- sensors


@dataclass(frozen=True)
class StampsJitter(ReportedEvent):
    """Positions were taken before or after their stamps; sd_s: standard deviation [s]."""

    sd_s: float
    LINE = 'stamps jitter: {0.sd_s:.2g}'


@dataclass(frozen=True)
class NoiseQuestioned(ReportedEvent):
    """
    The noise of a sensor is far from the configured one.

    part: 'position' or 'turn' of poses, else empty; factor: learned over configured standard
    deviation; sd: the learned one [rad or m].
    """

    sensor: str
    part: str
    factor: float
    sd: float

    @property
    def signal(self):
        """The name of the sensor, and the part of its samples."""
        return f'{self.sensor} {self.part}'.rstrip()

    def __str__(self):
        """Return the event as a short line."""
        return f'noise of {self.signal} {self.factor:.3g} {self.sd:.3g}'


@dataclass(frozen=True)
class PosesOff(ReportedEvent):
    """Many of the poses of a sensor fit neither the robot nor the rest of them."""

    sensor: str
    LINE = 'poses off: {0.sensor}'


@dataclass(frozen=True)
class SensorWrong(ReportedEvent):
    """The samples of a sensor are off by more than any motion explains, and are left out."""

    sensor: str
    LINE = 'sensor wrong: {0.sensor}'


@dataclass(frozen=True)
class SensorRight(ReportedEvent):
    """The samples of a sensor are used again."""

    sensor: str
    LINE = 'sensor right: {0.sensor}'


@dataclass(frozen=True)
class SensorMoved(ReportedEvent):
    """The samples of a sensor fit if its place on the link, or its delay, is another one."""

    sensor: str
    LINE = 'sensor moved: {0.sensor}'


# --------------------------------------------------------------------------- misfits


@dataclass(frozen=True)
class Misfit(ReportedEvent):
    """
    The data contradict the robot description, so that nothing is identified until `MisfitOver`.

    test: the `MisfitTest` that found it, one for each class.
    """

    test: ClassVar[MisfitTest]


@dataclass(frozen=True)
class WrongUnit(Misfit):
    """
    Measured torques are in another unit.

    factor: measured over described ones; joint: whose torque, None: those of all joints.
    """

    factor: float
    joint: str | None = None
    test = MisfitTest.TORQUES

    def __str__(self):
        """Return the event as a short line."""
        return f'misfit: unit {self.factor:.2g} {self.joint or "all"}'


@dataclass(frozen=True)
class WrongSign(Misfit):
    """The measured torque of a joint has the wrong sign; factor: measured over described one."""

    factor: float
    joint: str
    test = MisfitTest.TORQUES
    LINE = 'misfit: sign {0.factor:.2g} {0.joint}'


@dataclass(frozen=True)
class WrongMount(Misfit):
    """The base is mounted otherwise; upward: (x, y, z) against gravity, in axes of the root."""

    upward: tuple
    test = MisfitTest.TORQUES

    def __str__(self):
        """Return the event as a short line."""
        return f'misfit: gravity {" ".join(f"{each:.2f}" for each in self.upward)}'


@dataclass(frozen=True)
class PositionsInDegrees(Misfit):
    """Positions of joints are in degrees."""

    test = MisfitTest.TORQUES
    LINE = 'misfit: degrees'


@dataclass(frozen=True)
class SensorTooNoisy(Misfit):
    """
    Poses of a sensor are far noisier than configured.

    part: 'position' or 'turn'; factor: learned over configured standard deviation.
    """

    sensor: str
    part: str
    factor: float
    test = MisfitTest.NOISE
    LINE = 'misfit: noise {0.factor:.3g} {0.part} {0.sensor}'


@dataclass(frozen=True)
class FarFromPrior(Misfit):
    """
    The posterior contradicts the prior.

    coordinate: label of the one that is farthest off; deviations: by how many standard deviations
    of its prior.
    """

    coordinate: str
    deviations: float
    test = MisfitTest.PRIOR
    LINE = 'misfit: prior {0.deviations:.2g} {0.coordinate}'


@dataclass(frozen=True)
class DisturbancesTooLarge(Misfit):
    """Only disturbances of the largest scale explain the motion."""

    test = MisfitTest.EFFORTS
    LINE = 'misfit: efforts'


@dataclass(frozen=True)
class MotionNotExplained(Misfit):
    """The first fits leave residuals that exceed the noise of the sensors."""

    test = MisfitTest.MOTION
    LINE = 'misfit: motion'


@dataclass(frozen=True)
class MisfitOver(ReportedEvent):
    """A test no longer finds the `Misfit` that it has found; test: the `MisfitTest`."""

    test: MisfitTest

    def __str__(self):
        """Return the event as a short line."""
        about = '' if self.test is MisfitTest.TORQUES else f': {self.test.value}'
        return f'misfit over{about}'


# All classes of events with data.
EVENT_CLASSES = (
    Explained,
    ExplainedInPart,
    FixedValuesWrong,
    ElasticJoint,
    CoupledJoints,
    NetworkCarries,
    TorqueNotExplained,
    TorqueNoisier,
    TorqueLeftOut,
    TorqueLate,
    StampsJitter,
    NoiseQuestioned,
    PosesOff,
    SensorWrong,
    SensorRight,
    SensorMoved,
    WrongUnit,
    WrongSign,
    WrongMount,
    PositionsInDegrees,
    SensorTooNoisy,
    FarFromPrior,
    DisturbancesTooLarge,
    MotionNotExplained,
    MisfitOver,
)


def kinds_of(events):
    """Return the set of the kinds of events: members of `Happened`, and classes of the others."""
    return frozenset(each if isinstance(each, Happened) else type(each) for each in events)
