"""
What the estimator costs on one thread: a frame of the filter, and the first posterior.

A frame is one `update()` of the public estimator, with as many components as named: copies of
one, which nothing prunes. Those of the arm of seven joints, 91 parameters unknown, encoders and
frames at 250 Hz, efforts at 1 kHz, are taken within a pipeline; its whole `step()` is timed as
well, stream, findings and a look at the means and deviations of all parameters included.
"""

from dataclasses import replace
import os
from pathlib import Path
import sys
import time

from load.preparation import KNOWN
import numpy as np
from peers.timing import conditions, set_torch_threads
from report import print_table, Target

sys.path.append(str(Path(__file__).resolve().parents[1] / 'test'))

from problems import p1, p2, seven_joints  # noqa: E402

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.estimation.estimators import ESTIMATORS  # noqa: E402
from sim2real_estimator.estimation.estimators.gaussian_sum import FilterState  # noqa: E402
from sim2real_estimator.pipeline import Pipeline  # noqa: E402

# Settings of the frame rate of P1, where the standard ones are for faster sensors.
_P1 = {'starts': 4, 'horizons': (6, 11, 16, 21, 26), 'longest': 51}
_PROBLEMS = 8
_ARM_RATE, _ARM_SECONDS = 250.0, 3.0
_KEEP_ALL = {'prune': 1e-300, 'merge': 0.0}


def run(name, arguments):
    """Print the table and return the targets."""
    set_torch_threads(1)
    cases = {
        'P2 frame, K=16': (_frames(p2, {}, 16, seconds=10.0), 0.5),
        'P1 frame at 25 Hz, K=4': (_frames(p1, _P1, 4, count=250), 2.0),
        **_arm_cases(1, 0.5),
        **_arm_cases(4, 2.0),
        'P2 first posterior': (_first_posteriors(), 1000.0),
    }
    is_disturbed = os.getloadavg()[0] > (os.cpu_count() or 1)
    cells, targets = [], []
    for title, (times, bound) in cases.items():
        median, late = 1000 * np.median(times), 1000 * np.quantile(times, 0.99)
        wanted = f'< {bound:g}' if bound else '-'
        cells.append([title, f'{median:.3f}', f'{late:.3f}', str(len(times)), wanted])
        if bound:
            targets.append(Target(title, float(median), bound, 'ms', disturbed=is_disturbed))
    print(f'one update(), or step() where said, native backend; {conditions(1)}\n')
    print_table(['', 'median ms', '99 % ms', 'calls', 'wanted'], cells)
    return targets


def _frames(fixture, settings, components, **drawn):
    """Return the times [s] of the frames that a filter of so many components takes."""
    problem = fixture.make_problem()
    estimator = ESTIMATORS['gaussian_sum'](**settings, **_KEEP_ALL)
    _, frames = fixture.draw(0, **drawn)
    state, times = estimator.init(problem), []
    is_ready = False
    for frame in frames:
        begin = time.perf_counter()
        state, _ = estimator.update(problem, state, frame)
        if is_ready:
            times.append(time.perf_counter() - begin)
        elif isinstance(state, FilterState):
            state, is_ready = _copied(state, components), True
    # The first calls still fill caches.
    return times[10:]


def _copied(state, components):
    """Return a `FilterState` with so many copies of the component that it has found."""
    return replace(state, mixture=state.mixture.pick(np.zeros(components, dtype=int)))


class _Timed:
    """An estimator whose updates are timed; times [s]: of the frames of its filter."""

    def __init__(self, estimator):
        self._estimator, self.times = estimator, []

    def __getattr__(self, name):
        return getattr(self._estimator, name)

    def update(self, problem, state, frame):
        """Return what the estimator's does."""
        begin = time.perf_counter()
        found = self._estimator.update(problem, state, frame)
        if isinstance(state, FilterState):
            self.times.append(time.perf_counter() - begin)
        return found


def _arm_cases(components, bound):
    """Return title -> (times [s], bound [ms] or None) of an arm's frames and whole steps."""
    frames, steps = _arm_frames(components)
    return {
        f'arm frame, K={components}': (frames, bound),
        f'... step() with findings, K={components}': (steps, None),
    }


def _arm_frames(components):
    """
    Return the times [s] of an arm that was known to a percent beforehand.

    Of the estimator's updates, and of the pipeline's steps with a look at what came out.
    """
    config = seven_joints.config(frames__max_rate=_ARM_RATE)
    settings = {**config.estimator.settings, **_KEEP_ALL}
    estimator = replace(config.estimator, settings=settings)
    config = replace(config, estimate=KNOWN, estimator=estimator)
    pipeline, robot = Pipeline.from_config(config), seven_joints.robot(config, 0)
    pipeline.estimator = timed = _Timed(pipeline.estimator)
    times, is_ready = [], False
    for reading in robot.run(_ARM_SECONDS):
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message_of(reading), robot.arrival_ns(reading))
        begin = time.perf_counter()
        estimates = pipeline.step()
        told = [(each.mean, each.sd) for each in estimates]
        if is_ready and told:
            times.append((time.perf_counter() - begin) / len(told))
        elif not is_ready and isinstance(pipeline.state, FilterState):
            state, is_ready = _copied(pipeline.state, components), True
            pipeline.progress = replace(pipeline.progress, state=state)
            timed.times.clear()
    return timed.times[10:], times[10:]


def _first_posteriors():
    """Return the times [s] from the last datum it needed to the first narrow posterior of P2."""
    problem, estimator, times = p2.make_problem(), ESTIMATORS['gaussian_sum'](), []
    for seed in range(_PROBLEMS):
        state = estimator.init(problem)
        for frame in p2.draw(seed, seconds=10.0)[1]:
            begin = time.perf_counter()
            state, _ = estimator.update(problem, state, frame)
            if isinstance(state, FilterState):
                times.append(time.perf_counter() - begin)
                break
    return times
