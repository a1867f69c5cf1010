"""
What the linters of ROS 2 find, where they are installed: `colcon test` on a machine with ROS 2.

ament_flake8 is left out, since it wants another order of imports and other spaces in slices than
ruff (`make lint`), which checks the rest of its rules; ament_copyright, since the licence is in
one file and not at the head of each.
"""

from pathlib import Path
import shutil

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ('benchmark', 'examples', 'launch', 'sim2real_estimator', 'test', 'tools')


def test_docstrings_are_as_ament_wants_them():
    main = pytest.importorskip('ament_pep257.main').main
    paths = [str(ROOT / name) for name in (*FOLDERS, 'setup.py')]
    # As ament calls pydocstyle, D401 wants a verb in the docstring of a property, too.
    assert main(argv=[*paths, '--add-ignore', 'D401']) == 0


def test_the_manifest_is_valid():
    main = pytest.importorskip('ament_xmllint.main').main
    if shutil.which('xmllint') is None:
        pytest.skip('xmllint is not installed')
    assert main(argv=[str(ROOT / 'package.xml')]) == 0
