"""
From samples to rows: torques and poses aligned with the smoothed motion of the joints.

Rows are means of torques, and of the columns of inverse dynamics, over short blocks. Samples that
cannot be used are left out here: outliers, joints that rest or creep, and blocks during which the
motion is unknown. Rows are computed anew where motion capture has changed lengths and offsets.
"""

from dataclasses import replace

import numpy as np

from . import poses as pose_regression
from .delay import late_torques, torques_at
from .elasticity import Samples
from .regression import BLOCK_NS, block_rows, with_columns
from .state import after_change

# A joint rests that is slow for so long, and is not used for a while after it, since friction has
# not converged [s]. Nor is a joint used whose speed is below so many times slow, where sticking
# differs from the smoothed sign of Coulomb friction.
_REST, _AFTER_REST, _CREEP = 0.1, 0.03, 1.5
# Samples of torques that are so many deviations off are outliers.
_OUTLIER_SDS = 8.0
# Positions [rad or m], and torques over their limits, beyond the first bound are no measurements.
# Rows with numbers beyond the second one would spoil the sums for good.
_MOST, _MOST_OF_ROWS = 1e6, 1e9
# Rows are computed anew where other lengths and offsets change torques by this part of the
# standard deviation of a row, or by the second one if old rows have to be dropped then; compared
# at so many rows.
_MATTERS, _MATTERS_MUCH, _COMPARED = 0.05, 0.5, 24


def valid_reading(model, reading):
    """
    Return (`Reading` without invalid numbers, whether there were any).

    NaN is a missing value, and valid; infinite and absurdly large values are not.
    """
    refused = False

    def checked(entries, most):
        nonlocal refused
        found = []
        for stamp_ns, values in entries:
            beyond = np.abs(values) > most
            if beyond.any():
                refused, values = True, np.where(beyond, np.nan, values)
            found.append((stamp_ns, values))
        return tuple(found)

    positions = checked(reading.positions, _MOST)
    # Behind the torques of joints there are those of wrenches, which have no limits of their own.
    torques = checked(reading.torques, _MOST * model.limits.max())
    return replace(reading, positions=positions, torques=torques), refused


def new_rows(model, state, motion, until_ns):
    """
    Return ((`Rows`, motion [3, K, n] at them), `Samples` of elasticity) since the last block.

    None instead of either where there are none. motion: (stamps [N] ns, measured less smoothed
    positions [N, n], smoothed motion [3, N, n]).
    """
    torques, late = _torques_between(model, state, until_ns)
    known, bounds = (state.fit, state.geometry), (state.until_ns, until_ns)
    return rows_between(model, known, torques, motion, bounds, late)


def rows_between(model, known, torques, window, bounds, late):
    """
    Return ((`Rows` of the torques of some time, motion [3, K, n] at them), `Samples`).

    None instead of either where there are none. model: `TorqueModel`; known: (`Fit` by which loads
    are known, geometry); torques: (stamps [M], torques [M, J], known wrenches [M, W]) of that
    time; late [M, J, lags]: later torques; window: (stamps [N], how far positions [N, n] are from
    the motion, motion [3, N, n]); bounds: when that time begins and ends.
    """
    (fit, geometry), (times, away, motion), (from_ns, until_ns) = known, window, bounds
    stamps, torques, wrenches = torques
    if not len(stamps):
        return None, None
    origin = times[0]
    seconds = 1e-9 * (times - origin)
    at = motion_at(1e-9 * (stamps - origin), seconds, motion)
    if wrenches.shape[1]:
        # Known wrenches on the robot do a part of the work of its motors.
        of_wrenches = fit.scales * model.of_wrenches(at[0], wrenches)
        torques, late = torques + of_wrenches, late + of_wrenches[..., None]
    moves = are_moving(seconds, motion[1][:, model.velocities], model.slowest)
    nearest = np.searchsorted(seconds, 1e-9 * (stamps - origin)).clip(0, len(seconds) - 1)
    usable = np.isfinite(torques) & moves[nearest]
    usable[stamps < times[0]] = False
    if not usable.any():
        return None, None
    columns = model.columns(*at, fit.standard, geometry)
    left = torques - fit.scales * (columns @ fit.standard)
    usable &= ~_outliers(left, usable, model.limits)
    numbers = np.searchsorted(stamps, np.arange(from_ns, until_ns, BLOCK_NS))
    blocks = np.unique(np.append(numbers, len(stamps)))
    sizes = np.diff(blocks)[:, None]
    visited = np.stack([np.add.reduceat(part, blocks[:-1], axis=0) / sizes for part in at])
    new = (times >= from_ns) & (times < until_ns)
    samples = Samples(times[new], away[new], motion[1, new], stamps, left, usable, at[0], at[2])
    return (block_rows(columns, torques, usable, blocks, late), visited), samples


def _torques_between(model, state, until_ns):
    """
    Return ((stamps [M], torques [M, J], known wrenches [M, W]), torques [M, J, lags] of later).

    Of the samples since the last block.
    """
    stamps = np.array([ns for ns, _ in state.torques], dtype=np.int64)
    torques = np.array([values for _, values in state.torques])
    torques = torques.reshape(len(stamps), len(model.joints) + model.wrench_size)
    torques, wrenches = np.split(torques, [len(model.joints)], 1)
    new = (stamps >= state.until_ns) & (stamps < until_ns)
    late = late_torques(stamps, torques, stamps[new])
    found = torques[new] if not state.delay.applied else torques_at(late, state.delay.applied)
    return (stamps[new], found, wrenches[new]), late


def motion_at(times, samples, motion):
    """
    Return positions, velocities, accelerations [3, M, n] at times [M] between samples [N].

    motion [3, N, n]: at the samples. Accelerations are interpolated linearly.
    """
    before = np.clip(np.searchsorted(samples, times, side='right') - 1, 0, len(samples) - 2)
    step = samples[before + 1] - samples[before]
    since = (times - samples[before])[:, None]
    q, v, a = (part[before] for part in motion)
    jerk = (motion[2][before + 1] - a) / step[:, None]
    return np.stack(
        [
            q + since * (v + since * (a / 2 + since * jerk / 6)),
            v + since * (a + since * jerk / 2),
            a + since * jerk,
        ]
    )


def are_moving(samples, speeds, slowest):
    """
    Return [N, J] where a joint moves, at samples [N] s with speeds [N, J].

    A joint that reverses is slow for a moment only. One that is slow for longer may stick, and so
    may one that has just begun to move.
    """
    is_slow = np.abs(speeds) < slowest
    since = np.where(is_slow, np.inf, samples[:, None])
    before = np.where(is_slow, -np.inf, samples[:, None])
    # The last instant of motion before each sample, and the first one after it.
    before = np.maximum.accumulate(before, 0)
    after = np.minimum.accumulate(since[::-1], 0)[::-1]
    before = np.maximum(before, samples[0])
    rests = is_slow & (np.minimum(after, samples[-1]) - before > _REST)
    last_rest = np.maximum.accumulate(np.where(rests, samples[:, None], -np.inf), 0)
    return (samples[:, None] - last_rest > _AFTER_REST) & (np.abs(speeds) > _CREEP * slowest)


def _outliers(residuals, usable, limits):
    """Return [M, J] where a torque is far off from the median of those about it."""
    # Samples that are not usable are sorted to the end.
    order, middle = np.where(usable, residuals, np.inf), np.maximum(usable.sum(0) - 1, 0) // 2
    joints = np.arange(len(limits))
    with np.errstate(invalid='ignore'):
        centre = np.sort(order, 0)[middle, joints]
        spread = 1.48 * np.sort(np.abs(order - centre), 0)[middle, joints]
        return np.abs(residuals - centre) > _OUTLIER_SDS * np.maximum(spread, 5e-3 * limits)


def are_valid_rows(rows):
    """Tell whether all numbers of `Rows` are finite and of a size that sums can take."""
    parts = rows.columns, rows.torques, rows.shares
    return all((np.abs(part) < _MOST_OF_ROWS).all() for part in parts)


def with_placed_poses(model, state, until_ns, motion=None):
    """
    Return the `TorqueState` with the poses before a stamp placed on the motion of the joints.

    model: `PoseModel`; motion: as of `new_rows`, None where it is unknown.
    """
    if state.poses is None or not state.poses.waiting:
        return state
    at = None, None
    if motion is not None:
        times, _, smoothed = motion
        seconds = 1e-9 * (times - times[0])
        at = (
            lambda stamps: motion_at(1e-9 * (stamps - times[0]), seconds, smoothed)[0],
            (times[0], times[-1]),
        )
    return replace(state, poses=pose_regression.placed(model, state.poses, until_ns, *at))


def with_kinematics(problem, state, now_ns, report):
    """Return the `TorqueState` with kinematics by poses, if due, and rows that agree with it."""
    before = state.poses.fit
    poses = pose_regression.renewed(problem.poses, state.poses, now_ns)
    state = replace(state, poses=poses)
    report.events += pose_regression.events_of(problem.poses, before, poses)
    if poses.fit is not before and problem.poses.geometry:
        return _with_geometry(problem, state)
    return state


def _with_geometry(problem, state):
    """
    Return the `TorqueState` with rows that agree with the lengths and offsets by poses.

    The newest rows are computed anew if torques change notably. If they change much, older rows
    are dropped, and so is the part of the prior that came from them.
    """
    model, fit = problem.torque, state.fit
    mean = fit.mean.copy()
    mean[problem.poses.places] = state.poses.fit.mean
    geometry = model.geometry(mean)
    if not state.recent:
        return replace(state, geometry=geometry)
    visited = np.concatenate(state.visited, 1)
    visited = visited[:, :: -(-visited.shape[1] // _COMPARED)]
    columns = model.columns(*visited, fit.standard, geometry)
    moved = (columns - model.columns(*visited, fit.standard, state.geometry)) @ fit.standard
    matters = (np.sqrt((moved**2).mean(0)) / np.sqrt(fit.noise.variance)).max()
    slope = model.by_geometry(*visited, fit.standard, geometry)
    slope += columns @ model.standard_by_geometry(fit.mean)
    state = replace(state, by_geometry=_derivative_by_geometry(problem, state, columns, slope))
    number = sum(rows.shares.sum(0) for _, rows in state.recent)
    are_all_recent = (number >= state.sums.number - 1.0).all()
    if matters < (_MATTERS if are_all_recent else _MATTERS_MUCH):
        return state
    if matters >= _MATTERS_MUCH and state.earlier is not None:
        branches = tuple(replace(b, prior=_prior_before_rows(problem, b)) for b in state.branches)
        state = replace(state, branches=branches)
    recent = []
    for (end_ns, rows), motion in zip(state.recent, state.visited):
        columns = model.columns(*motion, fit.standard, geometry)
        recent.append((end_ns, with_columns(rows, columns)))
    sums = state.sums.of(rows for _, rows in recent)
    onset = state.onset
    if onset is not None:
        columns = model.columns(*onset.visited, fit.standard, geometry)
        onset = replace(onset, rows=with_columns(onset.rows, columns))
    return replace(
        state, geometry=geometry, recent=tuple(recent), sums=sums, onset=onset, snapshots=()
    )


def _prior_before_rows(problem, branch):
    """Return the prior of a `Branch` before any rows, of before the last change or since."""
    prior, earlier = problem.prior, branch.before
    if earlier is None or earlier.left_by is None:
        return prior
    return after_change(prior, earlier.left_by)


def _derivative_by_geometry(problem, state, columns, slope):
    """
    Return the derivative [p, g] of coordinates by geometry at unchanged torques.

    columns [K, J, P], slope [K, J, g]: derivatives of torques by standard parameters and geometry,
    at some of the rows.
    """
    fit, prior = state.fit, problem.prior.root.copy()
    prior[problem.poses.places] = 0.0
    weights = np.sqrt(fit.noise.weights * np.maximum(state.sums.number, 1.0) / len(columns))
    scaled = (weights * fit.scales)[:, None]
    rows = scaled * (columns @ (problem.torque.standard(fit.mean)[1] @ prior))
    rows, slope = (each.reshape(-1, each.shape[-1]) for each in (rows, scaled * slope))
    information = rows.T @ rows
    information[np.diag_indices_from(information)] += 1.0
    return -prior @ np.linalg.solve(information, rows.T @ slope)
