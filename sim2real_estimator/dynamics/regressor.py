"""The joint-torque regressor: inverse dynamics as a linear map of the standard parameters."""

from ..augmentation import FRICTION_SITES, joint_of
from ..model.friction import COUPLED, FRICTIONS
from ..spatial.inertia import BodyInertia, Symmetric3
from ..spatial.motion import Force
from ..spatial.scalar import mul
from ..spatial.vector import Vec3
from .joint_forces import coupled_columns, friction_columns, input_of
from .kinematics import joint_velocities, kinematics
from .rnea import body_accelerations, coupled_sum, gravity_efforts, project_forces

STANDARD_NAMES = (
    'mass',
    'mass*com.x',
    'mass*com.y',
    'mass*com.z',
    'xx',
    'yy',
    'zz',
    'xy',
    'xz',
    'yz',
)


def regressor_names(robot):
    """
    Return the names of the regressor's columns.

    Ten per body, named after the link behind its joint, with inertias about the body's origin
    (not the centre of mass); those of `FRICTIONS` that the joint has and armature per joint;
    those of `COUPLED` per coupling, named after its first joint; the output weights of networks.
    """
    names = [f'{b.moving.joint.child}.{n}' for b in robot.bodies for n in STANDARD_NAMES]
    names += [f'{b.moving.joint.name}.{n}' for b in robot.bodies for n in _joint_names(b)]
    names += [f'{c.joint}.{n}' for c in robot.couplings for n in COUPLED]
    return names + [n for placed in robot.networks for n in placed.network.weight_names]


def regressor_parameters(robot):
    """Return the values the regressor multiplies, in the order of its columns."""
    values = [x for b in robot.bodies for x in b.inertia]
    replaced = {p.network.site for p in robot.networks if p.network.mode == 'replace'}
    values += [
        0.0 if f'{b.moving.joint.name}.{n}' in replaced else b.physics[n]
        for b in robot.bodies
        for n in _joint_names(b)
    ]
    values += [c.physics[n] for c in robot.couplings for n in COUPLED]
    for placed in robot.networks:
        scale = 1.0
        if placed.network.mode == 'scale':
            joint, quantity = joint_of(placed.network.site)
            scale = _body_of(robot, joint).physics[quantity]
        values += [mul(scale, weight) for weight in placed.weights]
    return values


def regressor(robot, q, v, acceleration, load=None):
    """
    Return Y, a list of columns of scalars, with Y * regressor_parameters = effort.

    The effort is what the drives must deliver: inertia, gravity, all friction and armatures; no
    springs, no wrenches. load: the effort that holds the bodies against gravity in q, one scalar
    per velocity, by which friction that depends on it multiplies; None: that of `robot`. It
    makes its column depend on masses, in which the whole is linear only for a load that is given.
    """
    states = kinematics(robot, q, v)
    columns = _of_bodies(robot, states, body_accelerations(robot, states, acceleration))
    load = gravity_efforts(robot, q, len(v)) if load is None else load
    for body in robot.bodies:
        own = friction_columns(body, v, load[body.moving.velocities.start], is_complete=True)
        for values in (*own.values(), joint_velocities(body, acceleration)):
            column = [0.0] * len(v)
            column[body.moving.velocities] = [mul(body.moving.multiplier, x) for x in values]
            columns.append(column)
    for coupling in robot.couplings:
        own = coupled_columns(coupling, v, is_complete=True)
        for value in (coupled_sum(coupling, acceleration), *own.values()):
            columns.append([value if k in coupling.velocities else 0.0 for k in range(len(v))])
    return columns + _of_networks(robot, q, v, load)


def _of_networks(robot, q, v, load):
    """
    Return the columns of the output weights of all networks.

    Sites of other modes and kinds than these are refused where torques are measured: the measured
    torque would have to be divided by what a network says of it.
    """
    columns, quantity = [], input_of(robot, q, v, (), load)
    for placed in robot.networks:
        network, (joint, kind) = placed.network, joint_of(placed.network.site)
        body, per_unit = _body_of(robot, joint), -1.0
        at = body.moving.velocities.start
        if kind in FRICTION_SITES:
            per_unit = friction_columns(body, v, load[at], is_complete=True)[kind][0]
        for feature in network.features([quantity(name) for name in network.inputs]):
            column = [0.0] * len(v)
            column[at] = mul(per_unit, feature)
            columns.append(column)
    return columns


def _body_of(robot, joint):
    return next(body for body in robot.bodies if body.moving.joint.name == joint)


def gravity_regressor(robot, q, upward):
    """
    Return the columns of bodies for a robot at rest under any gravity, scalars per velocity.

    upward: `Vec3`, gravity's acceleration turned round, in world axes [m/s^2].
    """
    rest = [0.0] * max((b.moving.velocities.stop for b in robot.bodies), default=0)
    states = kinematics(robot, q, rest)
    return _of_bodies(robot, states, body_accelerations(robot, states, rest, upward))


def _of_bodies(robot, states, accelerations):
    """Return the columns of the standard parameters of all bodies, ten of each."""
    none, columns = [Force.zero() for _ in robot.bodies], []
    for index, (state, motion) in enumerate(zip(states, accelerations)):
        for k in range(len(STANDARD_NAMES)):
            body = unit_body(k).rotated(state.rotation)
            forces = list(none)
            forces[index] = body.force(motion, state.omega)
            columns.append(project_forces(robot, states, forces))
    return columns


def _joint_names(body):
    """Return the names of the columns of a joint."""
    return [name for name in (*FRICTIONS, 'armature') if name in body.physics]


def unit_body(k):
    """Return the body whose k-th standard parameter is one and whose others are zero."""
    e = [1.0 if i == k else 0.0 for i in range(len(STANDARD_NAMES))]
    return BodyInertia(e[0], Vec3(*e[1:4]), Symmetric3(*e[4:]))
