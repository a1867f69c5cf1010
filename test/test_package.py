"""What the package says of itself, in package.xml, setup.py and the requirement files, is true."""

import ast
import configparser
import os
from pathlib import Path
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'sim2real_estimator'
FOLDERS = (PACKAGE, 'benchmark', 'launch', 'test', 'tools')
REQUIREMENT_FILES = sorted(path.name for path in ROOT.glob('requirements*.txt'))

# Distributions and rosdep keys that are imported by another name than their own.
IMPORTED_AS = {
    'backports.zstd': 'backports',
    'cmeel-eigen': None,
    'colcon-core': 'colcon_core',
    'example-robot-data': None,
    'pin': 'pinocchio',
    'python3-matplotlib': 'matplotlib',
    'python3-numpy': 'numpy',
    'python3-pytest': 'pytest',
    'python3-scipy': 'scipy',
    'python3-transforms3d': 'transforms3d',
    'python3-yaml': 'yaml',
    'pyyaml': 'yaml',
    'ros-jazzy-rclpy': 'rclpy',
}

# What is required though no import shows it, and why.
NOT_IMPORTED = {
    'cmeel-eigen': 'headers for the Pinocchio peer of the benchmark',
    'colcon-bash': 'install/setup.bash',
    'colcon-package-information': 'the command colcon list',
    'colcon-package-selection': 'the option --packages-select',
    'colcon-ros': 'lets colcon read package.xml',
    'colcon-test-result': 'the command colcon test-result',
    'execnet': 'lets pytest-xdist talk to its processes',
    'example-robot-data': 'robots that benchmark/ reads by path',
    'mujoco': 'peer in benchmark/',
    'pytest-xdist': 'the option -n of make test',
    'ros-jazzy-common-interfaces': 'brings the message packages that package.xml names',
    'ros-jazzy-rmw-fastrtps-cpp': 'middleware, loaded by rclpy at run time',
    'ruff': 'the command of make lint',
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
    declared = {import_name(name) for name in required_names() | manifest_names()}

    undeclared = {name: files for name, files in imported_names().items() if name not in declared}

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
    for keyword in ('name', 'version', 'license'):
        assert setup_keyword(keyword) == manifest().findtext(keyword), keyword
    assert setup_keyword('maintainer') == manifest().findtext('maintainer')
    assert setup_keyword('maintainer_email') == manifest().find('maintainer').get('email')


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


def test_changelog_speaks_of_this_version():
    changelog = (ROOT / 'CHANGELOG.rst').read_text()

    assert 'Forthcoming\n---' in changelog or f'{setup_keyword("version")} (' in changelog
