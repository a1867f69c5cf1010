"""What colcon builds: its executables are run where it puts them, over DDS."""

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('colcon_core', reason='colcon comes with requirements-test.txt')

from live import discovery, ROOT
from waiting import PATIENCE, until

PACKAGE = 'sim2real_estimator'
BUILT = 'build', 'install', 'log', '.venv', '.git', 'results', '*.egg-info', '__pycache__'


def built(workspace, *options):
    """Return where colcon installs the package in an empty folder."""
    # Of a clone, so that nothing is built in the sources.
    (workspace / 'src').mkdir()
    for entry in ROOT.iterdir():
        if not any(entry.match(pattern) for pattern in BUILT):
            (workspace / 'src' / entry.name).symlink_to(entry)
    subprocess.run(
        [sys.executable, '-m', 'colcon', 'build', *options],
        cwd=workspace,
        check=True,
        timeout=PATIENCE,
        capture_output=True,
    )
    return workspace / 'install' / PACKAGE


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    """Return where colcon has installed the package."""
    return built(tmp_path_factory.mktemp('ws'))


def test_changes_take_effect_at_once_with_symlink_install(tmp_path):
    where = built(tmp_path, '--symlink-install')

    (link,) = where.glob('lib/python*/site-packages/sim2real-estimator.egg-link')
    sources = Path(link.read_text().splitlines()[0]) / PACKAGE
    assert (sources / 'version.py').resolve() == ROOT / PACKAGE / 'version.py'


def environment(prefix):
    """Return the environment as after `. install/setup.bash`, with this Python the first."""
    (packages,) = prefix.glob('lib/python*/site-packages')
    first = {
        'AMENT_PREFIX_PATH': [prefix],
        'PYTHONPATH': [packages],
        'PATH': [prefix / 'bin', Path(sys.executable).parent],
    }
    before = {name: [os.environ[name]] for name in first if os.environ.get(name)}
    paths = {
        name: os.pathsep.join(map(str, [*folders, *before.get(name, [])]))
        for name, folders in first.items()
    }
    return {**os.environ, **discovery(), **paths}


@pytest.fixture
def start(prefix, tmp_path):
    """Return a function that starts an installed node; all are ended."""
    processes = []

    def start(executable, config):
        command = [prefix / 'lib' / PACKAGE / executable, '--ros-args', '-p']
        process = subprocess.Popen(
            [*command, f'config_file:={prefix / "share" / PACKAGE / "config" / config}'],
            cwd=tmp_path,
            env=environment(prefix),
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


def test_nodes_and_commands_work_where_they_are_installed(start, prefix, client, tmp_path):
    nodes = [
        start('sim2real_estimator_node', 'demo.yaml'),
        start('synthetic_robot', 'synthetic/demo.yaml'),
    ]
    client.wait(lambda: client.estimates, 'an estimate')

    # Where others compete for the cores, verdicts may take longer than it listens.
    until(lambda: 'lower.mass' in shown(prefix, tmp_path), 'a table with the parameters')

    for node in nodes:
        node.send_signal(signal.SIGINT)
        until(lambda node=node: node.poll() is not None, 'the end')
        assert node.returncode == 0


def shown(prefix, folder):
    """Return what the command prints that shows a running node."""
    monitor = subprocess.run(
        ['sim2real-estimator', 'monitor', '--seconds', '3'],
        cwd=folder,
        env=environment(prefix),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert monitor.returncode == 0, monitor.stderr
    return monitor.stdout


@pytest.mark.parametrize('folder', ['config', 'launch'])
def test_every_shipped_file_is_there(prefix, folder):
    shipped = {path.relative_to(ROOT) for path in (ROOT / folder).rglob('*.*')}
    share = prefix / 'share' / PACKAGE

    assert {path for path in shipped if (ROOT / path).is_file() and path.suffix != '.pyc'} <= {
        path.relative_to(share) for path in share.rglob('*.*')
    }


def test_all_of_the_package_is_there(prefix):
    (packages,) = prefix.glob('lib/python*/site-packages')
    ours = {p.relative_to(ROOT) for p in (ROOT / PACKAGE).rglob('*.*') if p.suffix != '.pyc'}

    assert ours <= {path.relative_to(packages) for path in (packages / PACKAGE).rglob('*.*')}
