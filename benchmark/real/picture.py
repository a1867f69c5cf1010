"""The picture of a real arm: how soon its torques are predicted, and a load that it takes up."""

import drawings
import matplotlib
import numpy as np

from . import changes
from .ours import least_squares_of, messages, named_at, ours, pipeline_of, Run
from .prediction import error_of, fit_error, motion_of, torque_of
from .recordings import trials

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402, the drawing backend has to be chosen first

# Seconds of motion after which torques are predicted.
_MARKS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0)
# The splice that is drawn: all of it of one day. From and to, after motion begins, and step [s].
_SPLICE = changes.SPLICES.index((('ur-20_01_31-unload',), 'ur-20_01_31-load'))
_SHOWN, _STEP, _AFTER = (-3.0, 12.0), 0.1, 13.0
_WAYS = {
    'description': ('robot description', '0.35', '--'),
    'columns': ('least squares, same columns', 'tab:red', '-'),
    'prior': ('the same, with our prior', 'tab:orange', '-'),
    'ours': ('this package, online', 'tab:blue', '-'),
}
_90 = 1.645


def draw(data):
    """Write the picture and return where to; data: folder of the recordings."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2))
    _draw_errors(left, data)
    _draw_load(right, data)
    figure.tight_layout()
    picture = drawings.place('real_arm.png')
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
    return {'written': str(drawings.shown(picture))}


def _draw_errors(axis, data):
    """Draw torque errors on recordings held out, of each training recording and their median."""
    of_ur = [t for t in trials(data, None)[0] if t.training.robot.title == 'UR10e']
    found = [_errors(trial) for trial in of_ur]
    for way, (label, color, style) in _WAYS.items():
        errors = np.array([each[way] for each in found])
        axis.plot(_MARKS, np.median(errors, 0), style, color=color, label=label)
        axis.fill_between(_MARKS, errors.min(0), errors.max(0), color=color, alpha=0.2, lw=0)
    axis.set(
        xscale='log',
        yscale='log',
        ylim=(2.5, 1000),
        xlim=(_MARKS[0], _MARKS[-1]),
        xlabel='seconds of motion',
        ylabel='rms error / rms torque [%]',
        title='Predicted torques of three recordings of other days',
    )
    axis.set_xticks((0.5, 1, 2, 5, 10, 20), ('0.5', '1', '2', '5', '10', '20'))
    axis.set_yticks((3, 10, 30, 100, 300, 1000), ('3', '10', '30', '100', '300', '1000'))
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend()


def _errors(trial):
    """Return way -> errors [%] at the marks."""
    training = trial.training
    robot, known, begin = training.robot, training.known, training.motion_begins
    tests = [(recording, motion_of(recording).within(window)) for recording, window in trial.tests]
    run, beliefs = _followed(training, [begin + mark for mark in _MARKS])
    terms, widths, prior = least_squares_of(run)
    # As a user would, from the whole recording: what is filtered is not cut off at a mark.
    motion = motion_of(training)
    ways = {'columns': (terms, widths, None), 'prior': (terms, widths, prior)}

    def error(values):
        return error_of(known, tests, lambda each: torque_of(robot, values, each))

    found = {'description': [error({})] * len(_MARKS), 'ours': [error(b) for b in beliefs]}
    for way, how in ways.items():
        learnt = [motion.within((begin, begin + mark)) for mark in _MARKS]
        found[way] = [fit_error(robot, known, part, tests, *how) for part in learnt]
    return found


def _followed(recording, times):
    """Return (the `Run` of a recording, name -> value of all parameters at some times [s])."""
    pipeline, beliefs, waiting = pipeline_of(recording), [], list(times)
    for stamp, message in zip(recording.t, messages(recording)):
        while waiting and stamp >= waiting[0]:
            beliefs.append(named_at(pipeline.problem, pipeline.mixture.moments()[0]))
            waiting.pop(0)
        for name in pipeline.sources:
            pipeline.receive(name, message)
        pipeline.step()
    return Run(recording, pipeline, (), (), None, 0.0), beliefs


def _draw_load(axis, data):
    """Draw the mass of a load against time, since the motion that shows it begins."""
    free, loaded = changes.splices(data)[_SPLICE]
    both, begin = free.then(loaded.between(loaded.t[0], loaded.motion_begins + _AFTER))
    moves = float(begin + loaded.motion_begins - loaded.t[0])
    times = np.arange(*_SHOWN, _STEP)
    run = ours(both, looks=(moves + times).tolist(), since=begin)
    since = np.array([look.time - moves for look in run.looks if look.load])
    mass, sd = np.array([(x.load.mass, x.load.mass_sd) for x in run.looks if x.load]).T
    axis.axhline(changes.LOADS[loaded.name], color='k', ls='--', lw=1.2, label='truth: 2.8 kg')
    axis.fill_between(since, mass - _90 * sd, mass + _90 * sd, alpha=0.3, label='90 % interval')
    axis.plot(since, mass, color='tab:blue', label='estimate')
    axis.plot((times[0], since[0], since[0]), (0, 0, mass[0]), color='tab:blue')
    axis.axvline(begin - moves, color='0.6', lw=1.0)
    axis.axvline(0.0, color='0.6', lw=1.0)
    marks = (begin - moves, 'picked up, \nat rest ', 'right'), (0.0, ' moves', 'left')
    for time, text, side in marks:
        axis.text(time, 3.42, text, va='top', ha=side, color='0.35')
    axis.text(since[0], 0.1, f' named after {since[0]:.1f} s', color='tab:blue')
    axis.set(
        xlim=_SHOWN,
        ylim=(-0.2, 3.5),
        xlabel='seconds since it moves with the load',
        ylabel='load [kg]',
        title='A load is picked up; nobody says so',
    )
    axis.grid(alpha=0.3)
    axis.legend(loc='lower right')
