"""What a robot has taken up, for people: mass and place."""

import numpy as np

from ..model.body_numbers import at_centre
from ..records import LoadFinding
from .since_change import body_since


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
