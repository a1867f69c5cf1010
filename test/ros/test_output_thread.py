"""What the worker makes for the node to publish, when, and what happens where it cannot."""

from dataclasses import replace
import logging
import multiprocessing
import threading

from posteriors import feed, pipeline_of, samples_of
import pytest
from waiting import PATIENCE

from sim2real_estimator.config import Config

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import MarkerArray

from sim2real_estimator.reported_events import Happened
from sim2real_estimator.ros.publishers import read_samples
from sim2real_estimator.ros.worker import output_messages
from sim2real_estimator.ros.worker.output_thread import OutputThread
from sim2real_estimator.ros.worker.pipes import Reply, Wishes

SETTINGS = Config()


def wishes_of(*topics, **markers):
    """Return `Wishes` for topics; markers: settings of theirs."""
    samples = replace(SETTINGS.samples, count=5)
    return Wishes(frozenset(topics), 50.0, samples, replace(SETTINGS.markers, **markers))


@pytest.fixture(scope='module')
def progress():
    """Return the pipeline and what it knew before and after its last frames."""
    pipeline = pipeline_of()
    samples = samples_of()
    feed(pipeline, samples[:200], to_the_end=False)
    before = pipeline.progress
    feed(pipeline, samples[200:420], to_the_end=False)
    assert pipeline.progress.assessment.latest is not before.assessment.latest
    return pipeline, before, pipeline.progress


class Desk:
    """Somebody who steps an `OutputThread`, and gets what it sends."""

    def __init__(self, pipeline):
        """Begin."""
        self._near, far = multiprocessing.Pipe(duplex=False)
        self._is_free = threading.Event()
        self.outputs = OutputThread(pipeline.problem, far, self._is_free.set)

    def made(self):
        """Step until nothing is done any more; return what was sent."""
        self.outputs.step()
        while self.outputs._composing or self.outputs._drawing:
            for future in (self.outputs._composing, self.outputs._drawing):
                if future:
                    future.exception(PATIENCE)
            before = self.outputs._composing, self.outputs._drawing
            self.outputs.step()
            if before == (self.outputs._composing, self.outputs._drawing):
                break
        items = []
        while self._near.poll():
            items.append(self._near.recv())
        return items


@pytest.fixture
def desk(progress):
    desk = Desk(progress[0])
    yield desk
    desk.outputs.close()


def topics(items):
    return [item.topic for item in items]


def test_the_payload_is_sent_where_it_has_changed(desk, progress):
    _, before, after = progress
    desk.outputs.wish(wishes_of('payload', 'payload_uncertainty'))
    desk.outputs.note(before)
    assert topics(desk.made()) == ['payload', 'payload_uncertainty']
    # The same, of a later instant.
    payload = replace(before.assessment.latest.payload, stamp_ns=after.estimate.stamp_ns)
    latest = replace(after.assessment.latest, payload=payload)
    desk.outputs.note(replace(after, assessment=replace(after.assessment, latest=latest)))
    assert desk.made() == []
    desk.outputs.note(after)
    assert not payload.says_as(after.assessment.latest.payload)
    assert topics(desk.made()) == ['payload', 'payload_uncertainty']


def test_only_what_is_wished_is_made_and_only_once(desk, progress):
    _, before, after = progress
    desk.outputs.note(before)
    assert desk.made() == []
    desk.outputs.wish(wishes_of('posterior', 'coordinates'))
    assert topics(desk.made()) == ['coordinates', 'posterior']
    assert desk.made() == []
    desk.outputs.note(after)
    assert topics(desk.made()) == ['posterior']
    desk.outputs.wish(wishes_of('posterior', 'parameters'))
    assert topics(desk.made()) == ['parameters']


def test_who_listens_again_is_told_again(desk, progress):
    desk.outputs.note(progress[1])
    desk.outputs.wish(wishes_of('posterior'))
    assert len(desk.made()) == 1
    desk.outputs.wish(wishes_of())
    desk.outputs.wish(wishes_of('posterior'))
    assert len(desk.made()) == 1


def test_markers_come_at_their_rate(desk, progress):
    _, before, after = progress
    desk.outputs.wish(wishes_of('markers', rate=1e-3))
    assert desk.outputs.wait() is None
    desk.outputs.note(before)
    assert desk.outputs.wait() == 0
    assert topics(desk.made()) == ['markers']
    assert desk.outputs.wait() is None
    desk.outputs.note(after)
    assert desk.made() == []
    assert 0 < desk.outputs.wait() <= 1000
    desk.outputs.wish(wishes_of('markers', rate=1e9))
    assert topics(desk.made()) == ['markers']


def test_ghosts_are_beside_the_likeliest_motion(desk, progress):
    desk.outputs.note(progress[1])
    desk.outputs.wish(wishes_of('markers', ghosts=2))
    (item,) = desk.made()
    message = deserialize_message(item.data, MarkerArray)
    assert len([m for m in message.markers if m.ns == 'future of lower']) == 3


def test_axes_that_are_no_parameters_are_refused_and_the_first_ones_are_shown(desk, progress):
    desk.outputs.note(progress[1])
    refusal = desk.outputs.wish(wishes_of('markers', kernels=('a', 'b')))
    first, second, *_ = progress[0].problem.parametrization.names
    assert f"there is no parameter 'a' to show; choose two of {first}" in refusal
    (item,) = desk.made()
    message = deserialize_message(item.data, MarkerArray)
    names = [m.text.partition(' [')[0] for m in message.markers if m.ns == 'parameter names']
    assert names[:2] == [first, second]


def test_draws_that_are_asked_for_are_answered_with_what_they_are(desk, progress):
    desk.outputs.wish(wishes_of('samples'))
    desk.outputs.ask(17, progress[1])
    item, reply = desk.made()
    assert (reply.number, reply.is_good) == (17, True)
    found = read_samples(deserialize_message(item.data, PointCloud2))
    assert {len(draws) for draws in found.values()} == {5}


def test_draws_let_the_estimator_go_first(desk, progress, monkeypatch):
    going, original = threading.Event(), desk.outputs._may_draw.wait
    paused = []

    def wait(seconds):
        paused.append(desk.outputs._may_draw.is_set())
        going.set()
        return original(PATIENCE)

    monkeypatch.setattr(desk.outputs._may_draw, 'wait', wait)
    desk.outputs.wish(wishes_of('samples'))
    desk.outputs.ask(1, progress[1])
    desk.outputs.step(is_behind=True)
    assert going.wait(PATIENCE)
    assert not desk.outputs._drawing.done()
    # They go on as soon as it has caught up.
    _, reply = desk.made()
    assert reply.is_good
    assert paused[0] is False and paused[-1] is True


def test_draws_of_a_turn_are_of_the_turn_itself(desk, progress):
    pipeline, before, after = progress
    report = replace(before.estimate.report, events=(Happened.HANDED_OVER,))
    turn = replace(before, estimate=replace(before.estimate, report=report))
    desk.outputs.note(turn)
    desk.outputs.note(after)
    # Nobody can publish them yet; they are not forgotten.
    assert desk.made() == []
    desk.outputs.wish(wishes_of('samples'))
    (item,) = desk.made()
    stamp = deserialize_message(item.data, PointCloud2).header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == before.estimate.stamp_ns
    assert desk.made() == []


def test_after_a_reset_nothing_old_is_told(desk, progress):
    desk.outputs.note(progress[1])
    desk.outputs.wish(wishes_of('posterior', 'markers'))
    desk.made()
    desk.outputs.note(progress[2])
    desk.outputs.forget()
    assert desk.made() == []
    desk.outputs.note(progress[1])
    assert topics(desk.made()) == ['posterior', 'markers']


def test_what_cannot_be_made_is_in_the_log_once_and_stops_nothing(
    desk, progress, monkeypatch, caplog
):
    def fail(*_):
        raise ArithmeticError('no number')

    desk.outputs.wish(wishes_of('parameters', 'posterior', 'samples'))
    monkeypatch.setattr(output_messages, 'draw_samples', fail)
    with caplog.at_level(logging.ERROR):
        for number in (1, 2):
            desk.outputs.ask(number, progress[1])
            (reply,) = desk.made()
            assert isinstance(reply, Reply)
            assert (reply.number, reply.is_good) == (number, False)
            assert 'the log of the node says why' in reply.text
        desk.outputs.note(progress[1])
        assert topics(desk.made()) == ['parameters', 'posterior']
    assert len(caplog.records) == 1
