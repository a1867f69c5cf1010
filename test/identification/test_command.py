"""The command says how far it is, what was found, and where it is written."""

import io

from rich.console import Console
from simulated import CONFIG
import swinging

from sim2real_estimator import cli
from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.identification import display
from sim2real_estimator.identification.open_loop import nothing_held_out
from sim2real_estimator.identification.work import Step
from sim2real_estimator.records import Findings, ParameterFinding

FOUND = ParameterFinding(
    'arm.mass', 1.25, 0.01, (1.2, 1.25, 1.3), 1.0, 0.3, 0.03, 'identified', ()
)
FINDINGS = Findings(0, (FOUND,), (), (), 1, 2, 3.0, ())
REMARK = "'joint_states' of the config is '/arm/joint_states' here"


def step(seconds):
    return Step(0, 2, 'swing', seconds, 60.0, 12.3, FINDINGS, (REMARK,))


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


def test_without_a_terminal_lines_come_now_and_then(monkeypatch):
    console, now = Console(file=io.StringIO(), width=200), [100.0]
    monkeypatch.setattr(display.time, 'monotonic', lambda: now[0])
    lines = display.Lines(console)
    for now[0], seconds in ((100.0, 1.0), (105.0, 30.0), (111.0, 55.0)):
        lines.show(step(seconds))
    assert console.file.getvalue().splitlines() == [
        REMARK,
        'swing (1 of 2): 1.0 of 60.0 s, 12.3 times real time, 1 of 3 dimensions known from data',
        'swing (1 of 2): 55.0 of 60.0 s, 12.3 times real time, 1 of 3 dimensions known from data',
    ]


def test_in_a_terminal_the_table_is_live():
    console = terminal()
    with display.Live(console) as live:
        live.show(step(30.0))
        live.refresh()
    shown = console.file.getvalue()
    assert REMARK in shown and '30.0 of 60.0 s' in shown
    assert 'arm.mass' in shown and '1.25' in shown and 'identified' in shown


def test_why_nothing_was_predicted_is_said():
    assert 'nothing was held out' in str(display.scores(nothing_held_out(0.0)))


def test_the_command_prints_what_was_found(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    swinging.bag(tmp_path / 'swing', 5.0)
    urdf = {'model.urdf': str(CONFIG.with_suffix('.urdf'))}
    (tmp_path / 'robot.yaml').write_text(to_yaml(with_values(swinging.config(), urdf)))
    command = ['identify', 'swing', '--config', 'robot.yaml', '--held-out', '0.4']
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert 'lower.mass' in said and 'identified' in said
    assert 'held out: 1 predictions of 1 s' in said
    assert 's of data' in said and 'written: results/swing' in said
    assert (tmp_path / 'results' / 'swing' / 'result.json').exists()
    assert cli.main(command) == 2
    assert 'results/swing: exists' in capsys.readouterr().err
