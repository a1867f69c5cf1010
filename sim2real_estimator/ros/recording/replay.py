"""The node of `replay`: a recording's messages on their topics, and its time on `/clock`."""

import time

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from ...bags.matching import match, wanted_topics
from ...errors import DataError
from ...messages import ros_class
from ...setup.sources import listed, settings_of, topics
from ..publishers.stamps import set_stamp
from ..quality import overridable
from .keys import Keys

NAME = 'replay'
_NANO = 1e9
# The topic of the recording's time, as with ros2 bag.
_CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Between two times that are logged: in the recording, and at least for those who listen [ns].
_CLOCK_PERIOD, _LEAST_PERIOD = 10_000_000, 2_000_000
# Reliable, as that is received by who asks for it and by who does not.
_DEPTH = 1000
_SHOW_PERIOD = 200_000_000
# What is on its way at the end may take so long [s]: readers are asked every 3 s by Fast DDS.
_PATIENCE = 4.0
# They tell of ROS when it was recorded, or would contradict the time of now.
_LEFT_OUT = frozenset(('/clock', '/rosout', '/parameter_events'))
_PAUSE, _STEP, _QUIT = ' ', 's', 'q'


def names_of(bag, config=None):
    """
    Return topic of a recording -> name to publish it by.

    config: a `Config`: only what its estimator reads, by the names that it reads it by.
    """
    if config is None:
        return {name: name for name, topic in bag.topics.items() if name not in _LEFT_OUT}
    found = match(wanted_topics(listed(config), topics(config), settings_of(config)), bag)
    names = {each.topic: each.wanted.name for each in found}
    if config.node.robot_description and '/robot_description' in bag.topics:
        names['/robot_description'] = 'robot_description'
    return names


class ReplayNode(Node):
    """Publishes the messages of a `Playback`."""

    def __init__(self, bag, playback, names, rate=1.0, is_waiting=False):
        """
        Publish the topics, and nothing on them yet.

        bag: a `BagReader`; names: as of `names_of`; rate: of the playback; is_waiting: for
        somebody who listens to each of them. A DataError where none can be published.
        """
        super().__init__(NAME, start_parameter_services=False)
        self._playback, self._is_waiting = playback, is_waiting
        self._period = max(_LEAST_PERIOD, round(_CLOCK_PERIOD / rate))
        self._ticked, self._shown = 0, 0
        self._clock_output = self.create_publisher(Clock, '/clock', **overridable(_CLOCK))
        self._outputs, self._kept = {}, set()
        for topic, name in names.items():
            self._add(bag.topics[topic], name)
        if not self._outputs:
            raise DataError(f'{bag.path}: has no topic whose type is known here')
        names = ', '.join(each.topic_name for each in self._outputs.values())
        self.get_logger().info(f'publishing {names}')

    def close(self):
        """End the node."""
        self.destroy_node()

    def drive(self, stop):
        """Play until the end, a key, or an event ends it."""
        with Keys() as keys:
            if keys.is_there:
                print('space: pause, s: step, q: quit')
            if not self._is_waiting or self._wait(stop, keys):
                self._play(stop, keys)
            if self._shown:
                print()
        if self._playback.is_over:
            end = time.monotonic() + _PATIENCE
            for output in self._outputs.values():
                left = max(0.0, end - time.monotonic())
                output.wait_for_all_acked(Duration(seconds=left))

    def _play(self, stop, keys):
        playback = self._playback
        for topic, content in playback.before(self._kept).items():
            self._outputs[topic].publish(content)
        playback.begin(time.monotonic_ns())
        while not stop.is_set() and not playback.is_over:
            now_ns = time.monotonic_ns()
            if not self._heed(keys.pressed(), now_ns):
                return
            self._tick(now_ns)
            self._publish_due(now_ns)
            self._show(keys, now_ns)
            wait_ns = min(playback.wait_ns(time.monotonic_ns()), self._period)
            if wait_ns > 0:
                stop.wait(wait_ns / _NANO)

    def _publish_due(self, now_ns):
        for topic, content in self._playback.due(now_ns):
            self._outputs[topic].publish(content)

    def _add(self, topic, name):
        """Publish a `TopicInBag` by a name, if there is its type."""
        try:
            kind = ros_class(topic.message_type)
        except (ImportError, DataError):
            self.get_logger().warning(
                f"'{topic.name}' is left out: its type is not known here: {topic.message_type}"
            )
            return
        durability = DurabilityPolicy.VOLATILE
        if topic.is_kept:
            durability = DurabilityPolicy.TRANSIENT_LOCAL
            self._kept.add(topic.name)
        qos = QoSProfile(depth=_DEPTH, durability=durability)
        self._outputs[topic.name] = self.create_publisher(kind, name, **overridable(qos))

    def _wait(self, stop, keys):
        """Wait for who listens, at the first time of the recording; tell whether to play."""
        said = None
        while not stop.is_set():
            outputs = self._outputs.values()
            alone = [each.topic_name for each in outputs if not each.get_subscription_count()]
            pressed = keys.pressed()
            if _QUIT in pressed:
                return False
            if not alone or _PAUSE in pressed:
                return True
            if alone != said:
                said = alone
                self.get_logger().info(f'waiting for somebody to listen to {", ".join(alone)}')
            now_ns = time.monotonic_ns()
            self._playback.begin(now_ns)
            self._tick(now_ns)
            stop.wait(self._period / _NANO)
        return False

    def _heed(self, pressed, now_ns):
        """Do what keys say; tell whether to go on."""
        for key in pressed:
            if key == _PAUSE:
                self._playback.toggle(now_ns)
            elif key == _STEP:
                self._playback.step(now_ns)
                # The next step may be the next key.
                self._publish_due(now_ns)
        return _QUIT not in pressed

    def _tick(self, now_ns):
        """Publish the time of the recording when it is due."""
        if now_ns - self._ticked < self._period:
            return
        self._ticked = now_ns
        message = Clock()
        set_stamp(message.clock, self._playback.time_ns(now_ns))
        self._clock_output.publish(message)

    def _show(self, keys, now_ns):
        """Show somebody who can press keys where it is."""
        if not keys.is_there or now_ns - self._shown < _SHOW_PERIOD:
            return
        self._shown, playback = now_ns, self._playback
        passed, length = (
            (each - playback.begin_ns) / _NANO
            for each in (playback.time_ns(now_ns), playback.end_ns)
        )
        state = 'paused' if playback.is_paused else f'round {playback.rounds + 1}'
        print(f'\r{passed:9.2f} of {length:.2f} s, {state:12}', end='', flush=True)
