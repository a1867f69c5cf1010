"""
A double pendulum with encoders, and motion capture on both links that is late and off.

The robot, the motion and the priors are those of P2. The bodies of motion capture are mounted
some 2 cm from where the links are, their clock is late, and their quaternions have random signs.
All goes through a config and a stream: how late the clock is decides which frame a pose is of.
"""

import numpy as np
import torch

from sim2real_estimator.config import read_config
from sim2real_estimator.records import Sample

from . import p2
from .common import log_normal_draw

BODIES = ('upper', 'lower')
POSITION, TURN = 2e-4, 2e-3
# Poses are taken between the encoders' samples, at the same rate.
_AFTER_NS = 4_000_000
# The motion begins that much [ms] before the first encoder sample, for poses that are older.
_BEFORE = 300
_MILLI = 1_000_000
_PERIOD = round(1000 / p2.RATE)
_CONFIG = """
model: {urdf: '%s'}
joints: {shoulder: {effort: commanded}, elbow: {effort: commanded}}
sensors:
  encoders: {kind: joint_positions, topic: joint_states, joints: [shoulder, elbow], sd: %.9g}
  upper body: {kind: link_pose, topic: upper, link: upper, position_sd: %g, orientation_sd: %g}
  lower body: {kind: link_pose, topic: lower, link: lower, position_sd: %g, orientation_sd: %g}
frames: {max_rate: 100.0}
simulation: {max_step: 0.005}
estimate:
"""
PARAMETERS = tuple(name for name in p2.NAMES if name != 'to_tip.origin.z')
MOUNTS = tuple(f'{body} body.mount.{axis}' for body in BODIES for axis in 'xyz')
DELAYS = tuple(f'{body} body.delay' for body in BODIES)


def config(delay='{min: -0.02, max: 0.25}'):
    """Return the `Config`; delay: the prior of the delays, as YAML."""
    nominal = {name: prior.mean for name, prior in p2.priors().items()}
    urdf = ' '.join(p2.urdf(nominal).split())
    text = _CONFIG % (urdf, p2.NOISE, *(POSITION, TURN) * 2)
    rows = [f'  {name}: {{sd: {p2.priors()[name].sd}, log: true}}' for name in PARAMETERS]
    rows += [f"  '{body} body.mount.[xyz]': {{sd: 0.03}}" for body in BODIES]
    rows += [f"  '{name}': {delay}" for name in DELAYS]
    return read_config(text + '\n'.join(rows))


def draw(seed, delay_ms, seconds):
    """
    Return (values, samples): name -> true value, and samples in the order of their stamps.

    delay_ms: by how much stamps of motion capture are later than its poses, in whole ms.
    """
    rng = np.random.default_rng(seed)
    values = log_normal_draw(p2.priors(), rng)
    state, torques = p2.draw_motion(rng, seconds + 1e-3 * _BEFORE + 0.05)
    for name in MOUNTS:
        values[name] = float(rng.choice([-1, 1]) * rng.uniform(0.01, 0.02))
    values |= dict.fromkeys(DELAYS, 1e-3 * delay_ms)
    simulator = p2.simulator()
    column = torch.tensor([[values[name]] for name in simulator.names], dtype=torch.float64)
    controls = torch.from_numpy(np.repeat(torques, _PERIOD, 0))
    with torch.no_grad():
        path = simulator.rollout(
            torch.from_numpy(state)[:, None], [1e-3] * len(controls), column, controls
        )
    angles = path.states[:, :2, 0].numpy()
    samples = []
    for k in range(round(seconds * p2.RATE) + 1):
        at = k * _PERIOD * _MILLI
        tick = _BEFORE + k * _PERIOD
        noise = p2.NOISE * rng.standard_normal(2)
        samples.append(Sample('encoders', at, angles[tick] + noise))
        samples.append(Sample('commanded_efforts', at, torques[tick // _PERIOD]))
        seen = angles[tick + _AFTER_NS // _MILLI - delay_ms]
        for body in BODIES:
            pose = _pose(body, seen, values, rng)
            samples.append(Sample(f'{body} body', at + _AFTER_NS, pose))
    return values, samples


def _pose(body, angles, values, rng):
    """Return what motion capture says of a body: position and quaternion of either sign."""
    turn = angles[0] if body == 'upper' else angles.sum()
    place = _turned(angles[0], [0, 0, values['elbow.origin.z']]) * (body == 'lower')
    place = place + _turned(turn, [values[f'{body} body.mount.{axis}'] for axis in 'xyz'])
    wobble = np.array([1.0, *(0.5 * TURN * rng.standard_normal(3))])
    w, x, y, z = wobble / np.linalg.norm(wobble)
    c, s = np.cos(turn / 2), np.sin(turn / 2)
    quaternion = np.array([c * w - s * y, c * x + s * z, c * y + s * w, c * z - s * x])
    noise = POSITION * rng.standard_normal(3)
    return np.concatenate([place + noise, rng.choice([-1, 1]) * quaternion])


def _turned(angle, point):
    """Return a point turned about y."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = point
    return np.array([c * x + s * z, y, c * z - s * x])
