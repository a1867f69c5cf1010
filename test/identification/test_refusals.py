"""What cannot be right about a recording is said in a sentence, and nothing is written."""

from dataclasses import replace

from bag_files import joints, pose, SECOND, START, write
import numpy as np
import pytest
from simulated import CONFIG
from simulated import config as shipped_config

from sim2real_estimator import cli
from sim2real_estimator.config import to_yaml
from sim2real_estimator.config.tree import SensorConfig
from sim2real_estimator.errors import DataError
from sim2real_estimator.identification.survey import survey

TIMES = np.arange(400) / 100


def swing(factor=1.0, begin_ns=START, topic='/joint_states'):
    """Return entries of joints that swing by one radian, times a factor."""
    angles = factor * np.sin(TIMES[:, None] * [7.0, 11.0])
    stamps = begin_ns + (TIMES * SECOND).astype(int)
    return [joints(s, a, [0.1, 0.2], topic=topic) for s, a in zip(stamps, angles)]


def flight(factor=1.0, begin_ns=START):
    """Return entries of a body that circles with a radius of half a metre, times a factor."""
    places = 0.5 * factor * np.stack([np.cos(3 * TIMES), np.sin(3 * TIMES), 0 * TIMES], 1)
    stamps = begin_ns + (TIMES * SECOND).astype(int)
    return [pose(s, p) for s, p in zip(stamps, places)]


def ordered(entries):
    return sorted(entries, key=lambda entry: entry[2])


@pytest.fixture
def refusal(tmp_path, capsys):
    """Return a function that identifies entries in vain, and returns what is said."""

    def refused(entries, config=None, *arguments):
        path = write(tmp_path / 'bag', ordered(entries))
        return refused_path(path, config, *arguments)

    def refused_path(path, config=None, *arguments):
        settings = tmp_path / 'robot.yaml'
        config = config or shipped_config()
        urdf = str(CONFIG.with_suffix('.urdf'))
        config = replace(config, model=replace(config.model, urdf=urdf))
        settings.write_text(to_yaml(config))
        output = tmp_path / 'result'
        command = ['identify', str(path), '--config', str(settings), '-o', str(output)]
        assert cli.main([*command, *arguments]) == 2
        assert not output.exists() and not (tmp_path / 'result.partial').exists()
        said = capsys.readouterr().err
        assert said.startswith('sim2real-estimator: ') and 'Traceback' not in said
        return said

    refused.path = refused_path
    return refused


def with_mocap():
    """Return the shipped config with a body on the lower link."""
    config = shipped_config()
    hand = SensorConfig('link_pose', 'mocap', link='lower', position_sd=0.001)
    return replace(config, sensors={**config.sensors, 'hand': hand})


def test_degrees_are_suspected(refusal):
    said = refusal(swing(factor=180 / np.pi))
    assert "joint 'shoulder' reaches 57 rad" in said and 'probably degrees' in said


def test_millimetres_are_suspected(refusal):
    said = refusal([*swing(), *flight(factor=1000.0)], with_mocap())
    assert 'moves over 1000 m' in said and 'probably millimetres' in said


def test_what_is_in_the_units_of_ros_is_no_reason(tmp_path):
    from sim2real_estimator.bags.matching import match, wanted_topics
    from sim2real_estimator.bags.reader import BagReader
    from sim2real_estimator.identification.survey import require_plausible_units
    from sim2real_estimator.sources import build_model, build_sensors, settings_of, topics

    config = with_mocap()
    model = build_model(config)
    wanted = wanted_topics(build_sensors(config, model), topics(config), settings_of(config))
    with BagReader(write(tmp_path / 'bag', ordered([*swing(), *flight()]))) as bag:
        matches = match(wanted, bag)
        found = survey(bag, matches)
        require_plausible_units(bag, matches, found, model, is_fixed=True)
    assert found['/mocap'].latency == pytest.approx(0.002)
    assert found['/mocap'].latency_sd == pytest.approx(0.0, abs=1e-9)
    assert found['/mocap'].first_ns == START


def test_topics_without_a_common_time_are_named(refusal):
    said = refusal([*swing(), *flight(begin_ns=START + 5 * SECOND)], with_mocap())
    assert "'/mocap' begins 1.0 s after '/joint_states' has ended" in said


def test_stamps_that_nobody_has_set_are_named(refusal):
    entries = [
        (topic, kind, time + k, message)
        for k, (topic, kind, time, message) in enumerate(swing(begin_ns=0))
    ]
    for _, _, _, message in entries:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    assert "stamps of '/joint_states' are zero" in refusal(entries)


def test_a_clock_that_was_set_back_is_named(refusal):
    # The recorder's own clock goes on.
    later = [(topic, kind, time + 4 * SECOND, message) for topic, kind, time, message in swing()]
    entries = [*swing(begin_ns=START + 2 * SECOND)[:9], *later]
    assert 'go back by 2.1 s after 9 messages' in refusal(entries, None, '--held-out', '0')


def test_a_recording_that_ends_before_it_begins_is_named(refusal):
    earlier = [(topic, kind, time + 9 * SECOND, message) for topic, kind, time, message in swing()]
    said = refusal([*swing(begin_ns=START + 5 * SECOND), *earlier])
    assert "stamps of '/joint_states' go back on the way: the last is 1.0 s" in said


def test_a_robot_at_rest_is_named(refusal):
    assert 'the robot does not move' in refusal(swing(factor=0.0))


def test_too_little_is_named_with_what_became_of_it(refusal):
    said = refusal(swing()[:9])
    assert 'too few for a first fit' in said and 'encoders: 7 used' in said


def test_what_is_absent_is_named(refusal):
    said = refusal(swing(topic='/states'), with_mocap())
    assert "no topic 'mocap'" in said and '/states: sensor_msgs/msg/JointState' in said


def test_damage_on_the_way_leaves_nothing(refusal, tmp_path):
    path = write(tmp_path / 'damaged', swing(), 'sqlite3')
    content = bytearray((path / 'damaged.db3').read_bytes())
    content[4096 * 8 : 4096 * 20] = b'\xff' * 4096 * 12
    (path / 'damaged.db3').write_bytes(content)
    assert 'damaged' in refusal.path(path)


def test_a_run_to_follow_that_is_not_there_is_named(refusal):
    assert 'nowhere.npz: cannot be read' in refusal(swing(), None, '--follow', 'nowhere.npz')


def test_a_recording_of_nothing_is_refused(tmp_path, refusal):
    (tmp_path / 'empty').mkdir()
    assert 'holds no .mcap and no .db3' in refusal.path(tmp_path / 'empty')
    with pytest.raises(DataError, match='does not exist'):
        from sim2real_estimator import identify

        identify(tmp_path / 'nowhere', shipped_config())
