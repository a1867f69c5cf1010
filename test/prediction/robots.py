"""Small robots with sensors, shared by the tests of this folder."""

import numpy as np

from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Model
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.sensors import JointPositions, LinkPose, Marker

MILLI = 1_000_000  # nanoseconds in a millisecond
WIDE = (0.5, 0.5)


def pendulum(actuator='effort'):
    """Return Parameters of a double pendulum of hinges about y."""
    links = (
        Link('stand'),
        Link('upper', Inertial(1.0, (0.0, 0.0, -0.25), (0.5, 0.02, 0.5, 0.0, 0.0, 0.0))),
        Link('lower', Inertial(0.8, (0.0, 0.0, -0.2), (0.5, 0.011, 0.5, 0.0, 0.0, 0.0))),
        Link('tip'),
    )
    hinge = JOINTS['continuous']((0.0, 1.0, 0.0))
    drive = ACTUATORS[actuator]
    joints = (
        Joint(
            'shoulder', hinge, 'stand', 'upper', physics=JointPhysics(damping=0.08), actuator=drive
        ),
        Joint(
            'elbow',
            hinge,
            'upper',
            'lower',
            (0.0, 0.0, -0.5),
            physics=JointPhysics(damping=0.04),
            actuator=drive,
        ),
        Joint('end', JOINTS['fixed']((0.0, 0.0, 1.0)), 'lower', 'tip', (0.0, 0.0, -0.4)),
    )
    return Parameters(Model('double pendulum', links, joints))


PENDULUM_PRIORS = {
    'upper.mass': 0.3,
    'lower.mass': 0.3,
    'elbow.origin.z': 0.2,
    'end.origin.z': 0.2,
    'upper.com.z': 0.3,
    'lower.com.z': 0.3,
    'upper.inertia.yy': 0.4,
    'lower.inertia.yy': 0.4,
    'shoulder.damping': 0.7,
    'elbow.damping': 0.7,
}


def priors(parameters, deviations):
    """Return lognormal priors about the nominal values, name -> Prior."""
    return {n: Prior(parameters[n].nominal, sd, True) for n, sd in deviations.items()}


def seen(parameters):
    """Return (parameters, sensors) of the ball arm, with what the sensors add to them."""
    sensors = ball_arm_sensors(parameters.model)
    more = [entry for sensor in sensors for entry in sensor.parameters]
    return Parameters(parameters.model, more), sensors


def ball_arm():
    """Return Parameters of a rod on a ball joint that carries a hinged link."""
    links = (
        Link('stand'),
        Link('rod', Inertial(1.0, (0.02, 0.0, -0.2), (0.03, 0.03, 0.004, 0.0, 0.001, 0.0))),
        Link('hand', Inertial(0.4, (0.0, 0.05, -0.1), (0.006, 0.005, 0.002, 0.0, 0.0, 0.0))),
    )
    joints = (
        Joint(
            'ball',
            JOINTS['spherical']((0.0, 0.0, 1.0)),
            'stand',
            'rod',
            physics=JointPhysics(damping=0.02),
        ),
        Joint(
            'wrist',
            JOINTS['revolute']((1.0, 0.0, 0.0)),
            'rod',
            'hand',
            (0.0, 0.0, -0.4),
            physics=JointPhysics(damping=0.03, friction=0.01),
            actuator=ACTUATORS['effort'],
        ),
    )
    return Parameters(Model('ball arm', links, joints))


def ball_arm_sensors(model):
    """Return an encoder, the pose of the rod and a marker on the hand."""
    return (
        JointPositions('encoder', model, ['wrist'], 1e-3),
        LinkPose('rod pose', model, 'rod', position_sd=1e-3, orientation_sd=2e-3),
        Marker('marker', model, 'hand', (0.0, 0.1, -0.2), 1e-3),
    )


def ball_arm_frames(generator):
    """Return frames with samples of all sensors at stamps of their own, and changing inputs."""

    def sample(sensor, at, size):
        values = generator.standard_normal(size)
        if sensor == 'rod pose':
            values[3:] /= np.linalg.norm(values[3:])
        return Sample(sensor, at * MILLI, values)

    inputs = ((0, np.array([0.4])), (7 * MILLI, np.array([-0.2])))
    return (
        Frame(
            0,
            10 * MILLI,
            (sample('rod pose', 4, 7), sample('marker', 9, 3), sample('encoder', 10, 1)),
            inputs,
        ),
        Frame(
            10 * MILLI, 25 * MILLI, (sample('encoder', 25, 1),), ((7 * MILLI, np.array([-0.2])),)
        ),
    )


def random_columns(problem, count, generator):
    """Return random states [nx, count] and parameters [p, count]."""
    neutral = np.repeat(problem.neutral[:, None], count, 1)
    points = problem.retract(
        neutral, 0.5 * generator.standard_normal((problem.tangent_size, count))
    )
    spread = problem.prior.root @ generator.standard_normal((len(problem.labels), count))
    return points, problem.prior.mean[:, None] + spread
