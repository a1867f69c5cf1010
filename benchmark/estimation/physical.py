"""Physical parameters that the data tell in part: their posterior by draws."""

import numpy as np

from sim2real_estimator.observability.null_space import physical_draws

_DRAWS = 200


def physical_ranks(problem, mixture, values, seed):
    """
    Return the ranks of the true physical parameters among draws of the posterior.

    values: name to the true value. sd: of the logarithms, as a part of the prior's.
    """
    parametrization, generator = (
        problem.parametrization,
        np.random.default_rng([*np.atleast_1d(seed), 1]),
    )
    draws = physical_draws(parametrization, mixture.draw(_DRAWS, generator), generator)
    prior = parametrization.inner.prior
    true = np.log(np.abs([values[name] for name in parametrization.inner.names]))
    # Half a place for the truth itself: a rank is never 0 or 1.
    below = (draws < true[:, None]).sum(1) + 0.5
    return {
        'rank': (below / (draws.shape[1] + 1)).tolist(),
        'sd': (draws.std(1) / np.diag(prior.root)).tolist(),
    }
