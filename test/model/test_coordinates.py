"""Unconstrained coordinates: bijections that cannot leave what is physically possible."""

import pytest
import torch

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.coordinates import Coordinates
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import INERTIA_NAMES, Parameters
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Model

INERTIA = (0.020, 0.025, 0.015, 0.002, -0.001, 0.003)


@pytest.fixture
def parameters():
    links = (
        Link('base'),
        Link('arm', Inertial(1.5, (0.1, -0.2, 0.05), INERTIA)),
        Link('rod', Inertial(1.0, (0.0, 0.0, -0.2), (0.02, 0.02, 0.001, 0.0, 0.0, 0.0))),
    )
    hinge = JOINTS['revolute']((0.0, 1.0, 0.0))
    joints = (
        Joint('shoulder', hinge, 'base', 'arm', physics=JointPhysics(damping=0.1)),
        Joint('elbow', hinge, 'arm', 'rod', (0.3, 0.0, 0.0)),
    )
    return Parameters(Model('two', links, joints))


def inertia_matrices(values):
    """Return [B, 3, 3] from rows xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = values
    return torch.stack(
        [
            torch.stack([xx, xy, xz], -1),
            torch.stack([xy, yy, yz], -1),
            torch.stack([xz, yz, zz], -1),
        ],
        -2,
    )


def smallest_second_moment(values):
    inertia = inertia_matrices(values)
    trace = inertia.diagonal(dim1=-2, dim2=-1).sum(-1)
    moments = trace[:, None, None] / 2 * torch.eye(3, dtype=torch.float64) - inertia
    return torch.linalg.eigvalsh(moments)[:, 0]


def test_any_coordinates_are_a_feasible_body_and_come_back(parameters):
    coordinates = Coordinates(parameters, parameters.inertial_names('arm'))
    x = torch.randn(10, 200, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = coordinates.to_physical(x)
    assert (values[0] > 0).all()
    assert (smallest_second_moment(values[4:]) > 0).all()
    assert torch.allclose(coordinates.from_physical(values), x, atol=1e-8)


def test_with_mass_and_centre_they_are_those_of_the_pseudo_inertia(parameters):
    coordinates = Coordinates(parameters, parameters.inertial_names('arm'))
    nominal = torch.tensor(parameters.nominal(coordinates.names), dtype=torch.float64)[:, None]
    x = coordinates.from_physical(nominal)[:, 0]
    # J = U U' with U = sqrt(m) [[L, c], [0, 1]] and L upper triangular.
    factor = torch.eye(4, dtype=torch.float64)
    factor[:3, 3] = x[1:4]
    for value, entry in zip(x[4:], INERTIA_NAMES):
        i, j = 'xyz'.index(entry[0]), 'xyz'.index(entry[1])
        factor[i, j] = value.exp() if i == j else value
    pseudo = x[0].exp() * factor @ factor.T

    mass, centre = nominal[0, 0], nominal[1:4, 0]
    inertia = inertia_matrices(nominal[4:])[0]
    moments = inertia.trace() / 2 * torch.eye(3, dtype=torch.float64) - inertia
    assert torch.allclose(pseudo[:3, :3], moments + mass * torch.outer(centre, centre))
    assert torch.allclose(pseudo[:3, 3], mass * centre)
    assert torch.allclose(pseudo[3, 3], mass)


def test_the_inertia_alone_stays_feasible_at_a_given_mass(parameters):
    names = [f'arm.inertia.{e}' for e in INERTIA_NAMES]
    x = 2 * torch.randn(6, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    coordinates = Coordinates(parameters, names)
    values = coordinates.to_physical(x)
    assert (smallest_second_moment(values) > 0).all()
    assert torch.allclose(coordinates.from_physical(values), x, atol=1e-6)


def test_diagonal_entries_of_a_link_without_products(parameters):
    names = ['rod.inertia.zz', 'rod.inertia.xx', 'rod.inertia.yy']
    coordinates = Coordinates(parameters, names)
    x = torch.randn(3, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    zz, xx, yy = coordinates.to_physical(x)
    assert (zz < xx + yy).all() and (xx < yy + zz).all() and (yy < zz + xx).all()
    assert torch.allclose(coordinates.from_physical(torch.stack([zz, xx, yy])), x, atol=1e-8)


@pytest.mark.parametrize('entry', INERTIA_NAMES)
def test_a_single_entry_reaches_its_bounds_and_no_further(parameters, entry):
    coordinates = Coordinates(parameters, [f'arm.inertia.{entry}'])
    x = torch.tensor([[-12.0, 0.0, 12.0]], dtype=torch.float64)
    values = coordinates.to_physical(x)
    full = torch.tensor(INERTIA, dtype=torch.float64)[:, None].repeat(1, 3)
    full[INERTIA_NAMES.index(entry)] = values[0]
    smallest = smallest_second_moment(full)
    assert (smallest > 0).all()
    assert smallest[0] < 1e-6 and smallest[2] < 1e-6
    assert torch.allclose(coordinates.from_physical(values), x, atol=1e-6)


def test_labels_say_what_a_coordinate_is(parameters):
    names = ['shoulder.damping', 'arm.com.x', 'arm.inertia.xx']
    labels = Coordinates(parameters, names).labels
    assert labels == ('log(shoulder.damping)', 'arm.com.x', 'logit(arm.inertia.xx)')


def test_gradients_flow(parameters):
    names = [*parameters.inertial_names('arm'), 'shoulder.damping']
    coordinates = Coordinates(parameters, names)
    x = torch.randn(11, 2, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(coordinates.to_physical, x)


@pytest.mark.parametrize(
    'names, values, message',
    [
        (['elbow.damping'], [0.0], "'elbow.damping' has to be positive"),
        (['arm.inertia.xx'], [1.0], "'arm.inertia.xx' has to lie between"),
        (
            [f'arm.inertia.{e}' for e in INERTIA_NAMES],
            [1.0, 0.1, 0.1, 0.0, 0.0, 0.0],
            "the inertia of link 'arm' is no inertia of a solid body",
        ),
    ],
)
def test_infeasible_values_are_refused(parameters, names, values, message):
    with pytest.raises(ConfigError, match=message.replace("'", '.')):
        Coordinates(parameters, names).from_physical(
            torch.tensor(values, dtype=torch.float64)[:, None]
        )


def test_two_entries_of_an_inertia_are_refused(parameters):
    with pytest.raises(ConfigError, match='estimate all six entries, one alone'):
        Coordinates(parameters, ['arm.inertia.xx', 'arm.inertia.yy'])
