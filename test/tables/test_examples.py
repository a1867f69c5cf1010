"""What lies in examples/ can be read, and converts arrays of the shapes that it names."""

from pathlib import Path
import re

import pytest

from sim2real_estimator.build import build_parts
from sim2real_estimator.config import load_config
from sim2real_estimator.model.urdf import load_urdf
from sim2real_estimator.tables.columns import Columns

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


@pytest.mark.parametrize(
    'path', sorted(EXAMPLES.glob('*/robot.yaml')), ids=lambda path: path.parent.name
)
def test_settings_beside_them_make_a_problem(path):
    problem, *_ = build_parts(load_config(path))
    assert problem.labels
