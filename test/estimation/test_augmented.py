"""
The augmented problem, in which values held fixed are unknowns: its first fits, and its states.

Fits begin where those of the narrow problem ended, and elsewhere if that fails.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from sim2real_estimator.estimation.batch import multi_start
from sim2real_estimator.estimation.batch.first_fits import FirstFits
from sim2real_estimator.estimation.batch.fit import Fits
from sim2real_estimator.estimation.estimators.gaussian_sum import GaussianSum
from sim2real_estimator.estimation.filter.phases import BatchState, FilterState

STARTS, SETTINGS = 6, SimpleNamespace(starts=6, merge=0.5, prune=1e-6)


def fits_at(parameters):
    """Return `Fits` that stay where they begin, at costs of their distance from 2."""
    count = parameters.shape[1]
    costs = ((parameters - 2.0) ** 2).sum(0)
    return Fits(np.zeros((1, count)), parameters, costs, np.tile(np.eye(3), (count, 1, 1)))


@pytest.mark.parametrize('known, tried', [(2.0, [1]), (9.0, [1, STARTS]), (np.nan, [1, STARTS])])
def test_other_starts_are_tried_where_what_is_known_leads_nowhere(monkeypatch, known, tried):
    counts, draws = [], np.full((2, STARTS), 5.0)
    draws[:, -1] = 2.0

    def fit(objective, offsets, parameters, merge):
        counts.append(parameters.shape[1])
        found = fits_at(parameters)
        return Fits(
            found.offsets, parameters, np.nan_to_num(found.costs, nan=np.inf), found.information
        )

    monkeypatch.setattr(multi_start, 'fit', fit)
    monkeypatch.setattr(multi_start, 'cover_prior', lambda *_: draws.copy())
    prior = SimpleNamespace(mean=np.array([0.0, 2.0]))
    augmented = SimpleNamespace(prior=prior, labels=('own', 'misspecified'))
    objective = SimpleNamespace(
        problem=augmented,
        is_explained_by=lambda fits: bool(len(fits.costs) and fits.costs.min() < 1.0),
    )
    narrow = fits_at(np.array([[known]]))
    found = multi_start.fit_augmented(
        objective, SimpleNamespace(labels=('own',)), narrow, SETTINGS, np.random.default_rng(0)
    )
    assert counts == tried
    np.testing.assert_array_equal(found.parameters[:, 0], 2.0)


@pytest.mark.parametrize('is_augmented', [True, False])
def test_a_state_of_the_augmented_problem_stays_one(monkeypatch, is_augmented):
    asked, estimator = [], GaussianSum()

    def update(phase, problem, state, frame):
        asked.append(problem)
        # As where a batch begins anew, or a filter takes over.
        return estimator.init(problem), None

    monkeypatch.setattr(FirstFits, 'update', update)
    augmented = SimpleNamespace()
    problem = SimpleNamespace(augmented=augmented)
    state, _ = estimator.update(problem, BatchState(is_augmented=is_augmented), None)
    assert asked == [augmented if is_augmented else problem]
    assert state.is_augmented == is_augmented
    states = BatchState(is_augmented=is_augmented), FilterState(None, is_augmented=is_augmented)
    assert all(estimator.interrupted(each).is_augmented == is_augmented for each in states)
    assert estimator.with_frames(states[0], ('a frame',)).is_augmented == is_augmented


def test_earlier_models_of_the_augmented_problem_are_no_answers_about_the_other():
    known = {'earlier_models': ('an earlier model',)}
    assert GaussianSum().model_before_change(FilterState(None, **known)) == 'an earlier model'
    assert GaussianSum().model_before_change(FilterState(None, is_augmented=True, **known)) is None
