"""What was taken up or put down when the robot changed, by all that has been learnt since."""

import numpy as np

from ..estimation.protocol import Gaussian


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
