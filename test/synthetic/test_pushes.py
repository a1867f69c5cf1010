"""Known wrenches: thrust makes mass observable, and nobody blames a payload for a push."""

from dataclasses import replace

from measured_arms import config as measured
import numpy as np
import pytest
from simulated import CONFIG
from simulated import config as commanded

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.settings import SyntheticConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import read_config
from sim2real_estimator.config.settings_tree import WrenchConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

DRONE = """
model:
  urdf: >
    <robot name="drone"><link name="body"><inertial><mass value="1.2"/>
    <inertia ixx="0.012" iyy="0.012" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>
  base: floating
joints: {floating_base: {effort: none}}
sensors:
  mocap: {kind: link_pose, topic: pose, link: body, position_sd: 0.001, orientation_sd: 0.005}
wrenches: {thrust: {topic: thrust, link: body}}
estimator: {name: gaussian_sum}
estimate: {'*.mass': {}, '*.inertia.xx': {}, '*.inertia.yy': {}, '*.inertia.zz': {}}
"""
FLIGHT = """
config: none
seed: 1
rate: 200
wrenches:
  thrust:
    force: [0, 0, 11]
    force_amplitude: [0.3, 0.3, 2]
    torque_amplitude: [0.02, 0.02, 0.02]
    frequencies: [0.7, 1.3]
streams: {pose: {rate: 100}}
"""
SWING = """
config: none
seed: 1
rate: 250
motion:
  shoulder: {amplitude: 0.75, frequencies: [0.31, 0.83, 1.4, 2.3]}
  elbow: {amplitude: 0.3, frequencies: [0.47, 1.1, 1.9, 2.6]}
streams: {push: {rate: 125}}
wrenches: {push: {force: [0, 0, -3], at: %g}}
"""
HAND = """<link name="hand"/><joint name="wrist" type="fixed">
<parent link="lower"/><child link="hand"/><origin xyz="0 0 -0.4"/></joint></robot>"""


def synthetic(text, config, **changes):
    settings = replace(read_config(text, kind=SyntheticConfig), **changes)
    return SyntheticRobot(settings, config=config)


def run(robot, config, seconds):
    """Return (pipeline, its events) after messages of a robot to an estimator of a config."""
    pipeline, events = Pipeline.from_config(config), []
    for reading in robot.run(seconds):
        for name in robot.readers[reading.topic]:
            if name in pipeline.sources:
                pipeline.receive(name, message_of(reading), robot.arrival_ns(reading))
        events += [event for each in pipeline.step() for event in each.report.events]
    return pipeline, events + [e for each in pipeline.finish() for e in each.report.events]


def test_thrust_makes_mass_and_inertia_observable():
    config = read_config(DRONE)
    robot = synthetic(FLIGHT, config)
    pipeline, _ = run(robot, config, 3.0)
    estimate = pipeline.estimate()
    for name, mean, sd in zip(estimate.names, estimate.mean, estimate.sd):
        truth = robot.truth.values[name]
        assert abs(mean - truth) < 4 * sd and sd < 0.01 * truth, name
    assert set(estimate.verdicts) == {'identified'}
    assert pipeline.counts.table()['thrust'] == {'used': 600}


def test_without_thrust_no_flight_tells_the_mass():
    config = read_config(DRONE.replace('wrenches: {thrust: {topic: thrust, link: body}}', ''))
    problem = Pipeline.from_config(config).problem
    assert 'log(body.mass)' not in problem.labels
    assert len(problem.labels) < len(problem.parametrization.names)


@pytest.mark.parametrize(('arm', 'at'), [(commanded, 5.0), (measured, 25.0)])
@pytest.mark.parametrize('is_told', [True, False])
def test_a_known_push_on_the_hand_is_no_payload(arm, at, is_told):
    urdf = CONFIG.with_suffix('.urdf').read_text().replace('</robot>', HAND)
    known = arm()
    known = replace(known, model=replace(known.model, urdf=urdf[urdf.index('<robot') :]))
    told = replace(known, wrenches={'push': WrenchConfig('push', 'hand', 'world')})
    robot = synthetic(SWING % at, told)
    pipeline, events = run(robot, told if is_told else known, at + 5.0)
    if is_told:
        assert Happened.CHANGED not in events and not pipeline.latest_findings().payload.is_held
    else:
        # That it is there shows in what becomes of an estimator that does not know of it.
        assert Happened.CHANGED in events


@pytest.mark.parametrize(
    ('wrenches', 'words'),
    [
        ({'force': [1, 2]}, 'wrenches.thrust.force: is .*give x, y, z'),
        ({'force_amplitude': [1, 2, 3]}, 'wrenches.thrust.frequencies: is empty'),
    ],
)
def test_what_is_no_push_is_refused(wrenches, words):
    text = FLIGHT.partition('wrenches:')[0] + f'wrenches: {{thrust: {wrenches}}}'
    with pytest.raises(ConfigError, match=words):
        synthetic(text, read_config(DRONE))


def test_a_push_that_nobody_told_the_estimator_of_is_named():
    with pytest.raises(ConfigError, match='wrenches.wind: is unknown; choose from thrust'):
        synthetic(FLIGHT.replace('  thrust:', '  wind:'), read_config(DRONE))


def test_before_it_begins_nothing_acts():
    robot = synthetic(
        FLIGHT.replace('frequencies:', 'at: 0.1\n    frequencies:'), read_config(DRONE)
    )
    found = [r.content for r in robot.run(0.2) if r.topic == 'thrust']
    assert not np.any([each.force for each in found[:19]])
    assert found[-1].force[2] > 5
