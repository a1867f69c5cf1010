"""What cannot be right is said in a sentence or two, by an exit status, and nothing is written."""

from contextlib import contextmanager
import os
from pathlib import Path
import resource
import subprocess
import sys

from bag_files import START, write
import broken
import numpy as np
import pytest

from sim2real_estimator import cli, identify
from sim2real_estimator.bags.matching import match, wanted_topics
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.offline.identification.feeding import require_plausible_units, survey
from sim2real_estimator.setup.sources import build_model, build_sensors, settings_of, topics

ROOT = Path(__file__).parents[2]


def everything(folder):
    """Return path -> content of all that is below a folder; of folders None."""
    paths = sorted(folder.rglob('*'))
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


def require_refused(status, out, err, texts):
    """Check an exit status and what was written to both streams."""
    assert status == 2
    assert 'Traceback' not in out + err
    assert err.startswith('sim2real-estimator: ')
    for text in texts:
        assert text in err


@pytest.mark.parametrize('name', broken.CASES)
def test_what_is_wrong_is_said_with_where_and_what_to_do(name, tmp_path, capsys):
    make, texts = broken.CASES[name]
    arguments = make(tmp_path)
    before = everything(tmp_path)
    status = cli.main(['identify', *arguments])
    require_refused(status, *capsys.readouterr(), texts)
    assert everything(tmp_path) == before


@pytest.mark.parametrize('name', ['no_motion', 'stamps_going_back', 'truncated_message'])
def test_an_earlier_result_stays_where_a_later_one_comes_to_nothing(name, tmp_path, capsys):
    make, texts = broken.CASES[name]
    arguments = make(tmp_path)
    (tmp_path / 'result').mkdir()
    (tmp_path / 'result' / 'result.json').write_text('{}')
    before = everything(tmp_path)
    status = cli.main(['identify', *arguments, '--force'])
    require_refused(status, *capsys.readouterr(), texts)
    assert everything(tmp_path) == before


def test_a_process_ends_with_the_same_status_and_text(tmp_path):
    make, texts = broken.CASES['truncated_mcap']
    script = [sys.executable, '-m', 'sim2real_estimator.cli', 'identify', *make(tmp_path)]
    before = everything(tmp_path)
    path = os.pathsep.join((str(ROOT), os.environ.get('PYTHONPATH', '')))
    ended = subprocess.run(
        script, env={**os.environ, 'PYTHONPATH': path}, capture_output=True, text=True
    )
    require_refused(ended.returncode, ended.stdout, ended.stderr, texts)
    assert everything(tmp_path) == before


@contextmanager
def powerless(*paths):
    """Take away the right to read these, of root as well."""
    user = os.geteuid()
    for path in paths:
        path.chmod(0)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        for path in paths:
            path.chmod(0o700)


@pytest.mark.parametrize('part', ['bag', 'bag/bag.mcap'])
def test_what_may_not_be_read_is_named(part, tmp_path, capsys):
    arguments = broken.recorded(tmp_path, broken.swing())
    for folder in (tmp_path, *tmp_path.parents[:3], tmp_path / 'bag'):
        folder.chmod(folder.stat().st_mode | 0o055)
    with powerless(tmp_path / part):
        status = cli.main(['identify', *arguments])
    texts = ('cannot be read', 'Permission denied', 'see that you may read')
    require_refused(status, *capsys.readouterr(), texts)
    assert not (tmp_path / 'result').exists()


@contextmanager
def full_disk(size):
    """Let no file of this process become larger than a size: not for longer than is needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_without_room_nothing_is_left(bag, tmp_path, capsys):
    arguments = ['identify', *broken.command(tmp_path, bag)]
    with full_disk(1000):
        status = cli.main(arguments)
    texts = ('cannot be written', 'give another --output', 'or make room')
    require_refused(status, *capsys.readouterr(), texts)
    assert [path.name for path in tmp_path.iterdir()] == ['robot.yaml']


def test_without_room_for_the_result_it_goes_on_once_there_is_some(bag, tmp_path, capsys):
    arguments = ['identify', *broken.command(tmp_path, bag, options=('--held-out', '0'))]
    with full_disk(150_000):
        status = cli.main(arguments)
    texts = ('/result: cannot be written', 'make room: the same command goes on from here')
    captured = capsys.readouterr()
    assert status == 2 and 'Traceback' not in captured.out + captured.err
    assert all(text in captured.err for text in texts)
    assert not (tmp_path / 'result').exists()
    assert cli.main(arguments) == 0
    assert (tmp_path / 'result' / 'robot.urdf').exists()
    assert not (tmp_path / 'result.partial').exists()


def test_a_folder_of_somebody_else_is_not_used_for_checkpoints(bag, tmp_path, capsys):
    arguments = ['identify', *broken.command(tmp_path, bag)]
    theirs = tmp_path / 'result.partial' / 'thesis.tex'
    theirs.parent.mkdir()
    theirs.write_text('years of work')
    before = everything(tmp_path)
    status = cli.main(arguments)
    texts = ("holds 'thesis.tex', which is not of `identify`", 'give another --output')
    require_refused(status, *capsys.readouterr(), texts)
    assert everything(tmp_path) == before


def test_what_is_never_seen_is_said_beside_the_result(tmp_path):
    flight = broken.flight()
    for *_, message in flight:
        message.pose.orientation.w = 0.0
    path = write(tmp_path / 'bag', broken.ordered(broken.swing(), flight))
    (found,) = identify(path, broken.with_mocap(), held_out=0).bags
    assert found.unused == ('nothing of hand was used: 400 occluded',)


def test_what_is_in_the_units_of_ros_is_no_reason(tmp_path):
    config = broken.with_mocap()
    model = build_model(config)
    wanted = wanted_topics(build_sensors(config, model), topics(config), settings_of(config))
    entries = broken.ordered(broken.swing(), broken.flight())
    with BagReader(write(tmp_path / 'bag', entries)) as bag:
        matches = match(wanted, bag)
        found = survey(bag, matches)
        require_plausible_units(bag, matches, found, model, is_fixed=True)
    assert found['/mocap'].latency == pytest.approx(0.002)
    assert found['/mocap'].latency_sd == pytest.approx(0.0, abs=1e-9)
    assert found['/mocap'].first_ns == START


def test_who_trusts_units_is_asked_no_more_about_them(tmp_path, capsys):
    arguments = broken.recorded(tmp_path, broken.swing(180 / np.pi)[:12])
    for options, text in (([], 'or say by --trust-units'), (['--trust-units'], 'are too few')):
        assert cli.main(['identify', *arguments, *options]) == 2
        assert text in capsys.readouterr().err
