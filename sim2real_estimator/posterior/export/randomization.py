"""What is known of a robot as one JSON file, for simulators that draw from it."""

import json

import numpy as np

from ...errors import DataError
from ...model.body_numbers import at_centre
from ...observability.null_space import draw_samples
from ...observability.possible_robots import likeliest_possible
from .estimated_robot import numbers_of, possible_bodies
from .text_files import facts, replace_file

FORMAT, VERSION = 'sim2real_estimator randomization', 1
DRAWS = 1000
# Draws without a body that could be built are drawn again, so often.
_ROUNDS = 20
# Where only so small a part can be built, the others become the nearest that can.
_FEWEST = 0.05


def write_randomization(robot, path, seed=0):
    """Write `DRAWS` draws of the posterior of an `EstimatedRobot`, and the mixture, as JSON."""
    content = randomization(robot, seed)
    replace_file(path, json.dumps(content, allow_nan=False, indent=1) + '\n')


def randomization(robot, seed=0, count=DRAWS):
    """Return the content of the file; docs/writing_back.md lists it."""
    draws, bodies, tried = possible_draws(robot, count, seed)
    mixture = robot.posterior.mixture
    return {
        'format': FORMAT,
        'version': VERSION,
        'provenance': {**facts(robot), 'draws_seed': seed},
        'parameters': [_parameter(robot, each) for each in robot.findings.parameters],
        'mixture': {
            'coordinates': list(robot.problem.labels),
            'weights': mixture.weights.tolist(),
            'means': mixture.means.T.tolist(),
            'covariances': mixture.parameter_covariances().tolist(),
        },
        'draws': {name: _short(values) for name, values in draws.items()},
        'share_of_draws_possible': count / tried,
        'bodies': {link: _body(each) for link, each in bodies.items()},
    }


def possible_draws(robot, count, seed):
    """
    Return (name -> draws [count], link -> bodies [count, 10], how many were drawn for it).

    Of draws, those are left out that no distribution of mass has, and where hardly any is left the
    nearest are taken that one has; bodies are of links that are
    estimated, about the link's frame, completed where a single number of them was estimated.
    """
    problem, generator = robot.problem, np.random.default_rng(seed)
    kept, kept_bodies, found, tried = [], [], 0, 0
    for _ in range(_ROUNDS):
        values = draw_samples(
            problem, robot.posterior.mixture, count, int(generator.integers(2**31))
        )
        fixed = {
            name: np.full(values.shape[1], v) for name, v in problem.parametrization.fixed.items()
        }
        named = {**fixed, **dict(zip(problem.parametrization.names, values))}
        bodies, is_possible = possible_bodies(problem, named)
        if found + is_possible.sum() < _FEWEST * (tried + values.shape[1]):
            named = likeliest_possible(problem, robot.posterior.mixture, named)
            bodies, is_possible = possible_bodies(problem, named)
        named.update(_numbers(robot.parameters, named, bodies))
        kept.append({name: each[is_possible] for name, each in named.items()})
        kept_bodies.append({link: each[is_possible] for link, each in bodies.items()})
        found, tried = found + int(is_possible.sum()), tried + values.shape[1]
        if found >= count:
            draws, bodies = _joined(kept), _joined(kept_bodies)
            last = int(np.flatnonzero(is_possible)[count - found - 1]) if found > count else -1
            unused = values.shape[1] - 1 - last if found > count else 0
            return (
                {name: each[:count] for name, each in draws.items()},
                {link: each[:count] for link, each in bodies.items()},
                tried - unused,
            )
    raise DataError(
        f'of {tried} draws of the posterior only {found} are robots that can be built; move more, '
        'or give the masses and inertias priors that fit each other'
    )


def _numbers(parameters, values, bodies):
    """Return values that are numbers of bodies as these have them, completed as they may be."""
    found = {}
    for link, body in bodies.items():
        # The numbers of a link that is stretched are those of another length.
        if f'{link}.length' not in values:
            numbers = numbers_of(parameters, link, body)
            found.update({name: each for name, each in numbers.items() if name in values})
    return found


def _joined(parts):
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _parameter(robot, finding):
    """Return what is known of one parameter."""
    return {
        'name': finding.name,
        'unit': robot.parameters.unit(finding.name),
        'mean': finding.mean,
        'sd': finding.sd,
        'quantiles_5_50_95': list(finding.quantiles),
        'prior_mean': finding.prior_mean,
        'prior_sd': finding.prior_sd,
        'verdict': finding.verdict,
        'aliases': list(finding.aliases),
    }


def _body(bodies):
    """Return draws of a body in the terms of URDF and MJCF."""
    mass, centre, inertia = at_centre(bodies)
    return {
        'mass [kg]': _short(mass),
        'com x y z [m]': _short(centre),
        'inertia xx yy zz xy xz yz about com [kg m^2]': _short(inertia),
    }


def _short(values):
    """Return numbers as a list, with as many digits as matter."""
    return np.vectorize(lambda x: float(f'{x:.9g}'))(values).tolist()
