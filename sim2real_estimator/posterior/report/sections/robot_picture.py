"""
The robot, drawn from its description without meshes and coloured by verdicts.

Links are strokes from joint to joint, seen from the side on which the fewest of them hide one
another. At the centre of mass of each is a ball of its mass, divided like a pie among the verdicts
of its parameters.
"""

from collections import Counter
from html import escape
from itertools import combinations
import math

import numpy as np

from ....dynamics.kinematics import link_poses
from ....model.parameters import owner_of
from ....model.robot import joint_origin, link_inertia, realize
from ....observability.looks import look_of, LOOKS
from ....prediction.forecast import link_ends
from ....spatial.vector import Vec3
from ..blocks import Section
from ..drawing import svg_picture
from ..figure_style import class_of, LIGHT, VERDICTS

_TITLE = 'The robot'
# Directions that are tried to look from: turns about the vertical; height [rad].
_TURNS, _HEIGHT = np.radians(np.arange(0, 360, 15)), math.radians(18)
# Angle by which joints are bent where nothing is known of a motion [rad].
_BENT = 0.45
# Sizes on the picture [px]: of the robot, of a line of names, of a letter (width), strokes, balls.
_WIDE, _TALL, _LINE, _LETTER = 300, 330, 24, 7.3
_STROKE, _BALL, _LEAST_BALL, _JOINT, _MARGIN = 9.0, 17.0, 5.0, 5.5, 22
# How much larger it is shown where there is room.
_SHOWN = 1.3
_BASE, _NO_VERDICT, _INK = '#444444', LIGHT, '#222222'
# Points that are nearer to each other than this part of the robot are at one place.
_SAME = 1e-3
# Ranks of verdicts where two are equally frequent: the later in the table is drawn.
_RANK = {verdict.value: rank for rank, verdict in enumerate(LOOKS)}


def robot(found):
    """Return the section with the picture."""
    verdicts = _by_owner(found.findings.parameters)
    drawn = _Scene(found, verdicts)
    words = [word for word in VERDICTS if any(word in own for own in verdicts.values())]
    legend = [(class_of(word), f'{VERDICTS[word][2]} {word}') for word in words]
    caption = (
        'Each link has the colour of the verdict that most of its parameters have, each joint '
        '(ring) that of its own. A ball is at the centre of mass of its link, the larger the '
        'heavier, and shows which part of its parameters has which verdict. '
        f'The robot {drawn.pose}.'
    )
    alt = f'{found.problem.model.name}: its links, coloured by verdicts'
    return Section(_TITLE, (svg_picture(drawn.svg(), caption, alt, tuple(legend)),))


def _by_owner(known):
    """Return link or joint -> `Counter` of the verdicts of its parameters."""
    result = {}
    for each in known:
        result.setdefault(owner_of(each.name), Counter())[each.verdict] += 1
    return result


def _usual(counted):
    """Return the word of the most frequent verdict of a `Counter`, None where it is empty."""
    if not counted:
        return None
    return max(counted, key=lambda word: (counted[word], _RANK[word]))


def _colour(counted):
    word = _usual(counted)
    return look_of(word).web if word else _NO_VERDICT


class _Scene:
    """Where links, joints and centres of mass of a robot are, and how they look."""

    def __init__(self, found, verdicts):
        """
        Take an `Identification` and the `Counter`s of verdicts by owner.

        pose: how it is bent, as the rest of a sentence.
        """
        self._verdicts, problem = verdicts, found.problem
        self._parameters, self._model = problem.parameters, problem.model
        means = {each.name: each.mean for each in found.findings.parameters}
        known = {**problem.parametrization.fixed, **means}
        self._values = {name: x for name, x in known.items() if name in self._parameters}
        positions, self.pose = _configuration(found)
        placed = realize(self._parameters, self._values)
        self._poses = link_poses(placed, positions, [0.0] * self._model.velocity_size)
        self._strokes, self._balls, self._joints = [], [], []
        for link in self._model.links:
            self._place(link.name)
        ends = [end for stroke in self._strokes for end in stroke[1:]]
        self._turn = _best_view(np.array([*ends, *(ball[1] for ball in self._balls)]))

    def _place(self, link):
        """Take note of a link's strokes, its ball and the joint that moves it."""
        model, pose = self._model, self._poses[link]

        def at(point):
            return np.array([float(x) for x in pose.position + pose.rotation * point])

        begin = at(Vec3.zero())
        children = [joint for joint in model.joints if joint.parent == link]
        ends = [at(joint_origin(self._parameters, joint, self._values)) for joint in children]
        free_end = link_ends(self._parameters, self._values).get(link)
        ends += [] if free_end is None else [at(free_end)]
        if model.attachments[link].body >= 0:
            body = link_inertia(self._parameters, link, self._values)
            mass = float(body.mass)
            if mass > 0:
                centre = at(Vec3(*(float(x) / mass for x in body.first_moment)))
                self._balls.append((link, centre, mass))
                if all(np.allclose(end, begin, atol=1e-6) for end in ends):
                    ends.append(centre)
        # A link that only ends at its own joint is a point.
        self._strokes += [(link, begin, end) for end in ends] or [(link, begin, begin)]
        movers = [joint for joint in model.joints if joint.child == link and not joint.is_fixed]
        self._joints += [(joint.name, begin) for joint in movers]

    def svg(self):
        """Return the picture as an SVG text."""
        flat = _Sheet(self._turn, [end for stroke in self._strokes for end in stroke[1:]])
        names = self._names(flat)
        height = max(flat.height, len(names) * _LINE + 2 * _MARGIN)
        shift = (height - flat.height) / 2
        longest = max((len(text) for _, text, _, _ in names), default=0)
        width = flat.width + 40 + longest * _LETTER
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{_SHOWN * width:.0f}" height="{_SHOWN * height:.0f}" '
            'font-family="DejaVu Sans, system-ui, sans-serif" font-size="13">',
            f'<g transform="translate(0 {shift:.1f})" stroke-linecap="round">',
        ]
        names = [(y - shift, *rest) for y, *rest in _spread(names, height, shift)]
        parts += [self._leader(flat, *each) for each in names]
        items = [
            (flat.depth(begin) + flat.depth(end), self._stroke(flat, link, begin, end))
            for link, begin, end in self._strokes
        ]
        parts += [text for _, text in sorted(items, key=lambda item: item[0])]
        parts += [self._ring(flat, joint, at) for joint, at in self._joints]
        heaviest = max((mass for _, _, mass in self._balls), default=1.0)
        parts += [self._ball(flat, *ball, heaviest) for ball in self._balls]
        parts += [_label(flat.width + 34, *each[:3]) for each in names]
        return '\n'.join((*parts, '</g></svg>'))

    def _names(self, flat):
        """Return (height on the sheet, words, verdict, place) of what is written of each link."""
        movers = {j.child: j.name for j in self._model.joints if not j.is_fixed}
        places = {link: centre for link, centre, _ in self._balls}
        starts = {link: (begin + end) / 2 for link, begin, end in self._strokes}
        names = []
        for link in self._model.links:
            moves = self._model.attachments[link.name].body >= 0
            # `world.gravity` is not of a base that happens to be called world.
            if not moves or link.name not in {*movers, *self._verdicts}:
                continue
            place = flat.point(places.get(link.name, starts[link.name]))
            words = ' · '.join(filter(None, (link.name, movers.get(link.name))))
            counted = self._verdicts.get(link.name) or self._verdicts.get(movers.get(link.name))
            names.append((place[1], words, _usual(counted), place))
        return sorted(names, key=lambda name: name[0])

    def _stroke(self, flat, link, begin, end):
        moves = self._model.attachments[link].body >= 0
        colour = _colour(self._verdicts.get(link)) if moves else _BASE
        width = _STROKE if moves or begin is not end else 2 * _STROKE
        (x1, y1), (x2, y2) = flat.point(begin), flat.point(end)
        line = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        return (
            f'<g><title>{escape(link)}</title>'
            f'<line {line} stroke="{_INK}" stroke-width="{width + 2:.1f}"/>'
            f'<line {line} stroke="{colour}" stroke-width="{width:.1f}"/></g>'
        )

    def _ring(self, flat, joint, at):
        (x, y), colour = flat.point(at), _colour(self._verdicts.get(joint))
        return (
            f'<g><title>{escape(joint)}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_JOINT}" fill="{_INK}"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_JOINT - 2.5}" fill="white" '
            f'stroke="{colour}" stroke-width="3"/></g>'
        )

    def _ball(self, flat, link, centre, mass, heaviest):
        """Return the pie of a link's verdicts, as large as a ball of its mass."""
        (x, y), counted = flat.point(centre), self._verdicts.get(link, Counter())
        radius = max(_BALL * (mass / heaviest) ** (1 / 3), _LEAST_BALL)
        total, turn, slices = sum(counted.values()), -math.pi / 2, []
        for word in VERDICTS:
            if counted[word]:
                angle = 2 * math.pi * counted[word] / total
                slices.append(_slice(x, y, radius, turn, angle, look_of(word).web))
                turn += angle
        return (
            f'<g><title>{escape(link)}: {mass:.3g} kg</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_NO_VERDICT}" '
            f'stroke="{_INK}" stroke-width="2"/>{"".join(slices)}</g>'
        )

    @staticmethod
    def _leader(flat, y, words, _, place):
        """Return the thin line from a name to its link."""
        end = flat.width + 8, y
        return (
            f'<polyline points="{place[0]:.1f},{place[1]:.1f} {end[0]:.1f},{end[1]:.1f} '
            f'{end[0] + 10:.1f},{end[1]:.1f}" fill="none" stroke="#999" stroke-width="1"/>'
        )


class _Sheet:
    """The map from places [m] to the picture [px]."""

    def __init__(self, turn, points):
        """Take the direction to look from and all that is to be seen."""
        self._axes = _axes(turn)
        flat = np.array(points) @ self._axes[:2].T
        low, high = flat.min(0), flat.max(0)
        size = np.maximum(high - low, 1e-6)
        inside = _WIDE - 2 * _MARGIN, _TALL - 2 * _MARGIN
        self._scale = min(inside[0] / size[0], inside[1] / size[1])
        self._low = low
        self.width, self.height = self._scale * size + 2 * _MARGIN
        self.width = max(self.width, _WIDE / 2)
        self._left = (self.width - self._scale * size[0]) / 2

    def point(self, at):
        """Return where a place [3] is on the sheet, downwards."""
        x, y = self._scale * (self._axes[:2] @ at - self._low)
        return self._left + x, self.height - _MARGIN - y

    def depth(self, at):
        """Return how near a place is, the nearer the more."""
        return float(self._axes[2] @ at)


def _axes(turn):
    """Return the axes [3, 3] to the right, upwards and to the viewer as rows."""
    c, s, up, flat = math.cos(turn), math.sin(turn), math.sin(_HEIGHT), math.cos(_HEIGHT)
    return np.array([[-s, c, 0.0], [-c * up, -s * up, flat], [c * flat, s * flat, up]])


def _best_view(points):
    """Return the turn from which points [N, 3] hide one another least."""
    size = np.ptp(points, axis=0).max() or 1.0
    pairs = [(a, b) for a, b in combinations(points, 2) if np.linalg.norm(a - b) > _SAME * size]
    apart = np.array([a - b for a, b in pairs]).reshape(-1, 3)

    def seen(turn):
        lengths = np.linalg.norm(apart @ _axes(turn)[:2].T, axis=1)
        return float(np.log(lengths / size + 0.03).sum())

    return max(_TURNS, key=seen)


def _configuration(found):
    """Return (positions of the robot, how it stands, as the rest of a sentence)."""
    model, mixture = found.problem.model, found.posterior.mixture
    size = model.position_size
    if size <= mixture.points.shape[0]:
        points = mixture.points[:size, mixture.heaviest()]
        if np.isfinite(points).all():
            return points.tolist(), 'stands as it did at the end of the data'
    positions = list(model.neutral_positions())
    for moving in model.moving_joints:
        is_turn = any(group.is_rotation for group in moving.joint.kind.groups)
        if moving.is_independent and moving.joint.kind.position_size == 1 and is_turn:
            limits = moving.joint.limits
            low = -math.inf if limits.lower is None else limits.lower
            high = math.inf if limits.upper is None else limits.upper
            positions[moving.positions.start] = min(max(_BENT, low), high)
    return positions, 'is drawn with its joints bent a little, so that links can be told apart'


def _spread(names, height, shift):
    """Return names with heights at which none touches another."""
    places = np.array([name[0] + shift for name in names])
    steps = _LINE * np.arange(len(names))
    # The nearest heights that keep the distance, by pooling neighbours that would overlap.
    pools = [[y, 1] for y in places - steps]
    merged = []
    for pool in pools:
        merged.append(pool)
        while len(merged) > 1 and merged[-2][0] > merged[-1][0]:
            mean, count = merged.pop()
            before, number = merged[-1]
            merged[-1] = [(before * number + mean * count) / (number + count), number + count]
    free = np.array([mean for mean, count in merged for _ in range(count)])
    free = free.clip(_MARGIN, max(height - _MARGIN - steps[-1], _MARGIN)) if len(free) else free
    return [(y, *name[1:]) for y, name in zip(free + steps, names)]


def _label(x, y, words, verdict):
    """Return the name of a link with the sign of its verdict."""
    look = look_of(verdict) if verdict else None
    sign = f'<tspan fill="{look.web_of_text}">{escape(look.sign)}</tspan> ' if look else ''
    return f'<text x="{x - 14:.1f}" y="{y + 4.5:.1f}" fill="{_INK}">{sign}{escape(words)}</text>'


def _slice(x, y, radius, begin, angle, colour):
    """Return a part of a pie."""
    if angle > 2 * math.pi - 1e-6:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}"/>'
    ends = [
        (x + radius * math.cos(turn), y + radius * math.sin(turn))
        for turn in (begin, begin + angle)
    ]
    (x1, y1), (x2, y2) = ends
    return (
        f'<path d="M{x:.1f},{y:.1f} L{x1:.1f},{y1:.1f} A{radius:.1f},{radius:.1f} 0 '
        f'{int(angle > math.pi)} 1 {x2:.1f},{y2:.1f} Z" fill="{colour}" stroke="white" '
        'stroke-width="0.7"/>'
    )
