"""Estimates beyond what masses can do, of an arm, and the nearest robots that can be built."""

import numpy as np
from problems import seven_joints

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.observability.possible_robots import likeliest_possible
from sim2real_estimator.setup.build import build_parts


def test_what_cannot_be_built_moves_by_little_of_what_is_left_open():
    problem = build_parts(seven_joints.config(simulation__backend='eager'))[0]
    parametrization, generator = problem.parametrization, np.random.default_rng(0)
    inner, left = parametrization.inner, 0.3
    root = left * parametrization.prior.root
    mixture = Mixture(
        np.zeros(1), np.zeros((0, 1)), np.zeros((len(parametrization.labels), 1)), root[None]
    )
    draws = inner.prior.root @ generator.standard_normal((len(parametrization.names), 6))
    before = inner.prior.mean[:, None] + 1.5 * draws
    values = dict(zip(parametrization.names, inner.to_named(before)))
    found = likeliest_possible(problem, mixture, values)
    after = inner.from_named(np.stack([found[name] for name in parametrization.names]))
    before = inner.from_named(np.stack([values[name] for name in parametrization.names]))
    was_possible, is_possible = (
        are_possible(np.moveaxis(each[inner.rows], 2, 0)).all(1) for each in (before, after)
    )
    assert is_possible.all() and not was_possible.all()
    # The prior's mean can be built: what was found is much nearer.
    moved, all_the_way = (
        np.linalg.norm(
            np.linalg.solve(root, parametrization.combinations @ (each - before)), axis=0
        )
        for each in (after, inner.prior.mean[:, None])
    )
    assert (moved < 0.7 * all_the_way).all()
