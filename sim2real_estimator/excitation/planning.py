"""
The safe motion that tells most: tones at random, the best of them improved by IPOPT.

Unknowns are the control points of the spline. Their bounds hold positions, linear constraints hold
velocities and accelerations at all times; torques of the mean robot and distances of spheres are
held at samples, with margins. The margin of a torque is what quantiles of the posterior's draws
are beyond the mean's, so that the limits hold for 95 % of the robots that are still possible. This
is checked afterwards, at five times as many instants; where it fails, margins grow and the motion
is optimized again.
"""

from dataclasses import dataclass
import time

import casadi
import numpy as np

from ..errors import ConfigError
from .splines import Motion, SplineBasis

# Knots are so far apart [s]; the objective is sampled, limits are checked, and held by the solver
# (where there are no spheres, and where there are) so often a second.
SPACING = 0.4
_RATE, _CHECKED_RATE, _HELD_RATES = 10.0, 50.0, {False: 5.0, True: 10.0}
# Durations that are planned [s].
_SECONDS = 2.0, 60.0
# Orders of the harmonics of tones at random, of a fundamental of this period at most [s].
_ORDERS, _PERIOD = 5, 10.0
# The part of the limits that tones fill, and that constraints leave to rounding.
_FILLED, _INSIDE = 0.98, 0.995
# How often tones are made smaller until torques and distances are held, and by which factor.
_ATTEMPTS, _SMALLER = 40, 0.85
# So many draws that break a limit are allowed; draws that margins are made of.
HELD_FOR, DRAWS = 0.95, 400
# No draw uses more than this part of what a joint has.
_OF_ALL = 0.95
# By how much margins grow beyond what is needed, and the largest, as parts of limits.
_MORE, _MOST_MARGIN = 0.01, 0.9
# So many of the best motions at random are looked through for one that is safe.
_LOOKED_THROUGH = 4
# How often margins grow; how often the way to a motion that is not safe is halved; what a limit
# of position is missed by for rounding [rad or m].
_ROUNDS, _HALVINGS, _ROUNDING = 4, 5, 1e-6


@dataclass(frozen=True)
class PlanOptions:
    """
    How a motion is looked for.

    seconds: its duration; tones: how many at random begin; iterations: of IPOPT at most;
    processor: time that IPOPT may take [s], so long that the result seldom depends on the machine;
    start: joint -> position at both ends, None: free; seed: of motions at random.
    """

    seconds: float = 10.0
    tones: int = 32
    iterations: int = 40
    processor: float = 30.0
    start: dict | None = None
    seed: int = 0

    def __post_init__(self):
        """Refuse durations that are none."""
        if not _SECONDS[0] <= self.seconds <= _SECONDS[1]:
            raise ConfigError(
                f'seconds: is {self.seconds:g}; give between {_SECONDS[0]:g} and {_SECONDS[1]:g}'
            )


@dataclass(frozen=True)
class Plan:
    """
    A motion and how good it is.

    motion: `Motion`; gain: expected loss of entropy [nats]; tones: `Motion`s at random within the
    same limits, each with its gain; held: the share of draws of the posterior that keep all limits
    of torques; clearance [m]: the least distance of spheres, None where there are none; margins
    [J]: of the torques, as parts of the limits; seconds: processor time [s]; draws [P, D]: of
    standard parameters, by which it was checked.
    """

    motion: Motion
    gain: float
    tones: tuple
    held: float
    clearance: float | None
    margins: np.ndarray
    seconds: float
    draws: np.ndarray


class Planner:
    """What all motions of one search have in common."""

    def __init__(self, information, limits, clearance, draws, options):
        """
        Take what is searched with.

        information: `MotionInformation`; limits: `MotionLimits`; clearance: `Clearance`; draws
        [P, D]: standard parameters of the posterior; options: `PlanOptions`.
        """
        self.information, self.limits, self.clearance = information, limits, clearance
        self.draws, self.options = draws, options
        self.basis = SplineBasis(options.seconds, min(SPACING, options.seconds / 12))
        self.times = (np.arange(round(options.seconds * _RATE)) + 0.5) / _RATE
        self.matrices = self.basis.at(self.times)
        # Spheres pass each other in less time than it takes a torque to change.
        rate = _HELD_RATES[bool(clearance.names)]
        self.held_at = self.basis.at(np.arange(1, rate * options.seconds) / rate)
        self.fine = self.basis.at(np.arange(0, options.seconds, 1 / _CHECKED_RATE))
        self.rates = self.basis.rates()
        self.lower, self.upper = (
            np.tile(limits.lower, (self.basis.size, 1)),
            np.tile(limits.upper, (self.basis.size, 1)),
        )
        for joint, place in (options.start or {}).items():
            if joint not in limits.joints:
                raise ConfigError(
                    f"--start: '{joint}' is no joint that moves by itself; those are "
                    f'{", ".join(limits.joints)}'
                )
            k = limits.joints.index(joint)
            if not limits.lower[k] <= place <= limits.upper[k]:
                raise ConfigError(
                    f'--start {joint}={place:g}: is outside of {limits.lower[k]:.3g} to '
                    f'{limits.upper[k]:.3g}, in which a motion is looked for'
                )
            self.lower[0, k] = self.upper[0, k] = place
        self._held = _Held(information, clearance, limits)
        self._margins = np.zeros(len(limits.effort))

    # -------------------------------------------------------------------------- tones

    def tones(self, generator):
        """Return control points [F, n] of a sum of sines at random, as large as limits allow."""
        limits, options, n = self.limits, self.options, len(self.limits.joints)
        times = np.linspace(0, options.seconds, 4 * self.basis.size)
        for _ in range(_ATTEMPTS):
            centre = self.lower[0] + (self.upper[0] - self.lower[0]) * generator.uniform(size=n)
            orders = np.arange(1, _ORDERS + 1)
            speeds = 2 * np.pi * orders / min(_PERIOD, options.seconds)
            sines, cosines = generator.normal(size=(2, _ORDERS, n)) / orders[:, None]
            angles = np.outer(times, speeds)
            points = self.basis.fitted(times, np.sin(angles) @ sines + np.cos(angles) @ cosines)
            points = np.where(limits.is_moved, points - points[0], 0.0)
            room = np.where(
                points > 0, limits.upper - centre, np.where(points < 0, centre - limits.lower, 1)
            )
            used = np.abs(points / np.maximum(room, 1e-9)).max(0)
            for rate, most in zip(self.rates, (limits.velocity, limits.acceleration)):
                used = np.maximum(used, np.abs(rate @ points).max(0) / most)
            points *= _FILLED / np.maximum(used, 1e-9)
            for _ in range(_ATTEMPTS):
                found = centre + points
                if self._is_held(found):
                    return found
                points = _SMALLER * points
        raise ConfigError(
            'no motion was found that keeps the limits: even small motions about random '
            'configurations break those of torques or distances; look at spheres, floor and '
            'effort limits, or give a configuration by --around and --swing'
        )

    def _is_held(self, points):
        gaps = self._gaps(self.matrices, points)
        if len(gaps) and gaps.min() < self.clearance.least:
            return False
        torques = self._held.values(self.held_at @ points)[:, : len(self._margins)]
        return bool((np.abs(torques) <= _FILLED * (1 - self._margins)).all())

    def _gaps(self, matrices, points):
        """Return all distances of a motion, none without spheres."""
        return self.clearance(matrices[0] @ points).ravel()

    def _torques(self, matrices, points, standard):
        return self.information.torques(matrices @ points, standard)

    # ------------------------------------------------------------------------ planning

    def plan(self, interest):
        """Return the `Plan` that tells most about an `Interest`."""
        begin = time.process_time()
        generator = np.random.default_rng(abs(self.options.seed))
        joints = self.limits.joints
        # What draws are beyond the mean, about a motion at random.
        self._margins = self._needed_margins(self.tones(generator))
        if (self._margins > _MOST_MARGIN).any():
            k = int(np.argmax(self._margins))
            raise ConfigError(
                f'the torque of {self.information.joints[k]} is so uncertain that no motion '
                'is safe; identify the robot from a slow motion first'
            )
        tones = [self.tones(generator) for _ in range(self.options.tones)]
        gains = [self._gain(points, interest) for points in tones]
        order, extra = np.argsort(gains)[::-1], 0.0
        points = self._first_safe([tones[k] for k in order[:_LOOKED_THROUGH]])
        for number in range(_ROUNDS):
            iterations = self.options.iterations // (2 if number else 1)
            found = self._improved(points, interest, extra, iterations)
            best, is_safe = self._last_safe(points, found)
            if self._gain(best, interest) > self._gain(points, interest):
                points = best
            if is_safe:
                break
            margins = np.maximum(self._margins, self._needed_margins(found)) + _MORE
            self._margins = np.minimum(margins, _MOST_MARGIN)
            gap = self._checked(found)[1]
            if gap is not None and gap < self.clearance.least:
                extra += 1.2 * (self.clearance.least - gap)
        held, gap = self._checked(points)
        return Plan(
            Motion(self.basis, joints, points, self.limits.is_moved),
            self._gain(points, interest),
            tuple(
                (Motion(self.basis, joints, tones[k], self.limits.is_moved), gains[k])
                for k in order
            ),
            held,
            gap,
            self._margins,
            time.process_time() - begin,
            self.draws,
        )

    def _gain(self, points, interest):
        motion = self.matrices @ points
        return self.information.gain(motion, self.options.seconds, interest)

    def _needed_margins(self, points):
        """Return by how much more [J] of its limit draws use than the mean, for most of them."""
        mean = np.abs(self._torques(self.matrices, points, self.information.standard[:, None]))
        draws = np.abs(self._torques(self.matrices, points, self.draws)).max(0)
        share = 1 - (1 - HELD_FOR) / len(self.limits.effort)
        most = np.quantile(draws, share, axis=1)
        # No draw may exceed what the joint has, of which `effort` is a share.
        rest = self.limits.effort / (_OF_ALL * self.limits.all_efforts)
        most = np.maximum(most, draws.max(1) * rest)
        margins = (most - mean.max((0, 2))) / self.limits.effort
        return np.clip(margins, 0.0, 1.0)

    def _checked(self, points):
        """Return (share of draws that keep the limits of torques, least distance or None)."""
        torques = np.abs(self._torques(self.fine, points, self.draws))
        held = (torques <= self.limits.effort[:, None]).all((0, 1)).mean()
        if (torques.max((0, 2)) > _OF_ALL * self.limits.all_efforts).any():
            held = 0.0
        gaps = self._gaps(self.fine, points)
        return float(held), float(gaps.min()) if len(gaps) else None

    def _is_safe(self, points):
        """Tell whether a motion keeps all limits, whatever the solver has made of them."""
        if (points < self.lower - _ROUNDING).any() or (points > self.upper + _ROUNDING).any():
            return False
        for rate, most in zip(self.rates, (self.limits.velocity, self.limits.acceleration)):
            if (np.abs(rate @ points).max(0) > most).any():
                return False
        held, gap = self._checked(points)
        return held >= HELD_FOR and (gap is None or gap >= self.clearance.least)

    def _first_safe(self, tones):
        """Return the first safe of several motions, or the first that is when it is smaller."""
        for attempt in range(_ATTEMPTS):
            for points in tones:
                points = points[0] + _SMALLER**attempt * (points - points[0])
                if self._is_safe(points):
                    return points
        raise ConfigError(
            'no motion was found that keeps the limits of torques and distances for 95 % of the '
            'robots that are still possible; identify the robot from a slow motion first'
        )

    def _last_safe(self, safe, found):
        """Return (the last safe motion on the way from a safe one to one found, is it that)."""
        if self._is_safe(found):
            return found, True
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            is_safe = self._is_safe(safe + middle * (found - safe))
            low, high = (middle, high) if is_safe else (low, middle)
        return safe + low * (found - safe), False

    def _improved(self, points, interest, extra, iterations):
        """
        Return better control points [F, n] by IPOPT in so many iterations.

        extra [m]: beside the clearance.
        """
        size, n = points.shape
        x = casadi.MX.sym('x', size * n)
        objective = _Objective(self, interest, points.shape)
        held = _Sampled(self._held, self.held_at, n)
        linear = casadi.vertcat(
            *(casadi.kron(casadi.DM(_sparse(r)), casadi.DM.eye(n)) for r in self.rates)
        )
        bounds = (
            np.concatenate(
                [
                    np.tile(most, len(rate))
                    for rate, most in zip(
                        self.rates, (self.limits.velocity, self.limits.acceleration)
                    )
                ]
            )
            * _INSIDE
        )
        low, high = self._held.bounds(
            self._margins, self.clearance.least + extra, self.held_at.shape[1]
        )
        solver = casadi.nlpsol(
            'suggest',
            'ipopt',
            {'x': x, 'f': objective(x), 'g': casadi.vertcat(linear @ x, held(x))},
            {
                'print_time': False,
                'ipopt': {
                    'print_level': 0,
                    'sb': 'yes',
                    'hessian_approximation': 'limited-memory',
                    'limited_memory_max_history': 20,
                    'max_iter': iterations,
                    'max_cpu_time': self.options.processor,
                    'tol': 1e-3,
                    'acceptable_tol': 1e-2,
                    'acceptable_iter': 5,
                    'acceptable_obj_change_tol': 1e-4,
                    # The quality function, its default, stays far from limits for a hundred steps.
                    'mu_strategy': 'adaptive',
                    'mu_oracle': 'probing',
                },
            },
        )
        result = solver(
            x0=points.ravel(),
            lbx=self.lower.ravel(),
            ubx=self.upper.ravel(),
            lbg=np.concatenate([-bounds, low]),
            ubg=np.concatenate([bounds, high]),
        )
        return result['x'].full().reshape(size, n)


def _sparse(matrix):
    """Return a matrix without rounding beside its zeros."""
    return casadi.sparsify(casadi.DM(np.where(np.abs(matrix) > 1e-12, matrix, 0.0)))


class _Held:
    """Torques over limits, and distances, of the mean robot at samples, and their derivatives."""

    def __init__(self, information, clearance, limits):
        """Trace them, by the smooth columns of a `MotionInformation`."""
        state, body, columns = information.smooth
        standard = information.standard
        torques = casadi.mtimes(columns, casadi.DM(standard)) / casadi.DM(limits.effort)
        torques = casadi.substitute(torques, body, casadi.DM(standard[: body.numel()]))
        gaps = casadi.substitute(clearance.gaps, clearance.symbols, state[0])
        values = casadi.vertcat(torques, gaps)
        slopes = casadi.jacobian(values, casadi.vertcat(*state))
        self.torques, self.gaps = len(limits.effort), gaps.numel()
        self.size = self.torques + self.gaps
        outputs = casadi.cse([casadi.densify(values), casadi.densify(slopes)])
        self._values = casadi.Function('held', state, outputs[:1])
        self._slopes = casadi.Function('held_slopes', state, outputs[1:])
        self._mapped = {}

    def bounds(self, margins, clearance, count):
        """Return (least, most) [N m] of all values."""
        most = _INSIDE * (1 - margins)
        low = np.tile(np.concatenate([-most, np.full(self.gaps, clearance)]), count)
        return low, np.tile(np.concatenate([most, np.full(self.gaps, np.inf)]), count)

    def _run(self, function, motion):
        key = function.name(), motion.shape[1]
        if key not in self._mapped:
            self._mapped[key] = function.map(motion.shape[1])
        return self._mapped[key](*(part.T for part in motion)).full()

    def values(self, motion):
        """Return the values [N, m] of a motion [3, N, n]."""
        return self._run(self._values, motion).T

    def slopes(self, motion):
        """Return their derivatives [N, m, 3, n]."""
        found = self._run(self._slopes, motion).reshape(self.size, motion.shape[1], 3, -1)
        return found.transpose(1, 0, 2, 3)


class _Objective(casadi.Callback):
    """The expected loss of entropy, with its sign changed, as a function of control points."""

    def __init__(self, planner, interest, shape):
        casadi.Callback.__init__(self)
        self._planner, self._interest, self._shape = planner, interest, shape
        self._kept = []
        self._at = None
        self.construct('objective', {'enable_fd': False})

    def get_n_in(self):
        return 1

    def get_n_out(self):
        return 1

    def get_sparsity_in(self, k):
        return casadi.Sparsity.dense(self._shape[0] * self._shape[1], 1)

    def get_sparsity_out(self, k):
        return casadi.Sparsity.dense(1, 1)

    def both(self, x):
        """Return the objective and its gradient [F n], computed once for each point."""
        x = np.asarray(x).ravel()
        if self._at is None or not np.array_equal(self._at[0], x):
            planner = self._planner
            motion = planner.matrices @ x.reshape(self._shape)
            gain, slope = planner.information.gain_and_slope(
                motion, planner.options.seconds, self._interest
            )
            gradient = np.einsum('dtf,dtn->fn', planner.matrices, slope)
            self._at = x, -gain, -gradient.ravel()
        return self._at[1:]

    def eval(self, arguments):
        return [self.both(arguments[0])[0]]

    def has_jacobian(self):
        return True

    def get_jacobian(self, name, inputs, outputs, options):
        sparsity = casadi.Sparsity.dense(1, self._shape[0] * self._shape[1])
        self._kept.append(_Slope(name, self, sparsity, 1, lambda x: self.both(x)[1][None]))
        return self._kept[-1]


class _Sampled(casadi.Callback):
    """The values of `_Held` at all samples, as functions of control points."""

    def __init__(self, held, matrices, n):
        casadi.Callback.__init__(self)
        self._held, self._matrices, self._n = held, matrices, n
        self._kept = []
        _, count, size = matrices.shape
        is_near = np.abs(matrices).sum(0) > 0
        pattern = np.repeat(np.repeat(is_near, n, 1), held.size, 0)
        self._rows, self._columns = np.nonzero(pattern.T)[::-1]
        self._sparsity = casadi.Sparsity.triplet(
            *pattern.shape, self._rows.tolist(), self._columns.tolist()
        )
        self.construct('sampled', {'enable_fd': False})

    def get_n_in(self):
        return 1

    def get_n_out(self):
        return 1

    def get_sparsity_in(self, k):
        return casadi.Sparsity.dense(self._matrices.shape[2] * self._n, 1)

    def get_sparsity_out(self, k):
        return casadi.Sparsity.dense(self._matrices.shape[1] * self._held.size, 1)

    def _motion(self, x):
        return self._matrices @ np.asarray(x).reshape(-1, self._n)

    def eval(self, arguments):
        return [self._held.values(self._motion(arguments[0])).reshape(-1, 1)]

    def has_jacobian(self):
        return True

    def get_jacobian(self, name, inputs, outputs, options):
        def slope(x):
            found = self._held.slopes(self._motion(x))
            full = np.einsum('tmdn,dtf->tmfn', found, self._matrices, optimize=True)
            full = full.reshape(full.shape[0] * full.shape[1], -1)
            return casadi.DM(self._sparsity, full[self._rows, self._columns])

        count = self._matrices.shape[1] * self._held.size
        self._kept.append(_Slope(name, self, self._sparsity, count, slope))
        return self._kept[-1]


class _Slope(casadi.Callback):
    """The derivative of one of the above."""

    def __init__(self, name, of, sparsity, count, function):
        casadi.Callback.__init__(self)
        self._of, self._sparsity, self._count, self._function = of, sparsity, count, function
        self.construct(name, {'enable_fd': False})

    def get_n_in(self):
        return 2

    def get_n_out(self):
        return 1

    def get_sparsity_in(self, k):
        return self._of.get_sparsity_in(0) if k == 0 else casadi.Sparsity(self._count, 1)

    def get_sparsity_out(self, k):
        return self._sparsity

    def eval(self, arguments):
        return [self._function(arguments[0])]
