"""What a robot has taken up, for people: mass and place."""

import numpy as np

from ..estimation.protocol import Gaussian
from ..model.body_numbers import at_centre
from ..records import LoadFinding


def load_since(change, mixture):
    """Return the `LoadFinding` of a change, None where no body came or went."""
    body = body_since(change, mixture)
    if body is None:
        return None
    if not body.mean[0]:
        # No datum has told of it yet.
        return None
    mass, centre, _ = at_centre(body.mean)
    covariance = body.covariance[:4, :4]
    # By how much the centre moves with the mass and the first moments.
    slopes = np.column_stack([-centre, np.eye(3)]) / mass
    spread = np.sqrt(np.diag(slopes @ covariance @ slopes.T)).tolist()
    sd = float(np.sqrt(covariance[0, 0]))
    return LoadFinding(change.jump.link, float(mass), sd, tuple(centre.tolist()), tuple(spread))


def body_since(memory, mixture):
    """
    Return the body that came to its link as a `Gaussian`, None where nothing of the kind did.

    memory: what was known before the change, and how this was explained; mixture: what is known
    now. The ten numbers are those of a `ModelChange`; of a body that was put down they are below
    zero.

    Data since then tell of what was and what came together. Of how the posterior has moved, only
    as much is the body's as is more likely to be it than something of the robot itself that had
    not been known before.
    """
    jump = memory.jump
    if jump is None or jump.body is None:
        return None
    before = memory.root @ memory.root.T
    mean, covariance = mixture.moments()
    gain = np.linalg.solve(before + jump.root @ jump.root.T, jump.root @ jump.body.T).T
    # What no data tell of the body is as uncertain as before.
    left = jump.body @ jump.body.T - gain @ jump.root @ jump.body.T
    left = left + gain @ covariance @ gain.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    return Gaussian(gain @ (mean - memory.mean), vectors * np.sqrt(values.clip(0)))
