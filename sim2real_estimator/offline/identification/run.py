"""From recordings to a result, and to the folder it is in."""

import hashlib
from pathlib import Path

from ...bags.reader import digest_of
from ...config import Config, load_config, to_yaml
from ...errors import DataError
from ...pipeline import Pipeline
from ...posterior.file import load
from ...stream.plans import RecordedPlan
from .checkpoint import Checkpoint, key_of
from .folder import require_free, write_folder
from .provenance import versions
from .work import Options, Work


def identify(
    bags,
    config,
    output=None,
    *,
    merge=False,
    held_out=0.2,
    follow=None,
    force=False,
    show=None,
    trust_units=False,
):
    """
    Return the `Identification` of a robot from recordings.

    bags: path of a rosbag2 recording, or several: later ones go on with what those before tell;
    config: path of the settings, or a `Config`; output: folder for the result, None: nothing is
    written; merge: recordings are independent ones, joined at the end; held_out: share of each at
    its end that is predicted instead of used; follow: posterior file of a run whose frames are
    used once more; force: replace the folder; show: called with a `Step` now and then;
    trust_units: units that look wrong are right. An EstimatorError says what is wrong, and then
    nothing has been written.
    """
    config = config if isinstance(config, Config) else load_config(config)
    paths = [Path(bag) for bag in ([bags] if isinstance(bags, (str, Path)) else bags)]
    plan = None if follow is None else _plan_of(follow, config)
    options = Options(merge, held_out, plan, trust_units)
    options.require_possible(len(paths))
    digests = [digest_of(path) for path in paths]
    _require_different(paths, digests)
    if output is None:
        return Work(paths, digests, config, options, show=show).result()
    require_free(output, force)
    parts = digests, to_yaml(config), merge, held_out, _digest_of_plan(options.plan), versions()
    with Checkpoint(output, key_of(*parts)).held() as checkpoint:
        result = Work(paths, digests, config, options, checkpoint, show).result()
        write_folder(result, output, checkpoint)
    return result


def _require_different(paths, digests):
    """Refuse a recording that is given twice, under whatever names."""
    for number, digest in enumerate(digests):
        first = digests.index(digest)
        if first < number:
            raise DataError(
                f'{paths[number]}: is the same recording as {paths[first]}, and would count '
                'twice; leave one of them out'
            )


def _plan_of(path, config):
    """Return the `RecordedPlan` of the frames that a saved posterior has taken in."""
    posterior = load(path)
    if posterior.run is None:
        raise DataError(f'{path}: is of several recordings, whose frames are of no one run')
    pipeline = Pipeline.from_config(config)
    pipeline.load(path)
    plan = pipeline.stream.recorded_plan
    # Cut, but not taken in when it was saved.
    waiting = frozenset(frame.end_ns for frame in pipeline.waiting)
    return RecordedPlan(plan.bounds - waiting, plan.openings - waiting)


def _digest_of_plan(plan):
    if plan is None:
        return None
    return hashlib.sha256(repr(sorted(plan.bounds)).encode()).hexdigest()
