"""What has happened, and where the model has the joints, as messages and back."""

from dataclasses import replace

import numpy as np
import pytest

from sim2real_estimator.events import Chronicle, Event, input_back, input_lost
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Estimate, UpdateReport

pytest.importorskip('rclpy')

from rclpy import serialization

from sim2real_estimator.ros.publishers import (
    estimate_message,
    events_message,
    predicted_message,
    read_estimate,
    read_events,
)

STAMP_NS = 1_700_000_000_000_000_007
# Two thirds: no decimal number has all its bits but one of seventeen digits.
THIRDS = 2 / 3


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


def estimate(mean=(0.1, THIRDS), events=()):
    names = ('elbow.damping', 'lower.mass')
    report = UpdateReport('filter', events=events)
    verdicts = ('identified', 'ambiguous')
    return Estimate(STAMP_NS, names, np.array(mean), np.array([0.01, 1 / 7]), verdicts, report)


def test_an_estimate_arrives_by_name():
    found = read_estimate(received(estimate_message(estimate())))
    assert found.stamp_ns == STAMP_NS
    assert found.mean == {'elbow.damping': 0.1, 'lower.mass': THIRDS}
    assert found.sd == {'elbow.damping': 0.01, 'lower.mass': 1 / 7}
    assert found.heaviest == {}


def test_events_arrive():
    events = (
        Event('converged', 'the posterior is narrow'),
        input_lost('/joint_states', 2.5),
        input_back('/joint_states'),
    )
    stamp_ns, found = read_events(received(events_message(events, STAMP_NS)))
    assert stamp_ns == STAMP_NS
    assert [event.name for event in found] == ['converged', 'input lost', 'input back']
    assert [event.is_warning for event in found] == [False, True, False]
    assert found[1].values == {'topic': '/joint_states', 'silent for [s]': '2.5'}
    assert 'see whether somebody publishes' in found[1].text


def test_the_chronicle_tells_a_change_before_and_after():
    chronicle, before, prior, after = Chronicle(), estimate(), estimate((1, 1)), estimate((2, 3))
    assert [event.name for event in chronicle.take(('handed over',), before)] == ['converged']
    assert chronicle.take((), before) == ()
    (changed,) = chronicle.take(('changed',), prior)
    assert (changed.name, changed.is_warning) == ('changed', True)
    assert changed.values == {'before elbow.damping': 0.1, 'before lower.mass': THIRDS}
    assert chronicle.take(('fitted', 'not yet Gaussian'), prior) == ()
    converged, news = chronicle.take(('handed over',), after)
    assert converged.name == 'converged'
    assert news.name == 'new values'
    assert news.values == {
        'cause': 'everything',
        'before elbow.damping': 0.1,
        'before lower.mass': THIRDS,
        'after elbow.damping': 2.0,
        'after lower.mass': 3.0,
    }
    assert [event.name for event in chronicle.take(('handed over',), after)] == ['converged']


def test_changes_in_a_row_are_told_from_the_last_values_known():
    chronicle = Chronicle()
    chronicle.take(('handed over',), estimate())
    chronicle.take(('changed',), estimate((1, 1)))
    chronicle.take(('changed',), estimate((1, 1)))
    _, news = chronicle.take(('handed over',), estimate((2, 3)))
    assert news.values['before elbow.damping'] == 0.1


def test_a_change_and_what_follows_may_come_in_one_report():
    chronicle = Chronicle()
    chronicle.take((), estimate())
    events = chronicle.take(('changed', 'fitted', 'handed over'), estimate((2, 3)))
    assert [event.name for event in events] == ['changed', 'converged', 'new values']
    assert events[-1].values['after lower.mass'] == 3.0


def test_an_explained_change_is_told_with_its_cause():
    chronicle = Chronicle()
    chronicle.take((), estimate())
    chronicle.take(('changed',), estimate((1, 1)))
    words = ('explained', 'cause: mass on lower (0.98)')
    (news,) = chronicle.take(words, estimate((2, 3)))
    assert news.name == 'new values' and news.values['cause'] == 'mass on lower (0.98)'
    assert news.values['before elbow.damping'] == 0.1
    assert news.values['after lower.mass'] == 3.0
    # What is explained has not to be told again.
    assert [event.name for event in chronicle.take(('handed over',), estimate())] == ['converged']


def test_what_is_held_fixed_and_doubted_is_named():
    chronicle = Chronicle()
    words = ('fitted', 'doubts: elbow.damping, camera.delay')
    (event,) = chronicle.take(words, estimate())
    assert event.name == 'doubted' and event.is_warning
    assert 'elbow.damping, camera.delay' in event.text


def test_a_change_that_nothing_explains_is_told_so():
    chronicle = Chronicle()
    chronicle.take((), estimate())
    first, second = chronicle.take(('changed', 'forgotten'), estimate((1, 1)))
    assert (first.name, second.name, second.is_warning) == ('changed', 'forgotten', True)
    news = chronicle.take(('handed over',), estimate((2, 3)))[-1]
    assert (news.name, news.values['cause']) == ('new values', 'everything')


def later(seconds):
    return replace(estimate(), stamp_ns=STAMP_NS + seconds * 10**9)


@pytest.mark.parametrize('word', ['efforts unknown', 'outlier', 'update refused'])
def test_what_lasts_is_told_when_it_begins(word):
    chronicle = Chronicle()
    (event,) = chronicle.take((word, word), later(0))
    assert (event.name, event.is_warning) == (word, True)
    assert chronicle.take((word,), later(1)) == ()
    # No frame has come since.
    assert chronicle.take((), later(1)) == ()
    assert chronicle.take((word,), later(2)) == ()
    assert chronicle.take((), later(3)) == ()
    assert chronicle.take((word,), later(4)) == (event,)


def test_a_rest_is_told_once_until_the_robot_has_moved():
    chronicle = Chronicle()
    (event,) = chronicle.take(('at rest',), later(0))
    assert (event.name, event.is_warning) == ('at rest', False)
    # It is looked at now and then only.
    assert chronicle.take((), later(1)) == ()
    assert chronicle.take(('at rest',), later(2)) == ()
    assert chronicle.take(('fitted',), later(3)) == ()
    assert chronicle.take(('at rest',), later(4)) == (event,)


def test_a_lost_mode_is_told_once():
    chronicle = Chronicle()
    chronicle.take(('handed over',), estimate(), modes=2)
    (lost,) = chronicle.take((), estimate(), modes=1)
    assert (lost.name, lost.text, lost.values) == (
        'mode lost',
        'of 2 modes 1 are left',
        {'modes': 1},
    )
    assert chronicle.take((), estimate(), modes=1) == ()


def test_a_change_is_no_lost_mode():
    chronicle = Chronicle()
    chronicle.take(('handed over',), estimate(), modes=2)
    assert [event.name for event in chronicle.take(('changed',), estimate())] == ['changed']


def test_a_reset_is_told_and_is_no_lost_mode():
    chronicle = Chronicle()
    chronicle.take(('handed over',), estimate(), modes=2)
    (event,) = chronicle.take(('reset',), estimate())
    assert (event.name, event.is_warning) == ('reset', False)
    assert chronicle.take((), estimate()) == ()


def test_after_a_reset_nothing_is_new_compared_with_what_was_before():
    chronicle = Chronicle()
    chronicle.take(('handed over', 'changed'), estimate())
    chronicle.take(('reset',), estimate())
    assert [e.name for e in chronicle.take(('handed over',), estimate((2, 3)))] == ['converged']


def test_a_prediction_is_of_the_joints_by_name(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    # Two numbers more, as where efforts of unknown origin are reckoned with.
    message = received(predicted_message(model, np.array([0.1, 0.2, -1, 2, 7, 7.0]), STAMP_NS))
    assert message.header.stamp.nanosec == 7
    assert message.name == ['shoulder', 'elbow']
    assert message.position.tolist() == [0.1, 0.2]
    assert message.velocity.tolist() == [-1.0, 2.0]


def test_a_prediction_has_the_joints_that_follow_others(gripper_urdf):
    message = predicted_message(load_urdf(gripper_urdf), np.array([0.02, 0.5]), STAMP_NS)
    assert message.name == ['left', 'right']
    assert message.position.tolist() == pytest.approx([0.02, -0.019])
    assert message.velocity.tolist() == pytest.approx([0.5, -0.5])


def test_a_prediction_leaves_out_what_has_no_place_in_joint_states(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf, joint_types={'shoulder': 'spherical'})
    message = predicted_message(model, np.array([1, 0, 0, 0, 0.3, 9, 9, 9, 0.4]), STAMP_NS)
    assert message.name == ['elbow']
    assert (message.position[0], message.velocity[0]) == (0.3, 0.4)
