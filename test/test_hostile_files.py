"""Files that are no files, bombs, and content that is of the right form but makes no sense."""

import io
import json
import os
import zipfile

import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes, samples_of
import pytest
from rich.console import Console

from sim2real_estimator.bags.storage import _unpacked
from sim2real_estimator.config.reading import load_config, read_config
from sim2real_estimator.errors import ConfigError, DataError, EstimatorError, ModelError
from sim2real_estimator.files import LARGEST_ARRAYS
from sim2real_estimator.messages import deserialized
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.offline.identification.folder import cell
from sim2real_estimator.offline.tables.table import Table
from sim2real_estimator.posterior.file import load
from sim2real_estimator.posterior.listing import table
from sim2real_estimator.posterior.report.drawing import drawing, picture


@pytest.fixture(scope='module')
def content(tmp_path_factory):
    """Return the members of a posterior file after a second of data: name -> bytes."""
    path = tmp_path_factory.mktemp('known') / 'posterior.npz'
    pipeline = pipeline_of()
    feed(pipeline, samples_of()[:200], to_the_end=False)
    pipeline.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(path, members):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_array(members, name, change):
    """Return members of which one array is changed."""
    array = np.load(io.BytesIO(members[f'{name}.npy']))
    return {**members, f'{name}.npy': as_npy(change(array))}


def with_header(members, change):
    header = json.loads(members['header.json'])
    change(header)
    return {**members, 'header.json': json.dumps(header).encode()}


@pytest.mark.parametrize(
    ('read', 'name'),
    [(load, 'a.npz'), (load_urdf, 'a.urdf'), (load_config, 'a.yaml'), (Table, 'a.csv')],
)
def test_what_may_have_no_end_is_not_opened(read, name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(EstimatorError, match='is a pipe or a device'):
        read(tmp_path / name)
    with (tmp_path / f'large{name}').open('wb') as file:
        file.truncate(LARGEST_ARRAYS + 1)
    with pytest.raises(EstimatorError, match='MB are read; see whether it is the right file'):
        read(tmp_path / f'large{name}')


def test_a_name_of_no_file_is_refused():
    with pytest.raises(ModelError, match='is no name of a file'):
        load_urdf('a\0b.urdf')


def test_an_archive_that_unpacks_to_more_than_there_is_room_is_not_unpacked(tmp_path):
    path = tmp_path / 'bomb.npz'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('header.json', b'{}')
    data = bytearray(path.read_bytes())
    # What the list at the end says of the size.
    place = data.find(b'PK\x01\x02') + 24
    data[place : place + 4] = (2**32 - 2).to_bytes(4, 'little')
    path.write_bytes(data)
    for read in (load, Table):
        with pytest.raises(DataError, match='unpacks to 4095 MB'):
            read(path)


def test_an_array_that_claims_to_be_larger_than_it_is_is_refused(tmp_path):
    file = io.BytesIO()
    claim = {'descr': '<f8', 'fortran_order': False, 'shape': (10**12,)}
    np.lib.format.write_array_header_1_0(file, claim)
    path = archive_of(tmp_path / 'a.npz', {'t.npy': file.getvalue()})
    with pytest.raises(DataError, match='larger than it is'):
        Table(path)


def first(value):
    """Return a change of an array's first number."""

    def change(array):
        array.flat[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ('name', 'change', 'reason'),
    [
        ('means', first(np.nan), 'means has numbers that are not finite'),
        ('roots', first(np.inf), 'roots has numbers that are not finite'),
        ('roots', lambda roots: 0 * roots, 'variances that are zero'),
        ('roots', lambda roots: 1e200 * roots, 'variances that are zero or not finite'),
        ('log_weights', lambda weights: weights + 1, 'weights do not sum to one'),
        ('log_weights', lambda weights: weights[:0], 'has the wrong shape'),
        ('means', lambda means: means + 0j, 'means has the wrong shape'),
        ('prior_root', lambda root: root[:-1], 'prior_root has the wrong shape'),
        ('prior_mean', first(np.nan), 'prior_mean has numbers that are not finite'),
    ],
)
def test_a_posterior_that_is_none_is_refused(content, tmp_path, name, change, reason):
    path = archive_of(tmp_path / 'a.npz', with_array(content, name, change))
    with pytest.raises(DataError, match=f'a.npz: .*{reason}'):
        load(path)


@pytest.mark.parametrize('change', [lambda a: 0 * a, lambda a: np.nan * a, lambda a: 1e200 * a])
def test_a_run_that_does_not_belong_to_its_posterior_is_not_continued(content, tmp_path, change):
    path = archive_of(tmp_path / 'a.npz', with_array(content, 'float64', change))
    pipeline = pipeline_of()
    before = posterior_bytes(pipeline)
    with pytest.raises(DataError, match='damaged.*begin a new run from it'):
        pipeline.load(path)
    assert posterior_bytes(pipeline) == before
    feed(pipeline, samples_of()[:40], to_the_end=False)


def test_a_prior_that_cannot_be_reckoned_with_is_refused(content, tmp_path):
    path = archive_of(tmp_path / 'a.npz', with_array(content, 'means', lambda a: 1e200 * (1 + a)))
    pipeline = pipeline_of()
    before = posterior_bytes(pipeline)
    with pytest.raises(DataError, match='damaged'):
        pipeline.begin_from(path)
    assert posterior_bytes(pipeline) == before


@pytest.mark.parametrize(
    'change',
    [
        lambda header: header.update(identity=None),
        lambda header: header['identity'].pop('model_hash'),
        lambda header: header['identity'].update(estimator={}),
        lambda header: header['identity']['coordinates'].__setitem__(0, 'a\x1b[31m'),
        lambda header: header.update(recordings=[{'first': 1, 'begin_ns': 'x', 'end_ns': 2}]),
        lambda header: header.update(content=[[{'node': 0}], None, [None, None]]),
        lambda header: header.update(nodes=[{'array': ['float64', 0, [2**31] * 4, [0, 1, 2, 3]]}]),
    ],
)
def test_a_header_of_odd_content_is_refused(content, tmp_path, change):
    path = archive_of(tmp_path / 'a.npz', with_header(content, change))
    with pytest.raises(DataError, match='a.npz: .*damaged'):
        load(path)


def test_a_header_nested_without_end_is_refused(content, tmp_path):
    deep = b'[' * 200_000 + b']' * 200_000
    path = archive_of(tmp_path / 'a.npz', {**content, 'header.json': deep})
    with pytest.raises(DataError, match='not a saved posterior'):
        load(path)


def test_brackets_in_a_name_are_shown_as_they_are(content, tmp_path):
    def rename(header):
        nodes = json.dumps(header['nodes']).replace('shoulder.damping', 'a[/b][red].damping')
        header['nodes'] = json.loads(nodes)

    path, shown = archive_of(tmp_path / 'a.npz', with_header(content, rename)), io.StringIO()
    Console(file=shown, width=200).print(table(load(path)))
    assert 'a[/b][red].damping' in shown.getvalue()


BOMB = 'model: {urdf: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}\nestimate:\n' + ''.join(
    f'  b{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 10)}]\n' for k in range(1, 10)
)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        (BOMB, 'stand for more than 100000 values'),
        (BOMB.replace('[', '{<<: [').replace(']', ']}'), 'stand for more than 100000 values'),
        ('joints: &j\n  shoulder: *j\n', 'stands within what it names'),
        ('model: {urdf: a}\nmodel: {urdf: b}', "'model' stands there twice, again in line 2"),
        ('sensors: {a: {sd: 1.0, sd: 2.0}}', "'sd' stands there twice"),
        ('frames: {gap: 1:30}', "frames.gap: is '1:30'; give a number"),
        ('estimator: {seed: 010}', "estimator.seed: is '010'; give a whole number"),
        ('estimator: {seed: .inf}', 'estimator.seed: is inf; give a whole number'),
        ('frames: {gap: 1_000.0}', "frames.gap: is '1_000.0'; give a number"),
        ('frames: {gap: 1.0e+300}', 'frames.gap: is 1e.300; give a number'),
        (f'frames: {{gap: {"9" * 400}}}', 'frames.gap: is 9999.*; give a number'),
        (f'frames: {{gap: {"9" * 5000}}}', 'is not YAML: Exceeds the limit'),
        ('[' * 50_000, 'nested too deeply'),
        ('? [a, b]\n: c', 'the file: is .*|is not YAML|put it in quotes'),
        ('model: !!python/object/apply:os.system ["true"]', 'is not YAML: could not determine'),
    ],
)
def test_settings_that_mean_something_else_than_they_seem_to_are_refused(text, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        read_config(text, 'robot.yaml')
    assert '\n' not in str(caught.value)


def test_numbers_are_read_as_people_write_them():
    config = read_config(
        'model: {urdf: a}\nframes: {gap: 1e-1, lateness: .02, max_rate: 2.5e+2}\n'
        'estimator: {seed: 10}\nestimate: {a.damping: {}}\n'
        'sensors: {a: {kind: joint_positions, topic: t, joints: [a], sd: 1e-3}}'
    )
    frames = config.frames
    assert (frames.gap, frames.lateness, frames.max_rate) == (0.1, 0.02, 250.0)
    assert config.estimator.seed == 10 and config.sensors['a'].sd == 1e-3


@pytest.mark.parametrize('name', ['a\x9b31mb', 'a&#10;b', 'a\u202eb'])
def test_a_name_that_a_terminal_would_not_show_as_it_is_is_refused(name):
    with pytest.raises(ModelError, match='has a character that cannot be printed; rename it'):
        load_urdf(f'<robot name="r"><link name="{name}"/></robot>')


@pytest.mark.parametrize('cell', ['1e400', '99999999999999', '-1e30', '1e999999999', 'inf'])
def test_a_time_that_no_stamp_can_hold_is_named(cell, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text(f't,q\n0.0,1\n{cell},2\n')
    with pytest.raises(DataError, match=f"row 2 of column 't' is '{cell}'"):
        Table(path).nanoseconds('t', 's', 'time.column')


@pytest.mark.parametrize('times', [[0.0, 1e300], [0.0, 4e9], np.array([0, 2**63], 'u8')])
def test_times_of_arrays_that_no_stamp_can_hold_are_refused(times, tmp_path):
    np.savez(tmp_path / 'a.npz', t=times)
    with pytest.raises(DataError, match='no stamp can hold; give its true unit'):
        Table(tmp_path / 'a.npz').nanoseconds('t', 's', 'time.column')


def test_a_message_that_is_text_is_refused():
    with pytest.raises(DataError, match='is no bytes but str'):
        deserialized('hello', 'sensor_msgs/msg/JointState')


def test_a_compressed_message_unpacks_to_no_more_than_a_message_has(monkeypatch):
    from backports import zstd

    from sim2real_estimator.bags import storage

    assert _unpacked(zstd.compress(b'ab' * 500)) == b'ab' * 500
    monkeypatch.setattr(storage, '_LARGEST', 999)
    with pytest.raises(ValueError, match='unpacks to more than'):
        _unpacked(zstd.compress(b'ab' * 500))


def test_no_spreadsheet_runs_a_name():
    assert [cell(text) for text in ('=cmd|x', '@a', '-b')] == ["'=cmd|x", "'@a", "'-b"]
    assert cell('elbow') == 'elbow'


def test_a_name_is_no_formula_in_a_picture():
    with drawing(2, 2) as figure:
        figure.subplots().set_title('$x_{$')
        assert picture(figure, 'caption', 'alt').alt == 'alt'
