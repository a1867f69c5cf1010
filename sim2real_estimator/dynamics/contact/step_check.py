"""Whether time steps are short enough for the impacts of a robot."""

import logging

# Steps that an impact needs for derivatives within 2 %, and the speed of the impact [m/s].
_STEPS_OF_IMPACT, _USUAL_SPEED = 10, 1.0

# So that what is advised is short enough when it is rounded.
_LITTLE_SHORTER = 0.99

_logger = logging.getLogger(__name__)
_said = set()


def longest_step(model):
    """
    Return the longest step [s] at which impacts are resolved, infinity where nothing touches.

    Of every pair of contacts: a tenth of the time for which the lighter of its links stays in
    contact when it hits at 1 m/s, with the parameters that the pair is described with.
    """
    durations = []
    for pair in model.contacts:
        masses = [
            inertial.mass
            for link in (pair.first, pair.second)
            if model.attachments[link].body >= 0 and (inertial := model.link(link).inertial)
        ]
        mass = min((m for m in masses if m > 0), default=1.0)
        values = {own.name: pair.nominal(own) for own in pair.law.parameters}
        durations.append(pair.law.duration(mass, _USUAL_SPEED, values))
    return min(durations, default=float('inf')) / _STEPS_OF_IMPACT


def warn_of_long_steps(model, step):
    """Log once for a model that steps of so many seconds are too long for its impacts."""
    longest = longest_step(model)
    if step <= longest or (model.source, model.contacts) in _said:
        return
    _said.add((model.source, model.contacts))
    _logger.warning(
        '%s: steps of %.3g s are too long for its contacts: an impact at %g m/s lasts %.2g s, '
        'and derivatives through it need %d steps. Make steps at most %.3g s (max_step, '
        'simulation.max_step in a config), or the contacts less stiff (PAIR.stiffness)',
        model.source,
        step,
        _USUAL_SPEED,
        longest * _STEPS_OF_IMPACT,
        _STEPS_OF_IMPACT,
        _LITTLE_SHORTER * longest,
    )
