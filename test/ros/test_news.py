"""News of the estimator go to the log of ROS and to the topic, whatever their severity."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.logging import get_logger

from sim2real_estimator.records import Estimate, UpdateReport
from sim2real_estimator.ros.news import News
from sim2real_estimator.ros.publishers import read_events


class Outputs:
    """Keeps what is published."""

    def __init__(self):
        """Begin with nothing."""
        self.events = []

    def publish(self, name, message):
        assert name == 'events'
        self.events += read_events(message)[1]


def test_good_and_bad_news_follow_one_another():
    outputs = Outputs()
    news = News((), get_logger('news'), outputs)
    words = ('handed over', 'changed', 'handed over', 'changed')
    for number, word in enumerate(words, 1):
        update = UpdateReport('filter', events=(word,))
        estimate = Estimate(
            number, ('lower.mass',), np.array([1.0]), np.ones(1), ('identified',), update
        )
        findings = SimpleNamespace(modes=((1.0, (1.0,)),))
        news.take(SimpleNamespace(events=(word,), estimate=estimate, findings=findings))
    told = [(event.name, event.is_warning) for event in outputs.events]
    good, bad = ('converged', False), ('changed', True)
    assert told == [good, bad, good, ('new values', False), bad]
