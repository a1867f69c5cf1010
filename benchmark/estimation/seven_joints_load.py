"""The arm of seven joints takes up a load at its hand, and puts it down again."""

import numpy as np
from problems import seven_joints

from sim2real_estimator.synthetic.settings import PayloadConfig

from .changing_arm import DOWN, followed, knowing, MOST, noticing, UP
from .targets import Line

__all__ = ['lines', 'measure', 'MOST', 'TITLE']

TITLE = 'arm of seven joints that takes up .5 to 3.5 kg after 6 s and puts it down after 9 s'
_LINK = 'hand'
# How far its centre may be from the link's frame [m], and its radius of gyration [m].
_AWAY, _RADIUS = 0.1, 0.04


def measure(seed):
    """Return the record of one problem."""
    config = seven_joints.config(simulation__disturbance_time=None)

    def robot(number, loads):
        return seven_joints.robot(config, number, payloads=loads)

    return measure_load(seed, config, robot)


def measure_load(seed, config, robot):
    """
    Return the record of one problem.

    robot: function of (number that its chance depends on, payloads) -> `SyntheticRobot`.
    """
    generator = np.random.default_rng(seed)
    mass = float(generator.uniform(0.5, 3.5))
    load = PayloadConfig(
        link=_LINK,
        at=UP,
        until=DOWN,
        mass=mass,
        com=tuple(generator.uniform(-_AWAY, _AWAY, 3).tolist()),
        inertia=(mass * _RADIUS**2,) * 3 + (0.0,) * 3,
    )
    robot = robot(int(generator.integers(2**31)), {'load': load})
    record, pipeline, mixtures = followed(config, robot, f'mass on {_LINK}')
    before = mixtures['before'].moments()[0]
    for mark in ('later', 'much later'):
        held = _mass_held(pipeline.problem.chart, mixtures[mark].moments()[0] - before)
        record[f'mass error {mark}'] = float(1e3 * abs(held - mass))
    return record


def _mass_held(chart, change):
    """Return the mass of the body on the link that changes coordinates so, [p]."""
    rows = chart.inner.rows[list(chart.inner.links).index(_LINK)]
    return np.linalg.lstsq(chart.combinations[:, rows], change, rcond=None)[0][0]


def _mass_error(mark):
    """Return a statistic: the median error of the load's mass at a mark [g]."""
    return lambda records: float(np.median([record[f'mass error {mark}'] for record in records]))


def lines():
    """Return the lines of the table: what the feasibility study of such arms asks for."""
    found = noticing(40)
    for mark, when, most in (('later', '1 s after', 20), ('much later', '3 s after', 6)):
        name = f'mass of the load, median error [g], {when}'
        found.append(Line(name, _mass_error(mark), (None, most)))
    return [*found, *knowing()]
