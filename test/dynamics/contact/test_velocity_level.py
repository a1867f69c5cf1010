"""Contact at velocity level: the exact step, its gradients, and its regularised twin."""

from dataclasses import fields, replace
import math

import pytest
import torch

from sim2real_estimator.dynamics.contact.velocity_level import (
    complementarity,
    ContactProblem,
    solve_convex,
    solve_lcp,
)

SIDE, MASS = 0.1, 0.4  # of a cube [m], [kg]


def real(*shape, generator):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def jointed(batch=40, contacts=2, size=9, joints=3, seed=0):
    """Return contacts in the plane between bodies that joints hold, as they may come."""
    g = torch.Generator().manual_seed(seed)
    lower = real(batch, size, size, generator=g)
    mass = lower @ lower.mT + torch.eye(size, dtype=torch.float64)
    return ContactProblem(
        mass,
        real(batch, size, generator=g),
        real(batch, contacts, size, generator=g),
        real(batch, contacts, 1, size, generator=g),
        0.2 + 0.6 * torch.rand(batch, contacts, generator=g, dtype=torch.float64),
        -0.3 * torch.rand(batch, contacts, generator=g, dtype=torch.float64),
        real(batch, joints, size, generator=g) if joints else None,
    )


def boxes(batch=200, seed=0):
    """Return boxes in the plane that meet the ground with both lower corners."""
    g = torch.Generator().manual_seed(seed)
    turning = MASS * SIDE**2 / 6
    mass = torch.diag(torch.tensor([MASS, MASS, turning], dtype=torch.float64))
    corners = torch.tensor([[-SIDE / 2, -SIDE / 2], [SIDE / 2, -SIDE / 2]], dtype=torch.float64)
    one, none = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    normals = torch.stack([none, one, corners[:, 0]], -1)
    tangents = torch.stack([one, none, -corners[:, 1]], -1)[:, None]
    free = real(batch, 3, generator=g) * torch.tensor([1.0, 1.0, 10.0], dtype=torch.float64)
    free[:, 1] = -1 - free[:, 1].abs()
    friction = torch.rand(batch, 1, generator=g, dtype=torch.float64).expand(-1, 2)
    return ContactProblem(
        mass.expand(batch, -1, -1),
        free,
        normals.expand(batch, -1, -1),
        tangents.expand(batch, -1, -1, -1),
        friction.contiguous(),
        torch.zeros(batch, 2, dtype=torch.float64),
    )


def cubes(batch=100, seed=0):
    """Return cubes that lie flat on the ground and move, with all four lower corners."""
    g = torch.Generator().manual_seed(seed)
    half = SIDE / 2
    arms = torch.tensor(
        [[x, y, -half] for x in (-half, half) for y in (-half, half)], dtype=torch.float64
    )

    def rows(direction):
        direction = torch.tensor(direction, dtype=torch.float64).expand(4, 3)
        return torch.cat([torch.linalg.cross(arms, direction), direction], -1)

    diagonal = torch.tensor([MASS * SIDE**2 / 6] * 3 + [MASS] * 3, dtype=torch.float64)
    free = real(batch, 6, generator=g)
    free[:, :2] *= 0.1
    free[:, 5] = -0.02
    return ContactProblem(
        torch.diag(diagonal).expand(batch, -1, -1),
        free,
        rows([0.0, 0.0, 1.0]).expand(batch, -1, -1),
        torch.stack([rows([1.0, 0.0, 0.0]), rows([0.0, 1.0, 0.0])], 1).expand(batch, -1, -1, -1),
        torch.rand(batch, 1, generator=g, dtype=torch.float64).repeat(1, 4),
        torch.zeros(batch, 4, dtype=torch.float64),
    )


@pytest.mark.parametrize('make', [jointed, boxes, cubes])
def test_the_exact_step_keeps_all_conditions(make):
    problem = make()
    found = solve_lcp(problem)
    v = found.velocity[..., None]
    opening = (problem.normals @ v)[..., 0] - problem.least
    sliding = (problem.tangents @ v[:, None])[..., 0]
    assert opening.min() > -1e-6 and found.normal.min() > -1e-9
    assert (opening * found.normal).abs().max() < 1e-4 * found.normal.max()
    dragged = found.tangent.square().sum(-1).sqrt()
    assert (dragged - problem.friction * found.normal).max() < 1e-7
    # Friction takes energy away, in every contact.
    assert (found.tangent * sliding).sum(-1).max() < 1e-6
    rows = torch.cat([problem.normals[:, :, None], problem.tangents], 2).flatten(1, 2)
    impulses = torch.cat([found.normal[..., None], found.tangent], -1).flatten(1)
    change = (problem.mass @ (v - problem.free[..., None]))[..., 0]
    change = change - (rows.mT @ impulses[..., None])[..., 0]
    if problem.joints is None:
        assert change.abs().max() < 1e-8
    else:
        assert (problem.joints @ v).abs().max() < 1e-8
        # What is left over is made by the joints.
        held = torch.linalg.lstsq(problem.joints.mT, change[..., None]).solution
        assert (problem.joints.mT @ held - change[..., None]).abs().max() < 1e-7


def test_a_box_sticks_slides_and_comes_to_rest_as_coulomb_says():
    box = boxes(3)
    speed, down = torch.tensor([0.01, 0.05, 1.0], dtype=torch.float64), -0.1
    free = torch.zeros(3, 3, dtype=torch.float64)
    free[:, 0], free[:, 1] = speed, down
    found = solve_lcp(replace(box, free=free, friction=torch.full_like(box.friction, 0.3)))
    # The friction of an impulse m .1 takes .03 m/s at most; less would tip the box over.
    assert torch.allclose(found.velocity[:, 0], (speed - 0.03).clamp(min=0.0), atol=1e-7)
    assert torch.allclose(found.normal.sum(1), torch.full_like(speed, -down * MASS), atol=1e-7)


@pytest.mark.parametrize('solve', [solve_lcp, solve_convex])
def test_equal_balls_exchange_their_velocities(solve):
    eye = torch.eye(2, dtype=torch.float64)[None]
    rows = torch.tensor([[[-1.0, 1.0]]], dtype=torch.float64)

    def after(before):
        closing = (rows @ before[..., None])[..., 0]
        problem = ContactProblem(eye, before, rows, 0 * rows[:, None], closing * 0, -closing)
        return solve(problem).velocity

    before = torch.tensor([[1.0, 0.2]], dtype=torch.float64)
    assert torch.allclose(after(before), before.flip(1), atol=1e-6)
    slopes = torch.autograd.functional.jacobian(after, before)[0, :, 0]
    assert torch.allclose(slopes, eye[0].flip(0), atol=1e-6)


@pytest.mark.parametrize('solve', [solve_lcp, solve_convex])
@pytest.mark.parametrize('make', [lambda: jointed(30, contacts=1), lambda: jointed(12)])
def test_gradients_are_central_differences_to_five_digits(make, solve):
    problem = make()
    g = torch.Generator().manual_seed(5)
    names = [f.name for f in fields(problem) if getattr(problem, f.name) is not None]
    values = [getattr(problem, name).clone().requires_grad_() for name in names]
    directions = [real(*value.shape, generator=g) for value in values]
    directions[0] = directions[0] + directions[0].mT
    weights = real(*problem.free.shape, generator=g)

    def loss(moved):
        found = solve(replace(problem, **dict(zip(names, moved))))
        return (found.velocity * weights).sum(1) + found.normal.sum(1) + found.tangent.sum((1, 2))

    gradients = torch.autograd.grad(loss(values).sum(), values)
    by_gradient = sum((a * b).flatten(1).sum(1) for a, b in zip(gradients, directions))
    size = 1e-6
    with torch.no_grad():
        ahead, behind = (
            loss([v + s * size * d for v, d in zip(values, directions)]) for s in (1, -1)
        )
    differences = (ahead - behind) / (2 * size)
    error = (by_gradient - differences).abs() / (1 + differences.abs())
    assert error.max() < 1e-5
    _, forwards = torch.func.jvp(lambda *v: loss(v), tuple(values), tuple(directions))
    assert torch.allclose(forwards, by_gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize('make', [lambda: jointed(100, contacts=1), boxes])
def test_the_regularised_step_agrees_with_the_exact_one_in_the_plane(make):
    problem = make()
    exact, fast = solve_lcp(problem), solve_convex(problem)
    scale = problem.free.abs().amax(1, keepdim=True)
    error = ((fast.velocity - exact.velocity).abs() / scale).amax(1)
    # It knows where it has failed, which is rare.
    assert fast.is_solved.double().mean() > 0.98
    assert error[fast.is_solved].max() < 1e-5


def test_the_regularised_step_agrees_with_a_fine_polygon_in_space():
    problem = cubes(20)
    exact, fast = solve_lcp(problem, directions=48), solve_convex(problem)
    sliding = problem.free[:, 3:5].square().sum(1).sqrt()[:, None]
    coarse = 1 - math.cos(math.pi / 48)
    assert ((fast.velocity - exact.velocity)[:, 3:].abs() / sliding).max() < 2 * coarse


def test_pivoting_finds_what_the_interior_point_finds():
    problem = boxes(40)
    reduced = problem.reduced()
    polygon = complementarity._polygon(reduced.speeds, 2)
    matrix, vector = complementarity._as_lcp(reduced, polygon)
    z = torch.stack([complementarity._lemke(m, q, 2) for m, q in zip(matrix, vector)])
    impulses = torch.cat([z[:, :2, None], z[:, 2:-2].unflatten(1, (2, -1)) @ polygon], -1)
    by_pivots = reduced.solution(impulses, 0).velocity
    assert torch.allclose(by_pivots, solve_lcp(problem).velocity, atol=1e-6)


def test_what_joints_have_come_apart_by_is_taken_back():
    problem = jointed(5)
    drift = 0.1 * torch.ones(5, 3, dtype=torch.float64)
    found = solve_lcp(replace(problem, drift=drift))
    moved = (problem.joints @ found.velocity[..., None])[..., 0]
    assert torch.allclose(moved, drift, atol=1e-9)
