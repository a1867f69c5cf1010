"""P2 at 25, 100 and 500 frames a second: changes are noticed alike, and that there is none."""

from functools import cache

import numpy as np
from problems import p2
from problems.common import log_normal_draw, make_frames, roll, states_of, TRUTH_STEP
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.changes.detection import (
    BiasScore,
    ChangeDetector,
    DetectorState,
    FrameFit,
)
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.reported_events import Explained, Happened, kinds_of

from .p2_change import cause_between
from .targets import an_hour, Line, share, total

TITLE = 'P2 at 25, 100 and 500 frames a second, noise of one density; the lower link gets heavier'
MOST = 20
RATES = (25, 100, 500)
# Factors on the mass of the lower link, after so long; then it is followed for so long [s].
_FACTORS, _CHANGE, _AFTER = {'doubled': 2.0, '10 % more': 1.1, '3 % more': 1.03}, 4.0, 3.0
_CAUSE = 'mass on lower'
# A robot that does not change, but has dry friction that the model lacks [N m], is followed for so
# long [s].
_FRICTION, _SECONDS = 0.001, 60.0
# The detector alone gets noise for so long [s], with so many false alarms an hour allowed for, and
# rests for so long after each [s].
_ALLOWED, _NOISE, _RESTS = 360.0, 600.0, 0.1
# So long is simulated before it is followed [s].
_CHUNK = 10.0


def measure(seed):
    """Return the record of one problem."""
    record = {}
    for rate in RATES:
        for title, factor in _FACTORS.items():
            record |= {
                f'{title} {key} {rate}': v for key, v in _changed(seed, rate, factor).items()
            }
        wrong = {f'{joint}.friction': _FRICTION for joint in p2.JOINTS}
        record[f'wrong {rate}'] = _alarms(seed, rate, _simulator(tuple(wrong.items())))
        record[f'noise {rate}'] = _alarms_of_noise(seed, rate)
    return record


def _changed(seed, rate, factor):
    """Return what is made of a mass that changes by a factor."""
    rng = np.random.default_rng(seed)
    before = log_normal_draw(p2.priors(), rng)
    after = before | {'lower.mass': factor * before['lower.mass']}
    state, torques = p2.draw_motion(rng, _CHANGE + _AFTER, rate)
    change = round(_CHANGE * rate)
    first = _path(p2.simulator(), state, rate, before, torques[:change])
    second = _path(p2.simulator(), first[-1], rate, after, torques[change:])
    frames = _observed(rng, np.concatenate([first, second[1:]]), torques, rate)
    problem, estimator, events = _problem(rate), ESTIMATORS['gaussian_sum'](), []
    state = estimator.init(problem)
    for k, frame in enumerate(frames):
        state, report = estimator.update(problem, state, frame)
        events += [(k, event) for event in report.events]
        if k > change and kinds_of(report.events) & {Explained, Happened.FORGOTTEN}:
            break
    alarms = [k for k, event in events if event is Happened.CHANGED]
    noticed = next((k for k in alarms if k > change), None)
    return {
        'early': sum(k <= change for k in alarms),
        'delay': _AFTER if noticed is None else (noticed - change) / rate,
        'noticed': float(noticed is not None),
        'right': float(cause_between(events, change, len(frames)) == _CAUSE),
    }


def _alarms(seed, rate, simulator):
    """Return how many changes of a robot are noticed that has not changed."""
    rng = np.random.default_rng(seed)
    values = log_normal_draw(p2.priors(), rng)
    point, torques = p2.draw_motion(rng, _SECONDS, rate)
    problem, estimator = _problem(rate), ESTIMATORS['gaussian_sum']()
    state, length, found = estimator.init(problem), round(_CHUNK * rate), 0
    for first in range(0, len(torques), length):
        acting = torques[first : first + length]
        path = _path(simulator, point, rate, values, acting)
        frames = _observed(rng, path, acting, rate, first)
        for frame in frames[1 if first else 0 :]:
            state, report = estimator.update(problem, state, frame)
            found += Happened.CHANGED in report.events
        point = path[-1]
    return found


def _alarms_of_noise(seed, rate):
    """Return how often the detector takes noise of two encoders for a change."""
    rng, detector = np.random.default_rng(seed), ChangeDetector(_ALLOWED)
    state, found, rests = DetectorState(), 0, 0
    for row in rng.standard_normal((round(_NOISE * rate), 2)):
        fit = FrameFit(1 / rate, row @ row, 2, 0, BiasScore(row, np.eye(2)))
        state, rests = detector.remember(state, fit), rests - 1
        if rests <= 0 and detector.has_changed(state, False):
            # No bias before is remembered: each alarm is as probable as the first.
            state, found, rests = DetectorState(), found + 1, round(_RESTS * rate)
    return found


def _path(simulator, state, rate, values, torques):
    """Return the states [H + 1, 4] of a motion."""
    rolled = roll(simulator, state, rate, len(torques), values, torch.from_numpy(torques))
    return states_of(rolled)


def _observed(rng, path, torques, rate, begin=0):
    """Return the frames of a motion; begin: how many frames were before."""
    angles = path[:, :2] + _noise(rate) * rng.standard_normal((len(path), 2))
    return make_frames(rate, [{'encoders': row} for row in angles], torques, begin)


def _noise(rate):
    """Return the noise of encoders [rad] whose samples of a second tell as much at any rate."""
    return p2.NOISE * np.sqrt(rate / p2.RATE)


@cache
def _problem(rate):
    return p2.make_problem(noise=_noise(rate))


@cache
def _simulator(values):
    """Return the simulator of what the model does not know: pairs of a name and a value."""
    return Simulator(p2.model(), p2.NAMES, max_step=TRUTH_STEP, values=dict(values))


def _delay(key, quantile):
    """Return the statistic of a quantile of a delay [ms]."""
    return lambda records: float(
        np.quantile([1e3 * r[key] for r in records], quantile, method='inverted_cdf')
    )


def lines():
    """Return the lines of the table: the same bands at every rate."""
    found = []
    for title, (median, late, right) in {
        'doubled': (80, 120, 0.9),
        '10 % more': (150, 300, 0.8),
        '3 % more': (350, 700, 0.3),
    }.items():
        for rate in RATES:
            key = f'{title} {{}} {rate}'.format
            found += [
                Line(
                    f'{title}, median delay [ms], {rate} Hz',
                    _delay(key('delay'), 0.5),
                    (None, median),
                ),
                Line(
                    f'{title}, 90th percentile [ms], {rate} Hz',
                    _delay(key('delay'), 0.9),
                    (None, late),
                ),
                Line(f'{title}, put down to it, {rate} Hz', share(key('right')), (right, None)),
                Line(f'{title}, false alarms before, {rate} Hz', total(key('early')), (None, 0)),
            ]
    for rate in RATES:
        wrong, noise = an_hour(f'wrong {rate}', _SECONDS), an_hour(f'noise {rate}', _NOISE)
        found += [
            Line(f'false alarms an hour, friction unknown, {rate} Hz', wrong, (None, 20)),
            Line(f'by noise alone, {_ALLOWED:.0f} allowed for, {rate} Hz', noise, (90, _ALLOWED)),
        ]
    return found
