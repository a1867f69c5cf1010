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


def with_bodies(model, values):
    """Return a copy of Pinocchio's model with the bodies that are named; others stay."""
    result = pin.Model(model)
    for joint, link in links_of(model).items():
        k = model.getJointId(joint)
        if f'{link}.mass' not in values:
            continue
        given = model.inertias[k]
        com = [values.get(f'{link}.com.{x}', given.lever[i]) for i, x in enumerate('xyz')]
        inertia = np.empty((3, 3))
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            name = f'{link}.inertia.{"xyz"[i]}{"xyz"[j]}'
            inertia[i, j] = inertia[j, i] = values.get(name, given.inertia[i, j])
        mass = values[f'{link}.mass']
        result.inertias[k] = pin.Inertia(mass, np.array(com, dtype=float), inertia)
    return result


def torque_of_named(model, values, joints, q, v, a):
    """
    Return the torques [N, n] that a motion needs of the motors [N m].

    model: Pinocchio's, of one coordinate per joint; values: named parameter -> value: LINK.mass,
    .com.x, .inertia.xx (about the centre, along the axes of the link), JOINT.armature, .damping,
    .friction, .friction_velocity, .stribeck, .load_friction, .torque_offset, each zero where it
    is missing, bodies as in the model; joints: names of the columns of q, v, a [N, n].
    """
    robot = with_bodies(model, values)
    data, count, n = robot.createData(), len(q), len(joints)
    columns = [robot.joints[robot.getJointId(name)].idx_v for name in joints]
    rigid, weight = np.empty((count, n)), np.empty((count, n))
    full = np.zeros((3, count, robot.nv))
    full[:, :, columns] = q, v, a
    for k in range(count):
        rigid[k] = pin.rnea(robot, data, full[0, k], full[1, k], full[2, k])[columns]
        weight[k] = pin.computeGeneralizedGravity(robot, data, full[0, k])[columns]

    def column(word, default=0.0):
        return np.array([values.get(f'{joint}.{word}', default) for joint in joints])

    width = column('friction_velocity', FRICTION_VELOCITY)
    sign = np.tanh(v / width)
    near_rest = np.exp(-((v / (STRIBECK_REACH * width)) ** 2))
    level = column('friction') + column('load_friction') * np.abs(weight)
    level = level + column('stribeck') * near_rest
    losses = column('damping') * v + level * sign
    return rigid + column('armature') * a + losses + column('torque_offset')
