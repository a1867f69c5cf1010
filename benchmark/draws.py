"""
How fast robots are drawn, whether they are feasible, and what becomes of the posterior's moments.

Of the arm of seven joints with measured torques: 119 parameters. The posterior is one of known
shape, as after some twenty seconds of motion: of two thirds of the directions a tenth of the
prior's standard deviation is left, or a hundredth; of the others .7. The mean is the prior's. Of
plain draws of it hardly any is feasible.
"""

import os
from pathlib import Path
import sys
import time

import numpy as np
from peers.timing import conditions, set_torch_threads
from report import print_table, Target

sys.path.append(str(Path(__file__).resolve().parents[1] / 'test'))

from problems import seven_joints  # noqa: E402

from sim2real_estimator.estimation.mixture import Mixture  # noqa: E402
from sim2real_estimator.model.body_numbers import about_frame, are_possible  # noqa: E402
from sim2real_estimator.model.checks import NEVER_NEGATIVE  # noqa: E402
from sim2real_estimator.posterior.draws import draw_robots, DrawSettings, KINDS  # noqa: E402
from sim2real_estimator.setup.build import build_parts  # noqa: E402

_DRAWS, _WANTED = 100_000, 10_000.0
# Parts of the prior's standard deviation that are left, in turn.
_LEFT = (0.01, 0.1, 0.7)
# Directions of which less is left are known.
_KNOWN = 0.3
# Draws in a row within which some bodies are shared.
_POPULATION = 2048


def run(name, arguments):
    """Print the table and return the targets."""
    set_torch_threads(1)
    problem = build_parts(seven_joints.measured())[0]
    mixture, rows, targets = _posterior(problem), [], []
    is_disturbed = os.getloadavg()[0] > (os.cpu_count() or 1)
    plain = mixture.draw(10_000, np.random.default_rng(0))
    for kind in KINDS:
        wall, own = time.perf_counter(), time.process_time()
        draws = draw_robots(problem, mixture, DrawSettings(kind, _DRAWS), 0)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        share = _feasible(draws).mean()
        shift, least, most, worth = _moments(problem, mixture, draws)
        is_compared = kind == 'posterior'
        rows.append(
            [
                kind,
                draws.method,
                f'{_DRAWS / wall:.0f}',
                f'{_DRAWS / own:.0f}',
                f'{share:.5f}',
                f'{shift:.2f}' if is_compared else '-',
                f'{least:.2f} to {most:.2f}' if is_compared else '-',
                f'{worth.min():.0f} to {worth.max():.0f}' if is_compared else '-',
            ]
        )
        targets.append(Target(f'{kind}: feasible', share, 1.0, '', at_least=True))
        targets.append(
            Target(f'{kind}: draws', _DRAWS / wall, _WANTED, '1/s', True, disturbed=is_disturbed)
        )
        if is_compared:
            targets.append(Target('posterior: mean of what is known off by', shift, 0.5, 'sd'))
            targets.append(Target('posterior: sd of what is known', least, 0.85, '', True))
    print(f'{_DRAWS} draws of an arm of seven joints; {conditions(1)}')
    print(f'of plain draws {problem.possible.are_possible(plain).mean():.4f} are feasible\n')
    header = ['kind', 'method', 'draws/s', 'per s of CPU', 'feasible', 'mean off by', 'sd']
    header.append(f'{_POPULATION} are worth')
    print_table(header, rows)
    return targets


def _posterior(problem):
    """Return the posterior, along directions that are turned against the coordinates."""
    generator, size = np.random.default_rng(0), len(problem.labels)
    axes = np.linalg.qr(generator.standard_normal((size, size)))[0]
    root = problem.prior.root @ axes * np.resize(_LEFT, size)
    return Mixture(np.zeros(1), np.zeros((0, 1)), problem.prior.mean[:, None], root[None])


def _feasible(draws):
    """Return which of the draws [N] have bodies that can be built, and nothing below zero."""
    found = np.ones(len(draws), dtype=bool)
    for body in draws.bodies.values():
        found &= are_possible(about_frame(*body)) & (body[0] > 0)
    for name, values in draws.values.items():
        if name.rpartition('.')[2] in NEVER_NEGATIVE:
            found &= values >= 0
    return found


def _moments(problem, mixture, draws):
    """
    Return (largest shift of the mean, least and most of the sd, worth), in posterior deviations.

    All but worth of directions that are known. worth [3]: of how many independent draws the mean
    of a population is as good as, by direction: the 5, 50 and 95 % quantiles.
    """
    parametrization = problem.parametrization
    values = np.stack([draws.values[name] for name in parametrization.names])
    mean, covariance = mixture.moments()
    relative = np.linalg.solve(problem.prior.root, np.linalg.cholesky(covariance))
    axes, sizes, _ = np.linalg.svd(relative)
    away = np.linalg.solve(
        problem.prior.root, parametrization.inner.from_named(values) - mean[:, None]
    )
    whitened = axes.T @ away / sizes[:, None]
    known = whitened[sizes < _KNOWN]
    sds, populations = known.std(1), len(draws) // _POPULATION
    means = whitened[:, : populations * _POPULATION].reshape(len(sizes), populations, -1).mean(2)
    worth = whitened.var(1) / means.var(1)
    shift = float(np.abs(known.mean(1)).max())
    return shift, float(sds.min()), float(sds.max()), np.quantile(worth, (0.05, 0.5, 0.95))
