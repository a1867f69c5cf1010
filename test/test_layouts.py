"""Views for PlotJuggler, Foxglove and rqt: of topics, fields and statuses that there are."""

import ast
import json
from pathlib import Path
import re
from xml.etree import ElementTree

import pytest
import yaml

from sim2real_estimator.app.layouts import FILES, foxglove, plotjuggler, rqt
from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.ros.publishers import bands_message

ROOT = Path(__file__).parents[1]
NODE = '/sim2real_estimator'
DEMO = ROOT / 'config' / 'demo.yaml'


@pytest.fixture(scope='module')
def names():
    """Return the names in the order of `~/bands`."""
    found = Pipeline.from_config(load_config(DEMO)).progress.assessment.latest
    return tuple(bands_message(found).name)


def topics():
    """Return the names below the node of what it publishes, without asking ROS."""
    tree = ast.parse((ROOT / 'sim2real_estimator/ros/outputs.py').read_text())
    (table,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == 'TOPICS'
    ]
    return {key.value for key in table.keys}


def shipped(kind):
    return (ROOT / 'config' / FILES[kind].format('demo')).read_text()


def expect_topic(path):
    assert path.startswith(f'{NODE}/')
    assert re.split(r'[./]', path.removeprefix(f'{NODE}/'))[0] in topics(), path


def test_the_shipped_views_are_what_the_command_writes_for_the_demo(tmp_path, capsys):
    assert main(['layouts', str(DEMO), '-o', str(tmp_path)]) == 0
    for kind, name in FILES.items():
        assert (tmp_path / name.format('demo')).read_text() == shipped(kind)
    assert main(['layouts', str(DEMO), '-o', str(tmp_path)]) == 2
    assert 'exists; give another name' in capsys.readouterr().err


def test_plotjuggler_shows_every_parameter_with_its_band(names):
    root = ElementTree.fromstring(shipped('plotjuggler'))
    areas = {area.get('name'): area for area in root.iter('DockArea')}
    assert set(areas) == set(names)
    for name, area in areas.items():
        curves = [curve.get('name') for curve in area.iter('curve')]
        fields = ('position', 'velocity', 'effort')
        assert curves == [f'{NODE}/bands/{name}/{field}' for field in fields]
        expect_topic(curves[0])
    for split in root.iter('DockSplitter'):
        assert int(split.get('count')) == len(split) == len(split.get('sizes').split(';'))


def test_foxglove_plots_each_parameter_by_its_place_in_the_message(names):
    layout = json.loads(shipped('foxglove'))
    panels, found = layout['configById'], {}
    for panel in panels.values():
        for path in panel.get('paths', ()):
            expect_topic(path['value'])
            field, place = re.fullmatch(r'.*/bands\.(\w+)\[(\d+)\]', path['value']).groups()
            name, _, word = path['label'].partition(': ')
            assert names[int(place)] == name
            found.setdefault(name, {})[word] = field
    curves = {'mean': 'position', '5 %': 'velocity', '95 %': 'effort'}
    assert found == dict.fromkeys(names, curves)
    expect_topic(next(iter(panels['3D!robot']['topics'])))
    expect_topic(panels['RawMessages!events']['topicPath'])
    # Every panel is shown, and everything shown is a panel.
    text = json.dumps([layout['layout'], panels['Tab!parameters']['tabs']])
    assert set(re.findall(r'"([^"]+![^"]+)"', text)) == set(panels)


def test_rqt_sorts_every_status_into_one_place():
    parameters = yaml.safe_load(shipped('rqt'))['analyzers']['ros__parameters']
    analyzers = [each for each in parameters.values() if isinstance(each, dict)]
    begins = [begin for each in analyzers for begin in each['startswith']]
    page = (ROOT / 'docs' / 'ros.md').read_text().partition('## Diagnostics')[2]
    tasks = re.findall(r'^\| `([^`]+)`', page.partition('## Markers')[0], re.M)
    assert len(tasks) >= 8
    for task in tasks:
        status = f'sim2real_estimator: {task}'
        assert sum(status.startswith(begin) for begin in begins) == 1, task
    assert any('randomizer: draws'.startswith(begin) for begin in begins)


def test_many_parameters_are_spread_over_tabs_and_another_name_of_the_node_is_taken():
    names = [f'link{k}.mass' for k in range(30)]
    root = ElementTree.fromstring(plotjuggler(names, '/left/arm'))
    titles = [tab.get('tab_name') for tab in root.iter('Tab')]
    assert titles == ['masses 1', 'masses 2', 'masses 3']
    assert len(list(root.iter('DockArea'))) == 30
    assert '"/left/arm/bands.position[29]"' in foxglove(names, '/left/arm')
    assert "'left/arm: worker'" in rqt('/left/arm')
