"""How much networks carry: the share of each in the effort at its site, with an interval."""

import numpy as np

from ..records import NetworkFinding
from ..reported_events import NetworkCarries

_DRAWS, _QUANTILES = 400, (0.05, 0.5, 0.95)
# A network is reported that carries more than this part of the mean square of the effort, as sure
# as the interval's lower end; it is reported again once it has been below half of this.
CARRIES = 0.1
# The interval of a share that is known is no wider than by this factor: a prior is no finding.
_KNOWN = 3.0


def network_findings(problem, mixture):
    """
    Return a `NetworkFinding` for each network of a problem's model.

    mixture: over the problem's coordinates. The share is over the reference motion of the network:
    that of its training, or random states of the description.
    """
    networks = problem.model.networks
    if not networks:
        return ()
    names = problem.parametrization.names
    draws = mixture.draw(_DRAWS, np.random.default_rng(0))
    inner = problem.parametrization.inner
    values = inner.to_named(problem.parametrization.embed(draws))
    rows = {name: row for name, row in zip(inner.names, values)}
    return tuple(_finding(network, rows, names) for network in networks)


def _finding(network, rows, names):
    """Return the `NetworkFinding` of a `Network`; rows: name -> draws [D] of its weights."""
    count = _DRAWS
    weights = np.stack(
        [
            rows.get(name, np.full(count, mean))
            for name, mean in zip(network.weight_names, network.means)
        ]
    )
    if network.is_positive:
        weights = np.maximum(weights, 0.0)
    squares = np.einsum('kd,kl,ld->d', weights, np.array(network.gram), weights)
    shares = squares / np.maximum(np.maximum(network.power, squares), 1e-300)
    low, middle, high = np.quantile(shares, _QUANTILES).tolist()
    return NetworkFinding(
        *(network.name, network.site, network.law, 'trained' if network.is_trained else 'random'),
        *(float(np.sqrt(np.median(squares))), float(shares.mean()), (low, middle, high)),
    )


def carrying_after(found, before):
    """
    Return (names of networks that carry much now, `NetworkCarries` of the new ones).

    found: `NetworkFinding`s; before: the names until now.
    """
    now, events = [], []
    for each in found:
        low, _, high = each.quantiles
        if each.name in before and low > CARRIES / 2:
            now.append(each.name)
        elif low > CARRIES and high < _KNOWN * low:
            now.append(each.name)
            events.append(NetworkCarries(each.name, each.site, each.share))
    return tuple(now), tuple(events)
