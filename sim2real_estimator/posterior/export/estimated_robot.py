"""The posterior's mean as a robot that can be built."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ...config import load_config, read_config
from ...errors import ConfigError, DataError
from ...model.body_numbers import are_possible, at_centre
from ...model.parameters import never_negative
from ...model.robot import joint_origin, link_inertia
from ...observability.findings import find
from ...observability.null_space import likeliest
from ...observability.possible_robots import likeliest_possible
from ...observability.verdicts import modes_of
from ...records import Findings
from ...setup.build import build_parts
from ..file import load, Posterior, require_same_prior
from ..identity import describe, require_same
from .possible_bodies import nearest_possible, relative, unobservable_directions

# In the folder of a result: the settings, which find the robot description beside them.
SETTINGS = 'settings.yaml'
# A combination keeps its prior mean where more than this part of its prior deviation is left.
_UNOBSERVED = 0.9
# Relative changes of a body below this are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class EstimatedRobot:
    """
    The posterior's mean as a robot that can be built.

    problem: the `RobotProblem`; findings: of the posterior; values: name -> float of all that was
    estimated or differs from the description; bodies: link -> [10] of links that changed, about
    the link's frame in the order of `BodyInertia`; completed: links whose bodies were projected
    onto those that can be built; raised: name -> negative mean of damping, friction and the like,
    which is zero in `values`; draw: which draw of the posterior it is instead, in words.
    """

    posterior: Posterior
    problem: object
    findings: Findings
    values: dict
    bodies: dict
    completed: tuple
    raised: dict
    draw: str = ''

    @property
    def urdf(self):
        """The description that was estimated with: a path, or its text."""
        given = read_config(self.posterior.config).model.urdf
        return given if given.lstrip().startswith('<') else self.problem.model.source

    @property
    def parameters(self):
        """The `Parameters` of the robot and its sensors."""
        return self.problem.parameters

    def value(self, name):
        """Return the value of a parameter, that of the description if it was not estimated."""
        return self.values.get(name, self.parameters[name].nominal)

    def body(self, link):
        """Return the body [10] of a link on a moving body, about the link's frame."""
        if link in self.bodies:
            return self.bodies[link]
        return np.array([float(x) for x in link_inertia(self.parameters, link, {})])

    def origin(self, joint):
        """Return the origin [3] of a `Joint` in its parent link [m]."""
        return np.array([float(x) for x in joint_origin(self.parameters, joint, self.values)])


def robot_of_file(path, settings=None):
    """Return the `EstimatedRobot` of a saved posterior; settings: as for `opened`."""
    return robot_of(*opened(path, settings))


def opened(path, settings=None):
    """
    Return (`RobotProblem`, `Posterior`) of a saved posterior.

    settings: path of the config of the estimate; by default the one in the folder of a result,
    else its text in the posterior, with the robot description relative to the posterior's folder.
    """
    posterior, beside = load(path), Path(path).parent / SETTINGS
    settings = settings or (beside if beside.is_file() else None)
    config = load_config(settings) if settings else read_config(posterior.config, str(path))
    urdf = config.model.urdf
    if not urdf.lstrip().startswith('<') and not (Path(config.source).parent / urdf).exists():
        raise ConfigError(
            f"{config.source}: the robot description '{urdf}' is not there, seen from its folder; "
            'give the settings that were estimated with: --config FILE'
        )
    return problem_of(posterior, config), posterior


def problem_of(posterior, config):
    """
    Return the `RobotProblem` of the `Config` that a `Posterior` was estimated with.

    Raise a DataError where the two do not belong together.
    """
    problem, estimator, *_ = build_parts(config)
    require_same(posterior.identity, describe(problem, estimator), 'the settings')
    require_same_prior(posterior, problem.prior, problem.noise_prior)
    return problem


def robot_of(problem, posterior):
    """
    Return the `EstimatedRobot` of a `Posterior` in the coordinates of a `RobotProblem`.

    Unobservable combinations stay at the prior. Of all observationally equivalent robots it is
    the likeliest one under the prior, with bodies that can be built; raise a DataError where
    there are none. Negative means of damping and friction become zero.
    """
    findings = posterior.findings or find(problem, posterior.mixture, 0, exact=False)
    values = _values(problem, posterior.mixture)
    raised, given_way = _negative(values), []
    mean = {name: np.array([value]) for name, value in values.items()}
    values.update(dict.fromkeys(raised, 0.0))
    named = {name: np.array([value]) for name, value in values.items()}
    if problem.possible is None or problem.parametrization.responses is not None:
        bodies, is_possible = possible_bodies(problem, named)
    else:
        # All parameters are estimated, unobservable ones too, and are projected together below.
        every = {link.name: _bodies(problem, link.name, mean, 1) for link in _moving(problem)}
        given_way = [link for link, body in every.items() if not are_possible(body).all()]
        is_possible = np.zeros(1, dtype=bool)
    if not is_possible.all() and problem.possible is not None:
        named, raised = likeliest_possible(problem, posterior.mixture, mean), {}
        values = {name: float(each[0]) for name, each in named.items()}
        bodies, is_possible = possible_bodies(problem, named)
    if not is_possible.all() and not problem.model.accepts_infeasible_inertia:
        raise DataError(
            f"no body that can be built moves like the posterior's mean at {_faulty(bodies)}: "
            'each principal moment has to be smaller than the sum of the other two, and masses '
            'above zero; move more, give masses and inertias narrower priors, or take it as it is '
            'by inertia_check: warn under model in the settings'
        )
    completed = given_way
    for link, body in bodies.items():
        said = _bodies(problem, link, named, 1)
        if np.abs(body - said).max() > _ROUNDING * np.abs(said).max():
            completed += [] if link in completed else [link]
            # The numbers of a stretched link are those of another length.
            if f'{link}.length' not in values:
                numbers = numbers_of(problem.parameters, link, body)
                values.update({name: float(each[0]) for name, each in numbers.items()})
    bodies = {link: body[0] for link, body in bodies.items()}
    return EstimatedRobot(posterior, problem, findings, values, bodies, tuple(completed), raised)


def _negative(values):
    """Return the negative ones of the values, name -> float, that must not be negative."""
    words = never_negative()
    return {n: v for n, v in values.items() if v < 0 and n.split('.')[-1] in words}


def _faulty(bodies):
    faulty = [link for link, body in bodies.items() if not are_possible(body).all()]
    return ', '.join(f"'{link}'" for link in faulty)


def _values(problem, mixture):
    """Return name -> float of the likeliest robot of a mixture."""
    parametrization = problem.parametrization
    points, is_converged = likeliest(parametrization, _observed(problem.prior, mixture)[:, None])
    if not is_converged.all():
        raise DataError(
            'among observationally equivalent parameters none was found near the prior; give the '
            'parameters priors that hold the posterior'
        )
    values = parametrization.inner.to_named(points)[:, 0].tolist()
    return {**parametrization.fixed, **dict(zip(parametrization.names, values))}


def _observed(prior, mixture):
    """Return the mean [p] of the heaviest mode, with unobserved coordinates at the prior mean."""
    answers = modes_of(mixture)
    mean = answers[0][1]
    covariance = mixture.moments()[1]
    if len(answers) > 1:
        covariance = mixture.parameter_covariances()[mixture.heaviest()]
    share = np.sqrt(np.diag(covariance) / np.diag(prior.covariance))
    is_blind = share >= _UNOBSERVED
    missing = prior.mean[is_blind] - mean[is_blind]
    gain = np.linalg.solve(covariance[np.ix_(is_blind, is_blind)], missing)
    return mean + covariance[:, is_blind] @ gain


def possible_bodies(problem, values):
    """
    Return (link -> bodies [D, 10], are possible [D]) of the links that are not as described.

    values: name -> [D]. Impossible bodies move along unobservable directions: those of the links
    in question, first in inertias that were not estimated, then in all of their numbers; where
    that is not enough, those of all links.
    """
    count = len(next(iter(values.values())))
    every = {link.name: _bodies(problem, link.name, values, count) for link in _moving(problem)}
    chosen = {link for link, body in every.items() if _is_changed(problem, link, body)}
    is_possible = _are_possible(every, chosen, count)
    faulty = [link for link in every if link in chosen and not are_possible(every[link]).all()]
    massive = [link for link, body in every.items() if (body[:, 0] > 0).all()]
    for links, are_estimates_kept in ((faulty, True), (faulty, False), (massive, False)):
        if is_possible.all():
            break
        chosen.update(links)
        _project(problem, values, every, links, ~is_possible, are_estimates_kept)
        is_possible = _are_possible(every, chosen, count)
    return {link: body for link, body in every.items() if link in chosen}, is_possible


def numbers_of(parameters, link, body):
    """Return name -> [D] of the ten numbers of a link, of its bodies [D, 10]."""
    mass, centre, inertia = at_centre(body)
    numbers = np.concatenate([mass[:, None], centre, inertia], 1)
    return dict(zip(parameters.inertial_names(link), numbers.T))


def _project(problem, values, bodies, links, rows, are_estimates_kept):
    """Project bodies of some links, in some rows, onto bodies that can be built if that works."""
    now = np.stack([bodies[link][rows] for link in links], 1)
    part = {name: each[rows] for name, each in values.items()}
    is_free = np.ones(now.shape[1:], dtype=bool)
    if are_estimates_kept:
        names = [problem.parameters.inertial_names(link) for link in links]
        is_free = np.array([[name not in values for name in each] for each in names])
        is_free[:, :4] = False
    blocks = unobservable_directions(problem, links, part, relative(now), is_free)
    projected, is_projected = nearest_possible(now, blocks)
    for k, link in enumerate(links):
        bodies[link][np.flatnonzero(rows)[is_projected]] = projected[is_projected, k]


def _are_possible(bodies, links, count):
    found = np.ones(count, dtype=bool)
    for link in links:
        found &= are_possible(bodies[link])
    return found


def _moving(problem):
    """Return the links on moving bodies."""
    model = problem.model
    return [link for link in model.links if model.attachments[link.name].body >= 0]


def _bodies(problem, link, values, count):
    """Return the bodies [D, 10] of a link, about its frame."""
    named = {name: torch.from_numpy(each) for name, each in values.items()}
    numbers = link_inertia(problem.parameters, link, named)
    rows = [torch.as_tensor(x, dtype=torch.float64).expand(count) for x in numbers]
    return torch.stack(rows, 1).numpy()


def _is_changed(problem, link, body):
    before = _bodies(problem, link, {}, 1)
    return bool((np.abs(body - before) > _ROUNDING * np.abs(before).max()).any())
