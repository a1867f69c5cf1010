"""
Runs of every kind that can be stopped and continued.

As a script it continues some in a process of its own: arguments FILE:NUMBER:SCENARIO, the number
of samples that are in the file; it prints the posterior bytes of each as a hexadecimal number.
"""

from functools import cache
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes, samples_of
from problems import p3

from sim2real_estimator.config import read_config
from sim2real_estimator.records import Sample

_BAR = f"""
model: {{urdf: '{' '.join(p3._URDF.split())}'}}
joints: {{pivot: {{effort: none}}}}
sensors:
  encoder: {{kind: joint_positions, topic: joint_states, joints: [pivot], sd: {p3.NOISE}}}
estimate:
  bar.com.z: {{mean: -0.29, sd: 0.5, log: true}}
  pivot.damping: {{mean: 0.05, sd: 0.7, log: true}}
frames: {{max_rate: {p3.RATE}}}
estimator: {{name: gaussian_sum}}
"""


# The filter takes over early, so that short runs have all that a run can have.
EARLY = {
    'estimator.settings.starts': 4,
    'estimator.settings.horizons': [12, 25, 40],
    'estimator.settings.handover': 0.2,
    'estimator.settings.share': 0.0,
}


def remounted():
    """Return (pipeline, samples) of a robot whose encoders are remounted on the way: a change."""
    return pipeline_of(), samples_of()


def changed():
    """Return the same in a short run, until it is clear that nothing explains the change."""
    return pipeline_of(EARLY), samples_of(1.15, 0.55)


def paused():
    """Return a run in which nothing comes for some time: a gap."""
    samples = samples_of(1.4, 9.0)
    begin = samples[0].stamp_ns
    return pipeline_of(EARLY), [s for s in samples if not 0.5 < 1e-9 * (s.stamp_ns - begin) < 1.1]


def late():
    """Return a run whose commands act late, nobody knows how late."""
    samples = [
        Sample(s.sensor, s.stamp_ns - 3_000_000, s.values) if 'efforts' in s.sensor else s
        for s in samples_of(0.6)
    ]
    return pipeline_of({**EARLY, 'estimate.commands.delay.sd': 0.004}), samples


def disturbed():
    """Return a run whose motors give more or less than is measured."""
    generator, error, samples = np.random.default_rng(1), np.zeros(2), []
    for sample in samples_of(0.8):
        if 'efforts' in sample.sensor:
            error = 0.95 * error + 0.002 * generator.standard_normal(2)
            sample = Sample(sample.sensor, sample.stamp_ns, sample.values + error)
        samples.append(sample)
    return pipeline_of(EARLY), samples


def with_outliers():
    """Return a run in which a tenth of the angles is anywhere, as the estimator expects."""
    generator, samples = np.random.default_rng(2), []
    for sample in samples_of(0.8):
        if sample.sensor == 'encoders' and generator.random() < 0.1:
            off = generator.uniform(-0.5, 0.5, 2)
            sample = Sample(sample.sensor, sample.stamp_ns, sample.values + off)
        samples.append(sample)
    return pipeline_of({**EARLY, 'estimator.settings.noise': 'student'}), samples


def ambiguous():
    """Return a free swing, to which there are two answers."""
    _, frames = p3.draw(8)
    return pipeline_of(config=read_config(_BAR)), [f.samples[0] for f in frames]


SCENARIOS = {
    s.__name__: s for s in (remounted, changed, paused, late, disturbed, with_outliers, ambiguous)
}


def continued(stops):
    """Return the posterior bytes of runs, [(path, number of samples, scenario)], in a process."""
    found = subprocess.run(
        [sys.executable, __file__, *(':'.join(map(str, stop)) for stop in stops)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, 'PYTHONPATH': str(Path(__file__).parents[1])},
    )
    return [bytes.fromhex(line) for line in found.stdout.decode().split()]


def main(arguments):
    """Continue saved runs."""
    made = cache(lambda name: SCENARIOS[name]())
    for argument in arguments:
        path, number, scenario = argument.rsplit(':', 2)
        pipeline, samples = made(scenario)
        pipeline.load(path)
        feed(pipeline, samples[int(number) :])
        print(posterior_bytes(pipeline).hex())


if __name__ == '__main__':
    main(sys.argv[1:])
