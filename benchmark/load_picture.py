"""The picture of an arm that takes up a load: what it is known to hold."""

from matplotlib import pyplot
import numpy as np
from problems import seven_joints

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.app.synthetic.settings import PayloadConfig
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Explained, Happened, kinds_of

_SEED, _LINK = 3, 'hand'
_BEGIN, _UP, _DOWN, _END = 5.0, 6.0, 8.5, 10.0
_LOAD = PayloadConfig(_LINK, _UP, _DOWN, 1.5, (0.03, -0.02, 0.08), (0.003, 0.003, 0.003, 0, 0, 0))
_COLOURS = {Happened.CHANGED: 'tab:red', Explained: 'tab:green'}


def draw():
    """Return the figure."""
    times, held, deviations, marks = _followed()
    true = np.where((times > _UP) & (times <= _DOWN), _LOAD.mass, 0.0)
    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(8, 5))
    above.plot(times, true, 'k--', label='truth')
    above.plot(times, held, color='tab:blue', label='estimate')
    above.set_ylabel('mass held by the hand [kg]')
    above.legend(loc='upper right')
    error, wide = 1e3 * (held - true), 2e3 * deviations
    below.fill_between(times, -wide, wide, color='tab:blue', alpha=0.25, label='95 % interval')
    below.plot(times, error, color='tab:blue', label='error')
    below.set_yscale('symlog', linthresh=10.0)
    below.axhline(0.0, color='k', linewidth=0.5)
    below.set_ylabel('error [g]')
    below.legend(loc='upper right')
    for axis in (above, below):
        for time, kind in marks:
            axis.axvline(time, color=_COLOURS[kind], linewidth=1.0)
    below.set_xlabel('time [s]; red: a change is noticed, green: it is known what has changed')
    return figure


def _followed():
    """Return times [T], mass [T] held by the hand, its deviation [T], [(time, kind of event)]."""
    config = seven_joints.config(simulation__disturbance_time=None)
    robot = seven_joints.robot(config, _SEED, payloads={'load': _LOAD})
    pipeline, rows, marks = Pipeline.from_config(config), [], []
    parametrization = pipeline.problem.parametrization
    links = list(parametrization.inner.links)
    numbers = np.linalg.pinv(
        parametrization.combinations[:, parametrization.inner.rows[links.index(_LINK)]]
    )
    for reading in robot.run(_END):
        message = message_of(reading)
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message, robot.arrival_ns(reading))
        for estimate in pipeline.step():
            time = 1e-9 * estimate.stamp_ns
            kinds = kinds_of(estimate.report.events)
            marks += [(time, kind) for kind in _COLOURS if kind in kinds]
            mean, covariance = pipeline.mixture.moments()
            rows.append([time, *(numbers @ mean)[:1], (numbers @ covariance @ numbers.T)[0, 0]])
    times, held, variances = np.array(rows).T
    is_shown = times > _BEGIN
    before = held[(times > _BEGIN) & (times < _UP)][-1]
    return times[is_shown], held[is_shown] - before, np.sqrt(variances[is_shown]), marks
