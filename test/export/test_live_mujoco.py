"""Draws written into a live model of MuJoCo: as if its MJCF had been loaded."""

from dataclasses import replace
import sys

from estimates import arm, brick, posterior_of
import numpy as np
from problems import seven_joints
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.posterior.draws import apply_draw, draw_robots, DrawSettings, mjcf_of
from sim2real_estimator.posterior.draws.draw_files import described

mujoco = pytest.importorskip('mujoco')
pytestmark = pytest.mark.usefixtures('one_thread')
EXACT = 1e-9
SITUATIONS = 5
EVERYTHING = (
    "'*.mass': {sd: 0.2}, '*.com.*': {sd: 0.01}, '*.inertia.*': {sd: 0.1}, '*.damping': {}, "
    "'*.friction': {}, '*.armature': {mean: 0.01}, '*.length': {}, world.gravity: {}"
)


def forces(model):
    """Return mass matrices, forces of all kinds and accelerations, one after another."""
    generator, found = np.random.default_rng(0), []
    for _ in range(SITUATIONS):
        data = mujoco.MjData(model)
        mujoco.mj_integratePos(model, data.qpos, generator.standard_normal(model.nv), 1.0)
        data.qvel[:] = generator.standard_normal(model.nv)
        data.ctrl[:] = generator.standard_normal(model.nu)
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        found += [full.ravel(), data.qfrc_bias, data.qfrc_passive, data.qfrc_actuator, data.qacc]
    return np.concatenate(found)


def constants(model):
    """Return what MuJoCo derives from masses and places."""
    names = ('body_subtreemass', 'dof_invweight0', 'dof_M0', 'body_pos')
    found = [getattr(model, name).ravel() for name in names]
    # A body without mass has a centre all the same, by which nothing moves.
    return np.concatenate([*found, model.body_invweight0[model.body_mass > 0].ravel()])


def expect_as_loaded(robot, draws):
    live = mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0))
    scratch = mujoco.MjData(live)
    for index in range(len(draws)):
        loaded = mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, index))
        apply_draw(live, draws[index], scratch)
        scale = np.abs(forces(loaded)).max()
        np.testing.assert_allclose(
            forces(live), forces(loaded), rtol=EXACT, atol=EXACT * max(1, scale)
        )
        np.testing.assert_allclose(constants(live), constants(loaded), rtol=1e-6, atol=EXACT)
    first = mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0))
    assert np.abs(forces(live) - forces(first)).max() > 1e-3


@pytest.fixture(scope='module')
def seven():
    problem, posterior = posterior_of(seven_joints.measured(), away=0.0, left=0.3)
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=6), 0)
    return described(problem, posterior), draws


def test_the_arm_of_seven_joints_moves_as_if_loaded(seven):
    expect_as_loaded(*seven)


def test_an_arm_that_branches_and_whose_links_get_longer_does(branching_arm_urdf):
    config = arm(branching_arm_urdf, EVERYTHING)
    problem, posterior = posterior_of(config, away=0.0, left=0.1)
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=4), 0)
    assert draws.places
    expect_as_loaded(described(problem, posterior), draws)


def test_principal_axes_are_those_of_the_draw(seven):
    robot, draws = seven
    live = mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0))
    apply_draw(live, draws[3])
    mass, com, (xx, yy, zz, xy, xz, yz) = draws[3].bodies['hand']
    body = live.body('hand')
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, body.iquat)
    turn = turn.reshape(3, 3)
    assert body.mass[0] == mass
    np.testing.assert_allclose(body.ipos, com)
    wanted = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    np.testing.assert_allclose(turn @ np.diag(body.inertia) @ turn.T, wanted, atol=1e-15)


def test_what_mujoco_has_no_place_for_is_said(seven):
    robot, draws = seven
    left = apply_draw(mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0)), draws[1])
    assert 'hand.mass' not in left and 'wrist_roll.damping' not in left
    assert 'wrist_roll.gain' not in left
    assert 'wrist_roll.torque_offset' in left and 'wrist_roll.load_friction' in left


def test_a_body_that_the_model_lacks_is_named_and_nothing_is_changed(seven):
    robot, draws = seven
    text = mjcf_of(robot, draws, 0).replace('name="hand"', 'name="claw"')
    live = mujoco.MjModel.from_xml_string(text)
    before = live.body_mass.copy()
    with pytest.raises(DataError, match='has no body hand: load the MJCF'):
        apply_draw(live, draws[1])
    np.testing.assert_array_equal(live.body_mass, before)


def test_a_body_compiled_as_a_simple_one_is_refused_and_one_of_a_draw_is_not():
    problem, posterior = posterior_of(brick(), left=0.3)
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=2), 0)
    simple = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="brick"><freejoint/>'
        '<inertial mass="2" pos="0 0 0" diaginertia=".03 .04 .05"/></body></worldbody></mujoco>'
    )
    assert simple.body_simple[1]
    with pytest.raises(DataError, match="'brick' is compiled as one whose mass matrix"):
        apply_draw(simple, draws[0])
    expect_as_loaded(described(problem, posterior), draws)


def test_numbers_of_the_simulator_are_left_to_it(seven):
    robot, draws = seven
    draw = replace(draws[0], values={**draws[0].values, 'action.rate': 200.0})
    assert 'action.rate' in apply_draw(
        mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0)), draw
    )


def test_without_mujoco_the_remedy_is_said(seven, monkeypatch):
    robot, draws = seven
    live = mujoco.MjModel.from_xml_string(mjcf_of(robot, draws, 0))
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(DataError, match='pip install'):
        apply_draw(live, draws[0])
