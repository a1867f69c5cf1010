from dataclasses import replace
import math

import pytest

from sim2real_estimator.errors import ModelError
from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Limits, Link, Mimic, Model
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3

_BALL = Inertial(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
_POINT = Inertial(1.0, (0.0, 0.0, -1.0), (0.0,) * 6)
_Y = (0.0, 1.0, 0.0)


def _chain(*kinds, inertials=None, axes=None):
    """Return a chain base - l1 - l2 ... of joints j1, j2 ... of the given kinds."""
    inertials = inertials or [_BALL] * len(kinds)
    axes = axes or [_Y] * len(kinds)
    names = ['base', *(f'l{k + 1}' for k in range(len(kinds)))]
    joints = [
        Joint(f'j{k + 1}', JOINTS[kind](axes[k]), names[k], names[k + 1], (0.0, 0.0, 0.5))
        for k, kind in enumerate(kinds)
    ]
    links = [Link('base'), *map(Link, names[1:], inertials)]
    return Model('chain', tuple(links), tuple(joints), 'chain')


def _error(model, joint='j1', **changes):
    """Return what is said about a change of a joint."""
    with pytest.raises(ModelError) as caught:
        model.with_joint(joint, **changes)
    return str(caught.value)


def test_joints_come_after_the_joint_that_carries_them():
    model = _chain('revolute', 'fixed', 'prismatic')
    model = replace(model, joints=model.joints[::-1])
    assert model.base == 'base'
    assert [joint.name for joint in model.ordered_joints] == ['j1', 'j2', 'j3']
    assert [(m.joint.name, m.parent) for m in model.moving_joints] == [('j1', -1), ('j3', 0)]
    assert model.attachments['l2'].body == 0
    assert model.attachments['l2'].joints == (model.joint('j2'),)


def test_a_chain_may_be_longer_than_the_call_stack():
    assert _chain(*['revolute'] * 1500).velocity_size == 1500


def test_state_has_a_place_for_every_independent_joint():
    model = _chain('free', 'spherical', 'planar', 'revolute')
    assert (model.position_size, model.velocity_size, model.state_size) == (15, 13, 28)
    assert [m.positions.start for m in model.moving_joints] == [0, 7, 11, 14]
    assert [m.velocities.start for m in model.moving_joints] == [0, 6, 9, 12]
    assert model.neutral_positions() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_chains_of_mimics_are_followed_to_the_end():
    model = _chain('revolute', 'revolute', 'prismatic')
    model = model.with_joint('j3', mimic=Mimic('j1', 2.0, 0.1))
    model = model.with_joint('j2', mimic=Mimic('j3', -3.0, 0.5))
    follower = model.moving_joints[1]
    assert model.has_mimics
    assert model.velocity_size == 1
    assert (follower.multiplier, follower.positions) == (-6.0, slice(0, 1))
    assert follower.shift == pytest.approx(0.5 - 3.0 * 0.1)


def test_commands_of_joints_with_several_freedoms_are_numbered():
    model = _chain('spherical', 'revolute', 'revolute').with_actuators(
        {'j1': 'effort', 'j3': ('dc_motor', {'resistance': 2.0})}
    )
    assert model.commands == ('j1.0', 'j1.1', 'j1.2', 'j3')


def test_reduction_of_the_joint_is_the_default_of_its_motor():
    model = _chain('revolute').with_joint('j1', reduction=30.0)
    assert model.with_actuators({'j1': 'dc_motor'}).joint('j1').actuator_values == (
        ('reduction', 30.0),
    )
    assert model.with_actuators({'j1': 'effort'}).joint('j1').actuator_values == ()


def test_unknown_names_are_listed_with_those_that_exist():
    model = _chain('revolute')
    with pytest.raises(ModelError, match="chain: there is no joint 'j9'; it has: j1"):
        model.joint('j9')
    with pytest.raises(ModelError, match="there is no link 'l9'; it has: base, l1"):
        model.link('l9')
    with pytest.raises(ModelError, match="joint 'j1'.*no actuator type 'steam'.*dc_motor"):
        model.with_actuators({'j1': 'steam'})


@pytest.mark.parametrize(
    'changes, fragments',
    [
        ({'kind': 'revolute'}, ["kind 'revolute' is no joint type", "JOINTS['revolute']"]),
        ({'actuator': 'effort'}, ["actuator 'effort' is no actuator", "ACTUATORS['effort']"]),
        ({'kind': JOINTS['revolute']((1.0, 1.0, 0.0))}, ['the length 1.41421 and not 1']),
        ({'kind': JOINTS['planar']((0.0, 0.0, 0.0))}, ['the length 0 and not 1']),
        ({'kind': JOINTS['revolute']((math.nan, 0.0, 1.0))}, ['the length nan and not 1']),
        ({'origin': (0.0, math.nan, 0.0)}, ['origin (0.0, nan, 0.0) is not 3 finite numbers']),
        ({'origin': (0.0, 0.0)}, ['origin (0.0, 0.0) is not 3 finite numbers']),
        ({'rotation': Rotation(Vec3(2.0, 0.0, 0.0) for _ in range(3))}, ['no rotation matrix']),
        ({'rotation': Rotation(-row for row in Rotation.identity().rows)}, ['right-handed']),
        ({'physics': JointPhysics(armature=-1.0)}, ['armature -1 is negative']),
        ({'physics': JointPhysics(rest=math.inf)}, ['rest inf is not a finite number']),
        ({'limits': Limits(effort='strong')}, ['effort limit strong is not a finite number']),
        ({'mimic': Mimic('j2', math.nan)}, ['mimic multiplier nan is not a finite number']),
        (
            {'kind': JOINTS['spherical'](_Y), 'mimic': Mimic('j2')},
            ['it mimics, but as a spherical joint', 'remove the mimic'],
        ),
        ({'mimic': Mimic('j3')}, ["joint 'j3', which is spherical"]),
        (
            {'mimic': Mimic('j2'), 'actuator': ACTUATORS['effort']},
            ["follows joint 'j2'", "make its actuator 'passive'"],
        ),
        (
            {'kind': JOINTS['fixed'](_Y), 'actuator': ACTUATORS['effort']},
            ["it is fixed, yet has the actuator 'effort'", 'make it movable'],
        ),
        (
            {'actuator': ACTUATORS['effort'], 'actuator_values': (('gian', 2.0),)},
            ["no parameter 'gian'", 'it has: delay, gain'],
        ),
        (
            {'actuator': ACTUATORS['effort'], 'actuator_values': (('gain', -2.0),)},
            ['gain -2 is not positive', "('effort', {'gain': 2})"],
        ),
        (
            {'actuator': ACTUATORS['effort'], 'actuator_values': (('gain', None),)},
            ['gain None is not a finite number'],
        ),
    ],
)
def test_joints_made_by_hand_are_checked(changes, fragments):
    message = _error(_chain('revolute', 'revolute', 'spherical'), **changes)
    assert message.startswith("chain: joint 'j1': ")
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    'inertial, fragment',
    [
        (Inertial(math.nan, (0.0,) * 3, (1.0,) * 6), 'mass (nan,) is not a finite number'),
        (Inertial(1.0, (0.0,) * 2, (1.0,) * 6), 'centre (0.0, 0.0) is not 3 finite numbers'),
        (Inertial(1.0, (0.0,) * 3, (1.0, 1.0, 1.0)), 'is not 6 finite numbers'),
    ],
)
def test_links_made_by_hand_are_checked(inertial, fragment):
    with pytest.raises(ModelError) as caught:
        _chain('revolute', inertials=[inertial])
    assert "chain: link 'l1': " in str(caught.value)
    assert fragment in str(caught.value)


def test_names_must_be_words():
    with pytest.raises(ModelError, match="a link has the name ''; every link needs a name"):
        Model('nameless', (Link(''),), ())


@pytest.mark.parametrize(
    'inertia',
    [(1.0, 1.0, 2.00001, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)],
    ids=['plate', 'rod'],
)
def test_rounded_plates_and_thin_rods_are_possible(inertia):
    _chain('revolute', inertials=[Inertial(1.0, (0.0,) * 3, inertia)])


@pytest.mark.parametrize(
    'kinds, inertials, axes',
    [
        (('revolute',), [_POINT], [_Y]),
        (('revolute', 'revolute'), [None, _BALL], [(1.0, 0.0, 0.0), _Y]),
        (('revolute', 'fixed', 'prismatic'), [None, None, _BALL], [_Y] * 3),
        (('revolute', 'revolute'), [None, _POINT], [(0.0, 0.0, 1.0), _Y]),
    ],
    ids=['point pendulum', 'universal joint', 'slider', 'spherical pendulum'],
)
def test_masses_further_down_may_resist(kinds, inertials, axes):
    _chain(*kinds, inertials=inertials, axes=axes)


@pytest.mark.parametrize(
    'kinds, inertials, axes',
    [
        (('revolute',), [None], [_Y]),
        (('revolute',), [_POINT], [(0.0, 0.0, 1.0)]),
        (('free',), [_POINT], [_Y]),
        (('revolute', 'spherical'), [None, _BALL], [(0.0, 0.0, 1.0), _Y]),
        (('prismatic', 'planar'), [None, _BALL], [(1.0, 0.0, 0.0), _Y]),
    ],
    ids=['no mass', 'point on axis', 'free point', 'hinge at a ball', 'slide in a plane'],
)
def test_a_joint_that_nothing_resists_needs_armature(kinds, inertials, axes):
    with pytest.raises(ModelError, match='nothing resists its motion.*the joint an armature'):
        _chain(*kinds, inertials=inertials, axes=axes)
    model = _chain(*kinds, axes=axes).with_joint('j1', physics=JointPhysics(armature=0.1))
    links = tuple(
        Link(link.name, inertial)
        for link, inertial in zip(model.links, [None, *inertials], strict=True)
    )
    assert replace(model, links=links).velocity_size == model.velocity_size


def test_a_follower_lends_its_mass_to_its_leader():
    model = _chain('revolute', 'revolute', inertials=[_BALL, _BALL])
    links = (*model.links[:2], Link('l2'), Link('l3', _BALL))
    follower = Joint('j3', JOINTS['revolute'](_Y), 'l1', 'l3', mimic=Mimic('j2'))
    assert Model('pair', links, (*model.joints, follower)).velocity_size == 2
    with pytest.raises(ModelError, match="joint 'j2': nothing resists"):
        Model('pair', links, (*model.joints, replace(follower, mimic=None)))


def test_numbers_beyond_all_range_are_refused():
    model = _chain('revolute', 'revolute')
    with pytest.raises(ModelError, match="joint 'j1'"):
        model.with_joint('j2', mimic=Mimic('j1', 1e300))
