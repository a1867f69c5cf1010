"""The folder of posterior files: which is the newest, and which is used."""

from dataclasses import replace
from datetime import datetime, timezone

from posteriors import feed, pipeline_of, samples_of
import pytest
from simulated import config

from sim2real_estimator.config import with_values
from sim2real_estimator.ros.worker import saving
from sim2real_estimator.ros.worker.requests import begin
from sim2real_estimator.ros.worker.saving import Saving, written


@pytest.fixture(scope='module')
def content(tmp_path_factory):
    """Return the bytes of a posterior after a second of data."""
    path = tmp_path_factory.mktemp('known') / 'posterior.npz'
    pipeline = pipeline_of()
    feed(pipeline, samples_of()[:200], to_the_end=False)
    pipeline.save(path)
    return path.read_bytes()


def save_at(folder, year, patch):
    """Write a file as if it were that year, and delete the old ones."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(year, 1, 1, tzinfo=timezone.utc)

    patch.setattr(saving, 'datetime', Clock)
    path = folder.next_path()
    path.write_bytes(b'')
    folder.prune()
    return path


def test_the_newest_file_is_the_last_one_written_whatever_the_clock_says(tmp_path, monkeypatch):
    folder = Saving(tmp_path, keep=2)
    # As versions before wrote them: without a number.
    for year in (2024, 2025):
        (tmp_path / f'posterior_{year}0101T000000.000000Z.npz').write_bytes(b'')
    latest = [save_at(folder, year, monkeypatch) for year in (2026, 1970, 2025)]
    assert written(tmp_path) == [latest[2], latest[1]]
    assert latest[0].name.startswith('posterior_000001_2026')


def begun(folder):
    """Return a pipeline that begins from the newest file of a folder."""
    pipeline, settings = pipeline_of(), {'node.initial_posterior': str(folder)}
    begin(pipeline, replace(with_values(config(), settings), source=str(folder)), None)
    return pipeline


@pytest.mark.parametrize('damage', [lambda good: b'', lambda good: good[: len(good) // 2]])
def test_a_node_goes_on_from_the_newest_file_that_is_whole_and_says_so(
    tmp_path, content, damage, caplog
):
    (tmp_path / 'posterior_000001_x.npz').write_bytes(content)
    (tmp_path / 'posterior_000002_x.npz').write_bytes(damage(content))
    assert begun(tmp_path).progress.recording is not None
    assert 'posterior_000002_x.npz' in caplog.text and 'the file before it' in caplog.text


def test_where_no_file_is_whole_a_node_begins_from_its_prior(tmp_path, caplog):
    (tmp_path / 'posterior_000001_x.npz').write_bytes(b'')
    assert begun(tmp_path).progress.recording is None
    assert 'posterior_000001_x.npz' in caplog.text
