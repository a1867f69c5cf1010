"""The payload that a robot has picked up or put down: a marginal of its last change."""

import numpy as np

from ..estimation.protocol import Gaussian
from ..model.body_numbers import at_centre
from ..records import LoadFinding


def load_since(change, mixture):
    """
    Return the `LoadFinding` of a change, mass and centre of mass; None if it has no payload.

    change: the `EarlierModel` of what was known before it; mixture: what is known now.
    """
    body = body_since(change, mixture)
    if body is None:
        return None
    if not body.mean[0]:
        # No data since.
        return None
    mass, centre, _ = at_centre(body.mean)
    covariance = body.covariance[:4, :4]
    # Derivative of the centre by mass and first moments.
    slopes = np.column_stack([-centre, np.eye(3)]) / mass
    spread = np.sqrt(np.diag(slopes @ covariance @ slopes.T)).tolist()
    sd = float(np.sqrt(covariance[0, 0]))
    return LoadFinding(change.left_by.link, float(mass), sd, tuple(centre.tolist()), tuple(spread))


def body_since(earlier, mixture):
    """
    Return the payload of a change as a `Gaussian` of ten numbers, None if it has none.

    earlier: the `EarlierModel` that the change ended; mixture: the posterior now. The numbers are
    those of a `ModelChange`, negative for a body that was put down.

    Data since the change observe the robot and its payload only together. The change of the
    posterior mean is split between them by their covariances, as in a Kalman update.
    """
    jump = earlier.left_by
    if jump is None or jump.body is None:
        return None
    before = earlier.root @ earlier.root.T
    mean, covariance = mixture.moments()
    gain = np.linalg.solve(before + jump.root @ jump.root.T, jump.root @ jump.body.T).T
    # Unobserved directions of the body stay as uncertain as before.
    left = jump.body @ jump.body.T - gain @ jump.root @ jump.body.T
    left = left + gain @ covariance @ gain.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    return Gaussian(gain @ (mean - earlier.mean), vectors * np.sqrt(values.clip(0)))
