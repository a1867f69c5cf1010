"""What is wrong with what comes in is told when it begins, with the remedy, and when it ends."""

from types import SimpleNamespace

import pytest
from simulated import CONFIG

pytest.importorskip('rclpy')

from listening import Listener
from live import node_process
import numpy as np
from recordings import joint_state
from sensor_msgs.msg import JointState

from sim2real_estimator.ros.watch import Watch

SECOND = 10**9
NOW_NS = 1_800_000_000 * SECOND


class Line:
    """A topic, and a `Watch` that looks at it ten times a second."""

    def __init__(self, names=('a', 'b')):
        """Begin at zero."""
        self._input = SimpleNamespace(
            topic='/joint_states',
            received=0,
            stamp_ns=0,
            joints=('a', 'b'),
            names=set(),
            jumps=0,
            jump=0.0,
            publishers=lambda: self.nodes,
            of_same_type=lambda: self.others,
            has_parts=lambda number: self.are_parts,
        )
        self.nodes, self.are_parts, self.others = ('/arm',), False, ()
        self._names, self._time = names, 0.0
        self.watch = Watch(self._input)

    def jump(self, seconds):
        """Let stamps jump by so much."""
        self._input.jumps, self._input.jump = self._input.jumps + 1, seconds

    def wait(self, seconds, is_sending, late_ns=0, clock_ns=NOW_NS):
        """Return [(kind, text, has ended)] of what is told meanwhile."""
        told = []
        for _ in range(round(10 * seconds)):
            self._time += 0.1
            if is_sending:
                self._input.received += 1
                self._input.stamp_ns = NOW_NS - late_ns
                self._input.names.update(self._names)
            told += self.watch.look(self._time, clock_ns)
        return [(each.kind, each.text, each.has_ended) for each in told]


def test_what_comes_as_it_should_is_no_news():
    line = Line()
    assert line.wait(9, is_sending=True) == []
    assert line.watch.troubles == {}


def test_silence_is_told_once_and_so_is_its_end():
    line = Line()
    line.wait(1, is_sending=True)
    assert line.wait(2, is_sending=False) == []
    ((kind, text, has_ended),) = line.wait(9, is_sending=False)
    assert (kind, has_ended) == ('silent', False)
    assert 'see that somebody publishes it' in text
    assert line.watch.troubles == {'silent': text}
    assert line.wait(1, is_sending=True) == [('silent', text, True)]
    assert line.watch.troubles == {}


def test_a_topic_that_never_says_anything_is_silent():
    ((kind, *_),) = Line().wait(9, is_sending=False)
    assert kind == 'silent'


@pytest.mark.parametrize(
    ('late_ns', 'side'), [(7200 * SECOND, 'behind'), (-7200 * SECOND, 'ahead of')]
)
def test_a_clock_that_differs_by_hours_is_told_with_the_remedy(late_ns, side):
    line = Line()
    ((kind, text, has_ended),) = line.wait(5, True, late_ns)
    assert (kind, has_ended) == ('clock', False)
    assert f'2.0 hours {side}' in text and 'use_sim_time' in text
    assert line.wait(5, True) == [('clock', text, True)]


def test_latency_and_a_clock_that_has_not_begun_are_no_news():
    assert Line().wait(5, True, late_ns=60 * SECOND) == []
    assert Line().wait(5, True, late_ns=7200 * SECOND, clock_ns=0) == []


def test_joints_that_never_come_are_told_by_name():
    line = Line(names=('a', 'x'))
    assert line.wait(2, is_sending=True) == []
    ((kind, text, has_ended),) = line.wait(9, is_sending=True)
    assert (kind, has_ended) == ('names', False)
    assert text.startswith('no message has the joints b; there are a, x')


def test_joints_may_come_from_several_publishers():
    line = Line(names=('a',))
    line.wait(2, is_sending=True)
    line._names = ('b',)
    assert line.wait(9, is_sending=True) == []


@pytest.mark.parametrize(('seconds', 'side'), [(-12.5, 'back'), (3600.0, 'ahead')])
def test_a_clock_that_jumps_is_told_once_and_for_a_while(seconds, side):
    line = Line()
    line.wait(1, is_sending=True)
    line.jump(seconds)
    ((kind, text, has_ended),) = line.wait(1, is_sending=True)
    assert (kind, has_ended) == ('jump', False)
    assert f'{side} by {abs(seconds):.1f} s; what is known stays' in text
    line.jump(seconds)
    assert line.wait(3, is_sending=True) == []
    assert line.wait(2, is_sending=True) == [('jump', text, True)]


def test_nodes_that_publish_the_same_are_named():
    line = Line()
    line.nodes = ('/arm', '/left/arm')
    ((kind, text, has_ended),) = line.wait(1, is_sending=True)
    assert (kind, has_ended) == ('rivals', False)
    assert '/arm, /left/arm publish the same' in text
    line.nodes = ('/arm',)
    assert line.wait(1, is_sending=True) == [('rivals', text, True)]


def test_nodes_may_publish_a_part_of_the_joints_each():
    line = Line()
    line.nodes, line.are_parts = ('/arm', '/gripper'), True
    assert line.wait(1, is_sending=True) == []


def test_what_does_not_matter_is_forgotten():
    line = Line()
    line.wait(9, is_sending=False)
    line.watch.begin(None)
    assert line.watch.troubles == {}
    assert line.wait(2, is_sending=False) == []


def test_topics_that_may_be_meant_are_named():
    line = Line()
    line.others = ('/arm/joint_states',)
    ((kind, text, _),) = line.wait(10, is_sending=False)
    assert kind == 'silent' and text.endswith('remap it; of its type there is /arm/joint_states')


def test_a_silent_input_is_an_event_and_wrong_names_are_in_log_and_diagnostics(client, tmp_path):
    output = tmp_path / 'output'
    with node_process(CONFIG, output):
        listener = Listener(client, ('events',))

        def events():
            return [(at, e.name, e.values.get('topic')) for at, e in listener.events()]

        elsewhere = client.node.create_publisher(JointState, '/arm/joint_states', 1)
        publisher = client.publisher(JointState, 'joint_states')
        client.wait(lambda: listener.has_publisher('events'), 'the publisher of events')
        message = joint_state(5 * SECOND, np.zeros(2), np.zeros(2))
        message.name = ['left', 'right']
        publisher.publish(message)
        client.wait(lambda: 'input lost' in [name for _, name, _ in events()], 'the silence')
        assert (5 * SECOND, 'input lost', '/joint_states') in events()
        client.wait(
            lambda: 'nothing comes in' in client.status('input /joint_states')[1], 'the status'
        )

        def is_named():
            publisher.publish(message)
            return 'no message has the joints' in client.status('input /joint_states')[1]

        client.wait(is_named, 'the names')
        assert 'shoulder' in client.status('input /joint_states')[1]
        assert 'hours behind' in client.status('input /joint_states')[1]
        assert (5 * SECOND, 'input back', '/joint_states') in events()
        client.node.destroy_publisher(publisher)
        client.node.destroy_publisher(elsewhere)
        listener.close()
    said = output.read_text()
    assert 'or remap it; of its type there is /arm/joint_states' in said
    for text in ('nothing comes in', 'hours behind', 'no message has the joints'):
        assert len([x for x in said.splitlines() if text in x and 'no longer' not in x]) == 1
