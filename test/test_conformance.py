"""
Every member of every table does what its base class promises, over any scalar.

What is special to a family is tested next to it: the geometry of joints in model/test_joints.py,
orders of convergence in dynamics/test_integrators.py, efforts in model/test_parameters.py.
"""

import inspect

import pytest
import torch

from sim2real_estimator.backend import AbstractBackend, BACKENDS, LOSSES
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.integrators import AbstractIntegrator, INTEGRATORS
from sim2real_estimator.dynamics.observations import poses
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.actuators import AbstractActuator, ACTUATORS
from sim2real_estimator.model.contacts import (
    AbstractContactLaw,
    AbstractGeometry,
    Box,
    GEOMETRIES,
    HalfSpace,
    LAWS,
    Place,
    Points,
    Sphere,
)
from sim2real_estimator.model.friction import AbstractFriction, FRICTIONS, JointMotion
from sim2real_estimator.model.joints import AbstractJoint, JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.tree import Joint
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3

AXIS = (0.6, 0.0, 0.8)
BATCH = 5
CLOSE = {'rtol': 1e-12, 'atol': 1e-13}
# One sample, fewer than any vector has lanes, and numbers that no vector divides.
SIZES = (1, 3, 5, 9)


def draw(*shape, seed=0):
    """Return normally distributed numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def table(values, batch=BATCH):
    """Return scalars, constants among them, as one tensor [n, batch]."""
    rows = [torch.as_tensor(x, dtype=torch.float64).expand(batch) for x in values]
    return torch.stack(rows) if rows else torch.zeros(0, batch, dtype=torch.float64)


def assert_batch_is_loop(function, *arguments):
    """
    Compare a function of lists of scalars on tensors with the same sample by sample on floats.

    arguments: tensors [n, B]; the function returns scalars.
    """
    batch = arguments[0].shape[-1]
    together = table(function(*[list(a) for a in arguments]), batch)
    for lane in range(batch):
        alone = table(function(*[a[:, lane].tolist() for a in arguments]), 1)
        torch.testing.assert_close(together[:, lane : lane + 1], alone, **CLOSE)


def coordinates(kind, batch=BATCH, seed=0):
    """Return random coordinates of a joint type, [nq, batch]."""
    away = draw(kind.velocity_size, batch, seed=seed)
    columns = [kind.advance(kind.neutral(), away[:, k].tolist(), 1.0) for k in range(batch)]
    return torch.tensor(columns, dtype=torch.float64).reshape(batch, kind.position_size).T


@pytest.mark.parametrize(
    ('members', 'base', 'label'),
    [
        ({name: make(AXIS) for name, make in JOINTS.items()}, AbstractJoint, 'type_name'),
        (ACTUATORS, AbstractActuator, 'type_name'),
        (FRICTIONS, AbstractFriction, 'name'),
        (LAWS, AbstractContactLaw, 'name'),
        (GEOMETRIES, AbstractGeometry, 'name'),
        (INTEGRATORS, AbstractIntegrator, 'name'),
        (BACKENDS, AbstractBackend, 'name'),
    ],
    ids=['joints', 'actuators', 'frictions', 'laws', 'geometries', 'integrators', 'backends'],
)
def test_members_are_of_their_family_and_named_as_in_the_table(members, base, label):
    assert members
    for name, member in members.items():
        kind = member if inspect.isclass(member) else type(member)
        assert issubclass(kind, base)
        assert not inspect.isabstract(kind)
        assert getattr(member, label) == name
        assert kind.__doc__


@pytest.fixture(params=JOINTS)
def kind(request):
    return JOINTS[request.param](AXIS)


@pytest.mark.parametrize(
    'function',
    [
        lambda kind, q, v, other: kind.rate(q, v),
        lambda kind, q, v, other: kind.advance(q, v, 0.3),
        lambda kind, q, v, other: kind.difference(q, other),
        lambda kind, q, v, other: kind.displacement(q, 0.2),
        lambda kind, q, v, other: [kind.spring_shape(q, 0.2)],
        lambda kind, q, v, other: kind.normalized([1.1 * x for x in q]),
        lambda kind, q, v, other: kind.with_offset(q, 0.2),
        lambda kind, q, v, other: [x for row in kind.placement(q)[0].rows for x in row],
        lambda kind, q, v, other: list(kind.placement(q)[1]),
    ],
    ids=['rate', 'advance', 'difference', 'displacement', 'spring_shape', 'normalized']
    + ['with_offset', 'rotation', 'shift'],
)
def test_a_joint_on_a_batch_is_the_joint_on_each_sample(kind, function):
    v = draw(kind.velocity_size, BATCH, seed=1)
    assert_batch_is_loop(
        lambda *arguments: function(kind, *arguments),
        coordinates(kind),
        v,
        coordinates(kind, seed=2),
    )


@pytest.mark.parametrize('name', ACTUATORS)
def test_an_actuator_on_a_batch_is_the_actuator_on_each_sample(name):
    actuator = ACTUATORS[name]
    names = [parameter.name for parameter in actuator.parameters]
    values = 1 + 0.1 * draw(len(names), BATCH)

    def effort(command, velocity, rows):
        return [actuator.effort(command[0], velocity[0], dict(zip(names, rows)))]

    assert_batch_is_loop(effort, draw(1, BATCH, seed=1), draw(1, BATCH, seed=2), values)


@pytest.mark.parametrize('name', ACTUATORS)
def test_an_actuator_is_driven_by_its_command_or_takes_none(name):
    actuator = ACTUATORS[name]
    values = {parameter.name: 2.0 for parameter in actuator.parameters}
    low, high = (actuator.effort(command, 0.5, values) for command in (-1.0, 1.0))
    assert (high > low) == actuator.takes_command
    assert bool(actuator.command_unit) == actuator.takes_command
    for parameter in actuator.parameters:
        assert parameter.unit and parameter.description
        assert parameter.default > 0 or not parameter.positive


def friction_column(name, kind, speeds, width, load):
    """Return the column of a term of friction of a joint type."""
    return FRICTIONS[name].column(JointMotion(kind.groups, list(speeds), width, load))


def kinds_of(name):
    """Return the joint types that have a term of friction."""
    joints = (Joint(n, make(AXIS), 'a', 'b') for n, make in JOINTS.items())
    return [joint.kind for joint in joints if FRICTIONS[name].applies_to(joint)]


FRICTION_CASES = [(name, kind) for name in FRICTIONS for kind in kinds_of(name)]


@pytest.mark.parametrize(('name', 'kind'), FRICTION_CASES)
def test_friction_on_a_batch_is_the_friction_on_each_sample(name, kind):
    def column(speeds, more):
        return friction_column(name, kind, speeds, *more)

    others = torch.stack([0.2 + 0.1 * draw(BATCH, seed=1) ** 2, draw(BATCH, seed=2)])
    assert_batch_is_loop(column, draw(kind.velocity_size, BATCH), others)


@pytest.mark.parametrize(('name', 'kind'), FRICTION_CASES)
def test_friction_has_exact_derivatives_and_one_scalar_for_every_velocity(name, kind):
    speeds = draw(kind.velocity_size, BATCH).requires_grad_()
    width = (0.3 + 0.1 * draw(BATCH, seed=1) ** 2).requires_grad_()
    load = draw(BATCH, seed=2).requires_grad_()

    def column(speeds, width, load):
        return table(friction_column(name, kind, speeds, width, load))

    assert column(speeds, width, load).shape == (kind.velocity_size, BATCH)
    # gradcheck wants a path to every input.
    assert torch.autograd.gradcheck(
        lambda *x: column(*x) + 0 * sum(each.sum() for each in x), (speeds, width, load)
    )


@pytest.mark.parametrize(('name', 'kind'), FRICTION_CASES)
def test_friction_is_odd_in_the_velocity_or_does_not_depend_on_it(name, kind):
    speeds = draw(kind.velocity_size).tolist()
    there = friction_column(name, kind, speeds, 0.3, -0.7)
    back = friction_column(name, kind, [-s for s in speeds], 0.3, -0.7)
    assert back in (there, [-x for x in there])
    if not FRICTIONS[name].needs_load:
        assert friction_column(name, kind, speeds, 0.3, 5.0) == there


def contact_force(name, gap, rate, slip, values):
    """Return the force of a law of contact, along z, as three scalars."""
    law = LAWS[name]
    names = [parameter.name for parameter in law.parameters]
    force = law.force(gap, rate, Vec3(*slip), Vec3.unit(2), dict(zip(names, values)))
    return list(force)


def contact_values(name, batch):
    """Return values of the parameters of a law near its defaults, [n, batch]."""
    defaults = torch.tensor([p.default for p in LAWS[name].parameters], dtype=torch.float64)
    return defaults[:, None] * (1 + 0.1 * draw(len(defaults), batch, seed=4))


@pytest.mark.parametrize('name', LAWS)
def test_a_law_of_contact_on_a_batch_is_the_law_on_each_sample(name):
    # Gaps of both signs.
    assert_batch_is_loop(
        lambda gap, rate, slip, values: contact_force(name, gap[0], rate[0], [*slip, 0.0], values),
        0.01 * draw(1, BATCH),
        draw(1, BATCH, seed=1),
        draw(2, BATCH, seed=2),
        contact_values(name, BATCH),
    )


@pytest.mark.parametrize('name', LAWS)
def test_a_law_of_contact_has_exact_derivatives_also_at_rest(name):
    gap = -0.002 - 0.001 * draw(BATCH).abs()
    inputs = [gap, 0.3 * draw(BATCH, seed=1), torch.zeros(2, BATCH, dtype=torch.float64)]
    inputs = [x.requires_grad_() for x in (*inputs, contact_values(name, BATCH))]

    def force(gap, rate, slip, values):
        found = contact_force(name, gap, rate, [*slip, 0.0], values)
        return table(found) / 1e3

    # gradcheck wants steps that are small beside the slip velocity and the depth.
    assert torch.autograd.gradcheck(force, inputs, eps=1e-7, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize('name', LAWS)
def test_a_law_of_contact_pushes_where_shapes_overlap_and_nowhere_else(name):
    values = contact_values(name, 1)[:, 0].tolist()
    assert contact_force(name, 0.0, -1.0, (0.1, 0.0, 0.0), values) == [0.0] * 3
    assert contact_force(name, 0.01, -1.0, (0.1, 0.0, 0.0), values) == [0.0] * 3
    force = contact_force(name, -0.003, -0.1, (0.1, 0.0, 0.0), values)
    assert force[2] > 0 >= force[0]
    for parameter in LAWS[name].parameters:
        assert parameter.unit and parameter.description and parameter.default > 0
    assert set(LAWS[name].may_be_zero) <= {p.name for p in LAWS[name].parameters}
    named = dict(zip((p.name for p in LAWS[name].parameters), values))
    assert 0 < LAWS[name].duration(1.0, 1.0, named | LAWS[name].usual_values(1.0)) < 1


SHAPES = {
    Points: Points(((0.1, 0.2, 0.3), (-0.1, 0.2, 0.3)), 0.05),
    Sphere: Sphere((0.1, 0.0, -0.1), 0.2),
    Box: Box((0.0, 0.1, 0.0), (0.3, 0.2, 0.1)),
    HalfSpace: HalfSpace((0.0, 0.0, 0.1)),
}


@pytest.mark.parametrize('name', GEOMETRIES)
def test_a_geometry_on_a_batch_is_the_geometry_on_each_sample_and_normals_are_units(name):
    geometry = GEOMETRIES[name]
    first, second = SHAPES[geometry.first], SHAPES[geometry.second]

    def touches(ours, theirs):
        places = (
            Place(Rotation.from_quaternion(q[3:]), Vec3(*q[:3]))
            for q in (list(ours), list(theirs))
        )
        found = geometry.touches(first, second, *places)
        return [x for t in found for x in (t.gap, *t.normal, *t.point, t.normal.dot(t.normal))]

    poses_of = (draw(7, BATCH, seed=seed) for seed in (1, 2))
    assert_batch_is_loop(touches, *poses_of)
    rows = touches(list(draw(7, BATCH, seed=1)), list(draw(7, BATCH, seed=2)))
    torch.testing.assert_close(table(rows[7::8]), torch.ones_like(table(rows[7::8])))


@pytest.fixture
def arm(double_pendulum_urdf):
    """Return a model with a ball joint and a hinge with a motor."""
    return load_urdf(
        double_pendulum_urdf,
        joint_types={'shoulder': 'spherical'},
        actuators={'shoulder': 'effort', 'elbow': ('dc_motor', {'reduction': 5.0})},
    )


def state(model, batch, seed=0):
    """Return a random state [nx, batch]."""
    q = [coordinates(moving.joint.kind, batch, seed) for moving in model.moving_joints]
    return torch.cat([*q, draw(model.velocity_size, batch, seed=seed + 1)])


@pytest.mark.parametrize('name', INTEGRATORS)
def test_an_integrator_on_a_batch_is_the_integrator_on_each_sample(name, arm):
    system = System(Parameters(arm), (), name)
    robot, size = system.robot({}), arm.position_size

    def step(x, controls):
        q, v = system.step(robot, x[:size], x[size:], controls, 0.01)
        assert (len(q), len(v)) == (size, arm.velocity_size)
        return [*q, *v]

    assert_batch_is_loop(step, state(arm, BATCH), draw(system.control_size, BATCH, seed=3))


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_step_of_no_length_is_the_identity(name, arm):
    system, size = System(Parameters(arm), (), name), arm.position_size
    x = list(state(arm, BATCH))
    q, v = system.step(system.robot({}), x[:size], x[size:], [1.0] * system.control_size, 0.0)
    torch.testing.assert_close(table([*q, *v]), torch.stack(x), rtol=0, atol=1e-15)


@pytest.fixture(params=BACKENDS)
def simulator(request, arm):
    return Simulator(
        arm,
        ('upper.mass', 'elbow.damping'),
        integrator='semi_implicit_euler',
        backend=request.param,
        observe=poses(['lower']),
        wrench_links=('lower',),
    )


def arguments(simulator, batch, steps=2):
    """Return (state, durations, parameters, controls)."""
    parameters = simulator.nominal(batch) * (1 + 0.1 * draw(2, batch))
    durations = 0.01 * (1 + 0.1 * draw(steps, batch, seed=4))
    return state(simulator.model, batch), durations, parameters, draw(steps, 10, batch, seed=5)


def results(simulator, inputs):
    """Return name -> (result with the batch last) of every call a backend offers."""
    trajectory = simulator.rollout(*inputs)
    jacobian, sensitivities = simulator.jacobian(*inputs), simulator.sensitivities(*inputs)
    targets = torch.zeros(len(inputs[1]), 12, 1)
    losses = {
        kind: simulator.loss(*inputs[:2], targets, *inputs[2:], kind=kind) for kind in LOSSES
    }
    return {
        'states': trajectory.states,
        'outputs': trajectory.outputs,
        **losses,
        'state': jacobian.state,
        'by_state': jacobian.by_state.movedim(0, -1),
        'by_parameters': jacobian.by_parameters.movedim(0, -1),
        'by_durations': jacobian.by_durations.movedim(0, -1),
        'by_controls': jacobian.by_controls.movedim(0, -1),
        'd_states': sensitivities.d_states.movedim(0, -1),
        'd_outputs': sensitivities.d_outputs.movedim(0, -1),
    }


def test_a_backend_returns_the_shapes_it_promises(simulator):
    for batch in SIZES:
        found = {
            k: tuple(v.shape) for k, v in results(simulator, arguments(simulator, batch)).items()
        }
        assert found == {
            'states': (3, 9, batch),
            'outputs': (3, 12, batch),
            **{kind: (batch,) for kind in LOSSES},
            'state': (9, batch),
            'by_state': (9, 9, batch),
            'by_parameters': (9, 2, batch),
            'by_durations': (9, 2, batch),
            'by_controls': (9, 2, 10, batch),
            'd_states': (3, 9, 11, batch),
            'd_outputs': (3, 12, 11, batch),
        }


def test_a_backend_on_a_batch_is_the_backend_on_each_sample(simulator):
    for batch in SIZES[1:]:
        inputs = arguments(simulator, batch)
        together = results(simulator, inputs)
        for lane in (0, batch - 1):
            alone = results(simulator, [t[..., lane : lane + 1] for t in inputs])
            for name, value in alone.items():
                torch.testing.assert_close(together[name][..., lane : lane + 1], value, **CLOSE)


def test_a_backend_says_why_it_cannot_run_or_nothing():
    for backend in BACKENDS.values():
        missing = backend.missing()
        assert missing is None or isinstance(missing, str)
    assert any(backend.missing() is None for backend in BACKENDS.values())
