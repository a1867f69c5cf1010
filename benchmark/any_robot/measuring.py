"""A robot from its URDF to what is known of it, by the commands of the package, and judged."""

from contextlib import contextmanager
import logging
from pathlib import Path
import resource
import tempfile
import time

from estimation.metrics import judge, Quantities
import numpy as np
import torch

from sim2real_estimator.app.synthetic.bag import record
from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config
from sim2real_estimator.errors import DataError, EstimatorError
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.offline.identification.run import identify
from sim2real_estimator.parameters.linear_parametrization import LinearParametrization
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.export.estimated_robot import robot_of
from sim2real_estimator.posterior.export.randomization import possible_draws
from sim2real_estimator.posterior.export.urdf_file import write_urdf

from .servo import moved

_DRAWS = 100
# Beyond the recording, for the time of a frame [s].
_MORE = 0.5
_MIB = 1024.0


def measure(kind, seed, seconds=None):
    """
    Return what came of a `Kind` of robot whose truth is drawn with a seed, by name.

    rank [p]: of the truth in the posterior; unknowns, combinations; left: median of the
    posterior's deviations, of the prior's; possible: whether the exported robot and all draws of
    it can be built; alarms: false changes; began: when the filter took over [s]; identify,
    frame, memory: time of the processor [s], [ms], [MiB]. Where a command refuses, only that:
    refused, why.
    """
    torch.set_num_threads(1)
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        try:
            return _measured(kind, seed, seconds or kind.seconds, Path(folder))
        except EstimatorError as error:
            return {'refused': str(error)}


@contextmanager
def _quiet():
    """Let the package log errors only, as long as this is entered."""
    logger = logging.getLogger('sim2real_estimator')
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _measured(kind, seed, seconds, folder):
    urdf, settings = folder / 'robot.urdf', folder / 'robot.yaml'
    urdf.write_text(kind.described(), encoding='utf-8')
    # In simulation they are just what acts.
    exact = ('--effort', 'commanded')
    if main(['init', str(urdf), '-o', str(settings), *exact, *kind.options]):
        raise DataError(f'{kind.urdf}: `init` wrote nothing')
    config = load_config(settings)
    robot = SyntheticRobot(moved(config, seed, kind.still), config=config)
    record(folder / 'bag', robot, seconds)
    start = time.process_time()
    found = identify(folder / 'bag', settings, folder / 'result')
    used = time.process_time() - start
    parametrization, mixture = found.problem.parametrization, found.posterior.mixture
    quantities, prior = _base_parameters(found.problem, robot.truths[0].values)
    judged = judge(mixture, quantities)
    events = [each.name for each in found.events]
    begun = [each.stamp_ns for each in found.events if each.name == 'converged']
    return {
        'rank': judged['rank'],
        'nees': judged['nees'],
        'unknowns': len(parametrization.names),
        'combinations': len(parametrization.labels),
        'left': float(np.median(np.array(judged['sd']) / prior)),
        'possible': _are_possible(found, folder, config.model.inertia_check),
        'alarms': events.count('changed'),
        'began': None if not begun else 1e-9 * (begun[0] - found.bags[0].begin_ns),
        'identify': used,
        'memory': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB,
        'frame': _frame_time(config, found.posterior, robot),
    }


def _base_parameters(problem, values):
    """
    Return what torques are linear in as `Quantities`, and its deviations beforehand [m].

    values: name -> true value.
    """
    parametrization = linear = problem.parametrization
    if not isinstance(parametrization.inner, LinearParametrization):
        known = problem.parameters, problem.sensors, parametrization.priors, parametrization.fixed
        linear = choose_parametrization(*known, few=0)

    def of_named(named):
        away = linear.inner.from_named(named) - linear.inner.prior.mean[:, None]
        return linear.combinations @ away

    truth = of_named(np.array([[values[name]] for name in parametrization.names]))[:, 0]
    quantities = Quantities(lambda x: of_named(parametrization.to_named(np.array(x))), truth)
    return quantities, np.sqrt(np.diag(linear.prior.covariance))


def _are_possible(found, folder, check):
    """Tell whether the robot as it is exported can be built, and so can all draws of it."""
    try:
        robot = robot_of(found.problem, found.posterior)
        _, bodies, _ = possible_draws(robot, _DRAWS, 0)
    except DataError:
        return False
    write_urdf(robot, folder / 'estimated.urdf')
    # What the description says of links that are not estimated stays as it is.
    load_urdf(folder / 'estimated.urdf', inertia_check=check)
    return all(
        bool(are_possible(each).all() and (each[:, 0] > 0).all()) for each in bodies.values()
    )


def _frame_time(config, posterior, robot):
    """Return the median time [ms] of the processor for a frame of the filter, None without."""
    pipeline, times = Pipeline.from_config(config), []
    pipeline.resume(posterior.run)
    for reading in robot.run(_MORE):
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message_of(reading), robot.arrival_ns(reading))
        start = time.process_time()
        estimates = pipeline.step()
        if estimates and estimates[-1].report.stage == 'filter':
            times.append((time.process_time() - start) / len(estimates))
    return 1e3 * float(np.median(times)) if times else None
