"""Posteriors that were never estimated: a normal distribution about parameters off the prior."""

import numpy as np
from simulated import CONFIG

from sim2real_estimator.config import load_config, read_config, to_yaml, with_values
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.posterior.file import Posterior
from sim2real_estimator.posterior.identity import describe, Recording
from sim2real_estimator.setup.build import build_parts

# Twelve turned and shifted frames, so that nothing is zero by chance; every kind of parameter.
_ARM = """
model: {{urdf: '{urdf}'}}
joints: {{waist: {{effort: commanded}}, left_shoulder: {{effort: commanded}},
          right_rail: {{effort: commanded}}}}
sensors:
  encoders: {{kind: joint_positions, topic: joint_states, joints: [waist, left_shoulder,
              right_rail], sd: 0.001}}
estimate: {{{estimate}}}
"""
ALL = "'*.mass': {}, '*.com.*': {}, '*.inertia.*': {}, '*.damping': {}"


_BRICK = """
model:
  base: floating
  urdf: '<robot name="brick"><link name="brick"><inertial><origin xyz="0.01 0 0.02"/>
    <mass value="2"/><inertia ixx="0.03" iyy="0.04" izz="0.05"/></inertial></link></robot>'
sensors: {mocap: {kind: link_pose, topic: brick, link: brick, position_sd: 0.001}}
estimate: {'*.inertia.*': {}}
"""


def arm(urdf, estimate=ALL):
    """Return the `Config` of the arm that branches."""
    return read_config(_ARM.format(urdf=' '.join(urdf.split()), estimate=estimate))


def brick():
    """Return the `Config` of a body that floats, of which all six inertias are estimated."""
    return read_config(_BRICK)


def pendulum(**changes):
    """Return the shipped `Config` of a double pendulum; changes: settings by dotted path."""
    config = load_config(CONFIG)
    return with_values(config, {name.replace('__', '.'): v for name, v in changes.items()})


def posterior_of(config, away=0.3, left=0.02, seed=0):
    """
    Return (problem, `Posterior`).

    away: of the mean from the prior's, in its standard deviations; left: of these, what is not
    known; a number, or one for each coordinate.
    """
    config = with_values(config, {'simulation.backend': 'eager'})  # nothing is simulated
    problem, estimator, *_ = build_parts(config)
    generator = np.random.default_rng(seed)
    root, size = problem.prior.root, len(problem.labels)
    mean = problem.prior.mean + root @ (away * generator.standard_normal(size))
    roots = (root * np.broadcast_to(left, size)[:, None])[None]
    mixture = Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], roots)
    recordings = (Recording('0123456789abcdef', 10**9, 5 * 10**9),)
    identity = describe(problem, estimator)
    return problem, Posterior(identity, mixture, problem.prior, recordings, to_yaml(config))
