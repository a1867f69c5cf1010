"""Named quantities: which there are, what they do, and that gradients reach every one."""

import numpy as np
import pytest
import torch

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import FRICTION_VELOCITY, owner_of, Parameters
from sim2real_estimator.model.robot import joint_origin, link_inertia, realize
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Model
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.spatial.rotation import Rotation

AXIS = np.array([2 / 3, -1 / 3, 2 / 3])
PHYSICS = JointPhysics(0.3, 0.4, 0.02, 5.0, 0.1, 0.05)


def rod(mass, length, axis=AXIS):
    """Return the mass properties of a thin uniform rod that begins at the origin."""
    moments = mass * length**2 / 12 * (np.eye(3) - np.outer(axis, axis))
    entries = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    inertia = tuple(float(moments[i, j]) for i, j in entries)
    return Inertial(mass, tuple(float(x) for x in length / 2 * axis), inertia)


def brick(mass=1.3):
    return Inertial(mass, (0.1, -0.2, 0.05), (0.03, 0.04, 0.05, 0.002, -0.003, 0.004))


def hinge(name, parent, child, origin=(0.0, 0.0, 0.0), kind='revolute', **rest):
    rest.setdefault('rotation', Rotation.from_roll_pitch_yaw(0.3, -0.5, 0.8))
    return Joint(name, JOINTS[kind]((2 / 3, 2 / 3, -1 / 3)), parent, child, origin, **rest)


def rods(first=0.6, second=0.4):
    """Return a model of two rods, the second on the end of the first."""
    links = (Link('base'), Link('upper', rod(2.0, first)), Link('lower', rod(1.0, second)))
    end = tuple(float(x) for x in first * AXIS)
    joints = hinge('shoulder', 'base', 'upper'), hinge('elbow', 'upper', 'lower', end)
    return Model('rods', links, joints)


def numbers(robot):
    """Return all that `realize` computed of bodies and link places, as one list of floats."""
    result = [x for body in robot.bodies for x in (*body.origin, *body.inertia)]
    return result + [x for place in robot.links.values() for x in place.origin]


def test_names_values_and_order(pendulum_urdf):
    parameters = Parameters(load_urdf(pendulum_urdf))

    assert {name: parameters[name].nominal for name in parameters} == {
        'world.gravity': 9.81,
        'rod.mass': 1.0,
        **{'rod.com.x': 0.0, 'rod.com.y': 0.0, 'rod.com.z': -0.5},
        **{'rod.inertia.xx': 0.084, 'rod.inertia.yy': 0.084, 'rod.inertia.zz': 0.002},
        **{'rod.inertia.xy': 0.0, 'rod.inertia.xz': 0.0, 'rod.inertia.yz': 0.0},
        'rod.length': 1.0,
        **{'pivot.origin.x': 0.0, 'pivot.origin.y': 0.0, 'pivot.origin.z': 0.0},
        **{'pivot.damping': 0.1, 'pivot.friction': 0.05, 'pivot.torque_offset': 0.0},
        **{'pivot.load_friction': 0.0, 'pivot.stribeck': 0.0},
        'pivot.friction_velocity': FRICTION_VELOCITY,
        **{'pivot.armature': 0.0, 'pivot.stiffness': 0.0, 'pivot.rest': 0.0},
        **{'pivot.offset': 0.0, 'pivot.gain': 1.0, 'pivot.delay': 0.0},
    }
    assert list(parameters)[:2] == ['world.gravity', 'rod.mass']
    assert len(parameters) == len(list(parameters)) and 'base.mass' not in parameters
    assert parameters.nominal(['rod.mass', 'pivot.damping']) == [1.0, 0.1]
    assert parameters.nominal() == [parameter.nominal for parameter in parameters.values()]
    assert parameters['rod.mass'].is_positive and not parameters['rod.com.x'].is_positive
    assert (
        parameters['rod.inertia.xx'].is_positive and not parameters['rod.inertia.xy'].is_positive
    )


@pytest.mark.parametrize(
    'name, near',
    [
        ('shoulder.dampng', 'shoulder.damping'),
        ('upper.masss', 'upper.mass'),
        ('upper.com.w', 'upper.com.x'),
        ('wrist.damping', 'elbow.damping'),
        ('gravity', 'world.gravity'),
    ],
)
def test_an_unknown_name_is_answered_with_near_ones(name, near):
    parameters = Parameters(rods())

    with pytest.raises(ConfigError, match=f"no parameter '{name}'.*{near}"):
        parameters[name]
    with pytest.raises(ConfigError, match=near):
        parameters.checked(['upper.mass', name])


def test_delays_and_noises_have_a_unit_though_they_are_not_the_robots():
    parameters = Parameters(rods())

    assert parameters.unit('upper.mass') == 'kg'
    assert parameters.unit('commands.delay') == parameters.unit('vicon.hand.delay') == 's'
    assert parameters.unit('encoders.noise') == '1'
    with pytest.raises(ConfigError, match="no parameter 'upper.masss'"):
        parameters.unit('upper.masss')


def test_single_links_and_joints_are_as_in_the_whole_robot():
    parameters = Parameters(rods())
    values = {'upper.length': 0.9, 'upper.mass': 2.0, 'lower.com.x': 0.1}

    robot = realize(parameters, values)

    for body, link in zip(robot.bodies, ('upper', 'lower')):
        alone = link_inertia(parameters, link, values)
        assert [*alone] == pytest.approx([*body.inertia], rel=1e-13, abs=1e-15)
        origin = joint_origin(parameters, body.moving.joint, values)
        assert [*origin] == pytest.approx([*body.origin])


def test_many_values_of_a_link_at_once_are_those_one_by_one():
    parameters = Parameters(rods())
    masses, lengths = np.array([0.5, 2.0]), np.array([0.3, 0.9])

    together = link_inertia(parameters, 'upper', {'upper.mass': masses, 'upper.length': lengths})

    rows = [np.broadcast_to(x, 2) for x in together]
    for k in range(2):
        one = {'upper.mass': masses[k], 'upper.length': lengths[k]}
        expected = [*link_inertia(parameters, 'upper', one)]
        assert [row[k] for row in rows] == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_a_name_given_twice_is_refused():
    with pytest.raises(ConfigError, match="'upper.mass' is named twice"):
        Parameters(rods()).checked(['upper.mass', 'lower.mass', 'upper.mass'])


@pytest.mark.parametrize('first, second', [(0.9, 0.4), (0.6, 0.25), (0.3, 0.8)])
def test_a_stretched_rod_is_the_rod_of_the_new_length(first, second):
    found = realize(
        Parameters(rods()), {'upper.length': first, 'lower.length': second}
    )  # fmt: skip

    expected = realize(Parameters(rods(first, second)), {})
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-13, abs=1e-15)


def test_the_nominal_length_changes_nothing():
    parameters = Parameters(rods())
    lengths = {
        f'{link}.length': parameters[f'{link}.length'].nominal for link in ('upper', 'lower')
    }

    found, expected = realize(parameters, lengths), realize(parameters, {})

    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-14, abs=1e-16)
    assert lengths == {'upper.length': pytest.approx(0.6), 'lower.length': pytest.approx(0.4)}


def test_length_stretches_a_body_along_its_axis_only():
    parameters = Parameters(single('passive'))
    centre = np.array(brick().centre)
    nominal, axis = 2 * np.linalg.norm(centre), centre / np.linalg.norm(centre)
    stretch = np.eye(3) + 0.5 * np.outer(axis, axis)

    (body,) = realize(parameters, {'body.length': 1.5 * nominal}).bodies
    (plain,) = realize(parameters, {}).bodies

    assert parameters['body.length'].nominal == pytest.approx(nominal)
    assert body.inertia.mass == plain.inertia.mass
    assert tuple(body.inertia.first_moment) == pytest.approx(1.3 * stretch @ centre)
    moved = stretch @ second_moments(plain.inertia) @ stretch
    assert second_moments(body.inertia) == pytest.approx(moved, abs=1e-15)


def second_moments(inertia):
    """Return the integral of x x' dm about the origin of a body."""
    matrix = np.array([tuple(row) for row in inertia.rotational.rows()])
    return np.trace(matrix) / 2 * np.eye(3) - matrix


def test_length_reaches_to_the_farthest_joint_and_moves_what_hangs_on_the_link():
    model = Model(
        'fork',
        (Link('base'), Link('palm', brick()), Link('tip'), Link('thumb', brick()), Link('end')),
        (
            hinge('wrist', 'base', 'palm'),
            Joint('weld', JOINTS['fixed'](None), 'palm', 'tip', (0.0, 0.0, 0.5)),
            hinge('knuckle', 'palm', 'thumb', (0.1, 0.0, 0.2)),
            Joint('nail', JOINTS['fixed'](None), 'thumb', 'end'),
        ),
    )
    parameters = Parameters(model)

    robot = realize(parameters, {'palm.length': 0.75})

    assert parameters['palm.length'].nominal == 0.5
    assert tuple(robot.links['tip'].origin) == pytest.approx((0.0, 0.0, 0.75))
    assert tuple(robot.bodies[1].origin) == pytest.approx((0.1, 0.0, 0.3))
    # What it carries sits at its origin: it counts as a leaf. 'end' has neither mass nor reach.
    assert parameters['thumb.length'].nominal == pytest.approx(
        2 * np.hypot(0.1, np.hypot(0.2, 0.05))
    )
    assert 'end.length' not in parameters and 'tip.length' not in parameters


def accelerations(model, values, command):
    robot = realize(Parameters(model), values)
    return forward_dynamics(robot, [0.3], [0.7], command)


def single(actuator, values=()):
    kind = ACTUATORS[actuator]
    joint = hinge('joint', 'base', 'body', actuator=kind, actuator_values=values)
    return Model('one', (Link('base'), Link('body', brick())), (joint,))


def effort_of(model, values, command):
    """Return what the actuator adds to the effort, found from the acceleration it causes."""
    (driven,) = accelerations(model, values, command)
    (passive,) = accelerations(single('passive'), {}, [])
    (unit,) = accelerations(single('effort'), {}, [1.0])
    return (driven - passive) / (unit - passive)


def test_an_effort_source_delivers_gain_times_command():
    assert effort_of(single('effort'), {}, [2.5]) == pytest.approx(2.5, rel=1e-12)
    assert effort_of(single('effort'), {'joint.gain': 0.8}, [2.5]) == pytest.approx(2.0, rel=1e-12)


def test_a_motor_delivers_torque_for_the_voltage_that_its_speed_leaves():
    chosen = (
        ('back_emf', 0.04),
        ('reduction', 20.0),
        ('resistance', 0.5),
        ('torque_constant', 0.05),
    )

    found = effort_of(single('dc_motor', chosen), {}, [6.0])
    weaker = effort_of(single('dc_motor', chosen), {'joint.resistance': 1.0}, [6.0])

    torque = 20.0 * 0.05 * (6.0 - 0.04 * 20.0 * 0.7) / 0.5
    assert found == pytest.approx(torque, rel=1e-12)
    assert weaker == pytest.approx(torque / 2, rel=1e-12)


@pytest.mark.parametrize('name', ACTUATORS)
def test_actuators_have_the_parameters_they_declare(name):
    actuator, parameters = ACTUATORS[name], Parameters(single(name))

    for spec in actuator.parameters:
        found = parameters[f'joint.{spec.name}']
        assert (found.nominal, found.unit) == (spec.default, spec.unit)
        assert found.is_positive == spec.positive
    assert ('joint.delay' in parameters) == actuator.takes_command
    assert actuator.type_name == name


def test_a_spring_and_an_offset_act_on_the_physical_position():
    sprung = {'joint.stiffness': 4.0, 'joint.rest': 0.1, 'joint.offset': 0.2}
    model = single('effort')

    (found,) = accelerations(model, sprung, [0.0])

    # The same place without offset, the spring's pull as a command.
    robot = realize(Parameters(model), {})
    pull = -4.0 * (0.3 + 0.2 - 0.1)
    (expected,) = forward_dynamics(robot, [0.5], [0.7], [pull])
    assert found == pytest.approx(expected, rel=1e-12)


def everything():
    """Return a model in which every kind of name has an effect."""
    links = [Link('base'), *(Link(name, brick()) for name in ('a', 'b', 'c', 'd', 'e'))]
    motor, source = ACTUATORS['dc_motor'], ACTUATORS['effort']
    joints = (
        hinge('ja', 'base', 'a', (0.1, 0.2, 0.3), physics=PHYSICS, actuator=motor),
        hinge('jb', 'a', 'b', (0.2, 0.1, -0.3), 'prismatic', physics=PHYSICS, actuator=source),
        hinge('jc', 'b', 'c', (0.3, 0.1, 0.1), 'spherical', physics=PHYSICS),
        hinge('jd', 'c', 'd', (0.1, -0.1, 0.2), 'fixed'),
        hinge('je', 'd', 'e', (0.1, 0.3, 0.2), 'planar', physics=PHYSICS, actuator=source),
    )
    return Model('everything', tuple(links), joints)


def seen(parameters, values):
    """Return a number on which every parameter has an effect: motion, pose and speed."""
    model = parameters.model
    rng = np.random.default_rng(5)
    q = []
    for moving in model.moving_joints:
        kind = moving.joint.kind
        q += kind.advance(
            kind.neutral(), [float(x) for x in rng.normal(size=kind.velocity_size)], 1.0
        )
    # Slow, so that friction is not saturated and the speed at which it changes sign counts.
    v = [float(x) for x in 0.01 * rng.normal(size=model.velocity_size)]
    commands = [float(x) for x in rng.normal(size=len(model.commands))]
    robot = realize(parameters, values)
    terms = forward_dynamics(robot, q, v, commands)
    for pose in link_poses(robot, q, v).values():
        terms += [*pose.position, *pose.velocity]
    return sum(float(w) * term for w, term in zip(rng.normal(size=len(terms)), terms))


def test_gradients_reach_every_name():
    parameters = Parameters(everything())
    # A delay acts on the commands before they get here.
    names = [name for name in parameters if not name.endswith('.delay')]
    nominal = torch.tensor(parameters.nominal(names), dtype=torch.float64)
    variables = nominal.clone().requires_grad_()

    result = seen(parameters, dict(zip(names, variables)))
    (gradient,) = torch.autograd.grad(result, variables)

    for k, name in enumerate(names):
        h = 1e-5 * max(abs(float(nominal[k])), 0.1)
        ends = []
        for value in (float(nominal[k]) + h, float(nominal[k]) - h):
            values = dict(zip(names, nominal.tolist()))
            ends.append(seen(parameters, {**values, name: value}))
        slope = (ends[0] - ends[1]) / (2 * h)
        assert slope != 0, name
        assert float(gradient[k]) == pytest.approx(slope, rel=1e-5, abs=1e-5), name


@pytest.mark.parametrize(
    ('name', 'owner'),
    [
        ('hand.mass', 'hand'),
        ('link_3.0.com.x', 'link_3.0'),
        ('link_3.0.friction', 'link_3.0'),
        ('mocap.x', 'mocap'),
    ],
)
def test_a_quantity_has_an_owner_whose_name_may_hold_dots(name, owner):
    assert owner_of(name) == owner
