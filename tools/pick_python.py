"""
Find a Python that .venv can be made with, or say in one sentence what is missing.

In the syntax of Python 3.6, as setup_venv.py.
"""

import json
import os
import subprocess

SUPPORTED = [(3, 10), (3, 11), (3, 12), (3, 13)]
SUPPORTED_TEXT = 'Python 3.10, 3.11, 3.12 or 3.13'

# Run in the Python in question, which may be any version. A venv answers for its base.
QUESTIONS = """
import json, os, platform, sys

def loads(*names):
    try:
        for name in names:
            __import__(name)
    except Exception:
        return False
    return True

print(json.dumps({
    'executable': os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable),
    'version': list(sys.version_info[:2]),
    'is_64_bit': sys.maxsize > 2 ** 32,
    'system': platform.system(),
    'machine': platform.machine(),
    'makes_venvs': loads('venv', 'ensurepip'),
}))
"""


class SetUpError(Exception):
    """The set-up cannot go on; the message is a sentence that says what to do."""


def probe(name):
    """Return what the Python called `name` answers about itself, None where it does not run."""
    try:
        answer = subprocess.check_output([name, '-c', QUESTIONS], stderr=subprocess.DEVNULL)
        return dict(json.loads(answer.decode()), name=name)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def imports_rclpy(python):
    """Try it for real: the path may name a ROS 2 that was built for another Python."""
    command = [python['executable'], '-c', 'import rclpy']
    return subprocess.call(command, stderr=subprocess.DEVNULL) == 0


def obstacle(python, ros_is_sourced):
    """
    Return None for a Python that will do, else how far it got and what to do about it.

    The further a Python gets, the more useful is its sentence to the user.
    """
    version = '%d.%d' % tuple(python['version'])
    name, machine = python['name'], python['machine']
    if tuple(python['version']) not in SUPPORTED:
        return 0, (
            'Python %s (%s) is not supported: install %s, or set PYTHON to one.'
            % (version, name, SUPPORTED_TEXT)
        )
    if not python['is_64_bit']:
        return 1, '%s is a 32-bit Python, and torch is 64-bit only: use a 64-bit one.' % name
    if not ros_is_sourced and (python['system'], machine) != ('Linux', 'x86_64'):
        return 2, (
            'ROS 2 wheels exist for Linux on x86_64 only, this is %s on %s: install ROS 2 Humble '
            'or Jazzy, source its setup.bash and run make again.' % (python['system'], machine)
        )
    if not python['makes_venvs']:
        return 3, (
            '%s comes without the modules venv and ensurepip: install them (on Debian and Ubuntu '
            'with `sudo apt install python%s-venv`) and run make again.' % (name, version)
        )
    if ros_is_sourced and not imports_rclpy(python):
        return 4, (
            'ROS 2 %s is sourced, but %s (Python %s) cannot import its rclpy: set PYTHON to the '
            'one ROS 2 was built for (on Ubuntu /usr/bin/python3), or use a shell without ROS 2.'
            % (os.environ['ROS_DISTRO'], name, version)
        )
    return None


def pick_python(ros_is_sourced):
    """Return the answers of the first Python that will do: PYTHON, else python3, else others."""
    named = os.environ.get('PYTHON')
    names = [named] if named else ['python3'] + ['python%d.%d' % pair for pair in SUPPORTED]
    obstacles = []
    for name in names:
        python = probe(name)
        if python is None:
            continue
        found = obstacle(python, ros_is_sourced)
        if found is None:
            return python
        obstacles.append(found)
    if obstacles:
        raise SetUpError(max(obstacles, key=lambda found: found[0])[1])
    if named:
        raise SetUpError('PYTHON=%s does not run: set it to %s.' % (named, SUPPORTED_TEXT))
    raise SetUpError('no Python was found: install %s, or set PYTHON to one.' % SUPPORTED_TEXT)
