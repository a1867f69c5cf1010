"""
The choice of an estimator for a mechanism of few joints that report torques: by prediction.

A servo fixes how a geared arm moves, and a regression of measured torques on that motion is right.
A light mechanism yields to its torques and to all that the model lacks; then a regression makes
its masses too small, and windows of motion have to be predicted instead (docs/method.md, form 3).
The robot description does not say which of the two a mechanism is. Its data do: both estimators
learn from the first part of a recording, and the one that predicts the motion after it better is
taken. Errors of windows over those of regression: of six arms of two and three joints in MuJoCo 3
to 7, of DFKI's double pendulums .02 to .4, and .7 in one swing-up.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...bags.reader import BagReader
from ...estimation.estimators.measured_torque import MeasuredTorque
from ...estimation.estimators.multiple_shooting import MultipleShooting
from ...pipeline import Pipeline
from ...setup.build import may_be_light, stream_maker
from .feeding import Feed
from .held_out import frames_between, LEAD, predict_motion, run_from, split_window

# Data to learn from [s], and so much again while they have told nothing, as of a robot at rest; at
# most this part of the recording. Data to predict after it [s].
_LEARNED, _SHARE, _PREDICTED = 20.0, 0.7, 10.0
# So many predictions, each of so much motion [s].
_WINDOWS, _HORIZON = 12, 0.5
# Windows are taken if their errors are below this part of those of the regression, which notices
# more: payloads early, units, gears that give way.
_BETTER = 0.5
# Errors from here on say that the predicted robot flew apart [rad or m].
_FLOWN_APART = 10.0
_NANO = 1e9


@dataclass(frozen=True)
class EstimatorChoice:
    """
    What was chosen, and by which errors.

    name: of the estimator; ratio: median errors of predicted motion of `multiple_shooting` over
    those of `measured_torque`, geometric mean over the signals.
    """

    name: str
    ratio: float

    @property
    def sentence(self):
        """The choice and its reason as a sentence."""
        first, other = MultipleShooting.name, MeasuredTorque.name
        if self.name == other:
            first, other = other, first
        ratio = self.ratio if self.name == MultipleShooting.name else 1 / self.ratio
        return (
            f'estimator {first}, by trial: of motion it had not seen its errors were {ratio:.2g} '
            f'times those of {other}; name one under estimator.name to choose yourself'
        )


def choose_estimator(config, path, digest, is_trusting=False):
    """
    Return (`Config`, `EstimatorChoice`) with the estimator that predicts a recording better.

    None as the choice, and the config as it is, where there is nothing to choose or to compare:
    an estimator is named, no effort is measured, there are more than three joints, or the
    recording is too short, or of a robot at rest. path, digest: of the recording; is_trusting:
    accept all units.
    """
    if config.estimator.settings or not may_be_light(config):
        return config, None
    names, errors, seconds = (MeasuredTorque.name, MultipleShooting.name), [], None
    for name in names:
        named = replace(config, estimator=replace(config.estimator, name=name))
        # Both learn from the same part, of which the first says how long it has to be.
        trial = _Trial(named, path, digest, is_trusting)
        seconds = trial.learn(seconds)
        if not trial.has_learned:
            return config, None
        errors.append(trial.errors(seconds))
    signals = sorted(set(errors[0]) & set(errors[1]))
    if not signals:
        return config, None
    ratio = float(np.exp(np.mean([np.log(errors[1][s] / errors[0][s]) for s in signals])))
    choice = EstimatorChoice(names[int(ratio < _BETTER)], ratio)
    return replace(config, estimator=replace(config.estimator, name=choice.name)), choice


class _Trial:
    """An estimator that learns from the first part of a recording and predicts what follows."""

    def __init__(self, config, path, digest, is_trusting):
        """Take the `Config`, with the name of the estimator, and the recording."""
        self._config, self._path, self._digest = config, path, digest
        self._is_trusting, self._pipeline = is_trusting, Pipeline.from_config(config)

    @property
    def has_learned(self):
        """Whether the data have told anything."""
        return self._pipeline.latest_findings().observed > 0

    def learn(self, seconds=None):
        """
        Learn from the beginning of the recording, and return from how much of it [s].

        seconds: how much to learn from; None: until something is known and, at the end of the
        recording, enough is left to predict.
        """
        pipeline = self._pipeline
        with BagReader(self._path) as bag:
            feed = self._feed(bag)
            most = _SHARE * (feed.end_ns - bag.begin_ns) / _NANO
            end, learned = (most if seconds is None else seconds), 0.0
            while learned < end:
                part = min(_LEARNED, end - learned)
                begin_ns = bag.begin_ns + round(learned * _NANO)
                for sample in feed.held_out(begin_ns, part):
                    pipeline.push(sample)
                    pipeline.step()
                learned += part
                if seconds is None and self.has_learned:
                    break
            pipeline.finish()
        return learned

    def errors(self, learned):
        """Return signal -> median error [rad or m] of predictions after so many seconds."""
        pipeline, config = self._pipeline, self._config
        with BagReader(self._path) as bag:
            make_stream = stream_maker(config, pipeline.problem)
            split_ns = bag.begin_ns + round(learned * _NANO)
            frames = frames_between(self._feed(bag), make_stream, split_ns, _PREDICTED)
        windows = _windows(frames, pipeline.problem.knows_inputs)
        found = predict_motion(pipeline, config, pipeline.mixture, windows, 0.0)
        errors = {}
        for trace in found.traces:
            away = np.abs(trace.predicted['mean'] - trace.measured)
            error = np.median(np.minimum(np.nan_to_num(away, nan=_FLOWN_APART), _FLOWN_APART))
            errors[trace.sensor, trace.label] = max(float(error), trace.sd)
        return errors

    def _feed(self, bag):
        """Return the `Feed` of the recording, all held out: any part can be read by itself."""
        return Feed(bag, self._digest, self._config, self._pipeline, 1.0, self._is_trusting)


def _windows(frames, knows_inputs):
    """Return `Window`s that begin evenly among frames, none across a gap."""
    begins, seconds = range(0, len(frames), max(len(frames) // (2 * _WINDOWS), 1)), LEAD + _HORIZON
    runs = (run_from(frames, k, seconds, 0.95 * seconds, knows_inputs) for k in begins)
    found = [split_window(run, 0) for run in runs if run is not None]
    return found[:: max(len(found) // _WINDOWS, 1)][:_WINDOWS]
