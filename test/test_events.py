"""Events: typed where they are found, described once, in sentences, for people."""

from dataclasses import fields, replace
from pathlib import Path
import pickle
import re

import numpy as np
import pytest

from sim2real_estimator import reported_events
from sim2real_estimator.events import EventDescriber
from sim2real_estimator.posterior.encoding import Decoder, Encoder
from sim2real_estimator.records import Estimate, UpdateReport
from sim2real_estimator.reported_events import (
    CoupledJoints,
    ElasticJoint,
    EVENT_CLASSES,
    Explained,
    FixedValuesWrong,
    Happened,
    kinds_of,
    Misfit,
    MisfitOver,
    MisfitTest,
    PositionsInDegrees,
    ReportedEvent,
    TorqueLate,
    TorqueLeftOut,
    TorqueNoisier,
    TorqueNotExplained,
    WrongMount,
    WrongSign,
    WrongUnit,
)

# Steps on the way to a posterior, of which nobody needs to hear.
NOT_DESCRIBED = frozenset((Happened.FITTED, Happened.POOR_FIT, Happened.NOT_YET_GAUSSIAN))
PAGE = Path(__file__).parents[1] / 'docs' / 'messages.md'
STAMP_NS = 1_700_000_000_000_000_007
# Of each type of a field, a value that a sentence has to contain.
VALUES = {'str': 'some_name', 'float': 7.0, 'tuple': ('first', 'second')}


def described_on_the_page():
    """Return name -> (level, values) of the table of events in docs/messages.md."""
    page = PAGE.read_text(encoding='utf-8').partition('## Events')[2].partition('\n## ')[0]
    rows = [line.strip('| \n').split(' | ') for line in page.splitlines() if line.startswith('|')]
    return {
        found[1]: (row[1], row[-1].strip('|').strip())
        for row in rows
        if (found := re.match('`([^`]+)`', row[0]))
    }


def example(kind):
    """Return an event of a class, with a value for each field."""
    if kind is MisfitOver:
        return kind(MisfitTest.PRIOR)
    if kind is WrongMount:
        return kind((0.0, 0.6, 0.8))
    types = {each.name: each.type for each in fields(kind)}
    return kind(**{name: VALUES[_name_of(found)] for name, found in types.items()})


def _name_of(found):
    """Return the name of the type of a field, also where it may be None."""
    return getattr(found, '__name__', str(found)).split(' |')[0]


EXAMPLES = [example(kind) for kind in EVENT_CLASSES]
SHOWN = [*(each for each in Happened if each not in NOT_DESCRIBED), *EXAMPLES]


def estimate(mean=(0.1, 0.2), seconds=0):
    names, known = ('elbow.damping', 'lower.mass'), ('identified', 'ambiguous')
    numbers = np.array(mean), np.array([0.01, 0.02])
    return Estimate(STAMP_NS + seconds * 10**9, names, *numbers, known, UpdateReport('filter'))


def names_of(events):
    return [event.name for event in events]


# --------------------------------------------------------------------------- all kinds


def test_all_classes_are_in_the_table():
    def leaves(kind):
        below = kind.__subclasses__()
        return {kind} if not below else set().union(*map(leaves, below))

    assert leaves(ReportedEvent) == set(EVENT_CLASSES)
    assert {each.test for each in leaves(Misfit)} == set(MisfitTest)
    for name, found in vars(reported_events).items():
        if isinstance(found, type) and issubclass(found, ReportedEvent):
            assert found.__doc__ and name == found.__name__


@pytest.mark.parametrize('event', SHOWN, ids=repr)
def test_every_event_has_a_sentence_and_a_row_in_the_documents(event):
    (shown,) = EventDescriber().describe((event,), estimate())
    level, values = described_on_the_page()[shown.name]
    assert len(shown.text.split()) > 3 and '{}' not in shown.text
    assert ('WARN' if shown.is_warning else 'OK') in level
    for name in shown.values:
        if name.startswith(('before ', 'after ')):
            name = f'{name.split()[0]} <parameter>'
        assert f'`{name}`' in values


@pytest.mark.parametrize('event', EXAMPLES, ids=repr)
def test_a_sentence_names_what_the_event_is_about(event):
    (shown,) = EventDescriber().describe((event,), estimate())
    texts = [value for value in vars(event).values() if isinstance(value, str)]
    for value in vars(event).values():
        if isinstance(value, tuple) and isinstance(value[0], str):
            texts += value
    assert all(text in shown.text for text in texts)
    # So does the line for logs.
    assert all(text in str(event) for text in texts)


@pytest.mark.parametrize('event', [*Happened, *EXAMPLES], ids=repr)
def test_an_event_is_equal_after_files_and_pipes(event):
    assert pickle.loads(pickle.dumps(event)) == event
    encoder = Encoder()
    content = encoder.encode((event,))
    (found,) = Decoder(*encoder.tables()).decode(content)
    assert found == event and type(found) is type(event)
    assert str(found) and '\n' not in str(found)


def test_steps_on_the_way_are_not_described():
    assert EventDescriber().describe(tuple(NOT_DESCRIBED), estimate()) == ()


def test_the_kind_of_an_event_is_its_member_or_class():
    events = (Happened.CHANGED, Explained('mass on lower', 0.9), Explained('gain of elbow'))
    assert kinds_of(events) == {Happened.CHANGED, Explained}


# --------------------------------------------------------------------------- changes


def test_a_change_is_described_with_the_values_before_and_after_it():
    describer = EventDescriber()
    assert names_of(describer.describe((Happened.HANDED_OVER,), estimate())) == ['converged']
    assert describer.describe((), estimate()) == ()
    (changed,) = describer.describe((Happened.CHANGED,), estimate((1, 1)))
    assert (changed.name, changed.is_warning) == ('changed', True)
    assert changed.values == {'before elbow.damping': 0.1, 'before lower.mass': 0.2}
    reported = Happened.FITTED, Happened.NOT_YET_GAUSSIAN
    assert describer.describe(reported, estimate((1, 1))) == ()
    converged, news = describer.describe((Happened.HANDED_OVER,), estimate((2, 3)))
    assert (converged.name, news.name) == ('converged', 'new values')
    assert news.values == {
        'cause': 'everything',
        'before elbow.damping': 0.1,
        'before lower.mass': 0.2,
        'after elbow.damping': 2.0,
        'after lower.mass': 3.0,
    }
    assert names_of(describer.describe((Happened.HANDED_OVER,), estimate((2, 3)))) == ['converged']


def test_changes_in_a_row_are_described_from_the_last_values_known():
    describer = EventDescriber()
    describer.describe((Happened.HANDED_OVER,), estimate())
    describer.describe((Happened.CHANGED,), estimate((1, 1)))
    describer.describe((Happened.CHANGED,), estimate((1, 1)))
    _, news = describer.describe((Happened.HANDED_OVER,), estimate((2, 3)))
    assert news.values['before elbow.damping'] == 0.1


def test_a_change_and_what_follows_may_come_in_one_report():
    describer = EventDescriber()
    describer.describe((), estimate())
    reported = Happened.CHANGED, Happened.FITTED, Happened.HANDED_OVER
    events = describer.describe(reported, estimate((2, 3)))
    assert names_of(events) == ['changed', 'converged', 'new values']
    assert events[-1].values['after lower.mass'] == 3.0


def test_an_explained_change_is_described_with_its_cause():
    describer = EventDescriber()
    describer.describe((), estimate())
    describer.describe((Happened.CHANGED,), estimate((1, 1)))
    (news,) = describer.describe((Explained('mass on lower', 0.984),), estimate((2, 3)))
    assert news.name == 'new values' and news.values['cause'] == 'mass on lower (0.98)'
    assert news.values['before elbow.damping'] == 0.1
    assert news.values['after lower.mass'] == 3.0
    # What is explained is not described again.
    assert names_of(describer.describe((Happened.HANDED_OVER,), estimate())) == ['converged']


def test_a_change_that_is_explained_at_once_is_not_looked_for():
    reported = Happened.CHANGED, Explained('mass on lower')
    changed, news = EventDescriber().describe(reported, estimate())
    assert changed.name == 'changed' and 'looking' not in changed.text
    assert news.values['cause'] == 'mass on lower'
    (changed,) = EventDescriber().describe((Happened.CHANGED,), estimate())
    assert 'looking' in changed.text


def test_a_change_that_nothing_explains_is_described_so():
    describer = EventDescriber()
    describer.describe((), estimate())
    reported = Happened.CHANGED, Happened.FORGOTTEN
    first, second = describer.describe(reported, estimate((1, 1)))
    assert (first.name, second.name, second.is_warning) == ('changed', 'forgotten', True)
    news = describer.describe((Happened.HANDED_OVER,), estimate((2, 3)))[-1]
    assert (news.name, news.values['cause']) == ('new values', 'everything')


def test_after_a_reset_nothing_is_new_compared_with_what_was_before():
    describer = EventDescriber()
    describer.describe((Happened.HANDED_OVER, Happened.CHANGED), estimate())
    describer.describe((Happened.RESET,), estimate())
    assert names_of(describer.describe((Happened.HANDED_OVER,), estimate((2, 3)))) == ['converged']


# --------------------------------------------------------------------------- what lasts


@pytest.mark.parametrize(
    'happened', [Happened.EFFORTS_UNKNOWN, Happened.OUTLIER, Happened.UPDATE_REFUSED]
)
def test_what_lasts_is_described_when_it_begins(happened):
    describer = EventDescriber()
    (event,) = describer.describe((happened, happened), estimate(seconds=0))
    assert (event.name, event.is_warning) == (str(happened), True)
    assert describer.describe((happened,), estimate(seconds=1)) == ()
    # No frame has come since.
    assert describer.describe((), estimate(seconds=1)) == ()
    assert describer.describe((happened,), estimate(seconds=2)) == ()
    assert describer.describe((), estimate(seconds=3)) == ()
    assert describer.describe((happened,), estimate(seconds=4)) == (event,)


def test_a_rest_is_described_once_until_the_robot_has_moved():
    describer = EventDescriber()
    (event,) = describer.describe((Happened.AT_REST,), estimate(seconds=0))
    assert (event.name, event.is_warning) == ('at rest', False)
    # It is tested now and then only.
    assert describer.describe((), estimate(seconds=1)) == ()
    assert describer.describe((Happened.AT_REST,), estimate(seconds=2)) == ()
    assert describer.describe((Happened.FITTED,), estimate(seconds=3)) == ()
    assert describer.describe((Happened.AT_REST,), estimate(seconds=4)) == (event,)


def test_a_describer_goes_on_from_a_snapshot():
    first, again = EventDescriber(), EventDescriber()
    first.describe((Happened.AT_REST, Happened.EFFORTS_UNKNOWN), estimate(), modes=2)
    first.describe((Happened.AT_REST, Happened.CHANGED), estimate((1, 1), 1), modes=2)
    encoder = Encoder()
    content = encoder.encode(first.snapshot())
    again.restore(Decoder(*encoder.tables()).decode(content))
    reported = Happened.AT_REST, Explained('mass on lower')
    expected = first.describe(reported, estimate((2, 3), 2), modes=2)
    assert again.describe(reported, estimate((2, 3), 2), modes=2) == expected
    assert names_of(expected) == ['new values']


# --------------------------------------------------------------------------- modes, reset


def test_a_lost_mode_is_described_once():
    describer = EventDescriber()
    describer.describe((Happened.HANDED_OVER,), estimate(), modes=2)
    (lost,) = describer.describe((), estimate(), modes=1)
    assert (lost.name, lost.text) == ('mode lost', '1 of 2 modes is left')
    assert lost.values == {'modes': 1}
    assert describer.describe((), estimate(), modes=1) == ()


def test_a_change_is_no_lost_mode():
    describer = EventDescriber()
    describer.describe((Happened.HANDED_OVER,), estimate(), modes=2)
    assert names_of(describer.describe((Happened.CHANGED,), estimate())) == ['changed']


def test_a_reset_is_described_and_is_no_lost_mode():
    describer = EventDescriber()
    describer.describe((Happened.HANDED_OVER,), estimate(), modes=2)
    (event,) = describer.describe((Happened.RESET,), estimate())
    assert (event.name, event.is_warning) == ('reset', False)
    assert describer.describe((), estimate()) == ()


# --------------------------------------------------------------------------- values


def shown(*reported):
    return EventDescriber().describe(reported, estimate())


def test_fixed_values_that_are_wrong_are_named():
    _, event = shown(Happened.HANDED_OVER, FixedValuesWrong(('elbow.damping', 'camera.delay')))
    assert event.name == 'fixed values wrong' and event.is_warning
    assert 'elbow.damping, camera.delay' in event.text


def test_joints_whose_torque_is_odd_are_named():
    found = shown(TorqueNotExplained('elbow'), TorqueNoisier('shoulder'), TorqueLeftOut('hip'))
    assert names_of(found) == ['not explained', 'more noise', 'left out']
    assert [event.values['joint'] for event in found] == ['elbow', 'shoulder', 'hip']
    assert all(event.is_warning for event in found)


def test_an_elastic_joint_is_described_with_its_frequency():
    (event,) = shown(ElasticJoint('elbow', 10.9))
    assert (event.name, event.is_warning) == ('elastic', True)
    assert event.values == {'joint': 'elbow', 'resonance [Hz]': 11.0}
    assert 'at about 11 Hz' in event.text


def test_late_torques_are_described_with_what_to_configure():
    (event,) = shown(TorqueLate(0.01234, 0.00081))
    assert (event.name, event.is_warning) == ('torque late', False)
    assert event.values == {'delay [s]': pytest.approx(0.0123), 'sd [s]': pytest.approx(8e-4)}
    assert '12.3 ms later than encoders, give or take 0.8 ms' in event.text
    assert 'estimate: {commands.delay: {mean: -0.0123, fixed: true}}' in event.text
    (event,) = shown(TorqueLate(-0.006, 0.001))
    assert '6.0 ms earlier' in event.text and 'mean: 0.0060' in event.text


def test_what_would_repair_a_misfit_is_said():
    found = shown(
        WrongUnit(0.1),
        WrongUnit(2.0, 'elbow'),
        WrongSign(-1.0, 'elbow'),
        WrongMount((0.0, 1.0, 0.0)),
        PositionsInDegrees(),
        MisfitOver(MisfitTest.TORQUES),
    )
    assert names_of(found) == [*('misfit',) * 5, 'fits again']
    assert [event.is_warning for event in found] == [*(True,) * 5, False]
    assert [event.values['joint'] for event in found[:5]] == ['all', 'elbow', 'elbow', '', '']
    hints = 'motor currents', 'gear ratio', 'axis of the joint', 'roll, pitch and yaw', 'in rad'
    assert all(hint in event.text for hint, event in zip(hints, found))
    assert [event.values.get('about', '') for event in found] == [''] * 6


def test_joints_that_seem_coupled_are_described_with_what_to_configure():
    (event,) = shown(CoupledJoints('joint_6', 'joint_5'))
    assert (event.name, event.is_warning) == ('coupled', True)
    assert event.values == {'joint': 'joint_6', 'with': 'joint_5'}
    assert 'model: {couplings: {joint_6: joint_5}}' in event.text


def test_numbers_are_those_that_were_found():
    assert replace(ElasticJoint('elbow', 10.9), joint='hip') == ElasticJoint('hip', 10.9)
    assert (str(ElasticJoint('hip', 10.9)), repr(ElasticJoint('hip', 10.9))) == (
        'elastic: hip 11 Hz',
        "ElasticJoint(joint='hip', resonance_hz=10.9)",
    )
