"""One frame taken into every component of a mixture."""

from dataclasses import dataclass, replace

import numpy as np

from ..changes.shifts import bias_score, BiasScore
from ..drift import STILL, walk
from ..gaussian import log_normalized, measure, predict, Update
from ..mixture import distances, distinct, Mixture
from ..noise_scales import learned, whitened
from ..robust import NormalNoise

# Rounds of reweighting rows whose noise is not normal.
_REWEIGHTINGS = 3
SURPRISE = 4.0


@dataclass(frozen=True)
class Step:
    """
    What one frame did.

    mixture: after it; misfit: twice the cost of the frame's rows under the heaviest component,
    chi-squared where the noise is normal; surprising [m]: which rows missed their prediction by
    more than `SURPRISE` standard deviations; pull: where they pull positions, None where single
    ones may be far off; log_evidence: how probable the rows were; lag: what a filter that looks
    back carries on.
    """

    mixture: Mixture
    misfit: float
    rows: int
    surprising: np.ndarray
    pull: BiasScore | None
    log_evidence: float

    lag = None

    @property
    def surprises(self):
        """How many rows surprise."""
        return int(self.surprising.sum())

    def tidied(self, prune, merge):
        """Return this without components that do not survive."""
        return replace(self, mixture=tidied(self.mixture, prune, merge))


def measurement_update(problem, mixture, frame, noise, drift=STILL):
    """
    Return the `Step` of a frame, or None where its numbers are not finite.

    The frame's samples are compared with what each component predicts from the frame's
    beginning; the state then moves on to the frame's end, and the parameters drift: `walk`.
    """
    roots = pushed(problem, mixture.roots, frame)
    begin, noises = (mixture.points, mixture.means), mixture.noises
    found = problem.linearize(*begin, (frame,), mixture.scales)
    log_scale = 0.0
    if noises is not None:
        sensors = problem.row_noises((frame,))
        found, log_scale = whitened(noises, sensors, found)
    with np.errstate(all='ignore'):
        update, cost = take_rows(roots, found, noise)
        if noises is not None:
            noises = learned(noises, sensors, found, update, noise)
    size = problem.tangent_size
    moves = (found.transition @ update.step[..., None])[..., 0]
    log_weights = mixture.log_weights + update.log_evidence - log_scale
    ends = problem.retract(found.ends, moves.T)
    after = Mixture(
        log_normalized(log_weights),
        ends,
        mixture.means + update.step[:, size:].T,
        predict(
            update.root,
            found.transition,
            problem.floors((frame,), mixture.scales, mixture.means, (mixture.points, ends))[0],
            walk(problem, drift, frame.start_ns, frame.end_ns),
        ),
        mixture.scales,
        noises,
    )
    if not is_finite(after):
        return None
    best = after.heaviest()
    residual = found.residual[best]
    rows = is_row(residual, found.slope[best])
    surprising, pull = missed(problem, residual, update.seen[best], found.slope[best], noise)
    log_evidence = np.logaddexp.reduce(log_weights) + unmeasured(rows, noise)
    told = float(cost[best]), int(rows.sum()), surprising, pull, float(log_evidence)
    return Step(after, *told)


def missed(problem, residual, seen, slope, noise):
    """
    Return (which rows [m] surprise, the `BiasScore` of all, None where outliers are expected).

    residual [m]: of one component; seen [m, n]: its root as the rows see it; slope [m, n].
    """
    surprising = np.abs(standardised(residual, seen)) > SURPRISE
    if noise.expects_outliers:
        return surprising, None
    return surprising, bias_score(residual, seen, slope[:, : problem.position_count])


def unmeasured(rows, noise):
    """
    Return what rows that are none have been counted for in log evidence, [...].

    rows [..., m]: of `is_row`.
    """
    if not isinstance(noise, NormalNoise):
        return np.zeros(rows.shape[:-1])
    return 0.5 * np.log(2 * np.pi) * (~rows).sum(-1)


def is_row(residual, slope):
    """
    Return which rows [..., m] of a `Linearization` are of something measured; slope [..., m, n].

    Rows that only other components' frames have are zero in all of them; one that nothing can
    move, as the height of a robot that moves in a plane, has a residual still.
    """
    return (np.abs(slope).max(-1, initial=0.0) > 0) | (residual != 0)


def pushed(problem, roots, frame):
    """
    Return the roots [K, n, n] at a frame's beginning with what efforts that are unknown may do.

    As if they acted at once, so that positions within the frame are as uncertain. The floor adds
    the same at its end: how velocities change is not tied to that.
    """
    push = problem.push(frame)
    if not push.any():
        return roots
    size = problem.tangent_size
    still = np.broadcast_to(np.eye(size, roots.shape[-1]), (len(roots), size, roots.shape[-1]))
    return predict(roots, still, push)


def take_rows(roots, found, noise):
    """
    Return the `Update` by the rows of one frame and twice its cost [K].

    Where the noise is not normal: the step with reweighted rows, the root with the curvature of
    their cost, and Laplace's evidence.
    """
    size = found.transition.shape[-2]
    update = measure(roots, found.residual, found.slope, size)
    if isinstance(noise, NormalNoise):
        return update, update.nis
    seen, weight = update.seen, noise.weight(standardised(found.residual, update.seen))
    for _ in range(_REWEIGHTINGS):
        used, scale = weight, np.sqrt(weight)
        update = measure(roots, scale * found.residual, scale[..., None] * found.slope, size)
        left = found.residual + (found.slope @ update.step[..., None])[..., 0]
        weight = noise.weight(left)
    scale = np.sqrt(noise.curvature(left))
    bent = measure(roots, np.zeros_like(left), scale[..., None] * found.slope, size)
    # What is left of the weighted cost is that of the step under the prior.
    pulled = update.nis - (used * left**2).sum(-1)
    cost = noise.cost(left).sum(-1) + 0.5 * np.maximum(pulled, 0.0)
    rows = left.shape[-1]
    log_evidence = bent.log_evidence + 0.5 * rows * np.log(2 * np.pi) - cost
    return Update(update.step, bent.root, 2 * cost, log_evidence, seen), 2 * cost


def standardised(residual, seen):
    """
    Return residuals [..., m] in standard deviations of what was predicted, noise included.

    seen [..., m, n]: the root as the rows see it.
    """
    return residual / np.sqrt(1.0 + (seen**2).sum(-1))


def survivors(mixture, prune, merge):
    """
    Return (components [n] that stay, log weights [K] of all).

    Those of no weight go, and of twins one stays, with both weights.
    """
    log_weights = mixture.log_weights.copy()
    if mixture.size == 1:
        return np.zeros(1, dtype=int), log_weights
    order = np.argsort(-log_weights, kind='stable')
    order = [k for k in order if log_weights[k] > np.log(prune)]
    informations = np.linalg.inv(mixture.parameter_covariances())
    squared = distances(mixture.means, informations)
    kept = distinct(order, squared, merge, mixture.scales)
    for index in order:
        if index not in kept:
            alike = [k for k in kept if mixture.scales[k] == mixture.scales[index]]
            twin = alike[int(np.argmin(squared[alike, index]))]
            log_weights[twin] = np.logaddexp(log_weights[twin], log_weights[index])
    return np.array(kept), log_weights


def tidied(mixture, prune, merge):
    """Return the mixture of the `survivors`."""
    kept, log_weights = survivors(mixture, prune, merge)
    if len(kept) == mixture.size:
        return mixture
    return replace(mixture, log_weights=log_weights).pick(kept)


def is_finite(mixture):
    """Tell whether all numbers of a mixture are."""
    return all(
        np.isfinite(a).all()
        for a in (mixture.points, mixture.means, mixture.roots, mixture.log_weights)
    )
