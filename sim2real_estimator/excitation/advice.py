"""
Advice on the next motion: what to move, and what that would change of what is known.

The stages of `advise`: the posterior as a normal distribution, with the noise of torques that was
learned; which parameters are weak and which of these motion can tell; the motion that tells most
about them (`planning.py`); what would be known after it, in verdicts; and how long motions at
random would take for as much.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from ..errors import ConfigError
from ..estimation.factors import root_of
from ..estimation.mixture import Mixture
from ..estimation.torque.regression import TorqueNoise
from ..observability.findings import find
from ..observability.null_space import tangents_of
from ..observability.verdicts import Verdict
from .clearance import Clearance
from .information import Interest, MotionInformation
from .limits import MotionLimits, SafetyConfig, Shares
from .planning import DRAWS, Plan, Planner, PlanOptions

# Motion anywhere within the limits, of so many seconds, is all that could be moved; what is left
# of a standard deviation by then, from which on no motion tells a parameter by itself.
_LONG, _UNTOLD = 1000.0, 0.7
# States anywhere within the limits.
_STATES = 300
# Verdicts of what need not become better known.
_KNOWN = Verdict.IDENTIFIED.value
# So many times the duration is compared with motions at random.
_MOST_TIMES = 100.0
# A direction counts in which a wish varies by this part of its deviation.
_NOTABLE = 0.05


@dataclass(frozen=True)
class Change:
    """What a motion would change: name, unit, and the `ParameterFinding`s before and after."""

    name: str
    unit: str
    before: object
    after: object

    @property
    def is_same(self):
        """Whether the verdict stays."""
        return self.before.verdict == self.after.verdict

    @property
    def ratio(self):
        """The standard deviation after the motion over the one before."""
        return self.after.sd / max(self.before.sd, 1e-300)

    @property
    def sentence(self):
        """What would change, in words."""
        verdict = f'{self.before.verdict} -> {self.after.verdict}'
        if self.is_same:
            verdict = f'stays {self.before.verdict}'
        unit = '' if self.unit in ('', '1') else f' {self.unit}'
        return f'{self.name}: {verdict}, sd {self.before.sd:.2g} -> {self.after.sd:.2g}{unit}'


@dataclass(frozen=True)
class Advice:
    """
    A suggested motion and what it would tell.

    plan: `Plan`; limits: `MotionLimits`; wishes: names it is for; untold: names that were wished
    for and that no motion tells by itself; changes: a `Change` for each of the wishes; times: how
    many times as long motions at random take for as much, None if more than a hundred times;
    noise: of torques; is_noise_learned: whether the posterior says how noisy torques are; planner:
    that has made it; covariance [p, p]: of the coordinates that is expected after it.
    """

    plan: Plan
    limits: MotionLimits
    wishes: tuple
    untold: tuple
    changes: tuple
    times: float | None
    noise: TorqueNoise
    is_noise_learned: bool
    planner: Planner
    covariance: np.ndarray

    @property
    def information(self):
        """The `MotionInformation` about the posterior."""
        return self.planner.information

    def efforts(self, times):
        """Return mean, 2.5 and 97.5 % quantiles [3, N, J] of torques at times [N]."""
        motion = self.plan.motion(times)
        mean = self.information.torques(motion, self.information.standard[:, None])[..., 0]
        draws = self.information.torques(motion, self.plan.draws)
        return np.stack([mean, *np.quantile(draws, (0.025, 0.975), axis=-1)])

    def lines(self, most=None):
        """Yield the advice in sentences; most: parameters that are listed, None: all."""
        plan, seconds = self.plan, self.plan.motion.seconds
        gains = [gain for _, gain in plan.tones]
        yield (
            f'A motion of {seconds:g} s that is expected to tell {plan.gain:.1f} nats about what '
            f'is weak; the median of {len(gains)} motions at random within the same limits is '
            f'{np.median(gains):.1f}.'
        )
        # Verdicts that change first, then what becomes known best.
        ranked = sorted(self.changes, key=lambda change: (change.is_same, change.ratio))
        for change in ranked[:most]:
            yield change.sentence
        if most is not None and len(ranked) > most:
            yield f'and {len(ranked) - most} more: --verbose'
        if self.untold:
            yield f'No motion tells by itself: {", ".join(self.untold)}.'
        if self.times is None:
            yield f'Motions at random tell as much after more than {_MOST_TIMES * seconds:g} s.'
        elif self.times > 1:
            saved = (self.times - 1) * seconds
            yield (
                f'Motions at random tell as much after {self.times * seconds:.0f} s: it saves '
                f'{saved:.0f} s.'
            )
        yield (
            f'Limits of torques hold for {plan.held:.0%} of {plan.draws.shape[1]} robots that are '
            'still possible; those of positions, velocities and accelerations at all times.'
        )
        if plan.clearance is not None:
            yield f'The least distance of spheres is {plan.clearance:.3f} m.'
        if plan.clearance is None:
            yield (
                'CAUTION: distances to itself, to the floor and to whatever stands about are not '
                'checked: give spheres and a floor by --limits, and look at it in a viewer.'
            )
        if not self.is_noise_learned:
            yield (
                'The noise of torques is the usual one, since the posterior has none that was '
                'learned: deviations after the motion may be off by a factor.'
            )
        made = plan.motion.made
        places = ', '.join(f'{n} {q:.3f}' for n, q in zip(made.joints, made.points[0]))
        yield f'It begins and ends at rest; drive slowly there first: {places}.'


def advise(problem, posterior, safety=None, wishes=(), shares=None, options=None, **where):
    """
    Return the `Advice` on the next motion of a robot.

    problem: `RobotProblem`; posterior: `Posterior`; safety: `SafetyConfig`; wishes: patterns of
    parameter names, none: all that is not identified and that motion can tell; shares: `Shares` of
    limits; options: `PlanOptions`; where: `around` and `swing` of `MotionLimits.of`.
    """
    _require_offered(problem, posterior)
    safety, options = safety or SafetyConfig(), options or PlanOptions()
    model, generator = problem.torque, np.random.default_rng(abs(options.seed))
    limits = MotionLimits.of(problem, safety, shares or Shares(), **where)

    # What is known, and how noisy torques are.
    mean, covariance = posterior.mixture.moments()
    noise, is_learned = _noise(posterior, model)
    states = _anywhere(limits, generator)
    information = MotionInformation(model, mean, root_of(covariance), noise, states)

    # What is to become known.
    before = find(problem, _normal(mean, covariance), 0)
    names, untold, directions = _chosen(problem, posterior, information, before, wishes)
    interest = Interest.of(information.directions(directions), _NOTABLE)

    # The motion, and what it would tell.
    draws = information.drawn_standard(DRAWS, generator)
    clearance = Clearance(problem, safety)
    clearance.require_possible(states[0])
    planner = Planner(information, limits, clearance, draws, options)
    plan = planner.plan(interest)
    rows = information.rows(plan.motion(_sampled(plan.motion)), options.seconds)
    left = information.covariance_after(rows)
    after = find(problem, _normal(mean, left), 0)
    changes = _changes(problem, names, before, after)
    times = _times_at_random(information, plan, interest)
    return Advice(
        plan,
        limits,
        names,
        untold,
        changes,
        times,
        noise,
        is_learned,
        planner,
        left,
    )


def _require_offered(problem, posterior):
    """Raise a ConfigError where no motion can be suggested."""
    if problem.torque is None:
        name = posterior.identity['estimator']['name']
        raise ConfigError(
            f"suggest: the estimator is '{name}', and a motion is suggested only where torques "
            'are measured (joints.JOINT.effort: measured), for there it is known before it is '
            'made what a motion tells; without them move all joints, fast and far from rest'
        )
    model = problem.model
    moving = [m for m in model.moving_joints if m.is_independent]
    if model.position_size != len(moving) or model.velocity_size != len(moving):
        raise ConfigError('suggest: some joint has several degrees of freedom; fix it')
    if problem.torque.passive:
        names = ', '.join(problem.torque.passive)
        raise ConfigError(f'suggest: nothing drives {names}, and how it moves is not known before')


def _noise(posterior, model):
    """Return (`TorqueNoise` of a posterior, whether it was learned)."""
    state = (posterior.run or {}).get('state')
    if state is None or not state.renewals:
        return TorqueNoise.prior(model.limits), False
    return state.fit.noise, True


def _anywhere(limits, generator):
    """Return states [3, M, n] anywhere within limits."""
    shape = _STATES, len(limits.joints)
    return np.stack(
        [
            generator.uniform(limits.lower, limits.upper, shape),
            generator.uniform(-1.0, 1.0, shape) * limits.is_moved * limits.velocity,
            generator.uniform(-1.0, 1.0, shape) * limits.is_moved * limits.acceleration,
        ]
    )


def _normal(mean, covariance):
    """Return a `Mixture` of one component."""
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], root_of(covariance)[None])


def _chosen(problem, posterior, information, before, wishes):
    """
    Return (names to learn about, names wished for that no motion tells, directions [m, p]).

    Directions are derivatives of the parameters by the coordinates, over posterior deviations.
    """
    parametrization = problem.parametrization
    names, inner = parametrization.names, parametrization.inner
    tangents = tangents_of(
        parametrization, _normal(information.mean, information.root @ information.root.T)
    )
    slopes = inner.separation(tangents.points[:, :1])[0] @ tangents.slopes[0]
    deviations = np.linalg.norm(slopes @ information.root, axis=1)
    slopes = slopes / np.maximum(deviations, 1e-300)[:, None]
    told = information.directions(slopes)
    rest = 1 - (told**2).sum(1)
    longest = np.eye(told.shape[1]) + _LONG * information.anywhere
    rest = rest + (told * np.linalg.solve(longest, told.T).T).sum(1)
    can_be_told = rest < _UNTOLD**2
    verdicts = {each.name: each.verdict for each in before.parameters}
    if not wishes:
        chosen = [verdicts.get(name) != _KNOWN and can for name, can in zip(names, can_be_told)]
        if not any(chosen):
            raise ConfigError(
                'suggest: all that motion can tell is identified; name parameters that should '
                'become better known by --for'
            )
    else:
        for wish in wishes:
            if not any(fnmatchcase(name, wish) for name in names):
                raise ConfigError(
                    f'--for {wish}: no estimated parameter has such a name; '
                    f'there are {_some(names)}'
                )
        chosen = [any(fnmatchcase(name, wish) for wish in wishes) for name in names]
    chosen = np.array(chosen)
    untold = tuple(
        n for n, is_wished, can in zip(names, chosen, can_be_told) if is_wished and not can
    )
    kept = chosen & can_be_told
    if not kept.any():
        raise ConfigError(
            f'--for: no motion within the limits tells {_some(untold)} by itself, only sums with '
            'other parameters that torques depend on; see the null directions that `show` lists, '
            'fix what is known, or name other parameters'
        )
    return tuple(n for n, is_kept in zip(names, kept) if is_kept), untold, slopes[kept]


def _some(names):
    names = list(names)
    return ', '.join(names[:6]) + (f' and {len(names) - 6} more' if len(names) > 6 else '')


def _sampled(motion):
    return motion.times(20)


def _changes(problem, names, before, after):
    """Return the `Change`s of parameters by name."""
    pairs = {each.name: [each] for each in before.parameters}
    for each in after.parameters:
        pairs[each.name].append(each)
    return tuple(Change(n, problem.parameters.unit(n), *pairs[n]) for n in names if n in pairs)


def _times_at_random(information, plan, interest):
    """Return how many times as long motions at random take for as much, None: very long."""
    seconds, mean = plan.motion.seconds, 0.0
    for motion, _ in plan.tones:
        rows = information.rows(motion(_sampled(motion)), seconds)
        mean = mean + rows.T @ rows / len(plan.tones)
    low, high = 0.0, np.log(_MOST_TIMES)
    if information.gain_of(_MOST_TIMES * mean, interest) < plan.gain:
        return None
    for _ in range(20):
        middle = 0.5 * (low + high)
        is_enough = information.gain_of(np.exp(middle) * mean, interest) >= plan.gain
        low, high = (low, middle) if is_enough else (middle, high)
    return float(np.exp(high))
