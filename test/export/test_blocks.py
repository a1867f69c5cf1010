"""Fingers that have nothing to do with one another are completed one by one."""

import numpy as np
import pytest

from sim2real_estimator.config.settings_tree import (
    Config,
    JointConfig,
    ModelConfig,
    PriorConfig,
    SensorConfig,
    SimulationConfig,
)
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.body_numbers import about_frame, are_possible
from sim2real_estimator.observability.possible_robots import blocks_of, likeliest_possible
from sim2real_estimator.posterior.export.possible_bodies import (
    nearest_possible,
    relative,
    unobservable_directions,
)
from sim2real_estimator.setup.build import build_parts

_LINK = """
  <link name="{0}"><inertial><origin xyz="0.02 0 -0.1"/><mass value="0.5"/>
    <inertia ixx="0.003" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="to_{0}" type="revolute"><parent link="{1}"/><child link="{0}"/>
    <origin xyz="0 {2} -0.2" rpy="0.3 0.2 0"/><axis xyz="{3}"/>
    <limit lower="-1" upper="1" effort="5" velocity="5"/><dynamics damping="0.01"/></joint>
"""
LINKS = ('a1', 'b1', 'a2', 'b2')


def hand(base='fixed'):
    """Return the problem of a palm with two fingers of two links each."""
    parts = [
        _LINK.format('a1', 'palm', 0.1, '0 1 0'),
        _LINK.format('b1', 'palm', -0.1, '0 1 0'),
        _LINK.format('a2', 'a1', 0.0, '1 0 0'),
        _LINK.format('b2', 'b1', 0.0, '1 0 0'),
    ]
    palm = '<link name="palm"/>'
    if base == 'floating':
        palm = (
            '<link name="palm"><inertial><mass value="1"/>'
            '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
    joints = tuple(f'to_{link}' for link in LINKS)
    sensors = {'encoders': SensorConfig('joint_positions', 'js', joints=joints, sd=1e-3)}
    if base == 'floating':
        sensors['pose'] = SensorConfig(
            'link_pose', 'p', link='palm', position_sd=1e-3, orientation_sd=1e-3
        )
    config = Config(
        model=ModelConfig(urdf=f'<robot name="hand">{palm}{"".join(parts)}</robot>', base=base),
        joints={joint: JointConfig('commanded') for joint in joints},
        sensors=sensors,
        estimate={p: PriorConfig() for p in ('?[12].mass', '?[12].com.*', '?[12].inertia.*')},
        simulation=SimulationConfig(backend='eager'),
    )
    return build_parts(config)[0]


def impossible(generator, count):
    """Return bodies [D, 4, 10] of which some cannot be built."""
    factors = np.exp(0.5 * generator.standard_normal((count, len(LINKS), 7)))
    inertia = np.zeros((count, len(LINKS), 6))
    inertia[..., :3] = 0.003 * factors[..., 1:4]
    centre = 0.05 * factors[..., 4:]
    return about_frame(0.5 * factors[..., 0], centre, inertia)


def directions(problem, bodies):
    """Return the blocks of directions along which bodies of a hand move alike."""
    values = {'a1.mass': bodies[:, 0, 0]}
    is_free = np.ones(bodies.shape[1:], dtype=bool)
    return unobservable_directions(problem, LINKS, values, relative(bodies), is_free)


def test_what_hangs_together_by_a_detour_is_one_block():
    couples = np.zeros((5, 5), dtype=bool)
    couples[0, 3] = couples[3, 4] = True
    assert [block.tolist() for block in blocks_of(couples)] == [[0, 3, 4], [1], [2]]


@pytest.mark.parametrize(('base', 'count'), [('fixed', 2), ('floating', 1)])
def test_fingers_are_apart_where_the_palm_is_fixed(base, count):
    bodies = impossible(np.random.default_rng(0), 3)
    blocks = directions(hand(base), bodies)
    assert len(blocks) == count
    assert sorted(k for which, _ in blocks for k in which) == [0, 1, 2, 3]


def test_fingers_by_themselves_become_the_bodies_that_all_at_once_become():
    bodies = impossible(np.random.default_rng(1), 20)
    blocks = directions(hand(), bodies)
    size = sum(each.shape[-1] for _, each in blocks)
    whole, first = np.zeros((*bodies.shape, size)), 0
    for which, each in blocks:
        whole[:, which, :, first : first + each.shape[-1]] = each
        first += each.shape[-1]
    apart, are_apart = nearest_possible(bodies, blocks)
    together, are_together = nearest_possible(bodies, [(np.arange(4), whole)])
    # All at once may be too far, where each by itself is not.
    assert are_apart[are_together].all() and are_together.sum() > 10
    assert not are_possible(bodies).all(1).all()
    scales = relative(bodies)[are_together]
    # What can be built by itself stays as it is: all at once gave it some margin.
    np.testing.assert_allclose(
        apart[are_together] / scales, together[are_together] / scales, atol=0.03
    )


def test_directions_of_the_same_joints_are_those_of_each_draw_by_itself():
    problem, bodies = hand(), impossible(np.random.default_rng(2), 4)
    together = directions(problem, bodies)
    for k in range(len(bodies)):
        for (_, all_of_them), (_, own) in zip(together, directions(problem, bodies[k : k + 1])):
            scales = relative(bodies[k : k + 1])
            (which,) = [w for w, each in together if each is all_of_them]
            a = (all_of_them[k] / scales[0, which][..., None]).reshape(-1, own.shape[-1])
            b = (own[0] / scales[0, which][..., None]).reshape(-1, own.shape[-1])
            np.testing.assert_allclose(a.T @ a, np.eye(a.shape[1]), atol=1e-9)
            np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-9)


def test_a_finger_that_can_be_built_stays_where_the_other_gives_way():
    problem = hand()
    parametrization, generator = problem.parametrization, np.random.default_rng(3)
    inner = parametrization.inner
    mixture = Mixture(
        np.zeros(1),
        np.zeros((0, 1)),
        np.zeros((len(parametrization.labels), 1)),
        0.3 * parametrization.prior.root[None],
    )
    of_a = np.array([name.startswith('a') for name in parametrization.names])
    away = inner.prior.root @ generator.standard_normal((len(parametrization.names), 8))
    before = inner.prior.mean[:, None] + 1.2 * away * of_a[:, None]
    values = dict(zip(parametrization.names, inner.to_named(before)))
    found = likeliest_possible(problem, mixture, values)
    after = inner.from_named(np.stack([found[name] for name in parametrization.names]))
    assert not are_possible(np.moveaxis(before[inner.rows], 2, 0)).all()
    assert are_possible(np.moveaxis(after[inner.rows], 2, 0)).all()
    sizes = inner.deviations[:, None]
    assert np.abs((after - before) / sizes)[~of_a].max() < 0.01
    assert np.abs((after - before) / sizes)[of_a].max() > 0.1
