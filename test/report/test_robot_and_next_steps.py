"""What the report says of an arm: its table by links, its picture, and what to do next."""

import base64
from dataclasses import replace
from pathlib import Path
import re
from xml.etree import ElementTree

import pytest
from reported import alone

from sim2real_estimator.config import load_config
from sim2real_estimator.model.parameters import owner_of
from sim2real_estimator.observability.looks import LOOKS
from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.offline.identification.result import identification_of
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.report.blocks import Bar, Group
from sim2real_estimator.posterior.report.sections.identifiability import identifiability
from sim2real_estimator.posterior.report.sections.next_steps import next_steps
from sim2real_estimator.posterior.report.sections.parameter_table import parameters
from sim2real_estimator.posterior.report.sections.robot_picture import _label, robot

CONFIGS = Path(__file__).resolve().parents[2] / 'config'
ARM, CONFIG = CONFIGS / 'seven_joint_arm.yaml', CONFIGS / 'double_pendulum.yaml'


@pytest.fixture(scope='module')
def arm(one_thread):
    """Return what is known of an arm with measured torques before any data."""
    pipeline = Pipeline.from_config(load_config(ARM))
    return identification_of(pipeline.problem, pipeline.posterior())


@pytest.fixture(scope='module')
def pendulum(one_thread):
    return alone()


def judged(found, verdicts, rest='identified'):
    """Return it with other verdicts: name -> (word, names it is aliased with)."""
    known = []
    for each in found.findings.parameters:
        word, aliases = verdicts.get(each.name, (rest, ()))
        known.append(replace(each, verdict=word, aliases=aliases))
    return replace(found, findings=replace(found.findings, parameters=tuple(known)))


def said(found):
    """Return the lines of what to do next."""
    section = next_steps(found)
    return [*(line for block in section.blocks for line in block.items), section.missing]


def drawn(found):
    (picture,) = robot(found).blocks
    return ElementTree.fromstring(base64.b64decode(picture.source.partition('base64,')[2]))


def titles(root):
    return [each.text for each in root.iter() if each.tag.endswith('title')]


def test_the_table_of_an_arm_has_a_group_for_each_link(arm):
    (table, *_) = parameters(arm).blocks
    model, title, groups = arm.problem.model, None, {}
    for row in table.rows:
        if isinstance(row, Group):
            title = row.title
            groups[title] = []
        else:
            groups[title].append(row[0])
    movers = {joint.child: joint.name for joint in model.joints if not joint.is_fixed}
    for link, names in groups.items():
        if link in movers:
            assert {owner_of(name) for name in names} <= {link, movers[link]}
    assert set(movers) <= set(groups)
    names = [name for group in groups.values() for name in group]
    assert sorted(names) == sorted(each.name for each in arm.findings.parameters)


def test_a_group_says_how_many_have_which_verdict(arm):
    link = arm.problem.model.moving_joints[-1].joint.child
    (table, *_) = parameters(judged(arm, {f'{link}.mass': ('prior-only', ())})).blocks
    (group,) = (row for row in table.rows if isinstance(row, Group) and row.title == link)
    known = [row for row in table.rows if not isinstance(row, Group)]
    assert '○ 1 prior-only' in group.text and re.search(r'● \d+ identified', group.text)
    assert len(known) == len(arm.findings.parameters)


def test_few_parameters_need_no_groups(pendulum):
    (table, *_) = parameters(pendulum).blocks
    assert not any(isinstance(row, Group) for row in table.rows)


def test_bars_stay_in_their_column_and_show_the_interval(pendulum):
    (table, *_) = parameters(pendulum).blocks
    for row, each in zip(table.cells, pendulum.findings.parameters):
        ends = [(begin, begin + width) for begin, width, _ in row[-1].parts]
        assert all(0 <= begin <= end <= 100 for begin, end in ends)
        (interval,) = (
            width for _, width, mark in row[-1].parts if mark == each.verdict.replace(' ', '-')
        )
        (two_sd,) = (width for _, width, mark in row[-1].parts if mark == 'far')
        expected = (each.quantiles[2] - each.quantiles[0]) / each.prior_sd * two_sd / 4
        assert interval == pytest.approx(expected, rel=1e-6)


def test_bars_of_combinations_have_whole_names(arm):
    table = identifiability(arm).blocks[1]
    names = set(arm.problem.parametrization.names)
    for label, *_, bar in table.rows:
        text = re.sub(r' and \d+ more$', '', label.text)
        assert set(re.split(r' [+−] ', text)) <= names
        assert isinstance(bar, Bar)


def test_information_is_said_without_nats(pendulum):
    first = identifiability(pendulum).blocks[0].text
    assert 'nats' not in first
    assert re.search(r'are [\d.]+ times less uncertain than they were before', first)


def test_the_picture_has_every_link_and_joint_that_moves(arm):
    model = arm.problem.model
    root = drawn(arm)
    found = titles(root)
    for moving in model.moving_joints:
        assert moving.joint.child in found and moving.joint.name in found
    texts = ' '.join(''.join(each.itertext()) for each in root.iter() if each.tag.endswith('text'))
    assert all(moving.joint.child in texts for moving in model.moving_joints)


def test_a_link_has_the_colour_of_its_most_frequent_verdict(pendulum):
    verdicts = {'upper.mass': ('aliased', ()), 'upper.com.z': ('aliased', ())}
    root = drawn(judged(pendulum, verdicts))
    colours = {
        group[0].text: [each.get('stroke') for each in group if each.tag.endswith('line')][-1:]
        for group in root.iter()
        if len(group) and group[0].tag.endswith('title') and group[1].tag.endswith('line')
    }
    assert colours['upper'] == [LOOKS[Verdict.ALIASED].web]
    assert colours['lower'] == [LOOKS[Verdict.IDENTIFIED].web]


def test_a_ball_is_divided_among_verdicts_and_grows_with_mass(pendulum):
    root = drawn(judged(pendulum, {'upper.mass': ('aliased', ())}))
    balls = {
        group[0].text: group
        for group in root.iter()
        if len(group) and group[0].tag.endswith('title') and ' kg' in (group[0].text or '')
    }
    (upper,) = (ball for title, ball in balls.items() if title.startswith('upper:'))
    slices = [each.get('fill') for each in upper if each.tag.endswith('path')]
    assert sorted(slices) == sorted([LOOKS[Verdict.ALIASED].web, LOOKS[Verdict.IDENTIFIED].web])
    sizes = {title: float(ball[1].get('r')) for title, ball in balls.items()}
    masses = {title: float(re.search(r'([\d.]+) kg', title)[1]) for title in balls}
    assert sorted(sizes, key=sizes.get) == sorted(masses, key=masses.get)


def test_the_picture_is_within_its_frame(arm):
    root = drawn(arm)
    *_, width, height = map(float, root.get('viewBox').split())
    (shift,) = re.findall(r'translate\(0 ([-\d.]+)\)', root[0].get('transform'))
    for each in root.iter():
        if each.tag.endswith('circle'):
            assert 0 <= float(each.get('cx')) <= width
            assert 0 <= float(each.get('cy')) + float(shift) <= height


def test_names_of_a_picture_are_no_markup():
    root = ElementTree.fromstring(_label(0, 0, '<b>&', 'aliased'))
    assert ''.join(root.itertext()).endswith('<b>&')


def test_of_masses_that_act_together_one_is_weighed(pendulum):
    group = ('upper.mass', 'upper.com.z', 'upper.inertia.yy')
    verdicts = {name: ('aliased', tuple(set(group) - {name})) for name in group}
    (line, _) = said(judged(pendulum, verdicts))
    assert line.startswith('Fix upper.mass (weigh the link): no motion tells it apart from ')
    assert 'upper.com.z and upper.inertia.yy' in line


def test_friction_and_damping_are_told_apart_by_motion(pendulum):
    verdicts = {'elbow.damping': ('aliased', ('elbow.friction',))}
    (line, _) = said(judged(pendulum, verdicts))
    assert line.startswith('Move elbow at constant speeds') and 'elbow.friction' in line


def test_efforts_of_unknown_origin_are_looked_for(pendulum):
    verdicts = {'elbow.damping': ('aliased', ('efforts of unknown origin',))}
    (line, _) = said(judged(pendulum, verdicts))
    assert line.startswith('Find what else acts on the robot')


def test_a_joint_that_rested_is_to_be_moved(arm):
    joint = arm.problem.model.moving_joints[3].joint.name
    own = [each.name for each in arm.findings.parameters if owner_of(each.name) == joint]
    (line, _) = said(judged(arm, {name: ('prior-only', ()) for name in own}))
    assert line.startswith(f'Move {joint}: even the friction there is as uncertain as before')


def test_what_no_motion_tells_is_left_alone_and_what_one_would_tell_is_not(arm):
    first, last = (arm.problem.model.moving_joints[k].joint for k in (0, -1))
    # Gravity pulls at the last link in all directions, and the first one turns about its own.
    verdicts = {
        f'{first.child}.mass': ('prior-only', ()),
        f'{last.child}.com.x': ('prior-only', ()),
    }
    move, leave, _ = said(judged(arm, verdicts))
    assert move.startswith('Move ') and last.name in move and f'{last.child}.com.x' in move
    assert leave.startswith(f'Leave {first.child}.mass as they are: no motion of this robot')


def test_a_gain_needs_a_known_mass(arm):
    name = next(e.name for e in arm.findings.parameters if e.name.endswith('.gain'))
    (line, _) = said(judged(arm, {name: ('prior-only', ())}))
    assert line.startswith(f'To learn {name}: fix a mass that you have weighed')


def test_a_misfit_comes_first(arm):
    verdicts = {'x': ('', ())}
    lines = said(judged(arm, verdicts, rest='misfit'))
    assert lines[0].startswith('Repair units, signs and the robot description')


def test_without_known_efforts_a_weighed_mass_or_a_force_is_asked_for(one_thread):
    config = load_config(CONFIG)
    swinging = replace(
        config, joints={joint: replace(own, effort='none') for joint, own in config.joints.items()}
    )
    pipeline = Pipeline.from_config(swinging)
    lines = said(identification_of(pipeline.problem, pipeline.posterior()))
    assert any(line.startswith('Fix one mass that you have weighed, or apply') for line in lines)
    assert not any(line.startswith('Leave') and '.mass' in line for line in lines)


def test_where_all_is_known_there_is_nothing_to_do(arm):
    assert said(judged(arm, {})) == ['Nothing: every parameter has been identified.']


def test_masses_below_zero_are_explained_where_they_stand(pendulum):
    known = [
        replace(each, mean=-0.1) if each.name == 'lower.inertia.yy' else each
        for each in pendulum.findings.parameters
    ]
    odd = replace(pendulum, findings=replace(pendulum.findings, parameters=tuple(known)))
    texts = [getattr(block, 'text', '') for block in parameters(odd).blocks]
    assert any('equivalent body' in text and 'lower.inertia.yy' in text for text in texts)
    texts = [getattr(block, 'text', '') for block in parameters(pendulum).blocks]
    assert not any('equivalent body' in text for text in texts)
