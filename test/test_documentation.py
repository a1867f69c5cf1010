"""The documents: their examples run, and what they point to exists."""

from pathlib import Path
import re
import sys

import pytest
import yaml

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / 'tools'))

from docs_pages import with_links_of_site  # noqa: E402

OF_ROOT = ('README.md', 'CONTRIBUTING.md', 'SECURITY.md')
DOCUMENTS = [*(ROOT / name for name in OF_ROOT), *sorted((ROOT / 'docs').glob('*.md'))]


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


class _Config(yaml.SafeLoader):
    """Reads mkdocs.yml, in which a tag names a function of Python."""


_Config.add_multi_constructor('tag:yaml.org,2002:python/', lambda *_: None)


def test_the_site_has_every_document_in_its_menu_once():
    config = yaml.load((ROOT / 'mkdocs.yml').read_text(), _Config)
    pages = [page for section in config['nav'] for part in section.values() for page in part]

    assert sorted(pages) == sorted(path.name for path in DOCUMENTS)
    assert config['strict'] is True


@pytest.mark.parametrize(
    ('folder', 'text', 'wanted'),
    [
        ('docs', '[a](ros.md#frames)', '[a](ros.md#frames)'),
        ('docs', '[a](../README.md#in-python)', '[a](README.md#in-python)'),
        ('docs', '[`demo`](../config/demo.yaml)', '`demo`'),
        ('docs', '[a](#here) ![b](images/real_arm.png)', '[a](#here) ![b](images/real_arm.png)'),
        ('', '[a](docs/ros.md), [b](LICENSE)', '[a](ros.md), b'),
        ('', '![a](docs/images/real_arm.png)', '![a](images/real_arm.png)'),
        ('', '[a](https://a.example/b.md)', '[a](https://a.example/b.md)'),
        ('', '[a](docs/nothing.md) [b](nothing)', '[a](nothing.md) [b](nothing)'),
    ],
)
def test_links_lead_to_pages_of_the_site(folder, text, wanted):
    assert with_links_of_site(text, ROOT / folder) == wanted
