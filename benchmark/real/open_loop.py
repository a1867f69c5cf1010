"""
Motion of held-out data, simulated open loop from measured states and with measured torques.

By Pinocchio alone, as `torque` is. Where an arm is stiffly geared little of a torque's error shows
in its motion; with sensors behind light gears all of it does, and over twice the time four times.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from peers.least_squares import BODY, column_names, fitted, PER_JOINT, smooth, STRIBECK_RANGE
import pinocchio as pin

from sim2real_estimator.estimation.torque.rows import BLOCK_NS
from sim2real_estimator.observability.null_space import draw_samples, mending

from .ours import least_squares_of, named_at, ours
from .prediction import motion_of
from .torque import arm_of, bodies_of_named, Motion

# When errors are looked at after a simulation begins [s]; its step [s]: half of it changes the
# errors of what is believed of the Panda by less than a twentieth.
LEADS, _STEP = (0.1, 0.25, 0.5), 1e-3
# Simulations begin so far apart at the least [s], so many of a recording at the most; draws of
# the posterior, and what their intervals are to hold.
_APART, _MOST, _DRAWS, _INSIDE = 0.1, 12, 50, 0.9
_COUPLED = ('coupled_armature', 'coupled_damping', 'coupled_friction')


def _exact(t):
    """Return what exact torques are off by at a time."""
    return 0.0


@dataclass(frozen=True)
class Plant:
    """
    A robot that can be simulated.

    model: of Pinocchio, with its bodies; joints: word -> values [n] of what `torque_of_named`
    explains, gain and friction_velocity among them; couple: the two places of joints that a motor
    turns together, or none; off: function of a time since the beginning [s] -> what measured
    torques are off by [N m, n].
    """

    model: pin.Model
    joints: dict
    couple: tuple = ()
    off: object = _exact

    @cached_property
    def data(self):
        """What Pinocchio works in."""
        return self.model.createData()

    @cached_property
    def below(self):
        """Tell which entries of a matrix are below its diagonal [n, n]."""
        return np.tri(self.model.nv, k=-1, dtype=bool)

    @cached_property
    def diagonal(self):
        """Return the indices of the diagonal of a matrix."""
        return np.diag_indices(self.model.nv)

    def accelerated(self, q, v, u, step, given):
        """
        Return the speeds [n] a step [s] later at positions q [n] and speeds v [n].

        u [n]: measured torques; given [n]: accelerations where they are prescribed, else NaN. Dry
        friction goes with the speed in the end, in the ratio that it has in the beginning: so it
        can stop a joint and never turns it around, however long the step.
        """
        model, data, of = self.model, self.data, self.joints
        at = pin.integrate(model, pin.neutral(model), q)
        # Of the mass matrix Pinocchio fills the upper half.
        mass, diagonal = pin.crba(model, data, at, pin.Convention.WORLD).copy(), self.diagonal
        np.copyto(mass, mass.T, where=self.below)
        mass[diagonal] += of['armature']
        pull = of['gain'] * u - pin.nle(model, data, at, v) - of['torque_offset']
        weight = pin.computeGeneralizedGravity(model, data, at)
        width = of['friction_velocity']
        fading = np.exp(-((v / (STRIBECK_RANGE * width)) ** 2))
        dry = of['friction'] + of['load_friction'] * np.abs(weight) + of['stribeck'] * fading
        resisting = np.zeros_like(mass)
        resisting[diagonal] = of['damping'] + dry * _per_speed(v, width)
        if self.couple:
            pair, k = np.ix_(self.couple, self.couple), self.couple[1]
            inertia, damping, friction = (of[word][k] for word in _COUPLED)
            mass[pair] += inertia
            resisting[pair] += damping + friction * _per_speed(
                v[list(self.couple)].sum(), width[k]
            )
        system, right = mass + step * resisting, step * (pull - resisting @ v)
        rest = np.isnan(given)
        if rest.all():
            return v + np.linalg.solve(system, right)
        change = np.where(rest, 0.0, given * step)
        right -= system @ change
        change[rest] = np.linalg.solve(system[np.ix_(rest, rest)], right[rest])
        return v + change


def _per_speed(v, width):
    """Return tanh(v / width) / v."""
    ratio = np.where(np.abs(v) < 1e-6 * width, 1e-6, v / width)
    return np.tanh(ratio) / (ratio * width)


def open_loop(trial):
    """
    Return the errors of held-out motion of a `Trial`, and how often draws hold it.

    errors: way -> lead -> [rad], root mean square over joints, of the median start; inside:
    lead -> share of measured positions within 90 % of draws; joints: the same of each joint;
    starts: how many simulations.
    """
    robot, known = trial.training.robot, trial.training.known
    learnt = motion_of(trial.training).within(trial.window)
    run = ours(trial.training.between(*trial.window))
    ways = {'nominal': _named_plant(robot, {}), **_fitted_plants(robot, known, learnt, run)}
    ways['ours'] = _named_plant(robot, named_at(run.problem, _mean(run)))
    draws = _draws(run, known)
    away = {way: [] for way in ways}
    ranks = []
    for recording, window in trial.tests:
        whole = Motion(
            *smooth(recording.t, recording.q, np.nan_to_num(recording.tau), robot.cutoff)
        )
        held_out = whole.within(window)
        last = held_out.t[-1] - LEADS[-1] - 2 * _STEP
        count = min(_MOST, int((last - held_out.t[0]) / _APART) + 1)
        for begin in np.linspace(held_out.t[0], last, max(count, 1)):
            true = _at(held_out, begin + np.array(LEADS))[0][:, known]
            for way, plant in ways.items():
                away[way].append(_simulated(plant, recording, held_out, begin)[:, known] - true)
            found = [_simulated(each, recording, held_out, begin)[:, known] for each in draws]
            ranks.append((np.array(found) < true).mean(0))
    inside = np.abs(np.array(ranks) - 0.5) <= _INSIDE / 2
    # What has flown apart is off by more than any number.
    with np.errstate(over='ignore'):
        sizes = {way: np.sqrt((np.array(x) ** 2).mean(2)) for way, x in away.items()}
    sizes = {way: np.nan_to_num(size, nan=np.inf) for way, size in sizes.items()}
    return {
        'errors': {way: dict(zip(LEADS, np.median(x, 0).tolist())) for way, x in sizes.items()},
        'inside': dict(zip(LEADS, inside.mean((0, 2)).tolist())),
        'joints': inside.mean((0, 1)).tolist(),
        'starts': len(ranks),
    }


def _simulated(plant, recording, motion, begin):
    """Return positions [leads, n] of a `Plant` after `LEADS`, from the state at a time [s]."""
    (q,), (v,), _ = _at(motion, np.array([begin]))
    steps = round(LEADS[-1] / _STEP)
    times = begin + _STEP * (np.arange(steps) + 0.5)
    u = np.stack([np.interp(times, recording.t, column) for column in recording.tau.T], 1)
    given = _at(motion, times)[2]
    given[:, recording.known] = np.nan
    u, found = np.nan_to_num(u), []
    marks = {round(lead / _STEP) for lead in LEADS}
    for k in range(steps):
        off = plant.off(_STEP * (k + 0.5))
        with np.errstate(all='ignore'):
            faster = plant.accelerated(q + _STEP / 2 * v, v, u[k] + off, _STEP, given[k])
        q, v = q + _STEP / 2 * (v + faster), faster
        if k + 1 in marks:
            found.append(q)
    return np.array(found)


def _at(motion, times):
    """Return q, v and a [N, n] of a `Motion` at some times [s]."""
    return tuple(
        np.stack([np.interp(times, motion.t, column) for column in x.T], 1)
        for x in motion.kinematics
    )


def _mean(run):
    """Return the mean of what is believed, or the likeliest robot that can be built beside it."""
    mean, mend = run.moments[0], mending(run.problem, run.pipeline.mixture)
    return mend(mean[:, None])[:, 0] if mend else mean


def _draws(run, known):
    """
    Return `Plant`s of draws of the posterior.

    What is left of a torque hangs together, so that rows tell so many times less as is learned
    (inflation): as a chain whose correlation falls by the same factor from row to row does.
    """
    problem, generator = run.problem, np.random.default_rng(0)
    drawn = draw_samples(problem, run.pipeline.mixture, _DRAWS, seed=0)
    noise, robot = run.pipeline.state.fit.noise, run.recording.robot
    row, found = 1e-9 * BLOCK_NS, []
    kept = (noise.inflation - 1) / (noise.inflation + 1)
    count = int(LEADS[-1] / row) + 2
    given = named_at(problem, run.moments[0])
    for column in drawn.T:
        chain = [generator.standard_normal(len(kept))]
        for _ in range(count):
            fresh = generator.standard_normal(len(kept))
            chain.append(kept * chain[-1] + np.sqrt(1 - kept**2) * fresh)
        off = np.zeros((len(chain), len(robot.joints)))
        off[:, known] = np.sqrt(noise.variance) * np.array(chain)
        named = given | dict(zip(problem.parametrization.names, column.tolist()))
        found.append(_named_plant(robot, named, lambda t, off=off: off[int(t / row)]))
    return found


def _named_plant(robot, values, off=_exact):
    """Return the `Plant` of parameters, name -> value, as `torque_of_named` reads them."""
    model = arm_of(robot.urdf, robot.joints)
    bodies = bodies_of_named(model, robot.urdf, values)
    usual = {'gain': 1.0, 'friction_velocity': robot.width}
    joints = {
        word: np.array([values.get(f'{j}.{word}', usual.get(word, 0.0)) for j in robot.joints])
        for word in (*PER_JOINT, *_COUPLED, *usual)
    }
    return _plant(robot, model, bodies, joints, off)


def _plant(robot, model, bodies, joints, off=_exact):
    for number, ten in enumerate(bodies, 1):
        model.inertias[number] = pin.Inertia.FromDynamicParameters(ten)
    couple = tuple(robot.joints.index(joint) for joint in robot.couple)
    return Plant(model, joints, couple, off)


def _fitted_plants(robot, known, learnt, run):
    """Return way -> `Plant` of least squares: plain, and with the columns and prior of ours."""
    terms, widths, prior = least_squares_of(run)
    plain = (*PER_JOINT[:3], 'coupled') if robot.couple else PER_JOINT[:3]
    ways = {
        'plain': (plain, np.full(len(robot.joints), robot.width), None),
        'prior': (terms, widths, prior),
    }
    plants = {}
    for way, (columns, width, beforehand) in ways.items():
        model = arm_of(robot.urdf, robot.joints)
        motion = learnt.kinematics
        found = fitted(model, motion, learnt.tau, columns, width, robot.couple, beforehand, known)
        named = dict(zip(column_names(robot.joints, columns, robot.couple), found))
        joints = {
            word: np.array([named.get(f'{joint}.{word}', 0.0) for joint in robot.joints])
            for word in (*PER_JOINT, *_COUPLED)
        }
        joints |= {'gain': np.ones(len(robot.joints)), 'friction_velocity': width}
        bodies = found[: len(BODY) * len(robot.joints)].reshape(-1, len(BODY))
        plants[way] = _plant(robot, model, bodies, joints)
    return plants
