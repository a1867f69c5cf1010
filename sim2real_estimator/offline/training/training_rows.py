"""Rows that networks are trained on: motion, columns of the physics, torques of recordings."""

from dataclasses import dataclass

import numpy as np

from ...augmentation import Samples
from ...bags.reader import BagReader, digest_of
from ...dynamics.rnea import gravity_efforts
from ...estimation.torque.joint_motion import learn_motion_noise, smoothed_motion
from ...estimation.torque.rows import are_moving, motion_at
from ...model.robot import realize
from ...pipeline import Pipeline
from ...setup.build import stream_maker
from ...setup.networks import reference_of
from ..identification.feeding import Feed
from ..identification.held_out import stretches
from .network_fit import JointRows, left_by

_NANO = 1e9
# Most rows of all recordings.
_MOST = 6000
# Between two recordings, so that blocks of time do not mix them [s].
_APART = 10.0


@dataclass(frozen=True)
class MotionRows:
    """
    All joints' rows of some recordings.

    parameters: the model's `Parameters`; robot: realized, where loads are known; times [N] s;
    motion [3, N, n]: positions, velocities, accelerations; torques, usable [N, J]; columns [N, J,
    P]: of the physics; joints: names; velocities [J]: their places.
    """

    parameters: object
    robot: object
    times: np.ndarray
    motion: np.ndarray
    torques: np.ndarray
    usable: np.ndarray
    columns: np.ndarray
    joints: tuple
    velocities: np.ndarray

    @property
    def model(self):
        """The `Model`."""
        return self.parameters.model

    def left_of(self, joint):
        """Return the root mean square torque of a joint that its columns do not explain."""
        row = self.joints.index(joint)
        kept = np.flatnonzero(self.usable[:, row])
        left = left_by(self.columns[kept, row], self.torques[kept, row])
        return float(np.sqrt((left**2).mean()))

    def of_joint(self, declaration):
        """Return (`JointRows` of the joint of a `Declaration`, `Reference` of their motion)."""
        row = self.joints.index(declaration.at.rpartition('.')[0])
        kept = np.flatnonzero(self.usable[:, row])
        q, v = (list(part[kept].T.copy().view(Samples)) for part in self.motion[:2])
        efforts = [np.zeros(len(kept))] * self.motion.shape[2]
        efforts[self.velocities[row]] = self.torques[kept, row]
        loads = gravity_efforts(self.robot, q, len(v))
        reference = reference_of(self.robot, declaration, q, v, efforts, loads=loads)
        columns = self.columns[kept, row]
        columns = columns[:, (columns**2).sum(0) > 0]
        torques = self.torques[kept, row]
        rows = JointRows(self.times[kept], reference.values, columns, torques, reference.working)
        return rows, reference


def rows_of(paths, config, share, robot_at=None, is_trusting=False):
    """
    Return the `MotionRows` of what is not held out of recordings.

    config: with measured torques and no networks; share: held out of each, at its end; robot_at
    [p]: coordinates by which loads are known, None: those of the prior mean.
    """
    pipeline = Pipeline.from_config(config)
    problem, model = pipeline.problem, pipeline.problem.torque
    make_stream, parts, begin = stream_maker(config, problem), [], 0.0
    for path in paths:
        with BagReader(path) as bag:
            feed = Feed(bag, digest_of(path), config, pipeline, share, is_trusting)
            found = _rows_before(feed, make_stream, model)
        parts += [(times + begin, *rest) for times, *rest in found]
        begin = max((part[0][-1] for part in parts), default=begin) + _APART
    times, *rest = (np.concatenate(each) for each in zip(*((p[0], p[2], p[3]) for p in parts)))
    motion = np.concatenate([part[1] for part in parts], 1)
    torques, usable = rest
    which = np.unique(np.linspace(0, len(times) - 1, _MOST).astype(int))
    times, motion, torques, usable = times[which], motion[:, which], torques[which], usable[which]
    mean = problem.prior.mean if robot_at is None else robot_at
    standard = model.standard(mean)[0]
    columns = model.columns(*motion, standard, model.geometry(mean))
    values = problem.parametrization.to_named(mean[:, None])[:, 0].tolist()
    known = dict(zip(problem.parametrization.names, values))
    known = {name: value for name, value in known.items() if name in problem.parameters}
    robot = realize(problem.parameters, {**problem.parametrization.fixed, **known})
    return MotionRows(
        problem.parameters,
        robot,
        times,
        motion,
        torques,
        usable,
        columns,
        model.joints,
        model.velocities,
    )


def _rows_before(feed, make_stream, model):
    """Return [(times [N] s, motion [3, N, n], torques, usable [N, J])] of what is not held out."""
    seconds = (feed.split_ns - feed.bag.begin_ns) / _NANO
    stream = make_stream()
    for sample in feed.samples(feed.bag.begin_ns, seconds, feed.split_ns):
        stream.push(sample)
    found = []
    for stamps, positions, at_ns, efforts in stretches(model, stream.flush()):
        efforts = efforts[:, : len(model.joints)]
        since = (stamps - stamps[0]) / _NANO
        motion = smoothed_motion(since, positions, learn_motion_noise(since, positions))
        at = (at_ns - stamps[0]) / _NANO
        inside = (at >= 0) & (at <= since[-1])
        is_moving = are_moving(since, motion[1][:, model.velocities], model.slowest)
        nearest = np.searchsorted(since, at).clip(0, len(since) - 1)
        usable = np.isfinite(efforts) & is_moving[nearest] & inside[:, None]
        times = (at_ns - feed.bag.begin_ns) / _NANO
        found.append((times, motion_at(at, since, motion), np.nan_to_num(efforts), usable))
    return found
