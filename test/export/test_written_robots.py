"""The written robots move as the posterior's mean does, in our simulator and in others'."""

from dataclasses import replace
from pathlib import Path
import re

from estimates import arm, brick, pendulum, posterior_of
import numpy as np
import pytest

from sim2real_estimator.config import with_values
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.errors import DataError
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.posterior.export import robot_of
from sim2real_estimator.posterior.export.mjcf import mjcf_text
from sim2real_estimator.posterior.export.urdf_file import urdf_bytes

pytestmark = pytest.mark.usefixtures('one_thread')
EXACT = 1e-9


def situations(model, count=5):
    """Return q, v and efforts of joints of one degree of freedom, [count, nv] each."""
    return np.random.default_rng(1).standard_normal((3, count, model.velocity_size))


def accelerations(parameters, values):
    """Return what our simulator says [count, nv]; commands go through no gain."""
    system = System(parameters, ())
    robot = system.robot(values)
    return np.array(
        [
            [float(a) for a in system.acceleration(robot, list(q), list(v), list(u))[0]]
            for q, v, u in zip(*situations(parameters.model))
        ]
    )


@pytest.fixture(scope='module')
def robots(arm_urdf):
    configs = {
        'planar': pendulum(),
        'stretched': pendulum(estimate={'upper.length': {}, 'lower.length': {}, '*.mass': {}}),
        'arm': arm(arm_urdf),
        'single numbers': arm(arm_urdf, "'*.inertia.yy': {sd: 1.0}, '*.mass': {}"),
    }
    # The last is far enough off to have a body that has to be completed, and can be.
    away = {'single numbers': 1.5}
    return {
        name: robot_of(*posterior_of(each, away=away.get(name, 0.3), seed=1))
        for name, each in configs.items()
    }


@pytest.fixture(params=['planar', 'stretched', 'arm', 'single numbers'])
def robot(request, robots):
    return robots[request.param]


def test_the_urdf_moves_like_the_mean(robot):
    read = load_urdf(urdf_bytes(robot).decode())
    expected = accelerations(robot.parameters, robot.values)
    assert np.abs(expected - accelerations(robot.parameters, {})).max() > 1e-3
    np.testing.assert_allclose(
        accelerations(Parameters(read), {}), expected, rtol=EXACT, atol=EXACT
    )


def expect_motion_of_the_mean(robot):
    """Expect that an estimated robot moves like the mean of its posterior."""
    parametrization, mean = robot.problem.parametrization, robot.posterior.mixture.means
    before = dict(zip(parametrization.names, parametrization.to_named(mean)[:, 0].tolist()))
    np.testing.assert_allclose(
        accelerations(robot.parameters, robot.values),
        accelerations(robot.parameters, before),
        rtol=EXACT,
        atol=EXACT,
    )


def test_the_mean_is_that_of_the_posterior(robot):
    expect_motion_of_the_mean(robot)


def test_all_bodies_can_be_built(robot):
    assert all(are_possible(body) for body in robot.bodies.values())


def test_pinocchio_moves_the_urdf_like_the_mean(robot):
    pinocchio = pytest.importorskip('pinocchio')
    there = pinocchio.buildModelFromXML(urdf_bytes(robot).decode())
    # What it reads of a joint is not in its algorithms.
    damping = np.array([robot.value(f'{name}.damping') for name in there.names[1:]])
    names = [m.joint.name for m in robot.problem.model.moving_joints]
    order = [names.index(name) for name in there.names[1:]]
    found = []
    for q, v, u in zip(*situations(robot.problem.model)):
        place, data = pinocchio.neutral(there), there.createData()
        place = pinocchio.integrate(there, place, q[order])
        effort = u[order] - damping * v[order]
        found.append(pinocchio.aba(there, data, place, v[order], effort))
    expected = accelerations(robot.parameters, robot.values)[:, order]
    np.testing.assert_allclose(found, expected, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize('text', [urdf_bytes, mjcf_text])
def test_mujoco_moves_it_like_the_mean(robot, text):
    mujoco = pytest.importorskip('mujoco')
    content = text(robot)
    content = content.decode() if isinstance(content, bytes) else content
    there = mujoco.MjModel.from_xml_string(content)
    there.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    names = [there.joint(k).name for k in range(there.njnt)]
    ours = [m.joint.name for m in robot.problem.model.moving_joints]
    order = [ours.index(name) for name in names]
    found = []
    for q, v, u in zip(*situations(robot.problem.model)):
        data = mujoco.MjData(there)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], v[order], u[order]
        mujoco.mj_forward(there, data)
        found.append(data.qacc.copy())
    expected = accelerations(robot.parameters, robot.values)[:, order]
    np.testing.assert_allclose(found, expected, rtol=EXACT, atol=EXACT)


def test_a_step_of_mujoco_is_one_of_ours(robot):
    mujoco = pytest.importorskip('mujoco')
    there = mujoco.MjModel.from_xml_string(urdf_bytes(robot).decode())
    # Damping at the start of a step, as here.
    there.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    there.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    model = robot.problem.model
    step = System(robot.parameters, (), 'semi_implicit_euler')
    ours = [m.joint.name for m in model.moving_joints]
    order = [ours.index(there.joint(k).name) for k in range(there.njnt)]
    for q, v, u in zip(*situations(model)):
        data = mujoco.MjData(there)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], v[order], u[order]
        mujoco.mj_step(there, data)
        state = list(q), list(v), list(u)
        found = step.step(step.robot(robot.values), *state, there.opt.timestep)
        expected = np.array(found, dtype=float)[:, order]
        np.testing.assert_allclose([data.qpos, data.qvel], expected, rtol=EXACT, atol=EXACT)


def without_what_changed(text):
    """Return the text without its comment and its numbers."""
    text = re.sub(r'<!--\n  Changed by.*?-->\n', '', text, flags=re.DOTALL)
    return re.sub(r'"[-0-9. e]+"', '""', text)


def test_only_numbers_of_what_was_estimated_change():
    config = pendulum(estimate={'lower.mass': {}, 'elbow.damping': {}})
    robot = robot_of(*posterior_of(config))
    before = Path(robot.urdf).read_text()
    after = urdf_bytes(robot).decode()
    assert without_what_changed(after) == without_what_changed(before)
    old, new = before.split('\n'), re.sub(r'<!--\n.*?-->\n', '', after, count=1, flags=re.S)
    changed = [line for line, now in zip(old, new.split('\n')) if line != now]
    assert [line.strip() for line in changed] == [
        '<mass value="0.8"/>',
        '<dynamics damping="0.04"/>',
    ]


def test_what_data_tell_nothing_of_stays_byte_for_byte():
    problem, posterior = posterior_of(pendulum(), left=0.95)
    robot = robot_of(problem, posterior)
    text = urdf_bytes(robot).decode()
    assert (
        re.sub(r'<!--\n  Changed by.*?-->\n', '', text, flags=re.S) == Path(robot.urdf).read_text()
    )
    assert robot.bodies == {}


def test_the_comment_says_where_numbers_come_from(robot):
    text = urdf_bytes(robot).decode()
    comment = re.search(r'<!--\n(  Changed by.*?)\n-->', text, re.S).group(1)
    assert robot.posterior.identity['model_hash'][:12] in comment
    assert '4.00 s from 1000000000 ns' in comment
    name = next(name for name in robot.values if name in comment)
    assert re.search(rf'{name} \[.*\]: [-\d.e]+ is [-\d.e]+ \+- [-\d.e]+, \w+', comment)


def test_a_body_that_nothing_can_mend_is_refused():
    # A body that floats shows all its numbers, so none can follow.
    problem, posterior = posterior_of(brick(), away=3.0, left=0.1, seed=1)
    with pytest.raises(DataError, match="no body that can be built .*'brick'"):
        robot_of(problem, posterior)


def test_it_is_written_as_it_is_where_the_settings_accept_it():
    config = with_values(brick(), {'model.inertia_check': 'warn'})
    robot = robot_of(*posterior_of(config, away=3.0, left=0.1, seed=1))
    assert not are_possible(robot.bodies['brick'])
    assert b'ixx=' in urdf_bytes(robot)


def test_bodies_follow_where_a_single_number_was_estimated(robots):
    assert robots['planar'].completed and robots['single numbers'].completed
    assert 'bodies follow where no motion shows' in urdf_bytes(robots['planar']).decode()


def test_losses_below_zero_are_written_as_none():
    config = pendulum(estimate={'*.damping': {'sd': 0.1, 'log': False}})
    problem, posterior = posterior_of(config, away=0.0)
    mixture = posterior.mixture
    means = mixture.means + np.array([[-0.2], [0.0]])
    below = replace(posterior, mixture=replace(mixture, means=means, disturbances=None))
    robot = robot_of(problem, below)
    assert robot.raised == {'shoulder.damping': pytest.approx(-0.12)}
    text = urdf_bytes(robot).decode()
    assert 'written as zero: shoulder.damping (-0.12)' in text
    damping = [joint.physics.damping for joint in load_urdf(text).joints]
    assert damping == [0.0, pytest.approx(0.04)]


def test_the_heaviest_answer_is_written():
    problem, posterior = posterior_of(pendulum())
    mixture = posterior.mixture
    other = mixture.means + 20 * problem.prior.root.sum(1)[:, None] * 0.02
    two = replace(
        mixture,
        log_weights=np.log([0.3, 0.7]),
        points=np.zeros((0, 2)),
        means=np.concatenate([other, mixture.means], 1),
        roots=np.repeat(mixture.roots, 2, 0),
        disturbances=None,
    )
    one = robot_of(problem, posterior)
    found = robot_of(problem, replace(posterior, mixture=two))
    assert found.values == pytest.approx(one.values, rel=1e-6)
