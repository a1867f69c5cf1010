"""The demo and the monitor over real DDS, on a robot with less to find in less time."""

from contextlib import suppress
import os
from pathlib import Path
import subprocess
import sys
import threading

import pytest
from simulated import CONFIG

pytest.importorskip('rclpy')

from boards import say, told, TRUTH
from diagnostic_msgs.msg import DiagnosticArray
from live import ROOT
from sensor_msgs.msg import JointState
from waiting import PATIENCE, until

from sim2real_estimator.cli import main
from sim2real_estimator.records import Findings
from sim2real_estimator.ros.publishers import parameters_message

ESTIMATOR = f"""
model: {{urdf: {CONFIG.with_suffix('.urdf')}}}
joints:
  shoulder: {{effort: commanded}}
  elbow: {{effort: commanded}}
efforts: {{commanded: joint_states}}
sensors:
  encoders: {{kind: joint_positions, topic: joint_states, joints: [shoulder, elbow], sd: 0.001}}
estimate:
  lower.mass: {{}}
  '*.damping': {{}}
frames: {{max_rate: 100, lateness: 0.2}}
"""
ROBOT = """
config: estimator.yaml
rate: 200
start_position_sd: 0.6
motion:
  shoulder: {amplitude: 0.75, frequencies: [0.31, 0.83, 1.4, 2.3]}
  elbow: {amplitude: 0.3, frequencies: [0.47, 1.1, 1.9, 2.6]}
payloads: {weight: {link: lower, at: 3.0, mass: 0.3, com: [0, 0, -0.2]}}
"""
SCRIPT = """
import pathlib, sys
from rich.console import Console
from sim2real_estimator.app.demo.goals import Goals
from sim2real_estimator.app.demo.report import perform
from sim2real_estimator.app.demo.show import Plan
folder = pathlib.Path(sys.argv[1])
goals = Goals(('lower.mass', 'shoulder.damping', 'elbow.damping'), by=2.9)
plan = Plan(folder / 'robot.yaml', folder / 'results', seconds=6.0, goals=goals)
sys.exit(perform(plan, Console(width=100)))
"""


def test_a_short_demo_keeps_its_promises_and_leaves_nothing_behind(tmp_path):
    (tmp_path / 'estimator.yaml').write_text(ESTIMATOR)
    (tmp_path / 'robot.yaml').write_text(ROBOT)
    done = subprocess.run(
        [sys.executable, '-c', SCRIPT, str(tmp_path)],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ('changed: the robot', 'true ', 'BROKEN', '8 of 8 promises kept'):
        assert (said in done.stdout) == (said != 'BROKEN')
    assert (tmp_path / 'results' / 'demo.png').stat().st_size > 10_000
    mine = [line for line in processes() if str(tmp_path) in line]
    assert mine == []


def processes():
    """Return the command lines of all processes."""
    found = []
    for file in Path('/proc').glob('[0-9]*/cmdline'):
        # It may end meanwhile.
        with suppress(OSError):
            found.append(file.read_text())
    return found


def test_the_monitor_shows_any_node_that_speaks(client, capsys):
    board = told()
    reading = say(board, 1.0, TRUTH)
    parameters = tuple(reading.parameters.values())
    findings = Findings(reading.stamp_ns, parameters, (), (), 3, 0, 9.0, ())
    estimate = JointState(name=list(TRUTH), position=list(TRUTH.values()), velocity=[0.001] * 3)
    node = '/left/sim2real_estimator'
    outputs = {
        client.node.create_publisher(JointState, f'{node}/estimate', 10): estimate,
        client.node.create_publisher(DiagnosticArray, f'{node}/parameters', 10): (
            parameters_message(findings, ['kg'] * 3)
        ),
    }
    over = threading.Event()

    def speak():
        while not over.wait(0.1):
            for publisher, message in outputs.items():
                publisher.publish(message)

    def is_shown():
        # Where others compete for the cores, nodes may find each other later than it listens.
        assert main(['monitor', '--node', node, '--seconds', '3']) == 0
        return 'lower.mass: 1.0000 +- 0.0010 kg  identified' in capsys.readouterr().out

    speaker = threading.Thread(target=speak)
    speaker.start()
    try:
        until(is_shown, 'the parameter in the table')
    finally:
        over.set()
        speaker.join()
