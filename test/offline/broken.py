"""What people give to `identify` by mistake, or by bad luck, and what it has to say to them."""

from dataclasses import replace

from bag_files import JOINT_STATE, joints, pose, SECOND, stamped, START, write
import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from simulated import CONFIG
import swinging

from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.config.settings_tree import EstimatorConfig, JointConfig, SensorConfig
from sim2real_estimator.messages import serialized

TIMES = np.arange(400) / 100
NO_MEANING = 'my_robot/msg/Joints'
# Name -> (function of a folder that returns the arguments, texts: what, where, what to do).
CASES = {}


def said(*texts):
    """Let a function be a case; texts: of the message."""

    def add(make):
        CASES[make.__name__] = make, texts
        return make

    return add


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


def ordered(*parts):
    """Return entries in the order of their arrival."""
    return sorted((entry for part in parts for entry in part), key=lambda entry: entry[2])


def moved(entries, seconds):
    """Return entries that the recorder has got later, by its clock, with the same stamps."""
    return [(topic, kind, time + seconds * SECOND, m) for topic, kind, time, m in entries]


def changed(entries, **fields):
    """Return entries whose messages have other fields."""
    for *_, message in entries:
        for name, value in fields.items():
            setattr(message, name, value)
    return entries


def settings(**changes):
    """Return a `Config`; changes: settings by dotted path."""
    config = with_values(swinging.config(), {k.replace('__', '.'): v for k, v in changes.items()})
    return replace(config, model=replace(config.model, urdf=str(CONFIG.with_suffix('.urdf'))))


def with_mocap():
    """Return the settings with a body on the lower link."""
    hand = SensorConfig('link_pose', 'mocap', link='lower', position_sd=0.001)
    return replace(settings(), sensors={**settings().sensors, 'hand': hand})


def command(folder, *bags, config=None, options=()):
    """Return the arguments, the settings written to a file."""
    path = folder / 'robot.yaml'
    path.write_text(to_yaml(config or settings()))
    paths = map(str, bags)
    return [*paths, '--config', str(path), '-o', str(folder / 'result'), *options]


def recorded(folder, *parts, config=None, options=()):
    """Return the arguments for a recording of entries, in their order."""
    path = write(folder / 'bag', [entry for part in parts for entry in part])
    return command(folder, path, config=config, options=options)


def damaged(folder, change, storage='mcap', compression='none'):
    """Return the arguments for a recording whose file was changed: bytes -> bytes."""
    path = write(folder / 'bag', swing(), storage, compression)
    (file,) = (each for each in path.iterdir() if each.name != 'metadata.yaml')
    file.write_bytes(change(file.read_bytes()))
    return command(folder, path)


def half(content):
    return content[: len(content) // 2]


@said('/bag/bag.mcap: is cut off or damaged', 'copy it again', '`mcap recover`')
def truncated_mcap(folder):
    return damaged(folder, half)


@said('/bag/bag.mcap: is cut off or damaged', 'seems to be empty', 'copy it again')
def empty_mcap(folder):
    return damaged(folder, lambda _: b'')


@said('/bag/bag.db3: is cut off or damaged', 'malformed', '`sqlite3 FILE .recover`')
def truncated_database(folder):
    return damaged(folder, half, 'sqlite3')


@said('/bag', 'damaged', '`sqlite3 FILE .recover`')
def corrupted_page(folder):
    page = 4096
    return damaged(folder, lambda c: c[: 12 * page] + bytes(page) + c[13 * page :], 'sqlite3')


@said('/bag/bag.db3: is cut off or damaged', 'not a database', 'copy it again')
def no_database(folder):
    return damaged(folder, lambda content: b'hello ' * len(content), 'sqlite3')


@said('/bag/bag.db3.zstd: is cut off or damaged', 'copy it again')
def truncated_archive(folder):
    return damaged(folder, half, 'sqlite3', 'file')


@said("/bag: topic '/joint_states'", 'are cut off or of another type', 'record it again')
def truncated_message(folder):
    with BagWriter(folder / 'bag') as bag:
        for number, (topic, kind, time, message) in enumerate(swing()):
            content = serialized(message)
            bag.write(topic, kind, time, content[:-5] if number == 200 else content)
    return command(folder, folder / 'bag')


@said("/bag: topic '/joint_states'", 'begin with no mark of their order', 'record it again')
def empty_message(folder):
    with BagWriter(folder / 'bag') as bag:
        for topic, kind, time, message in swing():
            bag.write(topic, kind, time, serialized(message))
        bag.write(topic, kind, time + SECOND, b'')
    return command(folder, folder / 'bag')


@said("topic '/joint_states' holds my_robot/msg/Joints", 'encoders', 'sensors.encoders.topic')
def unknown_type(folder):
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg('float64 angle\n', NO_MEANING))
    with Writer(folder / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', NO_MEANING, typestore=store)
        writer.write(connection, START, b'\0\1\0\0' + bytes(8))
    return command(folder, folder / 'bag')


@said('my_robot/msg/Joints', "'encoders'", 'sensor_msgs/msg/JointState')
def unknown_type_in_the_settings(folder):
    config = settings(sensors__encoders__message_type=NO_MEANING)
    return recorded(folder, swing(), config=config)


@said(
    "/bag: there is no topic 'mocap' of geometry_msgs/msg/PoseStamped for hand",
    "did you mean '/mocap_points'?",
    '/joint_states: sensor_msgs/msg/JointState, 400 messages',
    '/mocap_points: geometry_msgs/msg/PointStamped, 1 messages',
    'set sensors.hand.topic to one of them',
)
def absent_topic(folder):
    kind = 'geometry_msgs/msg/PointStamped'
    points = [('/mocap_points', kind, START, stamped(kind, START))]
    return recorded(folder, points, swing(), config=with_mocap())


@said("no topic 'joint_states'", 'recorded, but without a message', 'its publisher runs')
def no_messages(folder):
    with BagWriter(folder / 'bag') as bag:
        bag.add('/joint_states', JOINT_STATE)
    return command(folder, folder / 'bag')


@said("no topic 'joint_states'", 'there are:\n  none')
def no_topics(folder):
    with BagWriter(folder / 'bag', 'sqlite3'):
        pass
    return command(folder, folder / 'bag')


@said("/bag: there is a single message of '/joint_states'", 'record for longer')
def one_message(folder):
    return recorded(folder, swing()[:1])


@said('/bag: 8 frames are too few for a first fit', 'encoders: 8 used', 'docs/samples.md')
def ten_messages(folder):
    return recorded(folder, swing()[:10])


@said("topic '/joint_states' speaks of left, right", 'encoders reads shoulder, elbow', 'set ')
def other_joints(folder):
    return recorded(folder, changed(swing(), name=['left', 'right']))


@said('/bag: the robot does not move', 'record it in motion')
def no_motion(folder):
    return recorded(folder, swing(0.0))


@said("/bag: topic '/joint_states': joint 'shoulder'", 'probably degrees', 'publish radians')
def degrees(folder):
    return recorded(folder, swing(180 / np.pi))


@said("/bag: topic '/mocap': the body", '1000 m', 'probably millimetres', 'publish metres')
def millimetres(folder):
    return recorded(folder, ordered(swing(), flight(1000.0)), config=with_mocap())


@said('nothing of encoders can be used', '320 non-finite', 'docs/samples.md')
def no_numbers(folder):
    return recorded(folder, swing(np.nan))


@said('nothing of encoders can be used', '640 missing joint', 'docs/samples.md')
def no_positions(folder):
    return recorded(folder, changed(swing(), position=np.zeros(0)))


@said('/bag: the effort of shoulder, elbow is unknown', 'publish it on', 'joints.JOINT.effort')
def no_efforts(folder):
    return recorded(folder, changed(swing(), effort=np.full(2, np.nan)))


@said('/bag: the effort of shoulder, elbow is unknown', 'or say none there where nothing drives')
def no_measured_efforts(folder):
    measured = {joint: JointConfig('measured') for joint in ('shoulder', 'elbow')}
    config = replace(settings(), joints=measured, estimator=EstimatorConfig())
    entries = changed(swing(), effort=np.full(2, np.nan))
    return recorded(folder, entries, config=config)


@said("'/mocap' begins 1.0 s after '/joint_states' has ended", 'stamps of one clock')
def no_common_time(folder):
    late = flight(begin_ns=START + 5 * SECOND)
    return recorded(folder, swing(), late, config=with_mocap())


@said("stamps of '/joint_states' are zero", 'set header.stamp')
def no_stamps(folder):
    entries = swing(begin_ns=0)
    for *_, message in entries:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    return recorded(folder, entries)


@said("stamps of '/joint_states' go back by 2.1 s after 9 messages", 'cut the recording there')
def stamps_going_back(folder):
    first = swing(begin_ns=START + 2 * SECOND)[:9]
    return recorded(folder, first, moved(swing(), 4), options=('--held-out', '0'))


@said("stamps of '/joint_states' go back on the way: the last is 1.0 s", 'give the parts')
def stamps_ending_before_they_begin(folder):
    return recorded(folder, swing(begin_ns=START + 5 * SECOND), moved(swing(), 9))


@said('clock of the recorder goes back by 2.0 s after 400 messages', 'cut the recording there')
def recorder_going_back(folder):
    return recorded(folder, swing(), swing(begin_ns=START + 2 * SECOND))


@said('clock of the recorder goes back by 0.5 s after 400 messages', 'cut the recording there')
def database_going_back(folder):
    entries = [*swing(), *swing(begin_ns=START + 7 * SECOND // 2)]
    return command(folder, write(folder / 'bag', entries, 'sqlite3'))


@said('/nowhere: does not exist', 'give the folder or the file')
def no_recording(folder):
    return command(folder, folder / 'nowhere')


@said('/bag: holds no .mcap and no .db3', 'give the folder of a rosbag2 recording')
def empty_folder(folder):
    (folder / 'bag').mkdir()
    return command(folder, folder / 'bag')


@said('/bags: holds no .mcap and no .db3', 'give monday, one by one')
def folder_of_recordings(folder):
    (folder / 'bags').mkdir()
    write(folder / 'bags' / 'monday', swing()[:10])
    return command(folder, folder / 'bags')


@said('/bag: holds no .mcap and no .db3', 'copy the files that it lists')
def only_a_list(folder):
    path = write(folder / 'bag', swing()[:10])
    (path / 'bag.mcap').unlink()
    return command(folder, path)


@said('/robot.yaml: is no .mcap and no .db3', 'give a rosbag2 recording')
def no_recording_but_a_file(folder):
    return command(folder, folder / 'robot.yaml')


@said('/bag/bag.mcap: cannot be read', 'Is a directory')
def folder_for_a_file(folder):
    (folder / 'bag' / 'bag.mcap').mkdir(parents=True)
    return command(folder, folder / 'bag')


@said('/bag.mcap: is the same recording as ', 'would count twice', 'leave one of them out')
def twice(folder):
    path = write(folder / 'bag', swing())
    return command(folder, path, path / 'bag.mcap', options=('--merge',))


@said('/later: begins before the recording given before it ends', 'in order of time')
def wrong_order(folder):
    late = write(folder / 'early', swing(begin_ns=START + 9 * SECOND))
    return command(folder, late, write(folder / 'later', swing(0.9)), options=('--held-out', '0'))


@said('/robot.yaml: cannot be read', 'No such file', 'give a YAML file')
def no_settings(folder):
    arguments = recorded(folder, swing()[:10])
    (folder / 'robot.yaml').unlink()
    return arguments


def rewritten(folder, change):
    """Return the arguments with other text in the settings."""
    arguments = recorded(folder, swing()[:10])
    path = folder / 'robot.yaml'
    path.write_text(change(path.read_text()))
    return arguments


@said('/robot.yaml: sensor: there is no such setting', "did you mean 'sensors'?")
def misspelt_setting(folder):
    return rewritten(folder, lambda text: text.replace('sensors:', 'sensor:'))


@said('/robot.yaml: is not YAML', 'line 1')
def settings_cut_off(folder):
    return rewritten(folder, lambda _: 'joints: [shoulder,')


@said("/robot.yaml: the file: is '<?xml version", '...', "give settings, as 'name: value'")
def description_for_settings(folder):
    return rewritten(folder, lambda _: CONFIG.with_suffix('.urdf').read_text())


@said('/robot.yaml: sensors: is missing', 'give it')
def empty_settings(folder):
    return rewritten(folder, lambda _: '')


@said('/none.urdf: cannot be read', 'give the path of a URDF file')
def no_description(folder):
    config = settings()
    missing = replace(config, model=replace(config.model, urdf='none.urdf'))
    return recorded(folder, swing()[:10], config=missing)


@said('/none.npz: cannot be read', 'give a saved posterior')
def nothing_to_follow(folder):
    return recorded(folder, swing(), options=('--follow', str(folder / 'none.npz')))


@said('/result: exists', 'give another --output, or --force')
def result_that_is_there(folder):
    (folder / 'result').mkdir()
    return recorded(folder, swing())


@said('/result: exists', 'give another --output')
def result_that_is_a_file(folder):
    (folder / 'result').write_text('mine')
    return recorded(folder, swing())


@said('/result: is no result of `identify`', 'give another --output, or remove it yourself')
def file_by_force(folder):
    return [*result_that_is_a_file(folder), '--force']


@said('/result: is no result of `identify`', 'give another --output, or remove it yourself')
def folder_of_others_by_force(folder):
    (folder / 'result').mkdir()
    (folder / 'result' / 'thesis.tex').write_text('mine')
    return recorded(folder, swing(), options=('--force',))


@said('/file/result.partial: cannot be written', 'give another --output')
def result_below_a_file(folder):
    (folder / 'file').write_text('')
    return recorded(folder, swing(), options=('-o', str(folder / 'file' / 'result')))
