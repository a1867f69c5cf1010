"""Selection without a branch, over any scalar."""

import casadi
import pytest
import torch

from sim2real_estimator.spatial.scalar import maximum, minimum, where_less

CASES = [(-1.0, 2.0), (2.0, -1.0), (0.5, 0.5), (-3.0, -3.5)]


@pytest.mark.parametrize(('a', 'b'), CASES)
@pytest.mark.parametrize('function', [maximum, minimum])
def test_values_and_derivatives_are_those_of_what_is_chosen(a, b, function):
    expected = max(a, b) if function is maximum else min(a, b)
    assert function(a, b) == expected
    tensors = [torch.tensor([x], dtype=torch.float64, requires_grad=True) for x in (a, b)]
    chosen = function(*tensors)
    slopes = torch.cat(torch.autograd.grad(chosen, tensors))
    assert (chosen.item(), chosen.dtype) == (expected, torch.float64)
    symbols = [casadi.SX.sym(name) for name in 'ab']
    traced = function(*symbols)
    slope = casadi.jacobian(traced, casadi.vertcat(*symbols))
    values = casadi.Function('f', symbols, [traced, slope])(a, b)
    assert float(values[0]) == expected
    assert [float(x) for x in casadi.vertsplit(values[1].T)] == slopes.tolist()
    assert sorted(slopes.tolist()) == [0.0, 1.0]


def test_constants_may_be_chosen_by_tensors_with_all_their_digits():
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    assert where_less(x, 0.0, 0.1, 1 / 3).tolist() == [0.1, 1 / 3]
    assert where_less(0.0, x, 1.0, 0.0).tolist() == [0.0, 1.0]
    assert where_less(x, 0.0, 0.0, 0.0) == 0.0


def test_nothing_is_computed_for_constants():
    assert where_less(1.0, 2.0, 'x', 'y') == 'x'
    assert where_less(2.0, 2.0, 'x', 'y') == 'y'
