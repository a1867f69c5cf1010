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


@dataclass(frozen=True)
class LoadFinding:
    """
    What is known of a payload that was picked up.

    Of a body that was there from the beginning and has been put down the mass is below zero. link:
    that holds it; mass, mass_sd [kg]; com, com_sd (x, y, z): of its centre in the frame of
    the link [m].
    """

    link: str
    mass: float
    mass_sd: float
    com: tuple
    com_sd: tuple

    @property
    def sentence(self):
        """The load as a sentence."""
        place = ', '.join(f'{x:.3f} +- {sd:.2g}' for x, sd in zip(self.com, self.com_sd))
        return f'{self.link} holds {self.mass:.4g} +- {self.mass_sd:.2g} kg more, at ({place}) m'


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
    lacks the effort; load: the `LoadFinding` of the payload picked up or released last, None where
    nothing was, or something else has changed since.
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
    load: LoadFinding | None = None

    @staticmethod
    def when_asked(stamp_ns, found, **known):
        """
        Return findings that are worked out when somebody looks at them.

        found: function that returns them; known: of them what is known already, at least all that
        has a default.
        """
        result = object.__new__(Findings)
        vars(result).update(stamp_ns=stamp_ns, _found=found, _lock=Lock(), **known)
        return result

    def __getattr__(self, name):
        """Work out what is not there yet."""
        own = vars(self)
        if '_lock' not in own or name not in self.__dataclass_fields__:
            raise AttributeError(f'Findings have no {name}')
        # Several threads may look, the first one works.
        with own['_lock']:
            if name not in own:
                found = own['_found']()
                own.update({key: value for key, value in vars(found).items() if key not in own})
                # What it takes to work them out, the whole posterior, is let go.
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
