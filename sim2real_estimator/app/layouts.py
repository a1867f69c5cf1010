"""
The command `sim2real-estimator layouts`: views of the topics for tools that others have made.

PlotJuggler opens its file by `plotjuggler -l FILE`, Foxglove by "Import from file", and
`diagnostic_aggregator` sorts `/diagnostics` for rqt_robot_monitor by the third. Which parameters
there are depends on the robot, so the files are written for its settings.
"""

import json
from pathlib import Path
from xml.etree import ElementTree

import yaml

from .export_command import require_free

# What is plotted together: title -> how the names of its parameters end, or what is in them.
_TABS = {
    'masses': ('.mass',),
    'centres of mass': ('.com.',),
    'inertias': ('.inertia.',),
    'damping and friction': ('damping', 'friction', 'stribeck', 'offset', 'stiffness'),
    'motors': ('armature', 'gain'),
    'other parameters': ('',),
}
# Field of `~/bands` -> its meaning and colour.
_CURVES = {
    'position': ('mean', '#1f77b4'),
    'velocity': ('5 %', '#aec7e8'),
    'effort': ('95 %', '#aec7e8'),
}
_MOST = 12
# Statuses of /diagnostics, by the beginnings of the names after that of the node: docs/ros.md.
_TASKS = {
    'Estimate': ('estimate', 'verdicts'),
    'Process': ('node', 'worker', 'saving', 'robot'),
    'Inputs': ('input ', 'samples of '),
}
_SILENT = 5.0
FILES = {
    'plotjuggler': 'plotjuggler/{}.xml',
    'foxglove': 'foxglove/{}.json',
    'rqt': 'rqt/{}_diagnostics.yaml',
}


def add_layouts(commands):
    """Add the command that writes views for other tools."""
    layouts = commands.add_parser(
        'layouts', help='write views of the topics for PlotJuggler, Foxglove and rqt'
    )
    layouts.add_argument('config', type=Path, help="the estimator's settings")
    layouts.add_argument('-o', '--output', type=Path, required=True, help='folder to write into')
    layouts.add_argument(
        '--node', default='/sim2real_estimator', help='its full name (/sim2real_estimator)'
    )
    layouts.add_argument('--force', action='store_true', help='overwrite files')
    layouts.set_defaults(run=_write)


def _write(chosen):
    """Write the three files."""
    from ..config import load_config
    from ..posterior.export.text_files import replace_file
    from ..setup.build import build_parts

    names = build_parts(load_config(chosen.config))[0].parametrization.names
    paths = {kind: chosen.output / name.format(chosen.config.stem) for kind, name in FILES.items()}
    for path in paths.values():
        require_free(path, chosen.force)
    texts = {
        'plotjuggler': plotjuggler(names, chosen.node),
        'foxglove': foxglove(names, chosen.node),
        'rqt': rqt(chosen.node),
    }
    for kind, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, texts[kind])
        print(f'written: {path}')
    return 0


def _tabs(names):
    """Return title -> names, each in the first tab that it fits."""
    left, found = list(names), {}
    for title, words in _TABS.items():
        own = [name for name in left if any(word in name for word in words)]
        left = [name for name in left if name not in own]
        for first in range(0, len(own), _MOST):
            number = f' {first // _MOST + 1}' if len(own) > _MOST else ''
            found[title + number] = own[first : first + _MOST]
    return found


def plotjuggler(names, node='/sim2real_estimator'):
    """Return the layout: a plot per parameter, its mean and its 90 % band."""
    root = ElementTree.Element('root')
    window = ElementTree.SubElement(
        root, 'tabbed_widget', parent='main_window', name='Main Window'
    )
    for title, own in _tabs(names).items():
        tab = ElementTree.SubElement(window, 'Tab', tab_name=title, containers='1')
        container = ElementTree.SubElement(tab, 'Container')
        sizes = ';'.join([f'{1 / len(own):.6g}'] * len(own))
        split = ElementTree.SubElement(
            container, 'DockSplitter', orientation='-', count=str(len(own)), sizes=sizes
        )
        for name in own:
            area = ElementTree.SubElement(split, 'DockArea', name=name)
            plot = ElementTree.SubElement(area, 'plot', mode='TimeSeries', style='Lines')
            for field, (_, colour) in _CURVES.items():
                curve = f'{node}/bands/{name}/{field}'
                ElementTree.SubElement(plot, 'curve', name=curve, color=colour)
    ElementTree.SubElement(window, 'currentTabIndex', index='0')
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode', xml_declaration=True) + '\n'


def foxglove(names, node='/sim2real_estimator'):
    """Return the layout: a plot per parameter, events, health, the robot."""
    places = {name: k for k, name in enumerate(names)}
    panels, tabs = {}, []
    for title, own in _tabs(names).items():
        for name in own:
            panels[f'Plot!{name}'] = {
                'title': name,
                'xAxisVal': 'timestamp',
                'showLegend': True,
                'legendDisplay': 'left',
                'paths': [
                    {
                        'value': f'{node}/bands.{field}[{places[name]}]',
                        'label': f'{name}: {word}',
                        'color': colour,
                        'enabled': True,
                        'timestampMethod': 'headerStamp',
                    }
                    for field, (word, colour) in _CURVES.items()
                ],
            }
        tabs.append({'title': title, 'layout': _stack([f'Plot!{name}' for name in own])})
    panels['3D!robot'] = {
        'topics': {f'{node}/markers': {'visible': True}},
        'layers': {
            'urdf': {
                'layerId': 'foxglove.Urdf',
                'sourceType': 'topic',
                'topic': '/robot_description',
                'visible': True,
            }
        },
    }
    panels['RawMessages!events'] = {'topicPath': f'{node}/events'}
    panels['DiagnosticSummary!health'] = {'topicToRender': '/diagnostics', 'minLevel': 0}
    panels['Tab!parameters'] = {'activeTabIdx': 0, 'tabs': tabs}
    side = _stack(['3D!robot', 'RawMessages!events', 'DiagnosticSummary!health'])
    layout = {
        'configById': panels,
        'globalVariables': {},
        'userNodes': {},
        'playbackConfig': {'speed': 1},
        'layout': {
            'direction': 'row',
            'first': 'Tab!parameters',
            'second': side,
            'splitPercentage': 65,
        },
    }
    return json.dumps(layout, indent=1) + '\n'


def _stack(panels):
    """Return panels one below the other, all of the same height."""
    first, *others = panels
    if not others:
        return first
    share = 100 / len(panels)
    return {
        'direction': 'column',
        'first': first,
        'second': _stack(others),
        'splitPercentage': share,
    }


def rqt(node='/sim2real_estimator'):
    """Return parameters of diagnostic_aggregator that sort what the nodes say of their health."""
    name = node.lstrip('/')
    analyzers = {
        title.lower(): {
            'type': 'diagnostic_aggregator/GenericAnalyzer',
            'path': title,
            'startswith': [f'{name}: {task}' for task in tasks],
            'timeout': _SILENT,
        }
        for title, tasks in _TASKS.items()
    }
    analyzers['randomizer'] = {
        'type': 'diagnostic_aggregator/GenericAnalyzer',
        'path': 'Randomizer',
        'startswith': ['randomizer: '],
        'timeout': _SILENT,
    }
    parameters = {'path': 'sim2real_estimator', 'pub_rate': 1.0, **analyzers}
    head = (
        '# ros2 run diagnostic_aggregator aggregator_node --ros-args --params-file THIS FILE\n'
        '# ros2 run rqt_robot_monitor rqt_robot_monitor\n'
    )
    return head + yaml.safe_dump({'analyzers': {'ros__parameters': parameters}}, sort_keys=False)
