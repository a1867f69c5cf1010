"""
Sensors that are wrong for a while, beside everything else, which stays known.

Motion capture takes a body for its neighbour, or turns it by half a turn; what is hidden stays
where it was; an encoder jumps and comes back. No change of a robot does so: whatever happens to
it, forces move it, and no farther in a frame than usual efforts could. So samples are held
against where the robot may be by all that is known and by the other sensors, had something pushed
it hard just then (`off_sensors`). Those of a sensor that is off even so are left out
until they fit again; of the robot nothing is forgotten. Once it has been off for long it is asked
whether it is elsewhere on its link, or its clock is another (`found_anew`).

In the first fits nothing is known yet. There samples are told apart by a fit in which what is far
off loses its weight (`sorted_out`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from ..batch.fit import fit, Objective
from ..factors import lower_root
from ..filter.settling import Trajectories
from ..filter.smoother import Smoother
from ..filter.update import is_finite, measurement_update
from ..gaussian import measure, predict
from ..noise_scales import whitened
from ..robust import StudentNoise

# A sample that noise, and what may have pushed the robot, put so far off so seldom is wrong.
_IMPROBABLE = 1e-7
# What may have pushed the robot: so many times as hard as usual efforts do. A light link that
# whips round feels five times as much when its friction changes.
_PUSHED = 10.0
# One of a sensor that was wrong fits again where noise would put it farther off this often, and
# the sensor is believed after so many on end, or as many as were left out.
_FITTING, _BACK = 1e-4, 5
# Components of less weight have no say.
_NOTABLE = 0.01
# So many samples of a sensor are kept that were left out, to ask what has become of it.
_KEPT = 64
# After so many samples that were left out it is asked whether the sensor was moved, after so few
# where nothing was known of it, then whenever there are so many times as many; and where no other
# sensor has seen the robot since, after so many on end, what has become of the robot.
_ASKED, _FEW, _AGAIN, _BLIND = 100, 32, 1.5, 25
# A clock of which no more is known than this part of the spacing of starts is not known.
_UNKNOWN = 0.5
# So many values of a delay are tried.
_STARTS, _CENTRAL = 8, 1.96
_PASSES = 15
# Of the first fits: rounds of telling samples apart, and how improbable one is that is left out.
_ROUNDS, _FAR_OFF = 4, 1e-6
# A sensor most of whose samples are left out of first fits was not wrong for a while.
_WHILE = 0.5


@dataclass(frozen=True)
class Wrong:
    """
    A sensor whose samples are left out.

    samples: the last of them; number: of all; fitting: how many of the newest fit again; seen:
    of how many samples of other sensors since; asked: number at which it was last asked about;
    is_new: whether nothing is known of its clock, so that a filter could make nothing of it.
    """

    sensor: str
    samples: tuple = ()
    number: int = 0
    fitting: int = 0
    seen: int = 0
    asked: int = 0
    is_new: bool = False

    def with_sample(self, sample, fits):
        """Return this with one more sample that is left out."""
        samples = (*self.samples, sample)[-_KEPT:]
        fitting = self.fitting + 1 if fits else 0
        return replace(self, samples=samples, number=self.number + 1, fitting=fitting)

    @property
    def is_back(self):
        """Whether the newest samples are as they should be."""
        return not self.is_new and self.fitting >= min(_BACK, self.number - self.fitting)

    @property
    def is_due(self):
        """Whether it is time to ask where it is, and how late."""
        return self.number >= max(_FEW if self.is_new else _ASKED, _AGAIN * self.asked)

    @property
    def is_blind(self):
        """Whether without it nobody has seen the robot for too long."""
        return not (self.seen or self.is_new) and self.number >= _BLIND


def without(frame, sensors):
    """Return a frame without the samples of some sensors."""
    return _with_only(frame, lambda sample: sample.sensor not in sensors)


def _with_only(frame, is_kept):
    """Return a frame with some of its samples, the same one if these are all."""
    kept = tuple(filter(is_kept, frame.samples))
    return frame if len(kept) == len(frame.samples) else replace(frame, samples=kept)


def with_samples(frames, wrong):
    """Return frames with the samples of `Wrong` sensors that were left out of them."""
    left_out, found = [sample for each in wrong for sample in each.samples], []
    for frame in frames:
        own = [s for s in left_out if frame.start_ns < s.stamp_ns <= frame.end_ns]
        own = {(s.stamp_ns, s.sensor): s for s in (*frame.samples, *own)}
        samples = tuple(own[key] for key in sorted(own))
        is_same = len(samples) == len(frame.samples)
        found.append(frame if is_same else replace(frame, samples=samples))
    return tuple(found)


def wrong_of(frame, sensors, before=()):
    """Return `Wrong` sensors, and others from before, with their samples of a frame left out."""
    found = {each.sensor: each for each in before}
    for sample in frame.samples:
        if sample.sensor in sensors:
            each = found.get(sample.sensor, Wrong(sample.sensor))
            found[sample.sensor] = each.with_sample(sample, fits=False)
    return tuple(found.values())


def believed(problem, mixture, wrong, frame):
    """
    Return (frame without samples of sensors that are still wrong, these as `Wrong`s).

    wrong: those that were wrong before it.
    """
    names, found, still = {each.sensor for each in wrong}, [], set()
    if not names:
        return frame, wrong
    fitting = {}
    if any(sample.sensor in names for sample in frame.samples):
        fitting = _fitting(problem, mixture, frame)
    for each in wrong:
        own = [sample for sample in frame.samples if sample.sensor == each.sensor]
        for sample in own:
            each = each.with_sample(sample, fitting[sample.sensor])
        if not (own and each.is_back):
            still.add(each.sensor)
            found.append(each)
    frame = without(frame, still)
    return frame, tuple(replace(each, seen=each.seen + len(frame.samples)) for each in found)


def _fitting(problem, mixture, frame):
    """Return sensor -> whether its samples of a frame fit some notable component."""
    mixture = _notable(mixture)
    found = _seen(problem, mixture, frame)
    rows = _rows_of(problem, frame)
    return {
        name: bool((_misfits(mixture.roots, found, own) < chdtri(len(own), _FITTING)).any())
        for name, own in rows.items()
    }


def off_sensors(problem, mixture, frames):
    """
    Return sensor -> number of the first of consecutive frames in which no push explains it.

    mixture: known before the frames. A push may come at any time, in every one of them. Sensors
    are believed one after the other, first that which fits best if nothing has pushed: of one that
    has just frozen and one that has not, a push may explain either, but not both.
    """
    mixture, found, size = _notable(mixture), {}, problem.tangent_size
    still = np.repeat(np.eye(mixture.roots.shape[-1])[None, :size], mixture.size, 0)
    points, means = mixture.points, mixture.means
    pushed = calm = mixture.roots
    # By how much less is known to have happened if nothing has pushed.
    behind = np.zeros(calm.shape[:2])
    for number, frame in enumerate(frames):
        linear = _seen(problem, replace(mixture, points=points, means=means), frame)
        pushed = predict(pushed, still, _PUSHED * problem.impulse(frame))
        left, steps, roots = dict(_rows_of(problem, frame)), [0.0 * behind, behind], [pushed, calm]
        while left:
            name = min(left, key=lambda each: _farness(roots[1], linear, steps[1], left[each]))
            if not _farness(roots[0], linear, steps[0], left[name]) < 1:
                # It may be right all the same, and one that fitted better wrong.
                others = [each for each in left if each != name]
                name = next(
                    (e for e in others if _farness(roots[0], linear, steps[0], left[e]) < 1), None
                )
            if name is None:
                break
            own = left.pop(name)
            for k in (0, 1):
                missed = _missed(linear, steps[k])[:, own]
                update = measure(roots[k], missed, linear.slope[:, own])
                steps[k], roots[k] = steps[k] + update.step, update.root
        for name in left:
            found.setdefault(name, number)
        (step, calm_step), moved = steps, linear.transition
        points = problem.retract(linear.ends, (moved @ step[..., None])[..., 0].T)
        means = means + step[:, size:].T
        behind = calm_step - step
        behind = np.concatenate([(moved @ behind[..., None])[..., 0], behind[:, size:]], 1)
        floor = problem.floors((frame,), mixture.scales, means, (mixture.points, points))[0]
        pushed, calm = (predict(each, moved, floor) for each in roots)
    return found


def _missed(found, step):
    """Return the residuals [K, m] of a `Linearization` after a step [K, n]."""
    return found.residual + (found.slope @ step[..., None])[..., 0]


def _farness(roots, found, step, rows):
    """Return how far rows are off after a step, 1: as far as noise hardly ever puts them."""
    seen = replace(found, residual=_missed(found, step))
    return float(_misfits(roots, seen, rows).min() / chdtri(len(rows), _IMPROBABLE))


def _notable(mixture):
    """Return the components that have a say."""
    if mixture.size == 1:
        return mixture
    return mixture.pick(np.flatnonzero(mixture.log_weights > np.log(_NOTABLE)))


def _seen(problem, mixture, frame):
    """Return the `Linearization` of a frame, in the deviations that noise is thought to have."""
    with np.errstate(all='ignore'):
        found = problem.linearize(mixture.points, mixture.means, (frame,), mixture.scales)
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
    """Return squared deviations [K] of rows from what is predicted; infinite where none is."""
    with np.errstate(all='ignore'):
        misfits = measure(roots, found.residual[:, rows], found.slope[:, rows]).nis
    return np.where(np.isfinite(misfits), misfits, np.inf)


def unknown_sensors(problem, mixture):
    """Return the `Wrong` sensors of whose clocks a mixture knows too little for a filter."""
    found = []
    for name, late in problem.late_sensors.items():
        spacing = problem.spacing[int(np.argmax(late))]
        if mixture.along(late)[1] > (_UNKNOWN * spacing) ** 2:
            found.append(Wrong(name, is_new=True))
    return tuple(found)


def found_anew(problem, past, wrong, noise, drift):
    """
    Return the `Mixture` after the last frames if a `Wrong` sensor may be elsewhere, else None.

    past: `suspicion.Past`s of these, the first with what was known before it. All else stays; of
    the sensor, where it is and how late, as much is known as at first. Whether noise explains its
    samples then is tried from several delays.
    """
    own = [k for k, label in enumerate(problem.labels) if label.startswith(f'{wrong.sensor}.')]
    known, frames = past[0].mixture, tuple(each.frame for each in past)
    if not own or known is None:
        return None
    points = _followed(problem, known, frames, noise, drift)
    if points is None:
        return None
    frames = with_samples(frames, (wrong,))
    best, delays = known.heaviest(), _delays(problem, own)
    parameters = np.repeat(known.means[:, [best]], delays.shape[1], 1)
    parameters[own] = delays
    begins = Trajectories(points[..., [best] * delays.shape[1]], parameters)
    told = _released(problem, known.pick([best] * delays.shape[1]), own)
    found = Smoother(problem, frames, noise, told, drift).run(begins, _PASSES)
    evidence = np.where(np.isfinite(found.log_evidence), found.log_evidence, -np.inf)
    top = int(np.argmax(evidence))
    if not found.misfits[top] < chdtri(found.rows[top], _FAR_OFF):
        return None
    parameters = known.means.copy()
    parameters[own] = found.trajectories.parameters[own][:, [top]]
    told = _released(problem, known, own)
    found = Smoother(problem, frames, noise, told, drift).run(
        Trajectories(points, parameters), _PASSES
    )
    sound = np.flatnonzero(np.isfinite(found.log_evidence) & np.isfinite(found.misfits))
    if not len(sound):
        return None
    mixture = found.mixture.pick(sound)
    top = sound[mixture.heaviest()]
    is_small = found.misfits[top] < chdtri(found.rows[top], _FAR_OFF)
    return mixture if is_small and is_finite(mixture) else None


def _followed(problem, mixture, frames, noise, drift):
    """Return states [H + 1, nx, K] at the bounds of frames, None where a filter is lost."""
    points = [mixture.points]
    for frame in frames:
        step = measurement_update(problem, mixture, frame, noise, drift)
        if step is None:
            return None
        mixture = step.mixture
        points.append(mixture.points)
    return np.array(points)


def _released(problem, mixture, own):
    """Return a mixture that knows as much of some coordinates as the prior, and all else."""
    size, n = problem.tangent_size, mixture.roots.shape[-1]
    wide = np.zeros((mixture.size, n, n + len(problem.prior.mean)))
    rows = size + np.array(own)
    wide[..., :n] = mixture.roots
    wide[:, rows] = 0.0
    wide[:, rows, n:] = problem.prior.root[own]
    means = mixture.means.copy()
    means[own] = problem.prior.mean[own][:, None]
    weights = np.full(mixture.size, -np.log(mixture.size))
    return replace(mixture, log_weights=weights, means=means, roots=lower_root(wide))


def _delays(problem, own):
    """Return coordinates [len(own), S] to begin with, delays in even steps over their prior."""
    mean, sd = problem.prior.mean[own], np.linalg.norm(problem.prior.root[own], axis=1)
    is_wide = 2 * _CENTRAL * sd > problem.spacing[own]
    if not is_wide.any():
        return mean[:, None]
    steps = (2 * np.arange(_STARTS) + 1) / _STARTS - 1
    return mean[:, None] + np.where(is_wide, _CENTRAL * sd, 0.0)[:, None] * steps


@dataclass(frozen=True)
class SortedOut:
    """
    A window of which samples of wrong sensors are left out.

    objective: of the rest; fits: that noise explains; wrong: `sample_key`s; is_while: whether
    every sensor is right most of the time.
    """

    objective: Objective
    fits: object
    wrong: frozenset
    is_while: bool


def sample_key(sample):
    """Return what a sample is known by, wherever its stamp is moved to."""
    return sample.sensor, sample.stamp_ns + sample.moved_ns


def cleared(frames, wrong):
    """Return frames without the samples of these `sample_key`s."""
    if not wrong:
        return frames
    wrong = frozenset(wrong)
    return tuple(_with_only(f, lambda sample: sample_key(sample) not in wrong) for f in frames)


def sorted_out(problem, window, noise, begins, merge):
    """
    Return the window `SortedOut`, None where leaving samples out explains nothing.

    begins: (offsets [t, K], parameters [p, K]) several times, each from which a fit may begin;
    others follow where those before lead nowhere.
    """
    robust = Objective(problem, window, StudentNoise())
    for offsets, parameters in begins:
        found = fit(robust, offsets, parameters, merge=merge)
        if not np.isfinite(found.costs).any():
            continue
        found, before = found.pick([int(np.argmin(found.costs))]), None
        for _ in range(_ROUNDS):
            wrong = far_off(problem, window, found)
            if wrong is None or wrong == before:
                break
            rest = replace(window, frames=cleared(window.frames, wrong))
            if not any(frame.samples for frame in rest.frames):
                break
            objective, before = Objective(problem, rest, noise), wrong
            found = fit(objective, found.offsets, found.parameters)
            if objective.is_explained_by(found):
                return SortedOut(objective, found, wrong, _is_while(window.frames, wrong))
    return None


def far_off(problem, window, fits):
    """Return the `sample_key`s of a window that are far off the best fit; None: it is lost."""
    best, wrong = fits.pick([int(np.argmin(fits.costs))]), set()
    if not np.isfinite(best.costs).all():
        return None
    points = problem.retract(window.point[:, None], best.offsets)
    with np.errstate(all='ignore'):
        states = problem.trajectory(points, best.parameters, window.frames)
    if not np.isfinite(states).all():
        return None
    for k, frame in enumerate(window.frames):
        if not frame.samples:
            continue
        rows = problem.residuals(states[k : k + 2], best.parameters, (frame,))[0]
        numbers = problem.row_samples(frame)
        for number, (_, sample) in enumerate(problem.in_rows(frame)):
            own = rows[numbers == number]
            if not (own**2).sum() < chdtri(len(own), _FAR_OFF):
                wrong.add(sample_key(sample))
    return frozenset(wrong)


def _is_while(frames, wrong):
    """Tell whether most samples of every sensor are used."""
    samples = [sample for frame in frames for sample in frame.samples]
    for name in {sample.sensor for sample in samples}:
        own = [sample_key(sample) in wrong for sample in samples if sample.sensor == name]
        if sum(own) > _WHILE * len(own):
            return False
    return True
