"""locked/ has what the package declares, whole, with hashes, and is of this version."""

from importlib.metadata import PackageNotFoundError, requires
import json
from pathlib import Path
import re

import pytest

import sim2real_estimator

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ROOT / 'locked'
FILES = ('requirements.txt', 'requirements-ros.txt')
# As rosdep installs them; the end of requirements-ros.txt.
OF_DISTRIBUTION = {'matplotlib', 'numpy', 'pytest', 'pyyaml', 'scipy', 'transforms3d'}
REMEDY = 'run `make lock`'


def normal(name):
    """Return a name as the index compares it."""
    return re.sub(r'[-_.]+', '-', name).lower()


def pins(path):
    """Return name -> versions of what a file pins."""
    found = {}
    for name, version in re.findall(r'^([\w.-]+)==([^\s;]+)', path.read_text(), re.MULTILINE):
        found.setdefault(normal(name), set()).add(version)
    return found


@pytest.mark.parametrize('name', FILES)
def test_the_pins_are_those_that_are_declared(name):
    locked = pins(LOCKED / name)

    assert 'torch' not in locked
    for each, versions in pins(ROOT / name).items():
        assert each == 'torch' or locked.get(each) == versions, f'{each}: {REMEDY}'


@pytest.mark.parametrize('name', FILES)
def test_every_entry_has_hashes_and_nothing_else(name):
    lines = [x for x in (LOCKED / name).read_text().splitlines() if not x.startswith('#')]
    entry = re.compile(r"[\w.-]+==[\w.]+( ; [\w .<>='*()]+)? \\")
    hash_of = re.compile(r'    --hash=sha256:[0-9a-f]{64}( \\)?')
    awaits_hash = False
    for line in lines:
        assert (hash_of if awaits_hash else entry).fullmatch(line), line
        awaits_hash = line.endswith('\\')
    assert lines and not awaits_hash


@pytest.mark.parametrize('name', FILES)
def test_what_they_need_is_there_too(name):
    """Asks the libraries that are installed here, not the tool that has made the file."""
    locked, missing = pins(LOCKED / name), {}
    elsewhere = {'torch'} | (OF_DISTRIBUTION if name == 'requirements-ros.txt' else set())
    for each in sorted(locked):
        try:
            lines = requires(each) or []
        except PackageNotFoundError:
            continue  # of another version of Python
        for line in lines:
            wanted = normal(re.match(r'[\w.-]+', line).group())
            if ';' not in line and wanted not in locked and wanted not in elsewhere:
                missing[each] = wanted

    assert not missing, REMEDY


def test_the_bill_of_materials_is_of_this_version():
    bill = json.loads((LOCKED / 'sbom.cdx.json').read_text())
    listed = {normal(each['name']): each['version'] for each in bill['components']}

    assert bill['bomFormat'] == 'CycloneDX'
    assert bill['metadata']['component']['version'] == sim2real_estimator.__version__, REMEDY
    for name, versions in pins(ROOT / 'requirements.txt').items():
        assert listed.get(name) in versions, f'{name}: {REMEDY}'
    for each in bill['components']:
        assert each['purl'] == f'pkg:pypi/{each["name"]}@{each["version"]}'
        (files,) = each['externalReferences']
        assert files.get('hashes') or each['name'] == 'torch', each['name']


def test_no_address_of_an_index_is_in_them():
    for path in LOCKED.iterdir():
        text = path.read_text().replace('http://cyclonedx.org/schema/bom-1.6.schema.json', '')
        assert '://' not in text and 'index-url' not in text, path.name
