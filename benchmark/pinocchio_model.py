"""
The same robot in Pinocchio, asked and answered in this package's conventions.

What differs there: quaternions are x, y, z, w; a free or planar joint moves by velocities along
the body's own axes; a planar joint has the normal z; unbounded hinges may have the coordinates
cos, sin. All of this is linear in the velocities: v_pin = N v, a_pin = N a + drift.
"""

import numpy as np
import pinocchio as pin

from sim2real_estimator.spatial.inertia import Symmetric3, SYMMETRIC_ENTRIES
from sim2real_estimator.spatial.rotation import Rotation

# Pinocchio's order of the ten parameters is m, mc, xx, xy, yy, xz, yz, zz; entry k of ours is
# found there at OURS_IN_PIN[k].
OURS_IN_PIN = (0, 1, 2, 3, 4, 6, 9, 5, 7, 8)


def convert(model):
    """Return the Pinocchio model of a `Model`, followers free; the base link has no mass."""
    result = pin.Model()
    places = {model.base: (0, pin.SE3.Identity())}
    armature = []
    for joint in model.ordered_joints:
        parent, place = places[joint.parent]
        here = place * pin.SE3(_matrix(joint.rotation), np.array(joint.origin))
        if joint.is_fixed:
            places[joint.child] = parent, here
        else:
            turn = pin.SE3(normal_turn(joint), np.zeros(3))
            kind = _joint_model(joint)
            index = result.addJoint(parent, kind, here * turn, joint.name)
            places[joint.child] = index, turn.inverse()
            armature += [joint.physics.armature if joint.mimic is None else 0.0] * kind.nv
    result.armature = np.array(armature)
    for link in model.links:
        parent, place = places[link.name]
        if link.inertial and parent:
            moments = _matrix(Symmetric3(*link.inertial.inertia))
            body = pin.Inertia(link.inertial.mass, np.array(link.inertial.centre), moments)
            result.appendBodyToJoint(parent, body, place)
        result.addFrame(pin.Frame(link.name, parent, 0, place, pin.FrameType.BODY))
    return result


def _joint_model(joint):
    """Return Pinocchio's joint of that type."""
    name = joint.kind.type_name
    if name in ('revolute', 'continuous'):
        return pin.JointModelRevoluteUnaligned(np.array(tuple(joint.kind.axis)))
    if name == 'prismatic':
        return pin.JointModelPrismaticUnaligned(np.array(tuple(joint.kind.axis)))
    return {
        'spherical': pin.JointModelSpherical,
        'planar': pin.JointModelPlanar,
        'free': pin.JointModelFreeFlyer,
    }[name]()


def normal_turn(joint):
    """Return the shortest rotation from z to a planar joint's normal, else the identity."""
    if joint.kind.type_name != 'planar':
        return np.eye(3)
    normal = np.array(tuple(joint.kind.axis))
    if normal[2] < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])  # of all half turns the one our joint documents
    return pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).toRotationMatrix()


def _matrix(rows_or_symmetric):
    """Return a Rotation or a Symmetric3 as an array."""
    rows = rows_or_symmetric.rows
    rows = rows if isinstance(rows_or_symmetric, Rotation) else rows()
    return np.array([tuple(row) for row in rows])


class PinocchioModel:
    """Answers of Pinocchio for a `Model`; arrays of floats in and out, wrenches by body."""

    def __init__(self, model, pin_model=None):
        """
        Take our model, and Pinocchio's own reading of the same robot if there is one.

        pin_model: its joints and body frames must carry the names of ours; a joint of ours that
        has none there is the floating base, its joint 1.
        """
        self.model = model
        self.pin = convert(model) if pin_model is None else pin_model
        self.data = self.pin.createData()
        self.joints = [
            self.pin.getJointId(m.joint.name) if self.pin.existJointName(m.joint.name) else 1
            for m in model.moving_joints
        ]
        self.turns = [normal_turn(m.joint) for m in model.moving_joints]

    def _pairs(self):
        """Yield (MovingJoint, Pinocchio's joint)."""
        for moving, index in zip(self.model.moving_joints, self.joints):
            yield moving, self.pin.joints[index]

    def positions(self, q):
        """Return Pinocchio's coordinates."""
        result = np.zeros(self.pin.nq)
        for moving, there in self._pairs():
            own = np.array(q[moving.positions])
            if not moving.is_independent:
                own = moving.multiplier * own + moving.shift
            name = moving.joint.kind.type_name
            if name in ('spherical', 'free'):
                own = np.array([*own[:-4], *own[-3:], own[-4]])
            elif name == 'planar' or there.nq > len(own):
                own = np.array([*own[:-1], np.cos(own[-1]), np.sin(own[-1])])
            result[there.idx_q : there.idx_q + there.nq] = own
        return result

    def velocity_map(self, q):
        """Return N, by which v_pin = N v."""
        result = np.zeros((self.pin.nv, self.model.velocity_size))
        for moving, there in self._pairs():
            block = np.eye(there.nv) * moving.multiplier
            name = moving.joint.kind.type_name
            own = q[moving.positions]
            if name == 'free':
                w, x, y, z = own[3:]
                block[:3, :3] = pin.Quaternion(w, x, y, z).toRotationMatrix().T
            elif name == 'planar':
                c, s = np.cos(own[2]), np.sin(own[2])
                block[:2, :2] = [[c, s], [-s, c]]
            result[there.idx_v : there.idx_v + there.nv, moving.velocities] = block
        return result

    def drift(self, q, v):
        """Return dN/dt v: what the turning of the body's axes adds to the acceleration."""
        result = np.zeros(self.pin.nv)
        v_pin = self.velocity_map(q) @ v
        for moving, there in self._pairs():
            own = v_pin[there.idx_v : there.idx_v + there.nv]
            name = moving.joint.kind.type_name
            if name == 'free':
                result[there.idx_v : there.idx_v + 3] = -np.cross(own[3:], own[:3])
            elif name == 'planar':
                result[there.idx_v : there.idx_v + 2] = own[2] * own[1], -own[2] * own[0]
        return result

    def _external(self, q_pin, wrenches):
        """Return Pinocchio's forces, in each joint's own axes, linear part first."""
        forces = [pin.Force.Zero() for _ in range(self.pin.njoints)]
        pin.forwardKinematics(self.pin, self.data, q_pin)
        for index, wrench in zip(self.joints, wrenches):
            to_own = self.data.oMi[index].rotation.T
            moment, force = np.array(wrench[:3]), np.array(wrench[3:])
            forces[index] = pin.Force(to_own @ force, to_own @ moment)
        return forces

    def forward_dynamics(self, q, v, effort, wrenches):
        """Return the accelerations; of robots with followers by their reduced mass matrix."""
        n, drift, q_pin = self.velocity_map(q), self.drift(q, v), self.positions(q)
        if self.model.has_mimics:
            bias = self.inverse_dynamics(q, v, np.zeros(len(v)), wrenches)
            return np.linalg.solve(self.mass_matrix(q), np.array(effort) - bias)
        # A rotor takes part in our acceleration, not in the drift of Pinocchio's.
        effort = n @ effort + self.pin.armature * drift
        external = self._external(q_pin, wrenches)
        found = pin.aba(self.pin, self.data, q_pin, n @ v, effort, external)
        return n.T @ (found - drift)

    def inverse_dynamics(self, q, v, acceleration, wrenches):
        """Return the efforts."""
        n, drift, q_pin = self.velocity_map(q), self.drift(q, v), self.positions(q)
        external = self._external(q_pin, wrenches)
        a_pin = n @ acceleration + drift
        effort = pin.rnea(self.pin, self.data, q_pin, n @ v, a_pin, external)
        return n.T @ (effort - self.pin.armature * drift)

    def mass_matrix(self, q):
        """Return the mass matrix, reduced to the independent joints."""
        n = self.velocity_map(q)
        return n.T @ np.array(pin.crba(self.pin, self.data, self.positions(q))) @ n

    def regressor(self, q, v, acceleration):
        """Return the matrix of the inertial parameters of all bodies, ten columns each."""
        n = self.velocity_map(q)
        a_pin = n @ acceleration + self.drift(q, v)
        columns = pin.computeJointTorqueRegressor(
            self.pin, self.data, self.positions(q), n @ v, a_pin
        )
        columns = columns.reshape(self.pin.nv, -1)  # one row comes back as a plain vector
        blocks = []
        for index, turn in zip(self.joints, self.turns):
            block = n.T @ columns[:, 10 * (index - 1) : 10 * index]
            blocks.append(block[:, OURS_IN_PIN] @ _parameter_turn(turn.T))
        return np.hstack(blocks)

    def link_poses(self, q, v):
        """Return link name to rotation by rows, position, angular velocity, velocity: floats."""
        q_pin = self.positions(q)
        pin.forwardKinematics(self.pin, self.data, q_pin, self.velocity_map(q) @ v)
        pin.updateFramePlacements(self.pin, self.data)
        result = {}
        for link in self.model.links:
            is_known = self.pin.existFrame(link.name, pin.FrameType.BODY)
            # Of our links only the added 'world' is not in Pinocchio's reading; its frame 0 is.
            frame = self.pin.getFrameId(link.name, pin.FrameType.BODY) if is_known else 0
            place = self.data.oMf[frame]
            velocity = pin.getFrameVelocity(
                self.pin, self.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            parts = place.rotation.ravel(), place.translation, velocity.angular, velocity.linear
            result[link.name] = np.concatenate(parts)
        return result

    def energies(self, q, v):
        """Return the kinetic and the potential energy [J]."""
        q_pin, v_pin = self.positions(q), self.velocity_map(q) @ v
        # Pinocchio 4.1 forgets the rotors of hinges about oblique axes: added by hand instead.
        rotors, self.pin.armature = self.pin.armature.copy(), np.zeros(self.pin.nv)
        kinetic = pin.computeKineticEnergy(self.pin, self.data, q_pin, v_pin)
        self.pin.armature = rotors
        potential = pin.computePotentialEnergy(self.pin, self.data, q_pin)
        return kinetic + 0.5 * rotors @ v_pin**2, potential

    def momentum(self, q, v):
        """Return the linear and the angular momentum, the latter about the world's origin."""
        q_pin, v_pin = self.positions(q), self.velocity_map(q) @ v
        about_centre = pin.computeCentroidalMomentum(self.pin, self.data, q_pin, v_pin)
        linear = np.array(about_centre.linear)
        centre = pin.centerOfMass(self.pin, self.data, q_pin)
        return linear, about_centre.angular + np.cross(centre, linear)

    def answers(self, state):
        """
        Return all of the above for a state, as what JSON can hold.

        state: dict of q, v, acceleration, effort and wrenches; the mass matrix comes as the rows
        of its lower triangle, the regressor by columns.
        """
        q, v, effort = state['q'], state['v'], state['effort']
        acceleration, wrenches = state['acceleration'], state['wrenches']
        matrix = self.mass_matrix(q)
        at_rest = np.zeros(len(v))
        return {
            'acceleration': self.forward_dynamics(q, v, effort, wrenches).tolist(),
            'effort': self.inverse_dynamics(q, v, acceleration, wrenches).tolist(),
            'bias': self.inverse_dynamics(q, v, at_rest, wrenches).tolist(),
            'mass_matrix': [row[: i + 1].tolist() for i, row in enumerate(matrix)],
            'regressor': self.regressor(q, v, acceleration).T.tolist(),
            'links': {name: x.tolist() for name, x in self.link_poses(q, v).items()},
            'energies': [float(energy) for energy in self.energies(q, v)],
            'momentum': np.concatenate(self.momentum(q, v)).tolist(),
        }


def _parameter_turn(rotation):
    """Return the 10x10 matrix by which ten parameters (our order) change under a rotation."""
    result = np.zeros((10, 10))
    result[0, 0] = 1.0
    result[1:4, 1:4] = rotation
    for k in range(6):
        unit = _matrix(Symmetric3(*(1.0 if i == k else 0.0 for i in range(6))))
        turned = rotation @ unit @ rotation.T
        result[4:, 4 + k] = [turned[i, j] for i, j in SYMMETRIC_ENTRIES]
    return result
