"""Arms of seven joints whose torques are measured and whose bodies are seen by motion capture."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from problems import seven_joints
from transforms3d import axangles, quaternions

from sim2real_estimator.app.synthetic.settings import load_estimator, load_synthetic
from sim2real_estimator.config.settings_tree import FramesConfig, PriorConfig
from sim2real_estimator.dynamics.regressor import regressor_parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.prediction.torque_model import _Evaluator, _regressor
from sim2real_estimator.records import Sample

BEGIN_NS, RATE, POSE_RATE = 1_700_000_000 * 10**9, 250.0, 100.0
ENCODERS, EFFORTS = 'encoders', 'measured_efforts'
# Body of motion capture -> how many joints move it.
BODIES = {'elbow_body': 4, 'hand_body': 7}
LINKS = ('column', 'shoulder', 'upper_arm', 'elbow', 'forearm', 'wrist')
JOINTS = (
    *('base_yaw', 'shoulder_pitch', 'shoulder_roll', 'elbow_pitch', 'forearm_roll'),
    *('wrist_pitch', 'wrist_roll'),
)
SD, EFFORT_SD, POSITION_SD, TURN_SD = 1e-4, 0.005, 1e-3, 5e-3
# From the foot to the first joint [m], and about which axis each joint turns.
_FOOT, _AXES = 0.16, np.array([[0, 0, 1], [0, 1, 0]] * 3 + [[0, 0, 1]], dtype=float)
_LENGTHS = (0.2, 0.2, 0.2, 0.2, 0.19, 0.1)
KINEMATICS = ('*.length', '*.offset', '*.mount.*', 'mocap.*', '*_body.delay')


def config(kinematics=KINEMATICS, **priors):
    """Return the `Config`; kinematics: patterns that are estimated; priors: name -> prior."""
    known = load_estimator(load_synthetic(seven_joints.ROBOT))
    estimate = {name: PriorConfig() for name in known.estimate}
    estimate |= {name: PriorConfig() for name in kinematics}
    if '*_body.delay' in estimate:
        estimate['*_body.delay'] = PriorConfig(sd=0.01)
    encoders = replace(known.sensors[ENCODERS], sd=SD)
    return replace(
        known,
        sensors={**known.sensors, ENCODERS: encoders},
        estimate={**estimate, **priors},
        frames=FramesConfig(),
    )


@cache
def pipeline():
    """Return a pipeline that nobody feeds."""
    return Pipeline.from_config(config())


def drawn_truth(seed=0, size=1.0, of_bodies=0.5):
    """Return name -> true value, drawn from the prior; sizes: in its standard deviations."""
    problem, rng = pipeline().problem, np.random.default_rng(seed)
    away = problem.prior.root @ rng.standard_normal(len(problem.prior.mean))
    places = problem.poses.places
    truth = problem.prior.mean + of_bodies * away
    truth[places] += (size - of_bodies) * away[places]
    truth[problem.torque.positive] = np.abs(truth[problem.torque.positive])
    values = problem.parametrization.to_named(truth[:, None])[:, 0]
    return dict(zip(problem.parametrization.names, values.tolist()))


def coordinates(values):
    """Return the coordinates [p] of true values by name, in the parametrization of the problem."""
    parametrization = pipeline().problem.parametrization
    named = np.array([values[name] for name in parametrization.names])
    return parametrization.inner.from_named(named[:, None])[:, 0]


def pose(values, body, q):
    """Return (position [3], rotation [3, 3]) of a body at positions of joints [7]."""
    place, turn = np.array([0.0, 0.0, _FOOT]), np.eye(3)
    for k in range(BODIES[body]):
        if k:
            length = values.get(f'{LINKS[k - 1]}.length', _LENGTHS[k - 1])
            place = place + turn @ [0.0, 0.0, length]
        angle = q[k] + values.get(f'{JOINTS[k]}.offset', 0.0)
        turn = turn @ axangles.axangle2mat(_AXES[k], angle)
    shift, twist = _placement(values, f'{body}.mount')
    capture, about = _placement(values, 'mocap')
    return capture + about @ (place + turn @ shift), about @ turn @ twist


def _placement(values, owner):
    vector = np.array([values.get(f'{owner}.r{a}', 0.0) for a in 'xyz'])
    shift = np.array([values.get(f'{owner}.{a}', 0.0) for a in 'xyz'])
    angle = np.linalg.norm(vector)
    return shift, axangles.axangle2mat(vector if angle else [1, 0, 0], angle)


def motion(times, size=1.0):
    """Return positions, velocities, accelerations [3, N, 7] of an arm that swings."""
    found = np.zeros((3, len(times), 7))
    for part, frequency in ((0.5, 0.23), (0.3, 0.53), (0.1, 1.1)):
        phases = 1.7 * np.arange(7) + 3 * frequency
        speed = 2 * np.pi * frequency * (1 + 0.11 * np.arange(7))
        angle = times[:, None] * speed + phases
        found += (
            size
            * part
            * np.stack([np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle)])
        )
    return found


@dataclass(frozen=True)
class Recording:
    """True values by name; times [N] s; q, tau [N, 7]; poses: body -> [(time [s], [7]), ...]."""

    truth: dict
    times: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    poses: dict

    def samples(self):
        """Return all `Sample`s as they come."""
        found = []
        for t, q, tau in zip(self.times, self.q, self.tau):
            stamp = BEGIN_NS + round(1e9 * t)
            found += [(t, Sample(ENCODERS, stamp, q)), (t, Sample(EFFORTS, stamp, tau))]
        for body, entries in self.poses.items():
            found += [(t, Sample(body, BEGIN_NS + round(1e9 * t), y)) for t, y in entries]
        return [sample for _, sample in sorted(found, key=lambda entry: entry[0])]


def record(seconds, seed=0, truth=None, pose_sd=1.0, size=1.0, bodies=tuple(BODIES)):
    """Return a `Recording`; pose_sd: of motion capture beside what is configured."""
    rng = np.random.default_rng(1000 + seed)
    truth = drawn_truth(seed) if truth is None else truth
    times = np.arange(round(seconds * RATE)) / RATE
    moved = motion(times, size)
    limits = pipeline().problem.torque.limits
    tau = true_torques(truth, moved) + EFFORT_SD * limits * rng.standard_normal(moved[0].shape)
    poses = {}
    for body in bodies:
        taken = np.arange(round(seconds * POSE_RATE)) / POSE_RATE + rng.uniform(0, 0.01)
        entries = []
        for t, q in zip(taken, motion(taken, size)[0]):
            place, turn = pose(truth, body, q)
            place = place + pose_sd * POSITION_SD * rng.standard_normal(3)
            vector = pose_sd * TURN_SD * rng.standard_normal(3)
            noise = axangles.axangle2mat(vector, np.linalg.norm(vector))
            q = quaternions.mat2quat(turn @ noise) * rng.choice([-1, 1])
            entries.append((t + truth.get(f'{body}.delay', 0.0), np.array([*place, *q])))
        poses[body] = [(t, y) for t, y in entries if t >= 0]
    q = moved[0] + SD * rng.standard_normal(moved[0].shape)
    return Recording(truth, times, q, tau, poses)


def true_torques(values, moved):
    """Return what torques are measured but for noise [N, 7]; moved [3, N, 7]."""
    problem = pipeline().problem
    parameters, model = problem.parameters, problem.torque
    known = {**problem.parametrization.fixed, **values}
    robot = realize(parameters, {n: v for n, v in known.items() if n in parameters})
    standard = np.array([float(x) for x in regressor_parameters(robot)])
    state, body, stacked = _regressor(problem.model, robot, model.velocities)
    columns = _Evaluator('columns', [*state, body], [stacked])
    found = columns(moved, standard[: 10 * len(robot.bodies)])[0]
    gains = np.array([values.get(f'{joint}.gain', 1.0) for joint in JOINTS])
    return (found @ standard) / gains


def scores(pipeline, truth):
    """Return squared distances of the truth per coordinate: (kinematics, all others)."""
    mean, covariance = pipeline.mixture.moments()
    off, places = mean - coordinates(truth), pipeline.problem.poses.places
    others = np.setdiff1d(np.arange(len(mean)), places)
    return tuple(
        off[own] @ np.linalg.solve(covariance[np.ix_(own, own)], off[own]) / len(own)
        for own in (places, others)
    )


def torque_error(pipeline, truth):
    """Return rms of the error of predicted torques over rms of the torques."""
    model, (mean, _) = pipeline.problem.torque, pipeline.mixture.moments()
    moved = motion(40.0 + np.arange(1000) / 250)
    standard, geometry = model.standard(mean)[0], model.geometry(mean)
    columns = model.columns(*moved, standard, geometry)
    true = true_torques(truth, moved)
    off = model.scales(mean)[0] * (columns @ standard) - true
    return float(np.sqrt(np.mean(off**2) / np.mean(true**2)))


def damaged(recording):
    """Return poses with a marker that flips for 20 frames, and frames that are lost."""
    found = {}
    for body, entries in recording.poses.items():
        kept = []
        for k, (t, y) in enumerate(entries):
            if k % 400 > 340:
                continue
            if 100 <= k % 250 < 120:
                w, x, y_, z = y[3:]
                y = np.array([*(y[:3] + [0.1, -0.05, 0.2]), -x, w, z, -y_])
            kept.append((t, y))
        found[body] = kept
    return found
