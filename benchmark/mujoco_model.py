"""
The same robot in MuJoCo, where the two can describe the same.

They agree on quaternions (w, x, y, z), on the velocities of free and ball joints and on the
semi-implicit Euler step. Left out: friction (a constraint there), springs of joints of several
degrees of freedom, followers, and free joints but at an unmoved origin.
"""

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

_KINDS = {
    'revolute': 'hinge',
    'continuous': 'hinge',
    'prismatic': 'slide',
    'spherical': 'ball',
    'free': 'free',
}


def convert(model, step):
    """Return MuJoCo's model of a `Model`; step: of its integrator [s]."""
    root = ElementTree.Element('mujoco')
    ElementTree.SubElement(root, 'compiler', angle='radian')
    option = ElementTree.SubElement(
        root, 'option', timestep=repr(step), gravity='0 0 -9.81', integrator='Euler'
    )
    # With it damping would be taken at the end of the step, and ours is taken at its start.
    ElementTree.SubElement(option, 'flag', eulerdamp='disable')
    bodies = {model.base: ElementTree.SubElement(root, 'worldbody')}
    for joint in model.ordered_joints:
        bodies[joint.child] = _add_body(bodies[joint.parent], joint, model.link(joint.child))
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))


def _add_body(parent, joint, link):
    """Append the child of a joint to its parent and return it."""
    quaternion = np.empty(4)
    matrix = np.array([tuple(row) for row in joint.rotation.rows])
    mujoco.mju_mat2Quat(quaternion, matrix.ravel())
    body = ElementTree.SubElement(
        parent, 'body', name=link.name, pos=_text(joint.origin), quat=_text(quaternion)
    )
    for kind, axis in _joints(joint):
        _add_joint(body, kind, axis, joint.physics)
    if link.inertial:
        ElementTree.SubElement(
            body,
            'inertial',
            mass=repr(link.inertial.mass),
            pos=_text(link.inertial.centre),
            fullinertia=_text(link.inertial.inertia),
        )
    return body


def _joints(joint):
    """Return (type, axis) of MuJoCo's joints for one of ours."""
    name = joint.kind.type_name
    if name == 'fixed':
        return []
    if name == 'planar':
        along, about = joint.kind.groups
        return [*(('slide', axis) for axis in along.axes), ('hinge', about.axes[0])]
    return [(_KINDS[name], joint.kind.groups[0].axes[0])]


def _add_joint(body, kind, axis, physics):
    element = ElementTree.SubElement(
        body, 'joint', type=kind, damping=repr(physics.damping), armature=repr(physics.armature)
    )
    if kind in ('hinge', 'slide'):
        element.set('axis', _text(axis))
        element.set('stiffness', repr(physics.stiffness))
        element.set('springref', repr(physics.rest))


def _text(values):
    return ' '.join(repr(float(x)) for x in values)


def step(model, there, state):
    """
    Return (q, v) after one step of MuJoCo.

    model: ours; there: what `convert` made of it; state: dict of q, v, effort and wrenches.
    """
    data = mujoco.MjData(there)
    data.qpos[:], data.qvel[:] = state['q'], state['v']
    data.qfrc_applied[:] = state['effort']
    mujoco.mj_kinematics(there, data)
    mujoco.mj_comPos(there, data)
    for moving, wrench in zip(model.moving_joints, state['wrenches']):
        body = data.body(moving.joint.child)
        moment, force = np.array(wrench[:3]), np.array(wrench[3:])
        # It acts at the centre of mass there, at the origin of the body here.
        moment = moment - np.cross(body.xipos - body.xpos, force)
        data.xfrc_applied[body.id] = [*force, *moment]
    mujoco.mj_step(there, data)
    return data.qpos.tolist(), data.qvel.tolist()
