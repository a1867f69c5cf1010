"""
What to do next: the motion, the value or the sensor that would tell what is not known yet.

Each sentence follows from the verdicts. Whether any motion can tell a parameter of a body is
found by asking the model: torques along random motions of all joints depend on it, or do not.
"""

import numpy as np

from ....model.friction import COUPLED_FRICTIONS, FRICTIONS
from ....model.parameters import is_of_mass, is_strength, owner_of
from ....observability.findings import unobservable_deviations
from ....observability.null_space import tangents_of
from ....observability.verdicts import Verdict
from ..blocks import Section, Text

_TITLE = 'Do this next'
# What stands above the lines of each kind.
_REPAIR, _MOVE, _LEAVE = 'First:', 'Another motion:', 'Not needed:'
_FIX = (
    'A value from elsewhere, in the settings as estimate: {NAME: {mean: VALUE, fixed: true}}. It '
    'is needed only where you want each number: the combination is known and can be used.'
)
# Lines below a heading at most, and names in a line.
_LINES, _NAMES = 8, 6
# Parts of a parameter's prior standard deviation that no motion can reduce: from the first on no
# motion determines it, from the second on none tells it apart from others.
_HIDDEN, _SHARED = 0.95, 0.3
# Random motions by which the model is asked: states for each parameter, speeds [rad/s or m/s],
# accelerations [rad/s^2 or m/s^2]; singular values below this part of the largest are rounding.
_STATES, _SPEED, _ACCELERATION, _ROUNDING = 2, 1.5, 5.0, 1e-9
# What a joint has to do so that something inside it shows.
_MOTIONS = {
    **{name: term.shown_by for name, term in FRICTIONS.items()},
    **dict.fromkeys(('stiffness', 'rest'), 'rest at several positions of the range'),
    'armature': 'accelerate the joint more, without more speed',
    'delay': 'move with quick changes of speed, which a delay shifts visibly',
    'noise': 'record for longer',
}
# The same for two links that touch. Nothing is said of what data hardly ever tell.
_OF_CONTACTS = {
    'friction': (_MOVE, 'To learn {}: let it slide, or let it land at an angle.'),
    'dissipation': (_MOVE, 'To learn {}: let it bounce, from several heights.'),
}
# Degrees of freedom of a robot's base that floats.
_FREE = 6
# Terms that hold or brake every joint that moves: who knows none of them has not moved it.
_DISSIPATION = ('damping', 'friction', *COUPLED_FRICTIONS)
_BODY = ('mass', 'com', 'inertia')
_GEOMETRY = ('origin', 'mount', 'length', 'offset')
# Of several parameters that are one too many, the earlier is the easier to learn elsewhere.
_SOURCES = {
    'mass': 'weigh the link',
    'armature': "the motor's data sheet has it: rotor inertia times the square of the gear ratio",
    'torque_constant': "the motor's data sheet has it",
    'length': 'measure it',
    'com': 'from CAD, or balance the link on an edge',
    'gain': 'calibrate the torque of the joint',
    'inertia': 'from CAD',
}


def next_steps(found):
    """Return the section of what to do next."""
    known, lists = found.findings.parameters, {}
    for heading, sentence in _steps(found, known):
        lists.setdefault(heading, []).append(sentence)
    if not lists:
        if known and all(_has(each, Verdict.IDENTIFIED) for each in known):
            return Section(_TITLE, missing='Nothing: every parameter has been identified.')
        return Section(_TITLE, missing='Record more of the same motion, or go through more poses.')
    blocks = []
    for heading in (_REPAIR, _MOVE, _FIX, _LEAVE):
        sentences = lists.get(heading, ())
        if not sentences:
            continue
        more = len(sentences) - _LINES
        last = [f'and {more} more like these, in the table below'] if more > 0 else []
        blocks.append(Text(heading, (*sentences[:_LINES], *last)))
    return Section(_TITLE, tuple(blocks))


def _steps(found, known):
    """Yield (heading, sentence) of all there is to do, the most urgent first."""
    yield from ((_REPAIR, sentence) for sentence in _repairs(found.findings, known))
    robot = _Robot(found)
    resting = robot.resting(known)
    if resting:
        yield (
            _MOVE,
            f'Move {_listed(resting)}: even the friction there is as uncertain as before, so the '
            'joint hardly moved. Go through much of the range both ways, at two speeds at least.',
        )
    others = [each for each in known if robot.joint_of(each.name) not in resting]
    if robot.is_unscaled and any(
        is_of_mass(each.name) and _has(each, Verdict.ALIASED, Verdict.PRIOR_ONLY)
        for each in others
    ):
        yield (
            _FIX,
            'Fix one mass that you have weighed, or apply a known force: without a measured or '
            'commanded effort only ratios of masses show in a motion.',
        )
    yield from map(robot.remedy, _apart(others))
    yield from _of_prior_only(robot, [each for each in others if _has(each, Verdict.PRIOR_ONLY)])


def _repairs(findings, known):
    """Yield what to repair before anything else counts."""
    if any(_has(each, Verdict.MISFIT) for each in known):
        why = f' ({findings.obstacle})' if findings.obstacle else ''
        yield (
            f'Repair units, signs and the robot description{why}: until then nothing is called '
            'identified, whatever the motion.'
        )
    odd = [each.name for each in known if _has(each, Verdict.OUT_OF_PRIOR)]
    if odd:
        yield (
            f'Check the prior, the unit and the description of {_listed(odd)}: the data ask for '
            'values far from what was believed.'
        )
    several = [each.name for each in known if _has(each, Verdict.AMBIGUOUS)]
    if several:
        yield (
            f'Make a motion that decides about {_listed(several)}, for example with a known '
            'torque: separate answers fit.'
        )


def _apart(known):
    """Return the groups of names that data do not tell apart, those of aliased parameters."""
    groups = []
    for each in known:
        if _has(each, Verdict.ALIASED):
            names = {each.name, *each.aliases}
            touching = [group for group in groups if group & names]
            groups = [group for group in groups if not group & names]
            groups.append(names.union(*touching))
    order = {each.name: place for place, each in enumerate(known)}
    last = len(order)
    groups = [sorted(group, key=lambda name: order.get(name, last)) for group in groups]
    return sorted(groups, key=lambda group: order.get(group[0], last))


def _of_prior_only(robot, known):
    """Yield (heading, sentence) for parameters of which data say nothing, by what to do."""
    names = [each.name for each in known]
    bodies = [name for name in names if _kind(name) in _BODY and owner_of(name) in robot.links]
    if robot.is_unscaled:
        # That a mass or a force is needed has been said.
        bodies = [name for name in bodies if _kind(name) != 'mass']
    hidden = [name for name in bodies if robot.hidden.get(name, 0.0) >= _HIDDEN]
    slow = [name for name in bodies if name not in hidden]
    if slow:
        joints = robot.movers(map(owner_of, slow))
        yield (
            _MOVE,
            f'Move {robot.named(joints)} with larger accelerations and in more poses: '
            f'{_by_owner(slow)} would show then, and do not show above the noise so far.',
        )
    by_advice = {}
    for name in names:
        if name not in bodies and (advice := robot.advice(name)):
            by_advice.setdefault(advice, []).append(name)
    for (heading, advice), group in by_advice.items():
        yield heading, advice.format(_listed(group))
    if hidden:
        yield (
            _LEAVE,
            f'Leave {_by_owner(hidden)} as they are: no motion of this robot determines them, '
            'and its predictions need none of them by itself. Where you need the numbers, take '
            'them from CAD.',
        )


class _Robot:
    """What the sentences ask of a robot."""

    def __init__(self, found):
        """Take the `Identification`."""
        model = found.problem.model
        moving = [joint for joint in model.joints if not joint.is_fixed]
        self.links = {link.name for link in model.links}
        self.joints = {joint.name for joint in moving}
        self.owners = self.links | self.joints
        self.contacts = {pair.name for pair in model.contacts}
        self.free = {j.name for j in moving if j.kind.velocity_size == _FREE}
        self.hidden = _hidden(found)
        self.is_unscaled = not model.commands
        self._above = {joint.child: joint for joint in model.joints}

    def joint_of(self, name):
        """Return the joint that a parameter is of, None where it is of none."""
        owner = owner_of(name)
        return owner if owner in self.joints else None

    def resting(self, known):
        """Return the joints of which not even friction is known better than before."""
        by_joint = {}
        for each in known:
            if self.joint_of(each.name) and _kind(each.name) in _DISSIPATION:
                unknown = by_joint.setdefault(owner_of(each.name), [])
                unknown.append(_has(each, Verdict.PRIOR_ONLY))
        return [joint for joint, unknown in by_joint.items() if all(unknown)]

    def carriers(self, link):
        """Return the joints that move a link, from the base on."""
        result = []
        while link in self._above:
            joint = self._above[link]
            result += [] if joint.is_fixed else [joint.name]
            link = joint.parent
        return result[::-1]

    def movers(self, links):
        """Return the joints that move some links, the two next to each."""
        return list(dict.fromkeys(j for link in links for j in self.carriers(link)[-2:]))

    def named(self, joints):
        """Return joints in a sentence."""
        if self.free & set(joints):
            return 'the whole robot'
        return 'all joints' if 1 < len(self.joints) <= len(joints) else _listed(joints)

    def advice(self, name):
        """Return (heading, sentence with a place for names) for a parameter that is no body's."""
        kind = _kind(name).removeprefix('coupled_')
        if owner_of(name) in self.contacts:
            return _OF_CONTACTS.get(kind)
        if is_strength(name):
            return _FIX, (
                'To learn {}: fix a mass that you have weighed, or repeat the motion with a '
                'payload of known mass. Nothing else says how large a torque really is.'
            )
        if kind in _MOTIONS:
            return _MOVE, f'To learn {{}}: {_MOTIONS[kind]}.'
        if kind in _GEOMETRY or owner_of(name) not in self.owners:
            return _MOVE, 'To learn {}: go through more poses, or add another sensor.'
        return None

    def remedy(self, names):
        """Return (heading, sentence) on names that data do not tell apart."""
        own = [name for name in names if ' ' not in name]
        kinds, owners = {_kind(name) for name in own}, list(dict.fromkeys(map(owner_of, own)))
        if set(owners) & self.contacts:
            return _MOVE, (
                f'Let slide, roll and drop what touches, at several speeds: {_listed(own)} cannot '
                'be told apart so far.'
            )
        if len(own) < len(names):
            others = _listed([name for name in names if name not in own])
            return _REPAIR, (
                'Find what else acts on the robot, such as a cable or friction of another kind: '
                f'{_listed(own)} cannot be told apart from {others}.'
            )
        if kinds <= {*FRICTIONS, *COUPLED_FRICTIONS}:
            return _MOVE, (
                f'Move {_listed(owners)} at constant speeds, slow and fast, in both directions: '
                f'{_listed(own)} cannot be told apart so far.'
            )
        best = min(own, key=lambda name: (_rank(name), own.index(name)))
        source = _SOURCES.get(_kind(best), 'measure it')
        others = _listed([name for name in own if name != best])
        shared = max((self.hidden.get(name, 0.0) for name in own), default=0.0)
        joints = self.movers(owner for owner in owners if owner in self.links)
        joints = joints or [owner for owner in owners if owner in self.joints]
        if shared >= _SHARED or not joints:
            return _FIX, f'Fix {best} ({source}): no motion tells it apart from {others}.'
        return _MOVE, (
            f'Move {self.named(joints)} together, with larger accelerations and in more poses: '
            f'{_listed(own)} cannot be told apart so far. Or fix {best} ({source}).'
        )


def _hidden(found):
    """Return name -> part of its prior standard deviation that no motion can reduce."""
    problem = found.problem
    parametrization, inner = problem.parametrization, problem.parametrization.inner
    deviations = np.sqrt(np.diag(inner.apart.prior.covariance))
    if problem.torque is None:
        left = unobservable_deviations(
            inner, tangents_of(parametrization, found.posterior.mixture)
        )
        return dict(zip(inner.names, (left / deviations).clip(0, 1).tolist()))
    root = inner.prior.root
    _, sizes, directions = np.linalg.svd(_slopes(problem) @ root)
    blind = root @ directions[np.count_nonzero(sizes > _ROUNDING * sizes.max()) :].T
    separated = inner.separation(inner.prior.mean[:, None])[0] @ blind
    left = np.linalg.norm(separated, axis=1)
    return dict(zip(inner.names, (left / deviations).clip(0, 1).tolist()))


def _slopes(problem):
    """Return the derivative [N, p] of torques by coordinates along random motions."""
    torque, model, mean = problem.torque, problem.model, problem.parametrization.prior.mean
    states = max(_STATES * len(mean) // max(len(torque.joints), 1), 10)
    generator = np.random.default_rng(0)
    positions = generator.uniform(-np.pi, np.pi, (states, model.position_size))
    speeds, accelerations = generator.standard_normal((2, states, model.velocity_size))
    standard, by_coordinates = torque.standard(mean)
    columns = torque.columns(positions, _SPEED * speeds, _ACCELERATION * accelerations, standard)
    scales, by_gain = torque.scales(mean)
    slopes = scales[:, None] * (columns @ by_coordinates)
    slopes = slopes + (columns @ standard)[..., None] * by_gain
    return (slopes / torque.limits[:, None]).reshape(-1, len(mean))


def _has(finding, *verdicts):
    """Tell whether a `ParameterFinding` has one of some verdicts."""
    return Verdict(finding.verdict) in verdicts


def _kind(name):
    """Return what a parameter is of its owner, all axes alike: 'link.com.x' is 'com'."""
    return name.removeprefix(f'{owner_of(name)}.').partition('.')[0]


def _rank(name):
    kinds = list(_SOURCES)
    return kinds.index(_kind(name)) if _kind(name) in kinds else len(kinds)


def _listed(names):
    """Return some names as a list in a sentence."""
    names = list(dict.fromkeys(names))
    if len(names) > _NAMES:
        names = [*names[: _NAMES - 1], f'{len(names) - _NAMES + 1} more']
    return ' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))


def _by_owner(names):
    """Return names in a sentence, many of one link as their number."""
    owners = {}
    for name in names:
        owners.setdefault(owner_of(name), []).append(name)
    parts = [
        own[0] if len(own) == 1 else f'{len(own)} parameters of {owner}'
        for owner, own in owners.items()
    ]
    return _listed(parts)
