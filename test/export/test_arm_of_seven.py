"""Means of an arm of seven joints that no body has are written as bodies that move alike."""

from dataclasses import replace

from estimates import posterior_of
import numpy as np
from problems import seven_joints
import pytest
from simulated import CONFIG
from test_written_robots import accelerations, EXACT, expect_motion_of_the_mean, situations

from sim2real_estimator.config import load_config
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.model.checks import NEVER_NEGATIVE
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.posterior.export import robot_of
from sim2real_estimator.posterior.export.estimated_robot import numbers_of
from sim2real_estimator.posterior.export.urdf_file import urdf_bytes

pytestmark = pytest.mark.usefixtures('one_thread')
# The first of those whose likeliest robot cannot be built.
SEEDS = (2, 5, 7, 8, 9, 10, 11, 16, 18, 19)
# Of the prior's standard deviation: how far means are from a robot that can be built.
AWAY = 0.02
MOST_DRAWS = 100


@pytest.fixture(scope='module')
def arm():
    """Return (problem, `Posterior`) of the shipped arm, at the prior's mean."""
    shipped = load_config(CONFIG.parent / 'seven_joint_arm.yaml')
    return posterior_of(seven_joints.commanded(shipped), away=0.0)


def buildable(parametrization, generator):
    """Return a draw of the prior [P], less its mean, that can be built, no loss below zero."""
    inner = parametrization.inner
    offsets = inner.offsets(MOST_DRAWS, generator)
    values = inner.to_named(inner.prior.mean[:, None] + offsets)
    losses = [name.split('.')[-1] in NEVER_NEGATIVE for name in parametrization.names]
    is_sound = inner.are_sound(inner.prior.mean[:, None] + offsets)
    return offsets[:, np.flatnonzero(is_sound & (values[losses] >= 0).all(0))[0]]


@pytest.fixture(scope='module', params=SEEDS)
def robot(request, arm):
    problem, posterior = arm
    generator, prior = np.random.default_rng(request.param), problem.prior
    mean = problem.parametrization.combinations @ buildable(problem.parametrization, generator)
    mean += AWAY * prior.root @ generator.standard_normal(len(mean))
    mixture = replace(posterior.mixture, means=mean[:, None], disturbances=None)
    return robot_of(problem, replace(posterior, mixture=mixture))


def test_all_links_can_be_built_though_the_mean_cannot(robot):
    assert robot.completed and all(are_possible(body) for body in robot.bodies.values())
    assert 'bodies follow where no motion shows: ' in urdf_bytes(robot).decode()
    for link in robot.completed:
        names = numbers_of(robot.parameters, link, robot.bodies[link][None])
        assert {robot.values[name] for name in names} == {float(x[0]) for x in names.values()}


def test_they_move_like_the_mean(robot):
    assert not robot.raised
    expect_motion_of_the_mean(robot)
    read = Parameters(load_urdf(urdf_bytes(robot).decode()))
    np.testing.assert_allclose(
        accelerations(read, {}),
        accelerations(robot.parameters, robot.values),
        rtol=EXACT,
        atol=EXACT,
    )


def test_where_bodies_give_way_no_loss_becomes_one_that_feeds_energy_in(arm):
    problem, posterior = arm
    generator, root = np.random.default_rng(1), 0.3 * problem.prior.root
    # Far from robots that can be built, all frictions next to none, and all of it hangs together.
    mean = 2 * root @ generator.standard_normal(len(root))
    known = problem.parametrization.embed(mean[:, None])[:, 0]
    for row, label in enumerate(problem.labels):
        if label.endswith('.friction'):
            mean[row] -= known[problem.parametrization.inner.labels.index(label)] - 1e-4
    turned = root @ np.linalg.qr(generator.standard_normal(root.shape))[0]
    turned *= np.geomspace(0.05, 1.0, len(root))
    mixture = replace(
        posterior.mixture, means=mean[:, None], roots=turned[None], points=np.zeros((0, 1))
    )
    robot = robot_of(problem, replace(posterior, mixture=mixture))
    losses = {n: v for n, v in robot.values.items() if n.split('.')[-1] in NEVER_NEGATIVE}
    assert min(losses.values()) >= 0 and not robot.raised


def without_friction(robot):
    """Return accelerations of the mean [count, nv]; others have no smooth friction."""
    parametrization = robot.problem.parametrization
    values = dict(
        zip(
            parametrization.names,
            parametrization.to_named(robot.posterior.mixture.means)[:, 0].tolist(),
        )
    )
    none = {name: 0.0 for name in values if name.endswith('.friction')}
    return accelerations(robot.parameters, {**values, **none})


def of_joints(robot, names, quantity):
    return np.array([robot.value(f'{name}.{quantity}') for name in names])


def test_they_do_in_pinocchio(robot):
    pinocchio = pytest.importorskip('pinocchio')
    there = pinocchio.buildModelFromXML(urdf_bytes(robot).decode())
    names = [m.joint.name for m in robot.problem.model.moving_joints]
    assert list(there.names[1:]) == names
    there.armature = of_joints(robot, names, 'armature')
    damping, data = of_joints(robot, names, 'damping'), there.createData()
    found = [
        pinocchio.aba(there, data, pinocchio.integrate(there, pinocchio.neutral(there), q), v, u)
        for q, v, u in (
            (q, v, u - damping * v) for q, v, u in zip(*situations(robot.problem.model))
        )
    ]
    np.testing.assert_allclose(found, without_friction(robot), rtol=EXACT, atol=EXACT)


def test_they_do_in_mujoco(robot):
    mujoco = pytest.importorskip('mujoco')
    there = mujoco.MjModel.from_xml_string(urdf_bytes(robot).decode())
    bits = mujoco.mjtDisableBit
    there.opt.disableflags |= bits.mjDSBL_CONTACT | bits.mjDSBL_FRICTIONLOSS | bits.mjDSBL_LIMIT
    names = [m.joint.name for m in robot.problem.model.moving_joints]
    assert [there.joint(k).name for k in range(there.njnt)] == names
    there.dof_armature[:] = of_joints(robot, names, 'armature')
    found = []
    for q, v, u in zip(*situations(robot.problem.model)):
        data = mujoco.MjData(there)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, u
        mujoco.mj_forward(there, data)
        found.append(data.qacc.copy())
    np.testing.assert_allclose(found, without_friction(robot), rtol=EXACT, atol=EXACT)
