"""
Events in sentences, each once: for `~/events` of the node, for `identify` and for its report.

Estimators report typed records (`reported_events.py`); `EventDescriber` turns them into `Event`s.
Below it are the tables from a kind of record to its sentence, and functions for what happens
around the estimator.
"""

from dataclasses import dataclass, field, replace
import math

from .reported_events import (
    CoupledJoints,
    DisturbancesTooLarge,
    ElasticJoint,
    Explained,
    ExplainedInPart,
    FarFromPrior,
    FixedValuesWrong,
    Happened,
    kinds_of,
    MisfitOver,
    MisfitTest,
    MotionNotExplained,
    NetworkCarries,
    NoiseQuestioned,
    PosesOff,
    PositionsInDegrees,
    SensorMoved,
    SensorRight,
    SensorTooNoisy,
    SensorWrong,
    StampsJitter,
    TorqueLate,
    TorqueLeftOut,
    TorqueNoisier,
    TorqueNotExplained,
    WrongMount,
    WrongSign,
    WrongUnit,
)


@dataclass(frozen=True)
class Event:
    """
    Something that happened, for people.

    name: a word of the table in docs/messages.md; text: a sentence; is_warning: whether somebody
    should look; values: text -> number or text.
    """

    name: str
    text: str
    is_warning: bool = False
    values: dict = field(default_factory=dict)


class EventDescriber:
    """
    Describes what estimators report as `Event`s.

    It has a memory: a change is described with the values of the parameters before and after it,
    and what lasts is described when it begins.
    """

    def __init__(self):
        """Begin with nothing known."""
        self._latest, self._before, self._modes = None, None, 1
        self._lasting = frozenset()

    def describe(self, reported, estimate, modes=1):
        """
        Return the `Event`s since the call before.

        reported: events of the update reports since then, in order; estimate: the newest
        `Estimate`; modes: how many modes the posterior has now.
        """
        kinds = kinds_of(reported)
        events = self._begun(reported, kinds, estimate)
        for each in reported:
            if each in _PLAIN:
                events += self._described(each, estimate, Explained in kinds)
            elif isinstance(each, Explained):
                cause = each.cause_and_probability
                events.append(_new_values(self._before, estimate, cause))
                self._before = None
            elif type(each) in _DESCRIPTIONS:
                events.append(_DESCRIPTIONS[type(each)](each))
        if modes < self._modes and not _BEGINNINGS & kinds:
            text = f'{modes} of {self._modes} modes {"is" if modes == 1 else "are"} left'
            events.append(Event('mode lost', text, values={'modes': modes}))
        self._latest, self._modes = estimate, modes
        return tuple(events)

    def snapshot(self):
        """Return what it takes to go on, plain values and records."""
        lasting = tuple(each for each in Happened if each in self._lasting)
        return self._latest, self._before, self._modes, lasting

    def restore(self, saved):
        """Go on from a snapshot."""
        self._latest, self._before, self._modes, lasting = saved
        self._lasting = frozenset(lasting)

    def _begun(self, reported, kinds, estimate):
        """Return the events of what lasts, if it has begun; kinds: of all that is reported."""
        now = kinds & frozenset(_LASTING)
        new = [_LASTING[each] for each in dict.fromkeys(reported) if each in now - self._lasting]
        is_newer = self._latest is None or estimate.stamp_ns > self._latest.stamp_ns
        # Whether a robot rests is tested from time to time only.
        goes_on = self._lasting & {Happened.AT_REST} if is_newer else self._lasting
        if _MOTION & kinds:
            goes_on = frozenset()
        self._lasting = now | goes_on
        return new

    def _described(self, happened, estimate, is_explained):
        """Return the events of a member of `_PLAIN`; is_explained: whether a change is."""
        event = _PLAIN[happened]
        if happened is Happened.CHANGED:
            text = 'the robot has changed' if is_explained else event.text
            self._before = self._before or self._latest
            event = replace(event, text=text, values=_named('before', self._before))
        if happened in (Happened.RESET, Happened.MOTION_LOST):
            self._before = None
        events = [event]
        if happened is Happened.HANDED_OVER and self._before is not None:
            events.append(_new_values(self._before, estimate))
            self._before = None
        return events


# ------------------------------------------------------------- what needs no data

# Described each time.
_PLAIN = {
    Happened.HANDED_OVER: Event(
        'converged', 'the posterior is narrow; from here on it is updated by a filter'
    ),
    Happened.CHANGED: Event('changed', 'the robot has changed; looking for the cause', True),
    Happened.FORGOTTEN: Event(
        'forgotten', 'no single change explains the data; everything is estimated anew', True
    ),
    Happened.MOTION_LOST: Event(
        'motion lost',
        'samples were wrong for so long that the state of the robot is unknown; what is known of '
        'its parameters is kept, and is used again once samples fit',
        True,
    ),
    Happened.RESUMED: Event(
        'resumed', 'the parameters known before the interruption are used again'
    ),
    Happened.RESET: Event('reset', 'on request the estimate begins again from the initial prior'),
}
# Described when it begins, since it may be reported again and again.
_LASTING = {
    Happened.AT_REST: Event(
        'at rest', 'the robot does not move, and nothing is learnt until it does'
    ),
    Happened.STICKS: Event(
        'sticks', 'an actuated joint hardly moves; such stretches of motion are left out'
    ),
    Happened.WINDOW_MISFIT: Event(
        'window misfit',
        'a stretch of motion does not fit what is known; the next ones decide what it is',
        True,
    ),
    Happened.EFFORTS_UNKNOWN: Event(
        'efforts unknown', 'the first fits need efforts that are unknown; see ~/parameters', True
    ),
    Happened.OUTLIER: Event(
        'outlier',
        'a sample is far off and is left out; it may be the beginning of a change',
        True,
    ),
    Happened.UPDATE_REFUSED: Event(
        'update refused', 'samples give no finite estimate and are left out', True
    ),
}
# After these the robot has moved.
_MOTION = frozenset(
    (
        Happened.FITTED,
        Happened.HANDED_OVER,
        Happened.RESUMED,
        Happened.CHANGED,
        Happened.RESET,
        Explained,
    )
)
# After these the posterior has fewer modes because it was begun anew.
_BEGINNINGS = frozenset((Happened.CHANGED, Happened.FORGOTTEN, Happened.RESET, Explained))


def _new_values(before, after, cause='everything'):
    """Return the event of values after a change; before, after: `Estimate`s, or None."""
    values = {'cause': cause, **_named('before', before), **_named('after', after)}
    return Event('new values', f'the parameters after the change; cause: {cause}', values=values)


def _named(title, estimate):
    """Return the means of an estimate by name, after a title."""
    if estimate is None:
        return {}
    return {f'{title} {name}': mean for name, mean in zip(estimate.names, estimate.mean)}


# ------------------------------------------------------------- what needs data


def _about_joint(name, text):
    """Return the function from a record with a joint to a warning; text: with its place."""
    return lambda event: Event(name, text.format(event.joint), True, {'joint': event.joint})


def _about_sensor(name, text, is_warning=True):
    """Return the same for records with a sensor."""
    return lambda event: Event(
        name, text.format(event.sensor), is_warning, {'sensor': event.sensor}
    )


def _fixed_values_wrong(event):
    text = (
        'with these parameters held fixed the motion is not explained, but it is if they are '
        f'estimated: {", ".join(event.parameters)}. Their estimates are not published; add them '
        'to what is estimated'
    )
    return Event('fixed values wrong', text, True)


def _elastic_joint(event):
    frequency = float(round(event.resonance_hz))
    text = (
        f'{event.joint} gives way like a spring: with its motor held, the link swings at about '
        f'{frequency:.0f} Hz. The model is rigid, so that its torques count for less'
    )
    return Event('elastic', text, True, {'joint': event.joint, 'resonance [Hz]': frequency})


def _coupled_joints(event):
    text = (
        f'{event.joint} and {event.other} seem to share a motor, whose inertia and friction are '
        'not part of the model; if they do, set '
        f'model: {{couplings: {{{event.joint}: {event.other}}}}}'
    )
    return Event('coupled', text, True, {'joint': event.joint, 'with': event.other})


def _network_carries(event):
    text = (
        f'the network {event.network} carries {100 * event.share:.2g} % of {event.site} (mean '
        'square), which is physics that the model lacks; look for its cause'
    )
    values = {'network': event.network, 'at': event.site, 'share': event.share}
    return Event('network carries', text, True, values)


def _torque_late(event):
    delay, sd = round(1e3 * event.delay_s, 1), _significant(1e3 * event.sd_s, 1)
    side = 'later' if delay >= 0 else 'earlier'
    text = (
        f'torques come {abs(delay):.1f} ms {side} than encoders, give or take {sd:g} ms, and are '
        'used with this delay from now on; if it is always the same, set '
        f'estimate: {{commands.delay: {{mean: {-1e-3 * delay:.4f}, fixed: true}}}}'
    )
    return Event('torque late', text, values={'delay [s]': 1e-3 * delay, 'sd [s]': 1e-3 * sd})


def _stamps_jitter(event):
    sd = 1e3 * _significant(event.sd_s, 2)
    text = (
        f'positions were taken {sd:.2g} ms (standard deviation) before or after their stamps. '
        'This is allowed for; results are sharper if stamps are set where joints are read'
    )
    return Event('stamps jitter', text, values={'standard deviation [ms]': sd})


def _noise_questioned(event):
    factor, sd = _significant(event.factor, 3), _significant(event.sd, 3)
    text = (
        f'the noise of {event.signal} is {max(factor, 1 / factor):.2g} times '
        f'{"larger" if factor > 1 else "smaller"} than configured; the learned one is used: '
        f'sd {sd:.2g}'
    )
    values = {'sensor': event.signal, 'learned over configured': factor, 'learned sd': sd}
    # Too large a configured value hides nothing but stuck encoders.
    return Event('noise questioned', text, factor > 1, values)


def _significant(number, digits):
    """Return a number with so many significant digits, for those that are known no better."""
    if not number or not math.isfinite(number):
        return number
    return round(number, digits - 1 - math.floor(math.log10(abs(number))))


def _misfit(event, wrong, repair, joint=''):
    """
    Return the event of a `Misfit`.

    wrong: what is wrong; repair: what to do about it; joint: name of the joint concerned, 'all',
    or empty.
    """
    text = (
        f'the data do not fit the robot description: {wrong}; {repair}. Until then nothing is '
        'identified'
    )
    values = {'wrong': wrong, 'joint': joint, 'about': _about(event.test)}
    return Event('misfit', text, True, values)


def _misfit_over(event):
    values = {} if event.test is MisfitTest.TORQUES else {'about': _about(event.test)}
    return Event(
        'fits again', 'the data no longer contradict the robot description', values=values
    )


def _about(test):
    """Return the value `about` of events of a `MisfitTest`, empty for that of torques."""
    return '' if test is MisfitTest.TORQUES else test.value


def _wrong_unit(event):
    factor = f'about {event.factor:.2g} times'
    if event.joint is None:
        return _misfit(
            event,
            f'the torques of all joints are {factor} those of the robot description',
            'see whether they are in N m: motor currents have to be multiplied by torque '
            'constants and gear ratios, torques before a gear by its ratio; or the masses of the '
            'description are those of another robot',
            'all',
        )
    return _misfit(
        event,
        f'the torque of {event.joint} is {factor} that of the robot description',
        'see its unit, its torque constant and its gear ratio',
        event.joint,
    )


def _wrong_mount(event):
    upward = ', '.join(f'{each:.2f}' for each in event.upward)
    return _misfit(
        event,
        f'upwards is along ({upward}) of the root of the robot description, not along (0, 0, 1)',
        'the base is mounted otherwise: in the URDF, put a fixed joint with its roll, pitch and '
        'yaw before it',
    )


_DESCRIPTIONS = {
    FixedValuesWrong: _fixed_values_wrong,
    ElasticJoint: _elastic_joint,
    CoupledJoints: _coupled_joints,
    NetworkCarries: _network_carries,
    TorqueLate: _torque_late,
    StampsJitter: _stamps_jitter,
    NoiseQuestioned: _noise_questioned,
    ExplainedInPart: _about_joint(
        'explained in part',
        'the cause that is named leaves much of the torque of {} unexplained: something else may '
        'have changed, at this joint or before it. What was known before is kept',
    ),
    TorqueNotExplained: _about_joint(
        'not explained',
        'the model leaves more than half of the torque of {} unexplained, so that only the '
        "joint's own friction is learnt from it. See whether the effort is that of this joint, "
        'its unit and its sign; for a mechanism of at most three light joints, try '
        'estimator.name: multiple_shooting',
    ),
    TorqueNoisier: _about_joint(
        'more noise',
        'the torque of {} differs more from its prediction than before, and no change explains '
        'that',
    ),
    TorqueLeftOut: _about_joint(
        'left out',
        'the torque of {} was far off for a moment and is as before again; its samples of that '
        'time are left out',
    ),
    PosesOff: _about_sensor(
        'poses off',
        'many of the poses of {} fit neither the robot nor the rest of them, and are not used. '
        'See whether the body was moved on its link, or another one is followed',
    ),
    SensorWrong: _about_sensor(
        'sensor wrong',
        'samples of {} are off by more than any motion of the robot explains. They are left out '
        'until they fit again; everything else goes on. See whether it is occluded, flipped, '
        'taken for another, or has slipped',
    ),
    SensorRight: _about_sensor('sensor right', 'samples of {} are used again', False),
    SensorMoved: _about_sensor(
        'sensor moved',
        'samples of {} fit again if its place on the link, or its delay, is another one; that is '
        'estimated from now on. See whether it has slipped',
    ),
    WrongUnit: _wrong_unit,
    WrongSign: lambda event: _misfit(
        event,
        f'the torque of {event.joint} has the wrong sign',
        'reverse its sign where it is read, or the axis of the joint in the robot description',
        event.joint,
    ),
    WrongMount: _wrong_mount,
    PositionsInDegrees: lambda event: _misfit(
        event, 'positions are in degrees', 'give them in rad'
    ),
    SensorTooNoisy: lambda event: _misfit(
        event,
        f'the {event.part} of {event.sensor} is {event.factor:.3g} times as noisy as configured',
        'see its unit (m, rad), its link, whether it follows another body, and its clock; or '
        'configure a larger sd',
    ),
    FarFromPrior: lambda event: _misfit(
        event,
        f'{event.coordinate} is {event.deviations:.2g} standard deviations of its prior away',
        'see the units and signs of what is measured, and which link sensors are on; or give it '
        'another mean, or a larger sd, under estimate',
    ),
    DisturbancesTooLarge: lambda event: _misfit(
        event,
        'efforts of unknown origin act on the robot, as large as any that are considered',
        'see the units, signs, joints and delay of the efforts, and the units of positions; or '
        'estimate friction',
    ),
    MotionNotExplained: lambda event: _misfit(
        event,
        'no robot like the one described moves as measured, within the noise of the sensors',
        'see the units, signs, joints and delays of efforts and positions, and the sd of sensors',
    ),
    MisfitOver: _misfit_over,
}


# ------------------------------------------------------------- around the estimator


def input_lost(topic, seconds):
    """Return the event of a topic on which nothing came for some seconds."""
    return Event(
        'input lost',
        f'nothing comes on {topic}; see whether somebody publishes',
        True,
        {'topic': topic, 'silent for [s]': seconds},
    )


def input_back(topic):
    """Return the event of a topic on which messages come again."""
    return Event('input back', f'messages come on {topic} again', values={'topic': topic})


def clock_jumped(topic, seconds):
    """Return the event of a topic whose stamps went back, or ran ahead, by some seconds."""
    side = 'back' if seconds < 0 else 'ahead'
    return Event(
        'clock jumped',
        f'stamps on {topic} jumped {side} by {abs(seconds):.1f} s; what is known is kept',
        True,
        {'topic': topic, 'by [s]': seconds},
    )


def worker_replaced(cause, lost):
    """Return the event of a worker that died; lost: messages that no other will see."""
    return Event(
        'worker replaced',
        f'the worker {cause}; another goes on from what was known, without the {lost} messages '
        'that came since',
        True,
        {'messages lost': lost},
    )


def stopped(reason):
    """Return the event of a filter that uses nothing that comes any more."""
    return Event('stopped', reason, True)
