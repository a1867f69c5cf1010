"""
What the torques of a motion tell: expected information, and its exact derivative by the motion.

Rows of the estimator of measured torques are linear in its coordinates x = mean + S z, with S the
root of the posterior covariance. A motion whose rows are R z, in standard deviations of their
noise, leaves the covariance S (I + R'R)^-1 S'. Rows have the noise, the inflation for their
correlation and the gains that the estimator has learned (`estimation/torque/regression.py`), so
friction, offsets and gains compete with bodies here as they do there. The columns are our own
regressor on CasADi symbols; CasADi differentiates them.
"""

from dataclasses import dataclass

import casadi
import numpy as np

from ..estimation.torque.regression import BLOCK_NS

# Friction changes its sign over this speed where motions are optimized [rad/s or m/s]: over that
# of the estimator, .02, the objective would be a staircase.
_SMOOTH = 0.1
# Rows of a joint that is slower than so many times the speed at which it may stick are left out
# by the estimator; here they count less and less.
_CREEP = 1.5
# Directions of which all motions together tell less than this part of the best one are left out.
_NOTHING = 1e-10


@dataclass(frozen=True)
class Interest:
    """
    Directions of the coordinates that are to become known.

    along [r, k], across [r, r - k]: orthonormal, in the coordinates that motion tells.
    """

    along: np.ndarray
    across: np.ndarray

    @staticmethod
    def of(directions, least):
        """Return the `Interest` in what directions [m, r] span, of singular values above least."""
        left, sizes, _ = np.linalg.svd(directions.T, full_matrices=True)
        rank = max(int((sizes > least).sum()), 1)
        return Interest(left[:, :rank], left[:, rank:])


class MotionInformation:
    """
    The information of motions about a posterior.

    mean [p], root [p, p]: of the posterior; standard [P]: parameters at the mean; root_told
    [p, r]: `root` in the r directions of which any motion tells; joints [J]: names of the rows;
    states [3, M, n]: anywhere within the limits; anywhere [r, r]: information of a second of
    these; smooth: symbols and columns, as of `TorqueModel.symbolic_columns`.
    """

    def __init__(self, model, mean, root, noise, states):
        """
        Trace the columns.

        model: `TorqueModel`; noise: its `TorqueNoise`; states [3, M, n]: many, anywhere
        within the limits, by which is found what motion tells at all.
        """
        self.mean, self.root, self.joints, self.states = mean, root, model.joints, states
        self._model = model
        self.standard, slope = model.standard(mean)
        scales, by_scales = model.scales(mean)
        weights = np.sqrt(noise.weights)
        # Rows of joint j are its columns times this [J, P, p].
        by_gain = self.standard[:, None] * by_scales[:, None]
        self._by_columns = (
            weights[:, None, None] * (scales[:, None, None] * slope + by_gain) @ root
        )
        self._columns, self._pull = self._traced(model)
        self._mapped = {}
        self._told = np.eye(len(root))
        rows = self.rows(states, 1.0)
        strength, directions = np.linalg.eigh(rows.T @ rows)
        self._told = directions[:, strength > _NOTHING * strength[-1]]
        self.anywhere = self._told.T @ rows.T @ rows @ self._told
        self._by_columns = self._by_columns @ self._told
        self.root_told = root @ self._told

    def _traced(self, model):
        """
        Return functions of q, v, a and bodies: the columns, and the gradient of a sum of them.

        The latter takes the weights [J, P] of the sum, too.
        """
        state, body, columns = model.symbolic_columns(_SMOOTH)
        # Friction near rest falls off within a few of the estimator's own speeds.
        own, *others = model.symbolic_columns()
        exact = casadi.substitute(
            others[1], casadi.vertcat(*own, others[0]), casadi.vertcat(*state, body)
        )
        names = zip(model.names, casadi.horzsplit(columns), casadi.horzsplit(exact))
        chosen = (near if name.endswith('.stribeck') else smooth for name, smooth, near in names)
        self.smooth = state, body, columns = state, body, casadi.horzcat(*chosen)
        speeds = [state[1][int(k)] for k in model.velocities]
        shares = [
            speed / casadi.sqrt(speed**2 + (_CREEP * slow) ** 2)
            for speed, slow in zip(speeds, model.slowest)
        ]
        columns = casadi.diag(casadi.vertcat(*shares) ** 2) @ columns
        weights = casadi.SX.sym('weights', *columns.shape)
        gradient = casadi.gradient(casadi.dot(columns, weights), casadi.vertcat(*state))
        inputs = [*state, body]
        self._body = self.standard[: body.numel()]
        return (
            casadi.Function('columns', inputs, casadi.cse([casadi.densify(columns)])),
            casadi.Function('pull', [*inputs, weights], casadi.cse([casadi.densify(gradient)])),
        )

    def _run(self, function, motion, *others):
        """Return what a function gives at all states of a motion [3, N, n], side by side."""
        count = motion.shape[1]
        key = function.name(), count
        if key not in self._mapped:
            self._mapped[key] = function.map(function.name(), 'serial', count, [3], [])
        return self._mapped[key](*(part.T for part in motion), self._body, *others).full()

    def columns(self, motion):
        """Return the columns [J, N, P] of a motion [3, N, n], less where joints creep."""
        joints, size = self._by_columns.shape[:2]
        return self._run(self._columns, motion).reshape(joints, -1, size)

    def rows(self, motion, seconds):
        """Return whitened rows [J N, r] of a motion [3, N, n] that lasts so long [s]."""
        share = np.sqrt(seconds / (1e-9 * BLOCK_NS) / motion.shape[1])
        return share * (self.columns(motion) @ self._by_columns).reshape(
            -1, self._by_columns.shape[2]
        )

    def gain(self, motion, seconds, interest):
        """Return the expected loss of entropy of the directions of an `Interest` [nats]."""
        rows = self.rows(motion, seconds)
        return self.gain_of(rows.T @ rows, interest)

    @staticmethod
    def gain_of(information, interest):
        """Return the same of information [r, r]."""
        return _gain(information, interest)[0]

    def gain_and_slope(self, motion, seconds, interest):
        """Return (gain, its derivative [3, N, n] by the motion)."""
        rows = self.rows(motion, seconds)
        gain, by_information = _gain(rows.T @ rows, interest)
        joints, count = len(self._by_columns), motion.shape[1]
        share = np.sqrt(seconds / (1e-9 * BLOCK_NS) / count)
        by_rows = (2 * share * rows @ by_information).reshape(joints, count, -1)
        return gain, self.pulled(motion, by_rows @ self._by_columns.transpose(0, 2, 1))

    def pulled(self, motion, by_columns):
        """Return derivatives [3, N, n] by a motion from those by its columns [J, N, P]."""
        found = self._run(self._pull, motion, by_columns.reshape(len(by_columns), -1))
        return found.reshape(3, motion.shape[2], -1).transpose(0, 2, 1)

    def directions(self, slopes):
        """Return what motion tells of directions: rows [m, p] of coordinates as rows [m, r]."""
        return slopes @ self.root_told

    def covariance_after(self, rows):
        """Return the covariance [p, p] that is expected after rows [., r]."""
        information = np.eye(rows.shape[1]) + rows.T @ rows
        told = np.linalg.solve(information, self.root_told.T)
        # What no motion tells stays as it is.
        return self.root @ self.root.T - self.root_told @ self.root_told.T + self.root_told @ told

    def drawn_standard(self, count, generator):
        """Return standard parameters [P, D] of draws of the posterior."""
        noise = generator.standard_normal((self.root.shape[1], count))
        drawn = self.mean[:, None] + self.root @ noise
        return np.stack([self._model.standard(each)[0] for each in drawn.T], 1)

    def torques(self, motion, standard):
        """Return torques [N, J, D] of a motion by standard parameters [P, D]."""
        columns = self._model.columns(*motion, self.standard)
        return (columns.reshape(-1, len(standard)) @ standard).reshape(*columns.shape[:2], -1)


def _gain(information, interest):
    """Return (gain, its derivative [r, r] by the information) of information [r, r]."""
    information = information.copy()
    information[np.diag_indices_from(information)] += 1.0
    inverse, size = _inverse_and_log(information)
    if not interest.across.shape[1]:
        return 0.5 * size, 0.5 * inverse
    across = interest.across
    other, less = _inverse_and_log(across.T @ information @ across)
    return 0.5 * (size - less), 0.5 * (inverse - across @ other @ across.T)


def _inverse_and_log(matrix):
    """Return the inverse and the log determinant of a positive definite matrix."""
    factor = np.linalg.inv(np.linalg.cholesky(matrix))
    return factor.T @ factor, -2 * np.log(np.diag(factor)).sum()
