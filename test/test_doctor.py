"""`sim2real-estimator doctor`: what is wrong with a computer is said with its remedy."""

from importlib.util import find_spec
import os
import subprocess
import sys

import pytest
from test_package import ROOT, setup_constant

from sim2real_estimator.app.doctor import computer as checks

LEAST = {name: lowest for name, (_, lowest, _) in {**checks.LIBRARIES, **checks.OPTIONAL}.items()}


def test_its_libraries_are_those_of_setup():
    extras = setup_constant('EXTRAS')
    assert {f'{name}>={LEAST[name]}' for name in checks.LIBRARIES} == set(
        setup_constant('RUNTIME')
    )
    optional = {f'{name}>={LEAST[name]}' for name in checks.OPTIONAL}
    assert optional == {*extras['report'], *extras['mujoco']}


def worst(check):
    """Return (level, text and remedy) of the worst that a check finds."""
    levels = ('ok', 'warning', 'error')
    found = max(check(), key=lambda each: levels.index(each.level))
    return found.level, f'{found.subject}: {found.text}; {found.remedy}'


def test_here_nothing_is_wrong_with_libraries_and_simulation():
    assert worst(checks.python)[0] == worst(checks.simulation)[0] == 'ok'
    # What only an extra needs may be absent.
    absent = [name for name in checks.OPTIONAL if find_spec(name) is None]
    assert worst(checks.libraries)[0] == ('warning' if absent else 'ok')


@pytest.mark.parametrize('name', ['torch', 'rosbags'])
def test_a_library_that_is_missing_is_an_error(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    level, text = worst(checks.libraries)
    assert level == 'error'
    assert f'{name}: is missing' in text and f"pip install '{name}>=" in text


def test_a_report_that_cannot_be_drawn_is_a_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    level, text = worst(checks.libraries)
    assert level == 'warning' and 'no HTML report' in text


def test_a_library_that_is_too_old_is_an_error(monkeypatch):
    before = checks.metadata.version
    monkeypatch.setattr(
        checks.metadata, 'version', lambda name: '1.9.3' if name == 'scipy' else before(name)
    )
    level, text = worst(checks.libraries)
    assert level == 'error' and 'scipy: 1.9.3, older than 1.11' in text


def test_versions_are_compared_as_numbers():
    assert checks.numbers_of('2.13.0+cpu') == (2, 13, 0) > checks.numbers_of('2.3')


@pytest.mark.parametrize(
    ('variables', 'level', 'said'),
    [
        ({'ROS_DOMAIN_ID': '500'}, 'error', 'export ROS_DOMAIN_ID=0'),
        ({'ROS_DOMAIN_ID': 'seven'}, 'error', 'export ROS_DOMAIN_ID=0'),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'HERE'}, 'error', 'DISCOVERY_RANGE=SUBNET'),
        ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, 'error', 'no node finds another'),
        ({'ROS_LOCALHOST_ONLY': '1'}, 'warning', 'unset ROS_LOCALHOST_ONLY'),
        ({'FASTRTPS_DEFAULT_PROFILES_FILE': '/none.xml'}, 'error', '/none.xml is no file'),
    ],
)
def test_variables_of_dds_that_cannot_work(monkeypatch, variables, level, said):
    monkeypatch.setattr(checks, '_heard', lambda: ())
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found, text = worst(checks.discovery)
    assert found == level and said in text


def test_threads_that_spin_are_a_warning(monkeypatch):
    monkeypatch.setenv('OMP_WAIT_POLICY', 'active')
    level, text = worst(checks.threads)
    assert level == 'warning' and 'OMP_WAIT_POLICY=passive' in text


def test_a_clock_that_nobody_set_is_an_error(monkeypatch):
    monkeypatch.setattr(checks.time, 'time', lambda: 86_400.0)
    level, text = worst(checks.clock)
    assert level == 'error' and '1970-01-02' in text


def test_little_memory_is_a_warning(monkeypatch):
    monkeypatch.setattr(checks, '_free_memory', lambda: 0.2)
    level, text = worst(checks.memory)
    assert level == 'warning' and '0.2 GiB free' in text


def run(**variables):
    return subprocess.run(
        [sys.executable, '-m', 'sim2real_estimator.cli', 'doctor'],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_the_command_hears_itself_over_dds():
    pytest.importorskip('rclpy')
    done = run(ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST')
    assert 'discovery: a message gets from node to node' in ' '.join(done.stdout.split())
    assert done.returncode == 0, done.stdout


def test_the_exit_status_says_that_something_cannot_work():
    done = run(ROS_DOMAIN_ID='500')
    assert done.returncode == 1
    assert 'ERROR    DDS: ROS_DOMAIN_ID 500' in done.stdout
    assert 'do:  export ROS_DOMAIN_ID=0' in done.stdout
    assert not done.stderr
