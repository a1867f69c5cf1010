"""Processes of the demo end with it, whatever happens."""

import os
import signal
import subprocess
import sys

import pytest
from waiting import is_running, PATIENCE, until

from sim2real_estimator.app.demo.processes import Processes
from sim2real_estimator.errors import ProcessError

SLEEPER = 'import time; print("awake", flush=True); time.sleep(600)'
STUBBORN = f'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {SLEEPER}'


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes a module and returns its name."""
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))

    def write(name, text):
        (tmp_path / f'{name}.py').write_text(text)
        return name

    return write


@pytest.mark.parametrize('text', [SLEEPER, STUBBORN], ids=['sleeper', 'stubborn'])
def test_they_end_also_when_something_fails(module, tmp_path, text, monkeypatch):
    monkeypatch.setattr('sim2real_estimator.app.demo.processes._PATIENCE', 0.3)
    log = tmp_path / 'log'
    with pytest.raises(ZeroDivisionError), Processes() as processes:
        process = processes.start(module('sleeper', text), (), log)
        until(lambda: 'awake' in log.read_text(), 'its first word')
        processes.check()
        raise ZeroDivisionError
    assert not is_running(process.pid)


def test_one_that_ends_by_itself_is_an_error_with_what_it_said(module, tmp_path):
    name = module('failing', 'import sys; print("no such robot"); sys.exit(2)')
    with Processes() as processes:
        processes.start(name, (), tmp_path / 'log').wait(PATIENCE)
        with pytest.raises(ProcessError, match='failing ended with status 2.*\n.*no such robot'):
            processes.check()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_to_whoever_started_them_ends_them_too(module, tmp_path, number):
    module('sleeper', SLEEPER)
    log = tmp_path / 'log'
    script = f"""
import pathlib, time
from sim2real_estimator.app.demo.processes import Processes, interruptible
with interruptible(), Processes() as processes:
    print(processes.start('sleeper', (), pathlib.Path({str(log)!r})).pid, flush=True)
    time.sleep(600)
"""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(tmp_path), os.getcwd()])}
    with subprocess.Popen(
        [sys.executable, '-c', script],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as parent:
        pid = int(parent.stdout.readline())
        until(lambda: 'awake' in log.read_text(), 'its first word')
        # Once is enough, more does no harm.
        parent.send_signal(number)
        parent.send_signal(number)
        parent.wait(PATIENCE)
    until(lambda: not is_running(pid), 'its end')
