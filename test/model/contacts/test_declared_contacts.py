"""Links that can touch: read from URDF and config, with errors that say what to do."""

import re
import struct

import numpy as np
import pytest

from sim2real_estimator.config.settings_tree import (
    Config,
    ContactConfig,
    PlacementConfig,
    ShapeConfig,
)
from sim2real_estimator.dynamics.contact import longest_step, warn_of_long_steps
from sim2real_estimator.errors import ConfigError, ModelError
from sim2real_estimator.model.contacts import Box, HalfSpace, Points, Sphere
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.collisions import MOST_VERTICES
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.usual_priors import default_prior
from sim2real_estimator.posterior.identity import describe_model
from sim2real_estimator.setup.contact_pairs import contact_wishes

_URDF = """
<robot name="body"><link name="body">
<inertial><mass value="0.5"/>
<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/>
<geometry>{shape}</geometry></collision></link></robot>"""
BOX = '<box size="0.2 0.4 0.6"/>'


def load(shape=BOX, source=None, **wish):
    """Return a body that may touch the ground."""
    text = _URDF.format(shape=shape)
    if source is not None:
        source.write_text(text)
    contacts = {'floor': {'between': ('body', 'ground'), **wish}}
    return load_urdf(source or text, base='floating', contacts=contacts)


def points(model):
    """Return the points [n, 3] that meet the ground, and their radius."""
    ((_, found, _, _),) = model.contacts[0].meetings()
    return np.array(found.points), found.radius


def test_corners_of_a_box_are_where_its_origin_puts_them():
    found, radius = points(load())
    assert radius == 0
    assert sorted(set(found[:, 0].round(9))) == pytest.approx([-0.1, 0.3])
    assert sorted(set(found[:, 1].round(9))) == pytest.approx([-0.1, 0.1])
    assert sorted(set(found[:, 2].round(9))) == pytest.approx([-0.3, 0.3])


def test_a_sphere_is_a_point_with_a_radius():
    found, radius = points(load('<sphere radius="0.07"/>'))
    assert found.tolist() == [[0.1, 0.0, 0.0]]
    assert radius == 0.07


def test_a_cylinder_is_its_two_rims():
    found, _ = points(load('<cylinder radius="0.05" length="0.3"/>'))
    assert np.hypot(found[:, 0] - 0.1, found[:, 1]) == pytest.approx(0.05)
    assert sorted(set(found[:, 2].round(9))) == [-0.15, 0.15]


def stl(vertices, is_text):
    """Return the bytes of an STL file whose triangles have these corners."""
    triangles = np.array(vertices, dtype=np.float32).reshape(-1, 3, 3)
    if is_text:
        lines = [f'vertex {x} {y} {z}' for t in triangles.tolist() for x, y, z in t]
        return '\n'.join(['solid a', *lines, 'endsolid']).encode()
    rows = b''.join(struct.pack('<12fH', 0, 0, 0, *t.ravel(), 0) for t in triangles)
    return b'solid in spite of that'.ljust(80) + struct.pack('<I', len(triangles)) + rows


@pytest.mark.parametrize('kind', ['text.stl', 'binary.STL', 'mesh.obj'])
@pytest.mark.parametrize('prefix', ['', 'package://body_description/'])
def test_vertices_of_a_mesh_are_read_once_each(tmp_path, kind, prefix):
    corners = [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0], [0, 2, 0], [0, 0, 3]]
    folder = tmp_path / 'body_description'
    (folder / 'urdf').mkdir(parents=True)
    data = stl(corners, kind == 'text.stl')
    if kind == 'mesh.obj':
        data = '\n'.join(f'v {x} {y} {z}' for x, y, z in corners).encode() + b'\nf 1 2 3\n'
    (folder / (kind if prefix else f'urdf/{kind}')).write_bytes(data)
    shape = f'<mesh filename="{prefix}{kind}" scale="0.1 0.1 0.1"/>'
    found, _ = points(load(shape, folder / 'urdf' / 'body.urdf'))
    turned = [[0.1, 0, 0], [0.1, 0.1, 0], [-0.1, 0, 0], [0.1, 0, 0.3]]
    assert found[np.lexsort(found.round(6).T)] == pytest.approx(
        np.array(turned)[np.lexsort(np.array(turned).T)], abs=1e-9
    )


def test_of_a_large_mesh_vertices_far_apart_are_kept_and_that_is_said(tmp_path, caplog):
    cloud = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    (tmp_path / 'mesh.obj').write_text('\n'.join(f'v {x} {y} {z}' for x, y, z in cloud))
    found, _ = points(load('<mesh filename="mesh.obj"/>', tmp_path / 'body.urdf'))
    assert len(found) == MOST_VERTICES
    apart = np.linalg.norm(found[:, None] - found, axis=-1) + 9 * np.eye(len(found))
    assert apart.min() > 0.3
    assert 'are kept' in caplog.text
    assert 'mesh.obj' in caplog.text


def test_of_a_link_that_touches_nothing_no_mesh_is_read():
    load_urdf(_URDF.format(shape='<mesh filename="nowhere.stl"/>'), base='floating')


@pytest.mark.parametrize(
    ('shape', 'words'),
    [
        ('', "link 'body': its <geometry> in <collision> has no known shapes; give one of <box>"),
        (BOX + BOX, "link 'body': it has 2 <box> elements; keep one of them"),
        (BOX + '<sphere radius="1"/>', 'has 2 known shapes'),
        ('<box/>', "link 'body': its <box> has no size; add size"),
        ('<box size="1 1"/>', 'is not 3 finite numbers'),
        ('<box size="1 0 1"/>', 'the size of its <box> in <collision> is 0; give a length above'),
        ('<sphere radius="-1"/>', 'the radius of its <sphere> in <collision> is -1'),
        ('<cylinder radius="1"/>', 'its <cylinder> has no length'),
        ('<mesh filename="no.stl"/>', "the file of its mesh 'no.stl' is not found near"),
    ],
)
def test_shapes_that_cannot_be_are_refused_with_a_remedy(shape, words):
    with pytest.raises(ModelError, match=words.replace('(', r'\(')):
        load(shape)


@pytest.mark.parametrize(
    ('name', 'data', 'words'),
    [
        ('a.dae', b'<x/>', 'neither STL nor OBJ; convert it'),
        ('a.stl', b'solid nothing', 'has no vertices'),
        ('a.stl', bytes(range(256)), 'cannot be read'),
        ('a.obj', b'v 0 0 nan', 'not finite'),
        ('a.obj', b'v 0 zero 0', 'cannot be read'),
        ('a.obj', b'v 0 0\nv 1 2 3', 'cannot be read'),
    ],
)
def test_meshes_that_cannot_be_read_are_refused_with_a_remedy(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match=words):
        load(f'<mesh filename="{name}"/>', tmp_path / 'body.urdf')


@pytest.mark.parametrize(
    ('wish', 'words'),
    [
        ({'between': ('body',)}, 'name two different links'),
        ({'between': ('body', 'table')}, "there is no link 'table'; name one, or 'ground'"),
        ({'between': ('world', 'ground')}, 'welded together'),
        ({'law': 'glue'}, "there is no law 'glue'; choose one of hunt_crossley"),
        ({'roughness': 1.0}, "has no parameter 'roughness'"),
        ({'stiffness': 0.0}, 'stiffness is 0.0; give a value above zero'),
        ({'friction': -0.1}, 'friction is -0.1; give zero or more'),
        ({'shapes': {'wall': (HalfSpace(),)}}, "shapes names 'wall'"),
        ({'shapes': {'body': (HalfSpace(),)}}, 'a HalfSpace of body cannot touch'),
        ({'shapes': {'body': ()}}, 'has no <collision>'),
    ],
)
def test_pairs_that_cannot_touch_are_refused_with_a_remedy(wish, words):
    with pytest.raises(ModelError, match=words) as caught:
        load(**wish)
    assert "contact 'floor'" in str(caught.value)


@pytest.mark.parametrize('name', ['body', 'floating_base', 'world'])
def test_a_pair_needs_a_name_of_its_own(name):
    with pytest.raises(ModelError, match='share names'):
        load_urdf(
            _URDF.format(shape=BOX),
            base='floating',
            contacts={name: {'between': ('body', 'ground')}},
        )


def test_parameters_of_a_pair_have_names_units_and_priors():
    parameters = Parameters(load(friction=0.0, stiffness=7e4))
    assert [n for n in parameters if n.startswith('floor')] == [
        'floor.friction',
        'floor.dissipation',
        'floor.stiffness',
        'floor.slip_velocity',
    ]
    assert parameters['floor.friction'].nominal == 0
    prior = default_prior(parameters, 'floor.stiffness')
    assert (prior.mean, prior.is_log) == (7e4, True)
    assert parameters['floor.stiffness'].unit == 'N/m^1.5'
    assert default_prior(parameters, 'floor.friction').mean == 0


def test_a_posterior_is_of_robots_that_touch_the_same():
    texts = [
        describe_model(Parameters(load(shape))) for shape in (BOX, BOX, '<sphere radius="0.1"/>')
    ]
    assert texts[0] == texts[1] != texts[2]
    assert "contact 'floor'" in texts[0]


def test_steps_too_long_for_impacts_are_warned_of_once(caplog):
    model = load(stiffness=1e6)
    duration = 2.94 * (1.25 * 0.5 / 1e6) ** 0.4
    assert longest_step(model) == pytest.approx(duration / 10)
    warn_of_long_steps(model, 0.9 * longest_step(model))
    assert not caplog.text
    for _ in range(2):
        warn_of_long_steps(model, 2 * longest_step(model))
    assert caplog.text.count('too long for its contacts') == 1
    advised = float(re.search('Make steps at most ([^ ]*) s', caplog.text).group(1))
    assert 0.95 * longest_step(model) < advised < longest_step(model)
    assert longest_step(load_urdf(_URDF.format(shape=BOX), base='floating')) == float('inf')


def wishes(shape, **more):
    """Return what a config with such a shape asks for."""
    contact = ContactConfig(between=('body', 'ground'), shapes={'body': shape}, **more)
    return contact_wishes(Config(contacts={'floor': contact}))['floor']


def test_shapes_of_a_config_stand_in_for_those_of_the_urdf():
    pose = PlacementConfig(position=(0.0, 0.0, 0.5), rpy_degrees=(90.0, 0.0, 0.0))
    found = wishes(ShapeConfig('box', (0.1, 0.2, 0.1), pose=pose), friction=0.2)
    assert found['friction'] == 0.2
    assert 'stiffness' not in found
    assert isinstance(found['shapes']['body'][0], Box)
    model = load(**found | {'between': ('body', 'ground')})
    assert points(model)[0][:, 2].max() == pytest.approx(0.6)
    kinds = {
        'sphere': (ShapeConfig('sphere', radius=0.1), Sphere),
        'cylinder': (ShapeConfig('cylinder', radius=0.1, length=0.2), Points),
        'points': (ShapeConfig('points', points=(0.0, 0.1, 0.2)), Points),
        'plane': (ShapeConfig('plane'), HalfSpace),
    }
    for shape, kind in kinds.values():
        assert isinstance(wishes(shape)['shapes']['body'][0], kind)


@pytest.mark.parametrize(
    ('shape', 'words'),
    [
        (ShapeConfig('box'), 'contacts.floor.shapes.body.size: a box needs it'),
        (ShapeConfig('box', (1.0, 1.0)), 'give three edges above zero'),
        (ShapeConfig('sphere', (1.0,) * 3, 0.1), 'size: a sphere has no use for it'),
        (ShapeConfig('points', points=(1.0,) * 4), 'has 4 numbers; give x, y, z of each'),
    ],
)
def test_shapes_of_a_config_that_cannot_be_are_refused(shape, words):
    with pytest.raises(ConfigError, match=words):
        wishes(shape)
