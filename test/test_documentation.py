"""The documents: their examples run, and what they point to exists."""

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md'))]


def python_blocks(path):
    return re.findall(r'```python\n(.*?)```', path.read_text(), re.DOTALL)


def test_the_examples_of_the_python_page_run_one_after_the_other():
    blocks, names = python_blocks(ROOT / 'docs/python.md'), {}
    assert len(blocks) >= 8
    for block in blocks:
        exec(compile(block, 'docs/python.md', 'exec'), names)


def test_the_examples_of_the_page_on_extending_run():
    for block in python_blocks(ROOT / 'docs/extending.md'):
        exec(compile(block, 'docs/extending.md', 'exec'), {'__name__': 'example'})


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, branching_arm_urdf):
    (block,) = python_blocks(ROOT / 'README.md')
    from sim2real_estimator import load_urdf

    joint = next(j for j in load_urdf(branching_arm_urdf).joints if not j.is_fixed)
    text = branching_arm_urdf.replace(f'"{joint.name}"', '"elbow"')
    text = text.replace(f'"{joint.child}"', '"forearm"')
    (tmp_path / 'arm.urdf').write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, 'README.md', 'exec'), names)
    assert names['values'].grad.shape == (2, 64)


@pytest.mark.parametrize('path', DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r'\]\(([^)#]+)\)', path.read_text()):
        assert (path.parent / target).exists(), f'{path.name} points to {target}'
