"""What the node knows of the arm before it is measured: an earlier run without any node."""

from dataclasses import dataclass
from pathlib import Path
import time

from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.synthetic.offline import estimates
from sim2real_estimator.synthetic.robot import SyntheticRobot
from sim2real_estimator.synthetic.settings import load_synthetic

# How long the run goes on once the filter has taken over, and how long it is at most [s].
_MORE, _LONGEST = 0.3, 6.0
_NANO = 1e9


@dataclass(frozen=True)
class Prepared:
    """
    A config to start the node with, from knowledge of the run before.

    path: of the config; handed_over: seconds of data before the filter took over, None where it
    did not; cost: seconds of processor time until then.
    """

    path: Path
    handed_over: float | None
    cost: float


def prepare(robot_file, folder):
    """Run the pipeline on the first seconds of a robot, and return the `Prepared` node."""
    robot = SyntheticRobot(load_synthetic(robot_file))
    pipeline = Pipeline.from_config(robot.config)
    began, handed_over, cost = time.process_time(), None, 0.0
    for estimate in estimates(pipeline, robot, _LONGEST):
        at = estimate.stamp_ns / _NANO
        if handed_over is None:
            cost = time.process_time() - began
            if estimate.report.stage == 'filter' or 'handed over' in estimate.report.events:
                handed_over = at
        elif at > handed_over + _MORE:
            break
    known, path = folder / 'known.s2r', folder / 'arm.yaml'
    pipeline.save(known)
    urdf = Path(robot.config.source).parent.resolve() / robot.config.model.urdf
    values = {'node.initial_posterior': str(known), 'model.urdf': str(urdf)}
    path.write_text(to_yaml(with_values(robot.config, values)), encoding='utf-8')
    return Prepared(path, handed_over, cost)
