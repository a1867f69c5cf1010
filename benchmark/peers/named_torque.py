"""The torque that named parameters of our package say a motion needs, by Pinocchio."""

import re

import numpy as np
import pinocchio as pin

# Speed over which the sign of friction changes, where no `JOINT.friction_velocity` is given, and
# how many times that the Stribeck effect reaches [rad/s].
FRICTION_VELOCITY, STRIBECK_REACH = 0.02, 5.0


def pinocchio_model(urdf):
    """
    Return Pinocchio's model of the text of a URDF.

    Joints that turn without end are ones that turn as far as numbers do: every joint then has one
    coordinate, in all its places.
    """
    return pin.buildModelFromXML(re.sub(r'type=(["\'])continuous\1', 'type="revolute"', urdf))


def links_of(model):
    """Return joint -> name of the link that it moves, other links of the same body left out."""
    links = {}
    for frame in model.frames:
        is_first = frame.type == pin.FrameType.BODY and frame.parentJoint not in links
        if is_first and frame.placement.isIdentity():
            links[frame.parentJoint] = frame.name
    return {model.names[k]: name for k, name in links.items() if k}


def numbers_of_bodies(model, values):
    """
    Return Pinocchio's ten numbers of every joint's body, one after the other, [10 nv].

    values: as in `torque_of_named`; no body has to have them: least squares finds any.
    """
    found, links = [], links_of(model)
    for joint in list(model.names)[1:]:
        link, given = links.get(joint), model.inertias[model.getJointId(joint)]
        if f'{link}.mass' not in values:
            found.append(given.toDynamicParameters())
            continue
        mass = values[f'{link}.mass']
        com = np.array([values.get(f'{link}.com.{x}', c) for x, c in zip('xyz', given.lever)])
        about = np.empty((3, 3))
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            name = f'{link}.inertia.{"xyz"[i]}{"xyz"[j]}'
            about[i, j] = about[j, i] = values.get(name, given.inertia[i, j])
        about += mass * (com @ com * np.eye(3) - np.outer(com, com))
        entries = [about[0, 0], about[0, 1], about[1, 1], about[0, 2], about[1, 2], about[2, 2]]
        found.append(np.array([mass, *(mass * com), *entries]))
    return np.concatenate(found)


def torque_of_named(model, values, joints, q, v, a):
    """
    Return the torques [N, n] that a motion needs of the motors [N m].

    model: Pinocchio's, of one coordinate per joint; values: named parameter -> value: LINK.mass,
    .com.x, .inertia.xx (about the centre, along the axes of the link), JOINT.armature, .damping,
    .friction, .friction_velocity, .stribeck, .load_friction, .torque_offset, each zero where it
    is missing, bodies as in the model; joints: names of the columns of q, v, a [N, n].
    """
    bodies, data, still = numbers_of_bodies(model, values), model.createData(), np.zeros(model.nv)
    columns = [model.joints[model.getJointId(name)].idx_v for name in joints]
    rigid, weight = np.empty(v.shape), np.empty(v.shape)
    full = np.zeros((3, len(q), model.nv))
    full[:, :, columns] = q, v, a
    for k, (x, y, z) in enumerate(full.transpose(1, 0, 2)):
        rigid[k] = (pin.computeJointTorqueRegressor(model, data, x, y, z) @ bodies)[columns]
        at_rest = pin.computeJointTorqueRegressor(model, data, x, still, still)
        weight[k] = (at_rest @ bodies)[columns]

    def column(word, default=0.0):
        return np.array([values.get(f'{joint}.{word}', default) for joint in joints])

    width = column('friction_velocity', FRICTION_VELOCITY)
    sign = np.tanh(v / width)
    near_rest = np.exp(-((v / (STRIBECK_REACH * width)) ** 2))
    level = column('friction') + column('load_friction') * np.abs(weight)
    level = level + column('stribeck') * near_rest
    losses = column('damping') * v + level * sign
    return rigid + column('armature') * a + losses + column('torque_offset')
