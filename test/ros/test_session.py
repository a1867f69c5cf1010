"""What the node says of its worker in the log."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from sim2real_estimator.ros.session import Session


def test_longer_frames_are_told_once_until_they_are_as_usual_again():
    said = []
    logger = SimpleNamespace(warning=said.append, info=said.append)
    session = SimpleNamespace(_reliefs=0, _is_relieved=False, _logger=logger)
    # Between two reports it may have caught up, and have got longer once more.
    for reliefs, is_relieved in ((1, True), (3, True), (3, False), (4, False), (4, False)):
        report = SimpleNamespace(reliefs=reliefs, is_relieved=is_relieved)
        Session._tell_relief(session, report)
    assert ['made longer' in text for text in said] == [True, False] * 2
    assert ['as usual again' in text for text in said] == [False, True] * 2
