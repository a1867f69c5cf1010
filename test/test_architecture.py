"""The rooms of the package import only what lies below them: docs/architecture.md as a table."""

import ast
from pathlib import Path
import sys

import pytest

ROOT = Path(__file__).resolve().parent.parent / 'sim2real_estimator'
PACKAGE = ROOT.name

# What each room may import of the package, besides itself. A room is a folder or a module of
# the top level; joints/, actuators/ and the like belong to the room they are in.
_PHYSICS = {'errors', 'spatial', 'augmentation', 'model', 'dynamics'}
_RECORDS = {'records', 'reported_events'}
_CORE = {*_PHYSICS, *_RECORDS, 'backend', 'config', 'estimation', 'parameters', 'sensors'}
_PROBLEM = {*_CORE, 'observability', 'prediction', 'stream'}
_FLOW = {*_PROBLEM, 'pipeline', 'posterior', 'setup'}
ROOMS = {
    'errors': set(),
    'version': set(),
    'spatial': set(),
    'records': {'errors'},
    'reported_events': set(),
    'events': {'reported_events'},
    'files': {'errors'},
    'messages': {'errors'},
    'config': {'errors', 'files'},
    'augmentation': {'errors', 'files', 'spatial'},
    'model': {'errors', 'files', 'spatial', 'augmentation'},
    'dynamics': {'errors', 'spatial', 'augmentation', 'model'},
    'backend': _PHYSICS,
    'sensors': {*_PHYSICS, 'records'},
    'stream': {'errors', 'records'},
    'estimation': {'errors', *_RECORDS},
    'parameters': {*_PHYSICS, 'backend', 'config', 'estimation'},
    'observability': {*_PHYSICS, *_RECORDS, 'estimation', 'parameters'},
    'prediction': {*_CORE, 'observability'},
    'setup': _PROBLEM,
    'control': _PHYSICS,
    'posterior': {*_PROBLEM, 'files', 'setup', 'version'},
    'excitation': {*_PROBLEM, 'posterior'},
    'pipeline': {*_PROBLEM, 'files', 'posterior', 'setup'},
    'background': {'pipeline'},
    'bags': {'errors', 'files', 'messages'},
    'ros': {*_FLOW, 'background', 'bags', 'events', 'messages'},
    'offline': {*_FLOW, 'bags', 'files', 'events', 'messages', 'ros', 'version'},
    'app': {
        *_FLOW,
        'bags',
        'control',
        'excitation',
        'files',
        'messages',
        'offline',
        'ros',
        'version',
    },
    'cli': {'app', 'errors', 'offline', 'posterior', 'ros', 'setup', 'version'},
    # The public names, imported when first used.
    '__init__': {
        'errors',
        'records',
        'config',
        'model',
        'backend',
        'pipeline',
        'offline',
        'version',
    },
}

# Which packages of others a room may import; a longer path is asked before a shorter one.
THIRD_PARTY = {
    'errors': set(),
    'version': set(),
    'spatial': set(),
    'records': {'numpy', 'torch'},
    'reported_events': set(),
    'events': set(),
    'files': {'numpy'},
    'messages': {'numpy', 'rclpy', 'rosbags'},
    'config': {'yaml'},
    'augmentation': {'numpy'},
    'model': {'numpy'},
    'model/coordinates.py': {'torch'},
    'model/state_coordinates.py': {'numpy', 'torch'},
    'dynamics': {'numpy'},
    'dynamics/contact/velocity_level': {'torch'},
    'backend': {'numpy', 'torch'},
    'backend/native': {'casadi', 'llvmlite', 'numpy', 'torch'},
    'sensors': {'numpy', 'transforms3d'},
    'stream': {'numpy'},
    'estimation': {'numpy', 'scipy'},
    'estimation/optimizers': {'cmaes', 'numpy', 'scipy', 'torch'},
    'parameters': {'numpy', 'torch'},
    'observability': {'numpy', 'torch'},
    'prediction': {'numpy', 'torch'},
    'prediction/pose_model.py': {'casadi', 'numpy'},
    'prediction/torque_model.py': {'casadi', 'numpy'},
    'setup': {'numpy'},
    'control': {'casadi', 'numpy'},
    'posterior': {'numpy', 'rich'},
    'posterior/draws': {'numpy', 'torch', 'transforms3d'},
    'posterior/draws/live_mujoco.py': {'mujoco', 'numpy', 'transforms3d'},
    'posterior/export': {'numpy', 'torch', 'transforms3d', 'yaml'},
    'posterior/export/mjcf.py': {'mujoco', 'numpy', 'transforms3d'},
    'posterior/report': {'jinja2', 'matplotlib', 'numpy', 'scipy'},
    'excitation': {'numpy'},
    'excitation/information.py': {'casadi', 'numpy'},
    'excitation/clearance.py': {'casadi', 'numpy'},
    'excitation/planning.py': {'casadi', 'numpy'},
    'excitation/motion_files.py': {'numpy', 'yaml'},
    'pipeline': {'numpy', 'threadpoolctl', 'torch'},
    'background': set(),
    'bags': {'backports', 'rosbags'},
    'bags/order.py': {'numpy', 'rosbags'},
    'offline': {'numpy', 'rich', 'torch'},
    'offline/training': {'numpy', 'scipy', 'torch'},
    'app': {'matplotlib', 'numpy', 'rich', 'torch', 'transforms3d'},
    'app/layouts.py': {'yaml'},
    'app/rerun_export.py': {'numpy', 'rerun', 'transforms3d'},
    'app/reproduce': {'cmaes', 'matplotlib', 'numpy', 'rich', 'scipy', 'torch'},
    'app/reproduce/chain': {'casadi', 'matplotlib', 'numpy', 'rich', 'torch'},
    'app/reproduce/cube': {'matplotlib', 'numpy', 'rich', 'torch', 'transforms3d'},
    'cli': {'matplotlib', 'numpy', 'rich', 'torch'},
    '__init__': set(),
}
# rosbags, which is no part of ROS, reads bags without it.
ROS_PREFIXES = ('ament', 'launch', 'rcl', 'ros2', 'rosbag2', 'rosidl', 'rosgraph', 'tf2')
ROS_SUFFIXES = ('_msgs', '_srvs', '_interfaces')
# What talks to ROS beside the room that is there for it.
NODES_OF_APP = (
    'app/adviser/node.py',
    'app/controller/node.py',
    'app/doctor/discovery.py',
    'app/monitor/listener.py',
    'app/synthetic/node.py',
)

# Families: outside their folder nobody needs to know which members there are.
FAMILIES = (
    'model/joints',
    'model/actuators',
    'model/friction',
    'dynamics/integrators',
    'sensors',
    'estimation/optimizers',
)

MODULES = sorted(ROOT.rglob('*.py'))

# Files of Python in one folder at most; beyond that nobody keeps them apart.
MOST_FILES = 12
# One meaning wherever they stand: of a package, of a family's parent, of a node of ROS.
COMMON_NAMES = {'__init__.py', '__main__.py', 'base.py', 'node.py'}
# Pairs that are being renamed.
SHARED_NAMES = set()


def room_of(path):
    """Return the room of a file below the package, by its relative path."""
    return path.parts[0] if len(path.parts) > 1 else path.stem


def imports(tree, path):
    """
    Return the absolute dotted names a module imports, those inside functions included.

    path: of the module, relative to the package's parent; `from a import b` gives a.b.
    """
    package = path.with_suffix('').parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = '.'.join((*above, *([node.module] if node.module else ())))
            yield from (f'{base}.{alias.name}' for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, 'attr', getattr(node.func, 'id', ''))
            first = node.args[0]
            is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if name in ('import_module', '__import__') and is_text:
                yield first.value


def imports_of(path):
    """Return the names a file of the package imports."""
    relative = path.relative_to(ROOT.parent)
    return sorted(set(imports(ast.parse(path.read_text()), relative)))


def is_ros(name):
    """Tell whether a dotted name is of ROS."""
    top = name.split('.')[0]
    return top.startswith(ROS_PREFIXES) or top.endswith(ROS_SUFFIXES)


def allowed_packages(path):
    """Return the packages of others that a file may import."""
    relative = path.relative_to(ROOT).as_posix()
    # The room of a top-level module is its name without the suffix.
    names = [relative, *(parent.as_posix() for parent in Path(relative).parents)]
    names.append(room_of(path.relative_to(ROOT)))
    return next((THIRD_PARTY[name] for name in names if name in THIRD_PARTY), set())


@pytest.fixture(params=MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def module(request):
    return request.param


def test_the_table_has_every_room():
    rooms = {room_of(path.relative_to(ROOT)) for path in MODULES}
    assert rooms <= set(ROOMS)
    assert set(THIRD_PARTY) >= rooms - {'ros'}


def test_the_table_has_no_circle():
    left = {room: set(allowed) for room, allowed in ROOMS.items()}
    while left:
        lowest = {room for room, allowed in left.items() if not allowed & set(left)}
        assert lowest, f'these rooms import each other: {sorted(left)}'
        left = {room: allowed for room, allowed in left.items() if room not in lowest}


def test_a_room_imports_only_rooms_below(module):
    room = room_of(module.relative_to(ROOT))
    for name in imports_of(module):
        top, *rest = name.split('.')
        if top == PACKAGE and rest:
            assert rest[0] in {room, *ROOMS[room]}, f'{room} may not import {name}'


def test_packages_of_others_are_where_they_belong(module):
    room = room_of(module.relative_to(ROOT))
    for name in imports_of(module):
        top = name.split('.')[0]
        if top == PACKAGE or top in sys.stdlib_module_names:
            continue
        if room == 'ros' or module.relative_to(ROOT).as_posix() in NODES_OF_APP:
            continue
        assert top in allowed_packages(module), f'{room} may not import {name}'


def test_ros_is_imported_in_its_room_only(module):
    # `messages` asks whether there is ROS, and does without.
    path = module.relative_to(ROOT)
    if room_of(path) not in ('ros', 'messages') and path.as_posix() not in NODES_OF_APP:
        assert [name for name in imports_of(module) if is_ros(name)] == []


def test_members_of_a_family_are_reached_through_its_table(module):
    path = module.relative_to(ROOT)
    for family in FAMILIES:
        members = {p.stem for p in (ROOT / family).glob('*.py')} - {'__init__', 'base'}
        prefix = '.'.join((PACKAGE, *Path(family).parts))
        if path.is_relative_to(family):
            continue
        for name in imports_of(module):
            inside = name.removeprefix(f'{prefix}.').split('.')[0]
            assert not (name.startswith(f'{prefix}.') and inside in members), (
                f'import the table of {family} instead of {name}'
            )


def test_no_room_is_crowded():
    files = {}
    for path in MODULES:
        if path.name != '__init__.py':
            files.setdefault(path.parent.relative_to(ROOT).as_posix(), []).append(path.name)
    for room, names in files.items():
        assert len(names) <= MOST_FILES, f'{room} has {len(names)} files'


def test_no_two_files_share_a_name():
    found = {}
    for path in MODULES:
        found.setdefault(path.name, []).append(path.relative_to(ROOT).as_posix())
    shared = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert not {name: shared[name] for name in set(shared) - COMMON_NAMES - SHARED_NAMES}


def test_no_module_imports_by_star(module):
    assert not [name for name in imports_of(module) if name.endswith('.*')]


@pytest.mark.parametrize(
    ('source', 'expected'),
    [
        ('import a.b', ['a.b']),
        ('from a import b, c', ['a.b', 'a.c']),
        ('from . import b', ['p.room.b']),
        ('from .b import c', ['p.room.b.c']),
        ('from .. import b', ['p.b']),
        ('from ..b.c import d', ['p.b.c.d']),
        ('def f():\n    import torch', ['torch']),
        ("importlib.import_module('rclpy.node')", ['rclpy.node']),
    ],
)
def test_the_walk_sees_every_form_of_import(source, expected):
    assert list(imports(ast.parse(source), Path('p/room/module.py'))) == expected


def test_the_walk_knows_ros_when_it_sees_it():
    names = (
        'rclpy',
        'sensor_msgs.msg',
        'rcl_interfaces',
        'launch.actions',
        'rosbag2_py',
        'tf2_ros',
    )
    assert all(is_ros(name) for name in names)
    assert not any(is_ros(name) for name in ('torch', 'numpy', 'casadi', 'transforms3d', 'rich'))
