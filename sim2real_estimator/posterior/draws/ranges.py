"""
Ranges of randomization by hand, each replaced by the posterior as it becomes known.

config/randomization.yaml has the table of Peng et al. (ICRA 2018). A range of a parameter of which
data have told nothing yet stays; where they have, the joint draws of the posterior take its place.
"""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import math
import re

import numpy as np

from ...config import load_config, setting
from ...errors import ConfigError
from ...model.body_numbers import at_centre
from ...model.robot import link_inertia
from .drawn_robots import draw_robots, DrawSettings

# Of the prior's standard deviation: where more is left, data have told next to nothing.
_UNKNOWN = 0.9
# Draws by which that is judged.
_JUDGED = 1000
# The interval that ranges are compared by.
_LOW, _HIGH = 0.05, 0.95
# Numbers of a body that make sense together only.
_WITH_MASS = ('com', 'inertia')
_MASS = '.mass'


@dataclass(frozen=True)
class RangeConfig:
    """The range of a quantity: one of `times` and `between`."""

    times: tuple[float, ...] = setting(
        (),
        "least and most, as multiples of the robot description's value; drawn evenly by the "
        'logarithm. Of a mass the whole body is multiplied',
    )
    between: tuple[float, ...] = setting((), 'least and most; drawn evenly', unit='own unit')
    unit: str = setting('', 'of what is no parameter of the robot, for people')


@dataclass(frozen=True)
class RandomizationConfig:
    """Ranges of what a simulator draws; `source` is the file they came from."""

    ranges: dict[str, RangeConfig] = setting(
        dict,
        "parameter, or pattern such as '*.damping' -> its range; a name without a star that is no "
        'parameter of the robot is one of the simulator, and is drawn too. If several patterns '
        'match, later ones override earlier ones',
    )
    source: str = ''


def load_ranges(path):
    """Return the `RandomizationConfig` of a YAML file; a ConfigError says what is wrong."""
    config = load_config(path, RandomizationConfig)
    for name, each in config.ranges.items():
        _check(f'{path}: ranges.{name}', name, each)
    return config


def _check(where, name, each):
    """Refuse what is no range."""
    if bool(each.times) == bool(each.between):
        raise ConfigError(f'{where}: give either times or between')
    ends = each.times or each.between
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ConfigError(f'{where}: is {list(ends)}; give the least and the most')
    if each.times and ends[0] <= 0:
        raise ConfigError(f'{where}.times: begins at {ends[0]:g}; give a number above 0')
    if any(part in _WITH_MASS for part in name.split('.')):
        raise ConfigError(
            f'{where}: centres of mass and inertias by themselves give bodies that nobody can '
            'build; give a range of the mass, which takes the whole body along'
        )


def left_open(problem, mixture, prior_draws=None):
    """
    Return parameter -> part of the prior's standard deviation that data have left.

    Of what has to do with it: of a mass of the whole body, since a combination of its numbers may
    be known where none is by itself. mixture: the posterior of a `RobotProblem`; prior_draws:
    `Draws` of the prior, drawn here if not given.
    """
    if prior_draws is None:
        prior_draws = draw_robots(problem, mixture, DrawSettings('prior', _JUDGED), 0)
    draws = draw_robots(problem, mixture, DrawSettings('posterior', _JUDGED), 0)
    names = problem.parametrization.names
    shares = {n: _sd(draws.values[n]) / max(_sd(prior_draws.values[n]), 1e-300) for n in names}
    sds = np.sqrt(np.diag(mixture.moments()[1]) / np.diag(problem.prior.covariance))
    found = {}
    for name in names:
        owner = name[: -len(_MASS)] + '.' if name.endswith(_MASS) else name
        related = [n for n in names if n.startswith(owner)] if owner != name else [name]
        all_shares = [shares[n] for n in related]
        # Not the link `arm` in that of a `forearm`.
        named = re.compile(rf'(?<![\w.]){re.escape(owner)}')
        all_shares += [s for label, s in zip(problem.labels, sds) if named.search(label)]
        found[name] = float(min(all_shares))
    return found


def narrowed(problem, draws, left, config, seed=0):
    """
    Return (`Draws`, [line]): what data have not told is drawn by hand; what became of each range.

    draws: of a `RobotProblem`; left: of `left_open`; config: a `RandomizationConfig`; seed: of
    what is drawn by hand, which is independent of all else: of what data have not told no
    correlation is lost.
    """
    generator, count = np.random.default_rng(seed), len(draws)
    values, bodies, lines = dict(draws.values), dict(draws.bodies), []
    known = {*problem.parameters, *problem.parametrization.names}
    for name, each in _chosen(problem, config).items():
        share = left.get(name)
        nominal = _usual(problem, name)
        unit = each.unit or (problem.parameters.unit(name) if name in known else '')
        unit = '' if unit in ('', '1') else f' {unit}'
        low, high = _ends(each, nominal)
        hand = f'{name}: by hand {low:.4g} to {high:.4g}{unit}'
        if share is not None and share < _UNKNOWN:
            lines.append(hand + _replaced(draws, name, each, nominal))
            continue
        drawn = _quantile(each, nominal, generator.uniform(size=count))
        if name.endswith(_MASS) and name in problem.parameters:
            bodies[name[: -len(_MASS)]] = _scaled(problem, name, drawn / nominal)
            for own in _numbers_of(problem, name):
                values.pop(own, None)
        values[name] = drawn
        why = 'not estimated' if share is None else f'{share:.0%} of the prior is left'
        lines.append(f'{hand}, which stays: {why}')
    return replace(draws, values=values, bodies=bodies), lines


def _chosen(problem, config):
    """Return name -> `RangeConfig` of all that is drawn."""
    found = {}
    known = dict.fromkeys((*problem.parameters, *problem.parametrization.names))
    for pattern, each in config.ranges.items():
        names = [n for n in known if fnmatchcase(n, pattern)]
        is_own = not names and '*' not in pattern
        for name in [pattern] if is_own else names:
            if name.endswith(_MASS) and each.between and not is_own:
                raise ConfigError(
                    f'{config.source}: ranges.{pattern}: give times: the body of {name} is '
                    'multiplied by it'
                )
            found.pop(name, None)
            # What the description has not, such as damping of zero, has no multiples.
            if each.between or _usual(problem, name):
                found[name] = each
    return found


def _usual(problem, name):
    """Return what multiples are of: the description's value, where it has none the prior's."""
    nominal = problem.parameters[name].nominal if name in problem.parameters else 0.0
    if not nominal and name in problem.parametrization.names:
        nominal = problem.parametrization.priors[name].mean
    is_own = name not in problem.parameters and name not in problem.parametrization.names
    return 1.0 if is_own else nominal


def _sd(values):
    """Return the standard deviation by quantiles, since tails of masses near zero are long."""
    low, high = np.quantile(values, (0.1587, 0.8413))
    return (high - low) / 2


def _ends(each, nominal):
    """Return the ends of a range, the least first."""
    return sorted(x * nominal for x in each.times) if each.times else each.between


def _quantile(each, nominal, share):
    """Return the values of a range at shares [N] of its distribution."""
    if each.between:
        low, high = each.between
        return low + (high - low) * share
    low, high = map(math.log, each.times)
    return nominal * np.exp(low + (high - low) * share)


def _replaced(draws, name, each, nominal):
    """Return what the posterior has made of a range, in words."""
    low, high = np.quantile(draws.values[name], (_LOW, _HIGH))
    ends = _quantile(each, nominal, np.array([_LOW, _HIGH]))
    ratio = abs(ends[1] - ends[0]) / max(high - low, 1e-300)
    text = f'{ratio:.3g} times narrower' if ratio >= 1 else f'{1 / ratio:.3g} times wider'
    return f'; by the {draws.kind} {low:.3g} to {high:.3g}: {text} (90 %)'


def _scaled(problem, name, factors):
    """Return (masses, centres, inertias) of a described body of other densities, factors [N]."""
    link = name[: -len(_MASS)]
    body = np.array([float(x) for x in link_inertia(problem.parameters, link, {})])
    return at_centre(factors[:, None] * body)


def _numbers_of(problem, name):
    """Return the names of the ten numbers of a body by that of its mass."""
    return problem.parameters.inertial_names(name[: -len(_MASS)])
