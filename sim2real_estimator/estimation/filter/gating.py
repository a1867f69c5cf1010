"""
Gates: which sensors of a frame contradict all that is known of the robot.

Motion capture may take a body for its neighbour, or turn it by half a turn; a hidden body stays
where it was; an encoder slips and comes back. No change of a robot does so: forces move it, and in
a frame no farther than usual efforts could. `implausible_sensors` compares the samples with where
the robot may be by all that is known and by the other sensors, after a hard impulse just then.
The samples of a sensor that is off even so are left out until they fit again (`still_faulty`), and
what is known of the robot stays.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtri

from ..gaussian import measure, predict
from ..noise import whitened

# Probability with which noise and an impulse put samples as far off as those of a faulty sensor.
_IMPROBABLE = 1e-7
# Impulses of so many times usual efforts are allowed for. A light link that whips round feels five
# times as much when its friction changes.
_IMPULSE = 10.0
# A sample of a faulty sensor fits again if noise puts one as far off with at least this
# probability. The sensor is trusted after so many in a row, or as many as were left out.
_FITTING, _BACK = 1e-4, 5
# Components of less weight are not asked.
_NOTABLE = 0.01
# Rejected samples of a sensor that are kept, to find out what has become of it.
_KEPT = 64
# Number of rejected samples after which it is asked whether the sensor was moved (fewer if nothing
# was known of its clock), the factor by which that number grows until it is asked again, and the
# number on end, with no sample of another sensor, after which the robot itself may have changed.
# These and those above are of samples, at whatever rate they come: each is evidence for itself.
_ASKED, _FEW, _AGAIN, _BLIND = 100, 32, 1.5, 25


@dataclass(frozen=True)
class FaultySensor:
    """
    A sensor whose samples are rejected.

    samples: the last of them; number: of all; fitting: how many of the newest fit again; seen:
    number of samples of other sensors since; asked: number of samples at which it was last asked
    whether it was moved; is_new: whether its clock is unknown as yet, so that a filter cannot use
    it.
    """

    sensor: str
    samples: tuple = ()
    number: int = 0
    fitting: int = 0
    seen: int = 0
    asked: int = 0
    is_new: bool = False

    def with_sample(self, sample, fits):
        """Return this with one more rejected sample; fits: whether it fits the prediction."""
        samples = (*self.samples, sample)[-_KEPT:]
        fitting = self.fitting + 1 if fits else 0
        return replace(self, samples=samples, number=self.number + 1, fitting=fitting)

    @property
    def is_back(self):
        """Whether enough of the newest samples fit again."""
        return not self.is_new and self.fitting >= min(_BACK, self.number - self.fitting)

    @property
    def is_due(self):
        """Whether it is time to estimate its pose and delay anew."""
        return self.number >= max(_FEW if self.is_new else _ASKED, _AGAIN * self.asked)

    @property
    def is_blind(self):
        """Whether no other sensor has seen the robot for too long."""
        return not (self.seen or self.is_new) and self.number >= _BLIND


def without(frame, sensors):
    """Return a frame without the samples of some sensors."""
    return with_only(frame, lambda sample: sample.sensor not in sensors)


def with_only(frame, is_kept):
    """Return a frame with the samples that are kept, the same object if these are all."""
    kept = tuple(filter(is_kept, frame.samples))
    return frame if len(kept) == len(frame.samples) else replace(frame, samples=kept)


def with_samples(frames, wrong):
    """Return frames with the rejected samples of `FaultySensor`s back in them."""
    left_out, found = [sample for each in wrong for sample in each.samples], []
    for frame in frames:
        own = [s for s in left_out if frame.start_ns < s.stamp_ns <= frame.end_ns]
        own = {(s.stamp_ns, s.sensor): s for s in (*frame.samples, *own)}
        samples = tuple(own[key] for key in sorted(own))
        is_same = len(samples) == len(frame.samples)
        found.append(frame if is_same else replace(frame, samples=samples))
    return tuple(found)


def reject(frame, sensors, before=()):
    """
    Return `FaultySensor`s with their samples of a frame as rejected ones.

    sensors: names; before: `FaultySensor`s so far.
    """
    found = {each.sensor: each for each in before}
    for sample in frame.samples:
        if sample.sensor in sensors:
            each = found.get(sample.sensor, FaultySensor(sample.sensor))
            found[sample.sensor] = each.with_sample(sample, fits=False)
    return tuple(found.values())


def still_faulty(problem, mixture, faulty, frame):
    """
    Return (frame without the samples of sensors that are still faulty, these `FaultySensor`s).

    faulty: those before the frame.
    """
    names, found, still = {each.sensor for each in faulty}, [], set()
    if not names:
        return frame, faulty
    fitting = {}
    if any(sample.sensor in names for sample in frame.samples):
        fitting = _fitting(problem, mixture, frame)
    for each in faulty:
        own = [sample for sample in frame.samples if sample.sensor == each.sensor]
        for sample in own:
            each = each.with_sample(sample, fitting[sample.sensor])
        if not (own and each.is_back):
            still.add(each.sensor)
            found.append(each)
    frame = without(frame, still)
    return frame, tuple(replace(each, seen=each.seen + len(frame.samples)) for each in found)


def _fitting(problem, mixture, frame):
    """Return sensor -> whether its samples of a frame fit any notable component."""
    mixture = _notable(mixture)
    found = _linearized(problem, mixture, frame)
    rows = _rows_of(problem, frame)
    return {
        name: bool((_misfits(mixture.roots, found, own) < chdtri(len(own), _FITTING)).any())
        for name, own in rows.items()
    }


def implausible_sensors(problem, mixture, frames):
    """
    Return sensor -> index of the first of consecutive frames in which no impulse explains it.

    mixture: known before the frames. An impulse may act in every one of them. Two filters run
    side by side, one that allows for impulses and one that does not. In every frame sensors update
    them one after the other, first the one that fits best without an impulse: if one of two has
    just frozen, an impulse may explain either, but not both.
    """
    mixture, implausible, size = _notable(mixture), {}, problem.tangent_size
    still = np.repeat(np.eye(mixture.roots.shape[-1])[None, :size], mixture.size, 0)
    points, means = mixture.points, mixture.means
    disturbed = undisturbed = mixture.roots
    # Mean of the filter without impulses, less that of the one with them.
    behind = np.zeros(undisturbed.shape[:2])
    for number, frame in enumerate(frames):
        linear = _linearized(problem, replace(mixture, points=points, means=means), frame)
        disturbed = predict(disturbed, still, _IMPULSE * problem.impulse(frame))
        left = dict(_rows_of(problem, frame))
        steps, roots = [0.0 * behind, behind], [disturbed, undisturbed]
        while left:
            without_impulse = partial(_relative_misfit, roots[1], linear, steps[1], left)
            with_impulse = partial(_relative_misfit, roots[0], linear, steps[0], left)
            name = min(left, key=without_impulse)
            if not with_impulse(name) < 1:
                # It may be right all the same, and one that fits better without an impulse faulty.
                others = [each for each in left if each != name]
                name = next((each for each in others if with_impulse(each) < 1), None)
            if name is None:
                break
            own = left.pop(name)
            for k in (0, 1):
                missed = _missed(linear, steps[k])[:, own]
                update = measure(roots[k], missed, linear.slope[:, own])
                steps[k], roots[k] = steps[k] + update.step, update.root
        for name in left:
            implausible.setdefault(name, number)
        (step, undisturbed_step), moved = steps, linear.transition
        points = problem.retract(linear.ends, (moved @ step[..., None])[..., 0].T)
        means = means + step[:, size:].T
        behind = undisturbed_step - step
        behind = np.concatenate([(moved @ behind[..., None])[..., 0], behind[:, size:]], 1)
        process_noise = problem.process_noise(
            (frame,), mixture.disturbances, means, (mixture.points, points)
        )[0]
        disturbed, undisturbed = (predict(each, moved, process_noise) for each in roots)
    return implausible


def _missed(found, step):
    """Return the residuals [K, m] of a `Linearization` after a step [K, n]."""
    return found.residual + (found.slope @ step[..., None])[..., 0]


def _relative_misfit(roots, found, step, rows_of, name):
    """
    Return the misfit of a sensor's rows over the bound that noise hardly ever exceeds.

    roots, step: of a filter that other sensors have updated; found: the frame's `Linearization`;
    rows_of: sensor -> rows.
    """
    rows, seen = rows_of[name], replace(found, residual=_missed(found, step))
    return float(_misfits(roots, seen, rows).min() / chdtri(len(rows), _IMPROBABLE))


def _notable(mixture):
    """Return the components of notable weight."""
    if mixture.size == 1:
        return mixture
    return mixture.pick(np.flatnonzero(mixture.log_weights > np.log(_NOTABLE)))


def _linearized(problem, mixture, frame):
    """Return the `Linearization` of a frame, whitened with the estimated noise."""
    with np.errstate(all='ignore'):
        found = problem.linearize(mixture.points, mixture.means, (frame,), mixture.disturbances)
    if mixture.noises is None:
        return found
    return whitened(mixture.noises, problem.row_noises((frame,)), found)[0]


def _rows_of(problem, frame):
    """Return sensor -> its rows of a frame."""
    samples, rows = problem.in_rows(frame), {}
    for row, number in enumerate(problem.row_samples(frame)):
        rows.setdefault(samples[number][1].sensor, []).append(row)
    return rows


def _misfits(roots, found, rows):
    """Return the squared normalized innovations [K] of rows; infinite where not finite."""
    with np.errstate(all='ignore'):
        misfits = measure(roots, found.residual[:, rows], found.slope[:, rows]).nis
    return np.where(np.isfinite(misfits), misfits, np.inf)
