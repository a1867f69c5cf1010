"""Contact forces against closed forms, and what holds of any force."""

import math

import pytest
import torch
from touching import body, BOX, EDGE, MASS, pair, RADIUS, SPHERE

from sim2real_estimator.dynamics.contact import contact_states, contact_wrenches
from sim2real_estimator.dynamics.kinematics import body_positions, kinematics
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.parameters import Parameters, STANDARD_GRAVITY

PHYSICS = {'friction': 0.4, 'dissipation': 0.5, 'stiffness': 3e4, 'slip_velocity': 0.02}
TURNED = [math.cos(0.3), 0.0, math.sin(0.3), 0.0]


def found(model, q, v):
    """Return the contacts and the wrenches of a state."""
    robot = System(Parameters(model), ()).robot({})
    states = kinematics(robot, q, v)
    return contact_states(robot, states), contact_wrenches(robot, states), robot, states


def test_a_ball_in_the_ground_is_pushed_as_the_law_says():
    depth, speed, slip = 0.004, 0.3, 0.05
    model = body(**PHYSICS)
    q, v = [0, 0, RADIUS - depth, 1, 0, 0, 0], [slip, 0, -speed, 0, 0, 0]
    _, wrenches, _, _ = found(model, q, v)
    pressure = 3e4 * depth**1.5 * (1 + 0.5 * speed)
    friction = -0.4 * pressure * slip / math.hypot(slip, 0.02)
    expected = [0, -RADIUS * friction, 0, friction, 0, pressure]
    assert list(wrenches[0]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ('height', 'speed'), [(RADIUS + 1e-9, -1.0), (0.5, 0.0), (RADIUS - 0.001, 2.5)]
)
def test_nothing_pushes_above_the_ground_nor_pulls_on_what_leaves_quickly(height, speed):
    _, wrenches, _, _ = found(body(**PHYSICS), [0, 0, height, 1, 0, 0, 0], [0, 0, speed, 0, 0, 0])
    assert list(wrenches[0]) == pytest.approx([0.0] * 6, abs=1e-12)


@pytest.mark.parametrize('other', [SPHERE, BOX], ids=['sphere', 'box'])
@pytest.mark.parametrize('is_swapped', [False, True])
def test_action_is_reaction(other, is_swapped):
    shapes = (other, SPHERE) if is_swapped else (SPHERE, other)
    model = pair(*shapes, **PHYSICS)
    away = (EDGE / 2 if other is BOX else RADIUS) + RADIUS - 0.003
    q = [0.05, -0.02, 0.01, *TURNED, 0.05, -0.02, 0.01, *TURNED]
    along = [away * math.cos(0.6), 0.0, -away * math.sin(0.6)]
    q[7:10] = [a + b for a, b in zip(q[:3], along)]
    v = [0.1, 0.3, 0.0, 1.0, 2.0, -1.0, -0.2, 0.0, 0.1, 0.5, 0.0, 1.0]
    contacts, wrenches, robot, states = found(model, q, v)
    assert contacts[0].touch.gap < 0
    moment, force = torch.zeros(3), torch.zeros(3)
    for index, place in enumerate(body_positions(robot, states)):
        about_world = wrenches[index].carried(place)
        moment = moment + torch.tensor(tuple(about_world.moment))
        force = force + torch.tensor(tuple(about_world.force))
    size = max(abs(x) for x in wrenches[0])
    assert size > 1
    assert moment.abs().max() < 1e-6 * size
    assert force.abs().max() < 1e-6 * size


@pytest.mark.parametrize(
    ('place', 'gap', 'normal'),
    [
        ((0.25, 0.0, 0.0), 0.05, (1, 0, 0)),
        ((0.2, 0.2, 0.0), 0.1 * (math.sqrt(2) - 1), (math.sqrt(0.5), math.sqrt(0.5), 0)),
        ((0.2, -0.2, 0.2), 0.1 * (math.sqrt(3) - 1), (3**-0.5, -(3**-0.5), 3**-0.5)),
    ],
    ids=['face', 'edge', 'corner'],
)
def test_a_ball_is_away_from_the_face_the_edge_or_the_corner_of_a_box(place, gap, normal):
    model = pair(SPHERE, BOX)
    q = [*place, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    (contact,), *_ = found(model, q, [0.0] * 12)
    assert contact.touch.gap == pytest.approx(gap)
    assert tuple(contact.touch.normal) == pytest.approx(normal)


@pytest.mark.parametrize('slip', [0.0, 1e-4, 0.02, 3.0])
def test_friction_stays_in_its_cone_and_opposes_the_slip(slip):
    depth = 0.002
    model = body(**PHYSICS)
    _, wrenches, _, _ = found(
        model, [0, 0, RADIUS - depth, 1, 0, 0, 0], [slip, 0.5 * slip, 0, 0, 0, 0]
    )
    x, y, z = wrenches[0].force
    assert math.hypot(x, y) <= 0.4 * z
    assert x * slip <= 0
    assert y == pytest.approx(0.5 * x, abs=1e-12)


def test_gaps_change_at_the_rates_that_are_used():
    model = pair(SPHERE, BOX)
    q = [0.2, -0.2, 0.22, *TURNED, 0.01, 0.02, 0.0, *TURNED]
    v = [0.1, 0.3, 0.0, 1.0, 2.0, -1.0, -0.2, 0.0, 0.1, 0.5, 0.0, 1.0]
    kinds = [m.joint.kind for m in model.moving_joints]

    def gap(duration):
        moved = [
            *kinds[0].advance(q[:7], v[:6], duration),
            *kinds[1].advance(q[7:], v[6:], duration),
        ]
        return found(model, moved, v)[0][0].touch.gap

    slope = (gap(1e-5) - gap(-1e-5)) / 2e-5
    assert found(model, q, v)[0][0].gap_rate == pytest.approx(slope, rel=1e-6)


def test_without_friction_nothing_is_computed_for_it():
    model = body(friction=0)
    robot = System(Parameters(model), ()).robot({'floor.friction': 0.0})
    states = kinematics(robot, [0, 0, 0.05, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    force = contact_wrenches(robot, states)[0].force
    assert (force.x, force.y) == (0.0, 0.0)
    assert force.z > MASS * STANDARD_GRAVITY
