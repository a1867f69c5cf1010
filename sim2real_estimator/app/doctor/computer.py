"""
What `sim2real-estimator doctor` checks, one function after the other in the table `CHECKS`.

Each yields `Finding`s. Nothing here is imported but the standard library, until the check that
is about it: the command has to work where everything else is missing.
"""

from contextlib import suppress
import ctypes
from dataclasses import dataclass
import importlib
from importlib import metadata
import os
from pathlib import Path
import platform
import re
import resource
import sys
import time

_PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 -0.5"/>
      <mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="joint" type="continuous">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="1 0 0"/>
    <dynamics damping="0.1"/>
  </joint>
</robot>
"""
_OLDEST, _NEWEST = (3, 10), (3, 13)
# Distribution -> (module, lowest version, what fails without it). test_doctor.py holds names and
# versions against setup.py.
LIBRARIES = {
    'backports.zstd': ('backports.zstd', '1.0', 'recordings'),
    'casadi': ('casadi', '3.8', 'every estimator'),
    'cmaes': ('cmaes', '0.10', 'every estimator'),
    'llvmlite': ('llvmlite', '0.45', 'fast simulation'),
    'numpy': ('numpy', '1.26', 'everything'),
    'pyyaml': ('yaml', '6.0.1', 'everything'),
    'rich': ('rich', '13.7', 'tables'),
    'rosbags': ('rosbags', '0.11.6', 'recordings'),
    'scipy': ('scipy', '1.11', 'every estimator'),
    'threadpoolctl': ('threadpoolctl', '3.2', 'every estimator'),
    'torch': ('torch', '2.3', 'every estimator'),
    'transforms3d': ('transforms3d', '0.4.1', 'poses'),
}
OPTIONAL = {
    'jinja2': ('jinja2', '3.1', 'no HTML report'),
    'matplotlib': ('matplotlib', '3.6', 'no HTML report, no picture of the demo'),
    'mujoco': ('mujoco', '3.2', 'exported MJCF files are not checked by MuJoCo'),
}
# The message packages of package.xml.
_MESSAGES = (
    'diagnostic_msgs',
    'geometry_msgs',
    'lifecycle_msgs',
    'rcl_interfaces',
    'rosgraph_msgs',
    'sensor_msgs',
    'std_msgs',
    'std_srvs',
    'visualization_msgs',
)
_RANGES = ('SUBNET', 'LOCALHOST', 'OFF', 'SYSTEM_DEFAULT')
# Domains above this use ports that Linux gives to others.
_LAST_DOMAIN = 101
_GIB = 2**30
# What the node with its worker, or `identify`, takes at most on an arm of seven joints [GiB].
_MEMORY = 1.0
# Where Fast DDS passes messages between processes; containers have 64 MiB [MiB].
_SHARED_MEMORY = 32
# Before this, no clock was set [s since 1970: begin of 2024].
_SET = 1_704_067_200
# What adjtimex returns where nothing keeps the clock right.
_UNSYNCHRONIZED = 5
_TIMEX_SIZE = 512


@dataclass(frozen=True)
class Finding:
    """What a check found: level is 'ok', 'warning' or 'error'; remedy: what to do, '': nothing."""

    level: str
    subject: str
    text: str
    remedy: str = ''


def python():
    """Check the version of Python."""
    version = sys.version_info[:2]
    text = f'{platform.python_version()}, {sys.executable}'
    if version < _OLDEST or version > _NEWEST:
        level = 'error' if version < _OLDEST else 'warning'
        remedy = 'use Python 3.10, 3.11, 3.12 or 3.13, with which it is tested'
        yield Finding(level, 'Python', text, remedy)
    else:
        yield Finding('ok', 'Python', text)


def libraries():
    """Check that every library is there, new enough, and can be loaded."""
    good = []
    for name, (module, lowest, use) in {**LIBRARIES, **OPTIONAL}.items():
        is_needed = name in LIBRARIES
        try:
            loaded = importlib.import_module(module)
        except ModuleNotFoundError:
            loss = f'needed for {use}' if is_needed else use
            level = 'error' if is_needed else 'warning'
            remedy = f"pip install '{name}>={lowest}'"
            if name == 'torch':
                remedy += '; from the index of CPU builds it takes the least room: docs/setup.md'
            yield Finding(level, name, f'is missing: {loss}', remedy)
            continue
        except Exception as error:  # whatever a library that is broken raises
            remedy = f"pip install --force-reinstall '{name}>={lowest}'"
            yield Finding('error', name, f'cannot be loaded ({_line(error)})', remedy)
            continue
        version = _version(name, loaded)
        if numbers_of(version) < numbers_of(lowest):
            text = f'{version}, older than {lowest}'
            yield Finding('error', name, text, f"pip install '{name}>={lowest}'")
        else:
            good.append(f'{name} {version}')
    yield Finding('ok' if good else 'error', 'libraries', ', '.join(good) or 'none')


def simulation():
    """Check that a pendulum can be simulated, by code that is compiled here."""
    try:
        from ...backend.choice import choose_backend
        from ...backend.simulator import Simulator
        from ...model.urdf.load import load_urdf

        name = choose_backend('auto').name
        simulator = Simulator(load_urdf(_PENDULUM), ['joint.damping'], backend=name)
        state = simulator.neutral_state(batch=1) + 0.5
        end = simulator.rollout(state, [0.01] * 10, simulator.nominal(batch=1)).states[-1]
        is_good = bool(end.isfinite().all())
    except Exception as error:  # whatever a library raises that does not suit the others
        yield Finding('error', 'simulation', f'fails ({_line(error)})', 'see the libraries above')
        return
    if not is_good:
        remedy = 'pip install --force-reinstall casadi llvmlite'
        yield Finding('error', 'simulation', 'compiled code computes no numbers', remedy)
    elif name == 'native':
        yield Finding('ok', 'simulation', 'by code compiled here')
    else:
        text = f'by backend {name}, which is slow'
        yield Finding('warning', 'simulation', text, 'pip install casadi llvmlite')


def ros():
    """Check rclpy, its middleware and the messages."""
    from .discovery import middleware

    distribution = os.environ.get('ROS_DISTRO', '')
    where = f'ROS_DISTRO {distribution}' if distribution else 'nothing sourced'
    try:
        name = middleware()
    except ModuleNotFoundError as error:
        if error.name != 'rclpy':
            yield _broken(error)
            return
        yield Finding(
            'warning',
            'ROS 2',
            f'no rclpy ({where}): recordings are identified without it, nodes do not run',
            '. /opt/ros/jazzy/setup.bash, or pip install -r requirements-ros-wheels.txt',
        )
        return
    except Exception as error:  # whatever the library of another build raises
        yield _broken(error)
        return
    yield Finding('ok', 'ROS 2', f'rclpy with {name}, {where}')
    if distribution not in ('', 'jazzy'):
        text = f'{distribution}: only jazzy is tested'
        yield Finding('warning', 'ROS distribution', text)
    lacking = [each for each in _MESSAGES if not _can_import(f'{each}.msg', f'{each}.srv')]
    if lacking:
        packages = ' '.join(f'ros-{distribution or "jazzy"}-{_dashed(each)}' for each in lacking)
        text = f'{", ".join(lacking)} missing'
        yield Finding('error', 'messages', text, f'sudo apt install {packages}')


def _broken(error):
    """Return the `Finding` of an rclpy that is there and cannot be loaded."""
    return Finding(
        'error',
        'ROS 2',
        f'rclpy cannot be loaded ({_line(error)})',
        "a Python of another version than ROS 2's, or numpy 2 before a ROS 2 built with numpy 1: "
        'use the python3 of the distribution and constraints-ros.txt (docs/setup.md)',
    )


def discovery():
    """Check the variables that decide who hears whom, and whether a message gets through."""
    number = os.environ.get('ROS_DOMAIN_ID', '0') or '0'
    reach = os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE', '') or 'SUBNET'
    peers = os.environ.get('ROS_STATIC_PEERS', '')
    text = f'ROS_DOMAIN_ID {number}, discovery range {reach}'
    text += f', static peers {peers}' if peers else ''
    if not number.isdigit() or int(number) > _LAST_DOMAIN:
        remedy = f'export ROS_DOMAIN_ID=0, or another number up to {_LAST_DOMAIN}'
        yield Finding('error', 'DDS', f'{text}: no such domain is safe on Linux', remedy)
        return
    if reach not in _RANGES:
        remedy = f'export ROS_AUTOMATIC_DISCOVERY_RANGE={_RANGES[0]} (or {", ".join(_RANGES[1:])})'
        yield Finding('error', 'DDS', f'{text}, which is none', remedy)
        return
    if reach == 'OFF' and not peers:
        remedy = 'unset ROS_AUTOMATIC_DISCOVERY_RANGE, or name peers by ROS_STATIC_PEERS'
        yield Finding('error', 'DDS', f'{text}: no node finds another', remedy)
        return
    if os.environ.get('ROS_LOCALHOST_ONLY', '0') not in ('', '0'):
        text += ', ROS_LOCALHOST_ONLY set: only nodes of this computer are heard'
        remedy = 'unset ROS_LOCALHOST_ONLY, which overrides the discovery range'
        yield Finding('warning', 'DDS', text, remedy)
    else:
        if reach == 'LOCALHOST':
            text += ': only nodes of this computer are heard, SUBNET hears a robot beside it'
        yield Finding('ok', 'DDS', text)
    for name in ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'):
        path = os.environ.get(name)
        if path and not Path(path).is_file():
            yield Finding('error', name, f'{path} is no file', f'unset {name}, or correct it')
    if not _can_import('rclpy'):
        return
    yield from _heard()


def _heard():
    """Check that a message gets through; name who publishes joint states, and how."""
    from .discovery import joint_state_publishers, seconds_of_a_message

    try:
        taken = seconds_of_a_message()
        publishers = joint_state_publishers()
    except Exception as error:  # whatever a middleware raises that is badly configured
        remedy = 'see RMW_IMPLEMENTATION, and its files of settings'
        yield Finding('error', 'discovery', f'no node can be made ({_line(error)})', remedy)
        return
    if taken is None:
        yield Finding(
            'error',
            'discovery',
            'two nodes of this process do not hear each other',
            'see that no firewall stops UDP on the loopback device, that multicast works '
            '(`ros2 multicast`), and that /dev/shm is writable',
        )
        return
    yield Finding(
        'ok', 'discovery', f'a message gets from node to node, {taken:.1f} s after start'
    )
    for topic, node, is_reliable in publishers:
        text = f'{topic} by {node}, {"reliable" if is_reliable else "best effort"}'
        yield Finding('ok', 'joint states', text)
    if not publishers:
        yield Finding('ok', 'joint states', 'nobody publishes any in this domain now')


def memory():
    """Check the memory that is free, and the one that processes share."""
    free = _free_memory()
    if free is not None:
        text = f'{free:.1f} GiB free'
        if free < _MEMORY:
            remedy = f'end other programs: {_MEMORY:.0f} GiB is what an arm of seven joints takes'
            yield Finding('warning', 'memory', text, remedy)
        else:
            yield Finding('ok', 'memory', text)
    try:
        found = os.statvfs('/dev/shm')
    except OSError:
        return
    shared = found.f_bavail * found.f_frsize / 2**20
    if shared < _SHARED_MEMORY:
        text = f'{shared:.0f} MiB free of /dev/shm, by which DDS passes messages on'
        remedy = 'remove what earlier programs left (`fastdds shm clean`), docker run --shm-size'
        yield Finding('warning', 'shared memory', text, remedy)


def _free_memory():
    """Return the memory that this process may still take [GiB], None where nobody says."""
    try:
        lines = Path('/proc/meminfo').read_text().splitlines()
        limit, used = (Path('/sys/fs/cgroup', f'memory.{word}') for word in ('max', 'current'))
        free = next(int(line.split()[1]) * 1024 for line in lines if 'MemAvailable' in line)
    except (OSError, StopIteration, ValueError):
        return None
    with suppress(OSError, ValueError):  # no limit, which reads 'max'
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return free / _GIB


def processor():
    """Check how many cores there are, and who else uses them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
    load, _, _ = os.getloadavg()
    text = f'{cores} cores ({platform.machine()}), load {load:.1f}'
    if cores < 2:
        remedy = 'the node computes in a process of its own: give it a second core'
        yield Finding('warning', 'processor', text, remedy)
    elif load > cores:
        remedy = 'others keep all cores busy: live estimates will come late'
        yield Finding('warning', 'processor', text, remedy)
    else:
        yield Finding('ok', 'processor', text)
    governor = Path('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
    if governor.is_file() and governor.read_text().strip() == 'powersave':
        text = 'the governor of cpu0 is powersave'
        yield Finding('warning', 'processor', text, 'sudo cpupower frequency-set -g performance')


def threads():
    """Check the variables of OpenMP and BLAS, and whether real-time priority is allowed."""
    names = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'OMP_WAIT_POLICY')
    known = {name: os.environ[name] for name in names if os.environ.get(name)}
    text = ', '.join(f'{name} {value}' for name, value in known.items())
    text = text or 'no variable set: the node and identify choose one thread themselves'
    if known.get('OMP_WAIT_POLICY', '').lower() == 'active':
        remedy = 'export OMP_WAIT_POLICY=passive: threads that wait by spinning take cores away'
        yield Finding('warning', 'threads', text, remedy)
    elif any(value != '1' for name, value in known.items() if name != 'OMP_WAIT_POLICY'):
        remedy = 'unset them, or 1: for matrices this small, threads wait for one another'
        yield Finding('warning', 'threads', text, remedy)
    else:
        yield Finding('ok', 'threads', text)
    allowed, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    text = f'up to {allowed}' if allowed else 'not allowed, and not needed by default'
    yield Finding('ok', 'real-time priority', text)


def clock():
    """Check that the clock is set, and that something keeps it right."""
    now = time.time()
    text = time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(now))
    if now < _SET:
        remedy = 'set it (sudo timedatectl set-ntp true): stamps of other computers will not fit'
        yield Finding('error', 'clock', f'{text}: never set', remedy)
        return
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(
            ctypes.create_string_buffer(_TIMEX_SIZE)
        )
    except (AttributeError, OSError):
        state = -1
    if state == _UNSYNCHRONIZED:
        yield Finding(
            'warning',
            'clock',
            f'{text}, kept right by nothing',
            'where the robot or motion capture is stamped by another computer, let chrony or '
            'systemd-timesyncd keep both clocks synchronous',
        )
    else:
        yield Finding('ok', 'clock', text + (', synchronized' if state >= 0 else ''))


CHECKS = (
    python, libraries, simulation, ros, discovery, memory, processor, threads, clock,
)  # fmt: skip


def numbers_of(version):
    """Return the leading numbers of a version, to compare."""
    match = re.match(r'\d+(\.\d+)*', version)
    return tuple(int(number) for number in match.group().split('.')) if match else ()


def _version(name, module):
    """Return the version of a library, as its distribution or the module says."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return getattr(module, '__version__', '0')


def _can_import(*modules):
    """Tell whether one of several modules can be loaded."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return True
    return False


def _dashed(name):
    return name.replace('_', '-')


def _line(error):
    """Return the first line of an error."""
    return (str(error).splitlines() or [type(error).__name__])[0]
