"""What `identify --explain` prints."""

from ...config import load_config
from .explain import explain


def print_proposals(chosen, found, console):
    """
    Print where a network would pay.

    chosen: arguments of `identify`; found: its `Identification`; console: to print on.
    """
    config = load_config(chosen.config)
    mean = None
    if found.problem.torque is not None and not config.neural:
        mean = found.posterior.mixture.moments()[0]
    proposals = explain(chosen.bags, config, chosen.held_out, mean, chosen.trust_units)
    for line in sentences(proposals):
        console.print(line, soft_wrap=True, markup=False)


def sentences(proposals):
    """Return lines on `Proposal`s: those that pay with the lines for the config, then the rest."""
    pay = [each for each in proposals if each.declaration is not None]
    rest = [each.joint for each in proposals if each.declaration is None]
    lines = []
    for each in pay:
        lines.append(
            f'{each.joint}: a network of {", ".join(each.declaration.inputs)} '
            f'({each.declaration.law}) would lower the error of its torque from '
            f'{each.before:.3g} to {each.after:.3g}, by {100 * each.gain:.0f} %:'
        )
        lines += [f'    {line}' for line in each.lines]
    if pay:
        lines.append(
            'then: sim2real-estimator train BAG... --config CONFIG; it says whether the network '
            'pays on held-out data'
        )
    if rest:
        lines.append(f'no network pays at {", ".join(rest)}')
    return lines
