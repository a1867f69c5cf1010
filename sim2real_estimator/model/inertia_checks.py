"""Whether the masses of a robot are possible, and whether they resist every motion."""

from dataclasses import replace
import math

import numpy as np

from ..errors import ModelError
from ..spatial.inertia import ArticulatedInertia, BodyInertia, Symmetric3, SYMMETRIC_ENTRIES
from ..spatial.rotation import Rotation
from ..spatial.vector import Vec3

# Descriptions hold five or six digits, and flat or slender parts lie on the edge of the possible.
_ROUNDING = 1e-5
# What CAD exporters leave where they mean zero [kg m^2]; a grain of sand has more.
_DUST = 1e-15
# Resistance to a motion relative to the same without free joints further down; rounding leaves
# 1e-16 where there is none, a real robot keeps more than 1e-6.
_LEAST_RESISTANCE = 1e-10
# How flat or slender a mended body may be: the least of its second moments of mass by the largest.
_SLENDEREST = 0.05
# Of a body that is described as a point [kg/m^3].
_DENSITY = 1000.0


def infeasible_inertias(model):
    """Return a description of each link on a moving body that no mass distribution can have."""
    problems = []
    for link in model.links:
        if link.inertial is None or model.attachments[link.name].body < 0:
            continue
        fault = fault_of(link.inertial)
        if fault:
            problems.append(f"{model.source}: link '{link.name}': {fault}")
    return problems


def fault_of(inertial):
    """Return what is impossible about mass properties, or None; a point or a rod is possible."""
    if inertial.mass < 0:
        return f'its mass {inertial.mass:g} kg is negative'
    if inertial.mass == 0 and max(abs(x) for x in inertial.inertia) > _DUST:
        return 'it has an inertia but no mass'
    rows = [list(row) for row in Symmetric3(*inertial.inertia).rows()]
    moments = np.linalg.eigvalsh(rows)
    smallest, middle, largest = moments
    tolerance = max(_ROUNDING * np.abs(moments).sum(), _DUST)
    listed = ', '.join(f'{moment:.4g}' for moment in moments)
    if smallest < -tolerance:
        return f'its inertia is indefinite: the principal moments are {listed} kg m^2'
    if largest > smallest + middle + tolerance:
        return (
            'its inertia breaks the triangle inequality: of the principal moments '
            f'{listed} kg m^2 the largest exceeds the sum of the others'
        )
    return None


def mended(inertial):
    """
    Return the `Inertial` nearest to one that no body can have: of the same mass and centre.

    Its second moments of mass keep their axes, and those that are too small become those of a
    slender body. A negative mass stays, as nothing tells what was meant.
    """
    if inertial.mass < 0:
        return inertial
    inertia = np.array([list(row) for row in Symmetric3(*inertial.inertia).rows()])
    moments, axes = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    if inertial.mass == 0 or moments[-1] <= 0:
        return replace(inertial, inertia=(0.0,) * 6)
    moments = np.maximum(moments, _SLENDEREST * moments[-1])
    second = axes * moments @ axes.T
    inertia = np.trace(second) * np.eye(3) - second
    return replace(inertial, inertia=tuple(float(inertia[i, j]) for i, j in SYMMETRIC_ENTRIES))


def is_point(inertial):
    """Tell whether a body has mass and no extent."""
    return inertial.mass > 0 and max(map(abs, inertial.inertia)) <= _DUST


def ball(inertial):
    """Return the `Inertial` of a ball as dense as water, of the same mass and centre."""
    moment = 0.4 * inertial.mass * (3 * inertial.mass / (4 * math.pi * _DENSITY)) ** (2 / 3)
    entries = tuple(moment if i == j else 0.0 for i, j in SYMMETRIC_ENTRIES)
    return replace(inertial, inertia=entries)


def check_resistance(model):
    """
    Raise a ModelError if a joint can move without moving mass: nothing would limit it.

    The backward pass of the articulated-body algorithm, in an arbitrary configuration so that
    no axes line up by chance. Followers count as locked, their resistance as their leader's.
    """
    placements, columns = _generic_placements(model)
    free = [ArticulatedInertia.of_body(body) for body in _body_inertias(model, placements)]
    locked = list(free)
    moving_joints = model.moving_joints
    for moving in reversed(moving_joints):
        if moving.parent >= 0:
            offset = _offset(placements, moving_joints[moving.parent].joint, moving.joint)
            locked[moving.parent] += locked[moving.index].carried(offset)
    borrowed = _follower_resistances(moving_joints, locked, columns)
    for moving in reversed(moving_joints):
        inertia = free[moving.index]
        if moving.is_independent:
            inertia = _with_joint_free(
                model, moving, inertia, locked[moving.index], columns[moving.index], borrowed
            )
        if moving.parent >= 0:
            offset = _offset(placements, moving_joints[moving.parent].joint, moving.joint)
            free[moving.parent] += inertia.carried(offset)


def _with_joint_free(model, moving, inertia, locked, columns, borrowed):
    """Return the inertia left above a joint once each of its freedoms gives way."""
    moment_scale = sum(locked.rows[i][i] for i in range(3))
    mass = locked.rows[5][5]
    extra = moving.joint.physics.armature + borrowed.get(moving.velocities.start, 0.0)
    for motion, is_rotation in columns:
        response = inertia * motion
        resistance = motion.dot(response) + extra
        scale = (moment_scale if is_rotation else mass) + extra
        # Written so that NaN, from masses beyond all range, is refused as well.
        if not resistance > _LEAST_RESISTANCE * scale:
            raise _unresisted(model, moving.joint, mass)
        inertia = inertia.eliminated(response, 1.0 / resistance, None)
    return inertia


def _unresisted(model, joint, mass):
    """Return the error for a joint whose acceleration would be infinite."""
    if mass == 0:
        cause = f"link '{joint.child}' and all that hangs on it have no mass"
    else:
        cause = (
            f"link '{joint.child}' and what hangs on it have no inertia in a direction "
            'this joint leaves free'
        )
    return ModelError(
        f"{model.source}: joint '{joint.name}': nothing resists its motion, as {cause}; give "
        f"link '{joint.child}' an <inertial> with mass and inertia, give the joint an armature, "
        f"or weld it by joint_types={{'{joint.name}': 'fixed'}}"
    )


def _follower_resistances(moving_joints, locked, columns):
    """Return the resistance of all followers of a joint by the start of its velocity slice."""
    sums = {}
    for moving in moving_joints:
        if not moving.is_independent:
            ((motion, _),) = columns[moving.index]
            own = motion.dot(locked[moving.index] * motion) + moving.joint.physics.armature
            start = moving.velocities.start
            sums[start] = sums.get(start, 0.0) + own * moving.multiplier * moving.multiplier
    return sums


def _body_inertias(model, placements):
    """Return the BodyInertia of each moving body about its origin, along the world's axes."""
    bodies = [BodyInertia.zero() for _ in model.moving_joints]
    for link in model.links:
        body = model.attachments[link.name].body
        if link.inertial is None or body < 0:
            continue
        rotation, position = placements[link.name]
        origin = placements[model.moving_joints[body].joint.child][1]
        inertial = link.inertial
        bodies[body] += (
            BodyInertia.from_centre(
                inertial.mass, Vec3(*inertial.centre), Symmetric3(*inertial.inertia)
            )
            .rotated(rotation)
            .moved(position - origin)
        )
    return bodies


def _generic_placements(model):
    """
    Place the robot in an arbitrary configuration.

    Returns the (Rotation, Vec3 [m]) of each link in the world by name, and for each moving joint
    its motions of unit speed as (Motion, whether a rotation).
    """
    placements = {model.base: (Rotation.identity(), Vec3.zero())}
    columns = []
    for joint in model.ordered_joints:
        kind = joint.kind
        rotation, position = placements[joint.parent]
        position += rotation * Vec3(*joint.origin)
        rotation *= joint.rotation
        speeds = [math.sin(len(columns) + k + 1.0) for k in range(kind.velocity_size)]
        turn, shift = kind.placement(kind.advance(kind.neutral(), speeds, 1.0))
        child_rotation = rotation * turn
        placements[joint.child] = (child_rotation, position + rotation * shift)
        if not joint.is_fixed:
            columns.append(
                [
                    (motion, group.is_rotation)
                    for group in kind.groups
                    for motion in group.columns(child_rotation if group.is_rotation else rotation)
                ]
            )
    return placements, columns


def _offset(placements, parent, child):
    """Return the way from the origin of one moving body to that of the next [m]."""
    return placements[child.child][1] - placements[parent.child][1]
