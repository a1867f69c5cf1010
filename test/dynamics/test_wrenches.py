"""Wrenches on links: in either axes, and as what they do to joints."""

import numpy as np
import pytest

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.kinematics import kinematics, link_poses
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.dynamics.wrenches import body_wrenches, LinkWrench, wrench_efforts
from sim2real_estimator.errors import ModelError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf

NUMBERS = [0.3, -0.2, 0.5, 1.0, -2.0, 0.7]


@pytest.fixture
def arm(branching_arm_urdf):
    """Return (model, robot, q, v) of an arm somewhere."""
    model = load_urdf(branching_arm_urdf)
    rng = np.random.default_rng(3)
    q = rng.standard_normal(model.position_size).tolist()
    v = rng.standard_normal(model.velocity_size).tolist()
    return model, System(Parameters(model), ()).robot({}), q, v


def links(model):
    return [link.name for link in model.links]


def test_axes_of_a_link_are_turned_to_those_of_the_world(arm):
    model, robot, q, v = arm
    states = kinematics(robot, q, v)
    for link, pose in link_poses(robot, q, v).items():
        turn = np.array([list(row) for row in pose.rotation.rows])
        turned = np.concatenate([turn @ NUMBERS[:3], turn @ NUMBERS[3:]]).tolist()
        own = body_wrenches(robot, states, [LinkWrench(link, 'link')], NUMBERS)
        world = body_wrenches(robot, states, [LinkWrench(link)], turned)
        assert own.keys() == world.keys()
        for body in own:
            np.testing.assert_allclose([*own[body]], [*world[body]], atol=1e-12)


def test_efforts_of_wrenches_are_what_they_spare_the_drives(arm):
    model, robot, q, v = arm
    wrenches = [LinkWrench(links(model)[-1], 'link'), LinkWrench(links(model)[1])]
    numbers = NUMBERS + NUMBERS[::-1]
    rest = [0.0] * len(v)
    acting = body_wrenches(robot, kinematics(robot, q, v), wrenches, numbers)
    without, beside = (inverse_dynamics(robot, q, v, rest, w) for w in (None, acting))
    pushed = wrench_efforts(robot, q, len(v), wrenches, numbers)
    np.testing.assert_allclose(pushed, np.subtract(without, beside), atol=1e-12)
    assert np.abs(pushed).max() > 0.1


def test_what_acts_on_the_base_moves_nothing(arm):
    model, robot, q, v = arm
    efforts = wrench_efforts(robot, q, len(v), [LinkWrench(model.base, 'link')], NUMBERS)
    assert not np.any(efforts)


def test_a_link_that_is_not_there_is_named(arm):
    with pytest.raises(ModelError, match="no link 'foot'"):
        System(Parameters(arm[0]), (), wrenches=(LinkWrench('foot'),))


@pytest.mark.parametrize('axes', ['link', 'world'])
def test_both_backends_move_alike(arm, axes):
    pytest.importorskip('llvmlite')
    model, _, q, v = arm
    ends = []
    for backend in ('eager', 'native'):
        simulator = Simulator(model, backend=backend, wrench_links=(links(model)[-1],))
        if axes == 'link':
            system = System(
                Parameters(model), (), wrenches=(LinkWrench(links(model)[-1], 'link'),)
            )
            simulator._system = system
            simulator._backend = type(simulator._backend)(system, simulator._values)
        controls = [[0.0] * len(model.commands) + NUMBERS] * 20
        import torch

        state = torch.tensor([*q, *v], dtype=torch.float64)[:, None]
        ends.append(simulator.rollout(state, [0.005] * 20, controls=torch.tensor(controls)).states)
    np.testing.assert_allclose(ends[0].numpy(), ends[1].numpy(), atol=1e-9)
    assert np.abs(ends[0][-1].numpy() - ends[0][0].numpy()).max() > 0.01
