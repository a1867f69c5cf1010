"""Robots that touch something, for the tests of contacts."""

import torch

from sim2real_estimator.model.urdf.load import load_urdf

MASS, RADIUS, EDGE = 0.5, 0.1, 0.2

_LINK = """
<link name="{name}">
  <inertial><mass value="{mass}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{shape}</geometry></collision>
</link>"""
SPHERE = f'<sphere radius="{RADIUS}"/>'
BOX = f'<box size="{EDGE} {EDGE} {EDGE}"/>'


def body(shape=SPHERE, **physics):
    """Return a body that flies and may touch the ground; physics: values of the contact."""
    return load_urdf(
        f'<robot name="body">{link("body", shape)}</robot>',
        base='floating',
        contacts={'floor': {'between': ('body', 'ground'), **physics}},
    )


def link(name, shape=SPHERE, mass=MASS):
    """Return the text of a link."""
    return _LINK.format(name=name, shape=shape, mass=mass, i=0.004)


def pair(shape=SPHERE, other=SPHERE, joint='floating', **physics):
    """Return two bodies, `ours` and `theirs`, that can touch each other."""
    joints = ''.join(
        f'<joint name="of_{name}" type="{joint}"><parent link="base"/><child link="{name}"/>'
        '<limit effort="1" velocity="1" lower="-9" upper="9"/></joint>'
        for name in ('ours', 'theirs')
    )
    text = f'<link name="base"/>{link("ours", shape)}{link("theirs", other)}{joints}'
    commands = {} if joint == 'floating' else {'of_ours': 'passive', 'of_theirs': 'passive'}
    return load_urdf(
        f'<robot name="pair">{text}</robot>',
        actuators=commands,
        contacts={'hit': {'between': ('ours', 'theirs'), **physics}},
    )


def state(model, **entries):
    """Return a neutral state [nx, 1] with entries by their number, as x3=0.1."""
    values = [*model.neutral_positions(), *[0.0] * model.velocity_size]
    for key, value in entries.items():
        values[int(key.removeprefix('x'))] = value
    return torch.tensor(values, dtype=torch.float64)[:, None]
