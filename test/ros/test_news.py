"""News of the estimator go to the log of ROS and to the topic, whatever their severity."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.logging import get_logger

from sim2real_estimator.records import Estimate, UpdateReport
from sim2real_estimator.reported_events import Happened
from sim2real_estimator.ros.news import News
from sim2real_estimator.ros.publishers import read_events


class Outputs:
    """Keeps what is published."""

    def __init__(self):
        """Begin with nothing."""
        self.events, self.stamps = [], []

    def publish(self, name, message):
        assert name == 'events'
        stamp_ns, events = read_events(message)
        self.events += events
        self.stamps.append(stamp_ns)


class Topic:
    """An `Input` on which nothing comes any more, if it ever did."""

    received, joints, names = 0, (), frozenset()
    jumps, jump = 0, 0.0

    def __init__(self, topic, stamp_ns):
        """Take the stamp of what came last."""
        self.topic, self.stamp_ns = topic, stamp_ns

    def publishers(self):
        return ()

    def of_same_type(self):
        return ()


def test_good_and_bad_news_follow_one_another():
    outputs = Outputs()
    news = News((), get_logger('news'), outputs)
    reported = 2 * (Happened.HANDED_OVER, Happened.CHANGED)
    for number, each in enumerate(reported, 1):
        update = UpdateReport('filter', events=(each,))
        estimate = Estimate(
            number, ('lower.mass',), np.array([1.0]), np.ones(1), ('identified',), update
        )
        findings = SimpleNamespace(modes=((1.0, (1.0,)),))
        news.take(SimpleNamespace(events=(each,), estimate=estimate, findings=findings))
    told = [(event.name, event.is_warning) for event in outputs.events]
    good, bad = ('converged', False), ('changed', True)
    assert told == [good, bad, good, ('new values', False), bad]


@pytest.mark.parametrize(('newest_ns', 'expected_ns'), [(0, 70), (30, 30)])
def test_an_input_that_was_never_there_is_lost_at_the_time_of_the_node(newest_ns, expected_ns):
    outputs = Outputs()
    inputs = Topic('/joint_states', 0), Topic('/hand', newest_ns)
    news = News(inputs, get_logger('news'), outputs)
    for now in (0.0, 9.0):
        news.look(now, 70, is_listening=True)
    assert [event.name for event in outputs.events] == ['input lost'] * 2
    assert outputs.stamps == [expected_ns] * 2
