"""Topics of a recording are found by name, else by what they hold, and what is missing is said."""

from dataclasses import dataclass

from bag_files import JOINT_STATE, joints, pose, short_recording, START, write
import pytest

from sim2real_estimator.bags.matching import match, Wanted, wanted_topics
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.errors import ConfigError, DataError


@dataclass
class Source:
    """What matching asks a sensor for."""

    name: str
    message_type: str = JOINT_STATE
    joints: tuple = ('shoulder', 'elbow')


ENCODERS = Wanted('joint_states', JOINT_STATE, (Source('encoders'),), ('sensors.encoders.topic',))


def matched(tmp_path, entries, wanted=(ENCODERS,)):
    """Return [(topic, how)] of a recording of these entries."""
    with BagReader(write(tmp_path / 'bag', entries)) as bag:
        return [(each.topic, each.how) for each in match(wanted, bag)]


def renamed(topic, **changes):
    return short_recording(5, topic=topic, **changes)


WHEELS = short_recording(5, names=['left', 'right'], topic='/wheels')


def test_the_name_of_the_config_counts_most(tmp_path):
    entries = [*renamed('/joint_states'), *renamed('/arm/joint_states')]
    assert matched(tmp_path, entries) == [('/joint_states', 'config')]


def test_a_namespace_may_go_before_it(tmp_path):
    entries = [*renamed('/arm/joint_states'), *renamed('/encoders')]
    assert matched(tmp_path, entries) == [('/arm/joint_states', 'namespace')]


def test_else_it_is_guessed_by_type_and_joints(tmp_path):
    entries = [*WHEELS, *renamed('/measured')]
    assert matched(tmp_path, entries) == [('/measured', 'guessed')]


def test_poses_are_guessed_by_type(tmp_path):
    mocap = Source('hand', 'geometry_msgs/msg/PoseStamped')
    wanted = Wanted('vicon/hand', mocap.message_type, (mocap,), ('sensors.hand.topic',))
    entries = [*renamed('/joint_states'), pose(START, (0, 0, 1))]
    found = matched(tmp_path, entries, (ENCODERS, wanted))
    assert found == [('/joint_states', 'config'), ('/mocap', 'guessed')]


def test_what_is_absent_is_named_with_all_that_is_there(tmp_path):
    with pytest.raises(DataError) as caught:
        matched(tmp_path, [*WHEELS, pose(START, (0, 0, 1), '/joint_sates')])
    text = str(caught.value)
    assert "no topic 'joint_states' of sensor_msgs/msg/JointState for encoders" in text
    assert "did you mean '/joint_sates'?" in text
    assert '/wheels: sensor_msgs/msg/JointState, 5 messages' in text
    assert '/joint_sates: geometry_msgs/msg/PoseStamped, 1 messages' in text
    assert 'set sensors.encoders.topic to one of them' in text


def test_two_that_could_be_meant_are_not_guessed_from(tmp_path):
    with pytest.raises(DataError, match='2 others could be meant'):
        matched(tmp_path, [*renamed('/one'), *renamed('/two')])


def test_a_topic_of_another_type_is_refused(tmp_path):
    with pytest.raises(DataError, match="'/joint_states' holds geometry_msgs/msg/PoseStamped"):
        matched(tmp_path, [pose(START, (0, 0, 1), '/joint_states')])


def test_sources_share_a_topic():
    sources = (Source('encoders'), Source('measured_efforts'), Source('other'))
    topics = {'encoders': 'a', 'measured_efforts': 'a', 'other': 'b'}
    first, second = wanted_topics(sources, topics, {name: f'{name}.topic' for name in topics})
    assert first.sources == sources[:2] and second.sources == sources[2:]
    assert first.settings == ('encoders.topic', 'measured_efforts.topic')


def test_one_topic_has_one_type():
    sources = (Source('encoders'), Source('hand', 'geometry_msgs/msg/PoseStamped'))
    topics = {'encoders': 'a', 'hand': 'a'}
    with pytest.raises(ConfigError, match='give each type a topic of its own'):
        wanted_topics(sources, topics, topics)


def test_messages_about_other_joints_may_come_first(tmp_path):
    entries = [joints(START - 10**9, [0.0], [0.0], ['gripper'], '/measured')]
    assert matched(tmp_path, [*entries, *renamed('/measured'), *WHEELS])[0][0] == '/measured'
