"""What lies in examples/ can be read, and converts arrays of the shapes that it names."""

from pathlib import Path
import re

import pytest
import yaml

from sim2real_estimator.config import Config, load_config, to_yaml
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.offline.tables.columns import Columns
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.starter import starter_yaml

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'


@pytest.mark.parametrize(
    'path', sorted(EXAMPLES.glob('*/columns*.yaml')), ids=lambda p: f'{p.parent.name}/{p.stem}'
)
def test_columns_speak_of_joints_of_the_robot_beside_them(path):
    columns = load_config(path, Columns)
    urdf = path.parent / 'robot.urdf'
    base = 'floating' if 'cube' in path.parent.name else 'fixed'
    model = load_urdf(urdf, base=base, inertia_check='mend')
    names = {joint.name for joint in model.joints}
    for topic in columns.topics.values():
        assert set(topic.joints) <= names
        assert topic.joints or topic.position
    used = [joint.position for topic in columns.topics.values() for joint in topic.joints.values()]
    # Every moving joint has a column of its own.
    assert len(set(used)) == len(used)
    if used:
        moving = [moving.joint.name for moving in model.moving_joints]
        assert len(used) == len(moving)
        assert all(re.search(r'[a-z]', each) for each in used)


SETTINGS = sorted([*EXAMPLES.glob('*/robot*.yaml'), *EXAMPLES.glob('*/camera.yaml')])


@pytest.mark.parametrize('path', SETTINGS, ids=lambda path: f'{path.parent.name}/{path.stem}')
def test_settings_beside_them_make_a_problem(path):
    problem, *_ = build_parts(load_config(path))
    assert problem.labels


# What is not as `init` writes it, by the options that it is called with.
EDITS = {
    'dfki_double_pendulum_a0': ({}, {'estimator.name'}),
    'dfki_double_pendulum_c0': ({}, {'estimator.name'}),
    'dfki_simple_pendulum': ({}, {'estimator.name'}),
    'ibm_double_pendulum': ({'effort': 'none'}, {'estimate.upper.length'}),
    'multiarm_double': ({'effort': 'none'}, {'estimate.upper.length'}),
    'multiarm_single': ({'effort': 'none'}, set()),
    'staubli_tx40': ({}, {'model.couplings.joint_6'}),
    'tiago_arm': ({}, {'joints.torso_lift_joint.effort'}),
    'unitree_go2_legs': ({}, set()),
    'contactnets_cube': (
        {'base': 'floating'},
        {'estimate.world.gravity', 'estimator.name', 'frames.max_rate'},
    ),
}


def test_every_robot_has_settings_and_a_page():
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {'__pycache__'}
    assert folders == set(EDITS)
    for folder in folders:
        assert (EXAMPLES / folder / 'README.md').is_file()


@pytest.mark.parametrize('folder', EDITS)
def test_settings_are_those_of_init_but_for_an_edit_or_two(folder, tmp_path):
    options, edits = EDITS[folder]
    path = EXAMPLES / folder / 'robot.yaml'
    started = tmp_path / 'robot.yaml'
    started.write_text(starter_yaml(path.parent / 'robot.urdf', path.parent, **options))
    ours, theirs = (leaves(read(each)) for each in (path, started))
    # What is left out has its default, which `init` writes out.
    differing = {key for key in ours if ours[key] != theirs.get(key)}
    differing = {key.removesuffix('.sd').removesuffix('.log') for key in differing}
    assert differing == edits
    defaults = leaves(yaml.safe_load(to_yaml(Config())))
    missing = {key: theirs[key] for key in set(theirs) - set(ours)}
    assert missing == {key: defaults.get(key) for key in missing}


def read(path):
    """Return the mapping of a YAML file."""
    return yaml.safe_load(path.read_text(encoding='utf-8'))


def leaves(value, key=''):
    """Return dotted key -> value of all of a mapping that is no mapping, or an empty one."""
    if not isinstance(value, dict) or not value:
        return {key: value}
    found = {}
    for name, each in value.items():
        found |= leaves(each, f'{key}.{name}' if key else str(name))
    return found
