"""The arm of seven joints takes up a load at its hand, and puts it down again."""

import numpy as np
from problems import seven_joints
from scipy.stats import norm

from sim2real_estimator.app.synthetic.settings import PayloadConfig

from .changing_arm import followed, knowing, LASTS, MOST, noticing, UP
from .targets import covered, Line

__all__ = ['lines', 'measure', 'MOST', 'TITLE']

TITLE = 'arm of seven joints that takes up .5 to 3.5 kg after 6 s and puts it down after 9 s'
_LINK = 'hand'
# How far its centre may be from the link's frame [m], and its radius of gyration [m].
_AWAY, _RADIUS = 0.1, 0.04
# When the load is looked at, in words, and how wrong its mass may be [g].
_HELD = {'later': ('1 s after', 20), 'much later': ('3 s after', 6)}
_BAND = (0.8, 0.97)


def measure(seed):
    """Return the record of one problem."""
    config = seven_joints.config(simulation__disturbance_time=None)

    def robot(number, loads):
        return seven_joints.robot(config, number, payloads=loads)

    return measure_load(seed, config, robot)


def measure_load(seed, config, robot, link=_LINK, up=UP):
    """
    Return the record of one problem.

    robot: function of (number that its chance depends on, payloads) -> `SyntheticRobot`; link:
    that takes up the load; up [s]: when.
    """
    generator = np.random.default_rng(seed)
    mass = float(generator.uniform(0.5, 3.5))
    com = generator.uniform(-_AWAY, _AWAY, 3)
    inertia = (mass * _RADIUS**2,) * 3 + (0.0,) * 3
    load = PayloadConfig(
        link=link, at=up, until=up + LASTS, mass=mass, com=tuple(com.tolist()), inertia=inertia
    )
    about = [inertia[0], 0.0, 0.0, inertia[0], 0.0, inertia[0]]
    truth = np.array([mass, *com, *about])
    robot = robot(int(generator.integers(2**31)), {'load': load})

    def judged(mark, pipeline):
        return {f'load {mark}': _judged(pipeline, truth)} if mark in _HELD else {}

    return followed(config, robot, f'mass on {link}', up, judged)


def _judged(pipeline, truth):
    """Return mass error [g] and ranks [10] of the payload; truth [10]: its ten numbers."""
    payload = pipeline.findings(exact=False).payload
    if not payload.is_held:
        return {'mass': 1e3 * truth[0], 'rank': [1.0] * len(truth)}
    away = (truth - payload.mean) / payload.sd
    return {'mass': 1e3 * abs(payload.mass - float(truth[0])), 'rank': norm.cdf(away).tolist()}


def _mass_error(mark):
    """Return a statistic: the median error of the load's mass at a mark [g]."""
    return lambda records: float(np.median([record[f'load {mark}']['mass'] for record in records]))


def lines():
    """Return the lines of the table: what the feasibility study of such arms asks for."""
    found = noticing(40)
    for mark, (when, most) in _HELD.items():
        found += [
            Line(f'mass of the load, median error [g], {when}', _mass_error(mark), (None, most)),
            Line(f'90 % intervals of it, {when}', covered(f'load {mark}', 0.9), _BAND, 'share'),
        ]
    return [*found, *knowing()]
