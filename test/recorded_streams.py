"""
Streams of many kinds of robots, for telling whether a change of the code changes what comes out.

Each is made from a seed, always the same. `tools/digests.py` compares what comes of them before
and after a change, bit for bit; `test_digests.py` does so for the short ones.
"""

from dataclasses import dataclass, replace
import hashlib
from pathlib import Path
import tempfile
import time

import measured_arms
import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes, samples_of
from problems import bad_mocap, driven_elbow, free_body, late_mocap, seven_joints
from scenarios import SCENARIOS
import seen_arms
import simulated

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.settings import load_synthetic, PayloadConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.background import Background
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import EffortsConfig, JointConfig
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.stream.plans import RecordedPlan

_BEGIN_NS = 1_700_000_000 * 10**9
# As few starts as do: it is the same code with many.
_FEW_STARTS = {'estimator.settings.starts': 4}
_GUMBEL = {'kernels': 3, 'draws': 4, 'epochs': 2}
_WEIGHT = (0.0, 0.0, 0.05), (1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Digest:
    """
    What came out of a stream.

    numbers: hash of every number of every estimate, of the posterior and of the findings at the
    end; words: of events, verdicts and outcomes of samples; frames: how many there were;
    seconds: that they took.
    """

    numbers: str
    words: str
    frames: int
    seconds: float


def digest(name):
    """Return the `Digest` of the stream of that name."""
    run = STREAMS[name]()
    begun = time.perf_counter()
    pipeline, estimates = run()
    seconds = time.perf_counter() - begun
    numbers, words = hashlib.sha256(), hashlib.sha256()

    def put(*values):
        numbers.update(np.array(values, dtype=float).tobytes())

    for estimate in estimates:
        put(estimate.stamp_ns, *estimate.mean, *estimate.sd)
        words.update('|'.join(map(str, estimate.report.events)).encode())
    numbers.update(posterior_bytes(pipeline))
    found = pipeline.findings(exact=False)
    for each in found.parameters:
        put(each.mean, each.sd, *each.quantiles, each.share)
        words.update(f'{each.name}: {each.verdict_text}\n'.encode())
    for each in found.combinations:
        put(each.mean, each.sd)
    words.update(repr(pipeline.counts.table()).encode())
    return Digest(numbers.hexdigest()[:16], words.hexdigest()[:16], len(estimates), seconds)


def _fed(pipeline, samples):
    """Return a function that feeds a pipeline and returns (pipeline, estimates)."""
    return lambda: (pipeline, feed(pipeline, samples))


def _heard(robot, seconds, changes=None):
    """Return the same for what a `SyntheticRobot` sends, decoded as in the node."""
    pipeline = Pipeline.from_config(with_values(robot.config, changes or {}))

    def run():
        estimates = []
        robot.begin(_BEGIN_NS)
        for reading in robot.run(seconds):
            message = message_of(reading)
            for name in robot.readers[reading.topic]:
                pipeline.receive(name, message)
            estimates += pipeline.step()
        return pipeline, [*estimates, *pipeline.finish()]

    return run


def pendulum():
    """Return a run of two driven links: first fits, then the filter."""
    return _fed(pipeline_of(_FEW_STARTS), samples_of(2.5, 99.0))


def demonstration():
    """Return the run of the demonstration: with motion capture, and a weight that is picked up."""
    settings = load_synthetic(seven_joints.ROBOT.with_name('demo.yaml'))
    weight = replace(settings.payloads['weight'], at=4.0)
    return _heard(SyntheticRobot(replace(settings, payloads={'weight': weight})), 8.0, _FEW_STARTS)


def arm_with_payload():
    """Return a run of seven joints of measured torque, whose hand picks up a kilogram."""
    config = seven_joints.measured()
    payload = PayloadConfig('hand', 4.0, None, 1.0, *_WEIGHT)
    return _heard(seven_joints.robot(config, 3, payloads={'load': payload}), 7.0)


def arm_picks_up():
    """Return a run of the same robot that is well known when it picks up its kilogram."""
    config = seven_joints.measured()
    payload = PayloadConfig('hand', 12.0, None, 1.0, *_WEIGHT)
    return _heard(seven_joints.robot(config, 3, payloads={'load': payload}), 18.0)


def arm_with_mocap():
    """Return a run of the same arm with motion capture, for lengths and mounts."""
    return _fed(Pipeline.from_config(seen_arms.config()), seen_arms.record(3.0, 2).samples())


def kinematics():
    """Return a run of the arm with motion capture whose efforts are unknown: kinematics alone."""
    known = seen_arms.config(seen_arms.KINEMATICS)
    estimate = {name: known.estimate[name] for name in seen_arms.KINEMATICS}
    joints = {joint: JointConfig('unknown') for joint in seen_arms.JOINTS}
    config = replace(known, joints=joints, efforts=EffortsConfig(), estimate=estimate)
    sensors = seen_arms.ENCODERS, *seen_arms.BODIES
    samples = [s for s in seen_arms.record(4.0, 1).samples() if s.sensor in sensors]
    return _fed(Pipeline.from_config(config), samples)


def commanded_arm():
    """Return a run of seven joints of commanded torque: the filter of a large robot."""
    return _heard(seven_joints.robot(seven_joints.config(), 5), 1.6)


def measured_pendulum():
    """Return a run of two links of measured torque."""
    return _fed(measured_arms.new_pipeline(), measured_arms.record(6.0, 1).samples())


def late():
    """Return a run of a double pendulum with motion capture that is late by an unknown time."""
    _, samples = late_mocap.draw(3, 30, 6.0)
    return _fed(Pipeline.from_config(with_values(late_mocap.config(), _FEW_STARTS)), samples)


def faulty():
    """Return a run with motion capture that flips, swaps and freezes, on a clock that is fast."""
    _, samples, _ = bad_mocap.draw(5, 20, 5.0)
    return _fed(Pipeline.from_config(with_values(bad_mocap.config(), _FEW_STARTS)), samples)


def driven():
    """Return a run in which the torque of one joint is unknown."""
    _, samples = driven_elbow.draw(2, 3.0)
    return _fed(Pipeline.from_config(with_values(driven_elbow.config(), _FEW_STARTS)), samples)


def floating():
    """Return a run of a brick that is thrown."""
    pipeline = Pipeline.from_config(free_body.config())
    return _fed(pipeline, free_body.draw(4, pipeline.problem.parametrization.priors)[1])


def windows():
    """Return a run of two links that are estimated by multiple shooting."""
    known = with_values(simulated.config(), {'frames.max_rate': 50.0})
    estimator = replace(known.estimator, name='multiple_shooting', settings={})
    return _fed(Pipeline.from_config(replace(known, estimator=estimator)), samples_of(6.0, 99.0))


def gumbel():
    """Return a run of the estimator of the founding paper."""
    known = simulated.config()
    estimator = replace(known.estimator, name='gumbel_mixture', settings=_GUMBEL)
    return _fed(Pipeline.from_config(replace(known, estimator=estimator)), samples_of(0.4, 99.0))


def coarse():
    """Return a run with frames that an overload has made longer, from a recorded plan."""
    samples = samples_of(2.0, 99.0)
    stamps = sorted({sample.stamp_ns for sample in samples})
    bounds = [*stamps[:120], *stamps[120:160:4], *stamps[160:]]
    plan = RecordedPlan(frozenset(bounds), frozenset(bounds[:1]))
    return _fed(pipeline_of(_FEW_STARTS, plan=plan), samples)


def restarted():
    """Return a run that is saved and continued by another pipeline, twice."""
    samples = samples_of(2.0, 99.0)

    def run():
        pipeline, estimates = pipeline_of(_FEW_STARTS), []
        with tempfile.TemporaryDirectory() as folder:
            for number, sample in enumerate(samples):
                if number in (90, 300):
                    path = Path(folder, 'posterior.npz')
                    pipeline.save(path)
                    pipeline = pipeline_of(_FEW_STARTS)
                    pipeline.load(path)
                pipeline.push(sample)
                estimates += pipeline.step()
        return pipeline, [*estimates, *pipeline.finish()]

    return run


def beside():
    """Return a run whose updates another thread computes, as in the worker of the node."""
    pipeline, samples = pipeline_of(_FEW_STARTS), samples_of(1.5, 99.0)

    def run():
        estimates = []
        with Background(pipeline) as background:
            for sample in samples:
                pipeline.push(sample)
                estimates += [update.estimate for update in background.step()]
            estimates += [update.estimate for update in background.finish()]
        return pipeline, estimates

    return run


def _scenario(name):
    """Return the stream of one of the `SCENARIOS`."""

    def stream():
        return _fed(*SCENARIOS[name]())

    return stream


_STREAMS = (
    *(pendulum, demonstration, arm_with_payload, arm_picks_up, arm_with_mocap, kinematics),
    commanded_arm,
    *(measured_pendulum, late, faulty, driven, floating, windows, gumbel, coarse, restarted),
    beside,
)
STREAMS = {each.__name__: each for each in _STREAMS} | {n: _scenario(n) for n in SCENARIOS}
# Of these, one for each estimator and kind of event, the tests of every day are made.
SHORT = ('paused', 'changed', 'ambiguous', 'driven', 'floating', 'measured_pendulum', 'gumbel')
