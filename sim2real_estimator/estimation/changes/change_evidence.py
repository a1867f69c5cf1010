"""How probable frames are after jumps of the parameters, told by one filter for all of them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ChangeEvidence:
    """
    What frames tell of a jump x [p] of the parameters just before the first of them.

    Linearised about one course, they are more probable than without it by a factor whose
    logarithm is `pull x - x precision x / 2`: pull [p], precision [p, p].
    """

    pull: np.ndarray
    precision: np.ndarray

    def of(self, root):
        """
        Return what is told of a jump of covariance root root', root [p, r].

        By how much it raises log evidence, by how much it lowers misfit, and its mean [p]; where
        numbers are not finite, it is impossible.
        """
        precision = root.T @ self.precision @ root
        if not np.isfinite(precision).all():
            return -np.inf, 0.0, np.zeros(len(root))
        sizes, directions = np.linalg.eigh(precision)
        # Rounding leaves some that nothing is told of below zero.
        sizes = 1.0 + sizes.clip(0)
        pulled = directions.T @ (root.T @ self.pull)
        explained = float(pulled @ (pulled / sizes))
        gain = 0.5 * (explained - np.log(sizes).sum())
        return gain, explained, root @ (directions @ (pulled / sizes))


def change_evidence(steps, parameters):
    """
    Return the `ChangeEvidence` of the steps of a `Smoother` in its first column.

    The filter knows of no jump: it is led astray by each in a way that is linear in the jump.
    parameters: how many there are.
    """
    size = steps[0].mean.shape[1] - parameters
    # By how much the filter's mean is off, times a jump.
    astray = np.eye(size + parameters)[:, size:]
    pull, precision = np.zeros(parameters), np.zeros((parameters, parameters))
    for step in steps:
        root, transition = step.root[0], step.found.transition[0]
        slope = step.found.slope[0]
        seen = slope @ astray
        taken = root @ ((slope @ root).T @ seen)
        pull -= seen.T @ step.left[0]
        precision += seen.T @ (seen - slope @ taken)
        astray = astray - taken
        astray = np.concatenate([transition @ astray, astray[size:]])
    return ChangeEvidence(pull, 0.5 * (precision + precision.T))
