"""Which backend runs where the packages of the native one are missing."""

import importlib
import logging
from pathlib import Path
import subprocess
import sys

from models import draw, pendulum
import pytest

from sim2real_estimator.backend import BACKENDS, choice
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ('casadi', 'llvmlite')


@pytest.fixture(params=PACKAGES)
def missing(request, monkeypatch):
    """Let one package be impossible to import, and forget what was logged; return its name."""
    original = importlib.import_module

    def import_module(name, package=None):
        if name.partition('.')[0] == request.param:
            raise ImportError(f'cannot load {request.param}.so')
        return original(name, package)

    monkeypatch.setattr(importlib, 'import_module', import_module)
    monkeypatch.setattr(choice, '_said', set())
    return request.param


def test_native_comes_first_where_it_can_run():
    assert Simulator(pendulum()).backend == next(iter(BACKENDS)) == 'native'


@pytest.mark.parametrize('name', BACKENDS)
def test_a_backend_asked_for_by_name_is_taken(name):
    assert Simulator(pendulum(), backend=name).backend == name


def test_without_its_packages_eager_runs_and_that_is_logged_once(missing, caplog):
    with caplog.at_level(logging.INFO):
        simulators = [Simulator(pendulum()) for _ in range(3)]
    assert {simulator.backend for simulator in simulators} == {'eager'}
    assert len(caplog.records) == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    message = record.getMessage()
    assert '\n' not in message
    for part in ("'native'", f"'{missing}'", f'cannot load {missing}.so', f'install {missing}'):
        assert part in message
    inputs = draw(simulators[0], 2)
    assert simulators[0].rollout(*inputs.arguments()).states.isfinite().all()


def test_without_its_packages_native_by_name_is_refused(missing, caplog):
    with pytest.raises(ConfigError) as caught:
        Simulator(pendulum(), backend='native')
    for part in ("'native' cannot run here", f"'{missing}'", f'pip install {missing}'):
        assert part in str(caught.value)
    assert not caplog.records


def test_the_package_works_on_a_machine_without_them():
    # In a process of its own, where they were never imported: no module may need them on import.
    script = (
        f'import sys\nfor name in {PACKAGES}: sys.modules[name] = None\n'
        'import logging; logging.basicConfig()\n'
        f'sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "test/backend")!r}]\n'
        'from models import draw, pendulum\n'
        'from sim2real_estimator.backend.simulator import Simulator\n'
        'simulator = Simulator(pendulum())\n'
        'simulator.rollout(*draw(simulator, 2).arguments())\n'
        'print(simulator.backend)\n'
    )
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ['eager']
    assert done.stderr.count("the backend 'native' cannot run here") == 1


def test_an_unknown_backend_is_refused():
    with pytest.raises(
        ConfigError, match="no backend 'gpu'; choose 'auto' or one of native, eager"
    ):
        Simulator(pendulum(), backend='gpu')
