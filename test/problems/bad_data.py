"""Pipelines of every estimator in every stage, and bad frames that are fed to them."""

from collections import Counter
from dataclasses import dataclass, replace

import measured_arms
import numpy as np
import simulated

from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample

from .bad_frames import spoiled

ENCODERS, HAND = 'encoders', 'hand'
_HAND = {
    'sensors.hand.kind': 'link_pose',
    'sensors.hand.topic': 'hand',
    'sensors.hand.link': 'lower',
    'sensors.hand.position_sd': 0.001,
    'sensors.hand.orientation_sd': 0.01,
}
# Few starts, and short batches: most frames are bad, and fits of them lead nowhere.
_QUICK = {'starts': 2, 'longest': 60}
_PAPER = {'kernels': 2, 'draws': 2, 'epochs': 1}


@dataclass(frozen=True)
class Case:
    """
    A pipeline that is fed.

    frames: good ones; stages: name -> `Progress` from which bad frames begin; length: how many
    of them on end.
    """

    pipeline: Pipeline
    frames: tuple
    stages: dict
    length: int

    def feed(self, rng, stage, count):
        """
        Feed bad frames from a stage on, in stretches, and return how often what was reported.

        What can be asked of a pipeline is asked at the end of each.
        """
        pipeline, begin, words = self.pipeline, self.stages[stage], Counter()
        for first in range(0, count, self.length):
            pipeline.progress = begin
            after_ns = begin.estimate.stamp_ns or self.frames[0].start_ns
            number = min(self.length, count - first)
            for frame in spoiled(rng, self.frames, number, after_ns):
                pipeline.waiting.append(frame)
                for estimate in pipeline.step():
                    words.update(estimate.report.events)
            words.update(self._unsound())
        return words

    def _unsound(self):
        """Return what of the numbers that a pipeline has for people is none, as words."""
        estimate = self.pipeline.estimate()
        self.pipeline.findings(exact=False)
        self.pipeline.posterior()
        is_sound = np.isfinite(estimate.mean).all() and np.isfinite(estimate.sd).all()
        return () if is_sound else ('not finite',)


def gaussian_sum():
    """Return the `Case` of the estimator by forward simulation, of encoders and a pose."""
    pipeline = Pipeline.from_config(_with_hand(simulated.config(), _QUICK))
    frames = _frames(pipeline, 3.0)
    stages = _followed(pipeline, frames, {'batch': 0, 'late batch': 40, 'filter': len(frames)})
    changed = [_off(frame) for frame in frames[-40:]]
    pipeline.progress = stages['filter']
    stages |= _followed(pipeline, changed, {'suspicion': 33})
    return Case(pipeline, frames, stages, 40)


def measured_torque():
    """Return the `Case` of the estimator by inverse dynamics, of encoders and a pose."""
    known = _with_hand(measured_arms.config())
    kinematics = {name: PriorConfig(sd=0.02) for name in ('hand.mount.[xyz]', 'hand.delay')}
    pipeline = Pipeline.from_config(replace(known, estimate={**known.estimate, **kinematics}))
    rng = np.random.default_rng(0)
    for sample in measured_arms.record(3.0, 0).samples():
        pipeline.push(sample)
        if sample.sensor == ENCODERS:
            pipeline.push(Sample(HAND, sample.stamp_ns, _pose(sample.values, rng)))
    frames = _taken(pipeline)
    stages = {'beginning': 0, 'noise learned': 100, 'posterior': len(frames)}
    return Case(pipeline, frames, _followed(pipeline, frames, stages), 200)


def multiple_shooting():
    """Return the `Case` of the estimator by windows, of encoders and a pose."""
    known = with_values(_with_hand(simulated.config()), {'frames.max_rate': 50.0})
    estimator = replace(known.estimator, name='multiple_shooting', settings={})
    pipeline = Pipeline.from_config(replace(known, estimator=estimator))
    frames = _frames(pipeline, 5.0)
    stages = {'beginning': 0, 'first windows': 70, 'many windows': len(frames)}
    return Case(pipeline, frames, _followed(pipeline, frames, stages), 200)


def gumbel_mixture():
    """Return the `Case` of the paper's estimator, of encoders and a pose."""
    known = _with_hand(simulated.config())
    estimator = replace(known.estimator, name='gumbel_mixture', settings=_PAPER)
    pipeline = Pipeline.from_config(replace(known, estimator=estimator))
    frames = _frames(pipeline, 0.2)
    return Case(pipeline, frames, _followed(pipeline, frames, {'beginning': 0, 'later': 10}), 8)


_CASES = (gaussian_sum, measured_torque, multiple_shooting, gumbel_mixture)
CASES = {case.__name__: case for case in _CASES}


def _with_hand(config, settings=None):
    """Return a config with a pose of the hand, and settings of the estimator."""
    settings = {f'estimator.settings.{name}': value for name, value in (settings or {}).items()}
    return with_values(config, _HAND | settings)


def _frames(pipeline, seconds):
    """Return good frames of a simulated robot."""
    recording, rng = simulated.record(seconds), np.random.default_rng(0)
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample(ENCODERS, int(stamp), np.array(angles)))
        pipeline.push(Sample(HAND, int(stamp), _pose(angles, rng)))
        pipeline.push(Sample('commanded_efforts', int(stamp), np.array(torques)))
    return _taken(pipeline)


def _pose(angles, rng):
    """Return where the lower link of the double pendulum is seen."""
    first, turn = angles[0], angles.sum()
    place = 0.5 * np.array([-np.sin(first), 0.0, -np.cos(first)])
    quaternion = [np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0]
    return np.concatenate([place + 1e-3 * rng.standard_normal(3), quaternion])


def _taken(pipeline):
    """Return the frames that are complete, and take them from the pipeline."""
    pipeline.cut()
    frames = tuple(pipeline.waiting)
    pipeline.waiting.clear()
    return frames


def _followed(pipeline, frames, stages):
    """Return name -> `Progress` after so many frames."""
    found = {}
    for number, frame in enumerate((*frames, None)):
        found |= {name: pipeline.progress for name, after in stages.items() if after == number}
        if frame is not None:
            pipeline.waiting.append(frame)
            pipeline.step()
    return found


def _off(frame):
    """Return a frame of a robot that is not where anything could have moved it."""
    samples = tuple(replace(s, values=s.values + 0.7) for s in frame.samples)
    return replace(frame, samples=samples)
