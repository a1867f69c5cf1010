"""Recordings of a synthetic robot: bags with known truth."""

from ...bags.writer import BagWriter
from ...messages import serialized, TypestoreMaker
from .readings import message_of

# Time of the robot's start in a bag [ns]; any other would do.
START_NS = 1_700_000_000 * 10**9


def record(path, robot, seconds, storage='mcap', start_ns=START_NS):
    """
    Write what a `SyntheticRobot` sends in the next seconds into a bag.

    Each message has the time of its arrival in the bag, as from a recorder, and its stamp inside.
    """
    robot.begin(start_ns)
    makers = {}

    def make(message_type, **fields):
        if message_type not in makers:
            makers[message_type] = TypestoreMaker(message_type)
        return makers[message_type](**fields)

    with BagWriter(path, storage) as bag:
        for reading in robot.run(seconds):
            content = serialized(message_of(reading, make))
            topic = f'/{reading.topic.lstrip("/")}'
            bag.write(topic, reading.message_type, start_ns + reading.due_ns, content)
