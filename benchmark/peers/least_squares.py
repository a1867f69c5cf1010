"""
Weighted least squares on inverse dynamics: what a user would do without an estimator.

Positions and torques pass the same zero-phase filter, central differences give velocities and
accelerations, and torques are linear in the parameters (Atkeson, An and Hollerbach, 1986).
Nothing of our package is used.
"""

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

# A column of one value for every joint, by the name of its parameter.
PER_JOINT = ('armature', 'damping', 'friction', 'torque_offset', 'load_friction', 'stribeck')
COUPLED = ('coupled_armature', 'coupled_damping', 'coupled_friction')
# Pinocchio's order of the ten numbers of a body: mass, first moments, inertia about the frame.
BODY = ('mass', 'mx', 'my', 'mz', 'xx', 'xy', 'yy', 'xz', 'yz', 'zz')
# The Stribeck effect fades within so many friction velocities.
STRIBECK_RANGE = 5.0
# At either end the filter is not settled [s]; singular values below this part of the largest
# are of directions that the motion does not show.
_MARGIN, _RANK, _ITERATIONS = 0.5, 1e-7, 3


def smooth(t, q, tau, cutoff, order=4):
    """
    Return (t, q, v, a, tau) on an even clock, zero-phase filtered at cutoff [Hz].

    t [N] s; q, tau [N, n]; half a second is lost at either end.
    """
    rate = 1 / np.median(np.diff(t))
    even = np.arange(t[0], t[-1], 1 / rate)
    b, a = butter(order, 2 * cutoff / rate)

    def filtered(values):
        on_clock = [np.interp(even, t, column) for column in values.T]
        return filtfilt(b, a, np.stack(on_clock, 1), axis=0)

    q, tau = filtered(q), filtered(tau)
    v = np.gradient(q, 1 / rate, axis=0)
    kept = slice(int(_MARGIN * rate), -int(_MARGIN * rate))
    return tuple(x[kept] for x in (even, q, v, np.gradient(v, 1 / rate, axis=0), tau))


def column_names(joints, terms, couple=()):
    """Return the names of columns: ten of the body of every joint, then the terms."""
    names = [f'{joint}.{word}' for joint in joints for word in BODY]
    names += [f'{joint}.{word}' for word in PER_JOINT if word in terms for joint in joints]
    return names + [f'{couple[1]}.{word}' for word in COUPLED if couple and 'coupled' in terms]


def design(model, motion, terms, widths, couple=(), bodies=None):
    """
    Return the design matrix [N, n, p] of torques, columns as in `column_names`.

    model: of Pinocchio; motion: (q, v, a) [N, n]; widths [n]: friction velocities [rad/s];
    couple: names of two joints; bodies [10 n]: whose weight load-dependent friction goes with.
    """
    q, v, a = motion
    data, (count, n) = model.createData(), v.shape
    at = [pin.integrate(model, pin.neutral(model), each) for each in q]
    rows = [pin.computeJointTorqueRegressor(model, data, x, y, z) for x, y, z in zip(at, v, a)]
    sign = np.tanh(v / widths)
    of_joint = {'armature': a, 'damping': v, 'friction': sign, 'torque_offset': np.ones_like(v)}
    if 'load_friction' in terms:
        still = np.zeros(n)
        weight = [pin.computeJointTorqueRegressor(model, data, x, still, still) for x in at]
        of_joint['load_friction'] = np.abs(np.array(weight) @ bodies) * sign
    of_joint['stribeck'] = sign * np.exp(-((v / (STRIBECK_RANGE * widths)) ** 2))
    columns = [np.array(rows)]
    columns += [of_joint[word][:, :, None] * np.eye(n) for word in PER_JOINT if word in terms]
    if couple and 'coupled' in terms:
        pair = [list(model.names[1:]).index(joint) for joint in couple]
        speed = v[:, pair].sum(1)
        on_both = np.zeros((count, n, 3))
        terms_of_pair = (a[:, pair].sum(1), speed, np.tanh(speed / widths[pair[1]]))
        on_both[:, pair] = np.stack(terms_of_pair, 1)[:, None]
        columns.append(on_both)
    return np.concatenate(columns, 2)


def fit(matrix, tau, prior=None):
    """
    Return the parameters [p] that fit torques tau [N, n] best, joints weighted by their residuals.

    prior: (mean [p], covariance [p, p], may be singular) of a normal distribution; None: none,
    and what the motion does not show is left at zero.
    """
    scale = tau.std(0)
    for _ in range(_ITERATIONS):
        weighted = (matrix / scale[:, None]).reshape(-1, matrix.shape[2])
        wanted = (tau / scale).ravel()
        if prior is None:
            sizes = np.linalg.norm(weighted, axis=0)
            sizes = np.where(sizes > 1e-9, sizes, np.inf)
            found = np.linalg.lstsq(weighted / sizes, wanted, rcond=_RANK)[0] / sizes
        else:
            # In units of the prior, so that parameters without a variance stay where they are.
            mean, covariance = prior
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(values.clip(0))
            slopes = weighted @ root
            normal = slopes.T @ slopes + np.eye(len(mean))
            found = mean + root @ np.linalg.solve(normal, slopes.T @ (wanted - weighted @ mean))
        scale = (tau - matrix @ found).std(0)
    return found


def fitted(model, motion, tau, terms, widths, couple=(), prior=None, known=slice(None)):
    """
    Return what `fit` finds; with load-dependent friction in two passes.

    known: places of the joints whose torque tau [N, n] is known.
    """
    bodies = np.concatenate([body.toDynamicParameters() for body in list(model.inertias)[1:]])
    for _ in range(2 if 'load_friction' in terms else 1):
        matrix = design(model, motion, terms, widths, couple, bodies)
        found = fit(matrix[:, known], tau[:, known], prior)
        bodies = found[: len(bodies)]
    return found
