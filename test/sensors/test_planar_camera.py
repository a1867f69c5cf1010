"""Markers in the picture of a camera that looks straight at a plane."""

from dataclasses import replace

import numpy as np
import pytest
from ros_like import point_stamped
from simulated import CONFIG, config

from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import estimates, SyntheticRobot
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import CameraConfig, PriorConfig, SensorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Frame, Sample, Status
from sim2real_estimator.sensors import SENSORS, View
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.sources import build_model, build_sensors

STAMP = 1_700_000_000_000_000_001
VIEW = View('side', 800.0, 0.1, (640.0, 100.0))
Q = (0.4, -1.2)


def settings(**more):
    """Return the shipped config with a camera that sees three markers and no encoders."""
    marks = {'pivot': ('stand', 0.0), 'middle': ('lower', 0.0), 'tip': ('lower', -0.4)}
    sensors = {
        name: SensorConfig(
            'planar_camera', f'camera/{name}', link=link, point=(0, 0, z), camera='side', sd=0.5
        )
        for name, (link, z) in marks.items()
    }
    camera = CameraConfig(VIEW.scale, VIEW.tilt, VIEW.origin)
    urdf = str(CONFIG.with_suffix('.urdf'))
    shipped = replace(config(), sensors=sensors, cameras={'side': camera})
    return with_values(shipped, {'model.urdf': urdf, 'frames.reference': 'tip', **more})


@pytest.fixture
def model():
    return load_urdf(CONFIG.with_suffix('.urdf'))


def seen(model, view, point=(0, 0, -0.4), values=None):
    """Return u and v of a marker on the lower link at Q, and where it is in the world."""
    sensors = [
        SENSORS['planar_camera']('tip', model, 'lower', point, 1.0, view),
        SENSORS['marker']('same', model, 'lower', point, 1.0),
    ]
    parameters = Parameters(model, [p for sensor in sensors for p in sensor.parameters])
    robot = realize(parameters, values or {})
    return [np.array(sensor.observe(robot, Q, [0.0, 0.0])) for sensor in sensors]


@pytest.mark.parametrize(
    ('axes', 'rows'),
    [
        (('x', '-z'), [[1, 0, 0], [0, 0, -1]]),
        (('-y', 'x'), [[0, -1, 0], [1, 0, 0]]),
        (('z', 'y'), [[0, 0, 1], [0, 1, 0]]),
    ],
)
def test_a_point_is_scaled_turned_and_moved(model, axes, rows):
    pixels, place = seen(model, replace(VIEW, axes=axes))
    turn = np.array([[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]])
    np.testing.assert_allclose(pixels, [640, 100] + 800 * turn @ (rows @ place))


def test_a_camera_may_be_another_than_it_was_thought_to_be(model):
    moved = {'side.scale': 900.0, 'side.tilt': -0.2, 'side.origin_u': 5.0, 'side.origin_v': 6.0}
    pixels, _ = seen(model, VIEW, values=moved)
    expected, _ = seen(model, View('side', 900.0, -0.2, (5.0, 6.0)))
    np.testing.assert_allclose(pixels, expected)
    on_link, _ = seen(model, VIEW, values={'tip.mount.z': -0.1})
    np.testing.assert_allclose(on_link, seen(model, VIEW, (0, 0, -0.5))[0])


def test_points_are_pixels_whatever_their_depth(model):
    sensor = SENSORS['planar_camera']('tip', model, 'lower', (0, 0, -0.4), 0.5, VIEW)
    (sample,) = sensor.decode(point_stamped(STAMP, (612.0, 480.2, np.nan))).samples
    np.testing.assert_array_equal(sample.values, [612.0, 480.2])
    hidden = sensor.decode(point_stamped(STAMP, (np.nan, np.nan, 0.0)))
    assert hidden.samples == () and hidden.statuses == (Status.NON_FINITE,)


def test_a_hidden_marker_leaves_no_residual(model):
    sensor = SENSORS['planar_camera']('tip', model, 'lower', (0, 0, -0.4), 0.5, VIEW)
    rows = sensor.rows(None, np.array([[10.0], [20.0]]), np.array([[np.nan, 19.0]]))
    np.testing.assert_array_equal(rows.values, [[0.0, 2.0]])
    assert not rows.by_outputs[0, 0].any() and rows.by_outputs[0, 1, 1] == 2.0


def test_sensors_of_a_camera_share_what_it_is():
    wished = settings(**{'estimate.side.*.sd': 0.1})
    problem, *_ = build_parts(wished)
    names = [name for name in problem.parametrization.names if name.startswith('side')]
    assert names == ['side.scale', 'side.tilt', 'side.origin_u', 'side.origin_v']
    named = dict(
        zip(
            problem.parametrization.names,
            problem.parametrization.to_named(problem.prior.mean[:, None]),
        )
    )
    assert named['side.scale'] == pytest.approx(800)
    titles = [jump.name for jump in problem.model_changes(problem.prior.mean)]
    assert 'place of side' in titles and 'place of motion capture' not in titles


@pytest.mark.parametrize('backend', ['eager', 'native'])
def test_slopes_are_those_of_finite_differences(backend):
    if backend == 'native':
        pytest.importorskip('llvmlite')
    wished = settings(**{'simulation.backend': backend, 'estimate.side.*.sd': 0.1})
    problem, *_ = build_parts(wished)
    samples = tuple(Sample(s.name, 10_000_000, np.array([600.0, 300.0])) for s in problem.sensors)
    efforts = ((0, np.array([0.3, -0.1])),)
    frame = Frame(0, 10_000_000, samples, efforts)
    point = problem.neutral[:, None] + 0.3
    mean, size = problem.prior.mean[:, None], 1e-6
    found = problem.linearize(point, mean, (frame,))
    for k, label in enumerate(problem.labels):
        if not label.startswith('side'):
            continue
        step = np.zeros_like(mean)
        step[k] = size
        up, down = (problem.linearize(point, mean + s, (frame,)).residual for s in (step, -step))
        np.testing.assert_allclose(
            found.slope[0, :, problem.tangent_size + k],
            (up - down)[0] / (2 * size),
            rtol=1e-5,
            atol=1e-4,
        )


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'sensors.tip.camera': 'front'}, "sensors.tip.camera: 'front' is not among cameras"),
        ({'cameras.side.scale': None}, 'cameras.side.scale: is missing; give the pixels'),
        ({'cameras.side.axes': ['x', 'x']}, 'cameras.side.axes: .*two different axes'),
        ({'cameras.side.axes': ['x', 'w']}, 'cameras.side.axes: .*two different axes'),
        ({'cameras.side.origin': [1.0]}, 'cameras.side.origin: .*give u and v'),
        ({'cameras.tip.scale': 10.0}, 'cameras.tip: something else has this name'),
        ({'sensors.tip.position_sd': 1.0}, 'sensors.tip.position_sd: a planar_camera has no use'),
    ],
)
def test_what_is_no_camera_is_refused_with_its_key(values, words):
    with pytest.raises(ConfigError, match=words):
        wished = settings(**values)
        build_sensors(wished, build_model(wished))


def test_pixels_that_stay_the_same_at_rest_are_no_frozen_camera():
    pipeline = Pipeline.from_config(settings())
    for k in range(5):
        for name in ('pivot', 'middle', 'tip'):
            pipeline.push(Sample(name, k * 10**7, np.array([600.0, 300.0])))
        pipeline.push(Sample('commanded_efforts', k * 10**7, np.zeros(2)))
    pipeline.step()
    assert all('frozen' not in words for words in pipeline.counts.table().values())


def test_the_camera_is_found_with_the_robot():
    truth = {'side.scale': 830.0, 'side.tilt': 0.13, 'side.origin_u': 650, 'side.origin_v': 92}
    unknown = {
        'upper.mass': PriorConfig(),
        'side.scale': PriorConfig(sd=0.1),
        'side.tilt': PriorConfig(sd=0.05),
        'side.origin_*': PriorConfig(sd=20.0),
    }
    wished = replace(settings(), estimate=unknown)
    synthetic = load_synthetic(CONFIG.parent / 'synthetic' / CONFIG.name)
    synthetic = replace(synthetic, seed=5, truth=truth, payloads={}, streams={})
    robot = SyntheticRobot(synthetic, config=wished)
    *_, latest = estimates(Pipeline.from_config(wished), robot, 3.0)
    for name, mean, sd in zip(latest.names, latest.mean, latest.sd):
        assert abs(mean - robot.truths[0].values[name]) < 4 * sd, name
    sds = dict(zip(latest.names, latest.sd))
    assert sds['side.scale'] < 2 and sds['side.tilt'] < 0.005 and sds['side.origin_u'] < 1
