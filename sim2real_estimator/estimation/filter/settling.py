"""How the trajectories of a smoother are moved until they stay, each column for itself."""

from dataclasses import dataclass, field

import numpy as np

from ..noise_scales import NoiseScales

# A course stays where its last move was below this part of the posterior's deviations.
_SETTLED = 0.03
# Frames that fit worse by this factor, besides one for every row, tell that a step was too long.
_WORSE = 2.0
# A move that leads back by more than this part of the one before it went too far as well.
_BACK = 0.5


@dataclass(frozen=True)
class Trajectories:
    """K motions through a window: points [H + 1, nx, K] at frame bounds, parameters [p, K]."""

    points: np.ndarray
    parameters: np.ndarray

    def pick(self, which):
        """Return some of them."""
        return Trajectories(self.points[..., which], self.parameters[:, which])

    def where(self, which, others):
        """Return these motions where `which` [K] is true, else the others."""
        return Trajectories(
            np.where(which, self.points, others.points),
            np.where(which, self.parameters, others.parameters),
        )


@dataclass(frozen=True)
class FilterSummary:
    """
    What the filter about a course says of it, K columns.

    log_evidence [K]; misfits, rows [K]: sum of squares of what predictions missed by, in standard
    deviations, and of how many; roots [K, n, n]: at the window's end.
    """

    log_evidence: np.ndarray
    misfits: np.ndarray
    rows: np.ndarray
    roots: np.ndarray

    def pick(self, which):
        """Return that of some of the columns."""
        return FilterSummary(*(part[which] for part in vars(self).values()))


@dataclass
class _Going:
    """
    Columns on their way.

    smoother: of these columns; places: which of all they are; origin: where the last sound step
    began; limit: cost from which on a step was too long; moves: what the last sound filter and
    smoother found; part: how much of it the next step goes.
    """

    smoother: object
    noises: NoiseScales | None
    places: np.ndarray
    trajectories: Trajectories
    origin: Trajectories
    limit: np.ndarray
    moves: np.ndarray
    part: np.ndarray

    @staticmethod
    def begun(smoother, trajectories, noises):
        """Return all columns before their first step."""
        count, size = trajectories.parameters.shape[1], smoother.known.roots.shape[-1]
        moves = np.zeros((len(smoother.frames) + 1, count, size))
        still = np.full(count, np.inf), moves, np.ones(count)
        return _Going(smoother, noises, np.arange(count), trajectories, trajectories, *still)

    def moved(self):
        """
        Move the trajectories; return (`FilterSummary` before, is sound [K], is settled [K]).

        Where frames fit much worse about a course than about the one it was moved from, or not
        at all, it went too far: to bodies without mass, for one. It then goes half of the way, and
        no more than twice that far in the next step. Where the next move leads back, as over the
        edge of friction and back again, it ends where the two lines say that nothing is left.
        """
        smoother = self.smoother
        steps = smoother.forward(self.trajectories, self.noises)
        told = smoother.told(steps)
        is_sound = told.misfits < self.limit
        self.limit = np.where(is_sound, _WORSE * told.misfits + told.rows, self.limit)
        self.origin = self.trajectories.where(is_sound, self.origin)
        before = self.moves
        self.moves = np.where(is_sound[:, None], smoother.backward(steps), before)
        last, now = (smoother.in_deviations(each, steps) for each in (before, self.moves))
        back = -(last * now).sum(-1) / np.maximum((last**2).sum(-1), 1e-300)
        shorter = self.part / (1 + np.maximum(back, _BACK))
        on = np.where(back > _BACK, shorter, np.minimum(2 * self.part, 1.0))
        self.part = np.where(is_sound, on, self.part / 2)
        self.trajectories = smoother.moved(self.origin, self.moves, self.part)
        return told, is_sound, is_sound & (np.abs(now).max(-1) < _SETTLED)

    def pick(self, which):
        """Return some of them."""
        return _Going(
            self.smoother.pick(which),
            None if self.noises is None else self.noises.pick(which),
            self.places[which],
            self.trajectories.pick(which),
            self.origin.pick(which),
            self.limit[which],
            self.moves[:, which],
            self.part[which],
        )


@dataclass
class _Resting:
    """Columns that are moved no more, in parts."""

    places: list = field(default_factory=list)
    trajectories: list = field(default_factory=list)
    told: list = field(default_factory=list)
    is_converged: list = field(default_factory=list)

    def add(self, places, trajectories, told, is_converged):
        """Add some."""
        self.places.append(places)
        self.trajectories.append(trajectories)
        self.told.append(told)
        self.is_converged.append(is_converged)

    def all(self):
        """Return (`Trajectories`, `FilterSummary`, is settled [K]) of all columns in order."""
        order = np.argsort(np.concatenate(self.places))
        points = np.concatenate([each.points for each in self.trajectories], 2)
        parameters = np.concatenate([each.parameters for each in self.trajectories], 1)
        trajectories = Trajectories(points, parameters).pick(order)
        told = FilterSummary(
            *map(np.concatenate, zip(*(vars(each).values() for each in self.told)))
        )
        return trajectories, told.pick(order), np.concatenate(self.is_converged)[order]


def settle(smoother, trajectories, noises, passes, hopeless=np.inf, tells=True):
    """
    Return (`Trajectories` moved until they stay, `FilterSummary`, is settled [K]).

    Those that stay are left alone from then on, and what the filter said about where they were
    goes for where they are: that is next to it. So are those whose evidence falls short of the
    best by more than `hopeless`, as a logarithm, once they have been moved: what is told of them
    is how far they have come. passes: so many at most; tells: whether a filter is to tell where
    what has not settled by then has come to, or where it was before.
    """
    going, resting, best = _Going.begun(smoother, trajectories, noises), _Resting(), -np.inf
    for number in range(passes):
        told, is_sound, is_converged = going.moved()
        evidence = np.where(is_sound, told.log_evidence, -np.inf)
        best = max(best, evidence.max())
        rests = is_converged | (number > 0) & is_sound & (evidence < best - hopeless)
        if rests.any():
            at_rest = going.places[rests], going.trajectories.pick(rests), told.pick(rests)
            resting.add(*at_rest, is_converged[rests])
            if rests.all():
                return resting.all()
            going = going.pick(~rests)
    if tells:
        told = going.smoother.told(going.smoother.forward(going.trajectories, going.noises))
    else:
        told = told.pick(~rests)
    resting.add(going.places, going.trajectories, told, np.zeros(len(going.places), dtype=bool))
    return resting.all()
