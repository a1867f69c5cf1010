"""A double pendulum of which little is unknown, so that it is identified in a second."""

from dataclasses import replace

from scenarios import EARLY
from simulated import CONFIG
from simulated import config as shipped_config

from sim2real_estimator.app.synthetic.bag import record, START_NS
from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.pipeline import Pipeline

SECONDS = 1.2
DRAWS = 50


def config():
    """Return the shipped config with fewer unknowns, whose filter takes over early."""
    changes = {**EARLY, 'samples.count': DRAWS}
    unknown = {'lower.mass': PriorConfig(), '*.damping': PriorConfig()}
    return replace(with_values(shipped_config(), changes), estimate=unknown)


def robot(seed=1):
    """Return the `SyntheticRobot`."""
    settings = load_synthetic(CONFIG.parent / 'synthetic' / CONFIG.name)
    return SyntheticRobot(replace(settings, seed=seed, payloads={}), config=config())


def bag(path, seconds=SECONDS, seed=1, **options):
    """Record the robot; return the path. options: of `record`."""
    record(path, robot(seed), seconds, **options)
    return path


def fed(*runs, each=lambda pipeline: None, to_the_end=True):
    """
    Return a pipeline that has the same from memory.

    runs: (seconds, start [ns]) of every recording; each: called with it after every message;
    to_the_end: whether the samples that wait are taken in too.
    """
    pipeline = Pipeline.from_config(config())
    for seconds, start_ns in runs or ((SECONDS, START_NS),):
        source = robot()
        source.begin(start_ns)
        for reading in source.run(seconds):
            message = message_of(reading)
            for name in source.readers[reading.topic]:
                pipeline.receive(name, message)
            pipeline.step()
            each(pipeline)
    if to_the_end:
        pipeline.finish()
    return pipeline
