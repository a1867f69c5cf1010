"""A synthetic robot and an estimator of it, without anything in between."""

from .messages import message_of


def estimates(pipeline, robot, seconds):
    """Yield an `Estimate` for every frame of the next seconds of a robot."""
    for reading in robot.run(seconds):
        message = message_of(reading)
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message, robot.arrival_ns(reading))
        yield from pipeline.step()
    yield from pipeline.finish()
