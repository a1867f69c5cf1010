"""Torques as linear functions of standard parameters: against inverse dynamics, and as read."""

from dataclasses import replace

from measured_arms import BEGIN_NS, ENCODERS, physical
from measured_arms import config as two_joints
import numpy as np
from problems import seven_joints
import pytest

from sim2real_estimator.config import load_config, with_values
from sim2real_estimator.dynamics.regressor import regressor_names
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.starter import starter_yaml

MOTIONS = 12


@pytest.fixture(scope='module')
def problem():
    return build_parts(seven_joints.measured())[0]


@pytest.fixture(scope='module')
def small():
    return build_parts(two_joints())[0]


@pytest.fixture
def motion():
    """Return q, v, a [7, N] of some states, fast enough for all friction."""
    q, v, a = np.random.default_rng(1).standard_normal((3, 7, MOTIONS))
    return q, 2 * v, 5 * a


def drawn(problem, seed=0, size=0.3):
    """Return coordinates near the prior's mean, such as can be."""
    rng, prior = np.random.default_rng(seed), problem.prior
    found = prior.mean + size * prior.root @ rng.standard_normal(len(prior.mean))
    found[problem.torque.positive] = np.abs(found[problem.torque.positive])
    return found


@pytest.mark.parametrize('seed', range(3))
def test_predicted_torques_are_those_that_the_equations_of_motion_ask_for(problem, motion, seed):
    """What is measured, taken as what acts, leaves nothing over."""
    model, coordinates = problem.torque, drawn(problem, seed)
    named = dict(
        zip(
            problem.parametrization.names,
            problem.parametrization.to_named(coordinates[:, None])[:, 0],
        )
    )
    values = {
        **problem.parametrization.fixed,
        **{name: float(named[name]) for name in physical(problem)},
    }
    system = System(problem.parameters, ())
    robot = system.robot({n: v for n, v in values.items() if n in problem.parameters})
    standard = model.standard(coordinates)[0]
    torques = model.scales(coordinates)[0] * (
        model.columns(*(part.T for part in motion), standard) @ standard
    )
    assert torques.shape == (MOTIONS, 7)
    for k in range(MOTIONS):
        q, v, a = (part[:, k].tolist() for part in motion)
        left = system.residual(robot, q, v, a, torques[k].tolist())
        assert np.abs(left).max() < 1e-9 * np.abs(torques).max()


def test_standard_parameters_are_those_of_the_regressor(problem):
    model = problem.torque
    robot = System(problem.parameters, ()).robot({})
    assert model.names == tuple(regressor_names(robot))
    assert model.joints == problem.model.commands
    assert model.velocities.tolist() == list(range(7))


@pytest.mark.parametrize('function', ['standard', 'scales'])
def test_slopes_are_those_of_small_steps(problem, function):
    coordinates = drawn(problem)
    there = getattr(problem.torque, function)
    value, slope = there(coordinates)
    assert slope.shape == (len(value), len(coordinates))
    for k in range(0, len(coordinates), 5):
        step = 1e-6 * max(abs(coordinates[k]), 1e-3)
        moved = coordinates.copy()
        moved[k] += step
        back = coordinates.copy()
        back[k] -= step
        numeric = (there(moved)[0] - there(back)[0]) / (2 * step)
        assert slope[:, k] == pytest.approx(numeric, rel=1e-4, abs=1e-6 * np.abs(slope).max())


def test_gains_divide_what_is_measured(problem):
    model, coordinates = problem.torque, problem.prior.mean.copy()
    assert (model.scales(coordinates)[0] == 1).all()
    place = problem.parametrization.names.index('elbow_pitch.gain')
    coordinates[problem.parametrization.labels.index('elbow_pitch.gain')] = 1.25
    values = problem.parametrization.to_named(coordinates[:, None])[:, 0]
    assert values[place] == 1.25
    scales = model.scales(coordinates)[0]
    assert scales[model.joints.index('elbow_pitch')] == pytest.approx(0.8)
    assert np.delete(scales, model.joints.index('elbow_pitch')).tolist() == [1.0] * 6


def test_losses_and_what_cannot_be_negative_are_named_so(small):
    labels = np.array(small.labels)
    positive = {label.rpartition('.')[2] for label in labels[small.torque.positive]}
    sizes = small.torque.friction(drawn(small))
    assert sizes.shape == labels.shape and (sizes >= 0).all()
    friction = {label.rpartition('.')[2] for label in labels[sizes > 0]}
    assert {'damping', 'friction'} <= positive & friction
    assert not {'mass', 'torque_offset', 'gain', 'armature'} & friction
    columns = np.array([name.rpartition('.')[2] for name in small.torque.names])
    assert {'damping', 'friction', 'stribeck'} <= set(columns[small.torque.is_friction])
    assert not {'mass', 'armature', 'torque_offset'} & set(columns[small.torque.is_friction])


def test_the_last_link_of_every_branch_may_hold_a_payload_most_likely(tmp_path):
    parts = ['<robot name="torso"><link name="torso">', _body(5.0), '</link>']
    for parent, link in (
        ('torso', 'upper_left'),
        ('upper_left', 'hand_left'),
        ('torso', 'upper_right'),
        ('upper_right', 'hand_right'),
    ):
        parts.append(
            f'<link name="{link}">{_body(1.0)}</link><joint name="to_{link}" type="revolute">'
            f'<parent link="{parent}"/><child link="{link}"/><origin xyz="0 0 0.3"/>'
            '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>'
        )
    path, config = tmp_path / 'torso.urdf', tmp_path / 'torso.yaml'
    path.write_text(''.join([*parts, '</robot>']))
    config.write_text(starter_yaml(path, tmp_path))
    jumps = build_parts(load_config(config))[0].torque.model_changes()
    odds = {jump.link: jump.log_odds for jump in jumps if jump.body is not None}
    assert odds['hand_left'] == odds['hand_right'] == pytest.approx(np.log(5.0))
    assert odds['upper_left'] == odds['upper_right'] == 0.0


def _body(mass):
    return (
        f'<inertial><origin xyz="0 0 0.1"/><mass value="{mass}"/><inertia ixx="0.02" iyy="0.02" '
        'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def test_bodies_are_taken_up_at_the_end_first(problem):
    jumps = problem.torque.model_changes()
    bodies = [jump for jump in jumps if jump.body is not None]
    assert jumps[0] is bodies[0] and bodies[0].link == problem.model.moving_joints[-1].joint.child
    depths = [problem.model.attachments[jump.link].body for jump in bodies]
    assert depths == sorted(depths, reverse=True)
    assert all(jump.root.shape[0] == len(problem.labels) for jump in jumps)
    names = {jump.name for jump in jumps}
    assert {f'friction of {joint}' for joint in problem.torque.joints} <= names
    assert {f'torque offset of {joint}' for joint in problem.torque.joints} <= names


def frame(positions, efforts, begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 4_000_000, before=()):
    """Return a `Frame`; positions: (offset [ns], values); efforts: likewise."""
    samples = tuple(Sample(ENCODERS, begin_ns + at, np.array(q)) for at, q in positions)
    inputs = tuple((begin_ns + at, np.array(tau)) for at, tau in (*before, *efforts))
    return Frame(begin_ns, end_ns, samples, inputs)


def test_samples_close_together_are_read_as_means_at_mean_times(small):
    reading = small.torque.read(
        frame(
            [(2_000_000, [0.1, 0.2]), (4_000_000, [0.3, 0.4])],
            [(0, [1.0, 2.0]), (1_000_000, [3.0, 4.0])],
        )
    )
    ((stamp, positions),) = reading.positions
    assert stamp == BEGIN_NS + 3_000_000
    assert positions == pytest.approx(np.array([0.2, 0.3]))
    ((stamp, torques),) = reading.torques
    assert stamp == BEGIN_NS + 500_000
    assert torques == pytest.approx(np.array([2.0, 3.0]))


def test_a_longer_frame_is_read_sample_by_sample(small):
    positions = [(4_000_000 * k, [0.1 * k, 0.2]) for k in range(1, 5)]
    efforts = [(3_000_000 + 4_000_000 * k, [1.0 * k, 2.0]) for k in range(4)]
    reading = small.torque.read(frame(positions, efforts, end_ns=BEGIN_NS + 16_000_000))
    for read, given in ((reading.positions, positions), (reading.torques, efforts)):
        assert [stamp for stamp, _ in read] == [BEGIN_NS + at for at, _ in given]
        assert [values.tolist() for _, values in read] == [values for _, values in given]


def test_efforts_that_came_earlier_are_not_read_again(small):
    """They act in this frame, but were measured in another."""
    held = [(-4_000_000, [1.0, 2.0])]
    assert small.torque.read(frame([(4_000_000, [0.0, 0.0])], [], before=held)).torques == ()
    both = small.torque.read(frame([(4_000_000, [0.0, 0.0])], [(0, [3.0, 4.0])], before=held))
    assert both.torques[0][1].tolist() == [3.0, 4.0]
    # What stands at the very end belongs to the next one.
    late = frame([(4_000_000, [0.0, 0.0])], [(4_000_000, [5.0, 6.0])])
    assert small.torque.read(late).torques == ()


def test_what_is_not_known_is_nan(small):
    reading = small.torque.read(
        frame([(2_000_000, [np.nan, 0.2]), (4_000_000, [np.nan, 0.4])], [(0, [np.nan, 2.0])])
    )
    ((_, positions),) = reading.positions
    assert np.isnan(positions).tolist() == [True, False]
    assert positions[1] == pytest.approx(0.3)
    assert np.isnan(reading.torques[0][1]).tolist() == [True, False]
    nothing = small.torque.read(frame([], []))
    assert nothing.positions == nothing.torques == ()


def test_other_sensors_tell_nothing_of_positions(problem):
    seen = Frame(BEGIN_NS, BEGIN_NS + 10, (Sample('hand_body', BEGIN_NS + 5, np.zeros(7)),), ())
    assert problem.torque.read(seen).positions == ()


def test_a_joint_that_nothing_drives_has_no_torque(small):
    config = with_values(two_joints(), {'joints.elbow.effort': 'none'})
    passive = build_parts(config)[0].torque
    assert passive.joints == ('shoulder', 'elbow')
    read = passive.read(
        Frame(
            BEGIN_NS,
            BEGIN_NS + 10,
            (Sample(ENCODERS, BEGIN_NS + 5, np.zeros(2)),),
            ((BEGIN_NS, np.array([3.0])),),
        )
    )
    assert read.torques[0][1].tolist() == [3.0, 0.0]


def test_joints_of_unknown_effort_have_no_row(small):
    for effort in ('unknown', 'driven'):
        config = with_values(two_joints(), {'joints.elbow.effort': effort})
        model = build_parts(config)[0].torque
        assert model.joints == ('shoulder',)
        q = np.zeros((3, 2))
        standard = model.standard(build_parts(config)[0].prior.mean)[0]
        assert model.columns(q, q, q, standard).shape == (3, 1, len(model.names))


def test_two_sensors_may_share_the_joints(small):
    known = two_joints()
    encoders = known.sensors[ENCODERS]
    halves = {
        'upper': replace(encoders, joints=('shoulder',), sd=1e-3),
        'lower': replace(encoders, joints=('elbow',)),
    }
    model = build_parts(replace(known, sensors=halves))[0].torque
    assert model.encoder_sd.tolist() == [1e-3, encoders.sd]
    samples = (
        Sample('upper', BEGIN_NS + 2, np.array([0.5])),
        Sample('lower', BEGIN_NS + 4, np.array([0.7])),
    )
    frame = Frame(BEGIN_NS, BEGIN_NS + 4, samples, ())
    ((stamp, positions),) = model.read(frame).positions
    assert stamp == BEGIN_NS + 3 and positions.tolist() == [0.5, 0.7]


def test_what_is_a_joints_own_moves_no_other_torque(problem, motion):
    model, coordinates = problem.torque, drawn(problem)
    standard, slope = model.standard(coordinates)
    columns = model.columns(*(part.T for part in motion), standard)
    for row, own in enumerate(model.own):
        assert len(own) >= 4 and len(set(own)) == len(own)
        moved = np.abs(columns @ slope[:, own]).max((0, 2))
        assert moved[row] > 1e-3 and not np.delete(moved, row).any()
