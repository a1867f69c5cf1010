"""What travels through the pipeline: immutable records, times in integer nanoseconds."""

from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from threading import Lock

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
    MALFORMED = 'malformed'
    UNSTAMPED = 'without stamp'
    OCCLUDED = 'occluded'
    FROZEN = 'frozen'
    TORQUE_WITHOUT_MOTION = 'torque without motion'
    OUTSIDE = 'outside frames'
    THINNED = 'thinned'
    SKIPPED = 'skipped'
    OUTLIER = 'outlier'
    SENSOR_WRONG = 'sensor wrong'
    UPDATE_REFUSED = 'update refused'
    UNKNOWN_JOINT = 'unknown joint'
    MISSING_JOINT = 'missing joint'
    MISSING_EFFORT = 'missing effort'
    ZERO_EFFORT = 'zero effort with motion'
    GAP = 'gap'

    # Every sample is counted under one of these; what `Enum` has is Python's.
    __hash__ = object.__hash__

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
    NaN where a part of it is missing; moved_ns: by how much the stamp has been set earlier than
    it came, because the sensor's clock is known to be late.
    """

    sensor: str
    stamp_ns: int
    values: np.ndarray = field(compare=False)
    moved_ns: int = 0


@dataclass(frozen=True)
class Frame:
    """
    All samples with start_ns < stamp <= end_ns, in the order of (stamp, sensor).

    inputs: the efforts that act during the frame, as (from_ns, values), NaN where an effort is
    unknown; the first one acts at the start already. Those before the start matter where efforts
    act late, those after the end where they act before their stamp. after_gap: nothing is known
    of the motion since the frame before; such a frame has no length and holds the samples of one
    instant. is_last: it only says that the data have come to their end.
    """

    start_ns: int
    end_ns: int
    samples: tuple
    inputs: tuple = ()
    after_gap: bool = False
    is_last: bool = False

    @property
    def seconds(self):
        """Its length [s]."""
        return 1e-9 * (self.end_ns - self.start_ns)

    @cached_property
    def held(self):
        """The efforts [E, nu] of its inputs."""
        return np.array([values for _, values in self.inputs])

    @cached_property
    def unknown(self):
        """The places of efforts that are unknown at some time in it, a tuple."""
        is_unknown = np.isnan(self.held)
        return tuple(np.flatnonzero(is_unknown.any(0)).tolist()) if is_unknown.any() else ()

    @property
    def efforts(self):
        """The efforts that act when it ends, as a tuple; empty where there are no inputs."""
        acting = [values for from_ns, values in self.inputs if from_ns <= self.end_ns]
        return tuple(acting[-1].tolist()) if acting else ()


@dataclass(frozen=True)
class UpdateReport:
    """
    What one frame did to the posterior.

    stage: 'batch' or 'filter'; nis: normalised innovation squared of the heaviest component and
    its degrees of freedom; events: what happened, records of `reported_events`; changed: names of
    the parameters by which a change has just been explained; left_out: (sensor, value of a
    `Status`, number) of samples, of this frame or of those before, that are left out while others
    are used.
    """

    stage: str
    nis: float = 0.0
    degrees: int = 0
    events: tuple = ()
    changed: tuple = ()
    left_out: tuple = ()


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

    @staticmethod
    def when_asked(stamp_ns, names, numbers, findings, report):
        """
        Return an estimate of which mean, sd and verdicts are worked out when somebody looks.

        numbers: function that returns mean and sd; findings: `Findings` that have the verdicts.
        Few look at more than some of all frames.
        """
        result = object.__new__(Estimate)
        vars(result).update(
            stamp_ns=stamp_ns, names=names, report=report, _numbers=numbers, _findings=findings
        )
        return result

    def __getattr__(self, name):
        """Work out what is not there yet."""
        own = vars(self)
        if name not in ('mean', 'sd', 'verdicts') or '_numbers' not in own:
            raise AttributeError(f'an Estimate has no {name}')
        if name == 'verdicts':
            own[name] = self._findings.verdicts
        else:
            own.update(zip(('mean', 'sd'), self._numbers()))
        return own[name]

    def __reduce__(self):
        """Go to another process with all that is to be known."""
        return Estimate, tuple(getattr(self, field.name) for field in fields(self))


# What has a parameter, by a word of its name; of others it is a joint.
_OWNERS = {'.mass': 'body', '.com.': 'body', '.inertia.': 'body', '.armature': 'rotor'}


@dataclass(frozen=True)
class ParameterFinding:
    """
    What is known of one parameter.

    mean, sd, quantiles (5, 50 and 95 %), prior_mean, prior_sd: in its unit; share: what is left
    of the prior's standard deviation, of the logarithm where the prior is one of logarithms;
    verdict: a word; aliases: names of those it cannot be told apart from; asked: (what, mean, sd)
    that data ask for and no robot has, what being empty where it is of the parameter itself; an
    empty tuple where there is no such thing.
    """

    name: str
    mean: float
    sd: float
    quantiles: tuple
    prior_mean: float
    prior_sd: float
    share: float
    verdict: str
    aliases: tuple
    asked: tuple = ()

    @property
    def verdict_text(self):
        """The verdict with the names that belong to it, and with what data ask for."""
        if self.asked:
            return f'{self.verdict}: {self.contradiction}'
        return f'{self.verdict} with {", ".join(self.aliases)}' if self.aliases else self.verdict

    @property
    def contradiction(self):
        """What data ask for and no robot has, in words; empty where there is no such thing."""
        if not self.asked:
            return ''
        what, mean, sd = self.asked
        owner = next((each for word, each in _OWNERS.items() if word in self.name), 'joint')
        subject = f'{what} of {mean:.3g}' if what else f'{mean:.3g}'
        return f'data ask for {subject} +- {sd:.2g}, which no {owner} has'


@dataclass(frozen=True)
class CombinationFinding:
    """
    What is known of a combination of parameters that data can tell.

    label: as text, in whose terms the rest is; prior_sd: of it.
    """

    label: str
    mean: float
    sd: float
    prior_sd: float


class PayloadReason(Enum):
    """Why a `Payload` is not valid; new ones come last, since messages have their numbers."""

    NONE = ''
    UNKNOWN = 'unknown'
    CHANGING = 'changing'
    FORGOTTEN = 'forgotten'
    MISFIT = 'misfit'
    UNCONFIRMED = 'unconfirmed'
    RELEASED = 'released'
    OTHER_LINK = 'other link'
    NOT_FOUND = 'not found'

    # What `Enum` has is Python's.
    __hash__ = object.__hash__

    @property
    def number(self):
        """Its number in messages."""
        return list(PayloadReason).index(self)

    @property
    def text(self):
        """The reason and what to do about it, for people."""
        return _REASONS[self]


_REASONS = {
    PayloadReason.NONE: '',
    PayloadReason.UNKNOWN: 'nothing is known of the robot yet: let it move',
    PayloadReason.CHANGING: 'the robot has changed, and it is not known yet what has',
    PayloadReason.FORGOTTEN: 'all was estimated anew: release what is held, and call ~/reset',
    PayloadReason.MISFIT: 'the model does not explain the data: see the misfit in ~/events',
    PayloadReason.UNCONFIRMED: 'after a gap in the data they have not been found to fit yet',
    PayloadReason.RELEASED: 'a body of the beginning was put down: declare it in payload of the '
    'config',
    PayloadReason.OTHER_LINK: 'another link holds a body too: see ~/events',
    PayloadReason.NOT_FOUND: 'no body makes the robot of before that of now: see ~/events',
}


# The ten numbers of a payload, in the order of geometry_msgs/Inertia.
PAYLOAD_NUMBERS = (
    'mass',
    *(f'com.{axis}' for axis in 'xyz'),
    *(f'inertia.{entry}' for entry in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')),
)


@dataclass(frozen=True, eq=False)
class Payload:
    """
    What a link holds.

    link: that holds it, empty where none does; frame: in which it is given; stamp_ns: of the
    newest datum; mean [10], covariance [10, 10]: of the `PAYLOAD_NUMBERS`, mass [kg], centre of
    mass [m], and inertia about that centre along the axes of the frame [kg m^2]; all ten are zero
    where nothing is held, and always those of a body that can be; probability: of the cause of the
    last change; reason: why it is not valid.
    """

    link: str
    frame: str
    stamp_ns: int
    mean: np.ndarray
    covariance: np.ndarray
    probability: float = 1.0
    reason: PayloadReason = PayloadReason.NONE

    @property
    def is_valid(self):
        """Whether it may be relied on."""
        return self.reason is PayloadReason.NONE

    @property
    def is_held(self):
        """Whether anything is held."""
        return bool(self.mean[0] > 0)

    @property
    def sd(self):
        """The standard deviations [10]."""
        return np.sqrt(np.diag(self.covariance).clip(0))

    @property
    def mass(self):
        """Its mass [kg]."""
        return float(self.mean[0])

    @property
    def mass_sd(self):
        """Standard deviation of its mass [kg]."""
        return float(self.sd[0])

    def __eq__(self, other):
        """Tell whether another payload is the same."""
        return self.says_as(other) and self.stamp_ns == other.stamp_ns

    def says_as(self, other):
        """Tell whether another payload says the same, if perhaps of another instant."""
        return isinstance(other, Payload) and (
            (self.link, self.frame, self.probability, self.reason)
            == (other.link, other.frame, other.probability, other.reason)
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.covariance, other.covariance)
        )

    @property
    def sentence(self):
        """What is held as a sentence."""
        if not self.is_held:
            return 'nothing is held'
        pairs = zip(self.mean[1:4].tolist(), self.sd[1:4].tolist())
        place = ', '.join(f'{x:.3f} +- {sd:.2g}' for x, sd in pairs)
        text = f'{self.link} holds {self.mass:.4g} +- {self.mass_sd:.2g} kg, at ({place}) m'
        place = f' of {self.frame}' if self.frame != self.link else ''
        return f'{text}{place}'


# How names of wrenches begin among those of unknown efforts; no command has a space in its name.
_WRENCH = 'wrench '


@dataclass(frozen=True)
class Findings:
    """
    What the data have said up to an instant, in words and names.

    parameters: a `ParameterFinding` each; combinations: a `CombinationFinding` for each that is
    estimated; null_directions: directions that no data observe so far, as texts; observed,
    unobserved: number of dimensions in which the data have more than ten times, or less than a
    tenth, of the information of the prior; information: expected, in nats; modes: (weight, values
    of the parameters) of every mode; misfit: squared innovation per degree of freedom of the
    newest frame, None where there is none; unknown_efforts: commands of which the newest frame
    lacks the effort; payload: the `Payload`, None before any data.
    """

    stamp_ns: int
    parameters: tuple
    combinations: tuple
    null_directions: tuple
    observed: int
    unobserved: int
    information: float
    modes: tuple
    misfit: float | None = None
    unknown_efforts: tuple = ()
    # No attribute of the class, which would be found before the one that is worked out.
    payload: Payload | None = field(default_factory=lambda: None)

    @staticmethod
    def when_asked(stamp_ns, found, payload, **known):
        """
        Return findings that are worked out when somebody looks at them.

        found: function that returns them; payload: function that returns the `Payload` alone, so
        that who looks at that does not wait for the rest; known: of them what is known already.
        """
        result = object.__new__(Findings)
        vars(result).update(stamp_ns=stamp_ns, _found=found, _payload=payload, _lock=Lock())
        vars(result).update(known)
        return result

    def __getattr__(self, name):
        """Work out what is not there yet."""
        own = vars(self)
        if '_lock' not in own or name not in self.__dataclass_fields__:
            raise AttributeError(f'Findings have no {name}')
        # Several threads may look, the first one works.
        with own['_lock']:
            if name == 'payload' and name not in own:
                own[name] = own['_payload']()
                # What it takes to work it out, the whole posterior, is let go.
                own['_payload'] = None
            elif name not in own:
                found = own['_found']()
                known = {*own, 'payload'}
                own.update({key: value for key, value in vars(found).items() if key not in known})
                own['_found'] = None
        return own[name]

    def __reduce__(self):
        """Go to another process with all that is to be known."""
        return Findings, tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def verdicts(self):
        """The words alone, in the order of the parameters."""
        return tuple(parameter.verdict for parameter in self.parameters)

    @property
    def obstacle(self):
        """What keeps data from being used, and what to do about it; empty where nothing does."""
        if not self.unknown_efforts:
            return ''
        wrenches = [name for name in self.unknown_efforts if name.startswith(_WRENCH)]
        names = ', '.join(name for name in self.unknown_efforts if name not in wrenches)
        if not names:
            named = ', '.join(name.removeprefix(_WRENCH) for name in wrenches)
            return (
                f'the wrench {named} is unknown, and the first fits need it: publish it on the '
                f'topic of wrenches.NAME.topic, or take it out of wrenches where nothing acts'
            )
        return (
            f'the effort of {names} is unknown, and the first fits need it: publish it on the '
            'topic of efforts.measured or efforts.commanded and say so in joints.JOINT.effort, '
            'or say none there where nothing drives the joint'
        )
