"""Posteriors in files: stopped and continued bit for bit, refused where they do not fit."""

import io
import json
import zipfile

import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes, samples_of
import pytest
from scenarios import continued
from simulated import CONFIG, config

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import DataError
from sim2real_estimator.posterior import file as posterior_file
from sim2real_estimator.posterior.file import load
from sim2real_estimator.reported_events import Happened

SECOND = 10**9


@pytest.fixture(scope='module')
def samples():
    return samples_of()


@pytest.fixture(scope='module')
def traced(samples):
    """Return (bytes of the last posterior, [events of every frame]) of a run without a stop."""
    pipeline = pipeline_of()
    estimates = feed(pipeline, samples)
    return posterior_bytes(pipeline), [estimate.report for estimate in estimates]


@pytest.fixture
def saved(tmp_path, samples):
    """Return the path of a posterior after the first fit."""
    pipeline = pipeline_of()
    feed(pipeline, samples[:60], to_the_end=False)
    pipeline.save(tmp_path / 'arm.npz')
    return tmp_path / 'arm.npz'


def frames_of_interest(reports):
    """Return where to stop: name -> number of frames."""
    happened = {event: k for k, r in reversed(list(enumerate(reports))) for event in r.events}
    changed = happened[Happened.CHANGED]
    return {
        'before any': 0,
        'before the first fit': happened[Happened.FITTED] - 3,
        'between fits': happened[Happened.FITTED] + 4,
        'just after hand-over': happened[Happened.HANDED_OVER] + 1,
        'in the filter': (happened[Happened.HANDED_OVER] + changed) // 2,
        'after a change': changed + 3,
        'between fits after it': changed + 16,
    }


def test_in_another_process_it_goes_on_as_if_nothing_had_been(traced, samples, tmp_path):
    expected, reports = traced
    pipeline, done, stops = pipeline_of(), 0, sorted(frames_of_interest(reports).values())
    paths = []
    for k, sample in enumerate(samples):
        while stops and done >= stops[0]:
            paths.append((tmp_path / f'after_{stops.pop(0)}.npz', k))
            pipeline.save(paths[-1][0])
        pipeline.push(sample)
        done += len(pipeline.step())
    assert not stops
    pipeline.finish()
    assert posterior_bytes(pipeline) == expected  # saving changes nothing
    found = continued([(path, k, 'remounted') for path, k in paths])
    assert len(found) == len(paths) == 7
    assert set(found) == {expected}


def test_data_before_a_change_are_not_among_the_recordings(traced, samples):
    pipeline = pipeline_of()
    feed(pipeline, samples)
    (recording,) = pipeline.posterior().recordings
    assert recording.begin_ns > samples[0].stamp_ns + 1.8 * SECOND
    assert recording.end_ns == samples[-1].stamp_ns


def test_a_replay_goes_on_with_the_frames_it_follows(samples, tmp_path):
    first = pipeline_of()
    first.stream.set_rate(40)
    feed(first, samples[:100])
    plan = first.stream.recorded_plan
    assert len(plan.bounds) < 40
    whole, stopped, again = pipeline_of(plan=plan), pipeline_of(plan=plan), pipeline_of()
    feed(whole, samples[:100])
    feed(stopped, samples[:60], to_the_end=False)
    stopped.save(tmp_path / 'replay.npz')
    again.load(tmp_path / 'replay.npz')
    feed(again, samples[60:100])
    assert posterior_bytes(again) == posterior_bytes(whole)
    assert again.stream.recorded_plan == plan
    assert again.counts.table() == whole.counts.table()


def test_the_same_posterior_is_the_same_file(saved, samples, tmp_path):
    pipeline = pipeline_of()
    pipeline.load(saved)
    pipeline.save(tmp_path / 'again.npz')
    assert (tmp_path / 'again.npz').read_bytes() == saved.read_bytes()


def test_a_file_can_be_read_without_this_package(saved):
    with np.load(saved, allow_pickle=False) as file:
        header = json.loads(file['header.json'])
        assert file['means'].shape == (len(header['identity']['coordinates']), 1)
        np.testing.assert_allclose(np.exp(file['log_weights']).sum(), 1.0)
    assert header['format'] == posterior_file.FORMAT
    assert header['identity']['estimator']['seed'] == 0
    assert 'sensors:' in header['config']
    (recording,) = header['recordings']
    assert recording['end_ns'] - recording['begin_ns'] < SECOND


def test_a_saved_file_is_replaced_at_once_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def broken(*_):
        raise OSError('disk full')

    monkeypatch.setattr(posterior_file, '_write', broken)
    with pytest.raises(DataError, match='disk full'):
        pipeline_of().save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_another_robot_is_refused_with_what_differs(saved, tmp_path):
    text = CONFIG.with_suffix('.urdf').read_text()
    heavier = tmp_path / 'heavier.urdf'
    heavier.write_text(text.replace('<mass value="0.8"/>', '<mass value="0.9"/>'))
    assert heavier.read_text() != text
    pipeline = pipeline_of({'model.urdf': str(heavier)})
    before = posterior_bytes(pipeline)
    with pytest.raises(DataError, match="another robot.*'lower.mass' was 0.8 and is 0.9"):
        pipeline.load(saved)
    with pytest.raises(DataError, match='another robot'):
        pipeline.begin_from(saved)
    assert posterior_bytes(pipeline) == before
    heavier.write_text(text.replace('elbow', 'knee'))
    knee = {'model.urdf': str(heavier), 'joints': {'shoulder': {'effort': 'commanded'}}}
    other = with_values(config(), {'sensors.encoders.joints': ['shoulder', 'knee'], **knee})
    with pytest.raises(DataError, match="joint 'knee' is in this pipeline only.*and .+ more"):
        pipeline_of(config=other).load(saved)


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'estimate.*.com.z.fixed': True}, 'other parameters.*lower.com.z'),
        ({'estimate.*.mass.sd': 0.1}, "other coordinates|prior of 'log"),
        ({'estimator.seed': 1}, 'another estimator.*seed was 0 and is 1'),
        ({'estimator.settings.noise': 'student'}, 'noise was .*Normal.* and is .*Student'),
        ({'estimator.name': 'gumbel_mixture'}, 'name was gaussian_sum'),
    ],
)
def test_other_settings_are_refused(saved, changes, reason):
    with pytest.raises(DataError, match=f'arm.npz: .*({reason})'):
        pipeline_of(changes).load(saved)


def rewritten(path, change):
    """Write a file again with members changed; change: of a dict of name -> bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, 'w') as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def with_header(**changes):
    """Return a change of the header's entries."""

    def change(members):
        header = {**json.loads(members['header.json']), **changes}
        members['header.json'] = json.dumps(header).encode()

    return change


def with_pickle(members):
    """Put a pickle in place of an array."""
    file = io.BytesIO()
    np.save(file, np.array([{'a': 1}], dtype=object), allow_pickle=True)
    members['means.npy'] = file.getvalue()


SYSTEM = {'nodes': [{'kind': 'os.system', 'fields': {}}], 'content': {'node': 0}}


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (with_pickle, 'means.npy: is .*damaged .*[Oo]bject arrays cannot be loaded'),
        (with_header(version=4, package='9.9'), "version 4 .*'9.9'.*versions up to 3"),
        (with_header(format='a song'), "a file of 'a song'"),
        (with_header(nodes=[]), 'damaged'),
        (with_header(content=[None, {'node': -1, 'more': 1}]), 'damaged'),
        (with_header(content={'import': 'os'}), "unknown sort 'import'"),
        (with_header(**SYSTEM), "unknown kind 'os.system'"),
        (lambda members: members.pop('header.json'), 'not a saved posterior'),
        (lambda members: members.pop('means.npy'), "damaged .*'means'"),
        (lambda members: members.update({'header.json': b'{'}), 'not a saved posterior'),
        (lambda members: members.update({'float64.npy': b'?'}), 'float64.npy: is .*damaged'),
    ],
)
def test_a_file_that_is_none_is_refused(saved, change, reason):
    rewritten(saved, change)
    with pytest.raises(DataError, match=f'arm.npz: .*{reason}'):
        load(saved)


def with_other_fields(members):
    """Give the state of a batch another field, as another version may have had it."""
    header = json.loads(members['header.json'])
    (state,) = (node for node in header['nodes'] if node.get('kind') == 'batch state')
    state['fields']['portion'] = state['fields'].pop('share')
    members['header.json'] = json.dumps(header).encode()


def with_another_phase(members):
    """Hold the state of a batch in one of a kind that is gone."""
    header = json.loads(members['header.json'])
    (state,) = (node for node in header['nodes'] if node.get('kind') == 'batch state')
    state['kind'] = 'state of a portion'
    members['header.json'] = json.dumps(header).encode()


@pytest.mark.parametrize('change', [with_other_fields, with_another_phase])
def test_of_another_version_the_posterior_is_read_and_the_run_is_not(saved, change):
    known = load(saved)
    rewritten(saved, change)
    found = load(saved)
    assert found.run is None and known.run is not None
    for part in ('log_weights', 'means', 'roots'):
        np.testing.assert_array_equal(getattr(found.mixture, part), getattr(known.mixture, part))
    assert found.findings == known.findings and found.recordings == known.recordings
    with pytest.raises(DataError, match='another version has saved it.*portion.*begin_from'):
        pipeline_of().load(saved)
    pipeline = pipeline_of()
    pipeline.begin_from(saved)
    np.testing.assert_allclose(pipeline.mixture.moments()[0], known.mixture.moments()[0])


def test_of_an_earlier_format_the_posterior_is_read_and_the_run_is_not(saved):
    known = load(saved)

    def change(members):
        with_header(version=2)(members)
        header = json.loads(members['header.json'])
        for node in header['nodes']:
            if node.get('kind') == 'findings':
                node['fields']['told'] = node['fields'].pop('observed')
        members['header.json'] = json.dumps(header).encode()

    rewritten(saved, change)
    found = load(saved)
    assert found.run is None and found.findings is None and known.findings is not None
    np.testing.assert_array_equal(found.mixture.means, known.mixture.means)
    with pytest.raises(DataError, match='another version has saved it: version 2.*begin_from'):
        pipeline_of().load(saved)
    pipeline_of().begin_from(saved)


@pytest.mark.parametrize('share', [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_off_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match='cut off or damaged' if share else 'not a saved'):
        load(saved)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataError, match='cannot be read'):
        load(tmp_path / 'missing.npz')
    (tmp_path / 'text').write_text('hello')
    with pytest.raises(DataError, match='not a saved posterior'):
        load(tmp_path / 'text')
    with pytest.raises(DataError, match='cannot be written'):
        pipeline_of().save(tmp_path / 'no' / 'folder.npz')


def test_a_file_with_a_flipped_bit_is_refused(saved):
    # In the middle of a part: between the parts there are bytes of which nothing hangs.
    with zipfile.ZipFile(saved) as parts:
        largest = max(parts.infolist(), key=lambda part: part.compress_size)
    content = bytearray(saved.read_bytes())
    content[largest.header_offset + largest.compress_size // 2] ^= 1
    saved.write_bytes(content)
    with pytest.raises(DataError, match='arm.npz'):
        load(saved)
