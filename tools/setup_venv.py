#!/usr/bin/env python3
"""
Make or renew `.venv`, in which every make target runs.

Usage: setup_venv.py [peers] [docs] [lock]. A second run finds everything done and costs a moment.
Only the standard library is used, in the syntax of Python 3.6, so that an old Python gets as far
as the sentence that says so. docs/setup.md describes the environment variables.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from pick_python import pick_python, probe, SetUpError

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, '.venv')
VENV_PYTHON = os.path.join(VENV, 'bin', 'python')
STALE = os.path.join(ROOT, '.venv-stale')
# Lies in .venv from the first moment to the last; names what was installed to the end.
STATE = os.path.join(VENV, 'set-up.json')
LOCK = os.path.join(ROOT, '.venv.lock')

WHEELS, SOURCED = 'wheels', 'sourced'
# What each group installs, in order, in either mode.
GROUPS = {
    'base': {
        WHEELS: ['requirements.txt', 'requirements-test.txt', 'requirements-ros-wheels.txt'],
        SOURCED: ['requirements-ros.txt'],
    },
    'peers': {WHEELS: ['requirements-peers.txt'], SOURCED: ['requirements-peers.txt']},
    'docs': {WHEELS: ['requirements-docs.txt'], SOURCED: ['requirements-docs.txt']},
    'lock': {WHEELS: ['requirements-lock.txt'], SOURCED: ['requirements-lock.txt']},
}
CONSTRAINTS = {WHEELS: [], SOURCED: ['constraints-ros.txt']}


def say(sentence):
    """Tell the user, apart from what the command itself prints."""
    print('set-up: ' + sentence, file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone():
    """Hold the lock that keeps two makes from working on .venv at once."""
    import fcntl  # Here, since a system without it should still read why it is not supported.

    with open(LOCK, 'w') as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say('another set-up is at work, waiting for it to end.')
            fcntl.flock(handle, fcntl.LOCK_EX)
        # So that a pip that outlives this script, killed, keeps the lock to its own end.
        os.set_inheritable(handle.fileno(), True)
        yield


def fingerprint(group, mode):
    """Hash all that, once changed, makes an installed group out of date."""
    digest = hashlib.sha256()
    # The path, since the scripts in .venv/bin hold it.
    digest.update('\n'.join([mode, os.environ.get('ROS_DISTRO', ''), ROOT]).encode())
    for name in GROUPS[group][mode] + CONSTRAINTS[mode]:
        with open(os.path.join(ROOT, name), 'rb') as handle:
            digest.update(handle.read())
    return digest.hexdigest()


def read_state():
    """Return what is installed in .venv, empty when nothing is."""
    try:
        with open(STATE) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return {}


def write_state(state):
    """Record what is installed in one step, so that no half-written record is ever read."""
    with open(STATE + '.new', 'w') as handle:
        json.dump(state, handle, indent=2, sort_keys=True)
    os.replace(STATE + '.new', STATE)


def usable(state, mode):
    """Tell whether the present .venv was finished, is up to date and still runs."""
    if state.get('base') != fingerprint('base', mode):
        return False
    wanted = os.environ.get('PYTHON')
    if wanted:
        named = probe(wanted)
        if named is None or named['executable'] != state['executable']:
            return False
    # A system upgrade may have put another Python behind the same name. -S starts fastest.
    command = [VENV_PYTHON, '-I', '-S', '-c', 'import sys; print("%d.%d" % sys.version_info[:2])']
    try:
        answer = subprocess.check_output(command, stderr=subprocess.DEVNULL).decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return False
    return answer == state['version']


def clear_the_place():
    """Remove the old .venv, never one that this script did not make."""
    if os.path.isdir(VENV) and os.listdir(VENV) and not os.path.exists(STATE):
        raise SetUpError('.venv was not made by make: move it away and run make again.')
    # Moved first: a removal cut short must not leave a .venv that looks like somebody else's.
    shutil.rmtree(STALE, ignore_errors=True)
    if os.path.isdir(VENV):
        os.rename(VENV, STALE)
        shutil.rmtree(STALE)


def create(mode):
    """Make an empty .venv and return its state."""
    python = pick_python(mode == SOURCED)
    clear_the_place()
    version = '%d.%d' % tuple(python['version'])
    source = 'on top of the sourced ROS 2' if mode == SOURCED else 'with ROS 2 wheels'
    say('making .venv with Python %s, %s (once, some minutes).' % (version, source))
    state = {'executable': python['executable'], 'version': version}
    os.makedirs(VENV, exist_ok=True)
    write_state(state)
    command = [python['executable'], '-m', 'venv', VENV]
    if mode == SOURCED:
        command.append('--system-site-packages')
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout.decode(errors='replace'), end='', file=sys.stderr)
        raise SetUpError('`python -m venv` failed with the message above: mend that, run again.')
    return state


def pip_install(arguments, mode):
    """Run pip of .venv; it prints errors only."""
    environment = dict(os.environ)
    # Set when this script itself was started by a Python with ROS wheels: another venv's paths.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    if mode == WHEELS:
        environment.pop('PYTHONPATH', None)  # pip would count what it finds there as installed.
    command = [VENV_PYTHON, '-m', 'pip', 'install', '-qq', '--disable-pip-version-check']
    command += ['--no-input'] + arguments
    return subprocess.call(command, env=environment, cwd=ROOT, close_fds=False) == 0


def torch_from_chosen_index(names, mode):
    """Install torch alone from TORCH_INDEX_URL; its dependencies follow from the usual index."""
    index = os.environ.get('TORCH_INDEX_URL')
    for name in names if index else []:
        with open(os.path.join(ROOT, name)) as handle:
            pin = re.search(r'^torch==\S+', handle.read(), re.MULTILINE)
        if pin and not pip_install(['--no-deps', '--index-url', index, pin.group()], mode):
            raise SetUpError('TORCH_INDEX_URL gave no %s: correct or unset it.' % pin.group())


def install(group, mode):
    """Install the requirement files of a group, a line of progress for each."""
    names = GROUPS[group][mode]
    torch_from_chosen_index(names, mode)
    constraints = [word for name in CONSTRAINTS[mode] for word in ('-c', name)]
    for name in names:
        start = time.time()
        if not pip_install(['-r', name] + constraints, mode):
            raise SetUpError(
                'pip could not install %s, for the reason above: see to the network and the '
                'disk space, then run make again.' % name
            )
        say('%s installed (%.0f s).' % (name, time.time() - start))


def set_up(groups):
    """Bring .venv to the state that the requirement files describe."""
    mode = SOURCED if os.environ.get('ROS_DISTRO') else WHEELS
    state = read_state()
    if not usable(state, mode):
        state = create(mode)
    for group in groups:
        if state.get(group) != fingerprint(group, mode):
            install(group, mode)
            state[group] = fingerprint(group, mode)
            write_state(state)


def main(arguments):
    """Set up the base and the groups named, and return the exit status."""
    unknown = sorted(set(arguments) - set(GROUPS))
    if unknown:
        print('usage: setup_venv.py [peers] [docs] [lock]', file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Both stop pip as well.
    try:
        with alone():
            set_up(['base'] + [group for group in arguments if group != 'base'])
    except SetUpError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say('interrupted; the next make begins again.')
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
