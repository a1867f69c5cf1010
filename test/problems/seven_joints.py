"""
The ready arm of seven joints, seen by its encoders only, of which nothing is known but its URDF.

All masses, centres of mass, inertias, losses and armatures are drawn from the prior, 91 numbers.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sim2real_estimator.app.synthetic.settings import load_estimator, load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import EffortsConfig, JointConfig
from sim2real_estimator.dynamics.regressor import regressor, regressor_names
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.robot import realize
from sim2real_estimator.parameters.delays import is_delay

ROBOT = Path(__file__).resolve().parents[2] / 'config' / 'synthetic' / 'seven_joint_arm.yaml'
SENSOR = 'encoders'
_SETTINGS = {'starts': 1, 'horizons': [25, 50, 75, 100, 150, 200]}


def config(**changes):
    """
    Return the `Config`, in which efforts are just what acts, as they are in simulation.

    changes: settings by path, with two underscores for a dot.
    """
    given = {name.replace('__', '.'): value for name, value in changes.items()}
    return with_values(commanded(measured()), given)


def commanded(known):
    """Return a `Config` with all efforts just what acts."""
    return replace(
        known,
        joints={name: JointConfig('commanded') for name in known.joints},
        efforts=EffortsConfig(commanded='joint_states'),
        estimator=replace(known.estimator, settings=_SETTINGS),
    )


def measured():
    """Return the `Config` of the ready arm without its motion capture: efforts are measured."""
    known = load_estimator(load_synthetic(ROBOT))
    encoders = replace(known.sensors[SENSOR], max_rate=250.0)
    return replace(known, sensors={SENSOR: encoders})


def robot(config, seed, spread=1.0, **changes):
    """
    Return the `SyntheticRobot`.

    spread: of its truth, in standard deviations of the prior; changes: more of its settings.
    """
    settings = load_synthetic(ROBOT)
    streams = {'joint_states': settings.streams['joint_states']}
    settings = replace(settings, streams=streams, seed=seed, spread=spread, **changes)
    return SyntheticRobot(settings, config=config)


def coordinates(parametrization, values):
    """
    Return (inner [P, 1], estimated [p]): the coordinates of true values in a parametrization.

    values: name -> float.
    """
    named = np.array([[values[name]] for name in parametrization.names])
    inner = parametrization.inner.from_named(named)
    return inner, (
        parametrization.combinations @ (inner - parametrization.inner.prior.mean[:, None])
    )[:, 0]


def system(problem):
    """Return the `System` of a problem's parameters; delays are none of it."""
    return System(
        problem.parameters, tuple(n for n in problem.parametrization.names if not is_delay(n))
    )


def torque_columns(problem, motions=40):
    """Return what torques are linear in [rows, P]: a column for every inner coordinate."""
    robot, generator = realize(problem.parameters, {}), np.random.default_rng(3)
    rows = []
    for _ in range(motions):
        q, v, a = (list(row) for row in generator.standard_normal((3, 7)))
        columns = [[float(x) for x in column] for column in regressor(robot, q, v, a)]
        rows.append(np.array(columns).T)
    found = dict(zip(regressor_names(robot), np.concatenate(rows).T))
    labels = (
        label.replace('frame_inertia.', '') for label in problem.parametrization.inner.labels
    )
    return np.stack([found[label] for label in labels], 1)
