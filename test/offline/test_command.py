"""The command says how far it is, what was found, and where it is written."""

from dataclasses import replace
import io
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from simulated import CONFIG
import swinging

from sim2real_estimator import cli
from sim2real_estimator.config import load_config, to_yaml, with_values
from sim2real_estimator.estimation.disturbances import (
    Disturbance,
    Disturbances,
    Kind,
    NO_DISTURBANCE,
)
from sim2real_estimator.offline.identification import terminal as terminal_output
from sim2real_estimator.offline.identification.held_out import nothing_held_out
from sim2real_estimator.offline.identification.result import (
    Happening,
    Identification,
    LearnedNoise,
)
from sim2real_estimator.offline.identification.run import Opened, Step
from sim2real_estimator.posterior import listing as posterior_report
from sim2real_estimator.posterior import report
from sim2real_estimator.posterior.listing import wide_console
from sim2real_estimator.records import Findings, ParameterFinding

FOUND = ParameterFinding(
    'arm.mass', 1.25, 0.01, (1.2, 1.25, 1.3), 1.0, 0.3, 0.03, 'identified', ()
)
FINDINGS = Findings(0, (FOUND,), (), (), 1, 2, 3.0, ())
REMARK = "'joint_states' of the config is '/arm/joint_states' here"


BEGIN_NS = 1_700_000_000 * 10**9
RECORDINGS = (Opened('swing', BEGIN_NS),)


def step(seconds, events=()):
    told = events, RECORDINGS
    return Step(0, 2, 'swing', seconds, 60.0, 12.3, FINDINGS, (REMARK,), *told)


def happening(seconds, name, joint='', is_warning=True):
    values = {'joint': joint} if joint else {}
    text = f'so it is with {joint}'
    return Happening(BEGIN_NS + int(seconds * 1e9), name, text, is_warning, values, 0)


def terminal(width=100):
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def test_without_a_terminal_lines_come_now_and_then(monkeypatch):
    console, now = Console(file=io.StringIO(), width=200), [100.0]
    monkeypatch.setattr(terminal_output.time, 'monotonic', lambda: now[0])
    lines = terminal_output.Lines(console)
    for now[0], seconds in ((100.0, 1.0), (105.0, 30.0), (111.0, 55.0)):
        lines.show(step(seconds))
    assert console.file.getvalue().splitlines() == [
        REMARK,
        'swing (1 of 2): 1.0 of 60.0 s, 12.3 times real time, 1 of 3 dimensions known from data',
        'swing (1 of 2): 55.0 of 60.0 s, 12.3 times real time, 1 of 3 dimensions known from data',
    ]


def test_in_a_terminal_the_table_is_live():
    console = terminal()
    with terminal_output.Live(console) as live:
        live.show(step(30.0))
        live.refresh()
    shown = console.file.getvalue()
    assert REMARK in shown and '30.0 of 60.0 s' in shown
    assert 'arm.mass' in shown and '1.25' in shown and 'identified' in shown


def test_why_nothing_was_predicted_is_said():
    assert 'nothing was held out' in str(terminal_output.scores(nothing_held_out(0.0)))


def test_the_command_prints_what_was_found(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    swinging.bag(tmp_path / 'swing', 5.0)
    urdf = {'model.urdf': str(CONFIG.with_suffix('.urdf'))}
    (tmp_path / 'robot.yaml').write_text(to_yaml(with_values(swinging.config(), urdf)))
    command = ['identify', 'swing', '--config', 'robot.yaml', '--held-out', '0.4']
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert 'No warnings' in said.partition('mean')[0] and '! ' not in said
    assert re.search(r'Of \d+ parameters \d+ could be identified from these data', said)
    assert 's  converged: the posterior is narrow' in said
    assert 'lower.mass' in said and 'identified' in said
    assert 'held out: 1 predictions of 1 s' in said
    assert 's of data' in said and 'written: results/swing' in said
    assert (tmp_path / 'results' / 'swing' / 'result.json').exists()
    assert cli.main(command) == 2
    assert 'results/swing: exists' in capsys.readouterr().err


def test_without_matplotlib_there_is_all_but_the_report(bag, tmp_path, capsys, monkeypatch):
    find = report.find_spec
    monkeypatch.setattr(
        report, 'find_spec', lambda name: name != 'matplotlib' and find(name) or None
    )
    urdf = {'model.urdf': str(CONFIG.with_suffix('.urdf'))}
    (tmp_path / 'robot.yaml').write_text(to_yaml(with_values(swinging.config(), urdf)))
    config, output = str(tmp_path / 'robot.yaml'), tmp_path / 'result'
    command = ['identify', str(bag), '--config', config, '--held-out', '0', '-o', str(output)]
    assert cli.main(command) == 0
    assert 'no report.html: matplotlib missing: pip install matplotlib' in capsys.readouterr().out
    assert (output / 'posterior.npz').exists() and not (output / 'report.html').exists()
    assert cli.main(['report', str(output), '-o', str(tmp_path / 'report.html')]) == 2
    assert 'pip install matplotlib' in capsys.readouterr().err


def test_the_folder_of_a_result_stands_alone(bag, tmp_path, capsys, monkeypatch):
    (tmp_path / 'lab').mkdir()
    shutil.copy(CONFIG.with_suffix('.urdf'), tmp_path / 'lab' / 'arm.urdf')
    settings = with_values(swinging.config(), {'model.urdf': 'arm.urdf'})
    (tmp_path / 'lab' / 'robot.yaml').write_text(to_yaml(settings))
    config, output = str(tmp_path / 'lab' / 'robot.yaml'), tmp_path / 'lab' / 'result'
    assert cli.main(['identify', str(bag), '--config', config, '-o', str(output)]) == 0
    moved = tmp_path / 'elsewhere'
    shutil.move(output, moved)
    shutil.rmtree(tmp_path / 'lab')
    monkeypatch.chdir(tmp_path)
    described = (moved / 'description.urdf').read_text()
    assert described == CONFIG.with_suffix('.urdf').read_text()
    capsys.readouterr()
    assert cli.main(['show', 'elsewhere']) == 0
    assert 'lower.mass' in capsys.readouterr().out
    assert cli.main(['report', 'elsewhere', '-o', 'again.html']) == 0
    assert cli.main(['export', 'elsewhere', '--urdf', 'arm.urdf', '--mjcf', 'arm.xml']) == 0
    assert (tmp_path / 'arm.urdf').read_text() == (moved / 'robot.urdf').read_text()
    load_config(moved / 'settings.yaml')


REST, ELASTIC = happening(1.0, 'at rest', is_warning=False), happening(2.5, 'elastic', 'wrist')
AGAIN = happening(9.0, 'at rest', is_warning=False)


def test_events_are_said_when_they_come_and_each_once(monkeypatch):
    console = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(terminal_output.time, 'monotonic', lambda: 100.0)
    lines = terminal_output.Lines(console)
    for events in ((), (REST,), (REST, ELASTIC), (REST, ELASTIC, AGAIN)):
        lines.show(step(10.0, events))
    said = console.file.getvalue().splitlines()
    assert said[2:] == [
        '  1.0 s  at rest: so it is with ',
        '! 2.5 s  elastic: so it is with wrist',
    ]


def test_equal_events_are_one_line_with_their_number():
    first, second = terminal_output.events_once((REST, ELASTIC, AGAIN), RECORDINGS)
    assert first.plain == '  1.0 s  at rest: so it is with  (2 times, the last at 9.0 s)'
    assert second.plain == '! 2.5 s  elastic: so it is with wrist'
    (several, _) = terminal_output.events_once((REST, ELASTIC), (*RECORDINGS, Opened('other', 0)))
    assert several.plain.startswith('  swing 1.0 s')


def test_in_a_terminal_the_latest_events_are_above_the_table():
    console = terminal()
    with terminal_output.Live(console) as live:
        live.show(step(30.0, (ELASTIC,)))
        live.refresh()
    shown = console.file.getvalue()
    assert shown.index('so it is with wrist') < shown.index('arm.mass')


@pytest.mark.parametrize('width', [60, 100])
def test_names_are_never_cut(width):
    name = 'AR5-5_07R-W4C4A2_shoulder_pan_joint.load_friction'
    console = terminal(width)
    console.print(posterior_report.parameter_table([replace(FOUND, name=name)], width))
    shown = re.sub('\x1b[^m]*m', '', console.file.getvalue())
    first = ''.join(line.strip().split('  ')[0] for line in shown.split('\n'))
    assert name in first
    assert '1.25' in shown and '0.01' in shown and 'identified' in shown


def test_at_eighty_columns_rows_are_lines_with_whole_names():
    names = [f'left_finger_link.{each}' for each in ('mass', 'com.x', 'inertia.xx')]
    parameters = [
        replace(FOUND, name=name, verdict='prior-assisted', aliases=tuple(names)) for name in names
    ]
    console = terminal(80)
    console.print(posterior_report.parameter_table(parameters, 80))
    shown = re.sub('\x1b[^m]*m', '', console.file.getvalue()).split('\n')
    for name in names:
        (row,) = (line for line in shown if name in line)
        assert len(row) <= 80 and row.split() == [
            name,
            '1.25',
            '0.01',
            '3.0',
            '%',
            'prior-assisted',
        ]
    # Who is aliased with whom stands below, once.
    (line,) = posterior_report.relations(parameters)
    assert line == f'no data tell apart: {", ".join(sorted(names))}'


def test_without_a_terminal_a_table_is_as_wide_as_its_names(capsys):
    name = 'AR5-5_07R-W4C4A2_shoulder_pan_joint.load_friction'
    aliases = tuple(f'{name}.{k}' for k in range(5))
    found = replace(FOUND, name=name, verdict='aliased', aliases=aliases)
    wide_console().print(posterior_report.parameter_table([found]))
    assert name in capsys.readouterr().out


def distrusted(events=(), torques=(), disturbed=0.0, **changes):
    """Return why not to trust a result; torques: of `LearnedNoise`; disturbed: probability."""
    found = replace(FINDINGS, parameters=(replace(FOUND, **changes),))
    none = np.zeros(0)
    bare = nothing_held_out(0.0)
    noise = LearnedNoise((), torques)
    weights = np.array([1 - disturbed, disturbed])
    hypotheses = Disturbances.of([NO_DISTURBANCE, Disturbance(Kind.FORCE, 0.1)])
    mixture = SimpleNamespace(weights=weights, disturbances=hypotheses)
    posterior = SimpleNamespace(mixture=mixture)
    parts = None, posterior, found, none, events, bare, (), None, False, {}, noise
    return Identification(*parts).distrust


def test_what_does_not_deserve_trust_is_said_first():
    assert distrusted((REST,), (('wrist', 0.1, 1.0, True, None),)) == ()
    assert distrusted((), (('elbow', 0.1, 1.0, False, None), ('wrist', 0.1, 1.0, True, 9.2))) == (
        'torques that the model does not explain: elbow; check unit and sign, then try '
        'estimator.name: multiple_shooting',
        'elastic: wrist (9 Hz)',
    )
    # Four joints are an arm that a servo drives.
    four = tuple((name, 0.1, 1.0, name != 'elbow', None) for name in ('a', 'b', 'elbow', 'c'))
    assert distrusted((), four) == ('torques that the model does not explain: elbow',)
    assert distrusted((happening(1.0, 'not explained', 'wrist'),)) == (
        'torques that the model did not explain for a time: wrist',
    )
    assert distrusted(asked=('', -0.703, 0.04)) == (
        'data ask for what no robot has: arm.mass -0.703 +- 0.04',
    )
    odd = happening(1.0, 'misfit', 'wrist')
    odd = replace(odd, values={**odd.values, 'wrong': 'positions are in degrees'})
    fits = happening(2.0, 'fits again')
    assert distrusted((odd,)) == ('positions are in degrees',)
    assert distrusted((odd, fits)) == ('for a time it looked as if positions are in degrees',)
    changed = happening(3.0, 'changed')
    noise = happening(5.0, 'more noise', 'wrist')
    assert distrusted((changed, noise, changed)) == ('changed 2 times', 'more noise: wrist')
    assert distrusted(disturbed=0.5) == ()
    (reason,) = distrusted(disturbed=0.99)
    assert 'efforts of unknown origin' in reason and 'held fixed' in reason


def test_what_no_data_tell_is_one_line_where_it_is_much():
    findings = replace(FINDINGS, null_directions=('a - b',) * 11)
    shown = posterior_report._besides(findings, False)
    assert [line for line in shown if line.startswith('no data')] == [
        'no data tell: 11 parameters and combinations, listed in report.html and result.json, '
        'and here with --verbose'
    ]
    assert posterior_report._besides(findings, True).count('no data tell: a - b') == 11
