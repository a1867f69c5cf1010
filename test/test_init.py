"""`sim2real-estimator init`: what it writes loads and runs as it is."""

from pathlib import Path
import re
import sysconfig

import numpy as np
import pytest

from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config
from sim2real_estimator.dynamics.decay_rates import mobilities
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample

PANDA = Path(
    sysconfig.get_path('purelib'),
    'cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf',
)
ROBOTS = ('pendulum', 'double_pendulum', 'branching_arm', 'gripper')


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a config for the text of a URDF and returns its path."""

    def write(urdf, *options):
        (tmp_path / 'robots').mkdir()
        (tmp_path / 'robots' / 'robot.urdf').write_text(urdf)
        path = tmp_path / 'robot.yaml'
        arguments = [str(tmp_path / 'robots' / 'robot.urdf'), '-o', str(path), *options]
        assert main(['init', *arguments]) == 0
        return path

    return write


@pytest.fixture(params=ROBOTS)
def urdf(request):
    return request.getfixturevalue(f'{request.param}_urdf')


def run(pipeline, count):
    """Return the estimates of samples of all sources at 100 Hz, about the neutral state."""
    generator = np.random.default_rng(0)
    neutral = {name: 0.0 for name in pipeline.sources}
    for k in range(count):
        for name in neutral:
            size = pipeline.sources[name].value_size
            pipeline.push(Sample(name, k * 10**7, 1e-3 * generator.standard_normal(size)))
    return pipeline.finish()


@pytest.mark.parametrize('effort', ['measured', 'commanded'])
def test_what_it_writes_runs_as_it_is(written, urdf, effort):
    path = written(urdf, '--effort', effort)
    config = load_config(path)
    assert {joint.effort for joint in config.joints.values()} == {effort}
    assert config.model.urdf == str(Path('robots') / 'robot.urdf')
    pipeline = Pipeline.from_config(config)
    estimates = run(pipeline, 5)
    # Frames of measured torques are of two samples, and hold both.
    assert len(estimates) == (3 if effort == 'measured' else 5)
    assert all(outcomes['used'] == 5 for outcomes in pipeline.counts.table().values())
    assert np.isfinite(estimates[-1].mean).all()
    assert (estimates[-1].sd > 0).all()


def test_a_floating_robot_is_seen_by_motion_capture(written, double_pendulum_urdf):
    inertial = """<inertial><mass value="3"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
    urdf = double_pendulum_urdf.replace(
        '<link name="base"/>', f'<link name="base">{inertial}</link>'
    )
    config = load_config(written(urdf, '--base', 'floating'))
    assert config.model.base == 'floating'
    # Something holds a base in the air, and nobody measures with what force.
    assert config.joints['floating_base'].effort == 'driven'
    # Measured torques take encoders on all joints, and a base in the air has none.
    assert config.joints['elbow'].effort == 'commanded'
    assert config.efforts.commanded == 'joint_states'
    assert config.sensors['mocap_base'].topic == 'vicon/base/base'
    Pipeline.from_config(config)


def head_of(path):
    text = path.read_text().partition('\n\n')[0]
    return ' '.join(line.strip('# ') for line in text.splitlines())


def test_it_says_what_efforts_are_taken_for(written, double_pendulum_urdf):
    path = written(double_pendulum_urdf)
    assert {joint.effort for joint in load_config(path).joints.values()} == {'measured'}
    assert 'with noise, offset and gain' in head_of(path)
    assert 'encoders on all joints' not in head_of(path)


def test_it_says_why_efforts_are_not_taken_as_measured(written, double_pendulum_urdf):
    path = written(
        double_pendulum_urdf.replace('"elbow" type="revolute"', '"elbow" type="planar"')
    )
    assert load_config(path).joints['shoulder'].effort == 'commanded'
    assert 'encoders on all joints, and elbow has none' in head_of(path)
    assert not np.isnan(run(Pipeline.from_config(load_config(path)), 3)[-1].mean).any()


@pytest.mark.parametrize('effort', ['measured', 'commanded'])
def test_every_prior_is_written_in_a_few_lines_for_each_link(
    written, double_pendulum_urdf, effort
):
    path = written(double_pendulum_urdf, '--effort', effort)
    before = Pipeline.from_config(load_config(path)).problem.parametrization.priors
    after = priors_in(path)
    assert set(after) == set(before)
    for name, prior in before.items():
        assert after[name].is_log == prior.is_log
        assert after[name].mean == pytest.approx(prior.mean, rel=1e-3, abs=1e-3 * prior.sd)
        assert after[name].sd == pytest.approx(prior.sd, rel=1e-2)
    owners = {name.partition('.')[0] for name in before}
    assert len(path.read_text().partition('# The priors')[2].splitlines()) < 5 * len(owners) + 6


def priors_in(path):
    """Return name -> `Prior` that the comments at the end of a config tell of."""
    _, _, table = path.read_text().partition('# The priors')
    table, found = table.partition('\n#\n')[0].replace('\n#     ', ' '), {}
    for owner, text in re.findall('^#   ([^ :.]+): (.*)$', table, re.MULTILINE):
        for part in text.split('; '):
            word, _, rest = part.partition(' ')
            stem, dot, ends = word.partition('.')
            values = re.findall(r'(\S+) \+- (\S+?)( %)?(?:,| |$)', rest)
            for end, (mean, sd, percent) in zip(ends.split(','), values, strict=True):
                size = float(sd) / 100 if percent else float(sd)
                found[f'{owner}.{stem}{dot}{end}'] = Prior(float(mean), size, bool(percent))
    return found


def test_rarely_needed_settings_are_at_the_end_or_left_out(written, double_pendulum_urdf):
    text = written(double_pendulum_urdf, '--effort', 'commanded').read_text()
    needed, _, rarely = text.partition('# ---- Rarely needed')
    sections = re.findall('^([a-z]+):', needed, re.MULTILINE)
    assert sections == ['model', 'joints', 'efforts', 'sensors', 'estimate']
    assert '# As by default: ' in rarely and 'markers' in rarely
    assert len(text.splitlines()) < 120


def test_what_is_not_estimated_is_named_with_the_reason(written, branching_arm_urdf):
    text = written(branching_arm_urdf).read_text()
    *_, welded = text.partition('# Not estimated: the link is welded to a heavier one, and no')
    # It has a mass in the URDF, and no mean would be of use.
    assert '#   bracket.mass, bracket.com.x,y,z' in welded
    assert 'says zero' not in welded.partition('# Not estimated')[0]


def test_a_light_joint_with_much_friction_can_be_simulated(written, double_pendulum_urdf):
    sticky = double_pendulum_urdf.replace('friction="0.02"', 'friction="20"')
    config = load_config(written(sticky, '--effort', 'commanded'))
    assert config.simulation.max_step < 0.005
    velocity = config.estimate['elbow.friction_velocity']
    assert velocity.fixed and velocity.mean > 0.01
    assert not any('shoulder' in name for name in config.estimate)


def test_measured_torques_need_no_wider_friction(written, double_pendulum_urdf):
    sticky = double_pendulum_urdf.replace('friction="0.02"', 'friction="20"')
    config = load_config(written(sticky, '--effort', 'measured'))
    assert not any('friction_velocity' in name for name in config.estimate)


def test_steps_are_short_enough_for_far_more_friction_than_expected(written, double_pendulum_urdf):
    urdf = double_pendulum_urdf.replace('friction="0.02"', '')
    config = load_config(written(urdf, '--effort', 'commanded'))
    problem = Pipeline.from_config(config).problem
    values = {name: prior.mean for name, prior in problem.parametrization.priors.items()}
    # A thousandth of the joints of which nothing is said have more than forty times as much.
    friction = values['elbow.friction'] = 40 * values['elbow.friction']
    mobility = mobilities(problem.parameters, values)['elbow']
    rate = mobility * friction / config.estimate['elbow.friction_velocity'].mean
    # From there on steps of rk4 go astray.
    assert rate * config.simulation.max_step < 2.78


STICKY = 'damping="3" friction="30"'


def test_losses_that_no_drive_of_the_robot_overcomes_are_not_believed(
    written, double_pendulum_urdf, caplog
):
    urdf = double_pendulum_urdf.replace('damping="0.1" friction="0.02"', STICKY)
    path = written(urdf, '--effort', 'commanded')
    (warning,) = caplog.messages
    assert "friction of elbow are not used: at its largest velocity 'elbow'" in warning
    assert 'would lose 39 N m, its drive has 20 N m, and less lifts the whole robot' in warning
    assert '# Warning: damping and friction of elbow are not used' in path.read_text()
    config = load_config(path)
    caplog.clear()
    priors = Pipeline.from_config(config).problem.parametrization.priors
    assert warning in caplog.messages
    # What a drive with its limits usually has; the other joint keeps what the description says.
    assert priors['elbow.friction'] == Prior(pytest.approx(0.4), 1.5, True)
    assert priors['elbow.damping'] == Prior(pytest.approx(0.4 / 3), 1.5, True)
    assert priors['shoulder.damping'] == Prior(pytest.approx(0.2), 0.7, True)


def test_who_gives_losses_a_mean_is_believed(written, double_pendulum_urdf, caplog):
    urdf = double_pendulum_urdf.replace('damping="0.1" friction="0.02"', STICKY)
    path = written(urdf, '--effort', 'commanded')
    given = '  elbow.friction: {mean: 30}\n  elbow.damping: {mean: 3}\n'
    path.write_text(
        path.read_text().replace("  '*.armature': {}\n", "  '*.armature': {}\n" + given)
    )
    caplog.clear()
    priors = Pipeline.from_config(load_config(path)).problem.parametrization.priors
    assert priors['elbow.friction'] == Prior(30.0, 0.7, True)
    assert not caplog.messages


def test_who_trusts_the_units_of_the_description_believes_its_losses(
    written, double_pendulum_urdf, caplog
):
    urdf = double_pendulum_urdf.replace('damping="0.1" friction="0.02"', STICKY)
    path = written(urdf, '--effort', 'commanded', '--trust-units')
    estimate = load_config(path).estimate
    assert (estimate['elbow.friction'].mean, estimate['elbow.damping'].mean) == (30, 3)
    assert 'shoulder.friction' not in estimate
    assert not caplog.messages and 'are not used' not in path.read_text()


def test_losses_whose_size_nobody_tells_are_named(written, double_pendulum_urdf):
    urdf = re.sub('<(dynamics|limit) [^>]*/>', '', double_pendulum_urdf)
    path = written(urdf, '--effort', 'commanded')
    text = ' '.join(line.lstrip('# ') for line in path.read_text().splitlines())
    assert 'Not estimated: *.damping and *.friction. The robot description gives' in text
    assert load_config(path).joints['elbow'].effort == 'commanded'


def test_much_friction_is_believed_of_a_drive_that_is_strong_enough(written, double_pendulum_urdf):
    urdf = double_pendulum_urdf.replace('damping="0.1" friction="0.02"', STICKY)
    path = written(urdf.replace('effort="20"', 'effort="50"'), '--effort', 'commanded')
    assert 'are not used' not in path.read_text()


def test_a_robot_with_inertias_of_no_body_is_mended(written, double_pendulum_urdf):
    config = load_config(written(double_pendulum_urdf.replace('izz="0.02"', 'izz="0.2"')))
    assert config.model.inertia_check == 'mend'
    Pipeline.from_config(config)


def test_without_an_output_it_prints(tmp_path, capsys, pendulum_urdf):
    (tmp_path / 'a.urdf').write_text(pendulum_urdf)
    assert main(['init', str(tmp_path / 'a.urdf')]) == 0
    assert 'sensors:\n  encoders: {kind: joint_positions' in capsys.readouterr().out


def test_a_file_is_overwritten_only_by_force(tmp_path, capsys, written, pendulum_urdf):
    path = written(pendulum_urdf)
    path.write_text('mine')
    arguments = ['init', str(tmp_path / 'robots' / 'robot.urdf'), '-o', str(path)]
    assert main(arguments) == 2
    assert 'exists; give another' in capsys.readouterr().err
    assert path.read_text() == 'mine'
    assert main([*arguments, '--force']) == 0


@pytest.mark.skipif(not PANDA.exists(), reason='needs the robots of example-robot-data')
@pytest.mark.parametrize(
    ('effort', 'least', 'most'), [('measured', 101, 999), ('commanded', 1, 74)]
)
def test_a_real_arm(tmp_path, effort, least, most):
    options = ['-o', str(tmp_path / 'panda.yaml'), '--effort', effort]
    assert main(['init', str(PANDA), *options]) == 0
    pipeline = Pipeline.from_config(load_config(tmp_path / 'panda.yaml'))
    assert len(pipeline.problem.parametrization.names) > 100
    # Torques that are just what acts tell combinations of these; measured ones leave the rest to
    # the prior.
    assert least <= len(pipeline.problem.labels) <= most
    assert set(pipeline.estimate().verdicts) == {'prior-only'}
    assert np.isfinite(run(pipeline, 3)[-1].mean).all()


def test_what_swings_freely_is_estimated_window_by_window(written, double_pendulum_urdf):
    urdf = re.sub('<(dynamics|limit) [^>]*/>', '', double_pendulum_urdf)
    path = written(urdf, '--effort', 'none')
    assert 'Not estimated' not in path.read_text()
    config = load_config(path)
    assert {joint.effort for joint in config.joints.values()} == {'none'}
    pipeline = Pipeline.from_config(config)
    assert pipeline.estimator.name == 'multiple_shooting'
    assert config.frames.max_rate == 50.0
    assert {'elbow.friction', 'elbow.damping'} <= set(pipeline.problem.parametrization.names)
