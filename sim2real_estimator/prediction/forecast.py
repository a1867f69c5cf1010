"""The present state and the predicted motion of the robot, by draws of the posterior."""

from dataclasses import dataclass

import numpy as np
import torch

from ..dynamics.kinematics import link_poses
from ..model.robot import realize
from ..records import Frame
from ..spatial.vector import Vec3

_NANO = 1e9


@dataclass(frozen=True)
class Forecast:
    """
    Predicted motions of N draws, of which the first is the mean of the heaviest component.

    times [H + 1] [s], from now; states [H + 1, nx, N]; parameters [p, N]: coordinates.
    """

    times: np.ndarray
    states: np.ndarray
    parameters: np.ndarray


def mean_state(problem, mixture):
    """Return the mean [nx] of the states of a mixture, in local coordinates of the heaviest."""
    centre = mixture.points[:, [mixture.heaviest()]]
    away = problem.local(np.repeat(centre, mixture.size, 1), mixture.points)
    return problem.retract(centre, (away @ mixture.weights)[:, None])[:, 0]


def forecast(problem, mixture, efforts, generator, count=16, seconds=1.0, instants=20):
    """
    Return a `Forecast` of `count` draws of state and parameters under constant efforts.

    efforts: a number for every command; unknown ones (NaN) count as zero. Motions that do not stay
    finite are left out.
    """
    points, parameters = _draws(problem, mixture, generator, count)
    step = round(seconds * _NANO / instants)
    inputs = ((0, np.asarray(efforts, dtype=float)),) if len(efforts) else ()
    frames = [Frame(k * step, (k + 1) * step, (), inputs) for k in range(instants)]
    with np.errstate(all='ignore'):
        states = problem.trajectory(points, parameters, frames)
    is_finite = np.isfinite(states).all((0, 1))
    times = np.arange(instants + 1) * step / _NANO
    return Forecast(times, states[..., is_finite], parameters[:, is_finite])


def _draws(problem, mixture, generator, count):
    """Return points [nx, N] and parameters [p, N]: the heaviest component's means, then draws."""
    weights = mixture.weights / mixture.weights.sum()
    chosen = generator.choice(mixture.size, count, p=weights)
    noise = generator.standard_normal((count, mixture.roots.shape[-1], 1))
    chosen[0], noise[0] = mixture.heaviest(), 0.0
    moved = (mixture.roots[chosen] @ noise)[..., 0].T
    size = problem.tangent_size
    points = problem.retract(mixture.points[:, chosen], moved[:size])
    return points, mixture.means[:, chosen] + moved[size:]


def link_paths(problem, future):
    """
    Return link name -> the path [N, H + 1, 3] of its end [m], in the frame of the base link.

    future: a `Forecast`. The links are the leaves of the tree; see `link_ends`.
    """
    instants, _, count = future.states.shape
    model, parametrization = problem.model, problem.parametrization
    named = dict(
        zip(parametrization.names, np.tile(parametrization.to_named(future.parameters), instants))
    )
    values = {name: torch.from_numpy(row) for name, row in named.items()}
    fixed = {
        name: value for name, value in parametrization.fixed.items() if name in problem.parameters
    }
    robot = realize(problem.parameters, {**fixed, **values})
    flat = torch.from_numpy(np.moveaxis(future.states, 1, 0).reshape(problem.point_size, -1))
    poses = link_poses(robot, list(flat[: model.position_size]), [0.0] * model.velocity_size)
    paths = {}
    for link, end in link_ends(problem.parameters, values).items():
        point = poses[link].position + poses[link].rotation * end
        rows = [torch.as_tensor(x).expand(instants * count).numpy() for x in point]
        paths[link] = np.stack(rows, 1).reshape(instants, count, 3).swapaxes(0, 1)
    return paths


def link_ends(parameters, values):
    """
    Return link name -> the end [m], in its own frame, of every moving link without children.

    It is the origin where the link has no length. values: name -> scalar.
    """
    model = parameters.model
    parents = {joint.parent for joint in model.joints}
    ends = {}
    for link in model.links:
        if link.name in parents or model.attachments[link.name].body < 0:
            continue
        rule = parameters.length_rules.get(link.name)
        length = values.get(f'{link.name}.length', rule.nominal if rule else 0.0)
        ends[link.name] = Vec3(*rule.axis) * length if rule else Vec3.zero()
    return ends
