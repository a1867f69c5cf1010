"""The requests to the pipeline that the worker serves between two batches of messages."""

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
    Let a pipeline continue where another one stopped, or begin as the settings say.

    snapshot: of `Snapshot.content`, None: there was no worker before. A posterior file of the
    same settings is continued with all its modes; of another file of the robot the parameters'
    posterior is the prior. Of a folder, the newest file of this robot is used, if there is one.
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
    # The folder that this node saves into need not exist yet.
    if path.is_dir() or path == here / config.saving.folder:
        robot = describe(pipeline.problem, pipeline.estimator)['model_hash']
        path = _newest(path, robot)
        if path is None:
            return
    try:
        pipeline.load(path)
    except DataError as error:
        pipeline.begin_from(path)
        _logger.warning('%s; its parameters are the prior of a new run', error)


def _newest(folder, robot):
    """Return the newest file of the robot with that hash that can be read, None without any."""
    for path in written(folder):
        try:
            # Files of another robot description are skipped, and kept.
            if load(path).identity['model_hash'] == robot:
                return path
        except DataError as error:
            _logger.warning('%s; the file before it is tried', error)
    return None


def save(pipeline, path):
    """Write a posterior file."""
    pipeline.save(path)
    return f'saved to {path}', str(path)


def reset(pipeline):
    """Begin again from the initial prior."""
    pipeline.reset()
    return 'begun again from what was known at the start', None


def take_snapshot(pipeline, bounds, openings):
    """
    Return all that another worker needs to continue, for a `Snapshot`.

    bounds, openings: numbers of those of the recorded plan that the node has already. After a
    day there are millions, too many to send all of them each time.
    """
    # Both ends are processes of one node: nothing else can write these bytes.
    run = pickle.dumps(pipeline.run(has_plan=False))
    return '', (run, *pipeline.stream.recorded_after(bounds, openings))


# Functions of the `Pipeline` and the arguments of the request -> (text, content) of the reply.
REQUESTS = {'save': save, 'reset': reset, 'snapshot': take_snapshot}
# Requests that replace the state, and so must not be served while an update is computed.
ANEW = frozenset({'reset'})
