"""`init --bag` and `--joints`: what a recording says of the settings, and why."""

import re

from bag_files import joints, SECOND, START, write
import numpy as np
import pytest

from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.messages import TypestoreMaker
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.setup.observed import (
    kind_of_efforts,
    noise_of,
    pace_of,
    ratio_of,
    runs_of,
    step_of,
)

JOINTS = ('shoulder', 'elbow')
RATE, SECONDS = 200, 8
TIMES = np.arange(SECONDS * RATE) / RATE
NAN = float('nan')


def moved(urdf, noise=2e-5, seed=0):
    """Return (angles, torques) [N, 2] of a double pendulum that is led through the air."""
    generator = np.random.default_rng(seed)
    rates, phases = np.array([2.1, 3.3]), np.array([0.0, 1.0])
    arguments = TIMES[:, None] * rates + phases
    q, v, a = np.sin(arguments), rates * np.cos(arguments), -(rates**2) * np.sin(arguments)
    robot = realize(Parameters(load_urdf(urdf)), {})
    rows = zip(q.tolist(), v.tolist(), a.tolist())
    torques = np.array([inverse_dynamics(robot, *row) for row in rows], dtype=float)
    torques += 0.3 * np.sign(v) + 0.1 * v + 0.02 * generator.standard_normal(q.shape)
    return q + noise * generator.standard_normal(q.shape), torques


def entries(angles, torques, names=JOINTS, **changes):
    stamps = START + (np.arange(len(angles)) * SECOND) // RATE
    return [joints(*row, names=names, **changes) for row in zip(stamps, angles, torques)]


@pytest.fixture
def init(tmp_path, double_pendulum_urdf):
    """Return a function that writes a config from entries of a bag, and returns its path."""
    (tmp_path / 'robot.urdf').write_text(double_pendulum_urdf)
    numbers = iter(range(100))

    def run(recorded, *options, status=0, urdf='robot.urdf'):
        number = next(numbers)
        bag = write(tmp_path / f'bag{number}', recorded)
        path = tmp_path / f'robot{number}.yaml'
        given = [str(tmp_path / urdf)] if urdf else []
        command = ['init', *given, '--bag', str(bag), '-o', str(path), *options]
        assert main(command) == status
        return path

    return run


def reasons(path):
    """Return the comments of a config as one text."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return ' '.join(line.strip('# ') for line in lines if line.startswith('#'))


def test_what_is_heard_can_be_identified_as_it_is(init, double_pendulum_urdf):
    path = init(entries(*moved(double_pendulum_urdf)))
    config = load_config(path)
    assert {name: each.effort for name, each in config.joints.items()} == {
        'shoulder': 'measured',
        'elbow': 'measured',
    }
    encoders = config.sensors['encoders']
    assert encoders.topic == config.efforts.measured == 'joint_states'
    assert encoders.sd == pytest.approx(2e-5, rel=0.3)
    said = reasons(path)
    assert '1600 messages at 200 Hz' in said
    assert re.search(r'effort from \S+ to \S+, (0\.9\d|1) times the torque of the robot', said)
    assert Pipeline.from_config(config).problem.torque is not None
    folder = path.parent / 'result'
    command = ['identify', str(path.parent / 'bag0'), '--config', str(path), '-o', str(folder)]
    assert main(command) == 0


def test_topics_in_a_namespace_are_named_in_full(init, double_pendulum_urdf):
    path = init(entries(*moved(double_pendulum_urdf), topic='/left/joint_states'))
    config = load_config(path)
    assert config.sensors['encoders'].topic == config.efforts.measured == '/left/joint_states'


def test_coarse_encoders_have_the_noise_of_their_steps(init, double_pendulum_urdf):
    angles, torques = moved(double_pendulum_urdf, noise=0.0)
    step = 2 * np.pi / 4096
    path = init(entries(np.round(angles / step) * step, torques))
    assert load_config(path).sensors['encoders'].sd == pytest.approx(step / np.sqrt(12), rel=0.1)
    assert 'in steps of 0.0015' in reasons(path)


@pytest.mark.parametrize(('efforts', 'word'), [(NAN, 'absent'), (0.0, 'zero'), (0.7, 'constant')])
def test_efforts_that_tell_nothing_are_unknown(init, double_pendulum_urdf, efforts, word):
    angles, torques = moved(double_pendulum_urdf)
    torques[:, 1] = efforts
    path = init(entries(angles, torques))
    config = load_config(path)
    assert (config.joints['shoulder'].effort, config.joints['elbow'].effort) == (
        'measured',
        'unknown',
    )
    assert f'effort is {word}: nobody reports it' in reasons(path)


def test_efforts_without_noise_are_perhaps_commanded(init, double_pendulum_urdf):
    path = init(entries(*moved(double_pendulum_urdf)))
    assert 'without any noise' not in path.read_text()
    angles, _ = moved(double_pendulum_urdf)
    smooth = np.sin(TIMES[:, None] * [2.0, 3.0])
    path = init(entries(angles, smooth))
    assert 'without any noise' in reasons(path)
    assert 'Warning: the efforts of shoulder, elbow have no noise' in reasons(path)
    assert 'call init with --effort commanded' in reasons(path)
    path = init(entries(angles, smooth), '--effort', 'commanded')
    assert 'have no noise' not in path.read_text()
    config = load_config(path)
    assert {each.effort for each in config.joints.values()} == {'commanded'}
    assert config.efforts.commanded == 'joint_states'
    Pipeline.from_config(config)


def test_amperes_get_a_gain(init, double_pendulum_urdf, caplog):
    angles, torques = moved(double_pendulum_urdf)
    path = init(entries(angles, torques / [12.0, 1.0]))
    config = load_config(path)
    assert config.estimate['shoulder.gain'].mean == pytest.approx(12.0, rel=0.1)
    assert 'elbow.gain' not in config.estimate
    assert 'not N m, perhaps amperes' in reasons(path)
    assert any('Better publish N m' in each for each in caplog.messages)
    Pipeline.from_config(config)


def test_a_torque_of_the_other_sign_is_not_used(init, double_pendulum_urdf, caplog):
    angles, torques = moved(double_pendulum_urdf)
    config = load_config(init(entries(angles, torques * [-1.0, 1.0])))
    assert config.joints['shoulder'].effort == 'unknown'
    assert config.joints['elbow'].effort == 'measured'
    assert any('its sign is the other one' in each for each in caplog.messages)


def test_degrees_are_warned_of(init, double_pendulum_urdf, capsys):
    angles, torques = moved(double_pendulum_urdf)
    path = init(entries(np.degrees(angles), torques))
    assert 'probably degrees' in capsys.readouterr().err
    assert path.read_text().startswith('# WARNING: ')
    load_config(path)


def test_what_swings_freely_is_seen_by_its_energy(tmp_path, init, double_pendulum_urdf):
    import torch

    from sim2real_estimator import Simulator

    model = load_urdf(double_pendulum_urdf)
    simulator = Simulator(model, ['shoulder.damping'])
    state = torch.tensor([[1.2], [0.4], [0.0], [0.0]], dtype=torch.float64)
    values = 0.05 * torch.ones(1, 1, dtype=torch.float64)
    states = simulator.rollout(state, [1 / RATE] * (len(TIMES) - 1), values).states
    angles = np.ascontiguousarray(states[:, :2, 0].numpy())
    config = load_config(init(entries(angles, np.full_like(angles, NAN))))
    assert {each.effort for each in config.joints.values()} == {'none'}
    led, _ = moved(double_pendulum_urdf)
    # Neither a torque nor a pose: nothing could be estimated.
    path = init(entries(led, np.full_like(led, NAN)))
    assert {each.effort for each in load_config(path).joints.values()} == {'unknown'}
    assert 'WARNING' in path.read_text()


def test_a_joint_that_nobody_speaks_of_is_welded(init, double_pendulum_urdf, caplog):
    angles, torques = moved(double_pendulum_urdf)
    path = init(entries(angles[:, :1], torques[:, :1], names=JOINTS[:1]))
    config = load_config(path)
    assert config.model.joint_types == {'elbow': 'fixed'}
    assert list(config.joints) == ['shoulder']
    assert any('elbow: no message tells its position' in each for each in caplog.messages)


def test_joints_that_are_not_asked_for_are_driven_or_welded(init, double_pendulum_urdf):
    angles, torques = moved(double_pendulum_urdf)
    config = load_config(init(entries(angles, torques), '--joints', 'should*'))
    assert config.joints['elbow'].effort == 'driven'
    assert config.joints['shoulder'].effort == 'measured'
    Pipeline.from_config(config)
    path = init(entries(angles * [1.0, 0.0], torques), '--joints', 'should*')
    assert load_config(path).model.joint_types == {'elbow': 'fixed'}
    assert 'not among --joints, and it stands at zero' in reasons(path)


def test_without_a_recording_other_joints_are_welded(tmp_path, double_pendulum_urdf, capsys):
    (tmp_path / 'robot.urdf').write_text(double_pendulum_urdf)
    path = tmp_path / 'robot.yaml'
    command = ['init', str(tmp_path / 'robot.urdf'), '-o', str(path), '--joints']
    assert main([*command, 'elbow']) == 0
    config = load_config(path)
    assert config.model.joint_types == {'shoulder': 'fixed'}
    assert list(config.joints) == ['elbow']
    assert main([*command, 'wrist', '--force']) == 2
    assert "'wrist' matches no joint" in capsys.readouterr().err


def test_another_robot_is_refused(init, double_pendulum_urdf, capsys):
    init(entries(*moved(double_pendulum_urdf), names=('hip', 'knee')), status=2)
    assert 'they speak of hip, knee, it has shoulder, elbow' in capsys.readouterr().err.replace(
        'elbow, shoulder', 'shoulder, elbow'
    )


def test_a_bag_without_joint_states_is_refused(init, capsys):
    text = TypestoreMaker('std_msgs/msg/String')(data='hello')
    init([('/chatter', 'std_msgs/msg/String', START, text)], status=2)
    assert 'nobody publishes sensor_msgs/msg/JointState' in capsys.readouterr().err


def test_the_description_in_the_bag_is_taken(init, double_pendulum_urdf):
    text = TypestoreMaker('std_msgs/msg/String')(data=double_pendulum_urdf)
    description = [('/robot_description', 'std_msgs/msg/String', START, text)]
    path = init(description + entries(*moved(double_pendulum_urdf)), urdf=None)
    config = load_config(path)
    assert config.model.urdf == path.with_suffix('.urdf').name
    assert path.with_suffix('.urdf').read_text() == double_pendulum_urdf


def test_noise_is_seen_beside_motion():
    generator = np.random.default_rng(1)
    values = np.sin(2 * TIMES) + 1e-4 * generator.standard_normal(len(TIMES))
    sd, step = noise_of(TIMES, values)
    assert sd == pytest.approx(1e-4, rel=0.2) and step is None
    assert noise_of(TIMES, np.sin(2 * TIMES))[0] < 1e-7


def test_steps_are_found_only_where_values_have_them():
    values = np.sin(2 * TIMES)
    assert step_of(np.round(values / 3e-4) * 3e-4) == pytest.approx(3e-4)
    assert step_of(values) is None
    assert step_of(np.zeros(100)) is None


def test_kinds_of_efforts():
    assert kind_of_efforts(np.full(5, NAN)) == 'absent'
    assert kind_of_efforts(np.zeros(5)) == 'zero'
    assert kind_of_efforts(np.full(5, 2.0)) == 'constant'
    assert kind_of_efforts(np.array([NAN, 1.0, 2.0])) == 'reported'


def test_pauses_part_runs_and_leave_the_pace():
    stamps = np.concatenate([np.arange(100) * 0.01, 5 + np.arange(50) * 0.01])
    assert runs_of(stamps) == [(0, 100), (100, 150)]
    period, scatter = pace_of(stamps)
    assert period == pytest.approx(0.01) and scatter < 1e-6


def test_the_ratio_of_torques_leaves_friction_and_offset_out():
    generator = np.random.default_rng(2)
    torques, velocities = generator.standard_normal((2, 500))
    reported = -0.1 * torques + 3.0 + 0.5 * np.sign(velocities) + 0.2 * velocities
    ratio, share = ratio_of(torques, velocities, reported)
    assert ratio == pytest.approx(-0.1) and share == pytest.approx(1.0)
    assert ratio_of(torques, velocities, generator.standard_normal(500))[1] < 0.05
    assert ratio_of(np.zeros(500), velocities, reported) == (1.0, 0.0)
