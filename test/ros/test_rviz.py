"""What is shown without a click, and what the documents say of its colours."""

from pathlib import Path
import re

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def displays():
    """Return class -> settings of the displays of the shipped configuration."""
    settings = yaml.safe_load((ROOT / 'config/rviz/monitor.rviz').read_text())
    found = settings['Visualization Manager']['Displays']
    return {display['Class'].removeprefix('rviz_default_plugins/'): display for display in found}


def test_markers_and_robot_are_shown_at_once(displays):
    for kind in ('MarkerArray', 'RobotModel', 'Grid'):
        assert displays[kind]['Enabled'] is True


def test_rviz_listens_to_what_is_published(displays):
    # Relative, so that a namespace of rviz itself reaches the node in it.
    assert displays['MarkerArray']['Topic']['Value'] == 'sim2real_estimator/markers'
    topic = displays['RobotModel']['Description Topic']
    assert (topic['Value'], topic['Durability Policy']) == ('robot_description', 'Transient Local')


def test_the_legend_in_the_documents_is_true():
    pytest.importorskip('rclpy')
    from sim2real_estimator.ros.verdict_looks import LOOKS, NOT_ESTIMATED

    text = (ROOT / 'docs/ros.md').read_text()
    table = text[text.index('| colour | verdict |') :]
    rows = re.findall(r'^\| ([a-z ]+) \| ([a-z -]+) \|$', table, re.MULTILINE)[1:]
    by_rank = sorted(LOOKS.items(), key=lambda item: item[1].rank)
    assert rows[0] == (NOT_ESTIMATED.colour, 'not estimated')
    assert rows[1:] == [(look.colour, verdict.value) for verdict, look in by_rank]
