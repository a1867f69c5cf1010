#!/usr/bin/env python3
"""
Write locked/: every library that is installed, with hashes, and a bill of materials.

Usage: lock.py. `make lock` runs it; it asks the package index, so the result changes as others
release. What is pinned in requirements.txt and requirements-ros.txt stays.

torch is not in these files, and neither are the libraries of CUDA: its builds (CPU, CUDA 12,
CUDA 13, that of a Jetson) have one version and different hashes, and which one is right depends on
the computer. What torch itself needs is there. The bill of materials names torch, without hashes.
"""

import json
from pathlib import Path
import re
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from sim2real_estimator.version import __version__  # noqa: E402

OUTPUT = ROOT / 'locked'
# Only builds of torch for CUDA need these.
_OF_CUDA = re.compile(r'(cuda|nvidia)-|triton$')
# What rosdep installs (package.xml); see the end of requirements-ros.txt.
_OF_DISTRIBUTION = ('matplotlib', 'numpy', 'pytest', 'pyyaml', 'scipy', 'transforms3d')
# Without ROS, all versions of Python; with it, the Ubuntu that Jazzy is made for.
_ANYWHERE = ('--universal', '--python-version', '3.10')
_JAZZY = ('--python-version', '3.12', '--python-platform', 'linux')
_HEAD = """\
# Written by `make lock`. To install exactly these files:
#     pip install --no-deps --require-hashes -r {name}
# torch {torch} is left out, since each of its builds has hashes of its own: docs/setup.md.
"""


def main():
    """Write the files of locked/."""
    OUTPUT.mkdir(exist_ok=True)
    for name, how, excluded in (
        ('requirements.txt', _ANYWHERE, ()),
        ('requirements-ros.txt', _JAZZY, _OF_DISTRIBUTION),
    ):
        resolved = compiled(name, how, excluded)
        (torch,) = re.findall(r'^torch==(\S+)', resolved, re.MULTILINE)
        blocks = [block for block in entries(resolved) if not is_left_out(block)]
        text = _HEAD.format(name=f'locked/{name}', torch=torch) + ''.join(blocks)
        (OUTPUT / name).write_text(text)
        print(f'written: locked/{name}, {len(blocks)} entries')
    blocks = entries(compiled('requirements.txt', _JAZZY, ()))
    kept = [block for block in blocks if not is_left_out(block)]
    bill = bill_of(''.join(kept) + f'torch=={torch}\n')
    (OUTPUT / 'sbom.cdx.json').write_text(json.dumps(bill, indent=1) + '\n')
    print(f'written: locked/sbom.cdx.json, {len(bill["components"])} components')


def compiled(name, how, excluded):
    """Return what uv resolves a requirement file to; excluded: names that it does not look at."""
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
        file.write(''.join(f'{each}\n' for each in excluded))
        file.flush()
        command = ['-m', 'uv', 'pip', 'compile', '--quiet', '--generate-hashes', '--no-annotate']
        command += ['--no-header', '--no-emit-index-url', '--no-config', *how, name]
        command += ['--excludes', file.name] if excluded else []
        done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f'lock.py: uv could not resolve {name}, for the reason above')
    return done.stdout.decode()


def entries(text):
    """Return the entries of a requirement file, each with the lines of its hashes."""
    return re.findall(r'^[\w.-]+==.*\n(?:    --hash=.*\n)*', text, re.MULTILINE)


def is_left_out(entry):
    """Tell whether an entry is torch or of CUDA."""
    name = entry.partition('==')[0]
    return name == 'torch' or bool(_OF_CUDA.match(name))


def bill_of(requirements):
    """Return the bill of materials of a requirement file, a CycloneDX document."""
    command = ['-m', 'cyclonedx_py', 'requirements', '--output-reproducible', '-']
    done = subprocess.run(
        [sys.executable, *command], input=requirements.encode(), stdout=subprocess.PIPE, check=True
    )
    bill = json.loads(done.stdout)
    refs = [component['purl'] for component in bill['components']]
    for component in bill['components']:
        component['bom-ref'] = component['purl']
        component.pop('description')  # The line of the file, which says nothing more.
        for reference in component['externalReferences']:
            # The release on whatever index: hashes are the same, addresses are not.
            reference['url'] = component['purl']
            reference['comment'] = 'the files of this release'
    purl = f'pkg:generic/sim2real_estimator@{__version__}'
    bill['metadata']['component'] = {
        'bom-ref': purl,
        'type': 'library',
        'name': 'sim2real_estimator',
        'version': __version__,
        'purl': purl,
        'licenses': [{'license': {'id': 'Apache-2.0'}}],
    }
    bill['dependencies'] = [{'ref': purl, 'dependsOn': refs}, *({'ref': ref} for ref in refs)]
    # Of the tool its name and version are enough.
    bill['metadata']['tools']['components'] = [
        {key: tool[key] for key in ('type', 'name', 'version') if key in tool}
        for tool in bill['metadata']['tools']['components']
    ]
    return bill


if __name__ == '__main__':
    main()
