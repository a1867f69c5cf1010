"""The posterior and its draws survive the way through a message, bit for bit."""

import subprocess
import sys

import numpy as np
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.estimation.mixture import Mixture

pytest.importorskip('rclpy')

from rclpy import serialization
from sensor_msgs.msg import PointCloud2, PointField

from sim2real_estimator.ros.publishers import (
    posterior_message,
    read_posterior,
    read_samples,
    samples_message,
)
from sim2real_estimator.ros.publishers.clouds import cloud_message, read_cloud

STAMP_NS = 1_700_000_000_123_456_789
LABELS = ('log(elbow.damping)', 'lower.com.z + 0.3 log(lower.mass)', 'log(-upper.com.z)')


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


@pytest.fixture
def mixture():
    """Return three components over a state of four numbers and three parameters."""
    generator = np.random.default_rng(3)
    weights = np.array([0.2, 0.7, 0.1])
    return Mixture(
        np.log(weights),
        generator.standard_normal((4, 3)),
        generator.standard_normal((3, 3)),
        generator.standard_normal((3, 7, 7)),
    )


def test_a_posterior_arrives_bit_for_bit(mixture):
    reading = read_posterior(received(posterior_message(mixture, LABELS, STAMP_NS)))
    assert reading.stamp_ns == STAMP_NS
    assert reading.labels == LABELS
    np.testing.assert_array_equal(reading.weights, mixture.weights)
    np.testing.assert_array_equal(reading.means, mixture.means)
    np.testing.assert_array_equal(reading.covariances, mixture.parameter_covariances())


@pytest.mark.parametrize(('components', 'coordinates'), [(1, 1), (1, 3), (4, 1), (64, 20)])
def test_posteriors_of_all_sizes_arrive(components, coordinates):
    generator = np.random.default_rng(0)
    roots = generator.standard_normal((components, coordinates, coordinates))
    means = generator.standard_normal((coordinates, components))
    sent = Mixture(np.zeros(components), np.zeros((0, components)), means, roots)
    labels = tuple(f'c{k}' for k in range(coordinates))
    reading = read_posterior(received(posterior_message(sent, labels, 0)))
    np.testing.assert_array_equal(reading.means, means)
    np.testing.assert_array_equal(reading.covariances, sent.parameter_covariances())


def test_the_layout_is_the_documented_one(mixture):
    message = posterior_message(mixture, LABELS, STAMP_NS)
    fields = {field.name: field for field in message.fields}
    assert (message.height, message.width, message.is_dense) == (1, 3, True)
    assert [*fields] == ['weight', *(f'{p}/{label}' for p in ('mean', 'cov') for label in LABELS)]
    assert {field.datatype for field in message.fields} == {PointField.FLOAT64}
    assert [fields[f'mean/{label}'].count for label in LABELS] == [1, 1, 1]
    assert [fields[f'cov/{label}'].count for label in LABELS] == [3, 3, 3]
    assert message.point_step == 8 * (1 + 3 + 9)
    assert message.row_step == len(message.data) == 3 * message.point_step


def test_the_mixture_of_a_reading_has_the_same_moments(mixture):
    found = read_posterior(posterior_message(mixture, LABELS, STAMP_NS)).mixture()
    for ours, theirs in zip(found.moments(), mixture.moments()):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_draws_of_a_reading_are_of_the_posterior(mixture):
    found = read_posterior(posterior_message(mixture, LABELS, STAMP_NS)).mixture()
    draws = found.draw(40_000, np.random.default_rng(0))
    mean, covariance = mixture.moments()
    sd = np.sqrt(np.diag(covariance))
    assert np.abs(draws.mean(1) - mean).max() < 5 * sd.max() / 200
    np.testing.assert_allclose(draws.std(1), sd, rtol=0.03)


def test_samples_arrive_bit_for_bit():
    values = np.random.default_rng(0).standard_normal((2, 500))
    names = ('elbow.damping', 'upper.com.z')
    found = read_samples(received(samples_message(names, values, STAMP_NS)))
    assert tuple(found) == names
    for name, row in zip(names, values):
        np.testing.assert_array_equal(found[name], row)


def test_a_set_of_no_draws_arrives():
    found = read_samples(received(samples_message(('elbow.damping',), np.zeros((1, 0)), 0)))
    assert found['elbow.damping'].shape == (0,)


def test_infinite_numbers_arrive_and_are_told():
    message = received(cloud_message({'x': [1.0, np.inf, np.nan]}, 0))
    assert not message.is_dense
    np.testing.assert_array_equal(read_cloud(message)['x'], [1.0, np.inf, np.nan])


def test_clouds_of_others_are_read_too():
    table = np.array([(1, 0.5), (2, -0.25)], [('ring', '>u2'), ('pad', '>f4')])
    message = PointCloud2(
        height=2,
        width=1,
        is_bigendian=True,
        point_step=6,
        row_step=6,
        fields=[
            PointField(name='ring', offset=0, datatype=PointField.UINT16, count=1),
            PointField(name='pad', offset=2, datatype=PointField.FLOAT32, count=1),
        ],
        data=table.tobytes(),
    )
    found = read_cloud(received(message))
    assert found['ring'].tolist() == [1, 2]
    assert found['pad'].tolist() == [0.5, -0.25]


def test_a_message_that_is_cut_off_is_refused(mixture):
    message = posterior_message(mixture, LABELS, STAMP_NS)
    message.data = message.data[:-1]
    with pytest.raises(DataError, match='3 points of 104 bytes has 311'):
        read_posterior(message)


def test_a_field_of_an_unknown_type_is_refused(mixture):
    message = posterior_message(mixture, LABELS, STAMP_NS)
    message.fields[0].datatype = 9
    with pytest.raises(DataError, match="'weight' has the unknown type 9"):
        read_posterior(message)


def test_fields_beyond_the_points_are_refused(mixture):
    message = posterior_message(mixture, LABELS, STAMP_NS)
    message.fields[-1].offset = message.point_step
    with pytest.raises(DataError, match='fields do not fit'):
        read_posterior(message)


def test_another_cloud_is_no_posterior():
    with pytest.raises(DataError, match='there are the fields x, weight, which'):
        read_posterior(cloud_message({'x': [1.0], 'weight': [1.0]}, 0))


def test_covariances_of_another_size_are_refused():
    columns = {'weight': [1.0], 'mean/a': [0.0], 'cov/a': [[1.0, 2.0]]}
    with pytest.raises(DataError, match='not those of a posterior'):
        read_posterior(cloud_message(columns, 0))


def test_reading_needs_no_torch():
    code = "import sys, sim2real_estimator.ros.publishers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0
