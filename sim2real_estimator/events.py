"""What has happened, in sentences, each event once: for the node and for `identify`."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Event:
    """
    Something that happened.

    name: a word of the table in docs/messages.md; text: for people; is_warning: whether somebody
    should look; values: text -> number or text.
    """

    name: str
    text: str
    is_warning: bool = False
    values: dict = field(default_factory=dict)


# What the estimator reports and everybody should know of.
_OF_REPORTS = {
    'misfit over': Event('fits again', 'units and description are not said to be wrong any more'),
    'handed over': Event('converged', 'the posterior is narrow; from here on it is filtered'),
    'changed': Event('changed', 'the robot has changed; looking for what it is', True),
    'forgotten': Event(
        'forgotten', 'no single change explains the data: all is estimated anew', True
    ),
    'motion lost': Event(
        'motion lost',
        'samples were wrong for so long that nobody knows where the robot is; what is known of '
        'its parameters is kept, and used again once they fit',
        True,
    ),
    'resumed': Event('resumed', 'after a gap the parameters known before are used again'),
    'reset': Event('reset', 'forgotten on request; it begins again from what was known at first'),
}
# What it may report again and again: told when it begins.
_LASTING = {
    'at rest': Event('at rest', 'the robot does not move, and nothing is learnt until it does'),
    'sticks': Event(
        'sticks', 'a driven joint hardly moves; such stretches of motion are left out'
    ),
    'window doubted': Event(
        'window doubted', 'a stretch of motion does not fit what is known, and waits', True
    ),
    'efforts unknown': Event(
        'efforts unknown', 'the first fits need efforts that are unknown; see ~/parameters', True
    ),
    'outlier': Event(
        'outlier', 'a sample is far off and left out; it may be the beginning of a change', True
    ),
    'update refused': Event(
        'update refused', 'samples give no finite estimate and are left out', True
    ),
}
# It is looked at from time to time whether a robot rests; these say that it has moved.
_PROGRESS = frozenset(('fitted', 'handed over', 'resumed', 'changed', 'explained', 'reset'))
# After these there are fewer modes since it is begun anew, not since one was ruled out.
_BEGINNINGS = frozenset(('changed', 'explained', 'forgotten', 'reset'))
# What an explained change is put down to, in the words of the report.
_CAUSE = 'cause: '
_NEW_VALUES = 'new values'
_MODE_LOST = 'mode lost'


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
        f'stamps on {topic} jumped {side} by {abs(seconds):.1f} s; what is known stays',
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


class Chronicle:
    """Turns what the estimator reports into events, with the values before and after a change."""

    def __init__(self):
        """Begin with nothing known."""
        self._latest, self._before, self._modes = None, None, 1
        self._lasting = frozenset()

    def take(self, words, estimate, modes=1):
        """
        Return the `Event`s since the call before.

        words: events of the update reports since then, in order; estimate: the newest; modes:
        how many modes the posterior has now.
        """
        events = [*self._begun(words, estimate)]
        is_known = any(word.startswith(_CAUSE) for word in words)
        for word in words:
            if word in _OF_REPORTS:
                events += self._told(word, estimate, is_known)
            if word.startswith(_CAUSE):
                events.append(_new_values(self._before, estimate, word.removeprefix(_CAUSE)))
                self._before = None
            for beginning, event_of in _OF_WORDS.items():
                if word.startswith(beginning):
                    events.append(event_of(word.removeprefix(beginning)))
        if modes < self._modes and not _BEGINNINGS.intersection(words):
            text = f'of {self._modes} modes {modes} are left'
            events.append(Event(_MODE_LOST, text, values={'modes': modes}))
        self._latest, self._modes = estimate, modes
        return tuple(events)

    def snapshot(self):
        """Return what it takes to go on, plain values and records."""
        return self._latest, self._before, self._modes, self._lasting

    def restore(self, saved):
        """Go on from a snapshot."""
        self._latest, self._before, self._modes, self._lasting = saved

    def _begun(self, words, estimate):
        """Return the events of what lasts, where it has begun."""
        now = frozenset(words) & frozenset(_LASTING)
        new = [_LASTING[word] for word in dict.fromkeys(words) if word in now - self._lasting]
        is_newer = self._latest is None or estimate.stamp_ns > self._latest.stamp_ns
        goes_on = self._lasting & {'at rest'} if is_newer else self._lasting
        if _PROGRESS.intersection(words):
            goes_on = frozenset()
        self._lasting = now | goes_on
        return new

    def _told(self, word, estimate, is_known):
        """Return the events of a word that is told each time; is_known: what has changed is."""
        event, values = _OF_REPORTS[word], {}
        if word == 'changed':
            event = replace(event, text='the robot has changed') if is_known else event
            self._before = self._before or self._latest
            values = _named('before', self._before)
        if word in ('reset', 'motion lost'):
            self._before = None
        events = [replace(event, values=values)]
        if word == 'handed over' and self._before is not None:
            events.append(_new_values(self._before, estimate))
            self._before = None
        return events


def _named(title, estimate):
    """Return the means of an estimate by name, after a title."""
    if estimate is None:
        return {}
    return {f'{title} {name}': mean for name, mean in zip(estimate.names, estimate.mean)}


def _doubted(names):
    """Return the event that says which of the parameters that are held fixed are not so."""
    text = (
        f'what is held fixed does not explain the motion; set free, it does: {names}. Nothing is '
        'published of these: estimate them'
    )
    return Event('doubted', text, True)


def _said_of(name, key, text):
    """Return the function from a joint's or sensor's name to the warning about it; key: which."""
    return lambda owner: Event(name, text.format(owner), True, {key: owner})


def _back(sensor):
    """Return the event of a sensor whose samples fit again."""
    return Event('sensor right', f'samples of {sensor} are used again', values={'sensor': sensor})


def _elastic(words):
    """Return the event of a joint that gives way like a spring; words: joint, frequency, Hz."""
    joint, frequency, _ = words.rsplit(' ', 2)
    text = (
        f'{joint} gives way like a spring: with its motor held, the link swings at about '
        f'{frequency} Hz. The model is rigid: what its torques tell counts for less'
    )
    return Event('elastic', text, True, {'joint': joint, 'resonance [Hz]': float(frequency)})


def _jitter(words):
    """Return the event of stamps that are not of when samples were taken; words: sd [s]."""
    sd = 1e3 * float(words)
    text = (
        f'positions were taken {sd:.2g} ms (standard deviation) before or after what their stamps '
        'say. This is allowed for; stamps set where joints are read make the result sharper'
    )
    return Event('stamps jitter', text, values={'standard deviation [ms]': sd})


# What is wrong -> (the same for people, what would repair it).
_OF_ALL_UNITS = (
    'the torques of all joints are about {:.2g} times what the robot description asks for',
    'see whether they are in N m: motor currents need torque constants and gear ratios, and what '
    'comes before a gear its ratio; or its masses are of another robot',
)
_OF_A_UNIT = (
    'the torque of {} is about {:.2g} times what the robot description asks for',
    'see its unit, its torque constant and its gear ratio',
)
_OF_A_SIGN = (
    'the torque of {} has the wrong sign',
    'turn its sign round where it is read, or the axis of the joint in the robot description',
)
_OF_GRAVITY = (
    'upwards is along ({}) of the root of the robot description, not along (0, 0, 1)',
    'the base is mounted otherwise: in the URDF, put a fixed joint with its roll, pitch and yaw '
    'before it',
)
_OF_NOISE = (
    'the {} of {} is {} times as noisy as configured',
    'see its unit (m, rad), its link, whether it follows another body, and its clock; or write '
    'a larger sd',
)
_OF_EFFORTS = (
    'efforts of unknown origin push the robot, as large as any that are reckoned with',
    'see the units, signs, joints and delay of the efforts, and the units of positions; or '
    'estimate friction',
)
_OF_MOTION = (
    'no robot like the one described moves as measured, within the noise of the sensors',
    'see the units, signs, joints and delays of efforts and positions, and the sd of sensors',
)
_OF_PRIOR = (
    '{} is {} standard deviations of its prior away',
    'see the units and signs of what is measured, and which link sensors are on; or give it '
    'another mean, or a larger sd, under estimate',
)
_OF_DEGREES = ('positions are in degrees', 'give them in rad')


# Misfits that end by themselves, whatever is said of others.
_BY_THEMSELVES = 'noise', 'prior', 'efforts', 'motion'
# Those that are about nothing in particular.
_OF_ALL = {'efforts': _OF_EFFORTS, 'motion': _OF_MOTION}


def _misfit(words):
    """Return the event of a unit, a sign or a mount that is wrong; words: of `torque.units`."""
    kind, *rest = words.split(' ')
    joint = ''
    if kind == 'gravity':
        wrong, repair = _OF_GRAVITY
        wrong = wrong.format(', '.join(rest))
    elif kind == 'degrees':
        wrong, repair = _OF_DEGREES
    elif kind == 'noise':
        factor, part, sensor = rest[0], rest[1], ' '.join(rest[2:])
        wrong, repair = _OF_NOISE
        wrong = wrong.format(part, sensor, factor)
    elif kind in _OF_ALL:
        wrong, repair = _OF_ALL[kind]
    elif kind == 'prior':
        wrong, repair = _OF_PRIOR
        wrong = wrong.format(' '.join(rest[1:]), rest[0])
    else:
        factor, joint = float(rest[0]), ' '.join(rest[1:])
        if kind == 'sign':
            wrong, repair = _OF_A_SIGN
            wrong = wrong.format(joint)
        elif joint == 'all':
            wrong, repair = _OF_ALL_UNITS
            wrong = wrong.format(factor)
        else:
            wrong, repair = _OF_A_UNIT
            wrong = wrong.format(joint, factor)
    text = (
        f'the data do not fit the robot description: {wrong}; {repair}. Until then nothing is '
        'identified'
    )
    about = kind if kind in _BY_THEMSELVES else ''
    return Event('misfit', text, True, {'wrong': wrong, 'joint': joint, 'about': about})


def _fits(kind):
    """Return the event that a misfit of some kind is over; its words beside those of torques."""
    return replace(_OF_REPORTS['misfit over'], values={'about': kind})


def _coupled(words):
    """Return the event of two joints that seem to share a motor; words: their names."""
    first, second = words.split(', ')
    text = (
        f'{first} and {second} seem to share a motor, whose inertia and friction no column of the '
        f'model describes; if they do: model: {{couplings: {{{first}: {second}}}}}'
    )
    return Event('coupled', text, True, {'joint': first, 'with': second})


def _late(words):
    """Return the event of torques that come late; words: delay, ms, +-, sd."""
    delay, _, _, sd = words.split(' ')
    text = (
        f'torques are {delay} ms late beside encoders, give or take {sd} ms, and are used so from '
        f'now on; where it stays so: estimate: {{commands.delay: {{mean: '
        f'{-1e-3 * float(delay):.4f}, fixed: true}}}}'
    )
    values = {'delay [s]': 1e-3 * float(delay), 'sd [s]': 1e-3 * float(sd)}
    return Event('torque late', text, values=values)


def _questioned(words):
    """Return the event of a sensor whose noise is not as configured; words: `noise_in_words`."""
    sensor, factor, learned = words.rsplit(' ', 2)
    factor, learned = float(factor), float(learned)
    side = 'larger' if factor > 1 else 'smaller'
    text = (
        f'the noise of {sensor} is {max(factor, 1 / factor):.2g} times {side} than configured; '
        f'what was learned is used: sd {learned:.2g}'
    )
    values = {'sensor': sensor, 'learned over configured': factor, 'learned sd': learned}
    # Too large a value hides nothing but stuck encoders.
    return Event('noise questioned', text, factor > 1, values)


def _new_values(before, after, cause='everything'):
    """Return the event that says what has changed; cause: with its probability, as text."""
    values = {'cause': cause, **_named('before', before), **_named('after', after)}
    text = f'what the parameters are since the change: {cause}'
    return Event(_NEW_VALUES, text, values=values)


# Words of a report that go on with a joint, a sensor or names -> the function that returns the
# event of what follows.
_OF_WORDS = {
    'not explained: ': _said_of(
        'not explained',
        'joint',
        'the model does not explain the torque of {}, of which more than half is left: it '
        'tells of its own friction only. See whether the effort is of it, its unit and its sign; '
        'of at most three light joints, try estimator.name: multiple_shooting',
    ),
    'coupled: ': _coupled,
    'misfit: ': _misfit,
    'misfit over: ': _fits,
    'elastic: ': _elastic,
    'stamps jitter: ': _jitter,
    'torque late: ': _late,
    'more noise: ': _said_of(
        'more noise',
        'joint',
        'the torque of {} is off by more than before, and nothing known explains it',
    ),
    'poses off: ': _said_of(
        'poses off',
        'sensor',
        'many of the poses of {} are far off what the robot and the rest of them say, and '
        'are not used. See whether the body was moved on its link, or another one is followed',
    ),
    'explained in part: ': _said_of(
        'explained in part',
        'joint',
        'the cause that is named leaves much of the torque of {} unexplained: something may '
        'have changed, there or before it, that no cause is for. What was known before is kept',
    ),
    'sensor wrong: ': _said_of(
        'sensor wrong',
        'sensor',
        'samples of {} are off by more than anything that moves the robot could do. They are left '
        'out until they fit again; everything else goes on. See whether it is occluded, flipped, '
        'taken for another, or has slipped',
    ),
    'sensor right: ': _back,
    'sensor moved: ': _said_of(
        'sensor moved',
        'sensor',
        'samples of {} fit again if it is at another place of its link, or its clock is another; '
        'that is what is estimated from now on. See whether it has slipped',
    ),
    'left out: ': _said_of(
        'left out',
        'joint',
        'the torque of {} was far off for a moment, and is as it was before: what it told '
        'then is taken back',
    ),
    'noise of ': _questioned,
    'doubts: ': _doubted,
}
