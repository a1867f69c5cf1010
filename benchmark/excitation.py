"""
What a suggested motion is worth: standard deviations after it, limits, and the time it takes.

Arms of example-robot-data in MuJoCo, with hidden bodies, friction, gains and offsets, as in the
section `workday`. A robot is moved from point to point for a few seconds; then `suggest` proposes
a motion, which the plant makes, and the estimator goes on with it. Beside it go motions at random
within the same limits and of the same duration, and two classical planners without a posterior:
the condition number of the base regressor (as FIGAROH) and its determinant (as FloBaRoID).
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
import multiprocessing
import time
from types import SimpleNamespace

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import qr
import torch
from workday.ours import _config, _message
from workday.plant import _gravity_torque, Arm, matrix, pseudo_inertia, ROBOTS
from workday.recordings import PointToPoint

from sim2real_estimator.excitation.advice import advise
from sim2real_estimator.excitation.information import Interest
from sim2real_estimator.excitation.planning import Planner, PlanOptions
from sim2real_estimator.observability.null_space import draw_samples
from sim2real_estimator.pipeline import Pipeline

# Fresh robots; the planner was tuned on seeds 0 to 9.
_FIRST_SEED = 9200
# Seconds of work before, of the motions, and between them.
_KNOWN, _SECONDS, _GAP = 4.0, 10.0, 2.0
# About home, rad; messages a second; noise of torques, as a part of the limits.
_SWING, _RATE, _NOISE = 1.2, 250, 0.01
_GAIN_SD, _OFFSET, _GRAIN = 0.015, 0.02, 5e-5
# Friction of draws changes its sign over this speed, as in the estimator [rad/s].
_SMOOTH = 0.02
# Motions at random that are made; draws whose torques MuJoCo computes, so often a second.
_AT_RANDOM, _DRAWS, _CHECKED = 2, 100, 50
# Targets.
_RATIO, _OF_PEERS, _PROCESSOR = 2.0, 0.9, 10.0
_STEPS_KEPT = round(1 / (_RATE * 5e-4))


@dataclass(frozen=True)
class Robot:
    """An arm in MuJoCo with what is hidden of it, its gains and offsets [n]."""

    arm: Arm
    hidden: object
    gain: np.ndarray
    offset: np.ndarray

    @staticmethod
    def of(seed):
        """Return the robot of a seed, the arms in turn."""
        arm = Arm(ROBOTS[list(ROBOTS)[seed % len(ROBOTS)]])
        generator = np.random.default_rng((seed, 0))
        hidden, n = arm.hidden(generator), len(arm.joints)
        gain = 1 + generator.normal(0, _GAIN_SD, n)
        return Robot(arm, hidden, gain, generator.uniform(-_OFFSET, _OFFSET, n) * arm.limit)

    def measured(self, motion, generator, begin=0.0):
        """Return ((t, q, tau) of what sensors say, the `Trace`) of a motion."""
        trace = self.arm.simulate(self.hidden, motion, (), _STEPS_KEPT)
        shape = trace.tau.shape
        tau = (trace.tau + self.offset) / self.gain
        tau = tau + generator.normal(size=shape) * _NOISE * self.arm.limit
        q = trace.q + generator.normal(size=shape) * _GRAIN
        return (begin + trace.t + 0.5, q, tau), trace


def run(arguments):
    """Measure, print a table, and tell whether the targets are met."""
    count = min(arguments.problems, 20)
    seeds = [arguments.seed + _FIRST_SEED + k for k in range(max(count, 1))]
    if arguments.seed:
        seeds = [arguments.seed + k for k in range(count)]
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(arguments.processes, mp_context=context) as pool:
        results = list(pool.map(measure, seeds))
    return report(results)


def measure(seed):
    """Return what is found with the robot of a seed, as plain values."""
    torch.set_num_threads(1)
    robot = Robot.of(seed)
    arm, generator = robot.arm, np.random.default_rng((seed, 1))
    pipeline = Pipeline.from_config(_config(SimpleNamespace(urdf=arm.urdf), ''))
    first, _ = robot.measured(PointToPoint(arm, _KNOWN, generator), generator)
    _feed(pipeline, arm, first)
    posterior, known = pipeline.posterior(), pipeline.run()

    begin, wall = time.process_time(), time.perf_counter()
    home = dict(zip(arm.joints, arm.home.tolist()))
    options = PlanOptions(seconds=_SECONDS, seed=seed)
    advice = advise(pipeline.problem, posterior, options=options, around=home, swing=_SWING)
    spent = time.process_time() - begin, time.perf_counter() - wall
    if list(advice.plan.motion.joints) != arm.joints:
        raise ValueError('joints are in another order')

    which, base = base_parameters(advice.information)

    def after(motion):
        data, trace = robot.measured(motion, generator, _KNOWN + _GAP)
        pipeline.resume(known)
        _feed(pipeline, arm, data)
        return deviations(pipeline.problem, pipeline.mixture, base), trace

    before = deviations(pipeline.problem, posterior.mixture, base)
    ours, trace = after(advice.plan.motion)
    expected = np.sqrt(np.einsum('bp,pq,bq->b', *_about(pipeline.problem, advice, base)))
    chosen = generator.choice(len(advice.plan.tones), _AT_RANDOM, replace=False)
    random = [after(advice.plan.tones[k][0])[0] for k in chosen]
    peers = {kind: peer(advice, which, kind) for kind in _PEERS}
    everything = Interest.of(np.eye(advice.information.root_told.shape[1]), 0.5)

    def whole(motion):
        return advice.information.gain(motion(motion.times(20)), _SECONDS, everything)

    return {
        'seed': seed,
        'name': list(ROBOTS)[seed % len(ROBOTS)],
        'ratio': float(np.exp(np.mean([np.log(each / ours).mean() for each in random]))),
        'before': float(np.exp(np.log(before / ours).mean())),
        'honest': float(np.exp(np.log(ours / expected).mean())),
        'times': advice.times,
        'peers': {name: whole(advice.plan.motion) / whole(m) for name, m in peers.items()},
        'worst': worst_share(robot, pipeline.problem, posterior.mixture, advice.plan.motion, seed),
        'made': float((np.abs(trace.tau) / arm.limit).max()),
        'outside': float(
            max((trace.q - arm.range[:, 1]).max(), (arm.range[:, 0] - trace.q).max())
        ),
        'speed': float((np.abs(trace.v) / arm.speed).max()),
        'held': advice.plan.held,
        'spent': spent,
        'joints': len(arm.joints),
    }


def _feed(pipeline, arm, data):
    """Let a pipeline read t [N], q, tau [N, n]."""
    for t, q, tau in zip(*data):
        message = _message(t, arm.joints, q, tau)
        for source in pipeline.sources:
            pipeline.receive(source, message)
        pipeline.step()


def base_parameters(information):
    """
    Return (indices [b], sums [b, P]): base parameters as sums of standard parameters.

    Those of which columns are independent, with what of the others has the same columns (Gautier
    and Khalil 1990, by QR).
    """
    columns = information.columns(information.states)
    columns = columns.reshape(-1, columns.shape[-1])
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-9)
    _, upper, order = qr(columns / size, mode='economic', pivoting=True)
    diagonal = np.abs(np.diag(upper))
    rank = int((diagonal > 1e-6 * diagonal[0]).sum())
    sums = np.zeros((rank, len(order)))
    sums[np.arange(rank), order[:rank]] = 1.0
    sums[:, order[rank:]] = np.linalg.solve(upper[:rank, :rank], upper[:rank, rank:])
    return order[:rank], sums * size / size[order[:rank], None]


def deviations(problem, mixture, base):
    """Return the standard deviations [b] of base parameters under a mixture."""
    mean, covariance = mixture.moments()
    slope = base @ problem.torque.standard(mean)[1]
    return np.sqrt(np.einsum('bp,pq,bq->b', slope, covariance, slope))


def _about(problem, advice, base):
    """Return what `deviations` are computed of, as expected after the suggested motion."""
    slope = base @ problem.torque.standard(advice.information.mean)[1]
    return slope, advice.covariance, slope


class _Classical:
    """
    Motions as planners see them that know no posterior: by the columns of base parameters.

    kind: 'determinant' of the information, whitened by the noise of torques, as FloBaRoID;
    'condition number' of the regressor, as FIGAROH.
    """

    def __init__(self, advice, which, kind):
        """Take an `Advice` and the indices of base parameters."""
        self._of, self._which, self._kind = advice.information, which, kind
        joints = len(self._of.joints)
        weights = np.sqrt(advice.noise.weights) if kind == 'determinant' else np.ones(joints)
        self._weights = weights[:, None, None]

    def __getattr__(self, name):
        return getattr(self._of, name)

    def gain(self, motion, seconds, interest):
        """Return the criterion, the larger the better."""
        return self._judged(self._of.columns(motion)[..., self._which])[0]

    def gain_and_slope(self, motion, seconds, interest):
        """Return the criterion and its derivative by the motion."""
        columns = self._of.columns(motion)
        value, slope = self._judged(columns[..., self._which])
        full = np.zeros_like(columns)
        full[..., self._which] = slope
        return value, self._of.pulled(motion, full)

    def _judged(self, columns):
        rows = (self._weights * columns).reshape(-1, columns.shape[-1])
        information = rows.T @ rows
        # Where nothing is known of a column both criteria are infinite.
        information[np.diag_indices_from(information)] += 1e-9 * np.trace(information)
        sizes, axes = np.linalg.eigh(information)
        if self._kind == 'determinant':
            value, slope = 0.5 * np.log(sizes).sum(), 0.5 * (axes / sizes) @ axes.T
        else:
            least, most = axes[:, :1], axes[:, -1:]
            value = -0.5 * np.log(sizes[-1] / sizes[0])
            slope = 0.5 * (least @ least.T / sizes[0] - most @ most.T / sizes[-1])
        return value, self._weights * (2 * rows @ slope).reshape(columns.shape)


_PEERS = 'determinant', 'condition number'


def peer(advice, which, kind):
    """Return the motion of a classical planner within the same limits and time."""
    mine = advice.planner
    planner = Planner(
        _Classical(advice, which, kind),
        mine.limits,
        mine.clearance,
        mine.draws,
        mine.options,
    )
    return planner.plan(None).motion


def worst_share(robot, problem, mixture, motion, seed):
    """Return the largest torque over its limit of draws of the posterior, by MuJoCo."""
    names = problem.parametrization.names
    drawn = draw_samples(problem, mixture, _DRAWS, seed)
    states = motion(motion.times(_CHECKED))
    values = (dict(zip(names, each.tolist())) for each in drawn.T)
    return [float(share_of_limits(robot, each, states)) for each in values]


def share_of_limits(robot, values, states):
    """Return the largest torque over its limit of a robot of named values; states [3, N, n]."""
    arm, n = robot.arm, len(robot.arm.joints)

    def of(word):
        return np.array([values[f'{joint}.{word}'] for joint in arm.joints])

    hidden = replace(
        robot.hidden,
        bodies=np.array([_body(values, link) for link in arm.links]),
        armature=np.zeros(n),
        damping=np.zeros(n),
        friction=np.zeros(n),
        stiffness=np.zeros(0),
    )
    model, _ = arm._plant(hidden, 5e-4)
    data, worst = mujoco.MjData(model), 0.0
    damping, armature, offset = of('damping'), of('armature'), of('torque_offset')
    friction, stribeck, by_load = of('friction'), of('stribeck'), of('load_friction')
    for q, v, a in zip(*states):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        level = friction + stribeck * np.exp(-((v / (5 * _SMOOTH)) ** 2))
        level = level + by_load * np.abs(_gravity_torque(model, data))
        tau = (
            data.qfrc_inverse + armature * a + damping * v + level * np.tanh(v / _SMOOTH) + offset
        )
        worst = max(worst, np.abs(tau / arm.limit).max())
    return worst


def _body(values, link):
    inertia = [values[f'{link}.inertia.{entry}'] for entry in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')]
    com = np.array([values[f'{link}.com.{axis}'] for axis in 'xyz'])
    return pseudo_inertia(values[f'{link}.mass'], com, matrix(inertia))


def report(results):
    """Print the table, and tell whether the targets are met."""

    def of(key):
        return np.array([each[key] for each in results], dtype=float)

    def middle(values):
        return float(np.exp(np.log(values).mean()))

    seven = [each['spent'] for each in results if each['joints'] == 7]
    rows = [
        ('sd of base parameters: at random / suggested', middle(of('ratio')), _RATIO, None),
        ('the same, least of all robots', of('ratio').min(), None, None),
        ('sd before / after', middle(of('before')), None, None),
        ('sd after / expected', middle(of('honest')), None, None),
    ]
    for name in _PEERS:
        shares = np.array([each['peers'][name] for each in results])
        rows.append((f'nats, ours / {name}: mean', shares.mean(), _OF_PEERS, None))
        rows.append((f'nats, ours / {name}: least', shares.min(), None, None))
    worst = np.array([each['worst'] for each in results])
    rows += [
        (f'draws beyond a limit, of {worst.size} (MuJoCo)', int((worst > 1).sum()), None, 0),
        ('largest torque of a draw / limit', worst.max(), None, None),
        ('made by a servo: torque / limit', of('made').max(), None, 1.0),
        ('made: speed / limit', of('speed').max(), None, 1.0),
        ('made: beyond the range [rad]', of('outside').max(), None, 0.0),
        ("draws that hold the planner's limits", of('held').min(), 0.95, None),
    ]
    if seven:
        rows.append(
            ('processor, 7 joints, largest [s]', max(s[0] for s in seven), None, _PROCESSOR)
        )
        rows.append(
            ('wall time, 7 joints, median [s]', np.median([s[1] for s in seven]), None, None)
        )
    is_good = True
    table = Table('', 'measured', 'target', 'verdict', title=f'{len(results)} robots')
    for title, value, least, most in rows:
        target = f'>= {least:g}' if least is not None else '' if most is None else f'<= {most:g}'
        is_met = (least is None or value >= least) and (most is None or value <= most)
        is_good &= is_met
        table.add_row(
            title, f'{value:.3g}', target, '' if not target else 'ok' if is_met else 'MISSED'
        )
    console = Console(width=100)
    console.print(table)
    for each in results:
        peers = ' '.join(f'{share:.2f}' for share in each['peers'].values())
        console.print(
            f'{each["seed"]} {each["name"]:<10} ratio {each["ratio"]:.2f}, before '
            f'{each["before"]:.1f}, times {each["times"] or 0:.1f}, peers {peers}, worst '
            f'{max(each["worst"]):.2f}, {each["spent"][0]:.1f} s ({each["spent"][1]:.1f} s)',
            highlight=False,
        )
    return is_good
