"""
Hidden effects that networks have to find: Stribeck friction and cogging on an arm of MuJoCo.

A Panda of MuJoCo (`workday/plant.py`) moves as for identification; the drive of one joint also has
to overcome what no model of ours knows. Networks are trained on the first four fifths, and
compared where they have not been. Where nothing is hidden, they have to switch themselves off.
"""

from dataclasses import dataclass, replace
from pathlib import Path
import tempfile

import numpy as np
from report import print_table
from workday.ours import config_of
from workday.plant import Arm, ROBOTS

from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.config.settings_tree import NeuralConfig
from sim2real_estimator.messages import serialized, TypestoreMaker
from sim2real_estimator.offline.training.train import train

ROBOT, SECONDS, EVERY = 'panda', 50.0, 8
# Of torques, as a part of the limit; of encoders [rad].
NOISE, ENCODERS = 0.005, 2e-5
# The hidden effect, as a part of the limit; its joint is drawn among those before the wrist.
AMPLITUDE, JOINTS = 0.03, 4
KINDS = ('stribeck', 'cogging', 'nothing')
FIRST_SEED = 9600
# Directions of which data leave less than this part of the prior's variance are learned.
_LEARNED = 0.5
_NORMAL_90 = 1.645
_POINTS = 60
JOINT_STATE = 'sensor_msgs/msg/JointState'
_SECOND, _BEGIN_NS = 10**9, 1_700_000_000 * 10**9


@dataclass(frozen=True)
class Record:
    """
    What came of a problem.

    kind; before, after: held-out error over noise, of the joint; band: share of the points of the
    function that 90 % bands hold, NaN without a network; physics: standard deviations by which
    learned directions of all but the friction of the joint are off; share: of the network, zero
    where it is off; is_off.
    """

    kind: str
    before: float
    after: float
    band: float
    physics: list
    share: float
    is_off: bool


def run(arguments):
    """Run some problems of each kind, print the table, and tell whether it is as promised."""
    count = max(arguments.problems // 20, 1)
    records = []
    for kind in KINDS:
        for k in range(count):
            records.append(measure(kind, FIRST_SEED + arguments.seed + k))
            print(sentence(records[-1]), flush=True)
    return judged(records)


def judged(records):
    """Print the table of `Record`s and tell whether all targets are met."""
    rows, verdicts = [], []
    for kind in KINDS:
        mine = [each for each in records if each.kind == kind]
        away = np.abs(np.concatenate([each.physics for each in mine]))
        inside = float((away < _NORMAL_90).mean())
        on = [each for each in mine if not each.is_off]
        band = float(np.mean([each.band for each in on])) if on else np.nan
        after = float(np.median([each.after for each in mine]))
        worst = max(each.after for each in mine)
        if kind == 'nothing':
            is_good = max(each.share for each in mine) < 0.02 and len(on) == 0
        else:
            is_good = after <= 1.3 and band >= 0.85 and len(on) == len(mine)
        verdicts.append(is_good and inside >= 0.85)
        rows.append(
            (
                kind,
                str(len(mine)),
                str(len(on)),
                f'{np.median([each.before for each in mine]):.2f}',
                f'{after:.2f} ({worst:.2f})',
                f'{band:.2f}',
                f'{inside:.2f}',
                'ok' if verdicts[-1] else 'MISSED',
            )
        )
    head = 'hidden', 'arms', 'on', 'without', 'with (worst)', 'band', 'physics', ''
    print_table(head, rows)
    return all(verdicts)


def sentence(record):
    """Return a record in a line."""
    away = np.abs(record.physics)
    return (
        f'{record.kind}: error {record.before:.2f} -> {record.after:.2f} of the noise, '
        f'band {record.band:.2f}, physics {(away < _NORMAL_90).mean():.2f} of {len(away)}, '
        f'{"off" if record.is_off else f"share {record.share:.4f}"}'
    )


def measure(kind, seed):
    """Return the `Record` of a problem."""
    generator, arm = np.random.default_rng(seed), Arm(ROBOTS[ROBOT])
    hidden = arm.hidden(generator)
    # All but the hidden effect is as modelled.
    hidden = replace(hidden, smoothing=0.02, stribeck=0 * hidden.stribeck)
    trace = arm.simulate(hidden, Harmonics(arm, generator), every=EVERY)
    k = int(generator.integers(JOINTS))
    effect = _effect(kind, generator, AMPLITUDE * arm.limit[k])
    sd = NOISE * arm.limit
    tau = trace.tau + sd * generator.normal(size=trace.tau.shape)
    tau[:, k] += effect(trace.q[:, k], trace.v[:, k])
    q = trace.q + ENCODERS * generator.normal(size=trace.q.shape)
    config = replace(
        config_of(arm.urdf), neural={'net': _wish(kind, arm.joints[k], AMPLITUDE * arm.limit[k])}
    )
    with tempfile.TemporaryDirectory() as folder:
        bag, weights = Path(folder, 'bag'), Path(folder, 'weights.json')
        write_recording(bag, arm.joints, trace.t, q, tau)
        found = train([bag], config, weights, seed=seed)
    (network,) = found.networks
    is_off = bool(network.off)
    best = found.before if is_off else found.after
    # Rows are means over blocks of 20 ms.
    rows = 0.02 / (trace.t[1] - trace.t[0])
    noise = sd[k] / np.sqrt(rows)
    after = network.before if is_off else network.after
    band = np.nan
    if not is_off:
        v = np.linspace(-1, 1, _POINTS) * np.quantile(np.abs(trace.v[:, k]), 0.9)
        at = np.linspace(*np.quantile(trace.q[:, k], [0.02, 0.98]), _POINTS)
        # Away from rest, where no torque is used.
        v = v[np.abs(v) > 0.04]
        band = _band(kind, best, arm.joints[k], effect, hidden, k, v if kind == 'stribeck' else at)
    share = 0.0 if is_off else best.findings.networks[0].share
    physics = _physics(best, arm.truth(hidden), arm.joints[k])
    return Record(kind, network.before / noise, after / noise, band, physics, share, is_off)


class Harmonics:
    """A motion of sums of sines within the range of an arm."""

    seconds = SECONDS

    def __init__(self, arm, generator, count=5, base=0.1):
        """Draw amplitudes and phases."""
        n, width = len(arm.joints), arm.range[:, 1] - arm.range[:, 0]
        self._home, self._omega = arm.home, 2 * np.pi * base * (1 + np.arange(count))
        size = generator.normal(size=(count, n))
        reach = 0.5 * np.minimum(0.45 * width, 1.2)
        self._size = size * reach / np.abs(size).sum(0)
        self._phase = generator.uniform(0, 2 * np.pi, (count, n))

    def __call__(self, t):
        """Return q, v, a [N, n] at times [N]."""
        omega = self._omega[None, :, None]
        angle = omega * np.asarray(t)[:, None, None] + self._phase
        q = self._home + (self._size * np.sin(angle)).sum(1)
        v = (self._size * omega * np.cos(angle)).sum(1)
        return q, v, -(self._size * omega**2 * np.sin(angle)).sum(1)


def _effect(kind, generator, amplitude):
    """Return the function (q, v) -> what a drive also has to overcome [N m]."""
    width = generator.uniform(0.15, 0.4)
    cycles, phase = generator.uniform(5, 10), generator.uniform(0, 2 * np.pi)
    return {
        'stribeck': lambda q, v: amplitude * np.tanh(v / 0.02) * np.exp(-((v / width) ** 2)),
        'cogging': lambda q, v: amplitude * np.sin(cycles * q + phase),
        'nothing': lambda q, v: 0.0 * q,
    }[kind]


def _wish(kind, joint, amplitude):
    """Return the network that a user would declare."""
    inputs, law, hidden = {
        'stribeck': ((f'{joint}.velocity',), 'dissipative', (8,)),
        'cogging': ((f'{joint}.position',), 'conservative', (16,)),
        'nothing': ((f'{joint}.velocity', f'{joint}.position'), 'free', (8,)),
    }[kind]
    return NeuralConfig(
        at=f'{joint}.effort', inputs=inputs, law=law, hidden=hidden, sd=float(amplitude)
    )


def _band(kind, found, joint, effect, hidden, k, at):
    """
    Return the share of points at which the 90 % band of the function holds the truth.

    The function: all friction over the speed, or all that depends on the position alone, the
    network and what is known of the joint together.
    """
    problem, mixture = found.problem, found.posterior.mixture
    names = problem.parametrization.names
    draws = mixture.draw(400, np.random.default_rng(0))
    rows = dict(zip(names, problem.parametrization.to_named(draws)))
    network = problem.model.networks[0]
    weights = np.stack([rows[name] for name in network.weight_names])
    drive = -network.sampled([at]) @ weights + rows[f'{joint}.torque_offset']
    if kind == 'stribeck':
        sign = np.tanh(at / 0.02)
        fading = np.exp(-((at / 0.1) ** 2))
        drive += np.outer(at, rows[f'{joint}.damping']) + np.outer(sign, rows[f'{joint}.friction'])
        drive += np.outer(sign * fading, rows[f'{joint}.stribeck'])
        truth = hidden.damping[k] * at + hidden.friction[k] * sign + effect(0 * at, at)
    else:
        truth = effect(at, 0 * at)
    low, high = np.quantile(drive, [0.05, 0.95], axis=1)
    return float(((truth >= low) & (truth <= high)).mean())


def _physics(found, truth, joint):
    """
    Return by how many standard deviations learned directions of the physics are off.

    Friction of the joint with the network is left out: what the network does not say of it is the
    best fit beside it.
    """
    problem, mixture = found.problem, found.posterior.mixture
    parametrization = problem.parametrization
    mean, covariance = mixture.moments()
    named = dict(zip(parametrization.names, parametrization.to_named(mean[:, None])[:, 0]))
    own = tuple(
        f'{joint}.{n}'
        for n in ('damping', 'friction', 'stribeck', 'torque_offset', 'load_friction')
    )
    exact = {'gain': 1.0, 'torque_offset': 0.0, 'stribeck': 0.0}
    values = [
        truth.get(n, exact.get(n.rpartition('.')[2], named[n])) for n in parametrization.names
    ]
    at = parametrization.inner.from_named(np.array(values)[:, None])[:, 0]
    left_out = (*own, *problem.model.networks[0].weight_names) if problem.model.networks else own
    kept = [i for i, label in enumerate(parametrization.labels) if label not in left_out]
    prior = parametrization.prior.covariance[np.ix_(kept, kept)]
    posterior, away = covariance[np.ix_(kept, kept)], (mean - at)[kept]
    root = np.linalg.cholesky(prior)
    white = np.linalg.inv(root)
    left, axes = np.linalg.eigh(white @ posterior @ white.T)
    score = (axes.T @ white @ away) / np.sqrt(np.maximum(left, 1e-15))
    return score[left < _LEARNED].tolist()


def write_recording(path, joints, t, q, tau):
    """Write a recording of joint states."""
    make = {
        name: TypestoreMaker(name)
        for name in (JOINT_STATE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    }
    with BagWriter(path) as writer:
        writer.add('joint_states', JOINT_STATE)
        for stamp, position, effort in zip(_BEGIN_NS + np.round(t * _SECOND), q, tau):
            seconds, rest = divmod(int(stamp), _SECOND)
            header = make['std_msgs/msg/Header'](
                stamp=make['builtin_interfaces/msg/Time'](sec=seconds, nanosec=rest), frame_id=''
            )
            message = make[JOINT_STATE](
                header=header,
                name=list(joints),
                position=position,
                velocity=np.zeros(0),
                effort=effort,
            )
            writer.write('joint_states', JOINT_STATE, int(stamp), serialized(message))
