"""
Robot arms in MuJoCo that differ from their URDFs, as real ones do.

The plant of the section `workday`: nothing of our package simulates here. A URDF of
example-robot-data is read by MuJoCo itself; then its bodies are replaced by the hidden ones, and
its joints get rotors, friction that sticks, and maybe springs between motor and link.
"""

from dataclasses import dataclass, replace
from pathlib import Path
import sysconfig
from xml.etree import ElementTree

import mujoco
import numpy as np
from scipy.linalg import expm

ROBOT_FILES = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
GRAVITY = 9.81
# Of the integrator [s], and how many steps the servo holds its torque.
STEP, STEPS_OF_SERVO = 5e-4, 2
# The servo: its natural frequency and the largest it may have [1/s], its damping ratio; its
# stiffness is so many effort limits per radian where that allows [1/rad].
_FREQUENCY, _FASTEST, _RATIO, _STIFFNESS = 40.0, 120.0, 0.7, 4.0
# The least inertia of a joint with its rotor [kg m^2].
_LEAST_INERTIA = 0.02
# Of so many postures the one is looked for in which a joint is lightest.
_POSTURES = 100
# Every so many steps the load on a joint, of which its friction depends, is computed again.
_STEPS_OF_LOAD = 4
# Bodies that the URDF says are thinner than any matter get this radius of gyration [m].
_LEAST_RADIUS = 1e-3
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True)
class Robot:
    """
    A robot of example-robot-data.

    urdf: file in the folder of robots; joints: beginnings of the names of those that move, the
    others are fixed at zero; home: where they are about which they move, by joint name, else the
    middle of their range [rad].
    """

    urdf: str
    joints: tuple
    home: dict

    def text(self):
        """Return the URDF as its user has it, of the moving joints only and without meshes."""
        root = ElementTree.parse(ROBOT_FILES / self.urdf).getroot()
        for kind in ('transmission', 'gazebo', 'material'):
            for element in root.findall(kind):
                root.remove(element)
        for link in root.findall('link'):
            for element in link.findall('visual') + link.findall('collision'):
                link.remove(element)
        for joint in root.findall('joint'):
            if not joint.get('name').startswith(self.joints):
                joint.set('type', 'fixed')
                for element in joint.findall('mimic'):
                    joint.remove(element)
        return ElementTree.tostring(root, encoding='unicode')


_UR5_HOME = {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.2}
ROBOTS = {
    'ur5': Robot('ur_description/urdf/ur5_robot.urdf', ('shoulder', 'elbow', 'wrist'), _UR5_HOME),
    'panda': Robot('panda_description/urdf/panda.urdf', ('panda_joint',), {}),
    'xarm7': Robot('xarm_description/urdf/xarm7.urdf', ('joint',), {'joint4': 0.9}),
    'kinova': Robot('kinova_description/robots/kinova.urdf', ('j2s6s200_joint',), {}),
    'tiago_pro': Robot('tiago_pro_description/robots/tiago_pro.urdf', ('arm_',), {}),
}


@dataclass(frozen=True)
class Event:
    """
    A box that is picked up (kind 'grasp') or put down ('release') at t [s].

    link: that holds it; mass [kg]; com [3]: in the frame of the link [m]; inertia [6]: about its
    centre, xx xy xz yy yz zz [kg m^2]; is_at_rest: whether the arm stood still then.
    """

    t: float
    kind: str
    link: str
    mass: float
    com: tuple
    inertia: tuple
    is_at_rest: bool


@dataclass(frozen=True)
class Hidden:
    """
    What nobody tells the estimator; arrays are of the n joints, in MuJoCo's order.

    bodies [n, 4, 4]: pseudo-inertias about the frames of the links; armature [kg m^2]; damping
    [N m s/rad]; friction, stribeck: level of Coulomb friction, and by how much it is higher near
    rest [N m]; stribeck_velocity [rad/s]; load_friction: friction per torque of gravity [1];
    stiffness: of the springs behind the motors, empty where joints are rigid [N m/rad];
    warming: (share of friction that goes, time constant [s]); smoothing: 0 where friction sticks,
    else the velocity over which its sign changes [rad/s].
    """

    bodies: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    stribeck: np.ndarray
    stribeck_velocity: np.ndarray
    load_friction: np.ndarray
    stiffness: np.ndarray
    warming: tuple
    smoothing: float = 0.0

    def warmth(self, t):
        """Return what is left of the friction at a time [s], as a factor."""
        share, time = self.warming
        return 1 - share * (1 - np.exp(-t / time)) if share else 1.0


@dataclass(frozen=True)
class Trace:
    """What MuJoCo did: t [N], and q, v, a, tau [N, n] of the motors, all without noise."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Arm:
    """A URDF as MuJoCo reads it, with what does not change from one hidden robot to another."""

    def __init__(self, robot):
        """Read the URDF of a `Robot`."""
        self.robot, self.urdf = robot, robot.text()
        self.model = self._spec().compile()
        self._prepare(self.model)
        self.joints = [self.model.joint(k).name for k in range(self.model.njnt)]
        self.links = [self.model.body(b).name for b in self.model.jnt_bodyid]
        self.urdf = _welded(self.urdf, self.links, self.nominal_bodies())
        parsed = {j.get('name'): j for j in ElementTree.fromstring(self.urdf).findall('joint')}
        limits = [parsed[name].find('limit') for name in self.joints]
        self.limit = np.array([float(limit.get('effort')) for limit in limits])
        self.speed = np.array([float(limit.get('velocity')) for limit in limits])
        is_free = [parsed[name].get('type') == 'continuous' for name in self.joints]
        self.range = np.where(np.array(is_free)[:, None], (-np.pi, np.pi), self.model.jnt_range)
        middle = self.range.mean(1)
        self.home = np.array([robot.home.get(j, m) for j, m in zip(self.joints, middle)])
        self.inertia, self.lightest = self._inertias()

    def _spec(self):
        root = ElementTree.fromstring(self.urdf)
        extension = ElementTree.SubElement(root, 'mujoco')
        ElementTree.SubElement(extension, 'compiler', fusestatic='true', discardvisual='true')
        return mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding='unicode'))

    @staticmethod
    def _prepare(model):
        """Set the options of a compiled model, and take out what the URDF says of losses."""
        model.opt.timestep, model.opt.gravity[:] = STEP, (0, 0, -GRAVITY)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        flags = mujoco.mjtDisableBit
        model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
        model.dof_damping[:], model.dof_frictionloss[:], model.dof_armature[:] = 0, 0, 0

    def _inertias(self):
        """
        Return the diagonal [n] of the mass matrix at home, and the least inertias [n].

        Those are of joints that move alone while the others give way [kg m^2].
        """
        inertia = self._mass_matrix(self.home)
        generator, light = np.random.default_rng(0), []
        for _ in range(_POSTURES):
            matrix = self._mass_matrix(generator.uniform(*self.range.T))
            light.append(1 / np.diag(np.linalg.inv(matrix)))
        return np.diag(inertia).copy(), np.min(light, axis=0)

    def _mass_matrix(self, q):
        data = mujoco.MjData(self.model)
        data.qpos[:] = q
        mujoco.mj_forward(self.model, data)
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, data, full)
        return full

    def hidden(self, generator, has_springs=False, warming=False, spread=0.2):
        """
        Return a `Hidden` robot.

        spread: standard deviation of the logarithms by which bodies are stretched, along any axis
        of their pseudo-inertia.
        """
        n, uniform = len(self.joints), generator.uniform
        bodies = np.array([_stretched(each, spread, generator) for each in self.nominal_bodies()])
        inertia = np.maximum(self.inertia, _LEAST_INERTIA)
        armature = inertia * np.exp(uniform(np.log(0.01), np.log(0.5), n))
        # Rotors of direct drives weigh nothing. Where links weigh nothing rotors do, by their
        # gears: no servo of a kilohertz holds a joint that has no inertia at all.
        armature[(uniform(size=n) < 0.2) & (self.lightest > 0.1)] = 0.0
        armature = np.maximum(armature, uniform(1, 2, n) * _LEAST_INERTIA - self.lightest)
        friction = uniform(0.02, 0.06, n) * self.limit
        stiffness = np.zeros(0)
        if has_springs:
            armature = np.maximum(armature, uniform(0.3, 1.0, n) * inertia)
            stiffness = inertia * (2 * np.pi * uniform(8, 15, n)) ** 2
        return Hidden(
            bodies,
            armature,
            uniform(0.02, 0.06, n) * self.limit,
            friction,
            uniform(0.1, 0.4, n) * friction,
            uniform(0.05, 0.15, n),
            uniform(0.02, 0.08, n),
            stiffness,
            (uniform(0.2, 0.3), uniform(200, 300)) if warming else (0.0, 1.0),
        )

    def nominal_bodies(self):
        """Return the pseudo-inertias [n, 4, 4] of the URDF, links welded to others included."""
        model, found = self.model, []
        for b in model.jnt_bodyid:
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, model.body_iquat[b])
            turn = turn.reshape(3, 3)
            inertia = turn @ np.diag(model.body_inertia[b]) @ turn.T
            found.append(pseudo_inertia(model.body_mass[b], model.body_ipos[b], inertia))
        return np.array(found)

    def truth(self, hidden):
        """Return the hidden robot as named parameters: name -> value."""
        truth = {}
        for k, (joint, link) in enumerate(zip(self.joints, self.links)):
            truth |= named_body(link, hidden.bodies[k])
            truth |= {
                f'{joint}.armature': hidden.armature[k],
                f'{joint}.damping': hidden.damping[k],
                f'{joint}.friction': hidden.friction[k],
                f'{joint}.stribeck': hidden.stribeck[k],
                f'{joint}.load_friction': hidden.load_friction[k],
            }
        return {name: float(value) for name, value in truth.items()}

    def simulate(self, hidden, motion, events=(), every=1, step=STEP, servo=None):
        """
        Return the `Trace` of a servo that follows a motion.

        motion: function of times [N] -> wanted q, v, a [N, n], and how long it lasts [s] as
        `motion.seconds`; events: of boxes, by time; every: of so many steps one is kept; step: of
        the integrator [s]; servo: function (t, q, v, (wanted q, v, a)) -> torques [n] in place of
        the one that is built in.
        """
        n, count = len(self.joints), int(round(motion.seconds / step))
        model, motors = self._plant(hidden, step)
        data, scratch = mujoco.MjData(model), mujoco.MjData(model)
        wanted = motion(np.arange(0, count, STEPS_OF_SERVO) * step)
        feedforward = self._feedforward(*wanted)
        # Who builds a servo knows its rotor; behind a spring it is all that gives way.
        inertia = hidden.armature + (0 if hidden.stiffness.size else self.lightest)
        p = np.clip(_STIFFNESS * self.limit, inertia * _FREQUENCY**2, inertia * _FASTEST**2)
        d = 2 * _RATIO * np.sqrt(p * inertia)
        data.qpos[motors] = wanted[0][0]
        waiting, bodies = sorted(events, key=lambda event: event.t), hidden.bodies.copy()
        kept = np.zeros((4, (count + every - 1) // every, n))
        level, load, tau = np.zeros(n), np.zeros(n), np.zeros(n)
        damping, friction, stribeck = hidden.damping, hidden.friction, hidden.stribeck
        for k in range(count):
            if waiting and k * step >= waiting[0].t:
                _take(bodies, self.links, waiting.pop(0))
                self._set_bodies(model, scratch, bodies)
            if hidden.warming[0] and k % 2000 == 0:
                warmth = hidden.warmth(k * step)
                damping, friction = warmth * hidden.damping, warmth * hidden.friction
                stribeck = warmth * hidden.stribeck
                model.dof_damping[motors] = damping
            q, v = data.qpos[motors], data.qvel[motors]
            if k % STEPS_OF_SERVO == 0:
                i = k // STEPS_OF_SERVO
                if servo:
                    tau = servo(k * step, q, v, [each[i] for each in wanted])
                else:
                    tau = feedforward[i] + p * (wanted[0][i] - q) + d * (wanted[1][i] - v)
                tau = np.minimum(np.maximum(tau, -self.limit), self.limit)
            if k % _STEPS_OF_LOAD == 0:
                if k == 0:
                    mujoco.mj_forward(model, data)
                load = hidden.load_friction * np.abs(_gravity_torque(model, data)[motors])
            level = friction + load + stribeck * np.exp(-((v / hidden.stribeck_velocity) ** 2))
            if hidden.smoothing:
                data.qfrc_applied[motors] = tau - level * np.tanh(v / hidden.smoothing)
            else:
                model.dof_frictionloss[motors] = level
                data.qfrc_applied[motors] = tau
            mujoco.mj_step(model, data)
            if k % every == 0:
                kept[:, k // every] = q, v, data.qacc[motors], tau
        if not np.isfinite(kept).all():
            raise FloatingPointError(f'{self.robot.urdf}: the simulation has diverged')
        return Trace(np.arange(0, count, every) * step, *kept)

    def _plant(self, hidden, step):
        """Return MuJoCo's model of a hidden robot, and the degrees of freedom of its motors."""
        spec, is_elastic = self._spec(), bool(hidden.stiffness.size)
        if is_elastic:
            for name in self.joints:
                # A second hinge of the same body: the link turns by so much more than its motor.
                joint = spec.joint(name)
                joint.parent.add_joint(name=f'{name}/spring', axis=joint.axis, pos=joint.pos)
        model = spec.compile()
        self._prepare(model)
        model.opt.timestep = step
        dofs = [model.joint(name).dofadr[0] for name in self.joints]
        motors = slice(0, None, 2) if is_elastic else slice(None)
        if dofs != list(range(model.nv))[motors]:
            raise ValueError(f'{self.robot.urdf}: joints are in another order')
        model.dof_armature[motors], model.dof_damping[motors] = hidden.armature, hidden.damping
        # Constraints as hard as they may be: at rest friction holds, it does not creep.
        model.dof_solimp[:, :2], model.dof_solref[:] = (0.999, 0.9999), (2 * step, 1.0)
        # MuJoCo has constraints of friction for the joints that have any when it begins.
        model.dof_frictionloss[motors] = 0.0 if hidden.smoothing else hidden.friction
        if is_elastic:
            inertia = np.maximum(self.inertia, _LEAST_INERTIA)
            model.jnt_stiffness[1::2] = hidden.stiffness
            model.dof_damping[1::2] = 2 * 0.02 * np.sqrt(hidden.stiffness * inertia)
            model.qpos_spring[:] = 0.0
        self._set_bodies(model, mujoco.MjData(model), hidden.bodies)
        return model, motors

    def _set_bodies(self, model, data, bodies):
        """Give the links of a model these pseudo-inertias [n, 4, 4]; data: to compute with."""
        for link, body in zip(self.links, bodies):
            b, (mass, com, inertia) = model.body(link).id, of_pseudo_inertia(body)
            moments, axes = np.linalg.eigh(inertia)
            if np.linalg.det(axes) < 0:
                axes[:, 0] *= -1
            model.body_mass[b], model.body_ipos[b] = mass, com
            model.body_inertia[b] = moments
            mujoco.mju_mat2Quat(model.body_iquat[b], axes.ravel())
        springs = model.qpos_spring.copy()
        mujoco.mj_setConst(model, data)
        model.qpos_spring[:] = springs

    def _feedforward(self, q, v, a):
        """Return the torques [N, n] that the URDF's robot would need for a motion."""
        data, result = mujoco.MjData(self.model), np.empty_like(q)
        for k in range(len(q)):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
            mujoco.mj_inverse(self.model, data)
            result[k] = data.qfrc_inverse
        return result


def _welded(urdf, links, bodies):
    """
    Return a URDF in which only these links have a mass, with what is fixed to them.

    So LINK.mass means the same to everybody; bodies [n, 4, 4]: pseudo-inertias of the links.
    """
    root = ElementTree.fromstring(urdf)
    for link in root.findall('link'):
        for element in link.findall('inertial'):
            link.remove(element)
        if link.get('name') not in links:
            continue
        mass, com, inertia = of_pseudo_inertia(bodies[links.index(link.get('name'))])
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'origin', xyz=' '.join(map(repr, com.tolist())))
        ElementTree.SubElement(inertial, 'mass', value=repr(float(mass)))
        entries = {f'i{"xyz"[i]}{"xyz"[j]}': repr(float(inertia[i, j])) for i, j in _PAIRS}
        ElementTree.SubElement(inertial, 'inertia', entries)
    return ElementTree.tostring(root, encoding='unicode')


def _take(bodies, links, event):
    """Add a box to the body of a link [n, 4, 4], or take it away, in place."""
    box = pseudo_inertia(event.mass, np.array(event.com), matrix(event.inertia))
    bodies[links.index(event.link)] += box if event.kind == 'grasp' else -box


def _gravity_torque(model, data):
    """Return the torques [nv] by which gravity turns hinges, from the last kinematics."""
    below = model.jnt_bodyid
    arm = data.subtree_com[below] - data.xanchor
    axis = data.xaxis
    # The vertical component of (arm x axis), times the weight.
    vertical = arm[:, 0] * axis[:, 1] - arm[:, 1] * axis[:, 0]
    return GRAVITY * model.body_subtreemass[below] * vertical


def _stretched(body, spread, generator):
    """Return a pseudo-inertia [4, 4] after a random congruence, which some body has."""
    sizes, axes = np.linalg.eigh(body)
    sizes = np.maximum(sizes, _LEAST_RADIUS**2 * body[3, 3])
    root = (axes * np.sqrt(sizes)) @ axes.T
    noise = generator.normal(size=(4, 4))
    stretch = expm(0.5 * spread * 0.5 * (noise + noise.T))
    return root @ stretch @ stretch.T @ root


def pseudo_inertia(mass, com, inertia):
    """Return the pseudo-inertia [4, 4] of a body; inertia [3, 3]: about its centre com [3]."""
    com = np.asarray(com, dtype=float)
    result = np.empty((4, 4))
    result[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(com, com)
    result[:3, 3] = result[3, :3] = mass * com
    result[3, 3] = mass
    return result


def of_pseudo_inertia(body):
    """Return mass, com [3], and inertia [3, 3] about it, of a pseudo-inertia [4, 4]."""
    mass, com = body[3, 3], body[:3, 3] / body[3, 3]
    second = body[:3, :3] - mass * np.outer(com, com)
    return mass, com, np.trace(second) * np.eye(3) - second


def matrix(entries):
    """Return the symmetric matrix [3, 3] of xx xy xz yy yz zz."""
    result = np.empty((3, 3))
    for (i, j), entry in zip(_PAIRS, entries):
        result[i, j] = result[j, i] = entry
    return result


def named_body(link, body):
    """Return a pseudo-inertia [4, 4] as our ten named parameters of a link: name -> value."""
    mass, com, inertia = of_pseudo_inertia(body)
    named = {f'{link}.mass': mass}
    named |= {f'{link}.com.{axis}': com[i] for i, axis in enumerate('xyz')}
    named |= {f'{link}.inertia.{"xyz"[i]}{"xyz"[j]}': inertia[i, j] for i, j in _PAIRS}
    return named


def with_smooth_friction(hidden, velocity):
    """Return a `Hidden` robot whose friction is what our columns say, and does not stick."""
    peak = np.full_like(hidden.friction, 5 * velocity)
    return replace(hidden, smoothing=velocity, stribeck_velocity=peak)
