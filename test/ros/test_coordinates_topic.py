"""Whoever hears of the coordinates turns draws of a posterior into physical values as we do."""

from dataclasses import dataclass
from pathlib import Path
import re

import numpy as np
from problems import seven_joints
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.events import input_back
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.sensors import JointPositions
from sim2real_estimator.setup.build import build_parts

pytest.importorskip('rclpy')

from rclpy import serialization

from sim2real_estimator.ros.publishers import (
    coordinates_message,
    draw_samples,
    events_message,
    map_of,
    posterior_message,
    read_coordinates,
)

STAMP_NS = 1_700_000_000_123_456_789
DIRECT = {
    'elbow.damping': Prior(0.1, 0.7, True),
    'lower.com.z': Prior(-1 / 3, 0.3, True),
    'elbow.offset': Prior(0.0, 0.02, False),
}
DELAY = Prior(0.002, 0.005, False)
UNITS = {
    'damping': 'N m s/rad',
    'delay': 's',
    'friction': 'N m',
    'mass': 'kg',
    'offset': 'rad',
    'yy': 'kg m^2',
    'z': 'm',
}


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


@pytest.fixture
def slice_chart(double_pendulum_urdf):
    """Return a parametrization of a robot of which data can tell nothing but combinations."""
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    names = [f'{link}.{q}' for link in ('lower', 'upper') for q in ('mass', 'com.z', 'inertia.yy')]
    physical = {name: Prior(parameters[name].nominal, 0.3, True) for name in names}
    parametrization = choose_parametrization(
        parameters, sensors, {**physical, 'commands.delay': DELAY}
    )
    assert len(parametrization.labels) < len(parametrization.names)
    return parametrization


def unit_of(name):
    return UNITS[name.rpartition('.')[2]]


def arrived(parametrization):
    """Return the map of a parametrization after its way through a message."""
    units = [unit_of(name) for name in parametrization.names]
    return read_coordinates(
        received(coordinates_message(map_of(parametrization, units), STAMP_NS))
    )


def draws_of(parametrization):
    """Return draws of the prior, which reach far."""
    noise = np.random.default_rng(0).standard_normal((len(parametrization.labels), 200))
    return parametrization.prior.mean[:, None] + parametrization.prior.root @ noise


def test_direct_coordinates_give_the_same_values_bit_for_bit():
    parametrization = DirectParametrization(DIRECT)
    draws = draws_of(parametrization)
    np.testing.assert_array_equal(
        arrived(parametrization).to_named(draws), parametrization.to_named(draws)
    )


def test_losses_above_zero_come_and_go_with_it():
    parametrization = DirectParametrization(
        DIRECT | {'elbow.friction': Prior(0.1, 0.7, True)}, soft={'elbow.friction'}
    )
    mapping, draws = arrived(parametrization), draws_of(parametrization)
    values = parametrization.to_named(draws)
    np.testing.assert_array_equal(mapping.to_named(draws), values)
    assert (values[-1] > 0).all() and values[-1].max() > 0.5 > 0.01 > values[-1].min()
    np.testing.assert_allclose(mapping.to_coordinates(values), draws, atol=1e-9)


def test_combinations_and_delays_give_the_same_values(slice_chart):
    draws = draws_of(slice_chart)
    np.testing.assert_allclose(
        arrived(slice_chart).to_named(draws), slice_chart.to_named(draws), rtol=1e-14
    )


def test_the_map_arrives_bit_for_bit(slice_chart):
    mapping = arrived(slice_chart)
    assert mapping.labels == slice_chart.labels
    assert mapping.names == slice_chart.names
    assert mapping.units == ('kg', 'm', 'kg m^2', 'kg', 'm', 'kg m^2', 's')
    assert mapping.signs.tolist() == [1, -1, 1, 1, -1, 1, 0]
    for ours, theirs in (
        (mapping.slopes, slice_chart.basis),
        (mapping.combinations, slice_chart.combinations),
        (mapping.prior_mean, slice_chart.inner.prior.mean),
        (mapping.prior_sd, np.diag(slice_chart.inner.prior.root)),
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_the_way_back_leads_to_the_coordinates(slice_chart):
    mapping, draws = arrived(slice_chart), draws_of(slice_chart)
    np.testing.assert_allclose(mapping.to_coordinates(mapping.to_named(draws)), draws, atol=1e-12)


def test_bodies_about_the_frames_of_their_links_come_and_go_with_it():
    problem = build_parts(seven_joints.config(simulation__backend='eager'))[0]
    parametrization, units = (
        problem.parametrization,
        [problem.parameters.unit(n) for n in problem.parametrization.names],
    )
    message = coordinates_message(map_of(parametrization, units), STAMP_NS)
    mapping, draws = read_coordinates(received(message)), 0.3 * draws_of(parametrization)
    np.testing.assert_array_equal(mapping.bodies, parametrization.inner.rows)
    values = parametrization.to_named(draws)
    np.testing.assert_allclose(mapping.to_named(draws), values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(mapping.to_coordinates(values), draws, atol=1e-10)
    transforms = {each.name: each.values[0].value for each in message.status}
    assert transforms['parameter hand.com.y'] == 'mass*com'
    assert transforms['parameter hand.inertia.xy'] == 'inertia about the frame'
    assert (
        transforms['parameter hand.mass'] == transforms['parameter elbow_pitch.damping'] == 'none'
    )


def test_the_way_back_of_direct_coordinates():
    mapping = arrived(DirectParametrization(DIRECT))
    values = np.array([[0.2], [-0.5], [-0.01]])
    expected = [[np.log(0.2)], [np.log(0.5)], [-0.01]]
    np.testing.assert_allclose(mapping.to_coordinates(values), expected)


def test_a_value_of_the_wrong_sign_has_no_coordinates():
    mapping = arrived(DirectParametrization(DIRECT))
    coordinates = mapping.to_coordinates([[0.2, -0.2], [-0.5, 0.5], [0.0, 0.0]])
    assert np.isnan(coordinates[:, 1]).any()
    assert np.isfinite(coordinates[:, 0]).all()


def test_coordinates_far_out_stay_finite():
    values = arrived(DirectParametrization(DIRECT)).to_named(np.array([[1e6], [1e6], [1e6]]))
    assert np.isfinite(values).all()


def test_the_message_is_readable_as_it_is(slice_chart):
    units = [unit_of(name) for name in slice_chart.names]
    message = coordinates_message(map_of(slice_chart, units), STAMP_NS)
    names = [status.name for status in message.status]
    count = len(slice_chart.labels)
    assert names[:count] == [f'coordinate {label}' for label in slice_chart.labels]
    assert names[count:] == [f'parameter {name}' for name in slice_chart.names]
    delay = {each.key: each.value for each in message.status[-1].values}
    assert delay == {
        'transform': 'none',
        'unit': 's',
        'prior mean': '0.002',
        'prior sd': '0.005',
        'reference': '0.0',
        'slope by commands.delay': '1.0',
    }


def test_another_message_is_no_map():
    with pytest.raises(DataError, match="a status 'input back', which is of no coordinate"):
        read_coordinates(events_message([input_back('/joint_states')], 0))


@dataclass(frozen=True)
class Charted:
    """As much of a problem as draws need."""

    parametrization: object
    possible: object = None


def known_well(parametrization):
    """Return a mixture in which data have told much."""
    root = 0.01 * parametrization.prior.root
    return Mixture(np.zeros(1), np.zeros((0, 1)), parametrization.prior.mean[:, None], root[None])


def test_samples_vary_in_all_that_is_not_known(slice_chart):
    values = draw_samples(Charted(slice_chart), known_well(slice_chart), 60, seed=3)
    spread = dict(zip(slice_chart.names, np.log(np.abs(values)).std(1)))
    assert values.shape == (len(slice_chart.names), 60)
    # Ten times as much as if data had told it.
    assert spread['upper.mass'] > 10 * 0.01 * 0.3
    delays = values[slice_chart.names.index('commands.delay')]
    assert delays.std() == pytest.approx(0.01 * 0.005, rel=0.3)


def test_no_samples_are_a_set_too(slice_chart):
    values = draw_samples(Charted(slice_chart), known_well(slice_chart), 0, seed=0)
    assert values.shape == (len(slice_chart.names), 0)


def test_the_same_seed_gives_the_same_samples(slice_chart):
    first, second, other = (
        draw_samples(Charted(slice_chart), known_well(slice_chart), 8, seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


def test_the_examples_of_the_page_on_messages_work(slice_chart):
    page = Path(__file__).resolve().parents[2] / 'docs/messages.md'
    names = {}
    for block in re.findall(r'```python\n(.*?)```', page.read_text(), re.DOTALL):
        # Their last line is what the reader wants to know.
        names['result'] = re.findall(r'^    ([a-z, ]+) = ', block, re.MULTILINE)[-1]
        exec(block + f'    return {names["result"]}\n', names)
    size = len(slice_chart.labels)
    prior = slice_chart.prior
    mixture = Mixture(np.zeros(1), np.zeros((0, 1)), prior.mean[:, None], prior.root[None])
    posterior = received(posterior_message(mixture, slice_chart.labels, STAMP_NS))
    units = [unit_of(name) for name in slice_chart.names]
    coordinates = received(coordinates_message(map_of(slice_chart, units), STAMP_NS))
    mean, covariance = names['hear'](posterior)
    np.testing.assert_array_equal(mean, prior.mean)
    assert covariance.shape == (size, size)
    values = names['hear_both'](coordinates, posterior)
    assert set(values) == set(slice_chart.names)
    spread = np.log(values['lower.mass']).std()
    assert 0 < spread < 0.35
