"""What the package says of itself, in package.xml, setup.py and the requirement files, is true."""

import ast
import configparser
from email.parser import BytesParser
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

import pytest
import yaml

import sim2real_estimator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'sim2real_estimator'
FOLDERS = (PACKAGE, 'benchmark', 'launch', 'test', 'tools')
REQUIREMENT_FILES = sorted(path.name for path in ROOT.glob('requirements*.txt'))

# Distributions and rosdep keys that are imported by another name than their own.
IMPORTED_AS = {
    'backports.zstd': 'backports',
    'cmeel-eigen': None,
    'colcon-core': 'colcon_core',
    'colcon-ros': 'catkin_pkg',
    'example-robot-data': None,
    'cyclonedx-bom': None,
    'mkdocs-material': None,
    'pin': 'pinocchio',
    'python3-matplotlib': 'matplotlib',
    'python3-numpy': 'numpy',
    'python3-pytest': 'pytest',
    'python3-scipy': 'scipy',
    'python3-transforms3d': 'transforms3d',
    'python3-yaml': 'yaml',
    'pyyaml': 'yaml',
    'rerun-sdk': 'rerun',
    'ros-jazzy-rclpy': 'rclpy',
}

# What is required though no import shows it, and why.
NOT_IMPORTED = {
    'cmeel-eigen': 'headers for the Pinocchio peer of the benchmark',
    'colcon-bash': 'install/setup.bash',
    'colcon-package-information': 'the command colcon list',
    'colcon-package-selection': 'the option --packages-select',
    'colcon-test-result': 'the command colcon test-result',
    'execnet': 'lets pytest-xdist talk to its processes',
    'cyclonedx-bom': 'the bill of materials of tools/lock.py',
    'example-robot-data': 'robots that benchmark/ reads by path',
    'mkdocs-material': 'the theme that mkdocs.yml names',
    'mujoco': 'peer in benchmark/',
    'pytest-xdist': 'the option -n of make test',
    'ros-jazzy-common-interfaces': 'brings the message packages that package.xml names',
    'ros-jazzy-rmw-fastrtps-cpp': 'middleware, loaded by rclpy at run time',
    'ruff': 'the command of make lint',
    'uv': 'resolves what tools/lock.py writes',
}


def requirement_lines(name):
    """Return the requirements in a file, without comments and options."""
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith(('#', '-'))]


def required_names(*files):
    """Return the names of all distributions in the files, by default in all requirement files."""
    lines = [line for name in files or REQUIREMENT_FILES for line in requirement_lines(name)]
    return {re.match(r'[\w.-]+', line).group() for line in lines}


def manifest():
    """Return the root element of package.xml."""
    return ElementTree.parse(ROOT / 'package.xml').getroot()


def manifest_names():
    """Return all dependencies in package.xml."""
    return {element.text for element in manifest() if element.tag.endswith('depend')}


def setup_keyword(keyword):
    """Return the value that setup.py passes to setup() for a keyword, names resolved."""
    tree = ast.parse((ROOT / 'setup.py').read_text())
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    value = setup_expression(keyword)
    if isinstance(value, ast.Name):
        return constants[value.id]
    return ast.literal_eval(value)


def setup_constant(name):
    """Return the literal that setup.py assigns to a name."""
    for node in ast.parse((ROOT / 'setup.py').read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def setup_expression(keyword):
    """Return what setup.py passes to setup() for a keyword, as it is written there."""
    for node in ast.walk(ast.parse((ROOT / 'setup.py').read_text())):
        if isinstance(node, ast.keyword) and node.arg == keyword:
            return node.value
    raise LookupError(keyword)


def imports(path):
    """Yield the top-level name of everything a file imports, importorskip included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split('.')[0]
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, 'attr', '') == 'importorskip'
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value.split('.')[0]


def imported_names():
    """Map each name from outside that the project imports to the files that do."""
    found = {}
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob('*.py')]
    own = {PACKAGE, *FOLDERS} - {'launch'} | {path.stem for path in sources}
    own |= {path.parent.name for path in sources if path.name == '__init__.py'}
    sources.append(ROOT / 'setup.py')
    for path in sources:
        for name in set(imports(path)) - own - set(sys.stdlib_module_names):
            found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def import_name(requirement):
    """Return the name a distribution or rosdep key is imported by."""
    return IMPORTED_AS.get(requirement, requirement)


def test_all_that_is_imported_is_declared():
    names = required_names() | manifest_names() | set(declared())
    known = {import_name(name) for name in names}

    undeclared = {name: files for name, files in imported_names().items() if name not in known}

    assert not undeclared, 'add to package.xml or a requirement file'


def test_all_that_is_declared_is_imported_or_has_a_reason():
    used = set(imported_names())

    unused = {
        name
        for name in required_names() | manifest_names()
        if import_name(name) not in used and name not in NOT_IMPORTED
    }

    assert not unused, 'drop the requirement, or give the reason in NOT_IMPORTED'


def test_reasons_are_given_for_requirements_only():
    assert set(NOT_IMPORTED) <= required_names() | manifest_names()


@pytest.mark.parametrize('name', sorted(set(REQUIREMENT_FILES) - {'requirements-ros.txt'}))
def test_requirements_are_pinned(name):
    for line in requirement_lines(name):
        assert re.match(r"[\w.-]+(\[\w+\])?==[\w.]+( ; python_version [<>]=? '[\d.]+')?$", line), (
            line
        )


def test_a_sourced_ros_takes_the_same_versions_but_for_what_the_distribution_has():
    pinned = requirement_lines('requirements.txt') + requirement_lines('requirements-test.txt')
    of_the_distribution = {'matplotlib', 'numpy', 'pytest', 'pyyaml', 'scipy', 'transforms3d'}

    for line in requirement_lines('requirements-ros.txt'):
        assert line in pinned or line in of_the_distribution, line


def test_a_sourced_ros_lacks_nothing_at_run_time():
    assert required_names('requirements.txt') <= required_names('requirements-ros.txt')


def test_setup_and_manifest_agree():
    for keyword in ('name', 'version', 'license', 'url', 'author', 'maintainer'):
        assert setup_keyword(keyword) == manifest().findtext(keyword), keyword
    for person in ('author', 'maintainer'):
        assert setup_keyword(f'{person}_email') == manifest().find(person).get('email'), person
    assert setup_keyword('version') == sim2real_estimator.__version__


def name_of(line):
    """Return the name at the begin of a requirement."""
    return re.match(r'[\w.-]+', line).group()


def numbers_of(version):
    """Return the numbers of a version, to compare."""
    return tuple(int(number) for number in version.split('.'))


def is_within(version, line):
    """Tell whether a version is within the bounds of a requirement such as 'name>=8,<9'."""
    bounds = re.findall(r'(>=|<)([\d.]+)', line)
    ours = numbers_of(version)
    return all(
        (ours >= numbers_of(v)) if sign == '>=' else (ours < numbers_of(v)) for sign, v in bounds
    )


def declared():
    """Return name -> requirement of all that setup.py declares, extras included."""
    extras = setup_constant('EXTRAS')
    lines = [*setup_constant('RUNTIME'), *(line for each in extras.values() for line in each)]
    return {name_of(line): line for line in lines}


def test_requirement_files_pin_what_setup_declares():
    pins = [(name, line) for name in REQUIREMENT_FILES for line in requirement_lines(name)]
    for file, line in pins:
        match = re.match(r'([\w.-]+)(?:\[\w+\])?==([\d.]+)', line)
        if match and match[1] in declared():
            assert is_within(match[2], declared()[match[1]]), f'{file}: {line}'


@pytest.mark.parametrize(
    ('version', 'good'), [('8.4.2', True), ('7.9', False), ('9.0', False), ('8', True)]
)
def test_bounds_are_read(version, good):
    assert is_within(version, 'pytest>=8,<9') is good


def test_requirement_files_have_what_setup_requires_and_nothing_more():
    extras = setup_constant('EXTRAS')
    wanted = {name_of(line) for line in setup_constant('RUNTIME') + extras['report']}

    assert required_names('requirements.txt') == wanted
    named = required_names('requirements-test.txt', 'requirements-peers.txt')
    assert {name_of(line) for line in extras['dev'] + extras['mujoco']} <= named
    of_docs = {name_of(line) for line in extras['docs']}
    assert required_names('requirements-docs.txt') == of_docs


def test_rosdep_installs_what_setup_requires():
    keys = {name for name in manifest_names() if name.startswith('python3-')}
    ours = {import_name(name) for name in declared()}

    assert {import_name(key) for key in keys} <= ours
    # The rest is in the file for a sourced ROS 2 (test_a_sourced_ros_lacks_nothing_at_run_time).


def test_a_wheel_says_all_this(tmp_path):
    sources = tmp_path / 'sources'
    ignore = shutil.ignore_patterns('.venv*', '.git', 'build', '*.egg-info', 'results')
    shutil.copytree(ROOT, sources, ignore=ignore, symlinks=True)
    code = 'from setuptools.build_meta import build_sdist, build_wheel; import sys; '
    subprocess.run(
        [sys.executable, '-c', f'{code} build_sdist(sys.argv[1])', tmp_path],
        cwd=sources,
        check=True,
        capture_output=True,
    )
    # Of the archive of sources, which has to have all that the wheel needs.
    (archive,) = tmp_path.glob('*.tar.gz')
    shutil.unpack_archive(archive, tmp_path / 'unpacked')
    (unpacked,) = (tmp_path / 'unpacked').iterdir()
    subprocess.run(
        [sys.executable, '-c', f'{code} build_wheel(sys.argv[1])', tmp_path],
        cwd=unpacked,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob('*.whl')
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (path,) = (name for name in names if name.endswith('.dist-info/METADATA'))
        said = BytesParser().parsebytes(content.read(path))

    assert said['Version'] == sim2real_estimator.__version__
    assert said['Requires-Python'] == '>=3.10'
    assert said['Description-Content-Type'] == 'text/markdown'
    assert 'estimates the physical parameters' in said.get_payload()
    assert set(said.get_all('Provides-Extra')) == set(setup_constant('EXTRAS'))
    required = {name_of(line) for line in said.get_all('Requires-Dist')}
    assert required == set(declared())
    assert any('License ::' in line for line in said.get_all('Classifier'))
    for path in (ROOT / PACKAGE).rglob('*'):
        if path.is_file() and path.suffix != '.pyc':
            assert path.relative_to(ROOT).as_posix() in names
    readers = ('cpp/include/sim2real_estimator/readers.hpp', f'cmake/{PACKAGE}Config.cmake')
    for place in ('config/demo.yaml', 'launch/demo.launch.py', 'package.xml', *readers):
        assert any(name.endswith(f'data/share/{PACKAGE}/{place}') for name in names), place


def test_wrappers_are_executable_and_are_the_console_scripts():
    wrappers = sorted(path for path in (ROOT / 'scripts').iterdir() if path.is_file())
    commands = dict(
        re.split(r'\s*=\s*', entry) for entry in setup_keyword('entry_points')['console_scripts']
    )

    assert [path.name for path in wrappers] == sorted(commands)
    for path in wrappers:
        assert os.access(path, os.X_OK), path
        module, function = commands[path.name].split(':')
        assert f'from {module} import {function}' in path.read_text(), path


def test_commands_go_where_the_path_leads():
    setup_cfg = configparser.ConfigParser()
    setup_cfg.read(ROOT / 'setup.cfg')

    assert setup_cfg['develop']['script_dir'] == '$base/bin'
    assert setup_cfg['install']['install_scripts'] == '$base/bin'


def test_every_folder_of_the_package_is_installed():
    folders = {path.parent for path in (ROOT / PACKAGE).rglob('*.py')}

    left_out = [folder for folder in sorted(folders) if not (folder / '__init__.py').exists()]

    assert not left_out, 'setup.py finds only folders with an __init__.py'


def test_every_file_of_the_package_is_installed():
    others = {
        path.relative_to(ROOT)
        for path in (ROOT / PACKAGE).rglob('*')
        if path.is_file() and path.suffix not in ('.py', '.pyc')
    }
    declared = eval(ast.unparse(setup_expression('package_data')), {'package_name': PACKAGE})

    installed = {
        path.relative_to(ROOT)
        for package, patterns in declared.items()
        for pattern in patterns
        for path in (ROOT / package.replace('.', '/')).glob(pattern)
    }

    assert others <= installed, 'add it to package_data of setup.py'


# What takes long to import, or is no dependency of the library.
SLOW = ('casadi', 'jinja2', 'llvmlite', 'matplotlib', 'numpy', 'rich', 'rosbags', 'scipy', 'torch')


@pytest.mark.parametrize('arguments', [['--help'], ['--version'], ['identify', '--help']])
def test_help_imports_nothing_that_takes_long(arguments):
    code = (
        'import atexit, sys\n'
        'from sim2real_estimator.cli import main\n'
        f'atexit.register(lambda: print(*[n for n in {SLOW} if n in sys.modules]))\n'
        f'main({arguments})'
    )

    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, check=True, capture_output=True, text=True
    )

    *said, slow = done.stdout.splitlines()
    assert said
    assert slow == ''


def test_the_library_is_imported_without_torch():
    code = 'import sys, sim2real_estimator; print(sim2real_estimator.__version__, *sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    version, *modules = done.stdout.split()

    assert version == setup_keyword('version')
    assert not set(SLOW) & set(modules)


def test_a_command_names_the_library_that_is_missing():
    # Where torch is not even found: some libraries look into what is there.
    code = (
        'import sys\n'
        'class Finder:\n'
        '    def find_spec(name, *_):\n'
        '        if name == "torch": raise ModuleNotFoundError("none", name=name)\n'
        'sys.meta_path.insert(0, Finder)\n'
        'from sim2real_estimator.cli import main\n'
        'sys.exit(main(["identify", "bag", "--config", "robot.yaml"]))'
    )
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr.startswith('sim2real-estimator: torch is missing in ')
    assert len(done.stderr.splitlines()) == 1


# The executables, and the modules that `python -m` runs.
NODES = (
    'from sim2real_estimator.app.nodes import estimator; estimator()',
    'from sim2real_estimator.app.nodes import payload_bridge; payload_bridge()',
    'from sim2real_estimator.app.nodes import randomizer; randomizer()',
    'from sim2real_estimator.app.nodes import synthetic_robot; synthetic_robot()',
    *(
        f'import runpy; runpy.run_module("sim2real_estimator.{name}", run_name="__main__")'
        for name in (
            'ros.node',
            'ros.payload_bridge.node',
            'ros.randomizer.node',
            'app.synthetic.node',
        )
    ),
)


@pytest.mark.parametrize('start', NODES)
def test_without_ros_the_nodes_say_so_in_a_sentence(start):
    code = (
        'import importlib.util as util\n'
        'find = util.find_spec\n'
        'util.find_spec = lambda name, *rest: None if name == "rclpy" else find(name, *rest)\n'
        f'{start}'
    )
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2
    assert 'rclpy is missing: source ROS 2' in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize('start', NODES)
def test_of_a_ros_for_another_python_the_nodes_say_so_in_a_sentence(start, tmp_path):
    (tmp_path / 'rclpy').mkdir()
    (tmp_path / 'rclpy/__init__.py').write_text(
        'raise ImportError("librcl.so: cannot open\\nThe C extension failed to be imported")'
    )
    code = f'import sys; sys.path.insert(0, {str(tmp_path)!r}); {start}'
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2
    assert 'cannot load it: librcl.so: cannot open; source ROS 2' in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_citation_names_this_version():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())

    for keyword in ('version', 'license', 'url'):
        assert citation[keyword] == setup_keyword(keyword), keyword
    assert citation['title'].startswith(f'{PACKAGE}: ')
    assert citation['authors'] == [{'name': setup_keyword('author')}]


def test_changelog_speaks_of_this_version():
    """As bloom reads it; the date is that of the citation."""
    changelog = pytest.importorskip('catkin_pkg.changelog').get_changelog_from_path(str(ROOT))
    newest, date, _ = next(changelog.foreach_version())

    assert newest == setup_keyword('version')
    assert date.date() == yaml.safe_load((ROOT / 'CITATION.cff').read_text())['date-released']
