"""Build the networks of a config: declared ones with random hidden layers, and trained ones."""

from dataclasses import replace
from fnmatch import fnmatchcase
import logging
from pathlib import Path

import numpy as np

from ..augmentation import (
    CONTACT_INPUTS,
    CONTACT_SITES,
    FRICTION_SITES,
    joint_of,
    Network,
    Samples,
)
from ..augmentation.declaration import (
    Declaration,
    declared,
    digest_of,
    leash_of,
    Reference,
    require_possible,
)
from ..augmentation.weights import digest_of_robot, read_weights
from ..dynamics.joint_forces import friction_columns
from ..dynamics.regressor import regressor, STANDARD_NAMES
from ..dynamics.rnea import gravity_efforts, inverse_dynamics
from ..errors import ConfigError
from ..model.friction import FRICTIONS
from ..model.parameters import FRICTION_VELOCITY, Parameters, STANDARD_GRAVITY
from ..model.robot import realize
from ..parameters.usual_priors import largest_effort
from .torque_priors import FRICTION_VELOCITY as FRICTION_VELOCITY_OF_TORQUES

# Random states that an untrained network refers to: how many, and speeds [rad/s or m/s] and
# positions [m] where the description gives no limit, or a larger one.
_STATES, _FASTEST, _FARTHEST = 512, 2.0, 1.0
# Of contacts: slip [m/s], force over the weight of the robot, depth [m].
_FASTEST_SLIP, _HARDEST, _DEEPEST = 2.0, 4.0, 0.005
# Friction of a drive, as a part of its largest effort.
_USUAL_FRICTION = 0.02
_WINDOWS = 'multiple_shooting'
_logger = logging.getLogger(__name__)


def with_networks(config, model):
    """Return a `Model` with the networks that its `Config` declares."""
    plain = Parameters(model)
    return model.with_networks(
        network
        for name, wish in config.neural.items()
        if (network := _network(config, plain, declaration_of(name, wish), wish.weights))
    )


def declaration_of(name, wish):
    """Return the `Declaration` of a `NeuralConfig`, checked as far as it goes by itself."""
    if wish.sd is None:
        raise ConfigError(
            f'neural.{name}.sd: is missing; give the standard deviation of the output beforehand, '
            'such as a tenth of the friction of the joint'
        )
    found = Declaration(
        *(name, wish.at, wish.mode, wish.law, tuple(wish.inputs), tuple(wish.hidden), wish.sd),
        wish.estimate == 'last_layer',
    )
    require_possible(found)
    return found


def _network(config, parameters, declaration, weights):
    """Return the `Network` of a `Declaration`, None where training has switched it off."""
    model = parameters.model
    require_on_robot(config, model, declaration)
    if weights:
        path = Path(config.source).parent / weights
        trained = read_weights(path, declaration.name, declaration, digest_of_robot(model))
        if trained.off:
            _logger.info('neural.%s is off: %s', declaration.name, trained.off)
            return None
        return network_of(declaration, trained)
    if not declaration.is_estimated:
        raise ConfigError(
            f'neural.{declaration.name}: nothing of it is known, since it has no weights, and '
            'estimate: frozen keeps it so; train it and give the file as weights, or write '
            'estimate: last_layer'
        )
    reference = random_reference(parameters, declaration)
    return declared(
        declaration,
        reference,
        leash_on(config, parameters, declaration),
        width_of(config, model, declaration),
    )


def network_of(declaration, trained):
    """Return the `Network` of a `Declaration` with what was `Trained`."""
    joint, velocity = joint_of(declaration.at)[0], None
    if f'{joint}.velocity' in declaration.inputs:
        velocity = declaration.inputs.index(f'{joint}.velocity')
    network = Network(
        *(declaration.name, declaration.at, declaration.mode, declaration.law),
        *(tuple(declaration.inputs), trained.centres, trained.scales, trained.hidden),
        *(trained.leash, velocity, trained.width, trained.size, declaration.sd),
        *(trained.means, trained.deviations, declaration.is_estimated),
        *(trained.power, trained.gram, True),
        mixing=trained.mixing,
    )
    return replace(network, digest=digest_of(network))


def require_on_robot(config, model, declaration):
    """Raise a ConfigError where a robot has no such site or inputs, or its estimator cannot."""
    path, (joint, quantity) = f'neural.{declaration.name}', joint_of(declaration.at)
    if joint in [pair.name for pair in model.contacts]:
        _require_on_contact(config, declaration, path, joint, quantity)
        return
    if any(joint_of(name)[1] in CONTACT_INPUTS for name in declaration.inputs):
        raise ConfigError(
            f'{path}.inputs: {joint} is a joint, and no contact; it has none of these'
        )
    names = [m.joint.name for m in model.moving_joints if m.joint.kind.velocity_size == 1]
    independent = [m.joint.name for m in model.moving_joints if m.is_independent]
    if joint not in names or joint not in independent:
        raise ConfigError(
            f"{path}.at: '{joint}' is no joint of one degree of freedom that follows no other; "
            f'choose one of {", ".join(n for n in names if n in independent)}'
        )
    moving = next(m for m in model.moving_joints if m.joint.name == joint)
    if moving.is_prescribed:
        raise ConfigError(
            f"{path}.at: the effort on '{joint}' is not reported, so that nothing tells what acts "
            'inside it; say under joints where its effort comes from'
        )
    for name in declaration.inputs:
        owner, kind = joint_of(name)
        if owner not in names:
            raise ConfigError(
                f"{path}.inputs: '{owner}' is no joint of one degree of freedom; choose from "
                f'{", ".join(names)}'
            )
        if kind == 'command' and owner not in model.command_joints:
            raise ConfigError(f"{path}.inputs: nothing drives '{owner}'; it has no command")
    taken = {link.name for link in model.links} | {each.name for each in model.joints}
    if declaration.name in taken | set(config.sensors):
        raise ConfigError(f'{path}: a link, a joint or a sensor has this name; choose another')
    if is_of_torques(config):
        _require_linear(declaration, path, joint, quantity)


def _require_on_contact(config, declaration, path, pair, quantity):
    """Raise a ConfigError where a contact has no such site or inputs, or its estimator cannot."""
    if is_of_torques(config):
        raise ConfigError(
            f'{path}.at: torques are regressed without contacts; a network at {pair} needs '
            'efforts that are commanded, or none'
        )
    if quantity not in CONTACT_SITES:
        raise ConfigError(f'{path}.at: of a contact choose {pair}.{", ".join(CONTACT_SITES)}')
    for name in declaration.inputs:
        owner, kind = joint_of(name)
        if owner != pair or kind not in CONTACT_INPUTS:
            choices = ', '.join(f'{pair}.{each}' for each in CONTACT_INPUTS)
            raise ConfigError(f"{path}.inputs: '{name}' is none of the contact; choose {choices}")


def is_of_torques(config):
    """Tell whether measured torques are regressed, in which networks have to be linear."""
    return bool(config.measured_joints) and config.estimator.name != _WINDOWS


def _require_linear(declaration, path, joint, quantity):
    """Raise a ConfigError where measured torques are not linear in the output weights."""
    if any(joint_of(name)[1] == 'command' for name in declaration.inputs):
        raise ConfigError(
            f'{path}.inputs: where torques are measured, the command is what is predicted; write '
            f'{joint}.load, the effort against gravity, instead'
        )
    is_added = quantity in ('effort', 'actuator_effort') and declaration.mode == 'add'
    if not (is_added or quantity in FRICTION_SITES):
        raise ConfigError(
            f'{path}: where torques are measured, a network is added to {joint}.effort, or it '
            f'changes one of {", ".join(f"{joint}.{n}" for n in FRICTION_SITES)}; write at: '
            f'{joint}.effort and mode: add'
        )


def leash_on(config, parameters, declaration):
    """Return the leash of a `Declaration`: what parameters of the config explain."""
    model, joint = parameters.model, joint_of(declaration.at)[0]
    of_torques = is_of_torques(config)
    patterns = [pattern for pattern, wish in config.estimate.items() if not wish.fixed]

    def is_estimated(name):
        if name == 'gravity':
            owners = [link.name for link in model.links]
            names = [n for owner in owners for n in (f'{owner}.mass', f'{owner}.com.x')]
            return any(is_estimated(n) for n in names)
        owner, _, word = name.rpartition('.')
        is_regressed = of_torques and owner in config.joints
        if is_regressed and word in (*FRICTIONS, 'gain'):
            return True
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    return leash_of(declaration, is_estimated, _turns(model, joint))


def width_of(config, model, declaration):
    """Return the velocity over which the sign of the friction of a network's joint changes."""
    joint = joint_of(declaration.at)[0]
    width = FRICTION_VELOCITY
    if is_of_torques(config):
        width = FRICTION_VELOCITY_OF_TORQUES[_turns(model, joint)]
    for pattern, wish in config.estimate.items():
        if fnmatchcase(f'{joint}.friction_velocity', pattern) and wish.mean is not None:
            width = wish.mean
    return width


def random_reference(parameters, declaration):
    """Return the `Reference` of random states within the limits of the description."""
    model, generator = parameters.model, np.random.default_rng(0)
    pair = {each.name: each for each in model.contacts}.get(joint_of(declaration.at)[0])
    if pair is not None:
        return _contact_reference(parameters, pair, declaration, generator)
    robot = realize(parameters, {})
    q, v = model.neutral_positions(), [0.0] * model.velocity_size
    for moving in model.moving_joints:
        joint = moving.joint
        if not moving.is_independent or joint.kind.velocity_size != 1:
            continue
        farthest = np.pi if _turns(model, joint.name) else _FARTHEST
        low, high = joint.limits.lower, joint.limits.upper
        low, high = (-farthest, farthest) if low is None or high is None else (low, high)
        low, high = max(low, -2 * farthest), min(high, 2 * farthest)
        fastest = min(joint.limits.velocity or _FASTEST, _FASTEST)
        q[moving.positions.start] = generator.uniform(low, high, _STATES).view(Samples)
        v[moving.velocities.start] = generator.uniform(-fastest, fastest, _STATES).view(Samples)
    still = [0.0] * len(v)
    efforts = inverse_dynamics(robot, q, v, still)
    found = reference_of(robot, declaration, q, v, efforts, generator)
    # What a description seldom has, and every drive.
    joint = model.joint(joint_of(declaration.at)[0])
    friction = _USUAL_FRICTION * largest_effort(parameters, joint)
    return replace(found, power=found.power + friction**2)


def _contact_reference(parameters, pair, declaration, generator):
    """Return the `Reference` of random touches of a `ContactPair`."""
    links = [link.name for link in parameters.model.links]
    mass = sum(parameters[n].nominal for link in links if (n := f'{link}.mass') in parameters)
    most = {
        'slip_speed': _FASTEST_SLIP,
        'normal_force': _HARDEST * STANDARD_GRAVITY * (mass or 1.0),
        'penetration': _DEEPEST,
    }
    values = {
        name: generator.uniform(0, most[joint_of(name)[1]], _STATES) for name in declaration.inputs
    }
    friction = parameters[f'{pair.name}.friction'].nominal
    working = np.full(_STATES, friction if declaration.mode == 'scale' else 1.0)
    return Reference(values, working, float(friction**2), np.zeros((_STATES, 1)))


def reference_of(robot, declaration, q, v, efforts, generator=None, loads=None):
    """
    Return the `Reference` of states of a robot.

    q, v: scalars with N samples; efforts: total effort at each velocity; generator: of random
    commands, None: there are none; loads: efforts against gravity, None: those of the robot.
    """
    joint, quantity = joint_of(declaration.at)
    bodies = {body.moving.joint.name: body for body in robot.bodies}
    loads = gravity_efforts(robot, q, len(v)) if loads is None else loads
    values, count = {}, len(np.atleast_1d(v[bodies[joint].moving.velocities.start]))
    for name in declaration.inputs:
        owner, kind = joint_of(name)
        moving = bodies[owner].moving
        found = {
            'position': lambda at=moving: q[at.positions.start],
            'velocity': lambda at=moving: v[at.velocities.start],
            'load': lambda at=moving: loads[at.velocities.start],
            'command': lambda at=moving: (
                generator.uniform(-1, 1, count) * (at.joint.limits.effort or 1.0)
            ),
        }[kind]()
        values[name] = np.broadcast_to(np.asarray(found, dtype=float), count)
    body, working = bodies[joint], np.ones(count)
    at = body.moving.velocities.start
    if quantity in FRICTION_SITES:
        column = friction_columns(body, v, loads[at], is_complete=True)
        working = np.broadcast_to(np.asarray(column[quantity][0], dtype=float), count)
        if declaration.mode == 'scale':
            working = working * float(body.physics[quantity])
    total = np.broadcast_to(np.asarray(efforts[at], dtype=float), count)
    rest = [0.0] * len(v)
    # Ten for each body, of which joints that carry it have an effort.
    columns = regressor(robot, q, rest, rest, rest)[: len(STANDARD_NAMES) * len(robot.bodies)]
    gravity = [np.broadcast_to(np.asarray(column[at], dtype=float), count) for column in columns]
    gravity = [column for column in gravity if column.any()] or [np.zeros(count)]
    return Reference(values, working, float((total**2).mean()), np.stack(gravity, 1))


def _turns(model, joint):
    if joint in [pair.name for pair in model.contacts]:
        return False
    return model.joint(joint).kind.groups[0].is_rotation
