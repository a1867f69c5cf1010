"""Small robots of every joint type, and inputs for their rollouts."""

from dataclasses import dataclass, fields, replace

import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Mimic, Model
from sim2real_estimator.spatial.rotation import Rotation

AXIS = (0.6, 0.0, 0.8)
# No value is zero, so that every parameter matters and has a scale of its own.
_PHYSICS = JointPhysics(0.1, 0.2, 0.05, 2.0, 0.3, 0.1)
_ARM = Inertial(1.3, (0.1, 0.03, -0.2), (0.05, 0.06, 0.04, 0.004, -0.006, 0.005))
_HAND = Inertial(0.7, (-0.06, 0.11, -0.12), (0.03, 0.02, 0.025, -0.003, 0.002, 0.004))
_MOTOR = (('back_emf', 0.5), ('reduction', 4.0), ('resistance', 1.5), ('torque_constant', 0.4))
# Wide enough for differences to resolve the sign of the friction.
_FRICTION_VELOCITY = 0.3
# Of all that no robot description gives.
_UNDESCRIBED = 0.15


def joint(name, kind, parent, child, actuator='passive', **changes):
    """Return a joint with every physical effect, in a turned and shifted frame."""
    made = Joint(
        name,
        JOINTS[kind](AXIS),
        parent,
        child,
        (0.2, -0.1, 0.3),
        Rotation.from_roll_pitch_yaw(0.4, -0.3, 0.5),
        JointPhysics() if kind == 'fixed' else _PHYSICS,
        actuator=ACTUATORS[actuator],
        actuator_values=_MOTOR if actuator == 'dc_motor' else (),
    )
    return replace(made, **changes)


def pair(kind, is_first=False):
    """
    Return a model of two links 'arm' and 'hand'.

    A hinge 'elbow' with a motor and a joint 'other' of type `kind` with an effort source; the
    second hangs on the first, or the first on the second if `is_first`.
    """
    links = (Link('base'), Link('arm', _ARM), Link('hand', _HAND))
    places = (('base', 'arm'), ('arm', 'hand'))
    elbow, other = reversed(places) if is_first else places
    drive = 'passive' if kind == 'fixed' else 'effort'
    joints = (
        joint('elbow', 'revolute', *elbow, 'dc_motor'),
        joint('other', kind, *other, drive),
    )
    return Model(f'pair_{kind}', links, joints)


def gripper():
    """Return a hand on a ball joint with a sliding finger, and one that follows it mirrored."""
    links = (
        Link('base'),
        Link('hand', _ARM),
        Link('left', _HAND),
        Link('right', replace(_HAND, mass=0.4)),
    )
    joints = (
        joint('wrist', 'spherical', 'base', 'hand', 'effort'),
        joint('slide', 'prismatic', 'hand', 'left', 'dc_motor'),
        joint('follower', 'prismatic', 'hand', 'right', mimic=Mimic('slide', -0.8, 0.05)),
    )
    return Model('gripper', links, joints)


def wrist():
    """Return an arm with a hand whose two hinges share a motor."""
    links = (Link('base'), Link('arm', _ARM), Link('hand', _HAND))
    joints = (
        joint('elbow', 'revolute', 'base', 'arm', 'effort'),
        joint('other', 'continuous', 'arm', 'hand', 'dc_motor'),
    )
    return Model('wrist', links, joints).with_couplings({'other': 'elbow'})


def pendulum(actuator='effort'):
    """Return one hinge about y without friction or spring, which has a cheap program."""
    links = (
        Link('base'),
        Link('rod', Inertial(1.0, (0.0, 0.0, -0.5), (0.08, 0.08, 0.01, 0, 0, 0))),
    )
    hinge = Joint(
        'pivot',
        JOINTS['revolute']((0.0, 1.0, 0.0)),
        'base',
        'rod',
        physics=JointPhysics(damping=0.1),
        actuator=ACTUATORS[actuator],
    )
    return Model('pendulum', links, (hinge,))


def case_model(kind, integrator):
    """
    Return the model for a joint type; the order differs between integrators.

    'mimic': the gripper; 'driven': a ball joint whose motion is prescribed; 'driven mimic': the
    gripper with prescribed fingers; 'coupled': the wrist; 'half driven': the wrist with one hinge
    whose motion is prescribed.
    """
    is_first = integrator == 'semi_implicit_euler'
    if kind == 'mimic':
        return gripper()
    if kind == 'coupled':
        return wrist()
    if kind == 'half driven':
        return wrist().with_actuators({'elbow': 'driven'})
    if kind == 'driven mimic':
        return gripper().with_actuators({'slide': 'driven'})
    if kind == 'driven':
        return pair('spherical', is_first).with_actuators({'other': 'driven'})
    return pair(kind, is_first)


def see(robot, q, v):
    """Observe position, rotation and velocity of the link 'hand'."""
    pose = link_poses(robot, q, v)['hand']
    return [*pose.position, *pose.rotation.rows[0], *pose.rotation.rows[2], *pose.velocity]


def all_names(model):
    """Return the names of all parameters that act inside a step."""
    return tuple(name for name in Parameters(model) if not name.endswith('.delay'))


def simulators(model, estimate, **options):
    """Return backend name -> Simulator."""
    return {b: Simulator(model, estimate, backend=b, **options) for b in ('native', 'eager')}


@dataclass(frozen=True)
class Inputs:
    """What a rollout takes, each with a batch; in the order the columns of a Jacobian have."""

    state: torch.Tensor
    parameters: torch.Tensor
    durations: torch.Tensor
    controls: torch.Tensor

    @property
    def batch(self):
        """Number of samples."""
        return self.state.shape[-1]

    def map(self, function):
        """Return the inputs with a function applied to each tensor."""
        return Inputs(*(function(getattr(self, f.name)) for f in fields(self)))

    def arguments(self):
        """Return the positional arguments of `Simulator.rollout`."""
        return self.state, self.durations, self.parameters, self.controls

    def leaves(self):
        """Return copies that autograd tracks."""
        return self.map(lambda t: t.detach().clone().requires_grad_())

    def flat(self):
        """Return all entries as rows [n, B]."""
        return torch.cat([getattr(self, f.name).reshape(-1, self.batch) for f in fields(self)])

    def unflat(self, rows):
        """Return inputs of the same shapes from rows [n, any batch]."""
        shapes = [getattr(self, f.name).shape[:-1] for f in fields(self)]
        parts = rows.split([s.numel() for s in shapes])
        return Inputs(*(p.reshape(*s, -1) for p, s in zip(parts, shapes)))


def draw(simulator, batch, steps=3, seed=0, duration=0.03):
    """Return random `Inputs` for a simulator, every sample different, spacing irregular."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    model = simulator.model
    state = simulator.neutral_state(batch)
    columns = []
    for lane in range(batch):
        q = []
        for moving in model.moving_joints:
            if moving.is_independent:
                kind = moving.joint.kind
                away = (0.6 * normal(kind.velocity_size)).tolist()
                q += kind.normalized(kind.advance(kind.neutral(), away, 1.0))
        columns.append(torch.tensor(q, dtype=torch.float64))
        state[:, lane] = torch.cat([columns[-1], normal(model.velocity_size)])
    parameters = simulator.nominal(batch)
    for row, name in enumerate(simulator.names):
        if name.endswith('.friction_velocity'):
            parameters[row] = _FRICTION_VELOCITY
        elif not simulator.parameters[name].is_described:
            parameters[row] = _UNDESCRIBED
    parameters = parameters * (1 + 0.1 * normal(*parameters.shape).clamp(-2, 2))
    durations = duration * (1 + 0.2 * normal(steps, batch).clamp(-2, 2))
    return Inputs(state, parameters, durations, normal(steps, control_size(simulator), batch))


def control_size(simulator):
    """Return the number of controls of one step."""
    return simulator._system.control_size
