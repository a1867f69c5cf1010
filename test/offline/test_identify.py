"""Recordings give what the same samples give live, once and for all."""

import csv
import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
from posteriors import posterior_bytes
import pytest
import swinging

from sim2real_estimator import identify
from sim2real_estimator.app.synthetic.bag import START_NS
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.file import joined, load
from sim2real_estimator.ros.publishers import (
    read_bands,
    read_estimate,
    read_events,
    read_parameters,
    read_posterior,
    read_samples,
)
from sim2real_estimator.sensors import stamp_ns

HERE = Path(__file__).parent
SECOND = 10**9
LATER = START_NS + 3 * SECOND


def bytes_of(posterior):
    """Return the mixture of a `Posterior`, bit for bit."""
    mixture = posterior.mixture
    arrays = (mixture.log_weights, mixture.points, mixture.means, mixture.roots)
    return b''.join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.fixture(scope='module')
def pipeline():
    """Return a pipeline that had the messages of the recording from memory."""
    return swinging.fed()


@pytest.fixture(scope='module')
def written(bag, config, tmp_path_factory):
    """Return an identification without anything held out, and its folder."""
    folder = tmp_path_factory.mktemp('results') / 'swing'
    return identify(bag, config, folder, held_out=0), folder


def test_a_bag_gives_the_posterior_of_its_samples(written, pipeline):
    found, _ = written
    assert bytes_of(found.posterior) == posterior_bytes(pipeline)
    assert found.bags[0].health == pipeline.counts.table()
    assert found.findings == pipeline.findings()


def test_the_posterior_file_goes_on_where_the_bag_ends(written, pipeline, config):
    found, folder = written
    loaded = Pipeline.from_config(config)
    loaded.load(folder / 'posterior.npz')
    assert posterior_bytes(loaded) == posterior_bytes(pipeline)
    assert load(folder / 'posterior.npz').findings == found.findings


def test_the_way_is_that_of_the_pipeline(written, pipeline):
    found, _ = written
    course = found.course
    assert course.names == pipeline.estimate().names
    assert course.units == ('kg', 'N m s/rad', 'N m s/rad')
    assert (np.diff(course.stamps_ns) > 0).all()
    assert course.degrees.sum() > 0 and (course.sd[-1] < course.sd[0]).all()
    names = [event.name for event in found.events]
    assert names == ['converged']
    assert found.events[0].stamp_ns in course.stamps_ns.tolist()


def every_file(folder):
    """Return name -> content of all files below a folder, without the time of day."""
    found = {path.relative_to(folder): path.read_bytes() for path in folder.rglob('*.*')}
    created = json.loads(found[Path('result.json')])['provenance']['created'].encode()
    return {path: content.replace(created, b'now') for path, content in found.items()}


def test_twice_gives_the_same_files(written, bag, config, tmp_path):
    identify(bag, config, tmp_path / 'again', held_out=0)
    assert every_file(tmp_path / 'again') == every_file(written[1])
    assert [path.name for path in tmp_path.iterdir()] == ['again']


def test_the_summary_says_where_it_comes_from(written, bag):
    found, folder = written
    summary = json.loads((folder / 'result.json').read_text())
    origin = summary['provenance']
    assert origin['model_hash'] == found.posterior.identity['model_hash']
    assert origin['libraries']['numpy'] == np.__version__
    assert summary['bags'][0]['name'] == bag.name
    assert len(summary['bags'][0]['digest']) == 32
    assert [each['name'] for each in summary['findings']['parameters']] == [*found.mean]
    assert summary['held_out']['reason'] == 'nothing was held out'


def test_the_estimates_are_a_table(written):
    found, folder = written
    with (folder / 'estimates.csv').open() as file:
        head, *rows = csv.reader(file)
    assert head[5:7] == ['lower.mass [kg]', 'sd of lower.mass [kg]']
    assert len(rows) == len(found.course.stamps_ns)
    assert float(rows[-1][5]) == found.course.mean[-1, 0]
    assert float(rows[-1][6]) == found.course.sd[-1, 0]


def test_the_bag_has_what_the_node_would_publish(written):
    found, folder = written
    with BagReader(folder / 'estimates') as bag:
        latest, counts = {}, {}
        for topic, time_ns, content in bag.messages(bag.topics):
            name = topic.rpartition('/')[2]
            latest[name] = bag.decoded(topic, content)
            counts[name] = counts.get(name, 0) + 1
            assert found.bags[0].begin_ns <= time_ns <= found.bags[0].end_ns
    assert counts['coordinates'] == counts['events'] == 1 and counts['samples'] == 2
    assert counts['posterior'] == counts['parameters'] == counts['bands']
    assert counts['posterior'] == len(found.course.stamps_ns)
    estimate = read_estimate(latest['estimate'])
    assert estimate.stamp_ns >= found.course.stamps_ns[-1]
    parameters = read_parameters(latest['parameters']).parameters
    assert [*parameters] == [*found.mean]
    means = {name: each.mean for name, each in parameters.items()}
    assert read_bands(latest['bands']).mean == means
    assert read_posterior(latest['posterior']).labels == found.problem.labels
    assert read_events(latest['events'])[1][0].name == 'converged'
    assert len(read_samples(latest['samples'])['lower.mass']) == swinging.DRAWS
    assert latest['predicted_joint_states'].name == ['shoulder', 'elbow']
    assert latest['markers'].markers


def test_a_folder_that_is_there_is_not_overwritten(written, bag, config):
    with pytest.raises(ConfigError, match='exists'):
        identify(bag, config, written[1])


def test_a_folder_is_replaced_on_request(bag, config, tmp_path):
    (tmp_path / 'result').mkdir()
    for name in ('old', 'result.json'):
        (tmp_path / 'result' / name).write_text('')
    identify(bag, config, tmp_path / 'result', held_out=0, force=True)
    assert not (tmp_path / 'result' / 'old').exists()
    assert (tmp_path / 'result' / 'result.json').read_text()


def test_killed_twice_it_goes_on_to_the_same_files(written, bag, tmp_path):
    output = tmp_path / 'result'
    script = [sys.executable, str(HERE / 'killed.py'), str(bag), str(output)]
    path = os.pathsep.join((str(HERE.parent), str(HERE.parents[1])))
    # After so many checkpoints each time, the last time not at all.
    for number in (1, 3, 0):
        ended = subprocess.run([*script, str(number)], env={**os.environ, 'PYTHONPATH': path})
        assert ended.returncode == (-9 if number else 0)
        assert output.exists() is not bool(number)
    assert every_file(output) == every_file(written[1])
    assert [path.name for path in tmp_path.iterdir()] == ['result']


def test_what_is_held_out_is_predicted_and_not_used(config, tmp_path):
    path = swinging.bag(tmp_path / 'bag', 8.0)
    found = identify(path, config, held_out=0.5)
    split = START_NS + 4 * SECOND
    assert found.posterior.recordings[0].end_ns == pytest.approx(split, abs=2e7)
    held_out = found.held_out
    assert len(held_out.starts_ns) == 2 and (held_out.starts_ns > split).all()
    assert [trace.label for trace in held_out.traces] == ['shoulder position', 'elbow position']
    for trace in held_out.traces:
        assert trace.unit == 'rad' and trace.sd == 0.001
        assert trace.rms('mean') < 1.5 * trace.sd < 0.05 * trace.rms('nominal')
        assert 0.8 < trace.coverage() < 1
        assert trace.elapsed.max() == pytest.approx(1.0, abs=0.02)
    with BagReader(path) as bag:
        messages = [bag.decoded(*entry[::2]) for entry in bag.messages(bag.topics)]
    measured = {stamp_ns(message): message.position[1] for message in messages}
    assert trace.measured.tolist() == [measured[stamp] for stamp in trace.stamps_ns.tolist()]


def test_later_recordings_go_on(bag, config, tmp_path):
    second = swinging.bag(tmp_path / 'second', start_ns=LATER)
    both = identify([bag, second], config, tmp_path / 'both', held_out=0)
    pipeline = swinging.fed((swinging.SECONDS, START_NS), (swinging.SECONDS, LATER))
    assert bytes_of(both.posterior) == posterior_bytes(pipeline)
    assert [(event.bag, event.name) for event in both.events] == [(0, 'converged'), (1, 'resumed')]
    assert [*np.unique(both.course.bags)] == [0, 1]
    used = [each.health['encoders']['used'] for each in both.bags]
    assert sum(used) == pipeline.counts.table()['encoders']['used']
    with pytest.raises(DataError, match='in order of time'):
        identify([second, bag], config)


def test_independent_recordings_are_joined(bag, config, tmp_path):
    second = swinging.bag(tmp_path / 'second', start_ns=LATER)
    alone = [identify(path, config, held_out=0) for path in (second, bag)]
    both = identify([second, bag], config, tmp_path / 'both', merge=True, held_out=0)
    assert bytes_of(both.posterior) == bytes_of(joined([each.posterior for each in alone]))
    assert both.is_merged and [each.name for each in both.bags] == ['second', bag.name]
    assert [event.bag for event in both.events] == [0, 1]
    assert all(both.sd[name] < alone[0].sd[name] for name in both.sd)
    assert load(tmp_path / 'both' / 'posterior.npz').findings == both.findings


def test_frames_of_another_run_can_be_followed(bag, config, tmp_path):
    def hurry(pipeline):
        # As under load: from some time on frames are longer.
        if pipeline.estimate().stamp_ns - START_NS > 0.7 * SECOND:
            pipeline.stream.set_rate(25.0)

    live = swinging.fed(each=hurry, to_the_end=False)
    live.save(tmp_path / 'live.npz')
    found = identify(bag, config, held_out=0, follow=tmp_path / 'live.npz')
    assert bytes_of(found.posterior) == posterior_bytes(live)
    assert live.stream.max_rate == 25.0


@pytest.mark.parametrize(
    ('options', 'said'),
    [({'held_out': 1.0}, 'held_out: is 1'), ({'bags': []}, 'at least one recording')],
)
def test_what_cannot_be_done_is_said(bag, config, options, said):
    with pytest.raises(ConfigError, match=said):
        identify(**{'bags': bag, 'config': config, **options})
