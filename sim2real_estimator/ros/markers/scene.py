"""Everything that is shown of a robot."""

from dataclasses import dataclass, field
from functools import cached_property
import math

import numpy as np

from ...model.parameters import owner_of, Parameters
from ..looks import worst_look
from .future import future_markers
from .joints import joint_markers
from .kernels import kernel_markers, Kernels
from .links import link_markers
from .panel import panel_markers

_LEAST_SIZE = 0.1


@dataclass(frozen=True)
class View:
    """
    What is to be shown.

    parameters: the robot's; findings: a `ParameterFinding` for each that is estimated; fixed:
    name -> value of others that are not as the robot description says; draws: name -> [N] of the
    posterior, by physical parameters; paths: link -> [N, H + 1, 3], of `problem.forecast`;
    kernels: None where the mixture is not shown; frame_prefix: what robot_state_publisher puts
    before the names of links.
    """

    parameters: Parameters
    findings: tuple
    fixed: dict = field(default_factory=dict)
    draws: dict = field(default_factory=dict)
    paths: dict = field(default_factory=dict)
    kernels: Kernels | None = None
    frame_prefix: str = ''

    @cached_property
    def values(self):
        """By name what is not as the robot description says; means of what is estimated."""
        means = {found.name: found.mean for found in self.findings}
        known = {**self.fixed, **means}
        return {name: value for name, value in known.items() if name in self.parameters}

    @cached_property
    def drawn_values(self):
        """The same with draws [N] in place of means."""
        return {**self.values, **self.draws}

    @cached_property
    def zeros(self):
        """A zero for every draw."""
        return np.zeros(len(next(iter(self.draws.values()))))

    @cached_property
    def size(self):
        """How far the robot reaches from its base [m]: the measure of all that is drawn."""
        model, reach = self.parameters.model, {}
        reach[model.base] = 0.0
        for joint in model.ordered_joints:
            reach[joint.child] = reach[joint.parent] + math.hypot(*joint.origin)
        ends = [reach[link] + rule.nominal for link, rule in self.parameters.length_rules.items()]
        return max(*reach.values(), *ends, _LEAST_SIZE)

    def look_of_owner(self, owner):
        """Return the `Look` of a link or joint: of what is least known about it."""
        of_owner = [found for found in self.findings if owner_of(found.name) == owner]
        return worst_look(found.verdict for found in of_owner)

    def words(self, found):
        """Return mean, standard deviation and unit of a finding as text."""
        unit = self.parameters.unit(found.name)
        return f'{found.mean:.4g} \u00b1 {found.sd:.2g} {unit}'


def scene(view):
    """Return the markers of a `View`."""
    markers = [
        *link_markers(view),
        *joint_markers(view),
        *future_markers(view),
        *panel_markers(view),
        *kernel_markers(view),
    ]
    for marker in markers:
        marker.header.frame_id = view.frame_prefix + marker.header.frame_id
    return markers
