"""Measurements as CSV and npz become bags, and what is wrong with them is said."""

import csv
from pathlib import Path
import re

from bag_files import entries_of, write
import numpy as np
import pytest
from simulated import JOINTS, record
import swinging

from sim2real_estimator import identify
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.cli import main
from sim2real_estimator.config import read_config
from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.offline.tables.columns import Columns
from sim2real_estimator.offline.tables.converting import convert

SECOND = 10**9
COUNT, PERIOD = 60, 0.01
MAP = """
time: {column: t}
topics:
  joint_states:
    joints:
      shoulder: {position: 'q[0]', velocity: 'dq[0]', effort: 'tau[0]'}
      elbow: {position: 'q[1]', velocity: 'dq[1]', effort: 'tau[1]'}
"""


def swing(**changes):
    """Return arrays of a motion with its velocities; changes: other arrays."""
    t = PERIOD * np.arange(COUNT)
    q, dq = (
        np.stack([np.sin(3 * t), np.cos(5 * t)], 1),
        np.stack([3 * np.cos(3 * t), -5 * np.sin(5 * t)], 1),
    )
    return {'t': t, 'q': q, 'dq': dq, 'tau': 0.1 * q, **changes}


def write_csv(path, columns, delimiter=','):
    with path.open('w', newline='') as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values()))
    return path


@pytest.fixture
def made(tmp_path):
    """Return what converts arrays or a file with a map, and returns the messages by topic."""

    def make(table, text=MAP, **options):
        if isinstance(table, dict):
            np.savez(tmp_path / 'table.npz', **table)
            table = tmp_path / 'table.npz'
        (tmp_path / 'map.yaml').write_text(text)
        counts = convert(table, tmp_path / 'map.yaml', tmp_path / 'bag', **options)
        with BagReader(tmp_path / 'bag') as bag:
            found = {topic: [] for topic in counts}
            for topic, time_ns, content in bag.messages(counts):
                found[topic].append((time_ns, bag.decoded(topic, content)))
        assert {topic: len(messages) for topic, messages in found.items()} == counts
        return found

    return make


@pytest.fixture
def refused(made, tmp_path):
    """Return what is said of a table or a map, of which nothing is left."""

    def refuse(table, text=MAP):
        with pytest.raises((ConfigError, DataError)) as caught:
            made(table, text)
        assert not (tmp_path / 'bag').exists()
        return str(caught.value)

    return refuse


def test_arrays_become_joint_states(made):
    arrays = swing()
    messages = made(arrays)['/joint_states']
    times = [time_ns - messages[0][0] for time_ns, _ in messages]
    assert times == [10_000_000 * row for row in range(COUNT)]
    for row, (time_ns, message) in enumerate(messages):
        stamp = message.header.stamp
        assert stamp.sec * SECOND + stamp.nanosec == time_ns
        assert message.name == list(JOINTS)
        np.testing.assert_array_equal(message.position, arrays['q'][row])
        np.testing.assert_array_equal(message.velocity, arrays['dq'][row])
        np.testing.assert_array_equal(message.effort, arrays['tau'][row])


@pytest.mark.parametrize('delimiter', [',', ';', '\t'])
def test_text_and_other_units_mean_the_same(made, tmp_path, delimiter):
    arrays = swing()
    columns = {
        'time [ms]': [f'{1000 * t:.6f}' for t in arrays['t']],
        'angle': np.degrees(arrays['q'][:, 0]),
        'speed': arrays['dq'][:, 0] * 60 / (2 * np.pi),
    }
    text = """
time: {column: 'time [ms]', unit: ms}
start: 12
topics:
  joint_states:
    joints:
      shoulder: {position: angle, velocity: speed, unit: deg, velocity_unit: rpm}
"""
    messages = made(write_csv(tmp_path / 'table.csv', columns, delimiter), text)['/joint_states']
    assert [time_ns for time_ns, _ in messages] == [
        12 * SECOND + 10_000_000 * row for row in range(COUNT)
    ]
    found = np.array([[m.position[0], m.velocity[0]] for _, m in messages])
    np.testing.assert_allclose(found, np.stack([arrays['q'][:, 0], arrays['dq'][:, 0]], 1))
    assert len(messages[0][1].effort) == 0


def test_times_are_exact_to_the_last_nanosecond(made, tmp_path):
    stamps = 1_700_000_000_000_000_001 + np.arange(COUNT) * 10_000_001
    text = MAP.replace('{column: t}', '{column: t, unit: ns}')
    found = made(swing(t=stamps), text)['/joint_states']
    assert [time_ns for time_ns, _ in found] == stamps.tolist()
    columns = {
        't': [f'{n // SECOND}.{n % SECOND:09d}' for n in stamps.tolist()],
        'a': stamps * 0.0,
    }
    path, text = write_csv(tmp_path / 'table.csv', columns), 'joints: {shoulder: {effort: a}}'
    (tmp_path / 'bag').rename(tmp_path / 'first')
    found = made(path, 'time: {column: t}\ntopics: {efforts: {%s}}' % text)['/efforts']
    assert [time_ns for time_ns, _ in found] == stamps.tolist()


def test_bodies_and_markers_have_times_of_their_own(made):
    slow = PERIOD * 2.5 * np.arange(20)
    place = 1000 * np.stack([np.sin(slow), np.cos(slow), 0 * slow], 1)
    turn = np.tile([0.0, 0.6, 0.0, 0.8], (20, 1))
    place[3], turn[4] = np.nan, np.nan
    text = (
        MAP
        + """
  mocap/lower:
    position: ['p[0]', 'p[1]', 'p[2]']
    orientation: ['o[0]', 'o[1]', 'o[2]', 'o[3]']
    unit: mm
    time: &slow {column: s}
  tip: {position: ['p[0]', 'p[1]', 'p[2]'], unit: mm, time: *slow}
"""
    )
    found = made(swing(s=slow, p=place, o=turn), text)
    assert len(found['/joint_states']) == COUNT
    assert len(found['/mocap/lower']) == 18 and len(found['/tip']) == 19
    pose = found['/mocap/lower'][1][1].pose
    assert (pose.orientation.y, pose.orientation.w) == (0.6, 0.8)
    assert pose.position.x == pytest.approx(np.sin(slow[1]))
    point = found['/tip'][1][1].point
    assert (point.x, point.y) == (pose.position.x, pose.position.y)


def test_what_is_empty_was_not_measured(made, tmp_path):
    columns = {
        't': PERIOD * np.arange(4),
        'a': ['0.1', '', 'nan', '0.2'],
        'b': ['', '', '1.5', '2'],
    }
    text = 'time: {column: t}\ntopics: {arm: {joints: {x: {position: a}, y: {effort: b}}}}'
    messages = [
        message for _, message in made(write_csv(tmp_path / 't.csv', columns), text)['/arm']
    ]
    found = [[*message.position, *message.effort] for message in messages]
    nan = np.nan
    np.testing.assert_array_equal(
        found, [[0.1, nan, nan, nan], [nan, nan, nan, 1.5], [0.2, nan, nan, 2]]
    )


def test_a_column_that_is_missing_is_named_with_the_nearest(refused):
    text = refused(swing(), MAP.replace("'dq[1]'", "'dp[1]'"))
    assert 'topics.joint_states.joints.elbow.velocity' in text
    assert "no column 'dp[1]'" in text and "did you mean 'dq[1]'?" in text and 'tau[0]' in text


def test_a_setting_that_does_not_exist_is_named_with_the_nearest(refused):
    assert "did you mean 'velocity'?" in refused(swing(), MAP.replace('velocity:', 'velocty:'))


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'t': PERIOD * np.r_[0:30, 10:40]}, ['time goes back', 'row 30', 'row 31']),
        ({'t': 1000 * PERIOD * np.arange(COUNT)}, ['follow each other after 10 s', 'unit']),
        ({'t': PERIOD * np.r_[0 : COUNT - 1, np.nan]}, ['row 60', 'no time']),
        ({'t': PERIOD * np.arange(50)}, ['60 rows', 'have 50', 'joint_states.time']),
        ({'q': np.degrees(swing()['q']) * 2}, ['shoulder', 'rad/s', 'probably deg']),
        ({'dq': np.degrees(swing()['dq'])}, ['shoulder', 'probably deg/s', 'velocity_unit']),
        ({'dq': swing()['dq'] * 60 / (2 * np.pi)}, ['probably rpm', '--trust-units']),
    ],
)
def test_what_cannot_be_right_is_refused(refused, change, words):
    text = refused(swing(**change))
    assert all(word in text for word in words), text


def test_bodies_in_another_unit_are_refused(refused):
    t = PERIOD * np.arange(COUNT)
    place = 1000 * np.stack([np.sin(t), np.cos(t), 0 * t], 1)
    text = "time: {column: t}\ntopics: {body: {position: ['p[0]', 'p[1]', 'p[2]'], %s}}"
    assert 'probably mm' in refused({'t': t, 'p': place}, text % 'unit: m')
    turned = text % "unit: mm, orientation: ['o[0]', 'o[1]', 'o[2]', 'o[3]']"
    assert 'of length 2' in refused({'t': t, 'p': place, 'o': np.ones((COUNT, 4))}, turned)


def test_units_that_look_wrong_may_be_right(made):
    assert len(made(swing(dq=np.degrees(swing()['dq'])), is_trusting=True)['/joint_states'])


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('t,a\n0,1\n0.01,x\n', ["row 2 of column 'a' is 'x'"]),
        ('t,a\n0,1\n0.01,1,5\n', ['row 2 has 3 cells']),
        ('t,a,a\n0,1,1\n0.01,1,5\n', ["several columns are named 'a'"]),
        ('t,a\n,1\n0.01,1\n', ["row 1 of column 't' is ''"]),
        ('t,a\n0,1\n', ['give two at least']),
        ('', ["no column 't'"]),
    ],
)
def test_text_that_is_no_table_is_refused(refused, tmp_path, text, words):
    (tmp_path / 'table.csv').write_text(text)
    joints = 'time: {column: t}\ntopics: {arm: {joints: {x: {position: a}}}}'
    told = refused(tmp_path / 'table.csv', joints)
    assert all(word in told for word in words) and 'table.csv' in told


def test_files_of_another_kind_are_refused(refused, tmp_path):
    (tmp_path / 'table.npz').write_text('nothing')
    assert 'is cut off or damaged' in refused(tmp_path / 'table.npz')
    assert 'cannot be read' in refused(tmp_path / 'nowhere.csv')
    assert 'is no table' in refused(tmp_path / 'table.xlsx')


def test_a_robot_of_a_table_is_identified(tmp_path, capsys):
    recording = record(1.2)
    np.savez(
        tmp_path / 'robot.npz',
        t=recording.stamps,
        q=np.degrees(recording.angles),
        tau=recording.torques,
    )
    joints = ', '.join(
        f"{name}: {{position: 'q[{k}]', effort: 'tau[{k}]', unit: deg}}"
        for k, name in enumerate(JOINTS)
    )
    (tmp_path / 'map.yaml').write_text(
        f'time: {{column: t, unit: ns}}\ntopics: {{joint_states: {{joints: {{{joints}}}}}}}'
    )
    files = [str(tmp_path / name) for name in ('robot.npz', 'map.yaml', 'bag')]
    assert main(['convert', files[0], '--map', files[1], '--output', files[2]]) == 0
    assert f'{len(recording.stamps)}  /joint_states' in capsys.readouterr().out
    found = identify(files[2], swinging.config(), held_out=0)
    assert not found.bags[0].warnings
    sent = write(tmp_path / 'sent', entries_of(recording))
    expected = identify(sent, swinging.config(), held_out=0)
    np.testing.assert_allclose(
        found.posterior.mixture.means, expected.posterior.mixture.means, rtol=1e-7
    )


def test_the_example_of_the_page_can_be_read():
    page = Path(__file__).resolve().parents[2] / 'docs' / 'recording.md'
    (text,) = re.findall(r'```yaml\n(.*?)```', page.read_text(), re.DOTALL)
    columns = read_config(text, kind=Columns)
    assert columns.topics['mocap/forearm'].time.unit == 'ns'
    assert list(columns.topics['joint_states'].joints) == list(JOINTS)


def test_columns_are_worked_out_from_others(made):
    t = PERIOD * np.arange(COUNT)
    phi = np.stack([np.sin(3 * t), np.sin(3 * t) + np.cos(5 * t)], 1)
    text = """
time: {column: 't / 2'}
topics:
  joint_states:
    joints:
      shoulder: {position: '90 - 2 * phi[0]', effort: '13.6 * {motor current, A} + 0.5', unit: deg}
      elbow: {position: 'phi[1] - phi[0]', effort: '-1e-1 * (m[1,0] - m[0,0]) / 2**2'}
      wrist: {position: 'unwrap(atan2(sin(6 * t), cos(6 * t)))'}
"""
    arrays = {'t': 2 * t, 'phi': phi, 'motor current, A': t, 'm': np.stack([t, t], 1)[..., None]}
    arrays['m'] = np.tile(arrays['m'][:, :, None], (1, 1, 2, 1))
    text = text.replace('m[1,0]', 'm[1,0,0]').replace('m[0,0]', 'm[0,1,0]')
    messages = [message for _, message in made(arrays, text, is_trusting=True)['/joint_states']]
    found = np.array([[*m.position, *m.effort[:2]] for m in messages])
    np.testing.assert_allclose(found[:, 0], np.radians(90 - 2 * phi[:, 0]))
    np.testing.assert_allclose(found[:, 1], np.cos(5 * t), atol=1e-12)
    np.testing.assert_allclose(found[:, 2], 12 * t, atol=1e-12)
    np.testing.assert_allclose(found[:, 3], 13.6 * t + 0.5)
    assert not found[:, 4].any()


@pytest.mark.parametrize(
    ('formula', 'words'),
    [
        ('q[0] - q[5]', ["no column 'q[5]'", 'did you mean', 'elbow.position']),
        ('q[0] -', ['neither a column nor a formula', 'q[1] - q[0]', 'atan2']),
        ('q[0] if q[1] else 1-2', ['cannot be read']),
        ('open(q[0])', ["'open(q[0])'", 'cannot be read']),
        ('atan2(q[0])', ['atan2 in']),
        ('2 * 3', ['has no column in it']),
        ('q[0] + 9**9**9**9', ['9**9**9**9', 'range']),
        ('q[0] / (1 - 1)', []),
        ('long-nam', ["did you mean 'long-name'?"]),
    ],
)
def test_formulas_that_cannot_be_read_say_how(refused, made, formula, words):
    arrays = swing(**{'long-name': np.zeros(COUNT)})
    if not words:  # NaN: nothing was measured
        text = f"time: {{column: t}}\ntopics: {{a: {{joints: {{x: {{position: '{formula}'}}}}}}}}"
        assert not made(arrays, text.replace('q[0] / ', '0 * q[0] / '))['/a']
        return
    told = refused(arrays, MAP.replace("'q[1]'", f"'{formula}'"))
    assert all(word in told for word in words), told


def test_arrays_stand_for_their_columns_and_quaternions_have_an_order(made):
    t = PERIOD * np.arange(COUNT)
    place = np.stack([t, 2 * t, 3 * t], 1)
    turn = np.tile([0.8, 0.0, 0.6, 0.0], (COUNT, 1))
    markers = np.stack([place, place + 1], 1)
    text = """
time: {rate: 100}
topics:
  body: {position: [p], orientation: [o], order: wxyz}
  marker: {position: ['m[1]']}
"""
    found = made({'p': place, 'o': turn, 'm': markers}, text)
    pose = found['/body'][-1][1].pose
    assert (pose.orientation.x, pose.orientation.y, pose.orientation.w) == (0.0, 0.6, 0.8)
    point = found['/marker'][-1][1].point
    assert (point.x, point.y, point.z) == tuple(place[-1] + 1)
    assert found['/body'][-1][0] - found['/body'][0][0] == 10_000_000 * (COUNT - 1)


def test_pixels_are_points_without_depth(made, refused):
    t = PERIOD * np.arange(COUNT)
    arrays = {'t': t, 'px': np.stack([3000 * np.sin(t), 1000 * t], 1).astype(np.int16)}
    text = 'time: {column: t}\ntopics: {tip: {position: [px], unit: px}}'
    point = made(arrays, text)['/tip'][-1][1].point
    assert (point.x, point.y, point.z) == (*arrays['px'][-1], 0.0)


def test_columns_of_pixels_are_two(refused):
    t = PERIOD * np.arange(COUNT)
    text = "time: {column: t}\ntopics: {tip: {position: ['p[0]', 'p[1]']%s}}"
    assert 'have the unit px' in refused({'t': t, 'p': np.zeros((COUNT, 3))}, text % '')
    three = text.replace("'p[1]'", "'p[1]', 'p[2]'") % ', unit: px'
    assert 'u and v' in refused({'t': t, 'p': np.zeros((COUNT, 3))}, three)


def test_recordings_that_follow_each_other_in_a_table_are_kept_apart(made, refused):
    arrays = {name: np.concatenate([x, x]) for name, x in swing().items()}
    assert 'time.pause' in refused(arrays)
    found = made(arrays, MAP.replace('{column: t}', '{column: t, pause: 3}'))['/joint_states']
    times = np.diff([time_ns for time_ns, _ in found])
    assert times[COUNT - 1] == 3 * SECOND and (np.delete(times, COUNT - 1) == 10_000_000).all()


def test_times_are_columns_or_rates(refused):
    assert 'rate too' in refused(swing(), MAP.replace('{column: t}', '{column: t, rate: 5}'))
    assert 'time.rate' in refused(swing(), MAP.replace('time: {column: t}', ''))
    assert 'with rate 0.01' in refused(swing(), MAP.replace('{column: t}', '{rate: 0.01}'))


def test_rows_are_chosen(tmp_path, capsys):
    np.savez(tmp_path / 'table.npz', **swing())
    (tmp_path / 'map.yaml').write_text(MAP)
    files = ['convert', str(tmp_path / 'table.npz'), '--map', str(tmp_path / 'map.yaml')]
    assert main([*files, '-o', str(tmp_path / 'bag'), '--rows', '11:30']) == 0
    assert '20  /joint_states' in capsys.readouterr().out
    with BagReader(tmp_path / 'bag') as bag:
        topic, _, content = next(iter(bag.messages(['/joint_states'])))
        assert bag.decoded(topic, content).position[0] == swing()['q'][10, 0]
    assert main([*files, '-o', str(tmp_path / 'other'), '--rows', '500:']) == 2
    assert "'t' has 60 rows, and none of those" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*files, '-o', str(tmp_path / 'other'), '--rows', '5'])


def test_a_table_can_be_told_when_its_clock_was_zero(made):
    begin, _ = made(swing(), start=1.8e9)['/joint_states'][0]
    assert begin == 1_800_000_000 * SECOND


def test_forces_become_wrenches(made, refused):
    t = PERIOD * np.arange(COUNT)
    force = np.stack([t, 2 * t, 9.81 * np.cos(t)], 1)
    text = """
time: {column: t}
topics:
  thrust: {force: [f]}
  push: {force: ['f[0]', '2 * f[1]', 'f[2]'], torque: ['f[2]', 'f[1]', 'f[0]']}
"""
    found = made({'t': t, 'f': force}, text)
    message = found['/thrust'][-1][1]
    assert message.wrench.force.z == force[-1, 2] and message.wrench.torque.x == 0
    assert message.header.frame_id == ''
    wrench = found['/push'][-1][1].wrench
    assert (wrench.force.y, wrench.torque.x) == (2 * force[-1, 1], force[-1, 2])


def test_wrenches_have_three_columns_of_each(refused):
    arrays = {'t': PERIOD * np.arange(COUNT), 'f': np.zeros((COUNT, 2))}
    text = 'time: {column: t}\ntopics: {push: {force: [f]%s}}'
    assert 'three columns of force' in refused(arrays, text % '')
    assert 'either joints or position or force' in refused(arrays, text % ', position: [f]')


def test_rows_that_count_are_chosen_by_a_formula(made):
    arrays = swing()
    text = MAP.replace('topics:', "where: 't >= 0.1'\ntopics:")
    found = made(arrays, text)['/joint_states']
    assert len(found) == COUNT - 10
    np.testing.assert_array_equal(found[0][1].position, arrays['q'][10])


@pytest.mark.parametrize(
    ('where', 'words'),
    [
        ('t < 0', ["'t < 0' of where leaves 0 rows of 'joint_states'"]),
        ('s > 0', ["'s > 0' of where has 5 rows", 'topics.joint_states.where']),
        ('t < u', ["no column 'u'"]),
        ('0 < t < 1', ['cannot be read']),
    ],
)
def test_rows_that_cannot_be_chosen_are_refused(refused, where, words):
    text = MAP.replace('topics:', f"where: '{where}'\ntopics:")
    told = refused(swing(s=np.ones(5)), text)
    assert all(word in told for word in words), told
