"""From what a pipeline knows to what is shown."""

import numpy as np

from ...observability.null_space import straight_draws
from ...prediction.forecast import forecast, link_paths
from .kernels import AXES, Kernels
from .scene import View

_DRAWS = 200


def view_of(
    problem,
    mixture,
    findings,
    efforts=None,
    chosen=(),
    trail=(),
    frame_prefix='',
    ghosts=15,
    horizon=1.0,
):
    """
    Return the `View` of a posterior.

    mixture: of state and parameters, in the problem's coordinates; findings: `Findings` on it;
    efforts: of the commands at present, None where the future is not shown; chosen: three labels
    of coordinates to show the mixture in, by default the first ones; trail: earlier means [p] of
    the mixture; ghosts: how many draws are shown moving on beside the likeliest motion, for
    `horizon` [s]. The draws depend on the stamp of the findings alone.
    """
    generator = np.random.default_rng([abs(findings.stamp_ns)])
    parametrization, paths, kernels = problem.parametrization, {}, None
    draws = straight_draws(parametrization, mixture.draw(_DRAWS, generator), generator)
    if efforts is not None:
        future = forecast(problem, mixture, efforts, generator, ghosts + 1, horizon)
        paths = link_paths(problem, future)
    if chosen or len(problem.labels) >= AXES:
        axes = tuple(chosen) or problem.labels[:AXES]
        kernels = Kernels.of(mixture, problem.labels, problem.prior, axes, trail)
    return View(
        problem.parameters,
        findings.parameters,
        parametrization.fixed,
        dict(zip(parametrization.names, parametrization.inner.to_named(draws))),
        paths,
        kernels,
        frame_prefix,
    )
