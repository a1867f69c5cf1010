"""
The scene that rviz shows of a robot: links, joints, load, predicted motion, a table, the mixture.

`view_of` collects what is to be shown from a posterior, `scene` returns the markers of it, and a
`Board` turns them into messages and deletes those that vanish.
"""

from dataclasses import dataclass, field
from functools import cached_property
import math

import numpy as np

from ...messages import maker
from ...model.parameters import owner_of, Parameters
from ...model.robot import joint_origin, link_inertia
from ...observability.null_space import straight_draws
from ...observability.verdicts import Verdict
from ...prediction.forecast import forecast, link_ends, link_paths
from ...records import Payload
from ...spatial.inertia import complement_of_trace
from ..publishers.stamps import header
from ..verdict_looks import LOOKS, worst_look
from .marker_shapes import ball, line, plain, principal, rod, text
from .mixture_kernels import AXES, kernel_markers, Kernels

_LEAST_SIZE = 0.1
_VIEW_DRAWS = 200
_SKELETON, _SOLID, _CENTRE, _UNCERTAINTY = 'links', 'inertia', 'centres of mass', '2 sigma'
# In parts of the robot's size.
_THICKNESS, _DOT, _NEEDLE = 0.015, 0.008, 0.004
_FAINT, _HALF = 0.25, 0.5
_SIGMAS = 2.0
# Second moment of a solid ellipsoid about its centre: this part of mass times squared radius.
_SOLID_SHARE = 0.2
_LABELS = 'joints'
_QUANTITIES = ('damping', 'friction', 'armature', 'stiffness')
# In parts of the robot's size: letters, how far they begin from the joint, and the distance below
# which joints are at one place, as in a wrist.
_LABEL_HEIGHT, _LABEL_OFFSET, _TOGETHER = 0.055, 0.06, 0.05
# Half the width of a letter, in parts of its height and with what an oblique view takes from the
# offset: text is centred where it stands.
_HALF_LETTER = 0.34
# Of more joints than this only the names are written: the panel has the numbers.
_FEW_JOINTS = 3
_LOAD, _LOAD_TEXT = 'load', 'mass of the load'
# A load is drawn as a ball as dense as water [kg/m^3], at least so large in parts of the robot's
# size; its letters.
_LOAD_DENSITY, _LEAST_LOAD, _LOAD_HEIGHT = 1000.0, 0.03, 0.06
_LOAD_COLOR = (0.0, 0.45, 0.7)
_GREY = (0.85, 0.85, 0.85)
_LIKELIEST_ALPHA, _DRAWN_ALPHA = 0.9, 0.3
# In parts of the robot's size.
_LIKELIEST_WIDTH, _DRAWN_WIDTH = 0.008, 0.003
_PANEL = 'panel'
_PANEL_ROWS = 30
# In parts of the robot's size: letters, and where the middle of the table is.
_PANEL_HEIGHT, _PANEL_PLACE = 0.065, (0.0, -1.1, 0.2)
Marker = maker('visualization_msgs/msg/Marker')
MarkerArray = maker('visualization_msgs/msg/MarkerArray')


@dataclass(frozen=True)
class View:
    """
    What is to be shown.

    parameters: the robot's; findings: a `ParameterFinding` for each that is estimated; fixed:
    name -> value of others that are not as the robot description says; draws: name -> [N] of the
    posterior, by physical parameters; paths: link -> [N, H + 1, 3], of `problem.forecast`;
    kernels: None where the mixture is not shown; frame_prefix: what robot_state_publisher puts
    before the names of links; payload: the `Payload`, None where there is nothing.
    """

    parameters: Parameters
    findings: tuple
    fixed: dict = field(default_factory=dict)
    draws: dict = field(default_factory=dict)
    paths: dict = field(default_factory=dict)
    kernels: Kernels | None = None
    frame_prefix: str = ''
    payload: Payload | None = None

    @cached_property
    def values(self):
        """Name -> value of all that differs from the robot description, means where estimated."""
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
        """The reach of the robot from its base [m], which scales all markers."""
        model, reach = self.parameters.model, {}
        reach[model.base] = 0.0
        for joint in model.ordered_joints:
            reach[joint.child] = reach[joint.parent] + math.hypot(*joint.origin)
        ends = [reach[link] + rule.nominal for link, rule in self.parameters.length_rules.items()]
        return max(*reach.values(), *ends, _LEAST_SIZE)

    def look_of_owner(self, owner):
        """Return the `Look` of a link or joint, by its worst verdict."""
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
        *payload_markers(view),
        *future_markers(view),
        *panel_markers(view),
        *kernel_markers(view),
    ]
    for marker in markers:
        marker.header.frame_id = view.frame_prefix + marker.header.frame_id
    return markers


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
    tangents=None,
):
    """
    Return the `View` of a posterior.

    mixture: of state and parameters, in the problem's coordinates; findings: `Findings` on it;
    efforts: of the commands at present, None where the future is not shown; chosen: names of two
    parameters to show the mixture in, by default the first ones; trail: earlier means [p] of the
    mixture; ghosts: how many draws are shown moving on beside the likeliest motion, for `horizon`
    [s]; tangents: `Tangents` near the mixture, if there are any. The draws depend on the stamp of
    the findings alone.
    """
    generator = np.random.default_rng([abs(findings.stamp_ns)])
    parametrization, paths, kernels = problem.parametrization, {}, None
    draws = straight_draws(parametrization, mixture.draw(_VIEW_DRAWS, generator), generator)
    if efforts is not None:
        future = forecast(problem, mixture, efforts, generator, ghosts + 1, horizon)
        paths = link_paths(problem, future)
    if chosen or len(parametrization.names) >= AXES:
        axes = tuple(chosen) or parametrization.names[:AXES]
        kernels = Kernels.of(problem, mixture, axes, trail, tangents)
    return View(
        problem.parameters,
        findings.parameters,
        parametrization.fixed,
        dict(zip(parametrization.names, parametrization.inner.to_named(draws))),
        paths,
        kernels,
        frame_prefix,
        findings.payload,
    )


def link_markers(view):
    """Return the markers of all links that move, each in the frame of its link."""
    markers = []
    for number, link in enumerate(view.parameters.model.links):
        if view.parameters.model.attachments[link.name].body >= 0:
            look = view.look_of_owner(link.name)
            markers += _skeleton(view, number, link.name, look)
            markers += _mass(view, number, link.name, look)
    return markers


def _skeleton(view, number, link, look):
    """Return rods from the link's own joint to those that hang on it, or to its end."""
    parameters, size = view.parameters, view.size
    ends = {
        len(parameters.model.links) + k: joint_origin(parameters, joint, view.values)
        for k, joint in enumerate(parameters.model.joints)
        if joint.parent == link
    }
    free_end = link_ends(parameters, view.values).get(link)
    ends |= {} if free_end is None else {number: free_end}
    return [
        rod(_SKELETON, k, link, (0, 0, 0), tuple(end), _THICKNESS * size, look.color(_HALF))
        for k, end in ends.items()
        if np.linalg.norm([*end]) > _DOT * size
    ]


def _mass(view, number, link, look):
    """Return the inertia ellipsoid of a link, its centre of mass, and the latter's uncertainty."""
    body = link_inertia(view.parameters, link, view.values)
    if not body.mass > 0:
        return []
    centre = np.array([*body.first_moment]) / body.mass
    about_origin = np.array([[*row] for row in complement_of_trace(body.rotational).rows()])
    axes, moments = principal(about_origin / body.mass - np.outer(centre, centre))
    radii = np.sqrt(moments / _SOLID_SHARE)
    dot = [_DOT * view.size] * 3
    markers = [
        ball(_SOLID, number, link, centre, axes, radii, look.color(_FAINT)),
        ball(_CENTRE, number, link, centre, np.eye(3), dot, look.color()),
    ]
    spread = _spread(view, link)
    if spread is not None:
        mean, covariance = spread
        axes, variances = principal(covariance)
        # Along directions that are not estimated the ellipsoid would be too thin to be seen.
        radii = np.maximum(_SIGMAS * np.sqrt(variances), _NEEDLE * view.size)
        markers.append(ball(_UNCERTAINTY, number, link, mean, axes, radii, look.color(_HALF)))
    return markers


def _spread(view, link):
    """Return mean [3] and covariance [3, 3] of the centre of mass, None where it is not drawn."""
    if not any(name.startswith((f'{link}.com.', f'{link}.length')) for name in view.draws):
        return None
    body = link_inertia(view.parameters, link, view.drawn_values)
    rows = np.broadcast_arrays(*(x / body.mass for x in body.first_moment), view.zeros)[:3]
    return np.mean(rows, 1), np.cov(rows)


def joint_markers(view):
    """Return a text at every joint of which something is estimated, in its child's frame."""
    labelled, level, markers = [], 0, []
    for number, joint in enumerate(view.parameters.model.joints):
        names = [f'{joint.name}.{quantity}' for quantity in _QUANTITIES]
        found = [each for each in view.findings if each.name in names]
        if found:
            labelled.append((number, joint, found))
    are_few = len(labelled) <= _FEW_JOINTS
    for number, joint, found in labelled:
        lines = [joint.name]
        if are_few:
            units = view.parameters.unit
            lines += [f'{_word(each)} {each.mean:.3g} {units(each.name)}' for each in found]
        # Where joints are at one place each name stands above the one before.
        is_together = markers and np.linalg.norm(joint.origin) < _TOGETHER * view.size
        level = level + 1 if is_together else 0
        words = '\n'.join(lines) + '\n ' * (2 * level)
        aside = _LABEL_OFFSET + _HALF_LETTER * _LABEL_HEIGHT * max(map(len, lines))
        position = (aside * view.size * x for x in _label_axis(joint))
        color, height = view.look_of_owner(joint.name).color(), _LABEL_HEIGHT * view.size
        markers.append(text(_LABELS, number, joint.child, position, height, words, color))
    return markers


def _word(found):
    return found.name.rpartition('.')[2]


def payload_markers(view):
    """Return a ball where a payload is held, and its mass as text; none where there is none."""
    payload = view.payload
    if payload is None or not payload.is_held:
        return []
    radius = (payload.mass / _LOAD_DENSITY * 3 / (4 * math.pi)) ** (1 / 3)
    radius = max(radius, _LEAST_LOAD * view.size)
    # One that is not valid is faint.
    color = plain(_LOAD_COLOR, 0.8 if payload.is_valid else _FAINT)
    height = _LOAD_HEIGHT * view.size
    # Away from the joint, at which there is other text.
    com = payload.mean[1:4]
    away = com / np.linalg.norm(com) if com.any() else np.array([0.0, 0.0, 1.0])
    beside = com + away * (radius + 1.5 * height)
    words = f'{payload.mass:.3g} \u00b1 {payload.mass_sd:.2g} kg'
    return [
        ball(_LOAD, 0, payload.frame, com, np.eye(3), [radius] * 3, color),
        text(_LOAD_TEXT, 0, payload.frame, beside, height, words, plain(_GREY)),
    ]


def _label_axis(joint):
    """Return the first axis of a joint, along which a label hides nothing of a flat robot."""
    return joint.kind.groups[0].axes[0]


def future_markers(view):
    """Return a line for the end of every link and every draw; the first is the likeliest one."""
    markers = []
    for link, paths in view.paths.items():
        for number, path in enumerate(paths):
            width, alpha = (
                (_DRAWN_WIDTH, _DRAWN_ALPHA) if number else (_LIKELIEST_WIDTH, _LIKELIEST_ALPHA)
            )
            space, base = f'future of {link}', view.parameters.model.base
            color = plain(_GREY, alpha)
            markers.append(line(space, number, base, path, width * view.size, color))
    return markers


def panel_markers(view):
    """
    Return one text per verdict, each with the rows of that verdict.

    All have the same lines, those of others being blank, and are equally wide: together they are
    one table in several colours, from wherever one looks.
    """
    shown, more = view.findings[:_PANEL_ROWS], len(view.findings) - _PANEL_ROWS
    lines = [f'{row.name}  {view.words(row)}  {row.verdict}' for row in shown]
    footer = f'and {more} more' if more > 0 else ' '
    # In rviz the space is as wide as the widest letters, and a text as wide as its longest line.
    ruler = ' ' * max(map(len, [footer, *lines]))
    place = [view.size * x for x in _PANEL_PLACE]
    markers = []
    for number, verdict in enumerate(Verdict):
        own = [row.verdict == verdict.value for row in shown]
        if any(own):
            words = [line if is_own else ' ' for line, is_own in zip(lines, own)]
            # The last line is of no verdict; it goes with the first row.
            words += [footer if own[0] else ' ', ruler]
            markers.append(
                text(
                    _PANEL,
                    number,
                    view.parameters.model.base,
                    place,
                    _PANEL_HEIGHT * view.size,
                    '\n'.join(words),
                    LOOKS[verdict].color(),
                )
            )
    return markers


class Board:
    """
    Turns scenes into messages.

    One MarkerArray per update, with all markers: each replaces the one of its namespace and id
    at once, and stays until it is replaced or deleted, so nothing flickers.
    """

    def __init__(self):
        """Begin with whatever an earlier run has left in rviz."""
        self._shown = None

    def update(self, markers, stamp_ns):
        """Return the MarkerArray that shows these markers and no others; stamp_ns: of the data."""
        wanted = {(marker.ns, marker.id): marker for marker in markers}
        if self._shown is None:
            orders = [Marker(action=Marker.DELETEALL)]
        else:
            orders = [
                Marker(ns=space, id=number, action=Marker.DELETE)
                for space, number in sorted(self._shown - set(wanted))
            ]
        for marker in wanted.values():
            marker.header.stamp = header(stamp_ns).stamp
        self._shown = set(wanted)
        return MarkerArray(markers=[*orders, *wanted.values()])

    def clear(self):
        """Return the MarkerArray that shows nothing."""
        self._shown = None
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
