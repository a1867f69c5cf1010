"""
Forward dynamics: Featherstone's articulated-body algorithm.

Three passes over the tree, in axes parallel to the world's about each body's own origin. Joints of
several degrees of freedom are eliminated one degree at a time, so there is no matrix to invert,
and a degree along a constant axis leaves structural zeros behind it. A prescribed joint is not
eliminated at all: to the rest of the robot it is rigid, and its acceleration is a bias.
"""

from dataclasses import dataclass

from ..model.robot import Robot
from ..spatial.inertia import ArticulatedInertia
from ..spatial.motion import Force, Motion
from ..spatial.scalar import add, is_constant, is_zero, mul, sub
from ..spatial.vector import Vec3
from .joint_forces import all_efforts
from .kinematics import from_columns, kinematics, to_columns
from .mass_matrix import dense_dynamics


@dataclass(frozen=True)
class Elimination:
    """One degree of freedom made to give way: its motion S, U = I S and 1 / (S.U + armature)."""

    column: Motion
    response: Force
    inverse: object


@dataclass(frozen=True)
class ArticulatedBody:
    """What is left of a body for its parent: the `Elimination`s last first, and the inertia."""

    eliminations: tuple
    inertia: ArticulatedInertia


@dataclass(frozen=True)
class ArticulatedSystem:
    """A robot at one position, ready to turn efforts into accelerations."""

    robot: Robot
    states: tuple
    bodies: tuple

    def solve(self, efforts):
        """
        Return M^-1 efforts, one scalar per velocity.

        M is the mass matrix of the joints that are not prescribed, beside ones for those that are.
        """
        count = len(self.bodies)
        still = [Motion.zero()] * count
        return _accelerations(self, efforts, [Force.zero()] * count, still, Motion.zero())


def forward_dynamics(robot, q, v, commands, wrenches=None):
    """
    Return the joint accelerations, one scalar per velocity.

    q, v: state; commands: one scalar per entry of `Model.commands`; wrenches: body index to a
    Force about the body's origin in world axes, acting from outside.
    """
    return solved_dynamics(robot, q, v, commands, wrenches)[0]


def solved_dynamics(robot, q, v, commands, wrenches=None, disturbances=None):
    """
    Return the joint accelerations and the system whose `solve` applies M^-1.

    disturbances: efforts on every velocity in addition to those of the drives, or None.
    """
    efforts = all_efforts(robot, q, v, commands)
    if disturbances is not None:
        efforts = [add(e, d) for e, d in zip(efforts, disturbances)]
    if _is_coupled(robot):
        return dense_dynamics(robot, q, v, efforts, wrenches)
    # Pass 1, outwards: where everything is and how it turns.
    states = kinematics(robot, q, v)
    # Pass 2, inwards: inertias and forces of the articulated bodies.
    inertias = [body.inertia.rotated(s.rotation) for body, s in zip(robot.bodies, states)]
    system = ArticulatedSystem(robot, tuple(states), articulate(robot, states, inertias))
    forces = [inertia.bias(state.omega) for inertia, state in zip(inertias, states)]
    for index, wrench in (wrenches or {}).items():
        forces[index] = forces[index] - wrench
    # Pass 3, outwards: accelerations; gravity enters as an upward acceleration of the base.
    base = Motion(Vec3.zero(), Vec3(0.0, 0.0, robot.gravity))
    biases = [_bias(body, state, efforts) for body, state in zip(robot.bodies, states)]
    return _accelerations(system, efforts, forces, biases, base), system


def _is_coupled(robot):
    """Tell whether the mass matrix has entries that no path through the tree explains."""
    return any(not body.moving.is_independent for body in robot.bodies) or any(
        not is_zero(coupling.physics['coupled_armature']) for coupling in robot.couplings
    )


def articulate(robot, states, inertias):
    """Return an `ArticulatedBody` for every body, from the BodyInertias in world axes."""
    total = [ArticulatedInertia.of_body(inertia) for inertia in inertias]
    result = [None] * len(robot.bodies)
    for body, state in reversed(list(zip(robot.bodies, states))):
        index = body.moving.index
        inertia, eliminations = total[index], []
        for column in () if body.moving.is_prescribed else reversed(state.columns):
            response = inertia * column
            armature = body.physics['armature']
            inverse = 1.0 / add(column.dot(response), armature)
            pivot = _pivot(column) if is_zero(armature) else None
            eliminations.append(Elimination(column, response, inverse))
            inertia = inertia.eliminated(response, inverse, pivot)
        result[index] = ArticulatedBody(tuple(eliminations), inertia)
        if body.parent >= 0:
            total[body.parent] = total[body.parent] + inertia.carried(state.offset)
    return tuple(result)


def _bias(body, state, efforts):
    """Return the bias acceleration of a body, with all of it where its joint is prescribed."""
    bias = state.bias
    if body.moving.is_prescribed:
        own = to_columns(body, state, efforts[body.moving.velocities])
        for column, value in zip(state.columns, own):
            bias = bias + column * value
    return bias


def _accelerations(system, efforts, forces, biases, base):
    """
    Return the joint accelerations of an `ArticulatedSystem`.

    efforts: one scalar per velocity, the acceleration where it is prescribed; forces: the Force
    that each body's motion must overcome; biases: each body's bias acceleration; base:
    acceleration of the world.
    """
    robot, states, articulated = system.robot, system.states, system.bodies
    forces = list(forces)
    drives = [None] * len(robot.bodies)
    for body, state in reversed(list(zip(robot.bodies, states))):
        index = body.moving.index
        own = to_columns(body, state, efforts[body.moving.velocities])
        force, drive = forces[index], []
        for elimination, effort in zip(articulated[index].eliminations, reversed(own)):
            left = sub(effort, elimination.column.dot(force))
            drive.append(left)
            force = force + elimination.response * mul(left, elimination.inverse)
        drives[index] = drive
        if body.parent >= 0:
            force = force + articulated[index].inertia * biases[index]
            forces[body.parent] = forces[body.parent] + force.carried(state.offset)

    motions, result = [], [0.0] * len(efforts)
    for body, state in zip(robot.bodies, states):
        index = body.moving.index
        parent = motions[body.parent] if body.parent >= 0 else base
        motion, own = parent.moved(state.offset) + biases[index], []
        steps = zip(articulated[index].eliminations, drives[index])
        for elimination, drive in reversed(list(steps)):
            value = mul(sub(drive, elimination.response.dot(motion)), elimination.inverse)
            motion = motion + elimination.column * value
            own.append(value)
        motions.append(motion)
        at = body.moving.velocities
        result[at] = efforts[at] if body.moving.is_prescribed else from_columns(body, state, own)
    return result


def _pivot(column):
    """Return the index of a motion that is a constant unit vector, else None."""
    components = tuple(column)
    if all(is_constant(c) for c in components) and sorted(components)[:5] == [0.0] * 5:
        return components.index(1.0) if 1.0 in components else None
    return None
