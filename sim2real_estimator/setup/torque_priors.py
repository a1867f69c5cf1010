"""
What is usually known of a robot whose joint torques are measured, before any data.

The robot description is right about what it gives up to a third, torques have offsets, friction is
somewhere below a tenth of a joint's limit. Every prior is normal: torques are linear in these
numbers, and what data leave of them is normal too. Chosen on recordings of a UR10e and on arms in
MuJoCo; the `estimate` of a config overrides them one by one.
"""

from dataclasses import dataclass
import math

import numpy as np

from ..dynamics.mass_matrix import mass_matrix
from ..model.friction import COUPLED, FRICTIONS, per_speed
from ..model.robot import link_inertia, realize
from ..parameters.body_priors import PseudoInertiaPrior
from ..parameters.parametrization import Prior
from ..parameters.usual_priors import largest_effort
from ..prediction.torque_model import COUPLED_DEVIATIONS

# Speed over which the sign of friction changes: near rest joints stick, and no torque tells of it.
FRICTION_VELOCITY = {True: 0.02, False: 0.002}
# A rotor is as heavy for its drive as all that it moves, or as the limit accelerates by so much
# [rad/s^2]; by the latter in metres where the joint slides.
_SPIN_UP = 240.0
# Of bodies: standard deviation of the congruence of the pseudo-inertia, and what may hang on any
# of them: a body of this mass [kg] and size [m], but no more than these parts of the robot.
_CONGRUENCE, _LOOSE_MASS, _LOOSE_SIZE = 0.3, 0.2, 0.08
_LOOSE_PART_OF_MASS, _LOOSE_PART_OF_REACH = 0.01, 0.08
# Of the true torque over the measured one.
_GAIN = 0.02


@dataclass(frozen=True)
class TorquePriors:
    """
    What is known of a robot with measured torques.

    priors: name -> `Prior` of what is expected where a config says nothing; bodies: link -> the
    prior of its ten numbers; columns: names that are estimated even if no config asks for them;
    fixed: name -> value that differs from the robot description's, likewise.
    """

    priors: dict
    bodies: dict
    columns: tuple
    fixed: dict


def torque_priors(parameters, joints):
    """Return the `TorquePriors` of a robot; joints: names of those with a measured torque."""
    model = parameters.model
    robot = realize(parameters, {})
    inertia = np.array(mass_matrix(robot, model.neutral_positions()), dtype=float)
    priors, columns, fixed = {}, [], {}
    coupled = {name.rpartition('.')[0] for name in parameters if name.endswith(COUPLED)}
    for moving in model.moving_joints:
        joint = moving.joint
        if joint.name not in joints:
            continue
        limit = largest_effort(parameters, joint)
        turns = joint.kind.groups[0].is_rotation
        heavy = float(inertia[moving.velocities.start, moving.velocities.start])
        own = {n: Prior(*term.usual(limit, turns), False) for n, term in FRICTIONS.items()}
        own['armature'] = Prior(
            parameters[f'{joint.name}.armature'].nominal, max(heavy, limit / _SPIN_UP), False
        )
        own['gain'] = Prior(1.0, _GAIN, False)
        if joint.name in coupled:
            own['coupled_armature'] = Prior(0.0, COUPLED_DEVIATIONS[0], False)
            damping, friction = (part * limit for part in COUPLED_DEVIATIONS[1:])
            own['coupled_damping'] = Prior(0.0, per_speed(damping, turns), False)
            own['coupled_friction'] = Prior(0.0, friction, False)
        columns += [f'{joint.name}.{name}' for name in (*FRICTIONS, 'gain')]
        columns += [f'{joint.name}.{name}' for name in own if name in COUPLED]
        fixed[f'{joint.name}.friction_velocity'] = FRICTION_VELOCITY[turns]
        priors |= {f'{joint.name}.{name}': prior for name, prior in own.items()}
    for network in model.networks:
        given = zip(network.weight_names, network.means, network.deviations)
        priors |= {name: Prior(mean, sd, False) for name, mean, sd in given}
    bodies = _bodies(parameters)
    for link, body in bodies.items():
        names = parameters.inertial_names(link)
        pairs = zip(names, body.means.tolist(), body.deviations.tolist())
        priors |= {name: Prior(mean, sd, False) for name, mean, sd in pairs}
    return TorquePriors(priors, bodies, tuple(columns), fixed)


def _bodies(parameters):
    """Return link -> `PseudoInertiaPrior` of links that move."""
    model = parameters.model
    masses = {
        link.name: parameters[f'{link.name}.mass'].nominal
        for link in model.links
        if f'{link.name}.mass' in parameters
    }
    reach = sum(math.hypot(*joint.origin) for joint in model.joints)
    loose = (
        min(_LOOSE_MASS, _LOOSE_PART_OF_MASS * sum(masses.values()) or _LOOSE_MASS),
        min(_LOOSE_SIZE, _LOOSE_PART_OF_REACH * reach or _LOOSE_SIZE),
    )
    found = {}
    for link in masses:
        body = np.array([float(x) for x in link_inertia(parameters, link, {})])
        found[link] = PseudoInertiaPrior(body, _CONGRUENCE, *loose)
    return found
