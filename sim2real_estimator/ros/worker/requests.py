"""What the node may ask of its worker between two batches of messages."""

import logging
from pathlib import Path
import pickle

from ...errors import DataError
from ...posterior.file import load
from ...posterior.identity import describe
from .saving import written

_logger = logging.getLogger(__name__)


def begin(pipeline, config, snapshot):
    """
    Let a pipeline begin where one before it stood, or as the settings say.

    snapshot: of `Snapshot.content`, None: there was none before. A posterior file of the same
    settings is gone on with, modes and all; of another file of the robot the parameters are
    the prior. Of a folder it is the newest file of this robot, if there is one yet.
    """
    if snapshot is not None:
        run, plan = snapshot
        pipeline.resume(pickle.loads(run))
        pipeline.stream.record_after(plan)
        return
    if not config.node.initial_posterior:
        return
    here = Path(config.source).parent
    path = here / config.node.initial_posterior
    # Where this node saves there may be no folder yet.
    if path.is_dir() or path == here / config.saving.folder:
        robot = describe(pipeline.problem, pipeline.estimator)['model_hash']
        # Those of another robot description were not made for nothing.
        fitting = (each for each in written(path) if load(each).identity['model_hash'] == robot)
        path = next(fitting, None)
        if path is None:
            return
    try:
        pipeline.load(path)
    except DataError as error:
        pipeline.begin_from(path)
        _logger.warning('%s; its parameters are the prior of a new run', error)


def save(pipeline, path):
    """Write a posterior file."""
    pipeline.save(path)
    return f'saved to {path}', str(path)


def reset(pipeline):
    """Begin again from what was known at the start."""
    pipeline.reset()
    return 'begun again from what was known at the start', None


def take_snapshot(pipeline, bounds, openings):
    """
    Return all that a worker after this one has to know, for a `Snapshot`.

    bounds, openings: how many of the recorded plan are known there. After a day there are
    millions, too many to send them all again and again.
    """
    # Both ends are processes of one node: nothing else gets to write these bytes.
    run = pickle.dumps(pipeline.run(has_plan=False))
    return '', (run, *pipeline.stream.recorded_after(bounds, openings))


# Functions of the `Pipeline` and the arguments of the request -> (text, content) of the reply.
REQUESTS = {'save': save, 'reset': reset, 'snapshot': take_snapshot}
# Those after which the frames that wait are taken into another state: not while one is computed.
ANEW = frozenset({'reset'})
